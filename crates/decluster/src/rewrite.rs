//! A provider's stream in, the same stream out, re-cut and paced: sse, wire and engine joined.
//!
//! An event that carries text becomes a *template*. When a piece leaves, the event that holds its last byte
//! is written again with the piece as its text; everything else in it stays. Events without text are kept
//! as they are and travel through the engine as marks, so they keep their place. Comments and pings go at
//! once. What is not understood is passed on unchanged.

mod template;

use crate::config::Config;
use crate::delta::{Delta, Kind};
use crate::engine::{Cancel, Engine, Event, Output, Piece, PushError, Stats};
use crate::sse::{self, Frame};
use crate::time::Nanos;
use crate::wire::{self, Answer, Dialect, Reading, Role};
use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use template::{Other, Sink, Templates};

/// Re-cuts and paces one stream. Feed it bytes or lines, poll it as an [`Engine`].
///
/// ```
/// use decluster::{Config, Nanos, Rewriter, RewriterOptions, Rewritten};
///
/// let mut now = Nanos::ZERO;
/// let mut rewriter = Rewriter::new(&Config::default(), RewriterOptions::default(), now)?;
/// let event = r#"{"choices":[{"index":0,"delta":{"content":"It runs out first. Then it is handed out again."}}]}"#;
/// rewriter.push(now, format!("data: {event}\n\ndata: [DONE]\n\n").as_bytes())?;
/// rewriter.finish(now);
/// let mut out = Vec::new();
/// loop {
///     match rewriter.poll(now) {
///         Rewritten::Bytes(bytes) => out.extend_from_slice(bytes),
///         Rewritten::Wait(at) => now = at,
///         Rewritten::Finished => break,
///         _ => {}
///     }
/// }
/// let out = String::from_utf8(out).unwrap();
/// assert!(out.contains(r#""content":"It runs out first."}"#), "{out}");
/// # Ok::<(), decluster::RewriterError>(())
/// ```
#[derive(Debug)]
pub struct Rewriter {
    options: RewriterOptions,
    decoder: sse::Decoder,
    reader: wire::Reader,
    engine: Engine,
    templates: Templates,
    /// Frames that carry no order: comments, pings, empty lines. They wait only for the next poll.
    urgent: VecDeque<Vec<u8>>,
    /// What did not fit while the engine was too full for it.
    held: Option<Texts>,
    /// Shape of the last event whose text was taken in, if text may be joined to it.
    joinable: Option<u64>,
    lines: bool,
    max_event_bytes: usize,
    max_queue_bytes: usize,
    ending: bool,
    ended: bool,
    out: Vec<u8>,
    text: String,
    other: Other,
}

/// How a stream comes in and how it should go out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RewriterOptions {
    /// The dialect; `None` tells it from the first event.
    pub dialect: Option<Dialect>,
    /// Give pieces instead of bytes.
    pub pieces: bool,
    /// In piece mode, give the events that are not text, too.
    pub events: bool,
}

/// What [`Rewriter::poll`] gives. Borrowed until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewritten<'a> {
    /// Bytes of a valid stream of the same dialect: one event or a stretch that was not re-cut.
    Bytes(&'a [u8]),
    /// Text, in piece mode.
    Piece(Piece<'a>),
    /// An event that is not text, in piece mode with `events`.
    Other {
        /// The SSE event name, `message` if it has none.
        name: &'a str,
        /// Its data.
        data: &'a str,
    },
    /// Something that happened.
    Event(Event),
    /// Nothing before this time unless there is input; then something.
    Wait(Nanos),
    /// Nothing until there is input.
    NeedInput,
    /// Everything is out and no more will come.
    Finished,
}

/// Why a rewriter refused or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RewriterError {
    /// The caller pushes faster than it polls; nothing was taken.
    Full {
        /// Bytes that wait to be decoded.
        queued: usize,
        /// The bound.
        limit: usize,
    },
    /// The caller pushed after the end; nothing was taken.
    Finished,
    /// The engine refused: more choices than `max_choices`.
    Engine(PushError),
    /// The provider's event exceeds `max_event_bytes`. What came before it still leaves, then the stream
    /// is over.
    TooLarge(sse::TooLarge),
    /// The caller wants bytes in whole blocks; a block may span events that must not be joined.
    WholeBytes,
}

