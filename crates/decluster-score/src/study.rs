//! Policies over a set of traces.

use crate::engine::{self, Blocks, Refused, Run};
use crate::peers::PEERS;
use crate::trace::{Tokens, Trace};
use crate::{Row, Score, clairvoyant, lay};
use decluster::{Config, Nanos};

/// A rule that looks at arrivals alone.
pub type Rule = Box<dyn Fn(&Trace) -> Vec<Tokens> + Send + Sync>;

/// A set of traces, what the least-variance clairvoyant makes of them, and the text that lies under them.
///
/// What takes long is an iterator over the traces ([`Study::scores`], [`Study::runs`]), so that the caller may
/// stop in between.
#[derive(Debug)]
pub struct Study {
    traces: Vec<Trace>,
    /// What is laid under the traces in turn.
    sources: Vec<String>,
    /// One for each trace; none where the tokens are counts without text.
    texts: Vec<String>,
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
    /// Blocks of streams by their rate: below the first of [`RATES`], below the next, …, and above.
    pub blocks: [Blocks; 4],
}

/// Where the classes of [`Played::blocks`] part, in tokens per second.
pub const RATES: [f64; 3] = [30.0, 60.0, 100.0];

impl Study {
    /// A set whose stalls are compared with those that no pacer with this `max_delay` can avoid. `texts` are
    /// laid under the traces in turn, each beginning where that of another set need not; without any, the
    /// tokens are counts.
    pub fn new(traces: Vec<Trace>, texts: &[String], max_delay: Nanos) -> Self {
        let sources = texts.iter().filter(|text| !text.is_empty()).cloned().collect();
        let (texts, best) = (Vec::new(), Vec::new());
        let mut study = Self { traces: Vec::new(), sources, texts, words: None, max_delay, best };
        for trace in traces {
            study.push(trace);
        }
        study
    }

    /// One stream whose every token is a whole word of the text.
    pub fn words(trace: Trace, text: &str) -> Self {
        let words = text.split_inclusive(char::is_whitespace).map(str::to_owned).collect();
        Self { words: Some(words), ..Self::new(vec![trace], &[], Nanos::from_millis(1_500)) }
    }

    /// One more trace.
    pub fn push(&mut self, trace: Trace) {
        if !self.sources.is_empty() {
            self.texts.push(text_for(&trace, self.traces.len(), &self.sources));
        }
        let best = clairvoyant::taut_string(&trace, self.max_delay);
        self.best.push(Score::new(&trace, &best));
        self.traces.push(trace);
    }

    /// The traces.
    pub fn traces(&self) -> &[Trace] {
        &self.traces
    }

    /// The set's own yardstick: the clairvoyant of the least rate variation.
    pub fn clairvoyant(&self) -> Row {
        self.row(&self.best)
    }

    /// What all text of one stream is.
    pub fn text(&self, place: usize) -> Option<Vec<&str>> {
        let tokens = self.traces[place].tokens() as usize;
        if let Some(words) = &self.words {
            return Some(words.iter().map(String::as_str).cycle().take(tokens).collect());
        }
        Some(lay(self.texts.get(place)?, tokens))
    }

    /// Any policy that looks at arrivals alone.
    pub fn policy(&self, pace: impl Fn(&Trace) -> Vec<Tokens>) -> Row {
        self.row(&self.scores(pace).collect::<Vec<_>>())
    }

    /// The same, trace by trace.
    pub fn scores(
        &self,
        pace: impl Fn(&Trace) -> Vec<Tokens>,
    ) -> impl ExactSizeIterator<Item = Score> {
        self.traces.iter().map(move |trace| Score::new(trace, &pace(trace)))
    }

    /// What the scores of all traces amount to.
    pub fn row(&self, scores: &[Score]) -> Row {
        Row::new(scores, &self.best)
    }

    /// The references that know the future, by name: the one of the least delay, and the frontier between
    /// delay and variation for a few pulls.
    pub fn references(&self) -> Vec<(String, Row)> {
        self.reference_rules().into_iter().map(|(name, rule)| (name, self.policy(rule))).collect()
    }

    /// Their rules.
    pub fn reference_rules(&self) -> Vec<(String, Rule)> {
        let d = self.max_delay;
        let mut rules: Vec<(String, Rule)> = vec![
            (
                "clairvoyant, least variation".to_owned(),
                Box::new(move |t| clairvoyant::taut_string(t, d)),
            ),
            (
                "clairvoyant, just in time".to_owned(),
                Box::new(move |t| clairvoyant::just_in_time(t, d)),
            ),
        ];
        for pull in PULLS {
            let rule: Rule = Box::new(move |t| clairvoyant::frontier(t, d, pull, TAIL));
            rules.push((format!("offline frontier, pull {pull}"), rule));
        }
        rules
    }

    /// The models of other pacers, by name.
    pub fn peers(&self) -> Vec<(String, Row)> {
        PEERS.iter().map(|peer| (peer.name.to_owned(), self.policy(peer.pace))).collect()
    }

    /// The engine with these settings.
    ///
    /// # Errors
    /// [`Refused`], where these settings leave no room for a delta.
    pub fn engine(&self, config: &Config) -> Result<Played, Refused> {
        Ok(self.played(self.runs(config).collect::<Result<_, _>>()?))
    }

    /// The same, trace by trace.
    pub fn runs(
        &self,
        config: &Config,
    ) -> impl ExactSizeIterator<Item = Result<Run, Refused>> + use<'_> {
        let config = config.clone();
        let traces = self.traces.iter().enumerate();
        traces.map(move |(place, trace)| engine::run(&config, trace, self.text(place).as_deref()))
    }

    /// What the runs of all traces amount to.
    pub fn played(&self, runs: Vec<Run>) -> Played {
        let mut blocks = [Blocks::default(); 4];
        let mut scores = Vec::with_capacity(runs.len());
        for (trace, run) in self.traces.iter().zip(&runs) {
            let rate = trace.tokens() as f64 / trace.span().max(1e-3);
            let class = RATES.iter().filter(|limit| rate >= **limit).count();
            blocks[class] = blocks[class] + run.blocks();
            scores.push(run.score(trace));
        }
        Played { row: self.row(&scores), runs, blocks }
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
