//! The figures of one diagnosed stream, or of many taken together.

use crate::diagnose::{Diagnosed, Flow, Times};
use crate::trace::seconds;
use decluster::Nanos;
use decluster::guard::{ClusterRule, Clusters};

/// What one stream, or many, amount to. Quantiles are exact.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Streams.
    pub streams: usize,
    /// Those of them that have times.
    pub timed: usize,
    /// Tokens that came.
    pub tokens: u64,
    /// Those that were reasoning, if all streams say so.
    pub reasoning: Option<u64>,
    /// Sizes of deltas, in tokens.
    pub deltas: Option<Spread>,
    /// How many deltas.
    pub delta_count: usize,
    /// How many of them have as many tokens as a cluster.
    pub large_deltas: usize,
    /// Attempts; at least one for each stream.
    pub attempts: u64,
    /// Tokens that came again, or were made void.
    pub retried: u64,
    /// Seconds from the first arrival of each stream to its last.
    pub watched: f64,
    /// As it came.
    pub before: Side,
    /// As it left.
    pub after: Side,
    /// For how long tokens were held, in seconds.
    pub held: Option<Spread>,
    /// The same for the first text of each stream.
    pub first_held: Option<Spread>,
    /// Clusters that left beside a silence in which nothing arrived for longer than `max_delay`.
    pub unavoidable: u64,
}

/// One side of the pacer.
#[derive(Clone, Debug)]
pub struct Side {
    /// Clusters.
    pub events: u64,
    /// Clusters an hour.
    pub per_hour: Option<f64>,
    /// How many groups.
    pub groups: usize,
    /// Tokens of a group.
    pub sizes: Option<Spread>,
    /// Silences between groups, in seconds.
    pub gaps: Option<Spread>,
    /// Seconds to the first text, of the streams that say when they began.
    pub first: Option<Spread>,
}

/// How values are spread: each quantile is the least value that so many do not exceed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Sums up streams, of which what counts as a cluster was `rule`.
    pub fn new(streams: &[&Diagnosed], rule: ClusterRule) -> Self {
        let timed: Vec<_> = streams.iter().copied().filter(|s| s.times != Times::None).collect();
        let deltas = || streams.iter().flat_map(|s| &s.deltas).copied();
        let held = timed.iter().flat_map(|s| s.held());
        let flows = |of: fn(&Diagnosed) -> &Flow| timed.iter().map(|s| of(s)).collect::<Vec<_>>();
        let with_text = || timed.iter().filter(|s| s.tokens > 0);
        let firsts = |held: bool| {
            let first = move |s: &&Diagnosed| {
                let held = if held { s.first_held } else { Nanos::ZERO };
                Some((seconds(s.first?.after(held)), 1))
            };
            Spread::new(timed.iter().filter_map(first))
        };
        let before = Side::new(&flows(|s| &s.before), rule, firsts(false));
        Self {
            streams: streams.len(),
            timed: timed.len(),
            tokens: streams.iter().map(|s| s.tokens).sum(),
            reasoning: streams.iter().map(|s| s.reasoning).sum(),
            deltas: Spread::new(deltas().map(|count| (count.into(), 1))),
            delta_count: deltas().count(),
            large_deltas: deltas().filter(|count| u64::from(*count) >= rule.min_tokens).count(),
            attempts: streams.iter().map(|s| u64::from(s.attempts)).sum(),
            retried: streams.iter().map(|s| s.retried).sum(),
            watched: timed.iter().map(|s| seconds(s.before.span())).sum(),
            before,
            after: Side::new(&flows(|s| &s.after), rule, firsts(true)),
            held: Spread::new(held.map(|(time, count)| (seconds(time), count.into()))).map(
                |spread| Spread {
                    max: timed.iter().map(|s| seconds(s.longest)).fold(0.0, f64::max),
                    ..spread
                },
            ),
            first_held: Spread::new(with_text().map(|s| (seconds(s.first_held), 1))),
            unavoidable: streams.iter().map(|s| s.unavoidable).sum(),
        }
    }
}

impl Side {
    fn new(flows: &[&Flow], rule: ClusterRule, first: Option<Spread>) -> Self {
        let mut all = Clusters::new(rule);
        for flow in flows {
            all.merge(&flow.clusters);
        }
        let groups = || flows.iter().flat_map(|flow| &flow.groups);
        let gaps = flows.iter().flat_map(|flow| flow.gaps());
        Self {
            events: all.events(),
            per_hour: all.events_per_hour(),
            groups: groups().count(),
            sizes: Spread::new(groups().map(|group| (group.tokens as f64, 1))),
            gaps: Spread::new(gaps.map(|gap| (seconds(gap), 1))),
            first,
        }
    }
}

impl Spread {
    /// Of values, each with how often it counts; `None` if there are none.
    fn new(values: impl Iterator<Item = (f64, u64)>) -> Option<Self> {
        let mut values: Vec<_> = values.filter(|(_, times)| *times > 0).collect();
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let all: u64 = values.iter().map(|(_, times)| times).sum();
        let max = values.last()?.0;
        let at = |percent: u64| {
            let rank = (all * percent).div_ceil(100);
            let mut below = 0;
            let found = values.iter().find(|(_, times)| {
                below += times;
                below >= rank
            });
            found.map_or(max, |(value, _)| *value)
        };
        Some(Self { p50: at(50), p95: at(95), max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_value_that_was_there() {
        let of = |values: &[(f64, u64)]| Spread::new(values.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(7.0, 1)]), Some(Spread { p50: 7.0, p95: 7.0, max: 7.0 }));
        let spread = of(&[(9.0, 1), (1.0, 90), (2.0, 5), (3.0, 4)]);
        assert_eq!(spread, Some(Spread { p50: 1.0, p95: 2.0, max: 9.0 }));
    }
}
