//! Code in Markdown: in backticks within a line, and in fences.

/// The code we are in, if we are in code.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Code {
    /// So many backticks opened it; none if it is not code in a line.
    open: u8,
    /// Backticks right before the next character.
    ticks: u8,
    fence: Option<char>,
    /// Backticks or tildes at the start of this line, while there is nothing else.
    fencing: u8,
    /// This line opens the fence.
    opens_fence: bool,
}

impl Code {
    /// A character other than blanks and newlines.
    #[inline]
    pub(super) fn push(&mut self, c: char) {
        if !matches!(c, '`' | '~') {
            self.end_ticks();
            self.fencing = u8::MAX; // the line has begun with something else
            return;
        }
        if c == '`' && self.fence == Some('`') && self.opens_fence && self.fencing == u8::MAX {
            // ```x``` in a line is no fence: what stands behind that of a fence holds no backtick.
            (self.fence, self.open, self.opens_fence) = (None, FENCE, false);
        }
        if c == '`' && self.fence.is_none() {
            self.ticks = self.ticks.saturating_add(1);
        } else {
            self.end_ticks();
        }
        self.fencing = self.fencing.saturating_add(1);
        if self.fencing == FENCE {
            (self.open, self.ticks, self.fencing) = (0, 0, u8::MAX);
            self.opens_fence = self.fence.is_none();
            self.fence = match self.fence {
                None => Some(c),
                Some(open) if open == c => None,
                open => open,
            };
        }
    }

    /// A blank; a fence may stand behind a list's marker.
    pub(super) fn blank(&mut self, marker: bool) {
        self.end_ticks();
        if marker {
            self.fencing = 0;
        }
    }

    /// An unclosed backtick must not swallow the rest of the text; a fence may.
    pub(super) fn newline(&mut self) {
        *self = Self { fence: self.fence, ..Self::default() };
    }

    pub(super) fn is_open(self) -> bool {
        self.fence.is_some() || self.is_open_in_line()
    }

    fn is_open_in_line(self) -> bool {
        match (self.open, self.ticks) {
            (0, ticks) => ticks > 0,
            (open, ticks) => open != ticks,
        }
    }

    /// Backticks open code, and as many close it.
    fn end_ticks(&mut self) {
        if self.ticks > 0 {
            self.open = match self.open {
                0 => self.ticks,
                open if open == self.ticks => 0,
                open => open,
            };
            self.ticks = 0;
        }
    }
}

/// So many backticks or tildes make a fence.
const FENCE: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn is_open(text: &str) -> bool {
        let mut code = Code::default();
        for c in text.chars() {
            match c {
                '\n' => code.newline(),
                ' ' => code.blank(false),
                _ => code.push(c),
            }
        }
        code.is_open()
    }

    #[test]
    fn in_a_line() {
        assert!(is_open("call `f"));
        assert!(!is_open("call `f`"));
        assert!(!is_open("call `f\n"));
        assert!(is_open("call ``f` g"));
        assert!(!is_open("call ``f` g``"));
    }

    #[test]
    fn in_a_fence() {
        assert!(is_open("```py\nx"));
        assert!(!is_open("```py\n~~~\n```\nx"));
        assert!(is_open("~~~\nx ```"));
        assert!(!is_open("```f()``` is\nx"));
    }
}
