//! What kind of boundary stands between two words: a pure function of small values.

use super::markers::{self, Item};
use super::{Boundary, chars, words};

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

impl Class {
    pub(super) const COUNT: usize = Self::Word as usize + 1;
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
    /// What sentences end with.
    pub(super) const fn is_end(self) -> bool {
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
    /// "etc.", "a.m.", "J.": an end when a common opener follows.
    Maybe,
    /// "U.S.", "P.M.": an end before a title too.
    Capitals,
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
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not a state")]
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
    /// Inside « and ».
    pub quoted: bool,
    /// Inside 《 and 》.
    pub titled: bool,
    /// In a line that begins with "|" and a blank.
    pub table: bool,
    /// No word has begun with a capital yet, other than "I".
    pub uncased: bool,
    /// A quotation has just closed after a full stop: what is in parentheses after it is its source.
    pub cited: bool,
    /// The item of a list in this line, if the next one may begin here.
    pub item: Item,
    /// The last character is of a script without blanks, where a blank is a comma's equal.
    pub thai: bool,
}

impl Left {
    /// Only the next word matters, if it begins with a letter.
    pub(super) fn is_plain(&self) -> bool {
        self.term == Term::None
            && self.mode == Mode::Prose
            && self.item.is_none()
            && self.sign == Sign::None
            && !(self.marker || self.dash || self.thai)
    }
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
    Bullet,
    /// A dash, a dot, a slash, a sign of arithmetic. If it stands alone no sentence begins with it.
    Sign,
    /// An emoji ends the sentence before it.
    Smiley,
    /// A formula or money, which may follow an abbreviation ("s.t. $x$").
    Formula,
    Other,
}

impl Next {
    pub(super) fn of(c: char) -> Self {
        match c {
            '(' | '（' => Self::Open,
            '=' | '→' | '≤' | '≥' | '≈' | '⇒' => Self::Relation,
            '»' => Self::Close,
            '$' | '\\' => Self::Formula,
            '.' | '/' | '*' | '-' | '–' | '—' | '+' | '×' | '÷' | '&' => Self::Sign,
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Letter,
            _ if c.is_ascii_digit() => Self::Digit,
            _ if c.is_ascii() => Self::Other,
            '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => Self::Thai,
            _ if c.is_lowercase() => Self::Lower,
            _ if chars::is_letter(c) => Self::Letter,
            _ if markers::is_bullet(c) => Self::Bullet,
            _ if chars::is_smiley(c) => Self::Smiley,
            _ => Self::Other,
        }
    }
}

/// Does the class depend on the whole next word, not just on its first character?
pub(super) fn needs_word(left: Left, next: Next) -> bool {
    if left.mode != Mode::Prose || left.marker {
        return false;
    }
    match next {
        Next::Sign => return left.term.is_end() && left.term != Term::Stop,
        Next::Digit | Next::Open => return left.item.is_counted(),
        Next::Lower | Next::Letter if left.item.is_counted() => return true,
        Next::Lower | Next::Letter => {}
        _ => return false,
    }
    match left.term {
        Term::Period => {
            next == Next::Letter
                && matches!(
                    left.abbreviation,
                    Abbreviation::Maybe
                        | Abbreviation::Capitals
                        | Abbreviation::Letter
                        | Abbreviation::Number
                        | Abbreviation::Ordinal
                )
        }
        Term::None => !left.dash && !left.thai,
        _ => false,
    }
}

/// Is `c` part of the word that [`needs_word`] asked for? `word` is what there is of it. Letters are, and
/// what makes a marker or an initial of it: "2.)", "b.".
pub(super) fn goes_on(next: Next, word: &[u8], c: char, is_letter: bool) -> bool {
    match next {
        Next::Sign => false,
        Next::Digit | Next::Open => {
            let letter = next == Next::Open && word.is_empty() && c.is_ascii_lowercase();
            letter
                || c.is_ascii_digit() && !word.ends_with(b")")
                || matches!(c, '.' | ')') && !word.is_empty()
        }
        _ if is_letter => !word.ends_with(b".") && !word.ends_with(b")"),
        _ => matches!(c, '.' | ')') && is_letter_and_dot(word),
    }
}

/// The word that [`goes_on`] has collected, before `c`. A marker, an initial or a sign that `c` is joined to
/// is none.
pub(super) fn whole(next: Next, word: &[u8], blank: bool, c: char) -> &[u8] {
    let joined = match next {
        // "**" opens emphasis.
        Next::Sign => !blank && c != '.' && (c == '*' || !chars::is_closer(c)),
        _ => !blank && (word.ends_with(b".") || word.ends_with(b")")),
    };
    match word {
        _ if joined => &[],
        // An asterisk may open emphasis, so that the scanner leaves it out.
        [] if next == Next::Sign => b"*",
        _ => word,
    }
}

/// A dash between blanks after the end of a sentence: what follows the dash tells whether it was one.
pub(super) fn looks_past(left: Left, next: Next, word: &[u8]) -> bool {
    let dashes: [&[u8]; 3] = [b"-", "–".as_bytes(), "—".as_bytes()];
    next == Next::Sign && !left.quoted && dashes.contains(&word)
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

/// What stands behind `left` if nothing follows.
pub(super) fn standing(left: Left) -> Boundary {
    let goes_on = matches!(
        left.abbreviation,
        Abbreviation::Never | Abbreviation::Number | Abbreviation::Letter
    );
    match left.term {
        Term::None | Term::Parenthesis => Boundary::Word,
        _ if left.mode != Mode::Prose || left.marker => Boundary::Word,
        _ if left.table || left.titled => Boundary::Word,
        term if term.is_end() && goes_on => Boundary::Word,
        term if term.is_end() => Boundary::Sentence,
        _ => Boundary::Clause,
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
#[expect(
    clippy::match_same_arms,
    reason = "first what holds in a display, then what holds in a line"
)]
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

fn prose(left: Left, next: Next, word: &[u8]) -> Class {
    if left.marker || (left.quoted && next == Next::Close) {
        return Class::Word;
    }
    if !left.item.is_none() {
        let bullet = left.item.is_bullet() && next == Next::Bullet;
        if bullet || left.item.precedes(Item::of(word, next == Next::Open)) {
            return Class::Sentence;
        }
    }
    match left.term {
        Term::None => clause(left, next, word),
        term if term.is_end() && left.table => Class::Comma,
        // The smiley takes the end with it.
        term if term.is_end() && next == Next::Smiley => Class::Word,
        term if term.is_end() && left.titled => Class::Comma,
        term if term.is_end() && left.cited && next == Next::Open => Class::Conjunction,
        Term::Stop => Class::Sentence,
        term if term.is_end() && next == Next::Sign && !word.is_empty() => Class::Comma,
        Term::Mark if next == Next::Lower && left.uncased => Class::Sentence,
        Term::Mark | Term::Ellipsis if matches!(next, Next::Lower | Next::Relation) => Class::Comma,
        Term::Mark | Term::Ellipsis => Class::Sentence,
        Term::Period if next == Next::Lower && left.uncased => match left.abbreviation {
            Abbreviation::None => Class::Sentence,
            _ => Class::Word,
        },
        Term::Period => period(left.abbreviation, next, word),
        Term::Semicolon | Term::Colon | Term::WideColon | Term::Dash => Class::Strong,
        Term::Comma | Term::WideComma => Class::Comma,
        Term::Parenthesis => Class::Conjunction,
    }
}

/// Between words without punctuation.
fn clause(left: Left, next: Next, word: &[u8]) -> Class {
    if left.dash {
        Class::Strong
    } else if left.thai || next == Next::Thai {
        Class::Comma
    } else if matches!(next, Next::Open | Next::Relation) {
        Class::Conjunction
    } else if left.sign == Sign::Operator {
        Class::Preposition
    } else {
        between_words(word)
    }
}

/// Between two words with nothing else between them.
pub(super) fn between_words(next: &[u8]) -> Class {
    if words::CONJUNCTIONS.has(next) {
        Class::Conjunction
    } else if words::PREPOSITIONS.has(next) {
        Class::Preposition
    } else {
        Class::Word
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
        (Abbreviation::Number, Next::Letter) if is_roman(word) => Class::Word,
        (Abbreviation::Number | Abbreviation::Maybe, Next::Formula) => Class::Word,
        (Abbreviation::Capitals, Next::Letter) if words::TITLES.has(word) => Class::Sentence,
        (Abbreviation::Maybe | Abbreviation::Capitals, Next::Letter)
            if !words::OPENERS.has(word) =>
        {
            Class::Word
        }
        (Abbreviation::Maybe | Abbreviation::Capitals, Next::Digit) => Class::Word,
        (Abbreviation::Maybe | Abbreviation::Capitals | Abbreviation::Letter, Next::Open) => {
            Class::Conjunction
        }
        (Abbreviation::Letter, Next::Letter) if !has_second_letter(word) || word == b"Chr" => {
            Class::Word
        }
        (Abbreviation::Ordinal, Next::Letter) if words::AFTER_ORDINAL.has(word) => Class::Word,
        _ => Class::Sentence,
    }
}

/// "II", "XIV". A single letter may be a word.
fn is_roman(word: &[u8]) -> bool {
    word.len() > 1 && word.iter().all(|b| matches!(b, b'I' | b'V' | b'X' | b'L' | b'C'))
}

/// "a", "Я" or "a.".
fn is_letter_and_dot(word: &[u8]) -> bool {
    let letter = word.strip_suffix(b".").unwrap_or(word);
    letter.len() == 1
        || letter.len() <= 4
            && core::str::from_utf8(letter).is_ok_and(|letter| letter.chars().count() == 1)
}

fn has_second_letter(word: &[u8]) -> bool {
    core::str::from_utf8(word)
        .is_ok_and(|word| word.chars().nth(1).is_some_and(char::is_alphabetic))
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
        Term::Stop | Term::Mark if c == 'と' || (closed && matches!(c, 'っ' | 'の' | 'を')) => {
            None
        }
        Term::Stop | Term::Mark if left.titled => None,
        Term::Stop | Term::Mark | Term::Period if left.table => {
            next_is_wide.then_some(Class::Comma)
        }
        Term::Stop => Some(Class::Sentence),
        Term::Mark if next_is_wide => Some(Class::Sentence),
        Term::Period if next_is_wide => match left.abbreviation {
            Abbreviation::None | Abbreviation::Ordinal => Some(Class::Sentence),
            _ => None,
        },
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

/// What the word before a full stop is; `word` is without openers, `before` is the word before it if
/// that has at most four bytes.
pub(super) fn abbreviation(before: &[u8], word: &[u8]) -> Abbreviation {
    let dots = word.iter().rev().take_while(|b| **b == b'.').count();
    let word = &word[..word.len() - dots];
    match word {
        [] => return Abbreviation::None,
        // No listed word begins with a digit.
        [b'0'..=b'9', ..] => {
            let day = word.len() <= 2 && word.iter().all(u8::is_ascii_digit);
            return if day { Abbreviation::Ordinal } else { Abbreviation::None };
        }
        _ => {}
    }
    if let Some(pair) = pair(before, word) {
        return pair;
    }
    let word = last_part(word);
    if words::NEVER.has(word) {
        return Abbreviation::Never;
    } else if words::NUMBER.has(word) {
        return Abbreviation::Number;
    } else if words::MAYBE.has(word) {
        return Abbreviation::Maybe;
    }
    let word = core::str::from_utf8(word).unwrap_or_default();
    let mut letters = word.chars();
    match (letters.next(), letters.next()) {
        (Some(first), None) if first.is_lowercase() => Abbreviation::Letter,
        (Some(first), None) if first.is_uppercase() => Abbreviation::Maybe,
        (Some(first), Some(_)) if is_dotted(word) => {
            if first.is_uppercase() {
                Abbreviation::Capitals
            } else {
                Abbreviation::Maybe
            }
        }
        _ => Abbreviation::None,
    }
}

/// "l'Ing.", "Dipl.-Ing.": what follows the last apostrophe or hyphen, if it is more than a letter.
fn last_part(word: &[u8]) -> &[u8] {
    if !word.iter().any(|b| matches!(b, b'\'' | b'-') || !b.is_ascii()) {
        return word;
    }
    let whole = core::str::from_utf8(word).unwrap_or_default();
    match whole.rsplit(['\'', '’', '-']).next() {
        Some(tail) if tail.chars().nth(1).is_some() => tail.as_bytes(),
        _ => word,
    }
}

/// "z. B.", "p. ej.", "ad es.": two words that are listed, with the blank unless a dot stands before it.
fn pair(before: &[u8], word: &[u8]) -> Option<Abbreviation> {
    let gap: &[u8] = match before {
        [] => return None,
        [.., b'.'] => &[],
        _ => b" ",
    };
    let mut joined = [0; 16];
    let mut length = 0;
    for part in [before, gap, word] {
        joined.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    let joined = &joined[..length];
    if words::NEVER.has(joined) {
        Some(Abbreviation::Never)
    } else if words::MAYBE.has(joined) {
        Some(Abbreviation::Maybe)
    } else {
        None
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
        assert_eq!(abbreviation(b"", b"Mr"), Abbreviation::Never);
        assert_eq!(abbreviation(b"", b"Fig"), Abbreviation::Number);
        assert_eq!(abbreviation(b"", b"U.S"), Abbreviation::Capitals);
        assert_eq!(abbreviation(b"", b"J"), Abbreviation::Maybe);
        assert_eq!(abbreviation(b"", b"z"), Abbreviation::Letter);
        assert_eq!(abbreviation(b"", b"12"), Abbreviation::Ordinal);
        assert_eq!(abbreviation(b"", b"1980"), Abbreviation::None);
        assert_eq!(abbreviation(b"", b"dog"), Abbreviation::None);
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
