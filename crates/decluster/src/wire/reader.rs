//! The reader: which dialect it is, what is broken, how it ended. What the events of a dialect say is
//! in that dialect's file.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::answer::{Answer, Verdict};
use super::common::{Common, Decode, End};
use super::detect::{self, Sign};
use super::json::{self, Object, Value};
use super::tape::Tape;
use super::{Dialect, Part, Reading, Role, Text, Think};
use crate::sse::{Form, Frame};

/// Reads the events of one stream.
///
/// ```
/// use decluster::{frames::Frames, wire::{Reader, Verdict}};
/// let mut decoder = Frames::new(1 << 20);
/// let mut reader = Reader::new(None);
/// decoder.push(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n");
/// decoder.push(b"data: [DONE]\n\n");
/// let mut output = String::new();
/// while let Some(frame) = decoder.poll()? {
///     for text in reader.read(&frame).texts {
///         output.push_str(&text.text);
///     }
/// }
/// reader.finish();
/// assert_eq!(output, "Hi");
/// assert_eq!(reader.answer().verdict, Some(Verdict::Complete));
/// # Ok::<(), decluster::sse::TooLarge>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    dialect: Option<Dialect>,
    /// The caller named one, and the first event is of this other one.
    other: Option<Dialect>,
    /// An event was looked at for its dialect.
    looked: bool,
    /// A dialect that is known but not read here: nothing is looked for any more.
    foreign: bool,
    common: Common,
    /// What reads the dialect, once that is known.
    decode: Option<Box<dyn Decode>>,
    damage: Damage,
    /// Room for the index of an event; taken out while one is read.
    tape: Option<Box<Tape>>,
    /// What came instead of events, from its first line.
    body: Option<Body>,
    finished: bool,
}

impl Reader {
    /// A reader for one stream; `None` tells the dialect from the first event that tells.
    #[must_use]
    pub fn new(dialect: Option<Dialect>) -> Self {
        Self {
            dialect,
            other: None,
            looked: false,
            foreign: false,
            common: Common::default(),
            decode: dialect.map(detect::open),
            damage: Damage::default(),
            tape: None,
            body: None,
            finished: false,
        }
    }

    /// The same reader with other rules for tags in visible text. For use before the first event.
    #[must_use]
    pub fn with_think(mut self, think: Think) -> Self {
        self.common = Common::new(think);
        self
    }

