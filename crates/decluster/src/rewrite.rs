//! A provider's stream in, the same stream out, re-cut and paced: frames, wire and engine joined.
//!
//! An event that carries text becomes a *template*. When a piece leaves, the event that holds its last byte
//! is written again with the piece as its text; everything else in it stays. Events without text are kept
//! as they are and travel through the engine as marks, so they keep their place. Comments and pings go at
//! once. What is not understood is passed on unchanged.

mod passed;
mod template;

use crate::config::Config;
use crate::delta::{Delta, Kind};
use crate::engine::{Cancel, Engine, Event, Output, Piece, PushError, Stats};
use crate::frames::Frames;
#[cfg(feature = "guard")]
use crate::guard::Clustering;
use crate::guard::meter::Meter;
use crate::guard::silence::Silence;
use crate::guard::{Budget, ReasoningBudgetExceeded};
use crate::sse::{self, Form, Frame};
use crate::time::Nanos;
use crate::wire::{self, Answer, Dialect, Part, Reading, Role, Verdict};
use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use passed::Passed;
use template::{Object, Other, Sink, Templates};

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
///
/// Memory is bounded by `max_queue_bytes` plus one event: events are taken whole.
#[derive(Debug)]
pub struct Rewriter {
    options: RewriterOptions,
    decoder: Frames,
    reader: wire::Reader,
    engine: Engine,
    templates: Templates,
    /// Events as they came, where both pacing and segmenting are off: nothing is put into the engine.
    passed: Option<Passed>,
    urgent: Urgent,
    /// Input waits undecoded because there was no room for it.
    behind: bool,
    /// Nothing is paced any more.
    flushing: bool,
    fault: Option<RewriterError>,
    /// Shape of the last event whose text was taken in, if text may be joined to it.
    joinable: Option<u64>,
    max_queue_bytes: usize,
    meter: Meter,
    /// Reasoning that passes in whole events: their numbers, and what it is estimated at.
    uncut: VecDeque<(u64, u64)>,
    excess: Excess,
    silence: Silence,
    stalled: Option<Nanos>,
    ending: bool,
    ended: bool,
    out: Vec<u8>,
    /// What `out` is, if it is an event that came as an object.
    object: Option<Object>,
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
    /// An event of a stream that comes through [`Rewriter::push_event`].
    Object {
        /// Which of the events that were pushed this is, counted from 0. When one was cut in several, several
        /// have its number; of those that were joined only the last comes out.
        number: u64,
        /// Its name, `message` if it has none.
        name: &'a str,
        /// Its data.
        data: &'a str,
        /// The data is not what was pushed.
        changed: bool,
        /// Events with numbers below this will not come out any more.
        done: u64,
    },
    /// Text, in piece mode.
    Piece(Piece<'a>),
    /// An event that is not text, in piece mode with `events`.
    Other {
        /// The SSE event name, `message` if it has none.
        name: &'a str,
        /// Its data.
        data: &'a str,
    },
    /// In piece mode with `events`: the answer began anew, output was reasoning, or more reasoning came than may.
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
    /// The caller pushed an event into a stream of bytes, or bytes into one of events; nothing was taken.
    Mixed,
    /// More reasoning came than `max_reasoning_tokens` or a shared budget allows. What is within it was let through.
    ReasoningBudgetExceeded(ReasoningBudgetExceeded),
    /// Nothing but comments and pings came for `max_silence`. What had come before was let through.
    Stalled {
        /// How much of the silence counted: that in which input was wanted and somebody polled.
        silence: Nanos,
    },
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
        let meter = Meter::new(config.max_reasoning_tokens);
        // With both off nothing may overtake anything: output is input, byte for byte.
        let verbatim = config.pace == 2 && config.segmenting().is_none();
        Ok(Self {
            options,
            decoder: Frames::new(config.max_event_bytes as usize),
            reader: wire::Reader::new(options.dialect).with_think(config.think()),
            engine: Engine::new(config, now),
            templates: Templates::new(verbatim, options),
            passed: (verbatim && !options.pieces && !meter.is_on()).then(Passed::default),
            urgent: Urgent::default(),
            behind: false,
            flushing: false,
            fault: None,
            joinable: None,
            max_queue_bytes: config.max_queue_bytes as usize,
            meter,
            uncut: VecDeque::new(),
            excess: Excess { as_event: config.over_budget == 1, ..Excess::default() },
            silence: Silence::new(config.max_silence),
            stalled: None,
            ending: false,
            ended: false,
            out: Vec::new(),
            object: None,
            text: String::new(),
            other: Other::default(),
        })
    }

