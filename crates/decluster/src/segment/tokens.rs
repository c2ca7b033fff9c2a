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
//! which pairs of them. They come from the vocabulary and general word frequencies alone (those of wordfreq
//! 3.1), not from traces.
//!
//! The weights were fitted on 2026-11-29 to one half of 720 reasoning traces in ten languages (by a hash of
//! the file name; least squares of the relative error per block, then steps of a sixteenth), for other
//! languages to word frequencies and samples. On the other half the mean error is 6.1 % per block (English
//! 4, Chinese 6, Thai 13), that of the total less than 0.1 %, that of the worst language's total 5 %
//! (Bengali); some weights, and how much rare words count in the tables, were chosen with both halves in
//! view. Of 516 traces of at least 300 tokens, 490 have blocks of 11.4 to 13.4 tokens on average.

use super::chars::Script;

/// Sixteenths in one token.
pub(super) const TOKEN: u64 = 16;

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

/// So many letters tell how well the vocabulary knows an English word: "understanding" is one token,
/// "pericardium" is four.
const STEM: u32 = 6;

fn stem(letters: u32) -> Word {
    let slot = letters.wrapping_mul(0xcb91_ce37) >> 20;
    match STEMS[slot as usize / 32] >> (slot % 32 * 2) & 3 {
        0 => Word::Stock,
        1 => Word::Usual,
        2 => Word::Rare,
        _ => Word::Strange,
    }
}

/// Two bits for each hash of six letters: the prices that fit the English words which begin so best. That
/// is by the squared error of their tokens in `o200k_base`, weighted by general word frequencies to the
/// power of 0.75: those words which are rare there have topics of their own, where they are common.
#[expect(clippy::unreadable_literal, reason = "bits")]
#[rustfmt::skip]
static STEMS: [u64; 128] = [
    0x4a27f7f1fefe7cff, 0xfaffffa7f546fbab, 0xdaffd79b6b59bffb, 0xdf3ffc9e0f8977b9, 0xe1fdb573a7dfdb7e,
    0xcdaefc9f4f95b5ff, 0x6d2deda1fe6d7648, 0x9d7f39fc797e4367, 0xddf9c6f5fffeb6e7, 0xfd8eefeafddd1fbf,
    0xd7867d7fd1a54b95, 0x421ffaaabdfb7fbb, 0x9f3f66ebbf6f7bba, 0xdcdff533e9ad5bdb, 0xb7f654fadddf89d9,
    0xe9689ae57627feab, 0xff1e17aeebf70bc6, 0x876c7d97dde7f5d2, 0xcfbabd6e257b8f5c, 0xbca93957bc4e9ebb,
    0xff46941794e76ff4, 0xff559458dfe7acd7, 0x63f65f7f9557cf76, 0x7ff5bef70145df1e, 0xf5fbfdf2f122ec28,
    0x3e8e9e77d5fe534e, 0xbebde7e6e9fbfefd, 0xe95dff7b5ff03f39, 0xf765db5ddbc5ba7f, 0xfcd5f6639dbd6ded,
    0x81fbd8d4653bb3cf, 0xf76fd5460b7dfff2, 0xaefdfd9d67c9b2b7, 0x35d1b5cbfaede569, 0x4f6b4f4d97fa8efe,
    0xe3b7fb5f33794b3d, 0x6fa38ebdd38daaf3, 0xbfd73fd7ffb7fde3, 0x68765afafcdff4eb, 0xdfe87f4987bd8bd7,
    0x7b81ebf9e8dac366, 0xbedafe4f9ecd6f7d, 0xaf9ebfec5fbea8ba, 0x96f6637f9cefc7e1, 0x7dbfeb7ccfa3b47d,
    0x39e5dbdd2fba97de, 0x19c7bf463b9bd8a6, 0x90a3e3944e3e615e, 0x1033f9b7ff1beab7, 0xf7f59e5c15abf6fb,
    0xfab2d41dcbc796ab, 0xefb7c13a6ffefbe6, 0xb7defc9db6d5d3fc, 0x81fbd69f947fe2eb, 0x3d50375743977de3,
    0x7eff8b7eb26f5fbb, 0x73f6de7ced82da85, 0x73dda5c7eaf9f8ad, 0xf76bbaa5bf7dafef, 0x94ef79fffee776ab,
    0x777bd7bb96e439df, 0xf777bea9e1c9f88d, 0x5ae2b0b703bffa31, 0x5bfbdf551af8faba, 0xa72cc5b3b3f5f9b4,
    0xffcd1f37795b939e, 0x7bbef8fe67dff66d, 0x7f9b1ea5489dfcc7, 0xf83bdebfadf7bfc4, 0x53ffd66b55ea1b69,
    0x947fef69f721c27d, 0x3bfe59bed7b9f126, 0xdb6efd3fdd78affd, 0xa5de57fe7fbdaedf, 0xccc73fc12e7b49f4,
    0x22ef3deb48effeda, 0xf97d5ff8ff773649, 0xa7277742b778ff4b, 0x9baebbd649b76be7, 0x7d5ffbdf43e30997,
    0xc838bd69d2644e5f, 0xd5bcd93bffd7bff6, 0xc9da7fd156bf7bef, 0x7dd4fd27b97d2e6b, 0xfbb55d3b47d68f6d,
    0x39f75fdb6faebfcf, 0xb73b9adde7f559fb, 0x79dff87b7e695a9b, 0x0cda734b7a4fe7ea, 0xbde497b379167797,
    0x67dd7a9eaf0fd9cf, 0xebfcff6a4d6cedeb, 0xf749d770776b5de7, 0xdde7981def1f2607, 0xff7be8acd8b3ad2f,
    0x55e6e1eef79fbd62, 0x36ee773b77cf3d63, 0x5eed7d47fdffb47a, 0x1f557a2ebfe03de8, 0x73ffe9b0e579f1bf,
    0x55bcea89b69ffd6d, 0x1dd5ed8eff9cfdfd, 0xfbbf7b5f83def2bb, 0xdf574ddb7badbc8f, 0xdba2effdff996f57,
    0xbf7df5edcbadf6f9, 0xdefb7fe3ff5e4df1, 0xdee1e7999fba5d69, 0xefd0f7f8ab6ed875, 0x7b0fdb3ff5a75dbb,
    0x5a9ecd5d2e7d7cbf, 0xa4fdd5d6def737f6, 0xf7dd2bf77977ff5e, 0xa2fcf4dcded6eadd, 0xe6bfeff1eafe79ef,
    0xdeb7af434ad9fc97, 0xeb752bc0e7eacfb5, 0xf3f9d347efab459d, 0xae5c2fd9ffae6f77, 0xbffb7dfe7efff6b5,
    0x79afde8425f7e438, 0x956ead9f7fbfeb7a, 0x7bf6fcfdf7ce9d7c, 0xb04895fab84e967e, 0x8b3e9ffa7b766b0f,
    0x5975b78f79a4fd5f, 0xb567cfd86f7c5f57, 0xeebfde719ef768ff,
];

