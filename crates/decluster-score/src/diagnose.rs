//! How streams cluster, before and after the pacer: what `decluster diagnose` says.
//!
//! A stream with times is decoded and played through the [`Rewriter`], in pieces, on a virtual clock that shows its real
//! arrival times; a trace through the [`engine`]. The detector of [`decluster::guard`] sees what arrives and
//! what leaves. Of a stream without times only its sizes are told.

use crate::capture::{Capture, CaptureError, Chunks, instant};
use crate::engine::{self, Refused};
use crate::trace::{Tokens, Trace};
use decluster::frames::Frames;
use decluster::guard::{ClusterGroup, ClusterRule, Clusters};
use decluster::wire::{Dialect, Reader, Reading};
use decluster::{
    Config, ConfigError, Kind, Nanos, Rewriter, RewriterError, RewriterOptions, Rewritten,
};
use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Diagnoses streams one after the other.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    config: Config,
    rule: ClusterRule,
    dialect: Option<Dialect>,
    streams: Vec<Diagnosed>,
    tokens: u64,
}

/// One stream.
#[derive(Clone, Debug)]
pub struct Diagnosed {
    /// The name of its file; of a trace with the number of its line.
    pub name: String,
    /// What the times are.
    pub times: Times,
    /// The dialect; a trace has none.
    pub dialect: Option<Dialect>,
    /// All tokens that came: counted where that is known, else estimated.
    pub tokens: u64,
    /// Those of them that were reasoning; `None` for a trace, which does not say.
    pub reasoning: Option<u64>,
    /// The sizes of its deltas in tokens, in order.
    pub deltas: Vec<u32>,
    /// The attempts within it: one more than there were restarts.
    pub attempts: u32,
    /// Tokens that came again, or that a restart made void.
    pub retried: u64,
    /// From the begin of the recording to the first text, where it says when it began.
    pub first: Option<Nanos>,
    /// From the arrival of the first text to its release.
    pub first_held: Nanos,
    /// The longest that text was held.
    pub longest: Nanos,
    /// As it arrived.
    pub before: Flow,
    /// As it left.
    pub after: Flow,
    /// How many of the clusters that left stand beside a silence in which nothing arrived for longer than `max_delay`.
    pub unavoidable: u64,
}

/// Where the times of a stream come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// It has none: neither flow says when.
    None,
    /// The recording: when what arrived.
    Recorded,
    /// The stream itself: when the server sent what (`created_at` of Ollama).
    Sent,
}

/// What came, or left, when.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Tokens, in order of time.
    pub tokens: Vec<Tokens>,
    /// The same in groups.
    pub groups: Vec<ClusterGroup>,
    /// What the detector counted.
    pub clusters: Clusters,
}

/// A stream that cannot be diagnosed.
#[derive(Debug)]
pub enum DiagnoseError {
    /// The file is none of those that are read, or is broken.
    Capture(CaptureError),
    /// The stream is of no known dialect, or not of the one that was named.
    Unknown(String),
    /// These settings leave no room for what comes next.
    Stuck,
    /// The stream goes over a limit.
    Stream(RewriterError),
    /// A trace does.
    Trace(Refused),
    /// All streams together have too many tokens.
    TooMany,
    /// The settings cannot be used.
    Config(ConfigError),
}

impl Diagnosis {
    /// Nothing was diagnosed yet. What counts as a cluster is in `config`; its `max_reasoning_tokens` and `max_silence`
    /// have no say, since the whole of each stream is looked at.
    ///
    /// # Errors
    /// [`DiagnoseError::Config`].
    pub fn new(config: &Config, dialect: Option<Dialect>) -> Result<Self, DiagnoseError> {
        let config = config.clone().with("max_reasoning_tokens", 0);
        let config = config.and_then(|config| config.with("max_silence", 0));
        let config = config.map_err(DiagnoseError::Config)?;
        let rule = ClusterRule::from(&config);
        Ok(Self { config, rule, dialect, streams: Vec::new(), tokens: 0 })
    }

