//! What items of a list begin with: "3.", "b)", "•". A list may stand in one line: "1. this 2. that".

use super::words;

/// The marker of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Item {
    style: Style,
    /// Counts from 1; 0 for bullets.
    number: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Style {
    #[default]
    None,
    Bullet,
    /// `1.`
    Dot,
    /// `1)`
    Bracket,
    /// `1.)`
    DotBracket,
    /// `(1)`
    Brackets,
    /// `a.`
    LetterDot,
    /// `a)`
    LetterBracket,
    /// `(a)`
    LetterBrackets,
}

impl Item {
    /// The marker that `word` is; `open` says that a parenthesis came before it.
    pub(super) fn of(word: &[u8], open: bool) -> Self {
        if starts_with_bullet(word) && is_marker(word) {
            return Self { style: Style::Bullet, number: 0 };
        }
        let letter = word.first().is_some_and(u8::is_ascii_alphabetic);
        let head = if letter { 1 } else { word.iter().take_while(|b| b.is_ascii_digit()).count() };
        let (head, tail) = word.split_at(head);
        let style = match (tail, letter, open) {
            (b".", false, false) => Style::Dot,
            (b".)", false, false) => Style::DotBracket,
            (b")", false, false) => Style::Bracket,
            (b")", false, true) => Style::Brackets,
            (b".", true, false) => Style::LetterDot,
            (b")", true, false) => Style::LetterBracket,
            (b")", true, true) => Style::LetterBrackets,
            _ => return Self::default(),
        };
        let number = match head {
            [] => return Self::default(),
            [only] if letter => u16::from(only & 0x1f),
            digits if digits.len() <= NUMBER_DIGITS => {
                digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'))
            }
            _ => return Self::default(),
        };
        Self { style, number }
    }

    pub(super) fn is_none(self) -> bool {
        self.style == Style::None
    }

    pub(super) fn is_bullet(self) -> bool {
        self.style == Style::Bullet
    }

    pub(super) fn is_of_letters(self) -> bool {
        matches!(self.style, Style::LetterDot | Style::LetterBracket | Style::LetterBrackets)
    }

    /// Numbers or letters: only the next one goes on with the list.
    pub(super) fn is_counted(self) -> bool {
        !self.is_none() && !self.is_bullet()
    }

    /// Does `next` go on with the list that this one is of?
    pub(super) fn precedes(self, next: Self) -> bool {
        !self.is_none()
            && self.style == next.style
            && (self.is_bullet() || self.number + 1 == next.number)
    }
}

/// "3.", "12)", "1.)", "a)", "-", "•", "#": what a line of a list or a heading begins with.
pub(super) fn is_marker(word: &[u8]) -> bool {
    match word {
        [] => false,
        [b'-' | b'+' | b'|' | b'>'] => true,
        bytes if bytes.iter().all(|b| *b == b'#') => true,
        [head @ .., b'.'] if matches!(head.len(), 2..=5) && is_roman(head) => true,
        [head @ .., b'.', b')'] | [head @ .., b'.' | b')' | b':']
            if head.len() <= NUMBER_DIGITS && !head.is_empty() =>
        {
            head.iter().all(u8::is_ascii_digit)
                || (head.len() == 1 && head[0].is_ascii_alphabetic() && head[0] != b'I')
        }
        _ if ["–", "·"].iter().any(|mark| mark.as_bytes() == word) => true,
        _ if starts_with_bullet(word) => {
            // "⁃9."
            let rest = &word[BULLET_BYTES..];
            rest.is_empty() || is_marker(rest)
        }
        _ => false,
    }
}

/// "ii", "XIV". A single letter is another kind of marker.
fn is_roman(head: &[u8]) -> bool {
    head.iter().all(|b| b"IVX".contains(b)) || head.iter().all(|b| b"ivx".contains(b))
}

/// May the item after `item` begin after `word`, which has no punctuation, in the same line?
/// "is 2." and "than 2." are numbers of the sentence.
pub(super) fn may_end_item(item: Item, word: &[u8]) -> bool {
    let text = core::str::from_utf8(word).unwrap_or("");
    text.chars().nth(1).is_some()
        && text.chars().all(char::is_alphabetic)
        && (item.is_of_letters()
            || !words::CONJUNCTIONS.has(word)
                && !words::PREPOSITIONS.has(word)
                && !words::BEFORE_NUMBER.has(word))
}

/// These mark items, and stand between blanks or at the word.
pub(super) const fn is_bullet(c: char) -> bool {
    matches!(c, '•' | '⁃' | '‣' | '◦' | '▪' | '●' | '○')
}

fn starts_with_bullet(word: &[u8]) -> bool {
    // Words of ASCII, nearly all, need no look at their characters.
    word.first().is_some_and(|b| !b.is_ascii())
        && core::str::from_utf8(word).is_ok_and(|word| word.starts_with(is_bullet))
}

/// All of them are as long.
const BULLET_BYTES: usize = '•'.len_utf8();

/// Lists of a thousand items are not written in one line, and "1984." is a year.
const NUMBER_DIGITS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn item(word: &str) -> Item {
        Item::of(word.as_bytes(), false)
    }

    #[test]
    fn markers() {
        for word in ["3.", "12)", "1.)", "a)", "b.", "-", "•", "•3.", "##", "|", "II.", "xiv."]
        {
            assert!(is_marker(word.as_bytes()), "{word}");
        }
        for word in ["", "I.", "•ab", "3", "1984.", "ab.", "3.5", "end."] {
            assert!(!is_marker(word.as_bytes()), "{word}");
        }
    }

    #[test]
    fn items_follow_in_order_and_in_style() {
        assert!(item("1.").precedes(item("2.")));
        assert!(item("9)").precedes(item("10)")));
        assert!(item("a.").precedes(item("b.")));
        assert!(item("•").precedes(item("•10.")));
        assert!(!item("1.").precedes(item("3.")));
        assert!(!item("1.").precedes(item("2)")));
        assert!(!item("1)").precedes(Item::of(b"2)", true)));
        assert!(!item("").precedes(item("")));
    }

    #[test]
    fn numbers_of_a_sentence_are_no_items() {
        assert!(may_end_item(item("1."), b"item"));
        assert!(!may_end_item(item("1."), b"is"));
        assert!(!may_end_item(item("1."), b"="));
        assert!(!may_end_item(item("1."), b"3"));
        assert!(may_end_item(item("a."), b"is"));
    }
}
