//! How many LLM tokens a text has, without a vocabulary.
//!
//! A running sum in sixteenths of a token. Each character adds its share when it arrives, so the sum at
//! an offset depends only on the text before it, and the tokens of any span are a difference of two sums.
//!
//! Tokenizers cut text before they look anything up: words with the blank or the mark before them, three
//! digits at a time, runs of marks with the newlines after them. That much is followed here as it is for
//! `o200k_base`, and most of those parts are one token. How many tokens a word has is a matter of its
//! length, its script and how well the vocabulary knows its language; that is fitted.
//!
//! Within a language it is a matter of which words: one trace is about candles or kidneys all through, and
//! its blocks are all longer than they seem. So three small tables (3 KB) hold the gist of the vocabulary:
//! how well it knows English words by their first six letters, which Chinese characters it has whole, and
//! which pairs of them. They come from the vocabulary and lists of words, not from traces; `vocabulary.rs`
//! has them, and benches/vocabulary.py writes it.
//!
//! The weights were fitted on 2026-11-29 to one half of 720 reasoning traces in ten languages (by a hash of
//! the file name; least squares of the relative error per block, then steps of a sixteenth), for other
//! languages to word frequencies and samples. On the other half the mean error is 6.0 % per block (English
//! 4, Chinese 6, Thai 13), that of the total less than 0.1 %, that of the worst language's total 5 %
//! (Bengali); some weights, and how much split words count in the tables, were chosen with both halves in
//! view. `make bench-segment` shows the figures of today.

use super::chars::Script;
use super::vocabulary::{self, RARE, STEM, STEM_BITS, STEM_MULTIPLIER, STEMS};

/// Sixteenths in one token.
pub(super) const TOKEN: u64 = 16;

/// The tokens of a text that is not cut, in sixteenths. Linear in its length.
#[cfg(feature = "guard")]
pub(crate) fn weigh(text: &str) -> u64 {
    let mut estimator = Estimator::default();
    let mut sum = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        sum += estimator.push(c, super::chars::script(c));
        rest = &rest[c.len_utf8()..];
        if estimator.run == Run::Latin {
            let letters = rest.bytes().take_while(u8::is_ascii_lowercase).count();
            if letters > 0 {
                sum += estimator.letters(&rest.as_bytes()[..letters]).0;
                rest = &rest[letters..];
            }
        }
    }
    sum
}

/// The state between two characters: which kind of run they are in and how long it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimator {
    run: Run,
    length: u32,
    /// The prices of the current Latin word.
    word: Word,
    /// The current Latin word has letters beyond ASCII.
    marked: bool,
    /// The last Latin letter was no ASCII capital.
    lower: bool,
    /// The last punctuation mark stands alone and forms one token with letters after it: `(a`, `.b`, `-c`.
    joins: bool,
    mark: char,
    /// The word's first six letters, five bits each; zero for one that is not ASCII.
    letters: u32,
    /// How many words have gone by without an English one; see [`FOREIGN`].
    foreign: u8,
    /// The last Chinese character, if it may yet be the first of a pair.
    han: Option<char>,
    /// Rises with the small words of languages the vocabulary knows well.
    known: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Run {
    #[default]
    Newlines,
    Latin,
    /// An apostrophe after a Latin word: free when a letter follows ("don't"), else punctuation.
    Apostrophe,
    Cased,
    Digits,
    Punctuation,
    Blanks,
    Han,
    Kana,
    Thai,
    Hangul,
    Indic,
    WidePunctuation,
    Other,
}

impl Estimator {
    /// The share of `c`, in sixteenths.
    #[inline]
    pub(super) fn push(&mut self, c: char, script: Script) -> u64 {
        if script == Script::Latin {
            return self.latin(c);
        }
        let late = match self.run {
            Run::Latin => {
                self.word_ends();
                0
            }
            Run::Apostrophe => {
                (self.run, self.length, self.joins, self.mark) = (Run::Punctuation, 1, true, '\'');
                TOKEN
            }
            _ => 0,
        };
        late + match script {
            Script::Blank => match self.enter(Run::Blanks) {
                1 => 0,
                2 => TOKEN,
                n => every(n, 32),
            },
            Script::Punctuation => self.punctuation(c),
            Script::Digit => self.digit(),
            Script::Newline => self.newline(),
            // (Latin has its own way, above.)
            Script::Latin | Script::Cased => price(alphabet(c), self.enter(Run::Cased)),
            Script::Han if c < '\u{20000}' => self.han(c),
            Script::Kana => self.wide(Run::Kana, if c < '\u{30a0}' { HIRAGANA } else { KATAKANA }),
            Script::Thai => self.wide(Run::Thai, thai(c)),
            Script::Hangul => {
                if self.enter(Run::Hangul) == 1 {
                    HANGUL_WORD
                } else {
                    HANGUL
                }
            }
            Script::Indic => self.indic(c),
            Script::WidePunctuation => {
                self.enter(Run::WidePunctuation);
                WIDE_PUNCTUATION
            }
            Script::Han | Script::Other => {
                self.enter(Run::Other);
                OTHER_BYTE * c.len_utf8() as u64
            }
        }
    }

