//! LaTeX: where formulas begin and end, and what they may be broken behind.

use super::class::{self, Mode, Sign};
use super::scan::Word;

/// The formula we are in, if we are in one. It may be broken where TeX would break it: after a relation, and
/// if need be after an operator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Formula {
    math: Math,
    /// The last character is a backslash that stands for itself.
    backslash: bool,
    /// What the formula so far ends with.
    sign: Sign,
    /// The name behind a backslash, while it lasts.
    command: Option<Word<COMMAND_BYTES>>,
    /// Open braces. TeX breaks nothing inside.
    depth: u8,
    /// How far what comes looks like a new sentence.
    prose: Prose,
}

/// Between two `$` in a line: ". So", which no formula has. The first was none, but `$PATH` or a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Prose {
    #[default]
    No,
    Stop,
    Blank,
    Capital,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Math {
    #[default]
    None,
    /// A `$` that may open a formula or be money: the next character tells.
    Dollar,
    Inline,
    Display,
    /// One `$` of the two that close a display.
    DisplayDollar,
    /// `\(`
    Parenthesis,
    /// `\[`
    Bracket,
}

impl Formula {
    /// A character other than blanks and newlines, outside of code.
    #[inline]
    pub(super) fn push(&mut self, c: char, previous: Option<char>) {
        let before = self.math;
        self.math = self.after(c, previous);
        self.backslash = c == '\\' && !self.backslash;
        if self.math == Math::Inline && self.is_prose(c) {
            self.math = Math::None;
        }
        if self.math != Math::None {
            self.read(c);
        } else if before != Math::None {
            *self = Self::default();
        }
    }

    /// [`push`](Self::push) for ASCII letters after an ASCII letter.
    #[inline]
    pub(super) fn letters(&mut self, run: &[u8]) {
        if self.math != Math::None {
            for letter in run {
                self.push(char::from(*letter), Some('a'));
            }
        }
    }

    pub(super) fn blank(&mut self) {
        self.backslash = false;
        self.prose = if self.prose == Prose::Stop { Prose::Blank } else { Prose::No };
        if self.math == Math::Dollar {
            *self = Self::default();
        }
    }

    fn is_prose(&mut self, c: char) -> bool {
        let begins = self.prose == Prose::Capital && c.is_lowercase();
        self.prose = match (c, self.prose) {
            ('.' | '!' | '?', _) => Prose::Stop,
            (_, Prose::Blank) if c.is_uppercase() => Prose::Capital,
            _ => Prose::No,
        };
        begins
    }

    /// No formula holds an empty line, and one within a line no newline: unclosed, it must not swallow the rest
    /// of the text.
    pub(super) fn newline(&mut self, empty_line: bool) {
        self.backslash = false;
        if empty_line || !matches!(self.math, Math::Display | Math::Bracket) {
            *self = Self::default();
        }
    }

    pub(super) fn mode(&self) -> Mode {
        match self.math {
            Math::None | Math::Dollar => Mode::Prose,
            Math::Inline | Math::Parenthesis => Mode::Inline,
            Math::Display | Math::DisplayDollar | Math::Bracket => Mode::Display,
        }
    }

    /// What the formula so far ends with, if it may be broken behind that.
    pub(super) fn outer_sign(&self) -> Sign {
        if self.depth == 0 { self.sign() } else { Sign::None }
    }

    /// There is such a sign, and `c` does not go on with what it is written with.
    pub(super) fn breaks_before(&self, c: char) -> bool {
        let goes_on = match &self.command {
            Some(command) => command.is_empty() || c.is_ascii_alphabetic(),
            None => matches!(c, '=' | '<' | '>' | '&' | ',' | ';'),
        };
        !goes_on && self.outer_sign() != Sign::None
    }

    #[expect(clippy::match_same_arms, reason = "one line a transition")]
    fn after(&self, c: char, previous: Option<char>) -> Math {
        match (self.math, c) {
            (Math::Dollar, '$') => Math::Display,
            (Math::Dollar, '0'..='9') => Math::None,
            (Math::Dollar, _) => Math::Inline,
            (Math::None, '$') if self.may_open(previous) => Math::Dollar,
            (Math::None, '(') if self.backslash => Math::Parenthesis,
            (Math::None, '[') if self.backslash => Math::Bracket,
            (Math::Parenthesis, ')') | (Math::Bracket, ']') if self.backslash => Math::None,
            (Math::Inline, '$') if !self.backslash => Math::None,
            (Math::Display, '$') if !self.backslash => Math::DisplayDollar,
            (Math::DisplayDollar, '$') => Math::None,
            (Math::DisplayDollar, _) => Math::Display,
            (math, _) => math,
        }
    }

