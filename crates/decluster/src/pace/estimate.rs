//! What a stream is like: its mean rate, and how long its silences are. Fed by raw deltas.
//!
//! Arrivals within [`GROUP`] of a group's first one belong to it. Of the last 24 groups the silence before
//! the next and the time to it are kept.

use super::{CREDIT, SECOND, mul_div};
use crate::Nanos;

/// Learns from the arrivals of one stream.
#[derive(Debug)]
pub(super) struct Estimator {
    max_delay: Nanos,
    /// The silences after the last groups with their weights, by length.
    gaps: [Gap; RING],
    /// The same in order of time; `oldest` is where the next one goes.
    order: [Gap; RING],
    oldest: usize,
    count: usize,
    group: Option<Group>,
    /// Decayed credit and time of closed groups; their quotient is the mean rate.
    credit: u64,
    time: u64,
}

/// A silence, weighted by the time from its group's start to the next group's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Gap {
    length: Nanos,
    weight: u64,
}

/// The arrival group that is still open.
#[derive(Clone, Copy, Debug)]
struct Group {
    first: Nanos,
    last: Nanos,
    credit: u64,
    /// Rate to assume until a group is closed, from this first group's size.
    guess: u64,
}

impl Estimator {
    pub(super) fn new(max_delay: Nanos) -> Self {
        Self {
            max_delay,
            gaps: [Gap::default(); RING],
            order: [Gap::default(); RING],
            oldest: 0,
            count: 0,
            group: None,
            credit: 0,
            time: 0,
        }
    }

    /// A raw delta came in.
    pub(super) fn observe(&mut self, now: Nanos, credit: u64) {
        let mut group = match self.group {
            None => Group { first: now, last: now, credit: 0, guess: NOMINAL },
            Some(g) if now.since(g.first) >= GROUP => {
                self.close(g, now);
                Group { first: now, last: now, credit: 0, ..g }
            }
            Some(g) => g,
        };
        group.credit = group.credit.saturating_add(credit);
        group.last = group.last.max(now);
        if self.time == 0 {
            // The size of the first group is the only hint at the rate there is yet.
            let grown = mul_div(FIRST_RATE, group.credit.max(FIRST_SIZE), FIRST_SIZE);
            group.guess = grown.clamp(RATE_MIN, NOMINAL);
        }
        self.group = Some(group);
    }

    /// Mean rate of the stream, credit per second. Silences beyond `max_delay` do not dilute it.
    pub(super) fn mean_rate(&self) -> u64 {
        let guess = self.group.map_or(NOMINAL, |g| g.guess);
        if self.time == 0 {
            return guess;
        }
        let measured = mul_div(self.credit, SECOND, self.time);
        let trust = self.time.min(TRUST);
        let mixed = mul_div(measured, trust, TRUST) + mul_div(guess, TRUST - trust, TRUST);
        mixed.max(RATE_MIN)
    }

    /// How long after the last arrival the next group is to be expected: the weighted median of the known
    /// silences that are longer than the present one. Without any, twice the present one.
    pub(super) fn horizon(&self, now: Nanos) -> Nanos {
        let Some(group) = self.group else { return Nanos::ZERO };
        let elapsed = now.since(group.last);
        let prior = Gap {
            length: Nanos(mul_div(PRIOR.0, group.credit.min(PRIOR_SIZE), PRIOR_SIZE)),
            weight: 0,
        };
        let prior =
            Gap { weight: mul_div(prior.length.0, PRIOR_WEIGHT[self.count], 65_536), ..prior };
        let prior = Some(prior).filter(|p| p.length > elapsed);
        let known = &self.gaps[..self.count];
        let known = &known[known.partition_point(|g| g.length <= elapsed)..];
        let total: u128 = known.iter().chain(&prior).map(|g| u128::from(g.weight)).sum();
        if known.is_empty() && prior.is_none() {
            return elapsed.after(elapsed);
        }
        let mut need = total * QUANTILE / 100;
        let split = prior.map_or(known.len(), |p| known.partition_point(|g| *g <= p));
        let sorted = known[..split].iter().chain(&prior).chain(&known[split..]);
        let mut last = Nanos::ZERO;
        for gap in sorted {
            last = gap.length;
            match need.checked_sub(u128::from(gap.weight)) {
                Some(left) if left > 0 => need = left,
                _ => break,
            }
        }
        last
    }

