//! Whether a stream comes in clusters: groups of many tokens beside silences.
//!
//! The default is the signature of the published incident, 40 tokens and more beside more than a second of nothing. The
//! other published one begins at 80 tokens.

use super::sketch::Sketch;
use crate::config::Config;
use crate::time::Nanos;

/// What counts as a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterRule {
    /// The least tokens of a group (default 40).
    pub min_tokens: u64,
    /// The least silence before or after it (default 1 s).
    pub min_gap: Nanos,
    /// What comes no later than this after the first of a group belongs to it (default 30 ms).
    pub group_gap: Nanos,
}

/// Counts the clusters of a stream, or of many.
///
/// A group lasts no longer than [`ClusterRule::group_gap`] from its first arrival, so a steady stream is many small ones.
/// What comes before the first group, and after the last, is no silence of the stream. Memory is that of two
/// [`Sketch`]es.
///
/// ```
/// use decluster::Nanos;
/// use decluster::guard::{ClusterRule, Clusters};
/// let mut clusters = Clusters::new(ClusterRule::default());
/// for (ms, tokens) in [(0, 67), (1_400, 81), (1_405, 12)] {
///     clusters.record(Nanos::from_millis(ms), tokens);
/// }
/// assert_eq!((clusters.events(), clusters.groups(), clusters.tokens()), (2, 2, 160));
/// ```
#[derive(Clone, Debug)]
pub struct Clusters {
    rule: ClusterRule,
    /// The group that may still grow.
    open: Option<Open>,
    /// Without the open one.
    events: u64,
    streams: u64,
    tokens: u64,
    watched: Nanos,
    sizes: Sketch,
    gaps: Sketch,
}

/// Tokens that came together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterGroup {
    /// When the first of them came.
    pub from: Nanos,
    /// When the last of them did.
    pub to: Nanos,
    /// How many.
    pub tokens: u64,
    /// It is a cluster.
    pub is_cluster: bool,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    from: Nanos,
    to: Nanos,
    tokens: u64,
    /// A silence of `min_gap` came before it.
    after_silence: bool,
}

impl Clusters {
    /// Nothing was seen yet.
    pub fn new(rule: ClusterRule) -> Self {
        Self {
            rule,
            open: None,
            events: 0,
            streams: 0,
            tokens: 0,
            watched: Nanos::ZERO,
            sizes: Sketch::default(),
            gaps: Sketch::default(),
        }
    }

    /// So many tokens came, or left. A clock that runs backwards stands still. Gives the group that has ended before them,
    /// if they belong to the next.
    pub fn record(&mut self, at: Nanos, tokens: u64) -> Option<ClusterGroup> {
        self.tokens = self.tokens.saturating_add(tokens);
        let Some(open) = &mut self.open else {
            self.streams = self.streams.saturating_add(1);
            self.open = Some(Open { from: at, to: at, tokens, after_silence: false });
            return None;
        };
        let gap = at.since(open.to);
        let at = at.max(open.to);
        self.watched = Nanos(self.watched.0.saturating_add(gap.0));
        if at.since(open.from) <= self.rule.group_gap {
            open.to = at;
            open.tokens = open.tokens.saturating_add(tokens);
            return None;
        }
        let after_silence = gap >= self.rule.min_gap;
        let ended = self.close(after_silence);
        self.gaps.record(gap.0.saturating_add(MILLISECOND / 2) / MILLISECOND);
        self.open = Some(Open { from: at, to: at, tokens, after_silence });
        ended
    }

    /// The stream is over; what comes next is of another one, on a clock of its own. Gives its last group.
    pub fn end_stream(&mut self) -> Option<ClusterGroup> {
        self.close(false)
    }

    fn close(&mut self, before_silence: bool) -> Option<ClusterGroup> {
        let open = self.open.take()?;
        let is_cluster = self.is_cluster(&open, before_silence);
        self.events = self.events.saturating_add(is_cluster.into());
        self.sizes.record(open.tokens);
        let Open { from, to, tokens, .. } = open;
        Some(ClusterGroup { from, to, tokens, is_cluster })
    }

    fn is_cluster(&self, open: &Open, before_silence: bool) -> bool {
        open.tokens >= self.rule.min_tokens && (open.after_silence || before_silence)
    }

    /// Counts what another one counted, as if its streams had been seen here and were over. What a cluster is was decided
    /// there. The stream that is seen here goes on.
    pub fn merge(&mut self, other: &Self) {
        self.events = self.events.saturating_add(other.events());
        self.streams = self.streams.saturating_add(other.streams);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.watched = Nanos(self.watched.0.saturating_add(other.watched.0));
        self.sizes.merge(&other.sizes());
        self.gaps.merge(&other.gaps);
    }

