//! Reads text char by char and remembers, in fixed space, what the rules need to know of what came before:
//! how the current word ends, whether we are in code or in a formula, whether a line has just begun.

use super::chars::{self, Script};
use super::class::{self, Abbreviation, Left, Mode, Sign, Term};
use super::code::Code;
use super::formula::Formula;
use super::markers::{self, Item};

/// How much of a word is kept: longer than every listed word.
pub(super) const WORD_BYTES: usize = 21;

/// The first `N` bytes of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<const N: usize = WORD_BYTES> {
    bytes: [u8; N],
    kept: u8,
    overflow: bool,
}

impl<const N: usize> Default for Word<N> {
    fn default() -> Self {
        Self { bytes: [0; N], kept: 0, overflow: false }
    }
}

impl<const N: usize> Word<N> {
    pub(super) fn clear(&mut self) {
        self.kept = 0;
        self.overflow = false;
    }

    pub(super) fn push(&mut self, c: char) {
        let at = usize::from(self.kept);
        if self.overflow || at + c.len_utf8() > N {
            self.overflow = true;
            return;
        }
        c.encode_utf8(&mut self.bytes[at..]);
        self.kept += c.len_utf8() as u8;
    }

    /// [`push`](Self::push) for a run of ASCII.
    pub(super) fn extend(&mut self, run: &[u8]) {
        if self.overflow {
            return;
        }
        let kept = usize::from(self.kept);
        let fits = run.len().min(self.room());
        self.bytes[kept..kept + fits].copy_from_slice(&run[..fits]);
        self.kept += fits as u8;
        self.overflow = fits < run.len();
    }

    /// So many bytes more are kept.
    pub(super) fn room(&self) -> usize {
        if self.overflow { 0 } else { N - usize::from(self.kept) }
    }

    /// The word; nothing if it is longer than any listed word.
    pub(super) fn bytes(&self) -> &[u8] {
        if self.overflow { &[] } else { &self.bytes[..usize::from(self.kept)] }
    }

    /// The first byte, or 0.
    fn first(&self) -> u8 {
        if self.kept > 0 { self.bytes[0] } else { 0 }
    }

    pub(super) fn is_full(&self) -> bool {
        self.overflow
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept == 0 && !self.overflow
    }

    /// The word if it is short.
    fn short(&self) -> Short {
        match *self.bytes() {
            [a] => Short([a, 0, 0, 0]),
            [a, b] => Short([a, b, 0, 0]),
            [a, b, c] => Short([a, b, c, 0]),
            [a, b, c, d] => Short([a, b, c, d]),
            _ => Short::default(),
        }
    }
}

/// A word of at most four bytes, or nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Short([u8; 4]);

impl Short {
    fn bytes(&self) -> &[u8] {
        let Self(bytes) = self;
        &bytes[..bytes.iter().position(|b| *b == 0).unwrap_or(4)]
    }
}

/// Marks that open and close with the same sign, or with what opens elsewhere: which are open in this line.
#[derive(Clone, Copy, Debug, Default)]
struct Opened {
    /// `"`
    quote: bool,
    /// `*` or `**`
    star: bool,
    /// `_` or `__`
    underscore: bool,
    /// „ or ‚
    low: bool,
}

impl Opened {
    /// Takes a mark; true if it opens something.
    fn push(&mut self, c: char, previous: Option<char>) -> bool {
        let toggle = |open: &mut bool| {
            if previous != Some(c) {
                *open = !*open;
            }
            *open
        };
        match c {
            '"' => toggle(&mut self.quote),
            '*' => toggle(&mut self.star),
            '_' => toggle(&mut self.underscore),
            '„' | '‚' => {
                self.low = true;
                true
            }
            '“' | '‘' => !core::mem::take(&mut self.low),
            _ => false,
        }
    }

    /// Would [`push`](Self::push) say so?
    fn would_open(mut self, c: char, previous: Option<char>) -> bool {
        self.push(c, previous)
    }
}

