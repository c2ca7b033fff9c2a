//! Complete small vectors: every call with its time and text, and everything that comes out.

use std::fmt::Write as _;

use decluster::{Config, ConfigError, Delta, Engine, Event, Kind, Nanos, Output, PushError};
use decluster_score::{Trace, lay, synthetic};

/// What a caller does with one engine.
pub(crate) struct Vector {
    pub(crate) name: &'static str,
    about: &'static str,
    /// `preset` or `profile`, and its name.
    begin: Option<(&'static str, &'static str)>,
    settings: Vec<(&'static str, u64)>,
    calls: Vec<(Nanos, Call)>,
}

enum Call {
    Push { kind: Kind, index: u32, tokens: Option<u32>, text: String },
    Mark { id: u64, hurry: bool },
    EndBlock,
    BeginAttempt,
    Flush,
    Finish,
}

/// All vectors, with this text in them.
pub(crate) fn all(text: &str) -> Vec<Vector> {
    let made = synthetic::traces(7, 1);
    let pattern = |name: &str, seconds: u64| {
        let trace = made.iter().find(|trace| trace.group == name).cloned();
        trace.expect("a pattern there is").until(Nanos::from_secs(seconds))
    };
    let laid = |trace: &Trace| with_text(trace, text, (Kind::Reasoning, 0));
    let bursts = pattern("bursts", 6);
    vec![
        Vector::new("block", "whole blocks, from bursts with silences", laid(&bursts)),
        Vector::new("word", "words, from the same", laid(&bursts)).with("unit", 1),
        Vector::new("whole", "blocks that are never cut", laid(&bursts)).with("unit", 2),
        Vector::new("incident-counts", "counts without text", counted(&pattern("incident", 9))),
        Vector::new("smooth-counts-word", "counts, one by one", counted(&pattern("smooth", 3)))
            .with("unit", 1),
        Vector::new("steady", "a preset", laid(&pattern("quick bursts", 4)))
            .begin("preset", "steady")
            .with("unit", 1),
        Vector::new(
            "overridden",
            "a preset, and a parameter over it",
            laid(&pattern("incident", 6)),
        )
        .begin("preset", "steady")
        .with("max_delay", 800_000_000),
        Vector::new("low-latency", "a profile", laid(&pattern("slow start", 6)))
            .begin("profile", "codex-low-latency"),
        Vector::new("fixed-rate", "a token bucket", laid(&pattern("heavy tail", 3)))
            .with("pace", 1)
            .with("unit", 1)
            .with("rate", 120)
            .with("burst", 16)
            .with("max_delay", 10_000_000_000),
        Vector::new("unpaced", "cut into blocks, not paced", laid(&pattern("bursts", 3)))
            .with("pace", 2),
        Vector::new("unsegmented", "the deltas as they are", laid(&pattern("bursts", 3)))
            .with("segment", 1),
        Vector::new("limited-rate", "a reader's own limit", laid(&pattern("bursts", 2)))
            .with("unit", 1)
            .with("max_rate", 60),
        Vector::new("marks", "marks with and without hurry, a restart, a flush", marks(text)),
        Vector::new("two-choices", "two choices of both kinds", two_choices(&bursts, text)),
        Vector::new("characters", "deltas of a character or two", characters(text)).with("unit", 1),
    ]
}

impl Vector {
    fn new(name: &'static str, about: &'static str, mut calls: Vec<(Nanos, Call)>) -> Self {
        let end = calls.last().map_or(Nanos::ZERO, |(at, _)| *at);
        calls.push((end, Call::Finish));
        Self { name, about, begin: None, settings: Vec::new(), calls }
    }

    fn begin(mut self, what: &'static str, name: &'static str) -> Self {
        self.begin = Some((what, name));
        self
    }

    fn with(mut self, name: &'static str, value: u64) -> Self {
        self.settings.push((name, value));
        self
    }

    /// The whole vector, as the file says it.
    pub(crate) fn play(&self) -> String {
        let mut out = format!("# {}\n", self.about);
        if let Some((what, name)) = self.begin {
            let _ = writeln!(out, "{what} {name}");
        }
        for (name, value) in &self.settings {
            let _ = writeln!(out, "set {name} {value}");
        }
        let config = self.config().expect("settings are within bounds");
        let mut engine = Engine::new(&config, self.calls[0].0);
        let mut wait = None;
        for (at, call) in &self.calls {
            while let Some(due) = wait.filter(|due| due < at) {
                wait = take(&mut engine, due, &mut out);
            }
            call.describe(*at, &mut out);
            call.make(&mut engine, *at).expect("the engine has room");
            wait = take(&mut engine, *at, &mut out);
        }
        while let Some(due) = wait {
            wait = take(&mut engine, due, &mut out);
        }
        out
    }

    fn config(&self) -> Result<Config, ConfigError> {
        let begin = match self.begin {
            Some(("preset", name)) => Config::preset(name)?,
            Some((_, name)) => Config::profile(name)?,
            None => Config::default(),
        };
        self.settings.iter().try_fold(begin, |config, (name, value)| config.with(name, *value))
    }
}

impl Call {
    fn make(&self, engine: &mut Engine, at: Nanos) -> Result<(), PushError> {
        match self {
            Self::Push { kind, index, tokens, text } => {
                engine.push(at, Delta { kind: *kind, index: *index, text, tokens: *tokens })?;
            }
            Self::Mark { id, hurry } => engine.mark(at, *id, *hurry)?,
            Self::EndBlock => engine.end_block(at),
            Self::BeginAttempt => engine.begin_attempt(at)?,
            Self::Flush => engine.flush(),
            Self::Finish => engine.finish(at),
        }
        Ok(())
    }