    /// Reads a frame. Nothing a provider sends makes this fail: what cannot be read is counted and has no
    /// texts.
    pub fn read<'a>(&mut self, frame: &Frame<'a>) -> Reading<'a> {
        self.common.answer.comments += u64::from(frame.comments);
        self.damage.open = matches!(frame.form, Form::Element { .. });
        let mut reading = Reading::default();
        match &frame.event {
            Some(event) => self.read_data(event.name, event.data, frame, &mut reading),
            None if frame.comments > 0 => reading.role = Role::Ping,
            None => {}
        }
        if let Some(stray) = frame.stray
            && self.stray(stray, frame)
        {
            reading.role = Role::Hurry;
            (reading.plain, reading.shape) = (false, 0);
            reading.whole = true;
        }
        reading.reports = core::mem::take(&mut self.common.answer.reports);
        reading
    }

    /// Reads an event that is no frame: its name (`message` if it has none) and its data.
    pub fn read_event<'a>(&mut self, name: &str, data: &'a str) -> Reading<'a> {
        let mut reading = Reading::default();
        let frame = Frame { terminated: true, ..Frame::default() };
        self.read_data(name, data, &frame, &mut reading);
        reading.reports = core::mem::take(&mut self.common.answer.reports);
        reading
    }

    /// The input is at its end: settles the verdict. Gives the text that was held back as what might have
    /// become a tag.
    pub fn finish(&mut self) -> Reading<'static> {
        let mut reading = Reading::default();
        if self.finished {
            return reading;
        }
        self.finished = true;
        self.common.settle_all(&mut reading);
        let end = self.decode.as_ref().map(|decode| decode.end(&self.common));
        let ended = end.map_or(self.common.done, |end| end != End::Open);
        let failed = end == Some(End::Failed);
        // A finish reason is not the very end: what came after it was cut.
        let closed = self.common.done || failed || end == Some(End::Closed);
        let damage = &self.damage;
        let stopped = damage.broken || !closed && (damage.cut || damage.open || damage.run > 0);
        let complete = ended && !stopped;
        let answer = &mut self.common.answer;
        // `stream` was not asked for, or not honoured: the one text of the body looks like an event.
        let lone = self.damage.bare && self.dialect.is_none() && !self.foreign;
        let finished = self.decode.as_ref().is_some_and(|d| d.finished_answer());
        if (finished || lone) && answer.events == 1 {
            self.body = Some(Body::Json);
            answer.events = 0;
        }
        let verdict = if answer.error.is_some() || failed {
            Some(Verdict::Failed)
        } else if let Some(body) = self.body.filter(|_| answer.events == 0) {
            answer.reason = Some(body.reason().to_owned());
            Some(Verdict::Failed)
        } else if self.dialect.is_none() && answer.events > 0 && !stopped {
            answer.reason = Some("the dialect is not known".to_owned());
            None
        } else if complete {
            Some(Verdict::Complete)
        } else {
            if answer.events == 0 {
                answer.reason = Some("no event came".to_owned());
            } else if let (Some(named), Some(seen)) = (self.dialect, self.other)
                && answer.choices.is_empty()
            {
                let [named, seen] = [named, seen].map(Dialect::name);
                answer.reason.get_or_insert_with(|| format!("this is {seen}, not {named}"));
            }
            Some(Verdict::Truncated)
        };
        answer.verdict = verdict;
        if complete {
            for call in answer.choices.iter_mut().flat_map(|c| &mut c.tool_calls) {
                call.complete = true;
            }
            if self.common.inline.is_silent(0) {
                answer.reason =
                    Some("the reasoning was not closed: no visible output came".to_owned());
            }
        }
        reading
    }

    /// The dialect, once it is known.
    #[must_use]
    pub const fn dialect(&self) -> Option<Dialect> {
        self.dialect
    }

    /// What the stream amounts to so far; the verdict comes with [`finish`](Self::finish).
    #[must_use]
    pub const fn answer(&self) -> &Answer {
        &self.common.answer
    }

    fn read_data<'a>(
        &mut self,
        name: &str,
        data: &'a str,
        frame: &Frame<'_>,
        reading: &mut Reading<'a>,
    ) {
        let Frame { terminated, form, .. } = *frame;
        let bare = form != Form::Sse;
        self.damage.bare |= bare && !matches!(form, Form::Object(_));
        let text = data.trim_matches(JSON_BLANKS);
        self.common.answer.events += 1;
        if text.is_empty() && !terminated {
            self.common.answer.events -= 1;
            self.damage.cut = true;
        } else if text.is_empty() || !bare && text.starts_with(':') {
            reading.role = Role::Ping;
        } else if self.common.done {
            // Whatever comes after `[DONE]` is not part of the answer.
        } else if text.starts_with(DONE) {
            self.common.done = true;
            self.damage.run = 0;
            reading.role = Role::Hurry;
        } else {
            let mut tape = self.tape.take().unwrap_or_default();
            let at = text.as_ptr().addr() - data.as_ptr().addr();
            self.json(name, text, at, frame, &mut tape, reading);
            tape.shrink();
            self.tape = Some(tape);
        }
    }

    /// Reads a text that should be JSON and stands at `at` in the data.
    #[inline(never)]
    fn json<'a>(
        &mut self,
        name: &str,
        text: &'a str,
        at: usize,
        frame: &Frame<'_>,
        tape: &mut Tape,
        reading: &mut Reading<'a>,
    ) {
        let bare = frame.form != Form::Sse;
        let error = match tape.parse(text) {
            Ok(()) => {
                let value = Value::of(text, at, tape);
                if bare && !value.is_compound() {
                    self.malformed("neither an object nor an array".to_owned());
                    return;
                }
                return self.value(name, value, tape.shape(), reading);
            }
            Err(error) => error,
        };
        let latin = frame.stray.is_some() && ends_in_half_a_character(text);
        let stray = frame.stray.filter(|_| !latin);
        let repaired = self
            .pieces(name, text, at)
            .or_else(|| stray.and_then(|rest| self.rejoin(name, text, rest, frame.raw)))
            .or_else(|| if bare { self.mend(name, text) } else { None });
        if let Some(repaired) = repaired {
            self.common.answer.repairs += 1;
            *reading = Reading { whole: true, plain: false, shape: 0, ..repaired };
            return;
        }
        if name == "error" && !bare && frame.terminated {
            // A proxy's own words, in place of the provider's object.
            self.common.answer.take_error_text(text);
            reading.role = Role::Hurry;
            return;
        }
        if !frame.terminated {
            self.common.answer.events -= 1;
            self.damage.cut = true;
        } else if latin {
            self.malformed(LATIN_1.to_owned());
            self.common.answer.reason.get_or_insert_with(|| LATIN_1.to_owned());
        } else {
            self.malformed(error.to_string());
        }
    }

    /// Reads one JSON value of an event.
    fn value<'a>(
        &mut self,
        name: &str,
        value: Value<'a, '_>,
        shape: u64,
        reading: &mut Reading<'a>,
    ) {
        let event = match value.elements().next() {
            Some(first) => first.object(),
            None => value.object(),
        };
        let kind = event.string("type");
        if name == "ping" || kind.as_deref().is_some_and(|t| PINGS.contains(&t)) {
            // One with a number may not overtake: a client that resumes after it would lose what it passed.
            let number = event.get("sequence_number").is_some();
            reading.role = if number { Role::Mark } else { Role::Ping };
            return;
        }
        self.damage.run = 0;
        if self.dialect.is_none() && !self.foreign {
            self.looked = true;
            match detect::sign(name, &event) {
                Sign::Ours(dialect) => {
                    self.dialect = Some(dialect);
                    self.decode = Some(detect::open(dialect));
                }
                Sign::Other => self.foreign = true,
                Sign::None => {}
            }
        } else if !core::mem::replace(&mut self.looked, true)
            && let Sign::Ours(seen) = detect::sign(name, &event)
        {
            // It is read as it was named all the same; but if nothing comes of that, this is why.
            self.other = self.dialect.filter(|named| !named.reads(seen)).map(|_| seen);
        }
        if let Some(error) = error_of(name, kind.as_deref(), value, &event)
            && self.common.answer.take_error(error)
        {
            reading.role = Role::Hurry;
            // A flat error is the whole event: nothing to leave out.
            if error.span() != value.span() {
                reading.last_only(error);
            }
            // A reader that stops at errors takes nothing of the event, so it must not get parts of it.
            reading.whole = true;
        }
        if let Some(decode) = &mut self.decode {
            // `type` in the data counts; the event's name only where that is missing.
            decode.read(kind.as_deref().unwrap_or(name), &event, &mut self.common, reading);
        }
        reading.plain &= reading.texts.len() == 1
            && reading.texts.iter().all(|text| text.part == Part::Text)
            && reading.role == Role::Delta
            && reading.rest.is_empty()
            && !reading.whole;
        reading.shape = if reading.plain { shape } else { 0 };
    }

    /// Events that lost the blank line between them: `{…}data: {…}` on a line, or a line each. Reads all
    /// or nothing. `text` stands at `at` in the data.
    fn pieces<'a>(&mut self, name: &str, text: &'a str, at: usize) -> Option<Reading<'a>> {
        let mut found = Vec::new();
        let (mut rest, mut done) = (text, false);
        while !rest.is_empty() {
            let offset = text.len() - rest.len();
            if rest.starts_with(DONE) {
                done = true;
                rest = &rest[DONE.len()..];
            } else {
                let mut tape = Tape::default();
                let (_, end) = Value::parse_first(rest, 0, &mut tape)?;
                found.push((&rest[..end], at + offset, tape));
                rest = &rest[end..];
            }
            let next = rest.trim_start_matches(JSON_BLANKS);
            let new_line = rest[..rest.len() - next.len()].contains('\n');
            match next.strip_prefix("data:") {
                Some(after) => rest = after.trim_start_matches(JSON_BLANKS),
                None if new_line || next.is_empty() => rest = next,
                None => return None,
            }
        }
        let several = found.len() + usize::from(done);
        if several < 2 {
            return None;
        }
        self.common.answer.events += several as u64 - 1;
        let mut reading = Reading::default();
        // What one of them is must not be said of all.
        let mut role = Role::Ping;
        for (text, at, tape) in &found {
            reading.role = Role::Mark;
            self.value(name, Value::of(text, *at, tape), tape.shape(), &mut reading);
            role = role.with(reading.role);
        }
        reading.role = role;
        if done {
            self.common.done = true;
            reading.role = Role::Hurry;
        }
        Some(reading)
    }

    /// An event that a line splitter cut at characters it takes for line ends, most likely U+2028: the
    /// rest of the string stands in lines with no known field, of which `rest` is the first.
    fn rejoin(
        &mut self,
        name: &str,
        text: &str,
        rest: &[u8],
        raw: &[u8],
    ) -> Option<Reading<'static>> {
        let all = raw.get(rest.as_ptr().addr().checked_sub(raw.as_ptr().addr())?..)?;
        let [rest, all] = [rest, all].map(|bytes| core::str::from_utf8(bytes).ok());
        let (rest, all) = (rest?, all?.trim_end_matches(['\r', '\n']));
        self.repaired(name, &[text, SEPARATOR, rest].concat()).or_else(|| {
            let mut whole = String::from(text);
            for line in all.lines() {
                whole.push_str(SEPARATOR);
                whole.push_str(line);
            }
            self.repaired(name, &whole)
        })
    }

    /// The same where there are no fields: the line end that came in its place stands inside a string.
    fn mend(&mut self, name: &str, text: &str) -> Option<Reading<'static>> {
        let (mut inside, mut escaped) = (false, false);
        let mended = |c: char| {
            let mend = inside && c == '\n';
            inside ^= c == '"' && !escaped;
            escaped = inside && c == '\\' && !escaped;
            if mend { '\u{2028}' } else { c }
        };
        let text: String = text.contains('\n').then(|| text.chars().map(mended).collect())?;
        self.repaired(name, &text)
    }

    /// Reads data that was put together anew.
    fn repaired(&mut self, name: &str, data: &str) -> Option<Reading<'static>> {
        let mut tape = Tape::default();
        let value = Value::parse(data, 0, &mut tape).ok()?;
        let mut found = Reading::default();
        // Half a character can neither be put into the event nor taken out of it.
        let held = core::mem::take(&mut self.common.held);
        self.value(name, value, 0, &mut found);
        let lost = core::mem::take(&mut self.common.held);
        self.common.answer.repairs += lost.len() as u64;
        if !found.restart {
            self.common.held = held;
        }
        // There is no place in the data for what was found: the event passes as it is.
        let texts = found.texts.into_iter().map(|t| Text {
            text: Cow::Owned(t.text.into_owned()),
            span: 0..0,
            copies: Vec::new(),
            tokens_span: None,
            altered: false,
            ..t
        });
        let Reading { role, boundary, restart, .. } = found;
        Some(Reading { texts: texts.collect(), role, boundary, restart, ..Reading::default() })
    }

    /// Lines that are no fields of the standard, of which `first` is the first: an error, or a body that
    /// is no event stream. Says whether there is an error.
    fn stray(&mut self, first: &[u8], frame: &Frame<'_>) -> bool {
        if frame.event.is_none() {
            let body = core::str::from_utf8(first).ok().and_then(Body::of);
            self.body = self.body.or(body);
        }
        let Ok(raw) = core::str::from_utf8(frame.raw) else { return false };
        // An object may also be spread over all lines of the frame.
        let (mut tape, answer) = (Tape::default(), &mut self.common.answer);
        raw.split(['\n', '\r']).chain([raw]).any(|line| {
            let line = line.trim();
            let error = if let Some(value) = line.strip_prefix("error:") {
                Value::parse(value.trim(), 0, &mut tape).ok()
            } else if line.starts_with(['{', '[']) {
                let value = Value::parse(line, 0, &mut tape).ok();
                let value = value.map(|value| value.elements().next().unwrap_or(value));
                value.and_then(|value| {
                    let event = value.object();
                    error_of("message", event.string("type").as_deref(), value, &event)
                })
            } else {
                None
            };
            error.is_some_and(|error| answer.take_error(error))
        })
    }

    fn malformed(&mut self, message: String) {
        self.damage.run += 1;
        self.damage.broken |= self.damage.run >= BAD_RUN_MAX;
        self.common.malformed(message);
    }
}

