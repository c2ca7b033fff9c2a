//! Bytes to frames, whatever the framing: server-sent events, JSON lines, or one JSON array.
//!
//! The first byte that is not blank tells: `{` begins JSON texts (NDJSON, or texts in a row), `[` a JSON
//! array whose elements are the events, anything else an event stream. What holds for
//! [`sse`](crate::sse) holds here: every input byte belongs to exactly one [`Frame`], and the frames do not
//! depend on how the input was cut. [`Writer`] is the way back.

use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use crate::sse::{BOM, Decoder, Event, Form, Frame, MESSAGE, TooLarge};
use crate::wire::is_complete;

mod split;
mod write;

pub use write::{Ending, Writer, replace};

use split::{Split, Splitter};

/// An incremental decoder for all framings: push bytes (or lines), then poll until there is no frame left.
///
/// Time is linear in the input for any cutting. Memory is bounded by the cap on one frame plus what was
/// pushed and not yet polled.
///
/// ```
/// use decluster::frames::Frames;
/// let of = |input: &[u8]| {
///     let mut frames = Frames::new(1 << 20);
///     frames.push(input);
///     frames.finish();
///     let mut seen = Vec::new();
///     while let Ok(Some(frame)) = frames.poll() {
///         seen.extend(frame.event.map(|e| e.data.to_owned()));
///     }
///     seen
/// };
/// let events = [r#"{"n":1}"#, r#"{"n":2}"#];
/// assert_eq!(of(b"data: {\"n\":1}\n\ndata: {\"n\":2}\n\n"), events);
/// assert_eq!(of(b"{\"n\":1}\n{\"n\":2}\n"), events);
/// assert_eq!(of(b"[{\"n\":1},\r\n{\"n\":2}\n]"), events);
/// ```
#[derive(Debug)]
pub struct Frames {
    limit: usize,
    mode: Mode,
    sse: Decoder,
    json: Splitter,
    objects: Objects,
    /// Input that came before the framing is known; what is before `fed` has gone to the decoder.
    held: Vec<u8>,
    fed: usize,
    /// Up to here it is blank.
    looked: usize,
    /// The last of that is a CR, and an LF that comes next belongs to it.
    after_cr: bool,
    /// The line has blanks, which make it no empty line.
    spaced: bool,
    /// No byte has gone to the decoder: a byte order mark may come.
    fresh: bool,
    by_lines: bool,
    ended: bool,
    /// How many bytes came out in frames.
    given: u64,
}