    /// Diagnoses all streams of a file.
    ///
    /// # Errors
    /// [`DiagnoseError`]. Streams of the file before the one that is refused are kept.
    pub fn add(&mut self, name: &str, file: &[u8]) -> Result<(), DiagnoseError> {
        match Capture::read(name, file).map_err(DiagnoseError::Capture)? {
            Capture::Traces(traces) => {
                for (_, trace, first) in traces {
                    self.spend(trace.tokens())?;
                    let diagnosed = self.trace(trace, first).map_err(DiagnoseError::Trace)?;
                    self.streams.push(diagnosed);
                }
            }
            Capture::Stream(chunks) => {
                let diagnosed = self.stream(name, &chunks)?;
                self.spend(diagnosed.tokens)?;
                self.streams.push(diagnosed);
            }
        }
        Ok(())
    }

    /// All streams so far.
    pub fn streams(&self) -> &[Diagnosed] {
        &self.streams
    }

    /// What counts as a cluster.
    pub fn rule(&self) -> ClusterRule {
        self.rule
    }

    fn max_delay(&self) -> Nanos {
        Nanos(self.value("max_delay"))
    }

    fn value(&self, parameter: &str) -> u64 {
        self.config.get(parameter).unwrap_or_default()
    }

    /// Every token may be an entry of its own: together they have a limit.
    fn spend(&mut self, tokens: u64) -> Result<(), DiagnoseError> {
        self.tokens = self.tokens.saturating_add(tokens);
        if self.tokens > MAX_TOKENS { Err(DiagnoseError::TooMany) } else { Ok(()) }
    }

    fn trace(&self, trace: Trace, first: Option<Nanos>) -> Result<Diagnosed, Refused> {
        let run = engine::run(&self.config, &trace, None)?;
        let longest = run.pieces.iter().map(|piece| piece.delay).max();
        let out = run.pieces.first().map_or(Nanos::ZERO, |piece| piece.at);
        let mut diagnosed = Diagnosed {
            tokens: trace.tokens(),
            deltas: trace.arrivals.iter().map(|arrival| arrival.count).collect(),
            first,
            first_held: out,
            longest: longest.unwrap_or_default(),
            before: Flow::new(trace.arrivals, self.rule),
            after: Flow::new(run.schedule, self.rule),
            ..Diagnosed::new(trace.name, Times::Recorded)
        };
        diagnosed.unavoidable = diagnosed.after.unavoidable(&diagnosed.before, self.max_delay());
        Ok(diagnosed)
    }

    fn stream(&self, name: &str, chunks: &Chunks) -> Result<Diagnosed, DiagnoseError> {
        let mut decoded = self.decode(chunks)?;
        let times = match chunks.timed {
            true => Times::Recorded,
            false if decoded.take_sent() => Times::Sent,
            false => Times::None,
        };
        let played = self.play(&decoded.frames, times != Times::None)?;
        let mut diagnosed = Diagnosed {
            dialect: decoded.dialect,
            tokens: played.arrived.iter().map(|count| u64::from(*count)).sum(),
            reasoning: Some(played.reasoning),
            deltas: played.arrived.iter().copied().filter(|count| *count > 0).collect(),
            attempts: 1 + decoded.frames.iter().filter(|frame| frame.restarts).count() as u32,
            retried: retried(&decoded.frames, &played.arrived),
            ..Diagnosed::new(name.to_owned(), times)
        };
        if times == Times::None {
            return Ok(diagnosed);
        }
        let arrivals: Vec<Tokens> = decoded
            .frames
            .iter()
            .zip(&played.arrived)
            .map(|(frame, count)| Tokens { at: frame.at, count: *count })
            .filter(|arrival| arrival.count > 0)
            .collect();
        let begin = arrivals.first().map_or(Nanos::ZERO, |arrival| arrival.at);
        diagnosed.first = (chunks.begins && !arrivals.is_empty()).then_some(begin);
        diagnosed.first_held = played.first.map_or(Nanos::ZERO, |at| at.since(begin));
        diagnosed.longest = played.longest;
        diagnosed.before = Flow::new(arrivals, self.rule);
        diagnosed.after = Flow::new(played.left, self.rule);
        diagnosed.unavoidable = diagnosed.after.unavoidable(&diagnosed.before, self.max_delay());
        Ok(diagnosed)
    }

