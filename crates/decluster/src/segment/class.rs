//! What kind of boundary stands between two words: a pure function of small values.

use super::{chars, words};

/// The kinds of boundary, strongest first. The letters are those of the rule table in ARCHITECTURE.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Paragraph,
    Line,
    Sentence,
    /// A newline in a displayed formula or in code.
    Row,
    /// C1: semicolon, colon, dash.
    Strong,
    /// C2: comma, and what ends a sentence elsewhere but not here.
    Comma,
    /// C3: before a conjunction, a parenthesis, a relation sign; after a parenthesis.
    Conjunction,
    /// C4: before a preposition.
    Preposition,
    /// Any other blank.
    Word,
}

/// How the text before a boundary ends, closing quotes and brackets aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Term {
    #[default]
    None,
    Period,
    Ellipsis,
    /// `?` or `!`.
    Mark,
    /// A full stop that needs no blank after it: 。！？।॥؟۔
    Stop,
    Semicolon,
    Colon,
    Comma,
    WideComma,
    WideColon,
    Dash,
    Parenthesis,
}

impl Term {
    /// A sentence may end with it.
    pub(super) fn ends_sentence(self) -> bool {
        matches!(self, Self::Period | Self::Ellipsis | Self::Mark | Self::Stop)
    }
}

/// What the word before a full stop says about the stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Abbreviation {
    #[default]
    None,
    /// "Mr.", "e.g.": never an end.
    Never,
    /// "No.", "Fig.": no end before a number.
    Number,
    /// "etc.", "U.S.", "J.": an end when a common opener follows.
    Maybe,
    /// "z.": no end before another single letter.
    Letter,
    /// "12.": no end before a month.
    Ordinal,
}

/// Which rules hold: prose, a formula in a line, a displayed formula, code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Prose,
    Inline,
    Display,
    Code,
}

/// What a formula can be broken behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sign {
    #[default]
    None,
    /// The end of a row: `\\`
    Row,
    /// `=`, `\leq`, `\implies`; and `\quad`, which sets formulas apart.
    Relation,
    Comma,
    /// `+`, `\cdot`: not as a part of a number.
    Operator,
    /// An opening bracket: what follows belongs to it.
    Open,
}

/// What stands before a boundary.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left {
    pub term: Term,
    pub abbreviation: Abbreviation,
    pub mode: Mode,
    /// A list marker at the start of a line: "3.", "a)", "-".
    pub marker: bool,
    /// A dash between blanks: after "–", or after "-" between words.
    pub dash: bool,
    /// The sign that a formula so far ends with.
    pub sign: Sign,
    /// Inside « and » set with blanks.
    pub quoted: bool,
    /// The last character is of a script without blanks, where a blank is a comma's equal.
    pub thai: bool,
}

/// The first character after a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Lower,
    Letter,
    Digit,
    Open,
    Relation,
    Thai,
    /// »: closes a quotation that « opened, after a blank.
    Close,
    Other,
}

impl Next {
    pub(super) fn of(c: char) -> Self {
        match c {
            '(' | '（' => Self::Open,
            '=' | '→' | '≤' | '≥' | '≈' | '⇒' => Self::Relation,
            '»' => Self::Close,
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Letter,
            _ if c.is_ascii_digit() => Self::Digit,
            '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => Self::Thai,
            _ if c.is_lowercase() => Self::Lower,
            _ if chars::is_letter(c) => Self::Letter,
            _ => Self::Other,
        }
    }
}

/// Does the class depend on the whole next word, not just on its first character?
pub(super) fn needs_word(left: Left, next: Next) -> bool {
    if left.mode != Mode::Prose || left.marker || !matches!(next, Next::Lower | Next::Letter) {
        return false;
    }
    match left.term {
        Term::Period => {
            next == Next::Letter
                && matches!(
                    left.abbreviation,
                    Abbreviation::Maybe | Abbreviation::Letter | Abbreviation::Ordinal
                )
        }
        Term::None => !left.dash && !left.thai,
        _ => false,
    }
}

/// The class of a boundary at a blank. `word` is the next word where [`needs_word`] asked for it.
pub(super) fn classify(left: Left, next: Next, word: &[u8]) -> Class {
    match left.mode {
        Mode::Prose => prose(left, next, word),
        Mode::Inline | Mode::Display => formula(left),
        Mode::Code if matches!(left.term, Term::Comma | Term::Semicolon) => Class::Preposition,
        Mode::Code => Class::Word,
    }
}

