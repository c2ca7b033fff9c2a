//! Bytes to events, by the rules of the WHATWG standard for server-sent events.
//!
//! This module owns framing: line ends, UTF-8, fields, blank lines. It knows nothing of JSON or of any
//! provider. Its user is a rewriter that must be able to send on every byte it was given, so the unit is
//! a [`Frame`]: the raw bytes since the frame before, plus what they mean. Every input byte belongs to
//! exactly one frame, and the frames do not depend on how the input was cut into chunks.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::mem;
use core::ops::Range;

mod block;
mod rewrite;

pub use rewrite::{Rewrite, rewrite};

#[cfg(feature = "wire")]
pub(crate) use block::is_field;
use block::{Block, Data, Field, digits, lossy};

/// An incremental decoder: push bytes (or lines), then poll until there is no frame left.
///
/// Time is linear in the input for any cutting. Memory is bounded by the cap on one frame plus what was
/// pushed and not yet polled.
///
/// ```
/// use decluster::sse::Decoder;
/// let mut decoder = Decoder::new(1 << 20);
/// decoder.push(b"data: one\n\ndata: tw");
/// decoder.push(b"o\n\n");
/// let mut seen = Vec::new();
/// while let Some(frame) = decoder.poll()? {
///     seen.extend(frame.event.map(|e| e.data.to_owned()));
/// }
/// assert_eq!(seen, ["one", "two"]);
/// # Ok::<(), decluster::sse::TooLarge>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    /// Bytes from some point in the stream on; those before `start` were handed out.
    buf: Vec<u8>,
    /// Where the frame being read begins.
    start: usize,
    /// Where the line being read begins.
    line: usize,
    /// There is no line end between `line` and here.
    scanned: usize,
    /// The position of `buf[0]` in the stream.
    offset: u64,
    limit: usize,
    /// The last line ended with CR: an LF that comes next is part of that end.
    after_cr: bool,
    /// The frame being read begins with such an LF.
    led: bool,
    /// The frame being read begins with the byte order mark.
    marked: bool,
    /// No line was read yet: a byte order mark may come.
    fresh: bool,
    input: Input,
    /// The block was handed out and is cleared by the next poll.
    handed: bool,
    block: Block,
    id: String,
    retry: Option<u64>,
    lines: Option<Lines>,
    /// What `lines` becomes with the first pushed line.
    lines_offered: Option<Lines>,
}

/// A stretch of the input: an event with its blank line, a comment, or an empty line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame<'a> {
    /// The input bytes, unchanged. May begin with the LF of a CRLF whose CR ended the frame before.
    pub raw: &'a [u8],
    /// The event, if the frame holds a `data` line.
    pub event: Option<Event<'a>>,
    /// `raw` begins with the LF of a CRLF whose CR ended the frame before.
    pub led: bool,
    /// `raw` ends with the CR of a CRLF whose LF has come, too, and begins the next frame. Unlike all else this
    /// depends on how the input was cut: whoever sends frames on need not keep a reader waiting for the LF.
    pub split: bool,
    /// `raw` begins with the stream's byte order mark, which is no part of the first line.
    pub marked: bool,
    /// How many comment lines are in it.
    pub comments: u32,
    /// False for a block that the end of the input left without its blank line. The standard drops it;
    /// whether to take it is for the layer that knows what the data means.
    pub terminated: bool,
    /// The event ended without a blank line because the source drops them, or is nothing but its data (line
    /// input only).
    pub bare: bool,
    /// The first line whose field name the standard does not know, without its line end. Some servers
    /// report errors that way (`error: {…}`, or JSON with no field name at all).
    pub stray: Option<&'a [u8]>,
    /// How the event is set off from its neighbours; this decoder gives [`Form::Sse`] only.
    pub form: Form,
}

/// How events are set off from each other. Margins are counts of bytes in [`Frame::raw`]: what stands before
/// the data, and after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// Fields in lines, and a blank line.
    #[default]
    Sse,
    /// A text of its own: mostly a line.
    Line {
        /// Blanks, mostly none.
        before: usize,
        /// The line end, mostly.
        after: usize,
    },
    /// An element of one array.
    Element {
        /// The array's bracket, or the comma.
        before: usize,
        /// Blanks, mostly none.
        after: usize,
    },
    /// The bracket that closes the array, and what is blank behind it. Without one the stream was cut.
    ArrayEnd,
    /// None: it was given as an object, and its text is the data. Objects are counted from 0.
    Object(u64),
}