impl Rewriter {
    /// A rewriter for one stream. `now` is the first reading of the caller's monotonic clock.
    ///
    /// # Errors
    /// [`RewriterError::WholeBytes`] if `unit = whole` is asked for without piece mode.
    pub fn new(
        config: &Config,
        options: RewriterOptions,
        now: Nanos,
    ) -> Result<Self, RewriterError> {
        if config.unit == 2 && !options.pieces {
            return Err(RewriterError::WholeBytes);
        }
        // With both off nothing may overtake anything: output is input, byte for byte.
        let verbatim = config.pace == 2 && config.segment == 1;
        Ok(Self {
            options,
            decoder: sse::Decoder::new(config.max_event_bytes as usize),
            reader: wire::Reader::new(options.dialect),
            engine: Engine::new(config, now),
            templates: Templates::new(verbatim),
            urgent: VecDeque::new(),
            held: None,
            joinable: None,
            lines: false,
            max_event_bytes: config.max_event_bytes as usize,
            max_queue_bytes: config.max_queue_bytes as usize,
            ending: false,
            ended: false,
            out: Vec::new(),
            text: String::new(),
            other: Other::default(),
        })
    }

    /// Takes in bytes of the stream, cut anywhere.
    ///
    /// # Errors
    /// [`RewriterError`]. After `TooLarge` the rewriter has finished itself; what came before still leaves.
    pub fn push(&mut self, now: Nanos, bytes: &[u8]) -> Result<(), RewriterError> {
        self.check(bytes.len())?;
        self.decoder.push(bytes);
        self.pump(now)
    }

    /// Takes in one line, with or without its terminator, perhaps from a library that drops blank lines.
    /// One stream comes either as lines or as bytes.
    ///
    /// # Errors
    /// As [`Rewriter::push`].
    pub fn push_line(&mut self, now: Nanos, line: &[u8]) -> Result<(), RewriterError> {
        self.check(line.len())?;
        if !self.lines {
            self.lines = true;
            let decoder = sse::Decoder::new(self.max_event_bytes);
            self.decoder = decoder.with_lines(wire::is_complete);
        }
        self.decoder.push_line(line);
        self.pump(now)
    }

    /// No more input will come: what is queued leaves within `max_tail`, then [`Rewritten::Finished`].
    pub fn finish(&mut self, now: Nanos) {
        if !self.ending {
            self.ending = true;
            self.decoder.finish();
            // An event over the cap ends the stream here as anywhere; the verdict says that it was cut.
            let _ = self.pump(now);
        }
    }

    /// Stops pacing what is queued at present.
    pub fn flush(&mut self) {
        self.engine.flush();
    }

    /// Ends the stream early; as [`Engine::cancel`].
    pub fn cancel(&mut self, how: Cancel) {
        self.ending = true;
        self.ended = true;
        self.held = None;
        self.engine.cancel(how);
    }

    /// A new attempt at the same request begins: [`Event::Restarted`] comes in its place.
    ///
    /// # Errors
    /// As [`Engine::begin_attempt`].
    pub fn begin_attempt(&mut self, now: Nanos) -> Result<(), PushError> {
        self.engine.begin_attempt(now)
    }

    /// Whether the caller should go on reading its source.
    pub fn wants_input(&self) -> bool {
        !self.ending && self.held.is_none() && self.has_room()
    }

    /// Whether the input is at its end and all of it has been decoded; text may still be queued.
    pub fn is_finished(&self) -> bool {
        self.ended
    }

    /// Counters of the engine.
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    /// What the stream amounts to so far; the verdict comes at the end.
    pub fn answer(&self) -> &Answer {
        self.reader.answer()
    }

    /// The dialect, once it is known. A stream of none passes through unpaced.
    pub fn dialect(&self) -> Option<Dialect> {
        self.reader.dialect()
    }