    /// Charges the stream's reasoning to a budget that others may share, beside its own limit. For use before the first
    /// input.
    ///
    /// Each piece of reasoning is charged before it is given out. Once the limit is reached, the next one is refused, and
    /// the stream ends as with `max_reasoning_tokens`. If others use the budget up, text that a
    /// [`Rewritten::Wait`] was told for may go sooner.
    pub fn share_budget(&mut self, budget: Budget) {
        self.meter.share(budget);
        self.passed = None;
    }

    /// Takes in bytes of the stream, cut anywhere.
    ///
    /// # Errors
    /// [`RewriterError`]. After `Full`, `Finished` and `Mixed` nothing was taken; after others the rewriter has
    /// finished itself, what came before still leaves, and [`Rewriter::take_fault`] has the error, too.
    pub fn push(&mut self, now: Nanos, bytes: &[u8]) -> Result<(), RewriterError> {
        self.check(bytes.len(), self.decoder.takes_bytes())?;
        self.silence.pushed(now);
        self.decoder.push(bytes);
        self.pump(now);
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Takes in one line, with or without its terminator, perhaps from a library that drops blank lines.
    /// Lines may be followed by bytes, not bytes by lines.
    ///
    /// # Errors
    /// As [`Rewriter::push`].
    pub fn push_line(&mut self, now: Nanos, line: &[u8]) -> Result<(), RewriterError> {
        self.check(line.len(), self.decoder.takes_bytes())?;
        self.silence.pushed(now);
        self.decoder.push_line(line);
        self.pump(now);
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Takes in an event that was parsed already: its name, empty if it has none, and its data as JSON. What comes
    /// out is [`Rewritten::Object`] in place of bytes.
    ///
    /// # Errors
    /// As [`Rewriter::push`].
    pub fn push_event(&mut self, now: Nanos, name: &str, data: &str) -> Result<(), RewriterError> {
        self.check(name.len() + data.len(), self.decoder.takes_events())?;
        self.silence.pushed(now);
        self.decoder.push_event(name, data);
        self.pump(now);
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// No more input will come: what is queued leaves within `max_tail`, then [`Rewritten::Finished`].
    pub fn finish(&mut self, now: Nanos) {
        if !self.ending {
            self.ending = true;
            self.decoder.finish();
            self.pump(now);
        }
    }

    /// Stops pacing what is queued at present.
    pub fn flush(&mut self) {
        self.engine.flush();
    }

    /// Stops pacing for good: what is queued and what still comes is due at once.
    pub fn stop_pacing(&mut self) {
        self.flushing = true;
        self.engine.flush();
    }

    /// Ends the stream early: all that came in leaves at once, or is forgotten.
    pub fn cancel(&mut self, how: Cancel) {
        match how {
            Cancel::Flush => {
                self.stop_pacing();
                if !self.ending {
                    self.ending = true;
                    self.decoder.finish();
                }
            }
            Cancel::Drop => {
                self.ending = true;
                self.ended = true;
                // Nothing is fed to it any more; what it holds is forgotten.
                self.decoder = Frames::new(0);
                self.urgent = Urgent::default();
                self.templates.clear();
                self.passed.as_mut().map(Passed::clear);
                self.engine.cancel(Cancel::Drop);
                self.meter.stop();
            }
        }
    }

    /// Whether the caller should go on reading its source.
    pub fn wants_input(&self) -> bool {
        !self.ending && !self.behind && self.has_room()
    }

    /// What ended the stream, if it was not its end: an event over the cap, too many choices, more reasoning than may
    /// be, a silence. Gives it once.
    pub fn take_fault(&mut self) -> Option<RewriterError> {
        self.fault.take()
    }

    /// By how much the reasoning exceeded its limit, or that of a shared budget, if it did: whether that is a fault or, with
    /// `over_budget = event`, a mere end.
    pub fn exceeded(&self) -> Option<ReasoningBudgetExceeded> {
        self.excess.found
    }

    /// The silence that ended the stream, if one did; as in [`RewriterError::Stalled`].
    pub fn stalled(&self) -> Option<Nanos> {
        self.stalled
    }

    /// Whether no more input is taken in: the stream was finished or cancelled, or a fault ended it.
    pub fn has_ended(&self) -> bool {
        self.ending
    }

    /// Whether the input is at its end and all of it has been decoded; text may still be queued.
    pub fn is_finished(&self) -> bool {
        self.ended
    }

    /// Counters of the engine. With both pacing and segmenting off each delta is a piece; tokens are then estimated only
    /// where there is the feature `guard`.
    pub fn stats(&self) -> Stats {
        let stats = self.engine.stats();
        self.passed.as_ref().map_or(stats, |passed| passed.stats(stats))
    }

    /// How clustered the stream came in, and how it left; as [`Engine::clusters`].
    #[cfg(feature = "guard")]
    pub fn clusters(&self) -> &Clustering {
        self.engine.clusters()
    }

    /// What the stream amounts to so far; the verdict comes at the end.
    pub fn answer(&self) -> &Answer {
        self.reader.answer()
    }

    /// The dialect, once it is known. A stream of none passes through unpaced.
    pub fn dialect(&self) -> Option<Dialect> {
        self.reader.dialect()
    }

    /// Whether this is a stream that can be read and paced: `None` as long as that cannot be said. `Some(false)` for one of no
    /// known dialect, and for one that is not of the dialect that was named.
    ///
    /// ```
    /// use decluster::{Config, Nanos, Rewriter, RewriterOptions};
    /// let mut rewriter = Rewriter::new(&Config::default(), RewriterOptions::default(), Nanos::ZERO)?;
    /// rewriter.push(Nanos::ZERO, b"data: {\"temperature\":21.5}\n\n")?;
    /// assert_eq!(rewriter.recognised(), None);
    /// rewriter.finish(Nanos::ZERO);
    /// assert_eq!(rewriter.recognised(), Some(false));
    /// # Ok::<(), decluster::RewriterError>(())
    /// ```
    pub fn recognised(&self) -> Option<bool> {
        let answer = self.answer();
        if self.dialect().is_none() {
            let nothing = if self.ended {
                answer.events > 0 || answer.verdict == Some(Verdict::Failed)
            } else {
                answer.events >= ENOUGH_EVENTS
            };
            return nothing.then_some(false);
        }
        let something = self.stats().deltas > 0
            || !answer.choices.is_empty()
            || answer.usage.is_some()
            || answer.error.is_some();
        if something {
            return Some(true);
        }
        (self.ended && answer.events > 0).then_some(false)
    }

    /// What to do now; as [`Engine::poll`].
    pub fn poll(&mut self, now: Nanos) -> Rewritten<'_> {
        match self.step(now) {
            Step::Bytes => match &self.object {
                None => Rewritten::Bytes(&self.out),
                Some(object) => Rewritten::Object {
                    number: object.number,
                    name: &object.name,
                    // It was data before, and is made of nothing else.
                    data: core::str::from_utf8(&self.out).unwrap_or_default(),
                    changed: object.changed,
                    done: self.done(),
                },
            },
            Step::Passed(range) => {
                Rewritten::Bytes(self.passed.as_ref().map_or(&[], |passed| passed.bytes(range)))
            }
            Step::Piece(piece) => Rewritten::Piece(piece.with_text(&self.text)),
            Step::Other => Rewritten::Other { name: &self.other.name, data: &self.other.data },
            Step::Event(event) => Rewritten::Event(event),
            Step::Wait(at) => Rewritten::Wait(at),
            Step::NeedInput => Rewritten::NeedInput,
            Step::Finished => Rewritten::Finished,
        }
    }

    fn step(&mut self, now: Nanos) -> Step {
        self.object = None;
        let watched = self.silence.is_on();
        if watched && !self.ending && self.silence.poll(now) {
            self.stall(now);
        }
        let mut step = self.next_step(now);
        if watched && !self.ending {
            step = self.within_silence(step, now);
        }
        if let Some(object) = self.templates.take_object() {
            self.object = Some(object);
        }
        step
    }

    /// The source has been silent for too long: what came leaves, as from one that failed.
    fn stall(&mut self, now: Nanos) {
        let silence = self.silence.length();
        self.cancel(Cancel::Flush);
        self.pump(now);
        // A source that has said its end need not close.
        if self.answer().verdict != Some(Verdict::Complete) && self.fault.is_none() {
            self.fault = Some(RewriterError::Stalled { silence });
            self.stalled = Some(silence);
        }
    }

    /// The same step, with a wait no longer than the silence may last.
    fn within_silence(&mut self, step: Step, now: Nanos) -> Step {
        let wanted = self.wants_input();
        let at = match step {
            Step::Wait(at) => Some(at),
            Step::NeedInput => None,
            _ => {
                self.silence.gave(now, wanted);
                return step;
            }
        };
        self.silence.wait(at, wanted).map_or(Step::NeedInput, Step::Wait)
    }

    /// More reasoning came than may: nothing follows but the word of it.
    fn exceed(&mut self, exceeded: ReasoningBudgetExceeded) {
        self.cancel(Cancel::Drop);
        self.tell(exceeded);
    }

    fn tell(&mut self, exceeded: ReasoningBudgetExceeded) {
        self.excess.found = Some(exceeded);
        if self.excess.as_event {
            self.excess.untold = self.options.gives_events();
        } else {
            self.fault.get_or_insert(RewriterError::ReasoningBudgetExceeded(exceeded));
        }
    }

    /// Events below this number are out.
    fn done(&self) -> u64 {
        let urgent = self.urgent.frames.front().and_then(|frame| match frame.form {
            Form::Object(number) => Some(number),
            _ => None,
        });
        let next = self.decoder.next_object();
        [urgent, self.templates.first_object()].into_iter().flatten().fold(next, u64::min)
    }

    fn next_step(&mut self, now: Nanos) -> Step {
        loop {
            if self.excess.found.is_none()
                && let Some(exceeded) = self.meter.ended()
            {
                self.exceed(exceeded);
            }
            if self.meter.will_refuse() {
                self.engine.flush();
            }
            // There may be room again for what waits, be it the end.
            if self.behind || (self.ending && !self.ended) {
                self.pump(now);
            }
            if let Some((range, texts)) = self.passed.as_mut().and_then(Passed::next) {
                if let Some(tokens) = texts.tokens {
                    self.engine.saw_leave(now, tokens);
                }
                return Step::Passed(range);
            }
            self.out.clear();
            if let Some(frame) = self.urgent.pop() {
                self.templates.write(&frame.raw, frame.form, frame.led, &mut self.out);
                self.object = Object::of(frame.form, false, &frame.name);
                if self.out.is_empty() && self.object.is_none() {
                    continue;
                }
                return Step::Bytes;
            }
            if self.other.advance() {
                return Step::Other;
            }
            if core::mem::take(&mut self.excess.untold)
                && let Some(exceeded) = self.excess.found
            {
                return Step::Event(Event::BudgetExceeded(exceeded));
            }
            let mut sink = match self.options {
                RewriterOptions { pieces: false, .. } => Sink::Bytes(&mut self.out),
                _ => Sink::Other(&mut self.other),
            };
            match self.engine.poll(now) {
                Output::Piece(piece) => {
                    if piece.kind == Kind::Reasoning
                        && self.meter.is_on()
                        && let Err(refused) = self.meter.leave(piece.tokens)
                    {
                        self.exceed(refused);
                        continue;
                    }
                    if self.options.keeps_events() {
                        self.templates.take(&piece, &mut sink);
                    }
                    if !self.options.pieces {
                        return Step::Bytes;
                    }
                    piece.text.clone_into(&mut self.text);
                    return Step::Piece(piece.with_text(""));
                }
                Output::Mark(SPLIT) => {}
                Output::Event(event) => return Step::Event(event),
                Output::Mark(TAG) => {
                    self.templates.take_tag(&mut self.out);
                    return Step::Bytes;
                }
                Output::Mark(OVER) => {
                    if let Some(exceeded) = self.meter.reach_mark() {
                        self.exceed(exceeded);
                    } else if self.meter.wants_mark() {
                        // Later reports are too much again.
                        self.engine.admit_mark(now, OVER, true);
                    }
                }
                Output::Mark(number) => {
                    let uncut = self.uncut.pop_front_if(|(first, _)| *first == number);
                    if let Some((_, weight)) = uncut
                        && let Err(refused) = self.meter.leave_weight(weight)
                    {
                        self.exceed(refused);
                        continue;
                    }
                    self.templates.take_event(number, &mut sink);
                    // An object counts even without data.
                    if !self.out.is_empty() || self.templates.has_object() {
                        return Step::Bytes;
                    }
                }
                Output::Wait(at) => return Step::Wait(at),
                Output::NeedInput => {
                    if !self.has_room() && self.engine.is_stuck() {
                        // What fills the room waits for the end of a block that has no room to come.
                        self.engine.end_block(now);
                    }
                    if !self.behind && !self.engine.has_plan() {
                        return Step::NeedInput;
                    }
                }
                Output::Finished => match self.meter.settle() {
                    Some(exceeded) => self.tell(exceeded),
                    None => return Step::Finished,
                },
            }
        }
    }

    /// Decodes what there is room for.
    fn pump(&mut self, now: Nanos) {
        self.behind = false;
        while !self.ended {
            if !self.has_room() {
                self.behind = self.ending || self.decoder.buffered() > 0;
                return;
            }
            match self.decoder.poll() {
                Ok(Some(frame)) => {
                    let reading = self.reader.read(&frame);
                    if reading.role != Role::Ping
                        && (frame.event.is_some() || frame.stray.is_some())
                    {
                        self.silence.heard(now);
                    }
                    // Parsed events go the long way: the caller is told which they are.
                    let object = matches!(frame.form, Form::Object(_));
                    if let Some(passed) = self.passed.as_mut().filter(|_| !object) {
                        if let Some(tokens) = passed.push(&frame, &reading).tokens {
                            self.engine.saw_arrive(now, tokens);
                        }
                        continue;
                    }
                    let mut intake = Intake {
                        options: self.options,
                        engine: &mut self.engine,
                        templates: &mut self.templates,
                        urgent: &mut self.urgent,
                        joinable: &mut self.joinable,
                        meter: &mut self.meter,
                        uncut: &mut self.uncut,
                    };
                    let met = Met {
                        restarted: reading.restart && intake.meter.restart(),
                        reasons: reading.texts.iter().any(|text| text.kind == Kind::Reasoning),
                        reports: reading.reports,
                    };
                    if let Err(error) = intake.take(now, &frame, &reading) {
                        self.fault = Some(RewriterError::Engine(error));
                        self.end(now);
                    }
                    self.meet_limits(now, met);
                }
                Ok(None) if self.ending => self.end(now),
                Ok(None) => return,
                Err(error) => {
                    self.fault = Some(RewriterError::TooLarge(error));
                    self.end(now);
                }
            }
        }
    }

    /// Takes in what the provider counts. Once it is known that too much has come, the source should be closed soon: the
    /// rest is not paced.
    fn meet_limits(&mut self, now: Nanos, met: Met) {
        let mut hurry = self.flushing;
        if self.meter.is_on() {
            let answer = self.reader.answer();
            let count = answer.reasoning_tokens.filter(|_| met.reports);
            let over = count.is_some_and(|count| self.meter.report(count, answer.has_stopped()));
            let over = over || met.restarted;
            if over {
                self.engine.admit_mark(now, OVER, true);
            }
            self.meter.end_event();
            hurry |= (over || met.reasons) && self.meter.is_too_much();
        }
        if hurry {
            self.engine.flush();
        }
    }

    fn end(&mut self, now: Nanos) {
        self.ending = true;
        self.ended = true;
        let reading = self.reader.finish();
        // What is held of an event that was refused is refused, too.
        let refused = matches!(self.fault, Some(RewriterError::Engine(_)));
        if self.options.pieces && !reading.texts.is_empty() && !refused {
            let frame = Frame::default();
            let mut intake = Intake {
                options: self.options,
                engine: &mut self.engine,
                templates: &mut self.templates,
                urgent: &mut self.urgent,
                joinable: &mut self.joinable,
                meter: &mut self.meter,
                uncut: &mut self.uncut,
            };
            // A choice may begin with what was held back.
            if let Err(error) = intake.take(now, &frame, &reading) {
                self.fault = Some(RewriterError::Engine(error));
            }
        }
        self.engine.finish(now);
        if self.flushing {
            self.engine.flush();
        }
    }

    fn has_room(&self) -> bool {
        let passed = self.passed.as_ref().map_or(0, Passed::queued);
        self.engine.wants_input()
            && self.templates.bytes() + self.urgent.bytes + passed < self.max_queue_bytes
    }

    fn check(&self, bytes: usize, fits: bool) -> Result<(), RewriterError> {
        let (queued, limit) = (self.decoder.buffered(), self.max_queue_bytes);
        if self.ending {
            Err(RewriterError::Finished)
        } else if !fits {
            Err(RewriterError::Mixed)
        } else if self.behind && queued + bytes > limit {
            Err(RewriterError::Full { queued, limit })
        } else {
            Ok(())
        }
    }
}

impl RewriterOptions {
    /// Whether events are needed again once their text has been taken in.
    fn keeps_events(self) -> bool {
        !self.pieces || self.events
    }

    /// Whether what is not text is given in piece mode.
    fn gives_events(self) -> bool {
        self.pieces && self.events
    }

    /// Whether the text goes through the engine. Of bytes those that stand in the event do, of pieces those
    /// that are part of the answer.
    fn takes(self, text: &wire::Text<'_>) -> bool {
        text.part == Part::Text || self.pieces && text.part == Part::Late
    }
}

/// Frames that carry no order: comments, pings, empty lines. They wait only for the next poll.
#[derive(Debug, Default)]
struct Urgent {
    frames: VecDeque<UrgentFrame>,
    bytes: usize,
}

#[derive(Debug)]
struct UrgentFrame {
    raw: Vec<u8>,
    form: Form,
    /// It begins with half of a line end.
    led: bool,
    /// Of an object.
    name: String,
}

impl Urgent {
    fn push(&mut self, frame: &Frame<'_>) {
        let raw = frame.kept();
        let event = frame.event.as_ref().filter(|_| matches!(frame.form, Form::Object(_)));
        let name = event.map_or(String::new(), |event| event.name.to_owned());
        self.bytes += raw.len() + name.len() + URGENT_OVERHEAD;
        self.frames.push_back(UrgentFrame { raw, form: frame.form, led: frame.led, name });
    }

    fn pop(&mut self) -> Option<UrgentFrame> {
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.raw.len() + frame.name.len() + URGENT_OVERHEAD;
        Some(frame)
    }
}

/// Whether there was too much reasoning.
#[derive(Debug, Default)]
struct Excess {
    found: Option<ReasoningBudgetExceeded>,
    /// It is told as an event, not as a fault.
    as_event: bool,
    /// That event is still to be given.
    untold: bool,
}

/// What an event had that concerns limits.
#[derive(Clone, Copy)]
struct Met {
    /// It was the beginning of another attempt, and what came before was too much.
    restarted: bool,
    reasons: bool,
    reports: bool,
}

/// Where a frame goes.
struct Intake<'a> {
    options: RewriterOptions,
    engine: &'a mut Engine,
    templates: &'a mut Templates,
    urgent: &'a mut Urgent,
    joinable: &'a mut Option<u64>,
    meter: &'a mut Meter,
    uncut: &'a mut VecDeque<(u64, u64)>,
}

impl Intake<'_> {
    fn take(
        &mut self,
        now: Nanos,
        frame: &Frame<'_>,
        reading: &Reading<'_>,
    ) -> Result<(), PushError> {
        let unmarked = self.templates.unmark(frame);
        let frame = unmarked.as_ref().unwrap_or(frame);
        if self.templates.begins_line(frame) && self.has_no_order(frame, reading) {
            if !self.options.pieces {
                self.urgent.push(frame);
            }
            return Ok(());
        }
        if reading.boundary {
            self.engine.end_block(now);
        }
        let hurry = reading.role == Role::Hurry;
        let keep = self.options.keeps_events();
        if reading.restart && self.options.gives_events() {
            self.engine.admit_attempt(now);
        }
        if !self.can_be_cut(frame, reading) {
            self.turns(now, &reading.texts);
            if keep {
                let number = self.templates.event(frame, reading);
                let texts = reading.texts.iter().filter(|text| text.part == Part::Text);
                if self.meter.is_on()
                    && !self.options.pieces
                    && let Some(weight) = self.meter.arrive_whole(texts)
                {
                    self.uncut.push_back((number, weight));
                }
                *self.joinable = None;
                self.engine.admit_mark(now, number, hurry);
            } else if hurry {
                self.engine.admit_mark(now, SPLIT, true);
            }
            return Ok(());
        }
        if !self.engine.has_choices_for(reading.texts.iter().map(|text| text.index)) {
            let index = reading.texts.iter().map(|text| text.index).max().unwrap_or_default();
            return Err(PushError::TooManyChoices { index });
        }
        if keep {
            // Only plain events of the same name and shape may share a piece; a mark keeps others apart.
            let shape = if reading.plain { named_shape(frame, reading) } else { 0 };
            if self.joinable.is_some_and(|last| last == 0 || last != shape) {
                self.engine.admit_mark(now, SPLIT, false);
            }
            *self.joinable = Some(shape);
            self.templates.delta(frame, reading, self.options.pieces && reading.plain);
        }
        let mut last: Option<&wire::Text<'_>> = None;
        for text in &reading.texts {
            let wire::Text { kind, index, tokens, .. } = *text;
            if self.options.takes(text) {
                let alike = |last: &wire::Text<'_>| last.kind == kind && last.index == index;
                if !self.options.pieces && last.is_some_and(|l| alike(l) && l.span != text.span) {
                    // No text moves to another string of its event: that may be another field.
                    self.engine.admit_mark(now, SPLIT, false);
                }
                last = Some(text);
                let delta = Delta { kind, index, text: &text.text, tokens };
                let weight = self.engine.admit(now, delta)?;
                if kind == Kind::Reasoning && self.meter.is_on() {
                    self.meter.arrive(weight, tokens);
                }
            } else if !self.options.pieces && text.part != Part::Late {
                self.engine.admit_mark(now, TAG, false);
            } else {
                self.turns(now, core::slice::from_ref(text));
            }
        }
        if hurry {
            self.engine.admit_mark(now, SPLIT, true);
        }
        Ok(())
    }