    /// Takes the stream apart into its events, each with the time of its last byte.
    fn decode(&self, chunks: &Chunks) -> Result<Decoded, DiagnoseError> {
        let mut frames = Frames::new(self.value("max_event_bytes") as usize);
        let mut reader = Reader::new(self.dialect).with_think(self.config.think());
        let mut decoded = Decoded::default();
        let mut seen = HashSet::new();
        let ends = chunks.chunks.iter().map(|(at, bytes)| (*at, Some(bytes)));
        let last = chunks.chunks.last().map_or(Nanos::ZERO, |(at, _)| *at);
        for (at, bytes) in ends.chain([(last, None)]) {
            match bytes {
                Some(bytes) => frames.push(bytes),
                None => frames.finish(),
            }
            loop {
                let frame =
                    frames.poll().map_err(|e| DiagnoseError::Stream(RewriterError::TooLarge(e)))?;
                let Some(frame) = frame else { break };
                let reading = reader.read(&frame);
                let data = frame.event.as_ref().map_or("", |event| event.data);
                let id = frame.event.as_ref().filter(|event| event.own_id).map(|event| event.id);
                decoded.frames.push(Event {
                    at,
                    raw: frame.raw.to_vec(),
                    restarts: reading.restart,
                    again: is_replayed(&reading, id, data, &mut seen),
                    sent: sent(&reading, data),
                    has_text: !reading.texts.is_empty(),
                });
            }
        }
        reader.finish();
        decoded.dialect = reader.dialect();
        Ok(decoded)
    }

    /// Lets the stream through the rewriter: at its times, or without pacing.
    fn play(&self, frames: &[Event], timed: bool) -> Result<Played, DiagnoseError> {
        let mut options = RewriterOptions::default();
        (options.dialect, options.pieces) = (self.dialect, true);
        let mut rewriter =
            Rewriter::new(&self.config, options, Nanos::ZERO).map_err(DiagnoseError::Stream)?;
        if !timed {
            rewriter.stop_pacing();
        }
        let mut played = Played { arrived: vec![0; frames.len()], ..Played::default() };
        let (mut now, mut next, mut finished) = (Nanos::ZERO, 0, false);
        // When what was taken in had arrived: it may have waited outside.
        let mut taken: Vec<(Nanos, Nanos)> = Vec::new();
        loop {
            let arrives = frames.get(next).map(|frame| frame.at);
            let moves = if arrives.is_some_and(|at| at <= now) && rewriter.wants_input() {
                let frame = &frames[next];
                played.count(next, &rewriter);
                if taken.last().is_none_or(|(at, _)| *at < now) {
                    taken.push((now, frame.at));
                }
                rewriter.push(now, &frame.raw).map_err(DiagnoseError::Stream)?;
                next += 1;
                true
            } else if arrives.is_none() && !finished && rewriter.wants_input() {
                finished = true;
                rewriter.finish(now);
                true
            } else {
                false
            };
            let wait = loop {
                match rewriter.poll(now) {
                    Rewritten::Piece(piece) => {
                        let place = taken.partition_point(|(at, _)| *at <= piece.arrived);
                        let arrived = place.checked_sub(1).map_or(piece.arrived, |at| taken[at].1);
                        played.longest = played.longest.max(now.since(arrived));
                        played.first.get_or_insert(now);
                        if piece.kind == Kind::Reasoning {
                            played.reasoning += u64::from(piece.tokens);
                        }
                        if piece.tokens > 0 {
                            played.left.push(Tokens { at: now, count: piece.tokens });
                        }
                    }
                    Rewritten::Wait(at) => break Some(at),
                    Rewritten::NeedInput => break None,
                    Rewritten::Finished => {
                        played.count(next, &rewriter);
                        return Self::known(&rewriter).map(|()| played);
                    }
                    _ => {}
                }
            };
            if let Some(fault) = rewriter.take_fault() {
                return Err(DiagnoseError::Stream(fault));
            }
            if moves {
                continue;
            }
            let arrives = arrives.filter(|at| *at > now);
            now = match (wait, arrives) {
                (Some(wait), Some(arrives)) => wait.min(arrives),
                (Some(at), None) | (None, Some(at)) => at,
                // There is room, or an end, or something to wait for.
                (None, None) => {
                    return Err(DiagnoseError::Stuck);
                }
            };
        }
    }

    fn known(rewriter: &Rewriter) -> Result<(), DiagnoseError> {
        if rewriter.dialect().is_some() && rewriter.recognised() != Some(false) {
            return Ok(());
        }
        let reason = rewriter.answer().reason.clone();
        Err(DiagnoseError::Unknown(reason.unwrap_or_else(|| "the dialect is not known".into())))
    }
}