impl Frames {
    /// A decoder that refuses frames of more than `max_event_bytes`.
    #[must_use]
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            limit: max_event_bytes,
            mode: Mode::Start,
            sse: Decoder::new(max_event_bytes).with_lines(is_complete),
            json: Splitter::new(max_event_bytes),
            objects: Objects::default(),
            held: Vec::new(),
            fed: 0,
            looked: 0,
            after_cr: false,
            spaced: false,
            fresh: true,
            by_lines: false,
            ended: false,
            given: 0,
        }
    }

    /// Appends input. Does nothing after [`finish`](Self::finish) or [`TooLarge`].
    pub fn push(&mut self, bytes: &[u8]) {
        if self.ended {
            return;
        }
        match self.mode {
            Mode::Start => self.hold(bytes),
            Mode::Sse => self.sse.push(bytes),
            Mode::Json => self.json.push(bytes),
            Mode::Objects => {}
        }
    }

    /// Appends an event that no framing encloses: its name, empty if it has none, and its data. Says whether it
    /// was taken: not after [`finish`](Self::finish), [`TooLarge`], bytes or lines. Bytes are not taken after events.
    pub fn push_event(&mut self, name: &str, data: &str) -> bool {
        let taken = !self.ended && self.takes_events();
        if taken {
            self.mode = Mode::Objects;
            self.objects.bytes += size(name, data);
            self.objects.queue.push_back((name.to_owned(), data.to_owned()));
        }
        taken
    }

    /// Whether events, not bytes, have come, or may still come.
    pub(crate) fn takes_events(&self) -> bool {
        match self.mode {
            Mode::Start => self.fresh && self.held.is_empty(),
            Mode::Objects => true,
            Mode::Sse | Mode::Json => false,
        }
    }

    /// Whether bytes have come, or may still come.
    pub(crate) fn takes_bytes(&self) -> bool {
        self.mode != Mode::Objects
    }

    /// The number of the event that comes out next.
    pub(crate) fn next_object(&self) -> u64 {
        self.objects.next
    }

    /// Appends one line as a line iterator gives it, with or without its end. A missing LF is supplied, after
    /// a CR too. Lines may be followed by bytes, not bytes by lines.
    pub fn push_line(&mut self, line: &[u8]) {
        if self.ended {
            return;
        }
        self.by_lines = true;
        if self.mode == Mode::Sse {
            self.sse.push_line(line);
            return;
        }
        self.push(line);
        if line.last() != Some(&b'\n') {
            self.push(b"\n");
        }
    }

    /// The input is at its end: what is left comes out as the last frames.
    pub fn finish(&mut self) {
        self.ended = true;
        if self.mode == Mode::Sse {
            self.sse.finish();
        }
    }

    /// The next complete frame; `None` means more input is needed, or after `finish` that all is out.
    ///
    /// # Errors
    ///
    /// [`TooLarge`], once, after all frames before it. It takes no more input then, and
    /// [`rest`](Self::rest) has the bytes that came out in no frame.
    pub fn poll(&mut self) -> Result<Option<Frame<'_>>, TooLarge> {
        loop {
            match self.mode {
                Mode::Sse => break,
                Mode::Objects => return self.object(),
                Mode::Start => match self.look() {
                    Look::Blank => break,
                    Look::Sse => self.begin_sse(),
                    Look::Json => self.begin_json(),
                    Look::More => return Ok(None),
                },
                Mode::Json => match self.json.step(self.ended) {
                    Split::Frame(cut) => {
                        self.given += (cut.to - cut.from) as u64;
                        return Ok(Some(self.json.frame(&cut)));
                    }
                    Split::Sse => self.hand_over(),
                    Split::More => return Ok(None),
                    Split::Over => {
                        return Err(TooLarge { limit: self.limit, offset: self.given });
                    }
                },
            }
        }
        match self.sse.poll() {
            Ok(frame) => {
                self.given += frame.as_ref().map_or(0, |frame| frame.raw.len() as u64);
                Ok(frame)
            }
            Err(error) => Err(TooLarge { offset: self.given, ..error }),
        }
    }

    /// How many bytes were pushed and not handed out; of events that were parsed already also what each takes besides.
    #[must_use]
    pub fn buffered(&self) -> usize {
        match self.mode {
            Mode::Start => self.sse.buffered() + self.held.len() - self.fed,
            Mode::Sse => self.sse.buffered(),
            Mode::Json => self.json.rest().len(),
            Mode::Objects => self.objects.bytes,
        }
    }

    /// After [`TooLarge`]: the bytes that were pushed and not handed out.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        match self.mode {
            Mode::Json => self.json.rest(),
            Mode::Start | Mode::Sse => self.sse.rest(),
            Mode::Objects => &[],
        }
    }

    fn object(&mut self) -> Result<Option<Frame<'_>>, TooLarge> {
        let Some(event) = self.objects.queue.pop_front() else { return Ok(None) };
        let (name, data) = self.objects.current.insert(event);
        if name.len() + data.len() > self.limit {
            self.ended = true;
            self.objects.queue.clear();
            self.objects.bytes = 0;
            return Err(TooLarge { limit: self.limit, offset: self.given });
        }
        let form = Form::Object(self.objects.next);
        self.objects.next += 1;
        self.objects.bytes -= size(name, data);
        self.given += data.len() as u64;
        let event = Event {
            name: if name.is_empty() { MESSAGE } else { name },
            data,
            id: "",
            retry: None,
            data_range: Some(0..data.len()),
            own_id: false,
        };
        Ok(Some(Frame {
            raw: data.as_bytes(),
            event: Some(event),
            terminated: true,
            form,
            ..Frame::default()
        }))
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.fed == self.held.len() {
            self.held.clear();
            (self.fed, self.looked) = (0, 0);
        }
        self.held.extend_from_slice(bytes);
    }

    /// Looks for the first byte that tells. Blank lines before it go through the decoder one by one, since
    /// they keep a connection alive and must not wait.
    fn look(&mut self) -> Look {
        if self.fresh && self.looked == 0 {
            let begun = self.held.len().min(BOM.len());
            if self.held[..begun] == BOM[..begun] {
                if begun < BOM.len() && !self.ended {
                    return Look::More;
                }
                self.looked = begun;
            }
        }
        while let Some(&byte) = self.held.get(self.looked) {
            match byte {
                b'{' => return Look::Json,
                // Not an array, but the end of an event stream that lost its field names.
                b'[' => match self.held.get(self.looked + 1) {
                    None if !self.ended => return self.more(),
                    Some(b'D') => return Look::Sse,
                    _ => return Look::Json,
                },
                b' ' | b'\t' | b'\r' | b'\n' => {}
                _ => return Look::Sse,
            }
            self.looked += 1;
            // Pushed lines are whole, so there a CRLF need not be taken apart.
            let cr = byte == b'\r' && !self.by_lines;
            let half = byte == b'\n' && self.after_cr;
            self.after_cr = cr;
            self.spaced |= matches!(byte, b' ' | b'\t');
            let ends = cr || byte == b'\n' && !half;
            if ends && !core::mem::take(&mut self.spaced) {
                if self.looked - self.fed > self.limit {
                    return self.more();
                }
                self.feed();
                return Look::Blank;
            }
        }
        if self.ended { Look::Sse } else { self.more() }
    }

    fn more(&self) -> Look {
        // The decoder will refuse it.
        if self.held.len() - self.fed > self.limit { Look::Sse } else { Look::More }
    }

    /// Gives the decoder what was looked at.
    fn feed(&mut self) {
        give(&mut self.sse, &self.held[self.fed..self.looked], self.by_lines);
        self.fed = self.looked;
        self.fresh = false;
    }

    fn begin_sse(&mut self) {
        self.mode = Mode::Sse;
        let held = core::mem::take(&mut self.held);
        give(&mut self.sse, &held[self.fed..], self.by_lines);
        if self.ended {
            self.sse.finish();
        }
    }

    fn begin_json(&mut self) {
        self.mode = Mode::Json;
        let held = core::mem::take(&mut self.held);
        self.json.push(self.sse.rest());
        self.json.push(&held[self.fed..]);
        self.json.begin();
    }

    /// What follows is an event stream.
    fn hand_over(&mut self) {
        self.mode = Mode::Sse;
        self.sse = Decoder::new(self.limit).with_lines(is_complete);
        give(&mut self.sse, self.json.rest(), self.by_lines);
        self.json = Splitter::new(0);
        if self.ended {
            self.sse.finish();
        }
    }
}

/// Pushes bytes that came as lines, or began with some.
fn give(sse: &mut Decoder, bytes: &[u8], by_lines: bool) {
    let line = memchr::memchr(b'\n', bytes).filter(|_| by_lines).map_or(0, |end| end + 1);
    if line > 0 {
        sse.push_line(&bytes[..line]);
    }
    sse.push(&bytes[line..]);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Nothing but blanks has come.
    Start,
    Sse,
    Json,
    Objects,
}

/// Events that came as such.
#[derive(Debug, Default)]
struct Objects {
    /// Name and data.
    queue: VecDeque<(String, String)>,
    bytes: usize,
    /// The one that is out.
    current: Option<(String, String)>,
    /// The number of the next one.
    next: u64,
}

/// What an event takes in the queue, even one without data.
fn size(name: &str, data: &str) -> usize {
    name.len() + data.len() + OVERHEAD
}

const OVERHEAD: usize = 48;

/// What the beginning of the input shows.
enum Look {
    More,
    /// The decoder has a blank line to give.
    Blank,
    Sse,
    Json,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