/// What a frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event<'a> {
    /// The event type, `message` if unnamed.
    pub name: &'a str,
    /// The data lines, joined with LF.
    pub data: &'a str,
    /// The last event id in force, empty if there is none.
    pub id: &'a str,
    /// A valid reconnection time in the same block, in milliseconds.
    pub retry: Option<u64>,
    /// Where `data` stands in [`Frame::raw`], if it is one line of valid UTF-8.
    pub data_range: Option<Range<usize>>,
    /// An `id` line stands in this frame.
    pub own_id: bool,
}

/// One frame is larger than the cap. The provider's fault, or the cap's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The cap, in bytes.
    pub limit: usize,
    /// Where the frame begins in the stream, in bytes.
    pub offset: u64,
}

impl Decoder {
    /// A decoder that refuses frames of more than `max_event_bytes`.
    #[must_use]
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            buf: Vec::new(),
            start: 0,
            line: 0,
            scanned: 0,
            offset: 0,
            limit: max_event_bytes,
            after_cr: false,
            led: false,
            marked: false,
            fresh: true,
            input: Input::Open,
            handed: false,
            block: Block::default(),
            id: String::new(),
            retry: None,
            lines: None,
            lines_offered: None,
        }
    }

    /// Says what to do if the input comes through [`push_line`](Self::push_line), perhaps from a library
    /// that drops blank lines. Without a pushed line it changes nothing.
    ///
    /// As long as no blank line was seen, a new `event` line ends an event that has data, and so does a
    /// new `data` line if `complete` says that the data so far can stand alone. From then on an event
    /// goes out as soon as its data is complete, until a blank line proves the guess wrong. A line with no
    /// known field that can stand alone, with no event begun before it, is an event of which only the data
    /// was handed on. Such frames are [`bare`](Frame::bare).
    #[must_use]
    pub fn with_lines(mut self, complete: fn(&str) -> bool) -> Self {
        self.lines_offered = Some(Lines { complete, blank_seen: false, eager: false });
        self
    }

    /// Appends input. Does nothing after [`finish`](Self::finish) or [`TooLarge`].
    pub fn push(&mut self, bytes: &[u8]) {
        if self.input == Input::Open {
            self.compact();
            self.buf.extend_from_slice(bytes);
        }
    }

    /// Appends one line as a line iterator gives it, with or without its end. A missing LF is supplied,
    /// after a CR too: a reader that splits at LF leaves the CR of a CRLF behind.
    pub fn push_line(&mut self, line: &[u8]) {
        if let Some(lines) = self.lines_offered.take() {
            self.lines = Some(lines);
        }
        self.push(line);
        if line.last() != Some(&b'\n') {
            self.push(b"\n");
        }
    }

    /// The input is at its end: what is left comes out as the last frame.
    pub fn finish(&mut self) {
        if self.input == Input::Open {
            self.input = Input::Ended;
        }
    }

    /// The next complete frame; `None` means more input is needed, or after `finish` that all is out.
    ///
    /// # Errors
    ///
    /// [`TooLarge`], once, after all frames before it. The decoder is then at its end: it takes no more
    /// input, and [`rest`](Self::rest) has the bytes that came out in no frame.
    pub fn poll(&mut self) -> Result<Option<Frame<'_>>, TooLarge> {
        if self.input == Input::Failed {
            return Ok(None);
        }
        if mem::take(&mut self.handed) {
            self.block.clear();
        }
        while let Some(line) = self.next_line() {
            match self.take(&line) {
                Step::More => {}
                Step::Frame => return self.emit(true, false),
                Step::Bare => return self.emit(true, true),
            }
        }
        if self.input == Input::Ended && self.start < self.buf.len() {
            if self.line < self.buf.len() {
                let end = self.buf.len();
                let line = Line { from: self.line, to: end, next: end };
                if matches!(self.take(&line), Step::Bare) {
                    return self.emit(true, true);
                }
            }
            let closed = !self.block.open;
            return self.emit(closed, false);
        }
        if self.buf.len() - self.start > self.limit { Err(self.fail()) } else { Ok(None) }
    }

    /// How many bytes were pushed and not handed out.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.buf.len() - self.start
    }

    /// The bytes that were pushed and not handed out.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        self.buf.get(self.start..).unwrap_or_default()
    }

    /// The id of the last event that was closed by a blank line; empty if there is none.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        &self.id
    }

    /// The last valid reconnection time, in milliseconds.
    #[must_use]
    pub const fn reconnection_ms(&self) -> Option<u64> {
        self.retry
    }

    /// Drops what was handed out, once it is at least half of the buffer: each byte moves at most once
    /// for each byte dropped.
    fn compact(&mut self) {
        if self.start > 0 && self.start >= self.buf.len() - self.start {
            self.buf.drain(..self.start);
            self.offset += self.start as u64;
            self.line -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
    }

    /// The line at `self.line`, if its end has come. Does not consume it.
    fn next_line(&mut self) -> Option<Line> {
        if self.after_cr {
            if *self.buf.get(self.line)? == b'\n' {
                self.led |= self.line == self.start;
                self.line += 1;
            }
            self.after_cr = false;
            self.scanned = self.line;
        }
        let Some(found) = memchr::memchr2(b'\n', b'\r', self.buf.get(self.scanned..)?) else {
            self.scanned = self.buf.len();
            return None;
        };
        let end = self.scanned + found;
        self.scanned = end;
        // Pushed lines are whole, so here a CRLF need not be taken apart.
        let crlf =
            self.lines.is_some() && self.buf[end] == b'\r' && self.buf.get(end + 1) == Some(&b'\n');
        Some(Line { from: self.line, to: end, next: end + if crlf { 2 } else { 1 } })
    }

    fn consume(&mut self, line: &Line) {
        self.after_cr = line.next > line.to && self.buf[line.next - 1] == b'\r';
        self.line = line.next;
        self.scanned = line.next;
        self.fresh = false;
    }

    /// Reads a line into the block and says whether a frame ends: after the line, or before it (`Bare`
    /// with the line left in place).
    fn take(&mut self, line: &Line) -> Step {
        let mut from = line.from;
        if self.fresh && self.buf[from..line.to].starts_with(BOM) {
            from += BOM.len();
            self.marked = true;
        }
        let text = &self.buf[from..line.to];
        if text.is_empty() {
            if let Some(lines) = &mut self.lines {
                (lines.blank_seen, lines.eager) = (true, false);
            }
            self.consume(line);
            return Step::Frame;
        }
        let (field, skip) = Field::of(text);
        if self.lines.as_ref().is_some_and(|l| !l.blank_seen) && self.block.starts_anew(field) {
            let done = field == Field::Event || self.is_complete();
            if let Some(lines) = self.lines.as_mut().filter(|_| done) {
                lines.eager = true;
                return Step::Bare;
            }
        }
        let value = from + skip..line.to;
        let text = &self.buf[value.clone()];
        match field {
            Field::Comment => {
                self.block.comments += 1;
                self.consume(line);
                return if self.block.open { Step::More } else { Step::Frame };
            }
            Field::Data => self.block.add_data(&self.buf[self.start..], self.start, value),
            Field::Event => {
                let range = value.start - self.start..value.end - self.start;
                self.block.named = Some(range).filter(|range| !range.is_empty());
            }
            Field::Id => {
                self.block.own_id = true;
                if !text.contains(&0) {
                    self.block.id = Some(lossy(text));
                }
            }
            // A number that the end of the input may have cut short is none.
            Field::Retry => {
                if let Some(ms) = digits(text).filter(|_| line.next > line.to) {
                    self.block.retry = Some(ms);
                    self.retry = Some(ms);
                }
            }
            Field::Unknown if self.stands_alone(&self.buf[from..line.to]) => {
                self.block.add_data(&self.buf[self.start..], self.start, from..line.to);
                self.block.open = true;
                self.consume(line);
                return Step::Bare;
            }
            Field::Unknown => {
                let range = from - self.start..line.to - self.start;
                self.block.stray.get_or_insert(range);
            }
        }
        self.block.open = true;
        self.consume(line);
        if field == Field::Data
            && self.lines.as_ref().is_some_and(|l| l.eager)
            && self.is_complete()
        {
            return Step::Bare;
        }
        Step::More
    }

    /// Whether this line with no known field is the data itself: some callers strip `data: ` before they
    /// hand lines on.
    fn stands_alone(&self, text: &[u8]) -> bool {
        let Some(lines) = self.lines.as_ref().filter(|_| !self.block.open) else { return false };
        core::str::from_utf8(text).is_ok_and(lines.complete)
    }

    /// Whether the data of the block can stand alone. Asked at most a few times for each doubling of
    /// the data, so that a JSON text over many lines does not cost the square of its length.
    fn is_complete(&mut self) -> bool {
        let Some(lines) = &self.lines else { return false };
        let text = match &self.block.data {
            Data::None => return false,
            Data::One(range) => {
                let raw = &self.buf[self.start..];
                let Ok(text) = core::str::from_utf8(&raw[range.clone()]) else { return false };
                text
            }
            Data::Joined(text) => text,
        };
        let ask = self.block.asked < ASK_FREELY || text.len() >= self.block.ask_at;
        self.block.asked = self.block.asked.saturating_add(1);
        if ask {
            self.block.ask_at = text.len() * 2;
        }
        ask && (lines.complete)(text)
    }

    /// Hands out everything up to the current line as a frame.
    fn emit(&mut self, terminated: bool, bare: bool) -> Result<Option<Frame<'_>>, TooLarge> {
        if self.line - self.start > self.limit {
            return Err(self.fail());
        }
        let raw = &self.buf[self.start..self.line];
        self.start = self.line;
        self.handed = true;
        let led = mem::take(&mut self.led);
        let split = self.after_cr && self.buf.get(self.line) == Some(&b'\n');
        let marked = mem::take(&mut self.marked);
        if terminated && let Some(id) = self.block.id.take() {
            self.id = id;
        }
        // A single line is validated only here, and copied only if it is not valid UTF-8.
        let mut line = None;
        if let Data::One(range) = &self.block.data {
            let bytes = &raw[range.clone()];
            match core::str::from_utf8(bytes) {
                Ok(text) => line = Some((text, range.clone())),
                Err(_) => self.block.data = Data::Joined(lossy(bytes)),
            }
        }
        if !matches!(self.block.data, Data::None) {
            self.block.read_name(raw);
        }
        let (data, data_range) = match (line, &self.block.data) {
            (Some((text, range)), _) => (Some(text), Some(range)),
            (None, Data::Joined(text)) => (Some(text.as_str()), None),
            (None, _) => (None, None),
        };
        let event = data.map(|data| Event {
            name: if self.block.named.is_some() { &self.block.name } else { MESSAGE },
            data,
            id: &self.id,
            retry: self.block.retry,
            data_range,
            own_id: self.block.own_id,
        });
        let stray = self.block.stray.clone().map(|range| &raw[range]);
        let comments = self.block.comments;
        let form = Form::Sse;
        Ok(Some(Frame { raw, event, led, split, marked, comments, terminated, bare, stray, form }))
    }

    fn fail(&mut self) -> TooLarge {
        self.input = Input::Failed;
        TooLarge { limit: self.limit, offset: self.offset + self.start as u64 }
    }
}