    /// Says in piece mode where output proves to have been reasoning.
    fn turns(&mut self, now: Nanos, texts: &[wire::Text<'_>]) {
        for text in texts.iter().filter(|t| t.part == Part::Turn && self.options.gives_events()) {
            self.engine.admit_reclassified(now, text.index);
        }
    }

    /// Whether the frame may overtake if it begins a line: comments, pings, empty lines. Not where output is to
    /// be the input, not with an id, which would confirm what was overtaken, not with lines that would turn the
    /// stream into JSON, and not if the end of the input cut it short: it would run into whatever comes after it.
    fn has_no_order(&self, frame: &Frame<'_>, reading: &Reading<'_>) -> bool {
        let blank = !matches!(frame.form, Form::Element { .. } | Form::ArrayEnd)
            && frame.raw.iter().all(|byte| matches!(byte, b'\r' | b'\n'));
        let ended = frame.raw.ends_with(b"\n")
            || frame.raw.ends_with(b"\r")
            || matches!(frame.form, Form::Object(_));
        let whole = ended && frame.terminated;
        let own_id = frame.event.as_ref().is_some_and(|event| event.own_id);
        (blank || reading.role == Role::Ping)
            && whole
            && !own_id
            && !begins_as_json(frame)
            && !self.templates.is_no_json(frame)
            && !self.templates.is_verbatim()
    }

    /// Whether the event's texts go through the engine; else it passes as one.
    fn can_be_cut(&self, frame: &Frame<'_>, reading: &Reading<'_>) -> bool {
        let nothing = |t: &wire::Text<'_>| t.text.is_empty() && t.tokens.unwrap_or(0) == 0;
        let texts = || reading.texts.iter().filter(|text| self.options.takes(text));
        if texts().next().is_none() || texts().any(nothing) {
            return false;
        }
        // One text as it stands is written as it came; a count would be cut whatever is off.
        let simple = matches!(&reading.texts[..], [one] if !one.altered && !one.text.is_empty())
            && reading.blanks.is_empty();
        // Pieces carry text only, so they can take it from any event.
        self.options.pieces
            || (!reading.whole
                && !begins_as_json(frame)
                && (simple || !self.templates.is_verbatim())
                && reading.texts.len() <= TEXTS_MAX
                && rest_of(frame, reading) <= REST_MAX
                && self.engine.has_choices_for(reading.texts.iter().map(|text| text.index)))
    }
}

/// Whether an event stream that began with this frame would be taken for JSON: a line that is no field stands before
/// the fields.
fn begins_as_json(frame: &Frame<'_>) -> bool {
    let first = || frame.raw.iter().find(|byte| !byte.is_ascii_whitespace());
    frame.form == Form::Sse && frame.stray.is_some() && matches!(first(), Some(b'{' | b'['))
}

/// The event's shape with its name; 0 stays 0.
fn named_shape(frame: &Frame<'_>, reading: &Reading<'_>) -> u64 {
    let name = frame.event.as_ref().map_or("", |event| event.name);
    let mix = |shape: u64, byte: u8| (shape ^ u64::from(byte)).wrapping_mul(NAME_PRIME);
    if reading.shape == 0 { 0 } else { name.bytes().fold(reading.shape, mix).max(1) }
}

/// How many bytes each part of the event would repeat.
fn rest_of(frame: &Frame<'_>, reading: &Reading<'_>) -> usize {
    let mut spans: Vec<_> = reading.strings().chain(reading.rest.iter().map(|(s, _)| s)).collect();
    // Several texts may stand in one string.
    spans.sort_by_key(|span| span.start);
    spans.dedup();
    frame.raw.len().saturating_sub(spans.into_iter().map(Range::len).sum())
}

/// What `poll` does next, without borrowing anything.
enum Step {
    Bytes,
    Passed(Range<usize>),
    Piece(Piece<'static>),
    Event(Event),
    Other,
    Wait(Nanos),
    NeedInput,
    Finished,
}

impl fmt::Display for RewriterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { queued, limit } => {
                write!(f, "{queued} bytes wait to be decoded, at most {limit} may: poll first")
            }
            Self::Finished => write!(f, "the stream was finished; it takes no more input"),
            Self::Mixed => write!(f, "a stream comes as bytes or as events, not as both"),
            Self::TooLarge(error) => error.fmt(f),
            Self::Engine(error) => error.fmt(f),
            Self::ReasoningBudgetExceeded(error) => error.fmt(f),
            Self::Stalled { silence } => {
                let seconds = core::time::Duration::from(*silence).as_secs_f64();
                write!(f, "the source stalled: no event for {seconds:.3} s")
            }
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

/// A dialect that has not shown itself after so many events is none that is known.
const ENOUGH_EVENTS: u64 = 3;
/// An event that says more than this besides its text passes whole: cut in n parts it would grow by n times as much.
/// Real ones stay below 1 KiB.
const REST_MAX: usize = 8_192;
/// An event with more texts and tags than this passes whole: each of its parts names them all.
const TEXTS_MAX: usize = 512;
/// That of FNV-1a.
const NAME_PRIME: u64 = 0x0100_0000_01b3;
/// What a frame costs besides its bytes.
const URGENT_OVERHEAD: usize = 64;
/// The id of marks that only keep pieces apart.
const SPLIT: u64 = u64::MAX;
/// The id of marks that stand for a tag in an event that also holds text.
const TAG: u64 = u64::MAX - 1;
/// The id of the mark behind which the stream ends, since a report there was too much.
const OVER: u64 = u64::MAX - 2;