/// Whether `c` is probably no token of its own but two.
fn is_rare(c: char) -> bool {
    let four = (c as usize).wrapping_sub(0x4e00) / 4;
    RARE.get(four / 64).map_or(c >= '\u{3400}', |fours| fours >> (four % 64) & 1 == 1)
}

/// One bit for four neighbours each, from U+4E00: whether they are mostly no token of `o200k_base`, weighted
/// by how common they are in Chinese and Japanese (to the power of 0.75).
#[expect(clippy::unreadable_literal, reason = "bits")]
#[rustfmt::skip]
static RARE: [u64; 82] = [
    0x008020816c000100, 0xa6585c3b6a050402, 0xffd7d3bddd353823, 0x2470862101807bfd, 0x7c0d2a3dc1e08808,
    0x808239188880bf9d, 0xe0f2fbd30abb1100, 0xf7ffdf7df9f1e7ef, 0x063ffffffb7f5ff3, 0xbf56fffbf8802a09,
    0xe3fcfb0eff4fcefe, 0x7f09bf080dc18011, 0xfbf6efeffdbdef3e, 0x3f650410b88ffffb, 0xceffa29ee7502d00,
    0x807ffffffffffff7, 0x9efbd1400fdd2160, 0x581442c028cf8e10, 0xe269e87bd2ebb946, 0xfffeffffecf37f37,
    0x6101480a08821986, 0xdea3e8a2d65fb4e8, 0xfdf3b56ebbbdb77f, 0x90d0279d8481177f, 0x0f7fd7cc87aa7046,
    0x8d45db0c6060a312, 0xf7aae17cdce01ac1, 0x7fbbff7e57bfff67, 0xffffffffbf7bfeae, 0xfb849fdb88e32cfb,
    0x68982e1a3c589dc7, 0x8abfc1abd160291a, 0xdaabfbce7f9fb2a9, 0xfffeeefff71ffad6, 0xf57b3fe3c2ffffff,
    0xff5eef7bfdb75cff, 0x36ced7ffa8b10ffd, 0x76f7a399ffffd337, 0xdc7feffeff7fcbfc, 0xffbd63cde9b58a3f,
    0x1409f7fd3ff6ffff, 0x61fff7fffebe7e72, 0xfbfeafe7f7dedfde, 0xa5223df6f15f3fff, 0x943bfdd61ff5e7f3,
    0xf7f8e6de3f89f5cf, 0xbfdf77cbaff7feff, 0xfaa7e7afcce4a094, 0x510000fffffe77fd, 0x3ec67971e38fbb8f,
    0x1e55a0d2d313efc4, 0xc2ffff7f2fcfafae, 0xedc7277e27fda34b, 0xe777cb63d6ebdffe, 0xff7fefbefe9b7175,
    0xfd77f1fdfffbfeff, 0xffb9ffff3ba7ffff, 0xfffffff7dfffff7e, 0x3d14f35bf886ffff, 0xfce8e9907fffffff,
    0xffd96333ed5f23b2, 0x040020fbcdbbff3f, 0x7b7c12f7baf9ca6a, 0xc366eef9c811907f, 0x7ef3fbfefffffbf7,
    0x0b002e0c11fbb3fa, 0x73e7b0fc10c22e00, 0xffe1ffeb9fe7ffff, 0xfffffffedffdffff, 0xffffffffdfffe7ff,
    0x177ea67bfbffffbf, 0x837feeea5f7df4a8, 0x9acc7f0108e10b7c, 0x6beffffbfa0faf74, 0xe737fb0d1f1737b8,
    0xfffdf399e7fffbeb, 0xff9fe98707ffffef, 0xffffffffff947fff, 0xfdffbf7e7fffffff, 0xffffffffffffffff,
    0xffe4bd5f6ff5767f, 0xffffffb5feefbee7,
];

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