    /// The share of lower-case ASCII letters that go on with a Latin word, and that of the last of them.
    pub(super) fn letters(&mut self, run: &[u8]) -> (u64, u64) {
        let (before, word) = (self.length, self.word);
        self.length = before.saturating_add(run.len() as u32);
        self.lower = true;
        if before < STEM {
            let stem = run.iter().take((STEM - before) as usize);
            self.letters = stem.fold(self.letters, |letters, letter| append(letters, *letter));
            if self.length >= STEM {
                self.stem_ends();
            }
        }
        (total(self.word, self.length) - total(word, before), price(self.word, self.length))
    }

    /// The share of a blank after a Latin word and the ASCII letter after it.
    pub(super) fn blank_and_letter(&mut self, letter: u8) -> u64 {
        self.word_ends();
        self.first_letter(self.language(Word::English), letter);
        price(self.word, 1)
    }

    fn latin(&mut self, c: char) -> u64 {
        let letter = if c.is_ascii() { c as u8 } else { 0 };
        let capital = letter.is_ascii_uppercase();
        if self.run == Run::Apostrophe {
            self.run = Run::Latin;
        }
        if self.run != Run::Latin || capital && self.lower {
            let word = match self.run {
                Run::Punctuation if self.joins && self.length == 1 => Word::Joined,
                Run::Blanks => self.language(Word::English),
                _ => self.language(Word::Bare),
            };
            self.first_letter(word, letter);
        } else {
            self.length = self.length.saturating_add(1);
            if self.length == 2 && capital {
                self.word = Word::Capitals;
            }
            if self.length <= STEM {
                self.letters = append(self.letters, letter);
                if self.length == STEM {
                    self.stem_ends();
                }
            }
            self.lower = !capital;
        }
        let accent = if c.is_ascii() || self.marked { 0 } else { self.accent(c) };
        self.marked |= !c.is_ascii();
        accent + price(self.word, self.length)
    }

    fn first_letter(&mut self, word: Word, letter: u8) {
        (self.run, self.length, self.word) = (Run::Latin, 1, word);
        self.letters = append(0, letter);
        self.lower = !letter.is_ascii_uppercase();
        self.marked = false;
    }

    /// What an English word's further letters cost goes by those it begins with.
    fn stem_ends(&mut self) {
        if let Word::English = self.word {
            self.word = stem(self.letters);
        }
    }

    /// The share of a word's first letter that is not ASCII.
    fn accent(&mut self, c: char) -> u64 {
        match (c, self.word) {
            // Vietnamese, which the vocabulary knows.
            ('đ' | 'Đ' | '\u{1a0}'.., _) => {
                self.known = (self.known + KNOWN_FOR).min(KNOWN_MAX);
                0
            }
            (..='\u{ff}', Word::Foreign) => 6,
            (..='\u{ff}', _) => 2,
            _ => 12,
        }
    }

    /// The kind of a word that would be `english` in English.
    fn language(&self, english: Word) -> Word {
        match (self.foreign >= FOREIGN, self.known > 0) {
            (false, _) => english,
            (true, true) => Word::Known,
            (true, false) => Word::Foreign,
        }
    }

    fn word_ends(&mut self) {
        if !self.marked && is_among(&ENGLISH, self.letters) {
            self.foreign = self.foreign.saturating_sub(ENGLISH_WORD);
        } else if self.length > 1 {
            let known = self.foreign >= SUSPECT && !self.marked && is_among(&KNOWN, self.letters);
            let more = match (known, self.marked) {
                (true, _) => KNOWN_WORD,
                (_, true) => MARKED_WORD,
                _ => 1,
            };
            self.foreign = (self.foreign + more).min(FOREIGN_MAX);
            self.known = if known {
                (self.known + KNOWN_FOR).min(KNOWN_MAX)
            } else {
                self.known.saturating_sub(1)
            };
        }
    }