impl Diagnosed {
    fn new(name: String, times: Times) -> Self {
        Self {
            name,
            times,
            dialect: None,
            tokens: 0,
            reasoning: None,
            deltas: Vec::new(),
            attempts: 1,
            retried: 0,
            first: None,
            first_held: Nanos::ZERO,
            longest: Nanos::ZERO,
            before: Flow::default(),
            after: Flow::default(),
            unavoidable: 0,
        }
    }

    /// How long each token was held, with how many were held that long: the n-th that left against the n-th that came.
    pub fn held(&self) -> Vec<(Nanos, u32)> {
        let mut held = Vec::new();
        let mut came = self.before.tokens.iter().copied();
        let mut left = self.after.tokens.iter().copied();
        let (mut one, mut other) = (came.next(), left.next());
        while let (Some(from), Some(to)) = (&mut one, &mut other) {
            let count = from.count.min(to.count);
            // Estimates are rounded, so a token may seem to leave with text before it.
            held.push((to.at.since(from.at).min(self.longest), count));
            from.count -= count;
            to.count -= count;
            if from.count == 0 {
                one = came.next();
            }
            if to.count == 0 {
                other = left.next();
            }
        }
        held
    }
}

impl Flow {
    /// Tokens by when they came or left, of one stream.
    pub fn new(tokens: Vec<Tokens>, rule: ClusterRule) -> Self {
        let mut clusters = Clusters::new(rule);
        let ended = tokens.iter().filter_map(|one| clusters.record(one.at, one.count.into()));
        let mut groups: Vec<_> = ended.collect();
        groups.extend(clusters.end_stream());
        Self { tokens, groups, clusters }
    }

    /// How many of the clusters that left, of what `before` says how it came, stand beside a silence in which nothing
    /// arrived for longer than `max_delay`.
    pub fn unavoidable(&self, before: &Self, max_delay: Nanos) -> u64 {
        let arrivals = before.tokens.windows(2).map(|pair| (pair[0].at, pair[1].at));
        let long: Vec<_> = arrivals.filter(|(from, to)| to.since(*from) > max_delay).collect();
        let during = |from: Nanos, to: Nanos| {
            let place = long.partition_point(|(_, end)| *end <= from);
            long.get(place).is_some_and(|(begin, _)| *begin < to)
        };
        let groups = &self.groups;
        let beside = |place: usize| {
            let before =
                place.checked_sub(1).is_some_and(|p| during(groups[p].to, groups[place].from));
            before || groups.get(place + 1).is_some_and(|next| during(groups[place].to, next.from))
        };
        let clusters = groups.iter().enumerate().filter(|(_, group)| group.is_cluster);
        clusters.filter(|(place, _)| beside(*place)).count() as u64
    }

    /// From the first token to the last.
    pub fn span(&self) -> Nanos {
        let ends = self.tokens.first().zip(self.tokens.last());
        ends.map_or(Nanos::ZERO, |(first, last)| last.at.since(first.at))
    }

    /// The silences between groups.
    pub fn gaps(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.groups.windows(2).map(|pair| pair[1].from.since(pair[0].to))
    }
}

/// An event as it came.
#[derive(Debug)]
struct Event {
    at: Nanos,
    raw: Vec<u8>,
    restarts: bool,
    again: bool,
    /// When the server says that it made it.
    sent: Option<u64>,
    has_text: bool,
}

#[derive(Debug, Default)]
struct Decoded {
    frames: Vec<Event>,
    dialect: Option<Dialect>,
}

impl Decoded {
    /// Takes the server's times for those of arrival, if all that has text has one, they do not fall, and they tell texts
    /// apart.
    fn take_sent(&mut self) -> bool {
        if self.dialect != Some(Dialect::Ollama) {
            return false;
        }
        let times = || self.frames.iter().filter(|frame| frame.has_text).map(|frame| frame.sent);
        let Some(Some(first)) = times().next() else { return false };
        let last = times().try_fold(first, |last, sent| sent.filter(|sent| *sent >= last));
        if !last.is_some_and(|last| (first + 1..=first.saturating_add(DAY)).contains(&last)) {
            return false;
        }
        let mut now = Nanos::ZERO;
        for frame in &mut self.frames {
            // What has no text may have an odd time, such as none.
            let sent = frame.sent.filter(|_| frame.has_text);
            now = sent.map_or(now, |sent| Nanos(sent - first));
            frame.at = now;
        }
        true
    }
}