    /// A `$` after a letter or digit closes something that did not look like a formula ("$3x$").
    fn may_open(&self, previous: Option<char>) -> bool {
        !self.backslash && previous.is_none_or(|p| !p.is_alphanumeric() && p != '$')
    }

    fn read(&mut self, c: char) {
        if let Some(command) = &mut self.command {
            if c.is_ascii_alphabetic() {
                command.push(c);
                return;
            }
            let alone = command.is_empty();
            self.sign = self.sign();
            self.command = None;
            if alone {
                // `\\` ends a row; `\;` and the like are blanks; `\{` and the like are characters.
                self.sign = match c {
                    '\\' => Sign::Row,
                    ',' | ';' | ':' | '!' => self.sign,
                    _ => Sign::None,
                };
                return;
            }
        }
        self.sign = match c {
            '\\' => {
                self.command = Some(Word::default());
                return;
            }
            '&' => return,
            '{' => {
                self.depth = self.depth.saturating_add(1);
                Sign::Open
            }
            '}' => {
                self.depth = self.depth.saturating_sub(1);
                Sign::None
            }
            '(' | '[' => Sign::Open,
            ',' | ';' => Sign::Comma,
            '=' | '<' | '>' | '≤' | '≥' | '≈' | '≠' | '≡' | '→' | '⇒' | '⟹' => {
                Sign::Relation
            }
            // After another sign it belongs to a number.
            '+' | '-' | '−' | '±' if self.sign != Sign::None => Sign::None,
            '+' | '-' | '−' | '±' | '×' | '·' | '*' => Sign::Operator,
            _ => Sign::None,
        };
    }

    fn sign(&self) -> Sign {
        match &self.command {
            Some(command) if !command.is_empty() => class::sign(command.bytes()),
            _ => self.sign,
        }
    }
}

/// As long as the longest command that is listed, `\Longrightarrow`.
const COMMAND_BYTES: usize = 14;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Formula {
        let (mut formula, mut previous) = (Formula::default(), None);
        for c in text.chars() {
            match c {
                '\n' => formula.newline(previous == Some('\n')),
                ' ' => formula.blank(),
                _ => formula.push(c, previous),
            }
            previous = Some(c);
        }
        formula
    }

    #[test]
    fn modes() {
        assert_eq!(read("so $a").mode(), Mode::Inline);
        assert_eq!(read("so $a$ is").mode(), Mode::Prose);
        assert_eq!(read("costs $5 and $3x$ b").mode(), Mode::Prose);
        assert_eq!(read("$$\na").mode(), Mode::Display);
        assert_eq!(read("$$\na\n\nb").mode(), Mode::Prose);
        assert_eq!(read("\\[ a \\\\[2pt]").mode(), Mode::Display);
        assert_eq!(read("\\( a \\) b").mode(), Mode::Prose);
        assert_eq!(read("$x = 3. Y = 4").mode(), Mode::Inline);
        assert_eq!(read("The $PATH is unset. So we").mode(), Mode::Prose);
    }

    #[test]
    fn signs() {
        assert_eq!(read("\\[ a =").outer_sign(), Sign::Relation);
        assert_eq!(read("\\[ a \\leq").outer_sign(), Sign::Relation);
        assert_eq!(read("\\[ a \\left").outer_sign(), Sign::None);
        assert_eq!(read("\\[ a ,\\;").outer_sign(), Sign::Comma);
        assert_eq!(read("\\[ a \\\\").outer_sign(), Sign::Row);
        assert_eq!(read("\\[ a +").outer_sign(), Sign::Operator);
        assert_eq!(read("\\[ a = -").outer_sign(), Sign::None);
        assert_eq!(read("\\[ \\frac{a =").outer_sign(), Sign::None);
        assert_eq!(read("\\[ \\frac{a}{b} =").outer_sign(), Sign::Relation);
    }

    #[test]
    fn a_sign_of_several_characters_is_not_broken() {
        assert!(!read("\\[ a <").breaks_before('='));
        assert!(!read("\\[ a \\le").breaks_before('q'));
        assert!(read("\\[ a \\le").breaks_before('1'));
        assert!(!read("\\[ a = \\").breaks_before(';'));
    }
}