/// The class of a run of `count` newlines.
pub(super) fn lines(mode: Mode, count: u32) -> Class {
    match mode {
        Mode::Code => Class::Row,
        _ if count > 1 => Class::Paragraph,
        Mode::Display => Class::Row,
        Mode::Prose | Mode::Inline => Class::Line,
    }
}

/// The class of a boundary in a formula, behind its last sign.
#[expect(clippy::match_same_arms, reason = "first what holds in a display, then what holds in a line")]
fn formula(left: Left) -> Class {
    match (left.mode, left.sign) {
        (Mode::Display, Sign::Row) => Class::Strong,
        (Mode::Display, Sign::Relation) => Class::Comma,
        (Mode::Display, Sign::Comma) => Class::Conjunction,
        (Mode::Display, Sign::Operator) => Class::Preposition,
        (_, Sign::Row | Sign::Relation | Sign::Comma) => Class::Preposition,
        (_, Sign::None | Sign::Open | Sign::Operator) => Class::Word,
    }
}

/// The sign that a LaTeX command stands for; `name` is without its backslash.
pub(super) fn sign(name: &[u8]) -> Sign {
    if words::RELATIONS.has(name) {
        Sign::Relation
    } else if words::OPERATORS.has(name) {
        Sign::Operator
    } else {
        Sign::None
    }
}

#[expect(clippy::match_same_arms, reason = "one line a rule, in the order they apply")]
fn prose(left: Left, next: Next, word: &[u8]) -> Class {
    if left.marker || (left.quoted && next == Next::Close) {
        return Class::Word;
    }
    match left.term {
        Term::Stop => Class::Sentence,
        Term::Mark | Term::Ellipsis if next == Next::Lower => Class::Comma,
        Term::Mark | Term::Ellipsis => Class::Sentence,
        Term::Period => period(left.abbreviation, next, word),
        Term::Semicolon | Term::Colon | Term::WideColon | Term::Dash => Class::Strong,
        Term::Comma | Term::WideComma => Class::Comma,
        Term::Parenthesis => Class::Conjunction,
        Term::None if left.dash => Class::Strong,
        Term::None if left.thai || next == Next::Thai => Class::Comma,
        Term::None if matches!(next, Next::Open | Next::Relation) => Class::Conjunction,
        Term::None if words::CONJUNCTIONS.has(word) => Class::Conjunction,
        Term::None if words::PREPOSITIONS.has(word) => Class::Preposition,
        Term::None if left.sign == Sign::Operator => Class::Preposition,
        Term::None => Class::Word,
    }
}

#[expect(clippy::match_same_arms, reason = "one line a rule, in the order they apply")]
fn period(abbreviation: Abbreviation, next: Next, word: &[u8]) -> Class {
    let numeric = matches!(next, Next::Digit | Next::Open);
    match (abbreviation, next) {
        (Abbreviation::Never, _) => Class::Word,
        (Abbreviation::Number, _) if numeric => Class::Word,
        (Abbreviation::None | Abbreviation::Ordinal | Abbreviation::Number, Next::Lower) => {
            Class::Strong
        }
        (_, Next::Lower) => Class::Word,
        (Abbreviation::Maybe, Next::Letter) if !words::OPENERS.has(word) => Class::Word,
        (Abbreviation::Maybe, Next::Digit) => Class::Word,
        (Abbreviation::Letter, Next::Letter) if !has_second_letter(word) => Class::Word,
        (Abbreviation::Ordinal, Next::Letter) if words::AFTER_ORDINAL.has(word) => Class::Word,
        _ => Class::Sentence,
    }
}

fn has_second_letter(word: &[u8]) -> bool {
    core::str::from_utf8(word).is_ok_and(|word| word.chars().nth(1).is_some())
}

