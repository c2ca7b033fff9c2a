//! The engine on a virtual clock that leaps: no time passes while it is simulated.

use crate::Score;
use crate::trace::{Tokens, Trace, seconds};
use decluster::{Config, Delta, Engine, Kind, Nanos, Output, PushError};
use std::fmt;

/// A trace played through the engine.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// When how many of the trace's tokens had left. A token has left with its last byte.
    pub schedule: Vec<Tokens>,
    /// Every piece.
    pub pieces: Vec<Piece>,
}

/// What was released at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// When.
    pub at: Nanos,
    /// Bytes of text.
    pub bytes: u32,
    /// The engine's own estimate of its tokens.
    pub tokens: u32,
    /// The block it belongs to.
    pub block: u64,
    /// Its number within the block.
    pub part: u32,
    /// Time from the arrival of its first byte.
    pub delay: Nanos,
    /// How many of the trace's tokens had left with it that had not before.
    pub count: u32,
    /// Whether a deadline or a tail asked for it.
    pub hurried: bool,
}

/// The engine refuses a delta of a trace, however long the source waits with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The trace.
    pub trace: String,
    /// What the engine says.
    pub error: PushError,
}

/// Plays a trace through the engine. `texts` is what each token brings; without it the tokens are counts
/// without text.
///
/// The source is read while the engine wants input; what arrives meanwhile waits outside and is taken in at
/// the next release after which there is room. Its delay counts from its arrival all the same. The stream is
/// finished as soon as its last arrival has been taken in.
///
/// # Errors
/// [`Refused`] if a single delta is larger than `config` allows.
pub fn run(config: &Config, trace: &Trace, texts: Option<&[&str]>) -> Result<Run, Refused> {
    let mut engine = Engine::new(config, Nanos::ZERO);
    let mut played = Run::default();
    let mut progress = Progress::default();
    let mut source = Source { trace, texts, next: 0, tokens: 0, text: String::new() };
    loop {
        let refusal = source.feed(&mut engine, &mut progress);
        let pieces = played.pieces.len();
        let due = due(&mut engine, &mut played, &mut progress);
        let moves = refusal.is_none() || played.pieces.len() > pieces;
        if moves && source.has_arrived(progress.now) && engine.wants_input() {
            continue; // a delta at a time, as they come
        }
        let arrives = source.arrival().map(|a| a.at).filter(|at| *at > progress.now);
        progress.now = match (due, arrives) {
            (Some(due), Some(arrives)) => due.min(arrives),
            (Some(at), None) | (None, Some(at)) => at,
            (None, None) => return refusal.map_or(Ok(played), Err),
        };
    }
}

/// The trace as it is read.
struct Source<'a> {
    trace: &'a Trace,
    texts: Option<&'a [&'a str]>,
    /// The arrival that was not taken in yet, and the tokens before it.
    next: usize,
    tokens: usize,
    /// Its text: kept to be reused.
    text: String,
}

impl Source<'_> {
    fn arrival(&self) -> Option<Tokens> {
        self.trace.arrivals.get(self.next).copied()
    }

    fn has_arrived(&self, now: Nanos) -> bool {
        self.arrival().is_some_and(|arrival| arrival.at <= now)
    }

    /// Gives the engine the next delta, if it has arrived and is wanted; the refusal, if it is refused.
    fn feed(&mut self, engine: &mut Engine, progress: &mut Progress) -> Option<Refused> {
        let arrival = self.arrival().filter(|a| a.at <= progress.now && engine.wants_input())?;
        let tokens = self.tokens..self.tokens + arrival.count as usize;
        let texts = self.texts.map(|texts| &texts[tokens.clone()]);
        self.text.clear();
        self.text.extend(texts.into_iter().flatten().copied());
        let counted = texts.is_none().then_some(arrival.count);
        let delta = Delta { kind: Kind::Reasoning, index: 0, text: &self.text, tokens: counted };
        if let Err(error) = engine.push(progress.now, delta) {
            return Some(Refused { trace: self.trace.name.clone(), error });
        }
        progress.arrive(arrival, texts);
        self.next += 1;
        self.tokens = tokens.end;
        if self.arrival().is_none() {
            engine.finish(progress.now);
        }
        None
    }
}

