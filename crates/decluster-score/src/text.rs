//! Real text under a trace, so that the whole engine runs: which text every token brings.

/// Cuts `text` into pieces as large as LLM tokens are: a word with the blank before it (long ones in several),
/// up to three digits, a run of line ends or of one mark, one wide character. Repeats the text when it is too
/// short.
///
/// The rule is simple on purpose: whoever compares schedules in another language has it in a few lines.
pub fn lay(text: &str, tokens: usize) -> Vec<&str> {
    let mut pieces = Vec::with_capacity(tokens);
    while pieces.len() < tokens && !text.is_empty() {
        let mut rest = text;
        while !rest.is_empty() && pieces.len() < tokens {
            let (piece, after) = rest.split_at(length(rest));
            pieces.push(piece);
            rest = after;
        }
    }
    pieces
}

/// Bytes of the first token of a text that is not empty.
fn length(text: &str) -> usize {
    let blank = usize::from(text.starts_with(' '));
    let body = &text[blank..];
    let Some(first) = body.chars().next() else { return blank };
    let run = |most: usize, same: &dyn Fn(char) -> bool| {
        body.chars().take(most).take_while(|c| same(*c)).map(char::len_utf8).sum::<usize>()
    };
    blank
        + match first {
            'a'..='z' | 'A'..='Z' => run(WORD, &|c| c.is_alphabetic() && (c as u32) < WIDE),
            '0'..='9' => run(3, &|c| c.is_ascii_digit()),
            ' ' if blank == 0 => run(1, &|_| true),
            ' ' => run(16, &|c| c == ' '),
            '\n' => run(2, &|c| c == '\n'),
            c if !c.is_alphanumeric() => run(3, &|d| d == c),
            c if c as u32 >= WIDE => run(1, &|_| true),
            _ => run(4, &|c| c.is_alphanumeric() && !c.is_ascii_digit()),
        }
}

/// Letters of a word that are one token.
const WORD: usize = 9;
/// The first of the scripts whose characters are about a token each.
const WIDE: u32 = 0x2E80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_look_like_tokens() {
        let cut = lay("Well, straightforward: 12345 größer …\n\n时间。 x", 17);
        let want =
            "Well|,| straightf|orward|:| 123|45| größer| …|\n\n|时|间|。| x|Well|,| straightf";
        assert_eq!(cut.join("|"), want);
    }

    #[test]
    fn nothing_is_lost() {
        for text in ["  two\n three   four", "👩‍👩‍👧 e\u{301}\r\n\t", " "] {
            let all = lay(text, 1);
            assert!(!all[0].is_empty());
            let n = (1..100).find(|n| lay(text, *n).concat().len() >= text.len()).unwrap();
            assert_eq!(lay(text, n).concat(), text);
        }
        assert!(lay("", 3).is_empty());
    }
}
