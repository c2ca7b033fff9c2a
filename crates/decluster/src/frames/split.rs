//! JSON texts and JSON arrays to frames. Looks for the ends of values only: brackets, strings and escapes;
//! whether a value is JSON is for the reader to say.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use super::is_blank;
use crate::sse::{BOM, Event, Form, Frame, MESSAGE, is_field};

#[derive(Debug)]
pub(super) struct Splitter {
    /// Bytes from some point in the stream on; those before `start` were handed out.
    buf: Vec<u8>,
    /// Where the frame being read begins.
    start: usize,
    /// What is before here was looked at, each byte once.
    at: usize,
    /// Where the line that `at` is in begins, unless that was handed out.
    line: Option<usize>,
    /// Where the value being read begins.
    value: usize,
    state: State,
    layout: Layout,
    /// The next frame begins with a byte order mark.
    marked: bool,
    /// Inside an array whose elements are the events.
    inside: bool,
    /// The array was closed and nothing has come since.
    closed: bool,
    /// How many brackets of the value are open.
    depth: usize,
    limit: usize,
    /// The data of the frame that is out, if it had to be repaired.
    text: String,
}

/// What [`Splitter::step`] found.
pub(super) enum Split {
    Frame(Cut),
    /// What is left is an event stream.
    Sse,
    More,
    /// The frame is larger than the cap. Told once.
    Over,
}

/// A frame, as places in the buffer.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) from: usize,
    pub(super) to: usize,
    data: Option<Range<usize>>,
    form: Form,
    comments: u32,
    terminated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before a value.
    Head,
    /// Behind a bracket that may open an array, or `[DONE]`.
    Bracket,
    /// In a value that brackets enclose.
    Value,
    String,
    /// Behind a backslash in a string.
    Escape,
    /// In a number, a name, or garbage.
    Token,
    /// Behind a value that the line's end should complete.
    Tail,
    /// What is left is an event stream.
    Sse,
    Failed,
}

/// Where frames end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// The first value is not complete.
    Unknown,
    /// At line ends, whatever the line holds: one bad line must not take others with it.
    Lines,
    /// With the value: it was spread over lines, or another followed on the same line.
    Values,
}

impl Splitter {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            buf: Vec::new(),
            start: 0,
            at: 0,
            line: Some(0),
            value: 0,
            state: State::Head,
            layout: Layout::Unknown,
            marked: false,
            inside: false,
            closed: false,
            depth: 0,
            limit,
            text: String::new(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        // Each byte moves at most once for each byte dropped.
        if self.start > 0 && self.start >= self.buf.len() - self.start {
            self.buf.drain(..self.start);
            self.at -= self.start;
            self.value = self.value.saturating_sub(self.start);
            self.line = self.line.and_then(|line| line.checked_sub(self.start));
            self.start = 0;
        }
        if self.state != State::Failed {
            self.buf.extend_from_slice(bytes);
        }
    }

    /// The buffer holds the beginning of the stream, up to its first bracket at least.
    pub(super) fn begin(&mut self) {
        if self.buf.starts_with(BOM) {
            self.at = BOM.len();
            self.marked = true;
        }
        let first = self.buf[self.at..].iter().find(|byte| !is_blank(**byte));
        if first == Some(&b'[') {
            self.layout = Layout::Values;
        }
    }

    pub(super) fn rest(&self) -> &[u8] {
        self.buf.get(self.start..).unwrap_or_default()
    }

    /// The next frame, if it is complete.
    pub(super) fn step(&mut self, ended: bool) -> Split {
        while let Some(&byte) = self.buf.get(self.at) {
            match self.state {
                State::Sse => return Split::Sse,
                State::Failed => return Split::More,
                _ if self.at - self.start > self.limit => return self.fail(),
                _ => {}
            }
            let found = match self.state {
                State::Head => self.head(byte),
                State::Bracket => {
                    (self.state, self.inside) =
                        if byte == b'D' { (State::Token, false) } else { (State::Head, true) };
                    None
                }
                State::Value => self.in_value(byte),
                State::String => self.in_string(),
                State::Escape if byte == b'\n' => self.line_end(),
                State::Escape => {
                    self.at += 1;
                    self.state = State::String;
                    None
                }
                State::Token => self.token(byte),
                State::Tail => self.tail(byte),
                State::Sse | State::Failed => None,
            };
            if let Some(found) = found {
                return found;
            }
        }
        match self.state {
            State::Sse => Split::Sse,
            State::Failed => Split::More,
            _ if self.buf.len() - self.start > self.limit => self.fail(),
            _ if ended && self.start < self.buf.len() => self.leftover(),
            _ => Split::More,
        }
    }