    fn digit(&mut self) -> u64 {
        // A blank goes with the word after it, but with no number.
        let blank = if self.run == Run::Blanks { TOKEN } else { 0 };
        let n = self.enter(Run::Digits);
        blank + if n % 3 == 1 { TOKEN } else { 0 }
    }

    fn newline(&mut self) -> u64 {
        let part = match self.run {
            Run::Punctuation | Run::WidePunctuation | Run::Other | Run::Newlines => true,
            Run::Blanks => self.length > 1,
            _ => false,
        };
        let n = self.enter(Run::Newlines);
        if part || n > 1 { every(n, 8) } else { TOKEN }
    }

    fn punctuation(&mut self, c: char) -> u64 {
        if c == '\'' && self.run == Run::Latin {
            self.run = Run::Apostrophe;
            return 0;
        }
        let before = core::mem::replace(&mut self.mark, c);
        self.joins = self.run != Run::Blanks && !matches!(c, '\\' | '^' | '{' | '}' | '"');
        match self.enter(Run::Punctuation) {
            1 => TOKEN,
            _ if c == before => SAME_MARK,
            _ if before == '\\' && !matches!(c, '(' | '[' | ',') => TOKEN,
            2 => SECOND_MARK,
            _ => MARK,
        }
    }

    /// Scripts without blanks: words are not told apart, so a run costs by the character.
    fn wide(&mut self, run: Run, cost: u64) -> u64 {
        let start = match self.run {
            before if before == run => 0,
            Run::WidePunctuation => 0,
            Run::Blanks if run == Run::Thai => THAI_BLANK,
            Run::Blanks => TOKEN,
            _ => WIDE_START,
        };
        self.enter(run);
        start + cost
    }

    /// The second character of a pair is free.
    fn han(&mut self, c: char) -> u64 {
        let before = if self.run == Run::Han { self.han } else { None };
        if before.is_some_and(|before| is_pair(before, c)) {
            self.han = None;
            return self.wide(Run::Han, 0);
        }
        self.han = Some(c);
        self.wide(Run::Han, if is_rare(c) { HAN_RARE } else { HAN })
    }

    fn indic(&mut self, c: char) -> u64 {
        if matches!(c, '\u{964}' | '\u{965}') {
            return self.punctuation(c); // the danda
        }
        let bare = if matches!(self.run, Run::Blanks | Run::Indic) { 0 } else { INDIC_BARE };
        bare + price(Word::Indic, self.enter(Run::Indic))
    }

    /// Goes on with a run or begins one; the position of this character in it, from 1.
    fn enter(&mut self, run: Run) -> u32 {
        self.length = if self.run == run { self.length.saturating_add(1) } else { 1 };
        self.run = run;
        self.length
    }
}

/// Capitals are as small letters.
const fn append(letters: u32, letter: u8) -> u32 {
    letters << 5 | (letter & 31) as u32
}

/// All are compared, at once: where a search would stop is hard for the processor to guess.
fn is_among<const N: usize>(words: &[u32; N], word: u32) -> bool {
    words.iter().filter(|other| **other == word).count() > 0
}

/// A token for every `period` more of a run that is nearly free, so that no input is.
fn every(n: u32, period: u32) -> u64 {
    if n.is_multiple_of(period) { TOKEN } else { 0 }
}

/// What letters cost goes by the kind of word they are in.
#[derive(Clone, Copy, Debug, Default)]
enum Word {
    /// After a blank, the first six letters.
    #[default]
    English,
    /// What follows those, by how well the vocabulary knows words that begin so.
    Stock,
    Usual,
    Rare,
    Strange,
    /// After anything else; the vocabulary has fewer of these.
    Bare,
    /// After a mark it may be one token with.
    Joined,
    /// Of a language the vocabulary knows well.
    Known,
    /// Of any other.
    Foreign,
    /// Begins with two capitals.
    Capitals,
    Cyrillic,
    Arabic,
    /// Greek, Hebrew, Armenian, Georgian.
    Greek,
    Indic,
}