#[derive(Debug, Default)]
struct Damage {
    /// Malformed events since the last good one; pings, which have no order, are neither.
    run: u32,
    /// They were too many at some point.
    broken: bool,
    /// The last event was cut by the end of the input.
    cut: bool,
    /// The array that holds the events was not closed.
    open: bool,
    /// Events came as JSON alone.
    bare: bool,
}

/// What comes in place of an event stream.
#[derive(Clone, Copy, Debug)]
enum Body {
    Markup,
    Json,
    Text,
}

impl Body {
    fn of(line: &str) -> Option<Self> {
        // The beginning of a field that the end of the input cut.
        if FIELDS.iter().any(|field| field.starts_with(line)) {
            return None;
        }
        match line.trim_start().chars().next()? {
            '<' => Some(Self::Markup),
            '{' | '[' => Some(Self::Json),
            _ => Some(Self::Text),
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::Markup => "the body is a page of markup, not an event stream",
            Self::Json => "the body is JSON, not an event stream",
            Self::Text => "the body is text, not an event stream",
        }
    }
}

/// The error an event reports, if it does.
pub(super) fn error_of<'a, 't>(
    name: &str,
    kind: Option<&str>,
    whole: Value<'a, 't>,
    event: &Object<'a, 't>,
) -> Option<Value<'a, 't>> {
    let error = event.present("error").filter(|e| !e.is_empty());
    if error.is_some() {
        return error;
    }
    let flat = kind == Some("error")
        || event.string("object").is_some_and(|object| object == "error")
        || name == "error" && event.get("choices").is_none();
    (flat && !event.is_empty()).then_some(whole)
}