    /// What to do now; as [`Engine::poll`].
    pub fn poll(&mut self, now: Nanos) -> Rewritten<'_> {
        match self.step(now) {
            Step::Bytes => Rewritten::Bytes(&self.out),
            Step::Piece(piece) => Rewritten::Piece(piece.with_text(&self.text)),
            Step::Other => Rewritten::Other { name: &self.other.name, data: &self.other.data },
            Step::Event(event) => Rewritten::Event(event),
            Step::Wait(at) => Rewritten::Wait(at),
            Step::NeedInput => Rewritten::NeedInput,
            Step::Finished => Rewritten::Finished,
        }
    }

    fn step(&mut self, now: Nanos) -> Step {
        loop {
            // The engine may have room again for what waits, be it the end.
            let waits = self.held.is_some() || self.decoder.buffered() > 0;
            if waits || (self.ending && !self.ended) {
                // What is wrong with the stream was told when it was pushed.
                let _ = self.pump(now);
            }
            self.out.clear();
            if let Some(raw) = self.urgent.pop_front() {
                self.templates.write(&raw, &mut self.out);
                return Step::Bytes;
            }
            if core::mem::take(&mut self.other.ready) {
                return Step::Other;
            }
            let mut sink = match self.options {
                RewriterOptions { pieces: false, .. } => Sink::Bytes(&mut self.out),
                RewriterOptions { events: true, .. } => Sink::Other(&mut self.other),
                _ => Sink::Nothing,
            };
            match self.engine.poll(now) {
                Output::Piece(piece) => {
                    self.templates.take(&piece, &mut sink);
                    if !self.options.pieces {
                        return Step::Bytes;
                    }
                    piece.text.clone_into(&mut self.text);
                    return Step::Piece(piece.with_text(""));
                }
                Output::Mark(SPLIT) => {}
                Output::Mark(number) => {
                    if self.templates.take_event(number, &mut sink) && !self.options.pieces {
                        return Step::Bytes;
                    }
                }
                Output::Event(event) => return Step::Event(event),
                Output::Wait(at) => return Step::Wait(at),
                Output::NeedInput => return Step::NeedInput,
                Output::Finished => return Step::Finished,
            }
        }
    }

    /// Decodes what there is room for.
    fn pump(&mut self, now: Nanos) -> Result<(), RewriterError> {
        loop {
            if let Some((texts, hurry)) = self.held.take() {
                let bytes = texts.iter().map(|(_, _, text, _)| text.len()).sum();
                if !self.engine.fits(bytes, texts.len() + 1) {
                    self.held = Some((texts, hurry));
                    return Ok(());
                }
                for (kind, index, text, tokens) in &texts {
                    let delta = Delta { kind: *kind, index: *index, text, tokens: *tokens };
                    self.engine.push(now, delta).map_err(RewriterError::Engine)?;
                }
                if hurry {
                    self.engine.mark(now, SPLIT, true).map_err(RewriterError::Engine)?;
                }
            }
            if self.ended || !self.has_room() {
                return Ok(());
            }
            match self.decoder.poll() {
                Ok(Some(frame)) => {
                    let reading = self.reader.read(&frame);
                    let mut intake = Intake {
                        options: self.options,
                        engine: &mut self.engine,
                        templates: &mut self.templates,
                        urgent: &mut self.urgent,
                        joinable: &mut self.joinable,
                        held: &mut self.held,
                    };
                    if let Err(error) = intake.take(now, &frame, &reading) {
                        self.end(now);
                        return Err(RewriterError::Engine(error));
                    }
                }
                Ok(None) if self.ending => self.end(now),
                Ok(None) => return Ok(()),
                Err(error) => {
                    self.end(now);
                    return Err(RewriterError::TooLarge(error));
                }
            }
        }
    }

    fn end(&mut self, now: Nanos) {
        self.ending = true;
        self.ended = true;
        self.reader.finish();
        self.engine.finish(now);
    }

    fn has_room(&self) -> bool {
        self.engine.wants_input() && self.templates.bytes() < self.max_queue_bytes
    }

    fn check(&self, bytes: usize) -> Result<(), RewriterError> {
        let queued = self.decoder.buffered();
        let limit = self.max_event_bytes + self.max_queue_bytes;
        if self.ending {
            Err(RewriterError::Finished)
        } else if queued > 0 && queued + bytes > limit {
            Err(RewriterError::Full { queued, limit })
        } else {
            Ok(())
        }
    }
}