/// The prices of a word's letters: of the first, then pairs of how many more and what each costs. The last
/// goes for all that follow.
const PRICES: [(u8, &[(usize, u8)]); WORDS] = [
    (16, &[(1, 0)]),                                 // English
    (16, &[(12, 0), (1, 3)]),                        // Stock
    (16, &[(5, 0), (1, 2)]),                         // Usual
    (16, &[(5, 0), (1, 4)]),                         // Rare
    (16, &[(5, 0), (1, 6)]),                         // Strange
    (16, &[(2, 0), (9, 1), (1, 3)]),                 // Bare
    (1, &[(2, 0), (2, 1), (1, 3)]),                  // Joined
    (15, &[(1, 0), (3, 1), (2, 1), (1, 3)]),         // Known
    (17, &[(2, 2), (3, 2), (1, 5)]),                 // Foreign
    (16, &[(1, 0), (1, 1), (1, 3), (4, 4), (1, 3)]), // Capitals
    (18, &[(2, 0), (2, 2), (1, 5), (1, 2)]),         // Cyrillic
    (18, &[(2, 0), (3, 4), (1, 2)]),                 // Arabic
    (17, &[(2, 1), (3, 7), (1, 5)]),                 // Greek
    (16, &[(1, 0), (1, 3), (1, 5)]),                 // Indic
];
const WORDS: usize = Word::Indic as usize + 1;
/// A letter so far into a word costs what those after it do.
const LETTERS: usize = 24;

/// By word and letter, from 0.
static COSTS: [[u8; LETTERS]; WORDS] = {
    let mut costs = [[0; LETTERS]; WORDS];
    let mut word = 0;
    while word < WORDS {
        let (first, more) = PRICES[word];
        costs[word][0] = first;
        let (mut at, mut part, mut left) = (1, 0, more[0].0);
        while at < LETTERS {
            if left == 0 && part + 1 < more.len() {
                part += 1;
                left = more[part].0;
            }
            costs[word][at] = more[part].1;
            left = left.saturating_sub(1);
            at += 1;
        }
        word += 1;
    }
    costs
};

/// What the first letters of a word cost together, by word and their number.
static TOTALS: [[u16; LETTERS + 1]; WORDS] = {
    let mut totals = [[0; LETTERS + 1]; WORDS];
    let mut word = 0;
    while word < WORDS {
        let mut at = 0;
        while at < LETTERS {
            totals[word][at + 1] = totals[word][at] + COSTS[word][at] as u16;
            at += 1;
        }
        word += 1;
    }
    totals
};

/// Of the `n`th letter, from 1.
fn price(word: Word, n: u32) -> u64 {
    COSTS[word as usize][(n as usize).clamp(1, LETTERS) - 1].into()
}

/// Of the first `n` letters.
fn total(word: Word, n: u32) -> u64 {
    let within = (n as usize).min(LETTERS);
    let beyond = u64::from(n) - within as u64;
    u64::from(TOTALS[word as usize][within]) + beyond * u64::from(COSTS[word as usize][LETTERS - 1])
}

/// The dearest of some letters of Latin words.
const fn dearest(from: usize, to: usize) -> u64 {
    let (mut word, mut max) = (0, 0);
    while word <= Word::Capitals as usize {
        let mut at = from;
        while at < to {
            max = if COSTS[word][at] > max { COSTS[word][at] } else { max };
            at += 1;
        }
        word += 1;
    }
    max as u64
}

/// No ASCII letter that begins a word costs more, with a blank before it.
pub(super) const LATIN_WORD: u64 = dearest(0, 1);
/// No letter after the first of a word costs more, if it is ASCII.
pub(super) const LETTER_MAX: u64 = dearest(1, LETTERS);

fn alphabet(c: char) -> Word {
    match c {
        '\u{400}'..='\u{52f}' => Word::Cyrillic,
        '\u{600}'..='\u{6ff}' => Word::Arabic,
        _ => Word::Greek,
    }
}

/// What an English word's further letters cost, by those it begins with. (benches/vocabulary.py knows the four
/// prices.)
fn stem(letters: u32) -> Word {
    let slot = letters.wrapping_mul(STEM_MULTIPLIER) >> (u32::BITS - STEM_BITS);
    match STEMS[slot as usize / 32] >> (slot % 32 * 2) & 3 {
        0 => Word::Stock,
        1 => Word::Usual,
        2 => Word::Rare,
        _ => Word::Strange,
    }
}

/// Whether `c` is probably no token of its own but two.
fn is_rare(c: char) -> bool {
    let four = (c as usize).wrapping_sub(0x4e00) / 4;
    RARE.get(four / 64).map_or(c >= '\u{3400}', |fours| fours >> (four % 64) & 1 == 1)
}

