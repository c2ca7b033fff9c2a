//! Complete small vectors of the rewriter: what goes in with its time, and all that comes out.

use std::fmt::Write as _;

use decluster::wire::Dialect;
use decluster::{
    Cancel, Config, Event, Kind, Nanos, PushError, Rewriter, RewriterError, RewriterOptions,
    Rewritten,
};
use decluster_score::lay;
use decluster_tests::small::{content, event};
use serde_json::Value;

use crate::streams::{self, Stream};

/// What a caller does with one rewriter.
pub(crate) struct Vector {
    pub(crate) name: String,
    about: String,
    settings: Vec<(&'static str, u64)>,
    dialect: Option<Dialect>,
    mode: Mode,
    calls: Vec<(Nanos, Call)>,
}

/// What a rewriter gives.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    Stream,
    Pieces,
    PiecesAndEvents,
}

#[derive(Clone)]
enum Call {
    Push(Vec<u8>),
    PushLine(Vec<u8>),
    PushEvent(String, String),
    Flush,
    StopPacing,
    Cancel(Cancel),
    Finish,
}

/// All vectors, with this text in them.
pub(crate) fn all(text: &str) -> Vec<Vector> {
    let whole = |stream: &Stream| stream_of(stream, text);
    let mut vectors: Vec<Vector> = streams::all()
        .iter()
        .map(|stream| Vector::new(stream.name, "by blocks", pushed(whole(stream))))
        .collect();
    for stream in [streams::chat(), streams::anthropic()] {
        let name = format!("{}-word", stream.name);
        vectors.push(Vector::new(&name, "by words", pushed(whole(&stream))).with("unit", 1));
    }
    for stream in [streams::chat(), streams::responses(), streams::anthropic(), streams::gemini()] {
        let name = format!("{}-pieces", stream.name);
        let vector = Vector::new(&name, "its text, and what is not text", pushed(whole(&stream)));
        vectors.push(vector.giving(Mode::PiecesAndEvents));
    }
    let chat = whole(&streams::chat());
    let at = |ms: u64, call: Call| (Nanos::from_millis(ms), call);
    let with = |ms: u64, call: Call| {
        let mut calls = pushed(chat.clone());
        let place = calls.partition_point(|(at, _)| *at <= Nanos::from_millis(ms));
        calls.insert(place, at(ms, call));
        calls
    };
    let cancelled = |how: Cancel| {
        let mut calls = with(1_000, Call::Cancel(how));
        let place = calls.iter().position(|(_, call)| matches!(call, Call::Cancel(_)));
        calls.truncate(place.map_or(0, |place| place + 1));
        calls
    };
    let push = |ms: u64, text: &str| at(ms, Call::Push(text.as_bytes().to_vec()));
    let reasons = |text: &str| format!(r#""reasoning_content":"{text}""#);
    let choices = vec![
        push(5, &content("Kept whole. And this, too.")),
        push(6, &event(r#"{"choices":[{"index":1,"delta":{"content":"Not cut. Not at all."}}]}"#)),
    ];
    vectors.extend([
        Vector::new("whole-pieces", "whole blocks of text alone", pushed(chat.clone()))
            .with("unit", 2)
            .giving(Mode::Pieces),
        Vector::new("verbatim", "neither cut nor paced", pushed(chat.clone()))
            .with("pace", 2)
            .with("segment", 1),
        Vector::new("unpaced", "cut, not paced", pushed(chat.clone())).with("pace", 2),
        Vector::new("lines", "line by line", lines(&whole(&streams::ollama()))),
        Vector::new("events", "events that were parsed already", events(&whole(&streams::ollama()))),
        Vector::new("named", "the dialect is named", pushed(whole(&streams::mistral())))
            .of(Dialect::Mistral),
        Vector::new("flushed", "what is queued is due at once", with(2_310, Call::Flush)),
        Vector::new("stopped", "all that comes is due at once", with(1_000, Call::StopPacing)),
        Vector::new("cancelled", "what came leaves at once", cancelled(Cancel::Flush)),
        Vector::new("dropped", "what came is forgotten", cancelled(Cancel::Drop)),
        Vector::new("unknown", "a stream of no known dialect", vec![
            push(5, "data: {\"some\":\"thing\"}\n\n: a comment\n\ndata: {\"other"),
            push(900, "\":\"things. And more of them.\"}\n\n"),
        ]),
        Vector::new("broken", "bytes that are no UTF-8, and JSON that is none", vec![
            push(5, &content("One goes in. ")),
            at(6, Call::Push(b"data: {\"choices\":[{\"delta\":{\"content\":\"half\n\n\xff\x00: \xc3\n\n".to_vec())),
            push(7, &content("One comes out. And more")),
            at(1_500, Call::Push(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" caf\xe9 then.\"}}]}".to_vec())),
        ]),
        Vector::new("tags", "reasoning between tags", vec![
            push(5, &[content("<thi"), content("nk>So it is. And"), content(" so.</think>\\n\\nYes.")].concat()),
            push(800, &[content(" It is so"), content(", is it not?"), "data: [DONE]\n\n".to_owned()].concat()),
        ])
        .giving(Mode::PiecesAndEvents),
        Vector::new("reclassified", "a closing tag that nothing opened", vec![
            push(5, &[content("So it is."), content(" And so.</think>Yes. It is.")].concat()),
            push(6, "data: [DONE]\n\n"),
        ])
        .giving(Mode::PiecesAndEvents),
        Vector::new("restarted", "the answer begins anew", restarted())
            .giving(Mode::PiecesAndEvents),
        Vector::new("too-large", "an event over the cap", vec![
            push(5, &content("Kept whole. And this, too.")),
            push(6, &content(&"x".repeat(1_100))),
        ])
        .with("max_event_bytes", 1_024),
        Vector::new("choice-too-many", "a choice beyond those that may be passes", choices.clone())
            .with("max_choices", 1),
        Vector::new("choice-too-many-pieces", "of it there are no pieces", choices)
            .with("max_choices", 1)
            .giving(Mode::Pieces),
        Vector::new("too-much-reasoning", "more reasoning than is allowed", pushed(chat.clone()))
            .with("max_reasoning_tokens", 20)
            .up_to_the_fault(),
        Vector::new("too-much-at-the-end", "more of it in an event that only the end completes", vec![
            push(5, streams::chat_delta(&reasons("So it is. And so.")).as_str()),
            push(6, streams::chat_delta(&reasons(" And so it stays.")).trim_end()),
        ])
        .with("max_reasoning_tokens", 6),
    ]);
    vectors
}

/// A recorded stream, played as README.md says.
pub(crate) fn recorded(name: &str, bytes: &[u8], mode: Mode, unit: u64) -> Vector {
    let (mut rest, mut now, mut calls) = (bytes, 0, Vec::new());
    for (size, gap) in SIZES.iter().cycle().zip(GAPS_MS.iter().cycle()) {
        let (chunk, after) = rest.split_at(rest.len().min(*size));
        if chunk.is_empty() {
            break;
        }
        now += gap;
        calls.push((Nanos::from_millis(now), Call::Push(chunk.to_vec())));
        rest = after;
    }
    Vector::new(name, "recorded", calls).with("unit", unit).giving(mode)
}

impl Vector {
    fn new(name: &str, about: &str, mut calls: Vec<(Nanos, Call)>) -> Self {
        let end = calls.last().map_or(Nanos::ZERO, |(at, _)| *at);
        calls.push((end, Call::Finish));
        let (name, about) = (name.to_owned(), about.to_owned());
        Self { name, about, settings: Vec::new(), dialect: None, mode: Mode::Stream, calls }
    }

    fn with(mut self, name: &'static str, value: u64) -> Self {
        self.settings.push((name, value));
        self
    }

    fn of(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    fn giving(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Without the calls that come when it has ended.
    fn up_to_the_fault(mut self) -> Self {
        let mut play = self.begin();
        let after = self.calls.iter().position(|(at, call)| {
            play.call(*at, call);
            play.faulted
        });
        self.calls.truncate(after.map_or(0, |fault| fault + 1));
        self
    }

    /// The whole vector, as the file says it.
    pub(crate) fn play(&self) -> String {
        let mut play = self.begin();
        let _ = writeln!(play.out, "# {}", self.about);
        for (name, value) in &self.settings {
            let _ = writeln!(play.out, "set {name} {value}");
        }
        if let Some(dialect) = self.dialect {
            let _ = writeln!(play.out, "dialect {}", dialect.name());
        }
        let _ = writeln!(play.out, "mode {}", self.mode.name());
        for (at, call) in &self.calls {
            play.call(*at, call);
        }
        while let Some(due) = play.due {
            play.take(due);
        }
        play.out
    }

    fn begin(&self) -> Play {
        let config = self.settings.iter().try_fold(Config::default(), |c, (n, v)| c.with(n, *v));
        let config = config.expect("settings are within bounds");
        let mut options = RewriterOptions::default();
        options.dialect = self.dialect;
        (options.pieces, options.events) = match self.mode {
            Mode::Stream => (false, false),
            Mode::Pieces => (true, false),
            Mode::PiecesAndEvents => (true, true),
        };
        let rewriter = Rewriter::new(&config, options, self.calls[0].0).expect("they go together");
        Play { rewriter, due: None, faulted: false, finished: false, out: String::new() }
    }
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Pieces => "pieces",
            Self::PiecesAndEvents => "pieces_and_events",
        }
    }
}

/// A rewriter on its virtual clock, and what is written down of it.
struct Play {
    rewriter: Rewriter,
    /// When something is due.
    due: Option<Nanos>,
    faulted: bool,
    finished: bool,
    out: String,
}

impl Play {
    fn call(&mut self, at: Nanos, call: &Call) {
        while let Some(due) = self.due.filter(|due| *due < at) {
            self.take(due);
        }
        call.describe(at, &mut self.out);
        if let Err(fault) = call.make(&mut self.rewriter, at) {
            // It is told once.
            self.rewriter.take_fault();
            self.fault(at, &fault);
        }
        self.take(at);
    }

    /// Takes all that is due now.
    fn take(&mut self, now: Nanos) {
        self.due = None;
        while !self.finished {
            let (at, out) = (now.0, &mut self.out);
            let _ = match self.rewriter.poll(now) {
                Rewritten::Bytes(bytes) => writeln!(out, "< bytes {at} {}", quoted(bytes)),
                Rewritten::Object { number, name, data, changed, done } => writeln!(
                    out,
                    "< object {at} {number} {} {done} {} {}",
                    u8::from(changed),
                    quoted(name.as_bytes()),
                    quoted(data.as_bytes()),
                ),
                Rewritten::Piece(p) => writeln!(
                    out,
                    "< piece {at} {} {} {} {} {} {} {} {} {} {} {}",
                    p.kind.name(),
                    p.index,
                    p.seq,
                    p.block,
                    p.part,
                    p.boundary.name(),
                    u8::from(p.ends_block),
                    p.tokens,
                    p.origin,
                    p.arrived.0,
                    quoted(p.text.as_bytes()),
                ),
                Rewritten::Other { name, data } => writeln!(
                    out,
                    "< event {at} {} {}",
                    quoted(name.as_bytes()),
                    quoted(data.as_bytes()),
                ),
                Rewritten::Event(Event::Restarted { attempt }) => {
                    writeln!(out, "< restarted {at} {attempt}")
                }
                Rewritten::Event(Event::Reclassified { index }) => {
                    writeln!(out, "< reclassified {at} {index}")
                }
                Rewritten::Event(_) => unreachable!("there are two events"),
                Rewritten::Wait(due) => {
                    self.due = Some(due);
                    return;
                }
                Rewritten::NeedInput => return,
                Rewritten::Finished => {
                    self.finish(now);
                    return;
                }
            };
        }
    }

    fn finish(&mut self, now: Nanos) {
        if let Some(fault) = self.rewriter.take_fault() {
            self.fault(now, &fault);
        }
        self.finished = true;
        let dialect = self.rewriter.dialect().map_or("-", Dialect::name);
        let verdict = self.rewriter.answer().verdict.map_or("-", |verdict| verdict.name());
        let _ = writeln!(self.out, "< finished {} {dialect} {verdict}", now.0);
    }

    fn fault(&mut self, now: Nanos, fault: &RewriterError) {
        self.faulted = true;
        let name = match fault {
            RewriterError::TooLarge(_) | RewriterError::Engine(PushError::TooLarge { .. }) => {
                "too_large"
            }
            RewriterError::Engine(PushError::TooManyChoices { .. }) => "too_many_choices",
            RewriterError::ReasoningBudgetExceeded(_) => "reasoning_budget_exceeded",
            RewriterError::Stalled { .. } => "stalled",
            other => unreachable!("{other} is the caller's"),
        };
        let _ = writeln!(self.out, "< fault {} {name}", now.0);
    }
}

impl Call {
    fn make(&self, rewriter: &mut Rewriter, at: Nanos) -> Result<(), RewriterError> {
        match self {
            Self::Push(bytes) => rewriter.push(at, bytes)?,
            Self::PushLine(line) => rewriter.push_line(at, line)?,
            Self::PushEvent(name, data) => rewriter.push_event(at, name, data)?,
            Self::Flush => rewriter.flush(),
            Self::StopPacing => rewriter.stop_pacing(),
            Self::Cancel(how) => rewriter.cancel(*how),
            Self::Finish => rewriter.finish(at),
        }
        Ok(())
    }

    fn describe(&self, at: Nanos, out: &mut String) {
        let at = at.0;
        let _ = match self {
            Self::Push(bytes) => writeln!(out, "> push {at} {}", quoted(bytes)),
            Self::PushLine(line) => writeln!(out, "> push_line {at} {}", quoted(line)),
            Self::PushEvent(name, data) => {
                let name = if name.is_empty() { "-" } else { name };
                writeln!(out, "> push_event {at} {name} {}", quoted(data.as_bytes()))
            }
            Self::Flush => writeln!(out, "> flush {at}"),
            Self::StopPacing => writeln!(out, "> stop_pacing {at}"),
            Self::Cancel(Cancel::Flush) => writeln!(out, "> cancel {at} flush"),
            Self::Cancel(Cancel::Drop) => writeln!(out, "> cancel {at} drop"),
            Self::Finish => writeln!(out, "> finish {at}"),
        };
    }
}

/// Bytes in one line of ASCII.
fn quoted(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('"');
    out
}

/// What arrives when: the events of a stream with the text laid under them.
type Arrived = Vec<(Nanos, Vec<u8>)>;

fn stream_of(stream: &Stream, text: &str) -> Arrived {
    let last = text.find("- Log it").expect("the text has this line");
    let texts = [(Kind::Reasoning, text), (Kind::Output, &text[last..])];
    let mut arrived: Arrived = Vec::new();
    for ((kind, text), arrivals) in texts.into_iter().zip(ARRIVALS) {
        let tokens = lay(text, arrivals.iter().map(|(_, count)| count).sum());
        let mut rest = tokens.as_slice();
        for (place, (ms, count)) in arrivals.iter().enumerate() {
            let (now, later) = rest.split_at(*count);
            rest = later;
            let mut bytes = match (place, kind) {
                (0, Kind::Reasoning) => stream.begin.clone(),
                (0, Kind::Output) => stream.turn.clone(),
                _ => String::new(),
            };
            for tokens in now.chunks(PER_DELTA) {
                bytes.push_str(&(stream.delta)(kind, &Value::from(tokens.concat()).to_string()));
            }
            arrived.push((Nanos::from_millis(*ms), bytes.into_bytes()));
        }
    }
    if let Some((_, last)) = arrived.last_mut() {
        last.extend_from_slice(stream.end.as_bytes());
    }
    arrived
}

/// Each arrival is a push, but its last bytes come with the next one.
fn pushed(arrived: Arrived) -> Vec<(Nanos, Call)> {
    let (count, mut held) = (arrived.len(), Vec::new());
    let push = |(place, (at, mut bytes)): (usize, (Nanos, Vec<u8>))| {
        let keep = if place + 1 < count { bytes.len().min(HELD_BACK) } else { 0 };
        let later = bytes.split_off(bytes.len() - keep);
        let now = [std::mem::replace(&mut held, later), bytes].concat();
        (at, Call::Push(now))
    };
    arrived.into_iter().enumerate().map(push).collect()
}

/// Each line is a push, without its end.
fn lines(arrived: &Arrived) -> Vec<(Nanos, Call)> {
    let lines = |(at, bytes): &(Nanos, Vec<u8>)| {
        let at = *at;
        let text = String::from_utf8(bytes.clone()).expect("it is text");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.into_iter().map(move |line| (at, Call::PushLine(line.into_bytes())))
    };
    arrived.iter().flat_map(lines).collect()
}

/// Each line is an event, and every third has a name.
fn events(arrived: &Arrived) -> Vec<(Nanos, Call)> {
    let event = |(place, (at, call)): (usize, (Nanos, Call))| match call {
        Call::PushLine(line) => {
            let name = if place % 3 == 0 { "said" } else { "" };
            let data = String::from_utf8(line).expect("it is text");
            (at, Call::PushEvent(name.to_owned(), data))
        }
        other => (at, other),
    };
    lines(arrived).into_iter().enumerate().map(event).collect()
}

/// A message, and another in the same stream.
fn restarted() -> Vec<(Nanos, Call)> {
    let stream = streams::anthropic();
    let said = |text: &str| (stream.delta)(Kind::Reasoning, &Value::from(text).to_string());
    let again = stream.begin.replace(r#""id":"m""#, r#""id":"n""#);
    let first = [&stream.begin, &*said("So it was. And")].concat();
    let second = [&*said(" so"), &*again, &*said("So it is. And so."), &*stream.end].concat();
    vec![
        (Nanos::from_millis(5), Call::Push(first.into_bytes())),
        (Nanos::from_millis(700), Call::Push(second.into_bytes())),
    ]
}

/// When how many tokens arrive, in milliseconds: of reasoning, and of output.
const ARRIVALS: [&[(u64, usize)]; 2] = [
    &[(5, 14), (6, 17), (8, 11), (1_000, 23), (1_001, 9), (2_300, 26), (2_310, 4)],
    &[(2_350, 18), (2_351, 21), (3_700, 8), (3_760, 12), (3_900, 16)],
];
const PER_DELTA: usize = 5;
const HELD_BACK: usize = 17;
/// In what sizes recorded streams are cut, and how long after the one before each chunk comes.
const SIZES: [usize; 7] = [3_000, 40, 700, 1_500, 9, 5_000, 300];
const GAPS_MS: [u64; 11] = [0, 2, 1, 900, 30, 0, 4, 250, 1, 1_700, 3];