    fn describe(&self, at: Nanos, out: &mut String) {
        let at = at.0;
        let _ = match self {
            Self::Push { kind, index, tokens, text } => {
                let tokens = tokens.map_or("-".to_owned(), |tokens| tokens.to_string());
                let (kind, text) = (kind.name(), escape(text));
                writeln!(out, "> push {at} {kind} {index} {tokens} \"{text}\"")
            }
            Self::Mark { id, hurry } => writeln!(out, "> mark {at} {id} {}", u8::from(*hurry)),
            Self::EndBlock => writeln!(out, "> end_block {at}"),
            Self::BeginAttempt => writeln!(out, "> begin_attempt {at}"),
            Self::Flush => writeln!(out, "> flush {at}"),
            Self::Finish => writeln!(out, "> finish {at}"),
        };
    }
}

/// Takes all that is due now, and gives the next time at which something is.
fn take(engine: &mut Engine, now: Nanos, out: &mut String) -> Option<Nanos> {
    loop {
        let at = now.0;
        let _ = match engine.poll(now) {
            Output::Piece(p) => writeln!(
                out,
                "< piece {at} {} {} {} {} {} {} {} {} {} {}",
                p.text.len(),
                p.kind.name(),
                p.index,
                p.seq,
                p.block,
                p.part,
                p.boundary.name(),
                u8::from(p.ends_block),
                p.tokens,
                p.origin,
            ),
            Output::Mark(id) => writeln!(out, "< mark {at} {id}"),
            Output::Event(Event::Restarted { attempt }) => {
                writeln!(out, "< restarted {at} {attempt}")
            }
            Output::Wait(due) => return Some(due),
            Output::Finished => {
                let _ = writeln!(out, "< finished {at}");
                return None;
            }
            _ => return None,
        };
    }
}

/// A text in one line.
pub(crate) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

/// A push at every arrival, with the text that its tokens bring.
fn with_text(trace: &Trace, text: &str, (kind, index): (Kind, u32)) -> Vec<(Nanos, Call)> {
    let tokens = lay(text, trace.tokens() as usize);
    let mut rest = tokens.as_slice();
    let push = |arrival: &decluster_score::Tokens| {
        let (now, later) = rest.split_at(arrival.count as usize);
        rest = later;
        (arrival.at, Call::Push { kind, index, tokens: None, text: now.concat() })
    };
    trace.arrivals.iter().map(push).collect()
}

fn counted(trace: &Trace) -> Vec<(Nanos, Call)> {
    let push = |arrival: &decluster_score::Tokens| {
        let (tokens, text) = (Some(arrival.count), String::new());
        (arrival.at, Call::Push { kind: Kind::Reasoning, index: 0, tokens, text })
    };
    trace.arrivals.iter().map(push).collect()
}

/// Lines of the text a second apart, and what else there is between them.
fn marks(text: &str) -> Vec<(Nanos, Call)> {
    let between = [
        vec![Call::Mark { id: 1, hurry: false }],
        vec![Call::Mark { id: 2, hurry: true }],
        vec![Call::EndBlock, Call::Mark { id: 3, hurry: false }],
        vec![Call::BeginAttempt],
        vec![Call::Flush],
        vec![Call::Mark { id: u64::MAX, hurry: true }, Call::Mark { id: 0, hurry: true }],
    ];
    let mut calls = Vec::new();
    for (place, (line, between)) in text.split_inclusive('\n').zip(between).enumerate() {
        let at = Nanos::from_millis(2_000 + 900 * place as u64);
        let kind = if place % 2 == 0 { Kind::Reasoning } else { Kind::Output };
        calls.push((at, Call::Push { kind, index: 0, tokens: Some(7), text: line.to_owned() }));
        calls.extend(between.into_iter().map(|call| (at, call)));
    }
    calls
}

/// The same arrivals twice, a little apart, of two choices.
fn two_choices(trace: &Trace, text: &str) -> Vec<(Nanos, Call)> {
    let short = trace.clone().until(Nanos::from_secs(3));
    let mut calls = with_text(&short, text, (Kind::Reasoning, 0));
    let half = text.floor_char_boundary(text.len() / 2);
    let second = with_text(&short, &text[half..], (Kind::Output, 1));
    calls.extend(second.into_iter().map(|(at, call)| (at.after(Nanos::from_millis(120)), call)));
    calls.sort_by_key(|(at, _)| *at);
    calls
}

/// The text's last lines, with emoji and accents, cut where characters of several code points are.
fn characters(text: &str) -> Vec<(Nanos, Call)> {
    let start = text.find("- Log it").expect("the text has this line");
    let characters: Vec<char> = text[start..].chars().take(150).collect();
    let push = |(place, part): (usize, &[char])| {
        let (kind, text) = (Kind::Output, part.iter().collect());
        let at = Nanos::from_millis(17 * place as u64);
        (at, Call::Push { kind, index: 0, tokens: None, text })
    };
    characters.chunks(2).enumerate().map(push).collect()
}