/// How far the trace has come in, and gone out.
#[derive(Default)]
struct Progress {
    now: Nanos,
    /// End of each token that was taken in, in bytes, or in tokens where there is no text; and its arrival.
    ends: Vec<(u64, Nanos)>,
    left: usize,
    out: u64,
    hurried: u64,
}

impl Progress {
    fn arrive(&mut self, arrival: Tokens, texts: Option<&[&str]>) {
        for token in 0..arrival.count as usize {
            let size = texts.map_or(1, |texts| texts[token].len() as u64);
            let before = self.ends.last().map_or(0, |(end, _)| *end);
            self.ends.push((before + size, arrival.at));
        }
    }

    /// When what leaves next arrived.
    fn arrived(&self) -> Nanos {
        self.ends.get(self.left).map_or(self.now, |(_, at)| *at)
    }

    /// So much has left; how many tokens end with it?
    fn leave(&mut self, size: u64) -> u32 {
        self.out += size;
        let before = self.left;
        while self.ends.get(self.left).is_some_and(|(end, _)| *end <= self.out) {
            self.left += 1;
        }
        (self.left - before) as u32
    }
}

/// Takes all that is due now; gives the next time at which something is.
fn due(engine: &mut Engine, run: &mut Run, progress: &mut Progress) -> Option<Nanos> {
    loop {
        match engine.poll(progress.now) {
            Output::Piece(piece) => {
                let size = if piece.text.is_empty() {
                    u64::from(piece.tokens)
                } else {
                    piece.text.len() as u64
                };
                let delay = progress.now.since(progress.arrived());
                let count = progress.leave(size);
                let piece = Piece {
                    at: progress.now,
                    bytes: piece.text.len() as u32,
                    tokens: piece.tokens,
                    block: piece.block,
                    part: piece.part,
                    delay,
                    count,
                    hurried: false,
                };
                let hurried = engine.stats().hurried;
                run.pieces.push(Piece { hurried: hurried > progress.hurried, ..piece });
                progress.hurried = hurried;
                if count > 0 {
                    run.schedule.push(Tokens { at: progress.now, count });
                }
            }
            Output::Wait(at) => return Some(at),
            _ => return None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.trace, self.error)
    }
}

impl std::error::Error for Refused {}

impl Run {
    /// The measures of this run. Its first text is that of the first piece, also where that is less than a
    /// token.
    pub fn score(&self, trace: &Trace) -> Score {
        let first = self.pieces.first().map_or(0.0, |piece| seconds(piece.at));
        Score { first, ..Score::new(trace, &self.schedule) }
    }

    /// Holds the pieces against a leaky bucket of `burst` tokens that leaks at `factor` times the stream's
    /// mean rate, which silences beyond `max_delay` do not dilute. What had to leave is no debt of what
    /// follows.
    pub fn clusters(&self, trace: &Trace, max_delay: Nanos, burst: f64, factor: f64) -> Clusters {
        let silences =
            trace.arrivals.windows(2).map(|w| seconds(w[1].at.since(w[0].at).min(max_delay)));
        let leak = factor * trace.tokens() as f64 / silences.sum::<f64>().max(1e-3);
        let mut found = Clusters::default();
        let (mut level, mut at) = (0.0f64, Nanos::ZERO);
        for piece in &self.pieces {
            level = (level - leak * seconds(piece.at.since(at))).max(0.0) + f64::from(piece.count);
            at = piece.at;
            // A rounding of the clock is no cluster.
            let beyond = u32::from(level > burst + 0.01);
            found.pieces += 1;
            found.bound += u32::from(piece.hurried);
            *(if piece.hurried { &mut found.beyond_bound } else { &mut found.beyond }) += beyond;
            level = level.min(burst);
        }
        found
    }