/// Whether this data of an event can stand alone: a JSON object or array, or `[DONE]`. For
/// [`Decoder::with_lines`](crate::sse::Decoder::with_lines).
#[must_use]
pub fn is_complete(data: &str) -> bool {
    let data = data.trim_matches(JSON_BLANKS);
    data == DONE
        || data.starts_with(['{', '[']) && data.ends_with(['}', ']']) && json::is_valid(data)
}

/// Whether the text ends with the beginning of a character in UTF-8 that was decoded as Latin-1. Then
/// U+0085 in it was taken for a line end.
fn ends_in_half_a_character(text: &str) -> bool {
    let tail = |c: &char| matches!(c, '\u{80}'..='\u{bf}');
    let mut back = text.chars().rev();
    let first = back.next();
    let lead = first.filter(tail).map_or(first, |_| back.next());
    let lead = lead.filter(tail).map_or(lead, |_| back.next());
    matches!(lead, Some('\u{c2}'..='\u{f4}'))
}

const LATIN_1: &str = "UTF-8 was decoded as Latin-1 before it came here, and lines were cut inside characters: \
    read bytes, or set the response's encoding to utf-8";
const JSON_BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];
/// The most likely of the characters that `str.splitlines` takes for line ends and event streams do not.
const SEPARATOR: &str = "\u{2028}";
const DONE: &str = "[DONE]";
const FIELDS: [&str; 4] = ["data", "event", "id", "retry"];
/// Values of `type` that only keep the connection alive.
const PINGS: [&str; 2] = ["ping", "keepalive"];
/// So many malformed events in a row are no accident: the stream is broken.
const BAD_RUN_MAX: u32 = 3;