/// Where a frame goes.
struct Intake<'a> {
    options: RewriterOptions,
    engine: &'a mut Engine,
    templates: &'a mut Templates,
    urgent: &'a mut VecDeque<Vec<u8>>,
    joinable: &'a mut Option<u64>,
    held: &'a mut Option<Texts>,
}

impl Intake<'_> {
    fn take(
        &mut self,
        now: Nanos,
        frame: &Frame<'_>,
        reading: &Reading<'_>,
    ) -> Result<(), PushError> {
        let blank = frame.raw.iter().all(|byte| matches!(byte, b'\r' | b'\n'));
        // A line that the end of the input cut short would run into whatever came after it.
        let ended = frame.raw.ends_with(b"\n") || frame.raw.ends_with(b"\r");
        if (reading.role == Role::Ping || blank) && ended && !self.templates.is_verbatim() {
            if !self.options.pieces {
                self.urgent.push_back(frame.raw.to_vec());
            }
            return Ok(());
        }
        if reading.boundary {
            self.engine.end_block(now);
        }
        if !self.can_be_cut(reading) {
            let number = self.templates.event(frame, reading);
            *self.joinable = None;
            return self.engine.mark(now, number, reading.role == Role::Hurry);
        }
        // Only plain events of the same shape may share a piece; a mark keeps others apart.
        let shape = if reading.plain { reading.shape } else { 0 };
        if (!self.options.pieces || self.options.events)
            && self.joinable.is_some_and(|last| last == 0 || last != shape)
        {
            self.engine.mark(now, SPLIT, false)?;
        }
        *self.joinable = Some(shape);
        self.templates.delta(frame, reading);
        let hurry = reading.role == Role::Hurry;
        let bytes = reading.texts.iter().map(|t| t.text.len()).sum();
        if !self.engine.fits(bytes, reading.texts.len() + 1) {
            let own = |t: &wire::Text<'_>| (t.kind, t.index, t.text.clone().into_owned(), t.tokens);
            *self.held = Some((reading.texts.iter().map(own).collect(), hurry));
            return Ok(());
        }
        for text in &reading.texts {
            let wire::Text { kind, index, tokens, .. } = *text;
            self.engine.push(now, Delta { kind, index, text: &text.text, tokens })?;
        }
        if hurry { self.engine.mark(now, SPLIT, true) } else { Ok(()) }
    }

    /// Whether the event's texts go through the engine; else it passes as one.
    fn can_be_cut(&self, reading: &Reading<'_>) -> bool {
        let nothing = |t: &wire::Text<'_>| t.text.is_empty() && t.tokens.unwrap_or(0) == 0;
        let known = |t: &wire::Text<'_>| self.engine.has_choice_for(t.index);
        if reading.texts.is_empty() || reading.texts.iter().any(nothing) {
            return false;
        }
        // A choice too many: bytes can still pass as they are, pieces can not.
        self.options.pieces || (!reading.whole && reading.texts.iter().all(known))
    }
}

/// What `poll` does next, without borrowing anything.
enum Step {
    Bytes,
    Piece(Piece<'static>),
    Other,
    Event(Event),
    Wait(Nanos),
    NeedInput,
    Finished,
}

/// Texts of one event that wait for room, and whether they hurry.
type Texts = (Vec<(Kind, u32, String, Option<u32>)>, bool);

impl fmt::Display for RewriterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { queued, limit } => {
                write!(f, "{queued} bytes wait to be decoded, at most {limit} may: poll first")
            }
            Self::Finished => write!(f, "the stream was finished; it takes no more input"),
            Self::TooLarge(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::WholeBytes => {
                write!(
                    f,
                    "unit = whole gives pieces only: a whole block may span events that cannot be joined"
                )
            }
        }
    }
}

impl core::error::Error for RewriterError {}

/// The id of marks that only keep pieces apart.
const SPLIT: u64 = u64::MAX;
