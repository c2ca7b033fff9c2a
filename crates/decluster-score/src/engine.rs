//! The engine on a virtual clock that leaps: no time passes while it is simulated.

use crate::Score;
use crate::trace::{Tokens, Trace, seconds};
use decluster::{Config, Delta, Engine, Kind, Nanos, Output};

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

/// Plays a trace through the engine. `texts` is what each token brings; without it the tokens are counts
/// without text. The stream is finished with its last arrival.
///
/// # Panics
/// If the engine refuses a delta: the trace is larger than what `config` lets it queue.
#[allow(clippy::panic, reason = "a schedule with holes must not get a score")]
pub fn run(config: &Config, trace: &Trace, texts: Option<&[&str]>) -> Run {
    let mut engine = Engine::new(config, Nanos::ZERO);
    let mut played = Run::default();
    let mut progress = Progress::default();
    let mut text = String::new();
    for arrival in &trace.arrivals {
        while let Some(at) = due(&mut engine, &mut played, &mut progress, Some(arrival.at)) {
            progress.now = at;
        }
        let count = arrival.count as usize;
        let delta = match texts {
            Some(texts) => {
                text.clear();
                texts[progress.arrived..progress.arrived + count]
                    .iter()
                    .for_each(|t| text.push_str(t));
                Delta { kind: Kind::Reasoning, index: 0, text: &text, tokens: None }
            }
            None => {
                Delta { kind: Kind::Reasoning, index: 0, text: "", tokens: Some(arrival.count) }
            }
        };
        progress.arrive(count, texts);
        if let Err(error) = engine.push(arrival.at, delta) {
            panic!("{}: {error}", trace.name);
        }
        progress.now = arrival.at;
    }
    engine.finish(progress.now);
    while let Some(at) = due(&mut engine, &mut played, &mut progress, None) {
        progress.now = at;
    }
    played
}

/// How far the trace has come in, and gone out.
#[derive(Default)]
struct Progress {
    now: Nanos,
    arrived: usize,
    /// End of each token that has arrived, in bytes, or in tokens where there is no text.
    ends: Vec<u64>,
    left: usize,
    out: u64,
    hurried: u64,
}

impl Progress {
    fn arrive(&mut self, count: usize, texts: Option<&[&str]>) {
        for token in self.arrived..self.arrived + count {
            let size = texts.map_or(1, |texts| texts[token].len() as u64);
            self.ends.push(self.ends.last().copied().unwrap_or_default() + size);
        }
        self.arrived += count;
    }

    /// So much has left; how many tokens end with it?
    fn leave(&mut self, size: u64) -> u32 {
        self.out += size;
        let before = self.left;
        while self.ends.get(self.left).is_some_and(|end| *end <= self.out) {
            self.left += 1;
        }
        (self.left - before) as u32
    }
}

/// Takes all that is due now; gives the next time before `end` at which something is.
fn due(
    engine: &mut Engine,
    run: &mut Run,
    progress: &mut Progress,
    end: Option<Nanos>,
) -> Option<Nanos> {
    loop {
        match engine.poll(progress.now) {
            Output::Piece(piece) => {
                let size = if piece.text.is_empty() {
                    u64::from(piece.tokens)
                } else {
                    piece.text.len() as u64
                };
                let count = progress.leave(size);
                let piece = Piece {
                    at: progress.now,
                    bytes: piece.text.len() as u32,
                    tokens: piece.tokens,
                    block: piece.block,
                    part: piece.part,
                    delay: progress.now.since(piece.arrived),
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
            Output::Wait(at) => return Some(at).filter(|at| end.is_none_or(|end| *at < end)),
            _ => return None,
        }
    }
}

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