    /// The frame that was found.
    pub(super) fn frame(&mut self, cut: &Cut) -> Frame<'_> {
        let marked = mem::take(&mut self.marked);
        let raw = &self.buf[cut.from..cut.to];
        let range = cut.data.as_ref().map(|data| data.start - cut.from..data.end - cut.from);
        let data = match range.as_ref().map(|range| String::from_utf8_lossy(&raw[range.clone()])) {
            None => None,
            Some(Cow::Borrowed(data)) => Some((data, range)),
            Some(Cow::Owned(data)) => {
                self.text = data;
                Some((self.text.as_str(), None))
            }
        };
        let event = data.map(|(data, data_range)| Event {
            name: MESSAGE,
            data,
            id: "",
            retry: None,
            data_range,
            own_id: false,
        });
        Frame {
            raw,
            event,
            led: false,
            split: false,
            marked,
            comments: cut.comments,
            terminated: cut.terminated,
            bare: false,
            stray: None,
            form: cut.form,
        }
    }

    fn head(&mut self, byte: u8) -> Option<Split> {
        let lines = self.layout == Layout::Lines;
        match byte {
            b'\n' => {
                self.at += 1;
                self.line = Some(self.at);
                return lines.then(|| self.cut(self.at, None, true));
            }
            b' ' | b'\t' | b'\r' => {}
            b',' if !lines => {}
            b']' if self.inside => {
                self.at += 1;
                (self.inside, self.closed) = (false, true);
                return Some(self.cut(self.at, None, true));
            }
            b'[' if !lines && !self.inside => {
                self.open(State::Bracket, 0);
            }
            b'{' => self.open(State::Value, 1),
            b'[' if !lines => self.open(State::Value, 1),
            b'"' if !lines => self.open(State::String, 0),
            _ => {
                self.open(State::Token, 0);
                return None;
            }
        }
        self.at += 1;
        None
    }

    fn open(&mut self, state: State, depth: usize) {
        self.value = self.at;
        self.closed = false;
        (self.state, self.depth) = (state, depth);
    }

    fn in_value(&mut self, byte: u8) -> Option<Split> {
        match byte {
            b'\n' => return self.line_end(),
            b'"' => self.state = State::String,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth == 1 => {
                self.at += 1;
                return self.complete();
            }
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        self.at += 1;
        None
    }

    fn in_string(&mut self) -> Option<Split> {
        let rest = &self.buf[self.at..];
        let Some(found) = memchr::memchr3(b'"', b'\\', b'\n', rest) else {
            self.at = self.buf.len();
            return None;
        };
        self.at += found;
        match rest[found] {
            b'\n' => return self.line_end(),
            b'\\' => self.state = State::Escape,
            _ if self.depth == 0 => {
                self.at += 1;
                return self.complete();
            }
            _ => self.state = State::Value,
        }
        self.at += 1;
        None
    }

    /// The value is complete; `at` is behind it.
    fn complete(&mut self) -> Option<Split> {
        if self.layout == Layout::Values {
            return Some(self.cut(self.at, Some(self.value), true));
        }
        self.state = State::Tail;
        None
    }

    /// A line ends inside the value, at `at`.
    fn line_end(&mut self) -> Option<Split> {
        if self.layout == Layout::Unknown {
            // No JSON has a line end inside a string: the line is broken.
            let values = self.state == State::Value;
            self.layout = if values { Layout::Values } else { Layout::Lines };
        }
        if self.layout == Layout::Values {
            if self.at + 1 - self.start > self.limit {
                return Some(self.fail());
            }
            // No value has a line that begins so: it is broken, and what follows is something else.
            if let Some(line) = self.line.filter(|line| *line > self.value)
                && is_field(&self.buf[line..self.at])
            {
                return Some(self.leave(line, Some(self.value)));
            }
        }
        self.at += 1;
        self.line = Some(self.at);
        if self.state == State::Escape {
            self.state = State::String;
        }
        (self.layout == Layout::Lines).then(|| self.cut(self.at, Some(self.value), true))
    }

    fn token(&mut self, byte: u8) -> Option<Split> {
        if self.inside {
            if !is_blank(byte) && !matches!(byte, b',' | b']' | b'{' | b'[' | b'"') {
                self.at += 1;
                return None;
            }
        } else {
            let rest = &self.buf[self.at..];
            let Some(found) = memchr::memchr(b'\n', rest) else {
                self.at = self.buf.len();
                return None;
            };
            self.at += found;
        }
        if self.at - self.start > self.limit {
            return Some(self.fail());
        }
        if let Some(left) = self.leave_token() {
            return Some(left);
        }
        if self.inside {
            return Some(self.cut(self.at, Some(self.value), true));
        }
        self.at += 1;
        self.line = Some(self.at);
        Some(self.cut(self.at, Some(self.value), true))
    }

    /// Whether the token is a field of an event stream: then that is what begins here.
    fn leave_token(&mut self) -> Option<Split> {
        let field = self.line == Some(self.value) && is_field(&self.buf[self.value..self.at]);
        field.then(|| self.leave(self.value, None))
    }

    fn tail(&mut self, byte: u8) -> Option<Split> {
        match byte {
            b'\n' => {
                self.layout = Layout::Lines;
                self.at += 1;
                self.line = Some(self.at);
                Some(self.cut(self.at, Some(self.value), true))
            }
            b' ' | b'\t' | b'\r' => {
                self.at += 1;
                None
            }
            _ if self.layout == Layout::Unknown => {
                self.layout = Layout::Values;
                Some(self.cut(self.at, Some(self.value), true))
            }
            b'{' => Some(self.cut(self.at, Some(self.value), true)),
            _ => {
                self.state = State::Token;
                None
            }
        }
    }

    /// What the end of the input left.
    fn leftover(&mut self) -> Split {
        self.inside |= self.state == State::Bracket;
        let value = !matches!(self.state, State::Head | State::Bracket);
        if self.state == State::Token
            && let Some(left) = self.leave_token()
        {
            return left;
        }
        self.at = self.buf.len();
        self.cut(self.at, value.then_some(self.value), false)
    }

    /// Gives what is before `to`, if there is something; there an event stream begins.
    fn leave(&mut self, to: usize, value: Option<usize>) -> Split {
        let cut = (to > self.start).then(|| self.cut(to, value, true));
        self.state = State::Sse;
        self.at = to;
        cut.unwrap_or(Split::Sse)
    }

    /// A frame from `start` to here, with the value that begins at `value`.
    fn cut(&mut self, to: usize, value: Option<usize>, terminated: bool) -> Split {
        let from = self.start;
        if to - from > self.limit {
            return self.fail();
        }
        let blanks = |bytes: &[u8]| bytes.iter().rev().take_while(|b| is_blank(**b)).count();
        let data = value.map(|value| value..to - blanks(&self.buf[value..to]));
        let comment = !self.inside && data.as_ref().is_some_and(|d| self.buf[d.start] == b':');
        let data = data.filter(|_| !comment);
        let (before, after) =
            data.as_ref().map_or((to - from, 0), |data| (data.start - from, to - data.end));
        let form = match (self.inside, self.closed) {
            (true, _) => Form::Element { before, after },
            (false, true) => Form::ArrayEnd,
            (false, false) => Form::Line { before, after },
        };
        self.start = to;
        (self.state, self.depth) = (State::Head, 0);
        Split::Frame(Cut { from, to, data, form, comments: comment.into(), terminated })
    }

    fn fail(&mut self) -> Split {
        if mem::replace(&mut self.state, State::Failed) == State::Failed {
            return Split::More;
        }
        Split::Over
    }
}
