//! The reader: which dialect it is, what is broken, how it ended. What the events of a dialect say is
//! in that dialect's file.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::answer::{Answer, Verdict};
use super::common::{Common, Decode, End};
use super::detect::{self, Sign};
use super::json::{self, Object, Value};
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
    /// A dialect that is known but not read here: nothing is looked for any more.
    foreign: bool,
    common: Common,
    /// What reads the dialect, once that is known.
    decode: Option<Box<dyn Decode>>,
    damage: Damage,
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
            foreign: false,
            common: Common::default(),
            decode: dialect.map(detect::open),
            damage: Damage::default(),
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
        let mut reading = match &frame.event {
            Some(event) => self.read_data(event.name, event.data, frame),
            None if frame.comments > 0 => Reading { role: Role::Ping, ..Reading::default() },
            None => Reading::default(),
        };
        if let Some(stray) = frame.stray
            && self.stray(stray, frame)
        {
            reading.role = Role::Hurry;
            (reading.plain, reading.shape) = (false, 0);
            reading.whole = true;
        }
        reading
    }

    /// Reads an event that is no frame: its name (`message` if it has none) and its data.
    pub fn read_event<'a>(&mut self, name: &str, data: &'a str) -> Reading<'a> {
        self.read_data(name, data, &Frame { terminated: true, ..Frame::default() })
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
            complete.then_some(Verdict::Complete)
        } else if complete {
            Some(Verdict::Complete)
        } else {
            if answer.events == 0 {
                answer.reason = Some("no event came".to_owned());
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

    fn read_data<'a>(&mut self, name: &str, data: &'a str, frame: &Frame<'_>) -> Reading<'a> {
        let Frame { terminated, stray, form, .. } = *frame;
        let bare = form != Form::Sse;
        self.damage.bare |= bare && !matches!(form, Form::Object(_));
        let mut reading = Reading::default();
        let text = data.trim_matches(JSON_BLANKS);
        let at = data.len() - data.trim_start_matches(JSON_BLANKS).len();
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
            match Value::parse(text, at) {
                Ok(value) if bare && !value.is_compound() => {
                    self.malformed("neither an object nor an array".to_owned());
                }
                Ok(value) => self.value(name, value, &mut reading),
                Err(error) => {
                    let latin = stray.is_some() && ends_in_half_a_character(text);
                    let repaired = self.pieces(name, text, at, &mut reading)
                        || stray.is_some_and(|rest| {
                            !latin && self.rejoin(name, text, rest, &mut reading)
                        })
                        || bare && self.mend(name, text, &mut reading);
                    if repaired {
                        self.common.answer.repairs += 1;
                        reading.whole = true;
                        (reading.plain, reading.shape) = (false, 0);
                    } else if terminated && latin {
                        self.malformed(LATIN_1.to_owned());
                        self.common.answer.reason.get_or_insert_with(|| LATIN_1.to_owned());
                    } else if terminated {
                        self.malformed(error.to_string());
                    } else {
                        self.common.answer.events -= 1;
                        self.damage.cut = true;
                    }
                }
            }
        }
        reading
    }

    /// Reads one JSON value of an event.
    fn value<'a>(&mut self, name: &str, value: Value<'a>, reading: &mut Reading<'a>) {
        let (shape, depth) = json::skeleton(value.text);
        if depth > DEPTH_MAX {
            self.malformed(alloc::format!("nested deeper than {DEPTH_MAX} levels"));
            return;
        }
        let event = match value.array().first() {
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
            match detect::sign(name, &event) {
                Sign::Ours(dialect) => {
                    self.dialect = Some(dialect);
                    self.decode = Some(detect::open(dialect));
                }
                Sign::Other => self.foreign = true,
                Sign::None => {}
            }
        }
        if let Some(error) = error_of(name, value, &event)
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
            decode.read(name, &event, &mut self.common, reading);
        }
        reading.plain &= reading.texts.len() == 1
            && reading.texts.iter().all(|text| text.part == Part::Text)
            && reading.role == Role::Delta
            && reading.rest.is_empty()
            && !reading.whole;
        reading.shape = if reading.plain { shape } else { 0 };
    }

    /// Events that lost the blank line between them: `{…}data: {…}` on a line, or a line each. Reads all
    /// or nothing.
    fn pieces<'a>(
        &mut self,
        name: &str,
        text: &'a str,
        at: usize,
        reading: &mut Reading<'a>,
    ) -> bool {
        let mut found = Vec::new();
        let (mut rest, mut done) = (text, false);
        while !rest.is_empty() {
            let offset = text.len() - rest.len();
            if rest.starts_with(DONE) {
                done = true;
                rest = &rest[DONE.len()..];
            } else {
                let Some((value, end)) = Value::parse_first(rest, at + offset) else {
                    return false;
                };
                found.push(value);
                rest = &rest[end..];
            }
            let next = rest.trim_start_matches(JSON_BLANKS);
            let new_line = rest[..rest.len() - next.len()].contains('\n');
            match next.strip_prefix("data:") {
                Some(after) => rest = after.trim_start_matches(JSON_BLANKS),
                None if new_line || next.is_empty() => rest = next,
                None => return false,
            }
        }
        let several = found.len() + usize::from(done);
        if several < 2 {
            return false;
        }
        self.common.answer.events += several as u64 - 1;
        // What one of them is must not be said of all.
        let mut role = Role::Ping;
        for value in found {
            reading.role = Role::Mark;
            self.value(name, value, reading);
            role = role.with(reading.role);
        }
        reading.role = role;
        if done {
            self.common.done = true;
            reading.role = Role::Hurry;
        }
        true
    }

    /// An event that a line splitter cut at a character it takes for a line end, most likely U+2028: the
    /// rest of the string stands in a line with no known field.
    fn rejoin(&mut self, name: &str, text: &str, rest: &[u8], reading: &mut Reading<'_>) -> bool {
        let Ok(rest) = core::str::from_utf8(rest) else { return false };
        self.repaired(name, &[text, "\u{2028}", rest].concat(), reading)
    }

    /// The same where there are no fields: the line end that came in its place stands inside a string.
    fn mend(&mut self, name: &str, text: &str, reading: &mut Reading<'_>) -> bool {
        let mut inside = false;
        let mut escaped = false;
        let mended = |c: char| {
            let mend = inside && c == '\n';
            inside ^= c == '"' && !escaped;
            escaped = inside && c == '\\' && !escaped;
            if mend { '\u{2028}' } else { c }
        };
        text.contains('\n') && {
            let mended: String = text.chars().map(mended).collect();
            self.repaired(name, &mended, reading)
        }
    }

    /// Reads data that was put together anew.
    fn repaired(&mut self, name: &str, data: &str, reading: &mut Reading<'_>) -> bool {
        let Ok(value) = Value::parse(data, 0) else { return false };
        let mut other = Reading::default();
        // Half a character can neither be put into the event nor taken out of it.
        let held = core::mem::take(&mut self.common.held);
        self.value(name, value, &mut other);
        let lost = core::mem::take(&mut self.common.held);
        self.common.answer.repairs += lost.len() as u64;
        if !other.restart {
            self.common.held = held;
        }
        (reading.role, reading.restart) = (other.role, other.restart);
        reading.boundary = other.boundary;
        // There is no place in the data for what was found: the event passes as it is.
        reading.texts = other
            .texts
            .into_iter()
            .map(|t| Text {
                text: Cow::Owned(t.text.into_owned()),
                span: 0..0,
                copies: Vec::new(),
                tokens_span: None,
                altered: false,
                ..t
            })
            .collect();
        true
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
        let errors = raw.split(['\n', '\r']).chain([raw]).filter_map(|line| {
            let line = line.trim();
            if let Some(value) = line.strip_prefix("error:") {
                return Value::parse(value.trim(), 0).ok();
            }
            let value = line.starts_with(['{', '[']).then(|| Value::parse(line, 0).ok())??;
            let value = value.array().first().copied().unwrap_or(value);
            error_of("message", value, &value.object())
        });
        let answer = &mut self.common.answer;
        errors.into_iter().any(|error| answer.take_error(error))
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
pub(super) fn error_of<'a>(name: &str, whole: Value<'a>, event: &Object<'a>) -> Option<Value<'a>> {
    let error = event.present("error").filter(|e| !e.is_empty());
    if error.is_some() {
        return error;
    }
    let says = |key: &str| event.string(key).is_some_and(|v| v == "error");
    let flat = says("object") || says("type") || name == "error" && event.get("choices").is_none();
    (flat && !event.is_empty()).then_some(whole)
}

/// Whether this data of an event can stand alone: a JSON object or array, or `[DONE]`. For
/// [`Decoder::with_lines`](crate::sse::Decoder::with_lines).
#[must_use]
pub fn is_complete(data: &str) -> bool {
    let data = data.trim_matches(JSON_BLANKS);
    data == DONE
        || data.starts_with(['{', '['])
            && data.ends_with(['}', ']'])
            && Value::parse(data, 0).is_ok()
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
const DONE: &str = "[DONE]";
const FIELDS: [&str; 4] = ["data", "event", "id", "retry"];
/// Values of `type` that only keep the connection alive.
const PINGS: [&str; 2] = ["ping", "keepalive"];
/// As many levels as `serde_json` reads by recursion.
pub(super) const DEPTH_MAX: usize = 127;
/// So many malformed events in a row are no accident: the stream is broken.
const BAD_RUN_MAX: u32 = 3;