#[derive(Debug, Default)]
struct Played {
    /// Tokens of each event.
    arrived: Vec<u32>,
    counted: u64,
    left: Vec<Tokens>,
    reasoning: u64,
    first: Option<Nanos>,
    longest: Nanos,
}

impl Played {
    /// What has come since the last count came with the event before `next`.
    fn count(&mut self, next: usize, rewriter: &Rewriter) {
        let tokens = rewriter.stats().tokens_in;
        if let Some(arrived) = next.checked_sub(1).and_then(|place| self.arrived.get_mut(place)) {
            *arrived = (tokens - self.counted).min(u32::MAX.into()) as u32;
        }
        self.counted = tokens;
    }
}

/// The same event came before: it has the same number, or id, and the same data.
fn is_replayed(
    reading: &Reading<'_>,
    id: Option<&str>,
    data: &str,
    seen: &mut HashSet<u64>,
) -> bool {
    let number = reading.number.as_ref().map(|(number, _)| *number);
    if reading.texts.is_empty() || (number.is_none() && id.is_none_or(str::is_empty)) {
        return false;
    }
    let mut hash = DefaultHasher::new();
    (number, id, data).hash(&mut hash);
    !seen.insert(hash.finish())
}

/// `created_at` of an event with text.
fn sent(reading: &Reading<'_>, data: &str) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Sent {
        created_at: String,
    }
    if reading.texts.is_empty() || !data.contains("\"created_at\"") {
        return None;
    }
    instant(&serde_json::from_str::<Sent>(data).ok()?.created_at)
}

/// Tokens of events that came again, and of all that a restart made void.
fn retried(frames: &[Event], arrived: &[u32]) -> u64 {
    let (mut retried, mut valid) = (0, 0);
    for (frame, tokens) in frames.iter().zip(arrived) {
        if frame.restarts {
            retried += valid;
            valid = 0;
        }
        *(if frame.again { &mut retried } else { &mut valid }) += u64::from(*tokens);
    }
    retried
}