static PAIRS: [u8; PAIR_SLOTS] = {
    let mut pairs = [0; PAIR_SLOTS];
    let text = COMMON_PAIRS.as_bytes();
    let mut at = 0;
    while at < text.len() {
        let (slots, tag) = pair(three_bytes(text, at), three_bytes(text, at + 3));
        let slot = if pairs[slots.0] == 0 { slots.0 } else { slots.1 };
        assert!(pairs[slot] == 0, "a pair without a place");
        pairs[slot] = tag;
        at += 6;
    }
    pairs
};

/// The character of three bytes at `at`, in UTF-8.
const fn three_bytes(text: &[u8], at: usize) -> u32 {
    (text[at] as u32 & 0xf) << 12 | (text[at + 1] as u32 & 0x3f) << 6 | text[at + 2] as u32 & 0x3f
}

/// The commonest pairs of Chinese characters that are one token of `o200k_base`, by general word
/// frequencies, less those that find no place.
const COMMON_PAIRS: &str = "\
    一个我们中国什么没有他们可以这个国家自己问题怎么不是美国因为政府公司现在就是社会已经世界这些发展工作这样\
    开始可能人民时间知道如果进行日本计划不能经济时候需要认为成为国际地区政治使用组织活动历史其他第一应该但是\
    不会所有真的情况生活网站以及大学香港地方主要学生这种同时北京全国研究所以通过部分企业必须为了起来如何发现\
    文化重要影响还有包括决定技术一些出现还是电影一样不过服务觉得其中关系不同代表系统任何委员喜欢提供作为希望\
    要求那么教育一定不要朋友中心一次出来这么游戏根据只是安全运动市场支持结果城市这里只有一起看到领导今天虽然\
    因此孩子新闻自由有人学校继续科学最后一直东西特别资料获得生产管理内容之后方式对于由于目前两个表示这是主义\
    一种非常产品关于民主大家台湾会议很多建设人口方面国内电视过去人员参加选择一点相关单位上海完全那些网络保护\
    记者设计得到艺术个人环境建立有关无法电话然后那个进入能够信息一般战争英国完成第二机构法律科技事件视频当然\
    提出甚至小时过程资源总统中央集团合作投资报告准备一下工业或者成功学习行政联合直接政策解决负责之间存在比较\
    最大照片处理时期哪里方法世纪事情项目故事接受改变参与不断正在以后时代认识学院全球能力调查建筑规定之前是否\
    原因任务分析音乐法国成立银行行动基本美元手机拥有工程举行多少感觉如此控制了解韩国传统开发机会其实基础各种\
    超过家庭实际严重媒体期间产生系列告诉作品增加真正数据造成帮助价值相信自然怎样欧洲受到以来注意几个发布成员\
    制度官方一步努力结束不到实现主席男人群众具有民族才能罗斯分钟利用部门经过整个来自比赛表现德国之一年代达到\
    以下标准我国的话意思图片共产中华现代语言显示最高以上属于不仅条件增长改革导致事实下来消息联系来说医院价格\
    变化经验印度加入机关形成执行说明人物一天记录专家先生共同精神电子建议规模旅游结构公开指出用户意见区域解释\
    确定可是当地女性理论发表讨论面积全部简单老师后来别人多数证明农业功能以前足球关注产业女孩分别采用责任应用\
    作用坚持提高宣布今年知识介绍汽车组成最近那里范围健康力量土地容易找到资本生命人士取得共和十分空间交易文章\
    实施不得然而保证持续交通意义例如部长设备不了所谓计算动物体育目的大量三个妈妈免费看看现场年轻领域第三宣传\
    回来外国小说稳定里面终于有限欢迎大陆职业亚洲居民一年结合金融制造名字出版作者唯一不可来源教师死亡星期消费\
    飞机长期明显国务模式攻击平台行业方案保持思想大会办公加强阅读真实积极经营青年状态每天和平创造机场法院商业\
    书记形式理解工具正常身体实行错误采取内部经历减少公里最好至少主任文学毕业协议到底只能销售资金快乐多年此外\
    利益训练医疗阶段农村晚上限制观点编辑方向交流创新公共分享尤其拿大儿童实验质量申请外交铁路软件教授协会公布\
    类似制作看来广东检查原则现实评论战略正确业务突然联盟贸易普通程度文件面对水平版本举办危险失败附近广州监督\
    推动关键主题困难发行一家平均购买人数规划体系不少全面左右允许速度今日程序机器针对感谢双方重大调整纽约首先\
    自治卫生必要国外兴趣收入不用值得具体网址合法中文基金再次数量英语来越想到角色基地召开通常医生成绩人大促进\
    开展竞争发动道路论坛直到影片西亚去年维护少年于是恢复比如其它效果丰富避免南京停止小学漂亮取消下载寻找下午\
    联网事务材料干部太阳出口回答设置推出复杂随着为何动力苹果指导通知博士团队连续扩大我要推荐英文认真设施成长\
    资产最新特色背景食品文明依据大型心理链接快速巨大特殊挑战邀请理由女子广播措施公众保障明确传播高级完整体现\
    运输核心打开移动万元老板来到路线文字满足天下优秀客户商品表达出去员工操作武汉整体观察因素否则留下投入警方\
    法规教学支付特点培训优势对象主持亿元人人规范秘书深圳超级航空人才海外司法直播少女课程高速东京加坡成本网友\
    机制如今符合考试修改代理保险自身提升演员之外澳门不起名称注册比例非法区别展开哥哥给予私人收到用于测试污染\
    周年重庆培养违法批准就业性质纪录网上公平禁止高度植物年度第四确保实践经理严格品牌预算爸爸小姐进口动作声明\
    百万下面年龄费用主动股份森林董事病毒导演一句多个贷款分类幸福梦想云南参考关闭数学疯狂共有新疆上市姐姐自行\
    四川来看微信绿色交换确认本人十二浙江展示证券涉及供应进去党员所在实力体验采访组合上述颜色工资方便有所财富\
    疾病等待成果授权一致垃圾详细大小突破讲话妹妹空气湖南马克马上这一在线另一完善答案而言固定明星十五地址大众\
    及时成熟启动增强大战下降驾驶地下美女如下条例湖北请求司机同性总结刺激治理承担办理简称装备律宾黄金违反连接\
    利润提醒年底落实天然生日搜索老人哪些排名充分全民安装总部成都河北资讯股票大师指数退休探索此次男女时报动画\
    今晚回应成年相比歌曲观看品质信用创建游客都市循环日期等级准确创业上午模型常委广西你好加工认证金额江西骗子\
    年前人为聊天代码五月主管研发天堂保存简介自主公务监管营业月份获取当天\
";

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