    fn close(&mut self, group: Group, now: Nanos) {
        let span = now.since(group.first);
        let gap = Gap { length: now.since(group.last), weight: span.0 };
        if self.count < RING {
            self.count += 1;
        }
        self.order[self.oldest] = gap;
        self.oldest = (self.oldest + 1) % RING;
        self.gaps = self.order;
        self.gaps[..self.count].sort_unstable();
        let span = span.min(self.max_delay).0;
        self.credit = decay(self.credit, span).saturating_add(group.credit);
        self.time = decay(self.time, span).saturating_add(span);
    }
}

/// `value * exp(-span / MEMORY)`, by the series of the reciprocal: exact to 0.01 % for a span of 1.5 s, and
/// falling towards zero everywhere.
fn decay(value: u64, span: u64) -> u64 {
    let x = mul_div(span, 65_536, MEMORY).min(64 * 65_536);
    let x2 = (x * x) >> 16;
    let x3 = (x2 * x) >> 16;
    mul_div(value, 65_536, 65_536 + x + x2 / 2 + x3 / 6)
}

/// Arrivals closer than this to a group's first belong to it: beyond network jitter, below any pause that
/// a reader could notice.
pub(super) const GROUP: Nanos = Nanos::from_millis(30);
/// Groups remembered: some thirty seconds of a clustered stream.
const RING: usize = 24;
/// Time over which the mean rate forgets.
const MEMORY: u64 = 7_500_000_000;
/// Time after which the measured rate is trusted alone.
const TRUST: u64 = 1_300_000_000;
/// Rate assumed of a stream that has shown nothing.
const NOMINAL: u64 = 150 * CREDIT;
/// No stream is taken to be slower: the reserve would vanish.
const RATE_MIN: u64 = 60 * CREDIT;
/// Rate assumed after a first group of `FIRST_SIZE` or less; larger groups raise it in proportion.
const FIRST_RATE: u64 = 27 * CREDIT;
const FIRST_SIZE: u64 = 40 * CREDIT;
/// The silence to expect after a group of `PRIOR_SIZE`, before any was seen; smaller groups, shorter.
const PRIOR: Nanos = Nanos::from_millis(1_400);
const PRIOR_SIZE: u64 = 86 * CREDIT;
/// Weight of that expectation after n groups: (1 + n)^-2.4, in 1/65536.
const PRIOR_WEIGHT: [u64; RING + 1] = [
    65_536, 12_417, 4_692, 2_353, 1_377, 889, 614, 446, 336, 261, 208, 168, 139, 116, 99, 84, 73,
    64, 56, 49, 44, 39, 35, 32, 29,
];
/// Which quantile of the silences to expect, in percent.
const QUANTILE: u128 = 55;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_steady_pattern_is_learnt() {
        let mut e = Estimator::new(Nanos::from_millis(1_500));
        for i in 0..10 {
            e.observe(Nanos(i * 1_000 * MS), 50 * CREDIT);
            e.observe(Nanos(i * 1_000 * MS + 10 * MS), 50 * CREDIT);
        }
        assert_eq!(e.horizon(Nanos(9_010 * MS)), Nanos(990 * MS));
        assert_eq!((e.mean_rate() + CREDIT / 2) / CREDIT, 100);
    }

    #[test]
    fn a_late_group_stretches_the_horizon() {
        let mut e = Estimator::new(Nanos::from_millis(1_500));
        for i in 0..10 {
            e.observe(Nanos(i * 1_000 * MS), 100 * CREDIT);
        }
        let now = Nanos(9_000 * MS + 1_200 * MS);
        assert!(e.horizon(now) > Nanos(1_200 * MS));
    }

    #[test]
    fn decay_is_the_exponential() {
        for (ms, want) in [(0, 1_000_000), (750, 904_837), (7_500, 367_879), (1_500_000, 0)] {
            let got = decay(1_000_000, ms * MS);
            assert!(got.abs_diff(want) < 8_000, "{ms} ms: {got}");
        }
    }

    #[test]
    fn a_clock_that_runs_backwards_does_no_harm() {
        let mut e = Estimator::new(Nanos::from_millis(1_500));
        for t in [5_000, 10, 4_000, 0, u64::MAX / MS, 3] {
            e.observe(Nanos(t * MS), 10 * CREDIT);
            let _ = (e.horizon(Nanos(t)), e.mean_rate());
        }
    }
}