impl Frame<'_> {
    /// The bytes to keep of the frame: with the LF that belongs to its last line end, if that has come.
    #[cfg(feature = "wire")]
    pub(crate) fn kept(&self) -> Vec<u8> {
        let mut raw = Vec::with_capacity(self.raw.len() + 1);
        raw.extend_from_slice(self.raw);
        if self.split {
            raw.push(b'\n');
        }
        raw
    }

    /// The frame without the byte order mark, if it begins with it: to be sent on behind other frames, where the
    /// mark would make its first line another one.
    #[must_use]
    pub fn unmarked(&self) -> Self {
        let mut frame = self.clone();
        if mem::take(&mut frame.marked) {
            frame.raw = &frame.raw[BOM.len()..];
            let range = frame.event.as_mut().and_then(|event| event.data_range.as_mut());
            if let Some(range) = range {
                *range = range.start - BOM.len()..range.end - BOM.len();
            }
            if let Form::Line { before, .. } | Form::Element { before, .. } = &mut frame.form {
                *before = before.saturating_sub(BOM.len());
            }
        }
        frame
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the event at byte {} is larger than {} bytes", self.offset, self.limit)
    }
}

impl core::error::Error for TooLarge {}

#[derive(Debug)]
struct Lines {
    complete: fn(&str) -> bool,
    blank_seen: bool,
    eager: bool,
}

/// A line in the buffer: its text is `from..to`, the next one begins at `next`.
struct Line {
    from: usize,
    to: usize,
    next: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Open,
    Ended,
    Failed,
}

enum Step {
    More,
    Frame,
    Bare,
}

/// The byte order mark, which may stand before everything.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";
/// The type of an event that has no name.
pub(crate) const MESSAGE: &str = "message";
/// Below this many data lines a block is small enough to ask after each.
const ASK_FREELY: u32 = 16;

#[cfg(test)]
mod tests;