/// The class of a boundary without a blank, if there is one: after full-width punctuation, a long dash,
/// before a full-width parenthesis.
#[expect(clippy::match_same_arms, reason = "one line a rule, in the order they apply")]
pub(super) fn tight(left: Left, closed: bool, c: char, next_is_wide: bool) -> Option<Class> {
    match left.mode {
        Mode::Display => return Some(formula(left)),
        // A short formula in a line is best kept whole.
        Mode::Inline => return Some(Class::Word),
        Mode::Code => return None,
        Mode::Prose if left.marker => return None,
        Mode::Prose => {}
    }
    match left.term {
        // 「行こう！」と言った。: the particle と carries a quotation on.
        Term::Stop | Term::Mark if c == 'と' || (closed && matches!(c, 'っ' | 'の')) => None,
        Term::Stop => Some(Class::Sentence),
        Term::Mark | Term::Period if next_is_wide => Some(Class::Sentence),
        Term::WideColon => Some(Class::Strong),
        Term::Semicolon | Term::Colon if next_is_wide => Some(Class::Strong),
        Term::Dash => Some(Class::Strong),
        Term::WideComma => Some(Class::Comma),
        Term::Comma | Term::Ellipsis if next_is_wide => Some(Class::Comma),
        Term::Parenthesis if next_is_wide => Some(Class::Conjunction),
        Term::None if c == '（' => Some(Class::Conjunction),
        _ => None,
    }
}

/// What the word before a full stop is; `word` is without openers and without its last dots.
pub(super) fn abbreviation(word: &str) -> Abbreviation {
    let mut letters = word.chars();
    let (first, second) = (letters.next(), letters.next());
    let Some(first) = first else { return Abbreviation::None };
    if words::NEVER.has(word.as_bytes()) {
        Abbreviation::Never
    } else if words::NUMBER.has(word.as_bytes()) {
        Abbreviation::Number
    } else if words::MAYBE.has(word.as_bytes()) {
        Abbreviation::Maybe
    } else if first.is_ascii_digit() {
        let day = word.len() <= 2 && word.bytes().all(|b| b.is_ascii_digit());
        if day { Abbreviation::Ordinal } else { Abbreviation::None }
    } else if second.is_none() && first.is_lowercase() {
        Abbreviation::Letter
    } else if (second.is_none() && first.is_uppercase()) || is_dotted(word) {
        Abbreviation::Maybe
    } else {
        Abbreviation::None
    }
}

/// "U.S", "a.m": single letters with dots between.
fn is_dotted(word: &str) -> bool {
    word.contains('.')
        && word.split('.').all(|part| {
            let mut letters = part.chars();
            letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(term: Term) -> Left {
        Left { term, ..Left::default() }
    }

    #[test]
    fn full_stops() {
        let left = after(Term::Period);
        assert_eq!(classify(left, Next::Letter, b""), Class::Sentence);
        assert_eq!(classify(left, Next::Lower, b""), Class::Strong);
        let left = Left { abbreviation: Abbreviation::Never, ..left };
        assert_eq!(classify(left, Next::Letter, b""), Class::Word);
        let left = Left { abbreviation: Abbreviation::Ordinal, ..left };
        assert_eq!(classify(left, Next::Letter, b"Juni"), Class::Word);
        assert_eq!(classify(left, Next::Letter, b"Then"), Class::Sentence);
    }

    #[test]
    fn abbreviations() {
        assert_eq!(abbreviation("Mr"), Abbreviation::Never);
        assert_eq!(abbreviation("Fig"), Abbreviation::Number);
        assert_eq!(abbreviation("U.S"), Abbreviation::Maybe);
        assert_eq!(abbreviation("J"), Abbreviation::Maybe);
        assert_eq!(abbreviation("z"), Abbreviation::Letter);
        assert_eq!(abbreviation("12"), Abbreviation::Ordinal);
        assert_eq!(abbreviation("1980"), Abbreviation::None);
        assert_eq!(abbreviation("dog"), Abbreviation::None);
    }

    #[test]
    fn words_without_punctuation() {
        let left = after(Term::None);
        assert!(needs_word(left, Next::Lower));
        assert_eq!(classify(left, Next::Lower, b"because"), Class::Conjunction);
        assert_eq!(classify(left, Next::Lower, b"with"), Class::Preposition);
        assert_eq!(classify(left, Next::Lower, b"house"), Class::Word);
        assert_eq!(classify(left, Next::Open, b""), Class::Conjunction);
    }

    #[test]
    fn formulas_and_code_have_no_sentences() {
        for mode in [Mode::Inline, Mode::Code] {
            let left = Left { mode, ..after(Term::Period) };
            assert_eq!(classify(left, Next::Letter, b""), Class::Word);
        }
    }

    #[test]
    fn full_width_needs_no_blank() {
        assert_eq!(tight(after(Term::Stop), false, '我', true), Some(Class::Sentence));
        assert_eq!(tight(after(Term::Stop), true, 'と', true), None);
        assert_eq!(tight(after(Term::Period), false, 'c', false), None);
    }
}