    /// Blocks released, those of them in several pieces, and the same without the first block.
    pub fn blocks(&self) -> Blocks {
        let mut blocks = Blocks::default();
        for (place, piece) in self.pieces.iter().enumerate() {
            blocks.all += u32::from(piece.part == 0);
            if piece.part == 1 {
                blocks.cut += 1;
                blocks.cut_first +=
                    u32::from(self.pieces[..place].iter().all(|p| p.block == piece.block));
            }
        }
        blocks
    }
}

/// How often a piece went beyond a bound on clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clusters {
    /// Pieces.
    pub pieces: u32,
    /// Those for which a deadline or a tail bound.
    pub bound: u32,
    /// Those of them that were beyond the bound on clusters.
    pub beyond_bound: u32,
    /// All others that were.
    pub beyond: u32,
}

/// How many blocks were released, and in how many pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Blocks.
    pub all: u32,
    /// Blocks of more than one piece.
    pub cut: u32,
    /// First blocks of a stream among them: the first text goes at once, at a word.
    pub cut_first: u32,
}

impl std::ops::Add for Blocks {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            cut: self.cut + other.cut,
            cut_first: self.cut_first + other.cut_first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lay;

    const PROSE: &str =
        "The lease ends while the worker runs, so the queue hands the job out again. ";

    fn small(name: &str, value: u64) -> Config {
        Config::default().with("max_queue_bytes", 65_536).unwrap().with(name, value).unwrap()
    }

    fn trace(arrivals: &[(u64, u32)]) -> Trace {
        let tokens =
            |(ms, count): &(u64, u32)| Tokens { at: Nanos::from_millis(*ms), count: *count };
        Trace::new("t", "t", arrivals.iter().map(tokens).collect())
    }

    fn play(config: &Config, trace: &Trace) -> Result<Run, Refused> {
        run(config, trace, Some(&lay(PROSE, trace.tokens() as usize)))
    }

    #[test]
    fn what_is_not_wanted_waits_and_counts_from_its_arrival() {
        // 40,000 tokens, about 180 KB, at once: more than the queue, in deltas that fit.
        let trace = trace(&[(0, 1_000); 40]);
        let config = small("max_delay", 500_000_000);
        for texts in [true, false] {
            let run =
                if texts { play(&config, &trace) } else { run(&config, &trace, None) }.unwrap();
            let out: u32 = run.schedule.iter().map(|t| t.count).sum();
            assert_eq!(u64::from(out), trace.tokens());
            let score = run.score(&trace);
            let slowest = run.pieces.iter().map(|p| p.delay).max().unwrap();
            assert!((seconds(slowest) - score.delay_max).abs() < 1e-6, "{slowest}");
            assert_eq!(texts, slowest > Nanos::from_millis(500), "{slowest}");
        }
        let roomy = play(&Config::default(), &trace).unwrap();
        assert!(roomy.pieces.iter().all(|p| p.delay <= Nanos::from_millis(1_500)));
    }

    #[test]
    fn a_queue_that_is_full_of_one_block_moves_on() {
        let letters = "x".repeat(40_000);
        let trace = trace(&[(0, 2), (10, 1)]);
        let texts = [&letters[..30_000], "y", letters.as_str()];
        let run = run(&small("unit", 2), &trace, Some(&texts)).unwrap();
        assert_eq!(run.pieces.iter().map(|p| p.bytes).sum::<u32>(), 70_001);
    }

    #[test]
    fn a_reader_of_a_limited_rate_holds_the_source_up() {
        let config = small("max_rate", 100);
        let run = run(&config, &trace(&[(0, 100), (10, 100), (20, 100)]), None).unwrap();
        let last = run.pieces.last().unwrap();
        assert!(last.delay > Nanos::from_millis(2_500), "300 tokens at 100 a second: {last:?}");
    }

    #[test]
    fn a_delta_that_never_fits_is_refused_by_name() {
        let error = play(&small("max_event_bytes", 1_024), &trace(&[(0, 10), (5, 500)]));
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("t: a delta of "), "{error}");
        assert!(error.ends_with("exceeds max_event_bytes = 1024"), "{error}");
    }
}