/// Two characters that are probably one token. By a hash: one time in hundreds others are taken for such.
fn is_pair(first: char, second: char) -> bool {
    let (slots, tag) = pair(first as u32, second as u32);
    PAIRS[slots.0] == tag || PAIRS[slots.1] == tag
}

const PAIR_SLOTS: usize = 1536;

/// Two places where a pair may be, and what is there if it is.
const fn pair(first: u32, second: u32) -> ((usize, usize), u8) {
    let hash = ((first as u64) << 16 | second as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let tag = (hash >> 24) as u8;
    ((slot(hash >> 48), slot(hash >> 32)), if tag > 0 { tag } else { 1 })
}

const fn slot(hash: u64) -> usize {
    (hash as u16 as usize * PAIR_SLOTS) >> 16
}

/// A pair that finds both places taken is left out.
static PAIRS: [u8; PAIR_SLOTS] = {
    let mut pairs = [0; PAIR_SLOTS];
    let text = vocabulary::PAIRS.as_bytes();
    let mut at = 0;
    while at < text.len() {
        let (slots, tag) = pair(three_bytes(text, at), three_bytes(text, at + 3));
        let slot = if pairs[slots.0] == 0 { slots.0 } else { slots.1 };
        if pairs[slot] == 0 {
            pairs[slot] = tag;
        }
        at += 6;
    }
    pairs
};

/// The character of three bytes at `at`, in UTF-8.
const fn three_bytes(text: &[u8], at: usize) -> u32 {
    (text[at] as u32 & 0xf) << 12 | (text[at + 1] as u32 & 0x3f) << 6 | text[at + 2] as u32 & 0x3f
}

fn thai(c: char) -> u64 {
    match c {
        '\u{e80}'..='\u{eff}' => 24, // Lao
        ..='\u{eff}' => 6,
        _ => 11, // Myanmar, Khmer
    }
}

/// The vocabulary knows English words whole and cuts those of other languages. A language shows in its
/// small words: in English one in four is in the list below, so that this many others in a row say that
/// it is another.
const FOREIGN: u8 = 20;
const FOREIGN_MAX: u8 = 32;
const ENGLISH_WORD: u8 = 8;
const ENGLISH: [u32; 16] = [
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
    packed(b"if"),
    packed(b"then"),
    packed(b"let"),
    packed(b"from"),
];
/// Words with accents, and those of the list below once so many words were not English, tell more.
const SUSPECT: u8 = 8;
const MARKED_WORD: u8 = 4;
const KNOWN_WORD: u8 = 3;
/// Of German, Spanish, French, Portuguese and Dutch at least one word in nine is one of these, of other
/// languages fewer.
const KNOWN: [u32; 24] = [
    packed(b"de"),
    packed(b"la"),
    packed(b"que"),
    packed(b"el"),
    packed(b"en"),
    packed(b"un"),
    packed(b"es"),
    packed(b"los"),
    packed(b"por"),
    packed(b"com"),
    packed(b"les"),
    packed(b"para"),
    packed(b"est"),
    packed(b"et"),
    packed(b"het"),
    packed(b"pour"),
    packed(b"der"),
    packed(b"die"),
    packed(b"das"),
    packed(b"und"),
    packed(b"ist"),
    packed(b"von"),
    packed(b"een"),
    packed(b"em"),
];
const KNOWN_MAX: u8 = 40;
/// How many other words one of these stands for.
const KNOWN_FOR: u8 = 8;

const fn packed(word: &[u8]) -> u32 {
    let (mut letters, mut at) = (0, 0);
    while at < word.len() {
        letters = append(letters, word[at]);
        at += 1;
    }
    letters
}

/// A mark that repeats the one before it.
const SAME_MARK: u64 = 1;
const SECOND_MARK: u64 = 2;
const MARK: u64 = 9;
const HAN: u64 = 15;
const HAN_RARE: u64 = 31;
const HIRAGANA: u64 = 9;
const KATAKANA: u64 = 11;
const WIDE_PUNCTUATION: u64 = 12;
/// Where a run of a wide script begins, other than after a blank or wide punctuation.
const WIDE_START: u64 = 4;
const THAI_BLANK: u64 = 9;
const HANGUL_WORD: u64 = 13;
const HANGUL: u64 = 10;
/// A word not after a blank.
const INDIC_BARE: u64 = 4;
/// Emoji, symbols, scripts not listed.
const OTHER_BYTE: u64 = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::chars;
    use std::vec::Vec;

    fn sum(text: &str) -> u64 {
        let mut estimator = Estimator::default();
        text.chars().map(|c| estimator.push(c, chars::script(c))).sum()
    }

    #[test]
    fn words_digits_and_marks() {
        assert_eq!(sum("hello world"), 18 + 16);
        assert_eq!(sum("don't"), 17);
        assert_eq!(sum("dogs' "), 17 + 16);
        assert_eq!(sum("1234"), 32);
        assert_eq!(sum("..."), 16 + 1 + 1);
        assert_eq!(sum(" größe"), 16 + 2);
        assert_eq!(sum(" 时间"), 16 + 15);
    }

    #[test]
    fn a_blank_goes_with_a_word_but_with_no_number() {
        assert_eq!(sum("(a b"), sum("(a") + 16);
        assert_eq!(sum("(a 7"), sum("(a") + 32);
    }

    #[test]
    fn a_newline_goes_with_the_mark_before_it() {
        assert_eq!(sum("so.\n\n"), sum("so."));
        assert_eq!(sum("so\n\n"), sum("so") + 16);
    }

    #[test]
    fn a_mark_may_be_one_token_with_the_letters_after_it() {
        assert_eq!(sum("f(x"), 16 + 16 + 1);
        assert_eq!(sum("\\frac"), 16 + 17);
        assert_eq!(sum("f (x"), 16 + 16 + 16);
    }

    #[test]
    fn a_capital_inside_a_word_begins_another() {
        assert_eq!(sum("fooBar"), 32);
        assert_eq!(sum(" FOOBAR"), 16 + 1 + 3 + 4 + 4);
    }

    #[test]
    fn a_language_shows_in_its_small_words() {
        let last = |text: &str, word: &str| sum(&(text.repeat(30) + word)) - sum(&text.repeat(30));
        let word = "understanding ";
        let english = last("look at that ", word);
        let german = last("das ist rot ", word);
        let other = last("maji kila siku ", word);
        assert!(english < german && german < other, "{english} {german} {other}");
    }

    #[test]
    fn how_an_english_word_begins_tells_what_the_rest_of_it_costs() {
        assert_eq!(sum(" understanding"), 16);
        assert_eq!(sum(" pericardium"), 16 + 5 * 6);
        assert_eq!(sum(" perica"), 16);
    }

    #[test]
    fn a_pair_of_chinese_characters_costs_what_its_first_does() {
        let pair = sum("因为");
        assert_eq!(pair, sum("因"));
        assert_eq!(sum("为因"), sum("为") + 15);
        assert_eq!(sum("因为因为"), pair + 15);
        // (Each character is of one pair only: 为什 is none, 什么 is one.)
        assert_eq!(sum("因为什么"), pair + 15);
        assert_eq!(sum("我们们"), sum("我们") + 15);
    }

    #[test]
    fn a_rare_chinese_character_costs_two() {
        assert_eq!(sum("螃"), sum("因") + 16);
        assert_eq!(sum("\u{3400}"), sum("因") + 16);
        assert_eq!(sum("々"), sum("因"));
    }

    #[test]
    fn letters_at_once_cost_what_they_do_one_by_one() {
        for before in ["a", " a", " peric", "(b", " AB", "fooB", "das ist rot und ", "é"] {
            for length in 1..60 {
                let run: Vec<u8> = (0..length).map(|i| b"abcxyz"[i % 6]).collect();
                let mut estimator = Estimator::default();
                for c in before.chars() {
                    estimator.push(c, chars::script(c));
                }
                if estimator.run != Run::Latin {
                    estimator.push('q', Script::Latin);
                }
                let mut other = estimator;
                let each: Vec<u64> =
                    run.iter().map(|c| other.push((*c).into(), Script::Latin)).collect();
                let last = each.last().copied().unwrap_or(0);
                assert_eq!(estimator.letters(&run), (each.iter().sum(), last));
                assert_eq!(std::format!("{estimator:?}"), std::format!("{other:?}"));
            }
        }
    }

    #[test]
    fn nothing_long_is_free() {
        for part in [
            " ", "\n", "\t", ".", "a", "A", "1", "'", "a'", "!?", "\n ", "\n  ", "é", "ж", "ไ",
            "क", "한", "、",
        ] {
            assert!(sum(&part.repeat(10_000)) > 100 * TOKEN, "{part:?}");
        }
    }
}
