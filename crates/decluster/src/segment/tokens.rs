//! How many LLM tokens a text has, without a vocabulary.
//!
//! A running sum in sixteenths of a token. Each character adds its share when it arrives, so the sum at
//! an offset depends only on the text before it, and the tokens of any span are a difference of two sums.
//! Weights were fitted against `o200k_base`; they err by about a tenth per block.

use super::chars::Script;

/// Sixteenths in one token.
pub(super) const TOKEN: u64 = 16;

/// The state between two characters: which kind of run they are in and how long it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimator {
    run: Run,
    length: u32,
    marked: bool,
    /// The word's first letters in lower case, one a byte; zero once it has more than four.
    letters: u32,
    /// How many words have gone by without an English one; see [`FOREIGN`].
    foreign: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Run {
    #[default]
    Start,
    Latin,
    /// An apostrophe after a Latin word: free when a letter follows ("don't"), else punctuation.
    Apostrophe,
    Cased,
    Digits,
    Punctuation,
    Newlines,
    Blanks,
    Other,
}

impl Estimator {
    /// The share of `c`, in sixteenths.
    #[inline]
    pub(super) fn push(&mut self, c: char, script: Script) -> u64 {
        let late = match (self.run, script) {
            (Run::Apostrophe, Script::Latin) => {
                self.run = Run::Latin;
                0
            }
            (Run::Apostrophe, _) => {
                self.run = Run::Punctuation;
                self.length = 1;
                PUNCTUATION
            }
            _ => 0,
        };
        if self.run == Run::Latin && script != Script::Latin {
            self.word_ends();
        }
        late + match script {
            Script::Latin => self.latin(c),
            Script::Cased => {
                let n = self.enter(Run::Cased);
                if n == 1 { CASED_WORD } else { per_letter(n, 4, CASED_LETTER) }
            }
            Script::Digit => {
                let n = self.enter(Run::Digits);
                if n % 3 == 1 { DIGIT_GROUP } else { 0 }
            }
            Script::Newline => {
                let n = self.enter(Run::Newlines);
                if n == 1 { NEWLINES } else { every(n, 8) }
            }
            Script::Blank => match self.enter(Run::Blanks) {
                1 => 0,
                2 => BLANKS,
                n => every(n, 32),
            },
            Script::Punctuation => self.punctuation(c),
            Script::Han | Script::Kana => self.single(12),
            Script::Hangul => self.single(9),
            Script::Thai => self.single(7),
            Script::Indic => self.single(6),
            Script::WidePunctuation => self.single(8),
            Script::Other => self.single(6 * c.len_utf8() as u64),
        }
    }

    /// The share of ASCII letters that go on with a Latin word, and that of the last of them.
    pub(super) fn letters(&mut self, run: &[u8]) -> (u64, u64) {
        let before = self.length;
        self.length = before.saturating_add(run.len() as u32);
        self.letters = match self.length {
            ..=4 => run
                .iter()
                .fold(self.letters, |word, letter| append(word, letter.to_ascii_lowercase())),
            _ => 0,
        };
        let (free, cost) = self.letter_cost();
        let dear = self.length.max(free) - before.max(free);
        (cost * u64::from(dear), per_letter(self.length, free, cost))
    }

    fn latin(&mut self, c: char) -> u64 {
        let n = self.enter(Run::Latin);
        let mark = if c.is_ascii() || (self.marked && n > 1) { 0 } else { LATIN_MARK };
        self.marked = !c.is_ascii() || (self.marked && n > 1);
        let letter = c.to_ascii_lowercase() as u8;
        self.letters = match n {
            1 => append(0, letter),
            2..=4 => append(self.letters, letter),
            _ => 0,
        };
        let (free, cost) = self.letter_cost();
        mark + if n == 1 { LATIN_WORD } else { per_letter(n, free, cost) }
    }

    /// How many letters of a word come with it, and what each further one costs.
    fn letter_cost(&self) -> (u32, u64) {
        if self.foreign >= FOREIGN { (3, FOREIGN_LETTER) } else { (6, LATIN_LETTER) }
    }