    /// How many clusters were seen.
    pub fn events(&self) -> u64 {
        let open = self.open.is_some_and(|open| self.is_cluster(&open, false));
        self.events.saturating_add(open.into())
    }

    /// How many clusters an hour, over the time that streams were watched; `None` before any time has passed.
    pub fn events_per_hour(&self) -> Option<f64> {
        let hours = self.watched.0 as f64 / HOUR as f64;
        (self.watched > Nanos::ZERO).then(|| self.events() as f64 / hours)
    }

    /// How many groups came.
    pub fn groups(&self) -> u64 {
        self.sizes.count().saturating_add(u64::from(self.open.is_some()))
    }

    /// How many streams had any tokens.
    pub fn streams(&self) -> u64 {
        self.streams
    }

    /// How many tokens came.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// From the first to the last arrival, summed up over streams.
    pub fn watched(&self) -> Nanos {
        self.watched
    }

    /// The sizes of the groups, in tokens.
    pub fn sizes(&self) -> Sketch {
        let mut sizes = self.sizes.clone();
        if let Some(open) = self.open {
            sizes.record(open.tokens);
        }
        sizes
    }

    /// The silences between groups, in milliseconds, each rounded to the nearest.
    pub fn gaps(&self) -> &Sketch {
        &self.gaps
    }
}

/// How a stream came in, and how it left.
#[derive(Clone, Debug)]
pub struct Clustering {
    /// What arrived.
    pub before: Clusters,
    /// What left.
    pub after: Clusters,
}

impl Clustering {
    /// Nothing was seen yet.
    pub fn new(rule: ClusterRule) -> Self {
        Self { before: Clusters::new(rule), after: Clusters::new(rule) }
    }
}

impl Default for Clusters {
    fn default() -> Self {
        Self::new(ClusterRule::default())
    }
}

impl Default for ClusterRule {
    fn default() -> Self {
        Self::from(&Config::default())
    }
}

impl From<&Config> for ClusterRule {
    fn from(config: &Config) -> Self {
        Self {
            min_tokens: config.cluster_min_tokens,
            min_gap: Nanos(config.cluster_min_gap),
            group_gap: Nanos(config.cluster_group_gap),
        }
    }
}

const MILLISECOND: u64 = 1_000_000;
const HOUR: u64 = 3_600_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn events(stream: &[(u64, u64)]) -> u64 {
        let mut clusters = Clusters::new(ClusterRule::default());
        for (ms, n) in stream {
            clusters.record(Nanos::from_millis(*ms), *n);
        }
        clusters.events()
    }

    #[test]
    fn a_large_group_beside_a_silence_is_one_cluster() {
        for (stream, expected) in [
            (&[(0, 67), (1_400, 81), (1_405, 12)][..], 2),
            (&[(0, 67), (1_400, 1), (2_800, 81)], 2),
            (&[(0, 1), (1_400, 67), (2_800, 1)], 1),
            (&[(0, 39), (1_400, 39)], 0),
            (&[(0, 40), (999, 40)], 0),
            (&[(0, 40), (1_000, 40)], 2),
            (&[(0, 20), (30, 20), (1_030, 1)], 1),
            (&[(0, 20), (31, 20), (1_031, 1)], 0),
            (&[(0, 1), (1_000, 39), (1_010, 1), (1_020, 50)], 1),
            // A steady stream is no group, whatever interrupts it.
            (&[(0, 1), (1_000, 20), (1_020, 20), (1_040, 20)], 1),
            (&[(0, 10), (20, 10), (40, 10), (60, 10), (80, 10), (1_100, 1)], 0),
            (&[(5_000, 100)], 0),
        ] {
            assert_eq!(events(stream), expected, "{stream:?}");
        }
    }

    #[test]
    fn a_clock_that_runs_backwards_makes_no_silence() {
        assert_eq!(events(&[(5_000, 50), (0, 50), (5_010, 1)]), 0);
    }

    #[test]
    fn silence_between_streams_is_none() {
        let mut clusters = Clusters::new(ClusterRule::default());
        for start in [0, 60_000] {
            clusters.record(Nanos::from_millis(start), 80);
            clusters.end_stream();
        }
        assert_eq!((clusters.events(), clusters.streams(), clusters.groups()), (0, 2, 2));
        assert_eq!(clusters.watched(), Nanos::ZERO);
        assert_eq!(clusters.events_per_hour(), None);
    }
}
