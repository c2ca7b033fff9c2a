//! Policies over a set of traces.

use crate::engine::{self, Blocks, Run};
use crate::peers::PEERS;
use crate::trace::{Tokens, Trace};
use crate::{Row, Score, clairvoyant, lay};
use decluster::{Config, Nanos};

/// A set of traces, what the least-variance clairvoyant makes of them, and the text that lies under them.
#[derive(Debug)]
pub struct Study {
    traces: Vec<Trace>,
    /// One for each trace; none where the tokens are counts without text.
    texts: Option<Vec<String>>,
    /// The words that take the place of the text, if its tokens are to be words.
    words: Option<Vec<String>>,
    max_delay: Nanos,
    best: Vec<Score>,
}

/// The engine over a set.
#[derive(Debug)]
pub struct Played {
    /// The measures.
    pub row: Row,
    /// Every stream, in the order of the traces.
    pub runs: Vec<Run>,
    /// Blocks of streams of less than 30 tokens a second, of 30 to 60, of 60 to 100, and of more.
    pub blocks: [Blocks; 4],
}

impl Study {
    /// A set whose stalls are compared with those that no pacer with this `max_delay` can avoid. `texts` are
    /// laid under the traces in turn, each beginning where that of another set need not; without any, the
    /// tokens are counts.
    pub fn new(traces: Vec<Trace>, texts: &[String], max_delay: Nanos) -> Self {
        let under = |(place, trace): (usize, &Trace)| text_for(trace, place, texts);
        let laid = (!texts.is_empty()).then(|| traces.iter().enumerate().map(under).collect());
        let best =
            traces.iter().map(|t| Score::new(t, &clairvoyant::taut_string(t, max_delay))).collect();
        Self { traces, texts: laid, words: None, max_delay, best }
    }

    /// One stream whose every token is a whole word of the text.
    pub fn words(trace: Trace, text: &str) -> Self {
        let words = text.split_inclusive(char::is_whitespace).map(str::to_owned).collect();
        Self { words: Some(words), ..Self::new(vec![trace], &[], Nanos::from_millis(1_500)) }
    }

    /// The traces.
    pub fn traces(&self) -> &[Trace] {
        &self.traces
    }

    /// The set's own yardstick: the clairvoyant of the least rate variation.
    pub fn clairvoyant(&self) -> Row {
        Row::new(&self.best, &self.best)
    }

    /// What all text of one stream is.
    pub fn text(&self, place: usize) -> Option<Vec<&str>> {
        let tokens = self.traces[place].tokens() as usize;
        if let Some(words) = &self.words {
            return Some(words.iter().map(String::as_str).cycle().take(tokens).collect());
        }
        Some(lay(self.texts.as_ref()?.get(place)?, tokens))
    }

    /// Any policy that looks at arrivals alone.
    pub fn policy(&self, pace: impl Fn(&Trace) -> Vec<Tokens>) -> Row {
        let scores: Vec<_> = self.traces.iter().map(|t| Score::new(t, &pace(t))).collect();
        Row::new(&scores, &self.best)
    }

    /// The references that know the future, by name: the one of the least delay, and the frontier between
    /// delay and variation for a few pulls.
    pub fn references(&self) -> Vec<(String, Row)> {
        let d = self.max_delay;
        let mut rows = vec![
            ("clairvoyant, least variation".to_owned(), self.clairvoyant()),
            (
                "clairvoyant, just in time".to_owned(),
                self.policy(|t| clairvoyant::just_in_time(t, d)),
            ),
        ];
        for pull in PULLS {
            let row = self.policy(|t| clairvoyant::frontier(t, d, pull, TAIL));
            rows.push((format!("offline frontier, pull {pull}"), row));
        }
        rows
    }

    /// The models of other pacers, by name.
    pub fn peers(&self) -> Vec<(String, Row)> {
        PEERS.iter().map(|peer| (peer.name.to_owned(), self.policy(peer.pace))).collect()
    }

    /// The engine with these settings.
    pub fn engine(&self, config: &Config) -> Played {
        let mut blocks = [Blocks::default(); 4];
        let mut runs = Vec::with_capacity(self.traces.len());
        let mut scores = Vec::with_capacity(self.traces.len());
        for (place, trace) in self.traces.iter().enumerate() {
            let run = engine::run(config, trace, self.text(place).as_deref());
            let rate = trace.tokens() as f64 / trace.span().max(1e-3);
            let class = [30.0, 60.0, 100.0].iter().filter(|limit| rate >= **limit).count();
            blocks[class] = blocks[class] + run.blocks();
            scores.push(run.score(trace));
            runs.push(run);
        }
        Played { row: Row::new(&scores, &self.best), runs, blocks }
    }
}

/// Enough text for a trace, from the one whose turn it is on.
fn text_for(trace: &Trace, place: usize, texts: &[String]) -> String {
    let needed = trace.tokens() as usize;
    let mut text = String::new();
    for next in texts.iter().cycle().skip(place * STRIDE % texts.len()) {
        text.push_str(next);
        if text.len() >= needed * BYTES {
            break;
        }
    }
    text
}

/// Which text comes next: far from the last, so that neighbouring traces get different languages.
const STRIDE: usize = 37;
/// More bytes than a token has on average.
const BYTES: usize = 6;
/// A tail of the frontier, as long as the engine's.
const TAIL: Nanos = Nanos::from_millis(300);
/// Pulls of the frontier that are shown.
const PULLS: [f64; 3] = [0.25, 0.5, 1.0];
