//! Where extended grapheme clusters begin, char by char.
//!
//! Only the cluster that may still grow is kept. That is exact context: no rule of UAX 29 looks back past
//! the start of a cluster (regional indicators pair up from there as well).

use alloc::string::String;
use unicode_segmentation::GraphemeCursor;

use super::chars::is_plain;

/// The last cluster seen, which the next character may extend.
#[derive(Clone, Debug, Default)]
pub(super) struct Clusters {
    /// Empty while it is only `previous`, as most are, or CR LF, which nothing extends.
    last: String,
    previous: Option<char>,
}

impl Clusters {
    /// Takes `c`; true if a cluster begins before it.
    pub(super) fn push(&mut self, c: char) -> bool {
        let begins = match self.previous {
            None => true,
            Some(p) if p.is_ascii() && c.is_ascii() => !(p == '\r' && c == '\n'),
            Some(p) if is_plain(p) && is_plain(c) => true,
            Some(p) => self.ask(p, c),
        };
        if begins {
            self.last.clear();
        }
        self.previous = Some(c);
        begins
    }

    /// Takes ASCII letters and blanks after such, each a cluster of its own. Only the last one matters.
    pub(super) fn letter(&mut self, last: char) {
        self.previous = Some(last);
    }

    /// Nothing that follows can join what has been seen: after a control character other than CR.
    pub(super) fn is_closed(&self) -> bool {
        self.previous.is_some_and(|c| c.is_ascii_control() && c != '\r')
    }

    /// Forgets all but the last character: where a cluster had to be broken for its size.
    pub(super) fn break_before_last(&mut self) {
        self.last.clear();
    }

    /// Leaves the cluster with `c` in `last`.
    fn ask(&mut self, p: char, c: char) -> bool {
        if self.last.is_empty() {
            self.last.push(p);
        }
        let at = self.last.len();
        self.last.push(c);
        let begins = GraphemeCursor::new(at, self.last.len(), true).is_boundary(&self.last, 0);
        // The text is whole, so the cursor never asks for more context.
        begins.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use unicode_segmentation::UnicodeSegmentation;

    fn found(text: &str) -> Vec<usize> {
        let mut clusters = Clusters::default();
        text.char_indices().filter(|(_, c)| clusters.push(*c)).map(|(at, _)| at).collect()
    }

    fn whole(text: &str) -> Vec<usize> {
        text.grapheme_indices(true).map(|(at, _)| at).collect()
    }

    #[test]
    fn agrees_with_the_whole_text() {
        for text in [
            "a\r\nb\n\r\r\n",
            "👩‍👩‍👧🇩🇪🇫🇷🇮",
            "e\u{301}\u{301}x",
            "한국ᄀ\u{1161}\u{11a8}",
            "क्षि\u{200d}",
            "\u{600}1 \u{600} ",
        ] {
            assert_eq!(found(text), whole(text), "{text:?}");
        }
    }

    #[test]
    fn agrees_on_every_sequence_of_four_kinds_of_character() {
        const KINDS: [char; 18] = [
            'a', 'é', '\r', '\n', '\u{ad}', '\u{301}', '\u{200d}', '👩', '🇩', 'क', '\u{94d}',
            '\u{93f}', 'ا', '\u{64b}', '한', '\u{1100}', '\u{1161}', '\u{600}',
        ];
        for number in 0..KINDS.len().pow(4) {
            let kind = |place| KINDS[number / KINDS.len().pow(place) % KINDS.len()];
            let text: String = (0..4).map(kind).collect();
            assert_eq!(found(&text), whole(&text), "{text:?}");
        }
    }
}