/// The state between two characters.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not a state")]
pub(super) struct Scanner {
    previous: Option<char>,
    /// That of `previous`.
    script: Script,
    word: Word,
    /// The word before it, where it may make an abbreviation of it.
    last: Short,
    /// The word has characters of a script without blanks: it is none of those listed.
    unspaced: bool,
    term: Term,
    closed: bool,
    /// The current word is the first of its line.
    first: bool,
    formula: Formula,
    code: Code,
    /// Which quotation, title or table this is inside of, and whether there were capitals; the rest is as it is between two plain words. Kept in one
    /// piece, since it is copied for each word.
    inside: Left,
    opened: Opened,
    /// How the word before this one ended.
    last_term: Term,
    /// The word before this one ended with a letter and had more than one: "-" after it is a dash.
    after_word: bool,
    /// A parenthesis came before this word.
    open: bool,
    /// The last item of a list that began with this line.
    item: Item,
    /// This word may be the marker of the next one.
    may_be_item: bool,
    /// The current word begins a line, an item or what may be a sentence.
    starts: bool,
    /// Full stops set with blanks, right before this word: ". . ."
    dots: u8,
    /// What stood before the "[" of a reference, while there are only digits after it.
    cited: Term,
}

impl Default for Scanner {
    fn default() -> Self {
        Self {
            previous: None,
            script: Script::Other,
            word: Word::default(),
            last: Short::default(),
            unspaced: false,
            term: Term::None,
            closed: false,
            first: true,
            formula: Formula::default(),
            code: Code::default(),
            inside: Left { uncased: true, ..Left::default() },
            opened: Opened::default(),
            last_term: Term::None,
            after_word: false,
            open: false,
            item: Item::default(),
            may_be_item: false,
            starts: true,
            dots: 0,
            cited: Term::None,
        }
    }
}

impl Scanner {
    #[inline]
    pub(super) fn push(&mut self, c: char, script: Script) {
        match script {
            Script::Newline => self.newline(c),
            Script::Blank => self.blank(),
            _ => self.ink(c, script),
        }
        self.previous = Some(c);
        self.script = script;
    }

    /// [`push`](Self::push) for ASCII letters after an ASCII letter, which change nothing but the word and the
    /// formula.
    pub(super) fn letters(&mut self, run: &[u8]) {
        self.word.extend(run);
        self.formula.letters(run);
        self.previous = run.last().copied().map(char::from);
    }

    /// [`left`](Self::left) after an ASCII letter in prose, where a list may go on in this line.
    pub(super) fn left_in_list(&self) -> Option<Left> {
        // A word that ends with a letter is no marker, dash or relation, and has no punctuation.
        let item = self.item_before_letter();
        (!item.is_none()).then_some(Left { item, ..self.inside })
    }

    /// [`push`](Self::push) for a blank and an ASCII letter after an ASCII letter in prose.
    pub(super) fn begin_word(&mut self, first: char) {
        self.after_word = self.has_letters();
        self.first = false;
        self.dots = 0;
        self.may_be_item = !self.item_before_letter().is_none();
        // No other letter begins the second half of what is listed as two words.
        let last = if first == 'e' { self.word.short() } else { Short::default() };
        self.end_word();
        self.last = last;
        self.word.push(first);
        self.previous = Some(first); // of the same script as the letter before the blank
    }

    pub(super) fn is_within_letters(&self) -> bool {
        self.previous.is_some_and(|c| c.is_ascii_alphabetic())
    }

    /// The current word, without openers.
    pub(super) fn word(&self) -> &Word {
        &self.word
    }

    pub(super) fn previous(&self) -> Option<char> {
        self.previous
    }