impl fmt::Display for DiagnoseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capture(error) => error.fmt(f),
            Self::Unknown(reason) => write!(f, "no capture, trace or known stream: {reason}"),
            Self::Stuck => f.write_str("the settings leave no room for what comes next"),
            Self::Stream(error) => error.fmt(f),
            Self::Trace(refused) => refused.error.fmt(f),
            Self::TooMany => write!(f, "more than {MAX_TOKENS} tokens in all"),
            Self::Config(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DiagnoseError {}

/// The most tokens of all streams together: some 400 MB, if each of them came and left alone.
pub const MAX_TOKENS: u64 = 10_000_000;
const DAY: u64 = 86_400_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const INCIDENT: &str = r#"{"t_ms": 0, "data": "event: response.reasoning.delta\ndata: {\"delta_tokens\": 67}\n\n"}
{"t_ms": 1400, "data": "event: response.reasoning.delta\ndata: {\"delta_tokens\": 81}\n\n"}
{"t_ms": 1405, "data": "event: response.output.delta\ndata: {\"delta_tokens\": 12}\n\n"}
"#;

    fn diagnosed(file: &str) -> Diagnosed {
        let mut diagnosis = Diagnosis::new(&Config::default(), None).unwrap();
        diagnosis.add("f", file.as_bytes()).unwrap();
        diagnosis.streams()[0].clone()
    }

    fn events(flow: &Flow) -> u64 {
        flow.clusters.events()
    }

    #[test]
    fn the_incident_clusters_before_the_pacer_and_not_after() {
        let stream = diagnosed(INCIDENT);
        assert_eq!((events(&stream.before), events(&stream.after)), (2, 0));
        assert_eq!((stream.tokens, stream.reasoning), (160, Some(148)));
        assert_eq!(stream.deltas, [67, 81, 12]);
        assert_eq!((stream.times, stream.first), (Times::Recorded, None));
        assert!(stream.longest <= Nanos::from_millis(1_500), "{}", stream.longest);
        assert_eq!(stream.after.tokens.iter().map(|t| t.count).sum::<u32>(), 160);
    }

    #[test]
    fn a_trace_and_a_capture_of_the_same_counts_are_the_same() {
        let capture = diagnosed(INCIDENT);
        let trace = diagnosed(r#"{"t_ms": [7, 1407, 1412], "tokens": [67, 81, 12]}"#);
        assert_eq!(trace.before.groups, capture.before.groups);
        assert_eq!(events(&trace.after), 0);
        assert_eq!(trace.first, Some(Nanos::from_millis(7)));
    }

    #[test]
    fn marked_groups_are_what_the_detector_counts() {
        let mut seed = 7u64;
        for rule in [
            ClusterRule::default(),
            ClusterRule { min_gap: Nanos::from_millis(40), ..ClusterRule::default() },
        ] {
            let mut next = |bound: u64| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 33) % bound
            };
            let mut at = 0;
            let tokens: Vec<_> = (0..2_000)
                .map(|_| {
                    at += [1, 29, 30, 31, 500, 999, 1_000, 2_000][next(8) as usize];
                    Tokens { at: Nanos::from_millis(at), count: 1 + next(60) as u32 }
                })
                .collect();
            let flow = Flow::new(tokens, rule);
            let marked = flow.groups.iter().filter(|group| group.is_cluster).count() as u64;
            assert_eq!(marked, events(&flow));
            assert!(marked > 0);
        }
    }

    #[test]
    fn a_silence_beyond_max_delay_cannot_be_bridged() {
        let stream = diagnosed(r#"{"t_ms": [0, 9000, 9001], "tokens": [5, 2000, 5]}"#);
        assert!(events(&stream.after) <= stream.unavoidable);
        let bridged = diagnosed(r#"{"t_ms": [0, 1200, 2400], "tokens": [80, 80, 80]}"#);
        assert_eq!((events(&bridged.before), bridged.unavoidable), (3, 0));
    }

    #[test]
    fn a_second_message_start_makes_void_what_came() {
        let start = |id: &str| {
            format!(
                "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"{id}\"}}}}\n\n"
            )
        };
        let delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
                     \"delta\":{\"type\":\"text_delta\",\"text\":\"Once upon a time there was.\"}}\n\n";
        let stream = diagnosed(&[start("a"), delta.into(), start("b"), delta.into()].concat());
        assert_eq!((stream.attempts, stream.times), (2, Times::None));
        assert!(stream.retried > 0 && stream.retried * 2 == stream.tokens, "{stream:?}");
    }

    #[test]
    fn what_comes_again_under_its_id_is_retried() {
        let event = |id: u32, text: &str| {
            format!(
                "id: {id}\ndata: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
            )
        };
        let (one, two) = (event(1, "One two three. "), event(2, "Four five six. "));
        let stream = diagnosed(&[&*one, &two, &one, &two].concat());
        assert_eq!(stream.retried * 2, stream.tokens);
        let same_id = diagnosed(&[&*event(1, "One. "), &event(1, "Two. ")].concat());
        assert_eq!(same_id.retried, 0);
    }

    #[test]
    fn ollama_says_when_it_sent_what() {
        let line = |at: &str, text: &str| {
            format!(
                "{{\"model\":\"m\",\"created_at\":\"2024-01-01T00:00:0{at}Z\",\"message\":{{\"role\":\"assistant\",\"content\":\"{text}\"}},\"done\":false}}\n"
            )
        };
        let stream = diagnosed(&[line("0.5", "One"), line("1.75", " two")].concat());
        assert_eq!(stream.times, Times::Sent);
        assert_eq!(stream.before.gaps().collect::<Vec<_>>(), [Nanos::from_millis(1_250)]);
        let odd = diagnosed(&[line("1.5", "One"), line("0.75", " two")].concat());
        assert_eq!(odd.times, Times::None);
    }

    #[test]
    fn what_is_no_stream_is_refused() {
        let mut diagnosis = Diagnosis::new(&Config::default(), None).unwrap();
        for file in ["hello\n", "{}\n", "data: {\"a\": 1}\n\n", "<html></html>"] {
            assert!(diagnosis.add("f", file.as_bytes()).is_err(), "{file}");
        }
        assert!(diagnosis.streams().is_empty());
    }
}