    fn word_ends(&mut self) {
        // All twelve are compared, at once: where a search would stop is hard for the processor to guess.
        if ENGLISH.iter().filter(|word| **word == self.letters).count() > 0 {
            self.foreign = self.foreign.saturating_sub(ENGLISH_WORD);
        } else if self.length > 1 {
            self.foreign = (self.foreign + 1).min(FOREIGN_MAX);
        }
    }

    fn punctuation(&mut self, c: char) -> u64 {
        if matches!(c, '\'' | '’') && self.run == Run::Latin {
            self.run = Run::Apostrophe;
            return 0;
        }
        match self.enter(Run::Punctuation) {
            1 => PUNCTUATION,
            2 => 0,
            _ => PUNCTUATION_MORE,
        }
    }

    fn single(&mut self, cost: u64) -> u64 {
        self.enter(Run::Other);
        cost
    }

    /// Goes on with a run or begins one; the position of this character in it, from 1.
    fn enter(&mut self, run: Run) -> u32 {
        self.length = if self.run == run { self.length.saturating_add(1) } else { 1 };
        self.run = run;
        self.length
    }
}

fn append(letters: u32, letter: u8) -> u32 {
    letters << 8 | u32::from(letter)
}

fn per_letter(n: u32, free: u32, cost: u64) -> u64 {
    if n > free { cost } else { 0 }
}

/// A token for every `period` more of a run that is nearly free, so that no input is.
fn every(n: u32, period: u32) -> u64 {
    if n.is_multiple_of(period) { TOKEN } else { 0 }
}

/// With its first letters.
pub(super) const LATIN_WORD: u64 = 17;
const LATIN_LETTER: u64 = 1;
/// No letter after the first of a word costs more, if it is ASCII.
pub(super) const LETTER_MAX: u64 = FOREIGN_LETTER;
const LATIN_MARK: u64 = 6;
/// The vocabulary knows English words whole and cuts those of other languages. A language shows in its
/// small words: in English one in four is in the list below, so that this many others in a row say that
/// it is another.
const FOREIGN: u8 = 24;
const FOREIGN_MAX: u8 = 40;
const FOREIGN_LETTER: u64 = 2;
const ENGLISH_WORD: u8 = 8;
const ENGLISH: [u32; 12] = [
    packed(b"the"),
    packed(b"of"),
    packed(b"and"),
    packed(b"to"),
    packed(b"that"),
    packed(b"is"),
    packed(b"it"),
    packed(b"for"),
    packed(b"this"),
    packed(b"are"),
    packed(b"with"),
    packed(b"we"),
];

const fn packed(word: &[u8]) -> u32 {
    let (mut letters, mut at) = (0, 0);
    while at < word.len() {
        letters = letters << 8 | word[at] as u32;
        at += 1;
    }
    letters
}

const CASED_WORD: u64 = 20;
const CASED_LETTER: u64 = 3;
const DIGIT_GROUP: u64 = 24;
const PUNCTUATION: u64 = 14;
const PUNCTUATION_MORE: u64 = 8;
const NEWLINES: u64 = 6;
const BLANKS: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::chars;

    fn sum(text: &str) -> u64 {
        let mut estimator = Estimator::default();
        text.chars().map(|c| estimator.push(c, chars::script(c))).sum()
    }

    #[test]
    fn words_digits_and_marks() {
        assert_eq!(sum("hello world"), 34);
        assert_eq!(sum("don't"), 17);
        assert_eq!(sum("dogs' "), 17 + 14);
        assert_eq!(sum("1234"), 48);
        assert_eq!(sum("..."), 14 + 8);
        assert_eq!(sum("größe"), 23);
        assert_eq!(sum("时间"), 24);
    }

    #[test]
    fn nothing_long_is_free() {
        for c in [" ", "\n", "\t", ".", "a", "1"] {
            assert!(sum(&c.repeat(10_000)) > 100 * TOKEN, "{c:?}");
        }
    }
}