    /// The script of the last character; without one, any.
    pub(super) fn script(&self) -> Script {
        self.script
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// What the rules need to know of the text so far.
    #[expect(
        clippy::inline_always,
        reason = "copying the answer is felt: 4 % of a token-sized push"
    )]
    #[inline(always)]
    pub(super) fn left(&self) -> Left {
        let word = if self.unspaced { &[] } else { self.word.bytes() };
        let abbreviation = if self.term == Term::Period && !self.closed && word != b"." {
            class::abbreviation(self.last.bytes(), word)
        } else {
            Abbreviation::None
        };
        let (mode, marker) = (self.mode(), self.is_marker());
        Left {
            term: if word == b"." { self.spaced_dots() } else { self.term },
            abbreviation,
            mode,
            marker,
            item: self.item_after(marker),
            dash: self.is_dash(word),
            sign: self.sign(mode, word),
            cited: self.closed && self.previous.is_some_and(chars::is_quote),
            thai: self.script == Script::Thai,
            uncased: self.inside.uncased && !self.begins_with_capital(),
            ..self.inside
        }
    }

    /// What a formula so far ends with; in prose, an operator that stands alone.
    fn sign(&self, mode: Mode, word: &[u8]) -> Sign {
        match mode {
            Mode::Inline | Mode::Display => self.formula.outer_sign(),
            Mode::Prose => match word {
                [b'+' | b'-' | b'*' | b'/'] => Sign::Operator,
                [_, _] if ["×", "·"].iter().any(|sign| sign.as_bytes() == word) => Sign::Operator,
                _ => Sign::None,
            },
            Mode::Code => Sign::None,
        }
    }

    /// The word stands for a dash.
    fn is_dash(&self, word: &[u8]) -> bool {
        match word {
            b"-" => self.after_word,
            b"--" => true,
            [_, _, _] => word == "–".as_bytes(),
            _ => false,
        }
    }

    /// We are in a formula, and `c` does not go on with what the last sign of it is written with.
    pub(super) fn breaks_formula(&self, c: char) -> bool {
        matches!(self.mode(), Mode::Inline | Mode::Display) && self.formula.breaks_before(c)
    }

    /// The punctuation the text so far ends with.
    pub(super) fn term(&self) -> Term {
        self.term
    }

    pub(super) fn mode(&self) -> Mode {
        if self.code.is_open() { Mode::Code } else { self.formula.mode() }
    }

    fn newline(&mut self, c: char) {
        let second_half = c == '\n' && self.previous == Some('\r');
        let empty_line = self.first && self.word.is_empty() && !second_half;
        self.formula.newline(empty_line);
        self.code.newline();
        self.opened = Opened::default();
        self.inside = Left { uncased: self.inside.uncased, ..Left::default() };
        self.first = true;
        self.after_word = false;
        self.item = Item::default();
        self.may_be_item = false;
        self.dots = 0;
        self.end_word();
        self.starts = true;
    }

    fn blank(&mut self) {
        if self.word.is_empty() && self.term == Term::None {
            return; // in a run of blanks, or in an indent
        }
        self.after_word = self.previous.is_some_and(chars::is_letter) && self.has_letters();
        let marker = self.is_marker();
        self.inside.table |= self.first && self.word.bytes() == b"|";
        self.may_be_item = !self.item_after(marker).is_none();
        if marker && !self.item.is_bullet() {
            self.item = Item::of(self.word.bytes(), self.open);
        }
        // A marker may follow a marker: "- 1. a", "## 3. b"; and so may a fence.
        self.first = marker;
        self.code.blank(marker);
        self.dots = match self.word.bytes() {
            b"." => self.dots.saturating_add(1),
            _ => u8::from(self.term == Term::Period),
        };
        let last = self.word.short();
        self.formula.blank();
        self.end_word();
        self.starts |= marker;
        self.last = last;
    }

    /// The current word begins what may be a sentence, and has a capital for that. (Names have one anywhere.)
    #[inline]
    fn begins_with_capital(&self) -> bool {
        let first = self.word.first();
        self.starts
            && (first.is_ascii_uppercase() || !first.is_ascii())
            && is_capital(self.word.bytes())
    }

    /// The word has more than one character, as far as blanks make words.
    fn has_letters(&self) -> bool {
        self.word.kept > 1 && !self.unspaced
    }

    /// Does a line begin with the current word as a marker, or a further item within a line?
    #[inline]
    fn is_marker(&self) -> bool {
        // Most words are neither first nor in a line with items.
        (self.first || !self.item.is_none() || self.starts && self.word.first() == b'1')
            && !self.unspaced
            && self.is_marker_there()
    }

    fn is_marker_there(&self) -> bool {
        let word = self.word.bytes();
        // "Two steps. 1. Open it. 2. Close it."
        self.starts && matches!(word, b"1." | b"1)")
            || self.first && markers::is_marker(word)
            || !self.item.is_none()
                && (self.may_be_item || self.starts || self.item.is_bullet())
                && self.item.precedes(Item::of(word, self.open))
    }

    /// The item of this line's list, if another may begin after the current word.
    #[inline]
    fn item_after(&self, marker: bool) -> Item {
        // Few lines have one, and this is asked for each word.
        if self.item.is_none() || marker { Item::default() } else { self.item_if_followed() }
    }

    /// [`item_after`](Self::item_after) a word that ends with a letter, so that it is no marker, if a letter
    /// follows: numbers do not go on with it.
    #[inline]
    fn item_before_letter(&self) -> Item {
        if self.item.is_of_letters() { self.item_if_followed() } else { Item::default() }
    }

    fn item_if_followed(&self) -> Item {
        let may = self.item.is_bullet()
            || match self.term {
                Term::None => markers::may_end_item(self.item, self.word.bytes()),
                term => term.is_end() || matches!(term, Term::Semicolon | Term::Parenthesis),
            };
        if may { self.item } else { Item::default() }
    }

    /// What a full stop between blanks is: three are a pause, with the fourth the sentence ends.
    fn spaced_dots(&self) -> Term {
        match self.dots {
            0 => Term::Period,
            1 | 2 => Term::Comma,
            _ => Term::Ellipsis,
        }
    }

    fn end_word(&mut self) {
        self.inside.uncased = self.inside.uncased && !self.begins_with_capital();
        self.starts = self.term.is_end() || self.term == Term::WideColon;
        self.last_term = self.term;
        self.last = Short::default();
        self.open = false;
        self.cited = Term::None;
        self.word.clear();
        self.unspaced = false;
        self.term = Term::None;
        self.closed = false;
    }

    #[inline]
    fn ink(&mut self, c: char, script: Script) {
        self.code.push(c);
        if !self.code.is_open() {
            self.formula.push(c, self.previous);
        }
        if self.ends_word_without_blank(script) {
            self.starts = self.term.is_end() || self.term == Term::WideColon;
            self.word.clear();
            self.unspaced = false;
        }
        if script.without_blanks() {
            self.unspaced = true;
            self.first = false;
        }
        if self.word.is_empty() && chars::is_opener(c) {
            self.open = matches!(c, '(' | '（');
        } else {
            self.word.push(c);
        }
        let own_stop = matches!(script, Script::Cased | Script::Thai) && chars::is_stop(c);
        if script.is_of_words() && !own_stop {
            self.term = Term::None;
            self.closed = false;
            if script != Script::Digit {
                self.cited = Term::None;
            }
        } else {
            if !c.is_ascii() {
                self.quote(c);
            }
            self.punctuate(c);
        }
    }

    /// « enfin. »: the closing mark stands alone, and what ended before it ends after it. So does a smiley.
    fn quote(&mut self, c: char) {
        let apart = self.previous.is_none_or(char::is_whitespace);
        match c {
            '»' => {
                if self.inside.quoted && apart {
                    self.term = self.last_term;
                }
                self.inside.quoted = false;
            }
            '«' => self.inside.quoted = apart || self.previous.is_some_and(chars::is_opener),
            '《' => self.inside.titled = true,
            '》' => self.inside.titled = false,
            _ if apart && !self.first && self.last_term.is_end() && chars::is_smiley(c) => {
                self.term = self.last_term;
            }
            _ => {}
        }
    }

    /// A character of `script` begins a word, though no blank stands before it: after the marks of scripts
    /// without blanks, their characters, and dashes.
    fn ends_word_without_blank(&self, script: Script) -> bool {
        let marked =
            matches!(self.term, Term::Stop | Term::WideComma | Term::WideColon | Term::Dash);
        script.is_of_words() && (marked || self.unspaced && !script.without_blanks())
    }

    /// `c` would open something rather than close it. Told only after a stop that needs no blank: elsewhere a
    /// blank says so.
    pub(super) fn opens(&self, c: char) -> bool {
        self.term == Term::Stop
            && (self.opened.would_open(c, self.previous)
                || matches!(c, '$' | '`') && self.mode() == Mode::Prose)
    }

    fn punctuate(&mut self, c: char) {
        let opens = self.opens(c);
        self.opened.push(c, self.previous);
        let term = match c {
            // `\( a = b. \)`: the closer stands alone, and what ended before it ends after it.
            ')' | ']'
                if !self.first
                    && self.last_term.is_end()
                    && matches!(self.word.bytes(), b"\\)" | b"\\]") =>
            {
                self.term = self.last_term;
                return self.close(c);
            }
            // `\)` and `\]` close what may be a sentence's end.
            '\\' if self.term.is_end() && self.mode() != Mode::Prose => return,
            '.' if matches!(self.term, Term::Period | Term::Ellipsis) => Term::Ellipsis,
            '.' if self.term == Term::Mark => Term::Mark,
            '.' => Term::Period,
            ',' => Term::Comma,
            '!' | '?' => Term::Mark,
            ';' => Term::Semicolon,
            ':' => Term::Colon,
            '[' if self.term.is_end() => {
                self.cited = self.term;
                Term::None
            }
            ']' if self.cited.is_end() => {
                self.term = self.cited;
                return self.close(c);
            }
            // [...]: something is left out.
            ']' if matches!(self.word.bytes(), b"...]" | b"\xe2\x80\xa6]") => Term::None,
            _ if opens => Term::None,
            _ if chars::is_closer(c) => return self.close(c),
            _ if c.is_ascii() => Term::None,
            _ if self.term.is_end() && (chars::is_smiley(c) || chars::is_note(c)) => {
                return self.close(c);
            }
            // ３．２９
            '．' if self.previous.is_some_and(char::is_numeric) => Term::Period,
            _ if chars::is_stop(c) => Term::Stop,
            '…' => Term::Ellipsis,
            '؛' => Term::Semicolon,
            '،' | '፣' => Term::Comma,
            '，' | '、' => Term::WideComma,
            '；' | '：' => Term::WideColon,
            '—' | '―' => Term::Dash,
            _ => Term::None,
        };
        self.term = term;
        self.closed = false;
    }

    /// What ended before `c` ends after it.
    fn close(&mut self, c: char) {
        if self.term == Term::None && matches!(c, ')' | '）') {
            self.term = Term::Parenthesis;
        }
        self.closed = self.term != Term::None;
    }
}

/// Begins with a capital. "I" and "I'm" do not count: some who write all in small letters have these.
fn is_capital(word: &[u8]) -> bool {
    match word {
        [b'I'] | [b'I', b'\'' | b'.' | b',' | 0xe2, ..] => false,
        [first, ..] if first.is_ascii() => first.is_ascii_uppercase(),
        _ => {
            let word = core::str::from_utf8(word).unwrap_or_default();
            word.chars().next().is_some_and(char::is_uppercase)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Scanner {
        let mut scanner = Scanner::default();
        text.chars().for_each(|c| scanner.push(c, chars::script(c)));
        scanner
    }

    #[test]
    fn code_hides_formulas() {
        assert_eq!(scan("`$a` b").mode(), Mode::Prose);
        assert_eq!(scan("```\n$a").mode(), Mode::Code);
    }

    #[test]
    fn ends_of_words() {
        assert_eq!(scan("He left.\")").term(), Term::Period);
        assert_eq!(scan("wait...").term(), Term::Ellipsis);
        assert_eq!(scan("(a, b)").term(), Term::Parenthesis);
        assert_eq!(scan("„Ja.“").term(), Term::Period);
        assert_eq!(scan("(e.g.").left().abbreviation, Abbreviation::Never);
        assert!(scan("x\n 3.").left().marker);
        assert!(!scan("x is 3.").left().marker);
    }
}
