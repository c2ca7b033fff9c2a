//! What a stream is like: its mean rate, and how long its silences are. Fed by raw deltas.
//!
//! Arrivals within `group_gap` of a group's first one belong to it. Of the last 24 groups the silence before
//! the next and the time to it are kept.

use super::{MILLI, SECOND, mul_div};
use crate::Nanos;
use crate::config::Config;

/// Learns from the arrivals of one stream.
#[derive(Debug)]
pub(super) struct Estimator {
    constants: Constants,
    /// The last silences, in a ring; `next` is where the next one goes.
    gaps: [Gap; RING],
    next: u8,
    count: u8,
    /// Places of `gaps[..count]` by length.
    sorted: [u8; RING],
    /// Sum of their weights.
    weight: u64,
    group: Option<Group>,
    /// Decayed credit and time of closed groups; their quotient is the mean rate.
    credit: u64,
    time: u64,
    /// Mean rate by what is known now, credit per second.
    mean: u64,
    known: Known,
}

/// The answer to what follows a silence that has lasted from `from` to `until`, both in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    from: u32,
    until: u32,
    /// Zero if no silence as long is known.
    quantile: u32,
}

impl Known {
    fn holds_at(self, elapsed: u32) -> bool {
        (self.from..self.until).contains(&elapsed)
    }
}

/// The constants, as the table of parameters has them; rates in credit per second.
#[derive(Clone, Copy, Debug)]
struct Constants {
    max_delay: Nanos,
    group_gap: Nanos,
    quantile: u64,
    prior: Nanos,
    prior_size: u64,
    late_part: u64,
    rate_first: u64,
    memory: u64,
    trust: u64,
    trust_groups: u64,
}

/// A silence in microseconds, weighted by the time from its group's start to the next group's.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    length: u32,
    weight: u32,
}

/// The arrival group that is still open.
#[derive(Clone, Copy, Debug)]
struct Group {
    first: Nanos,
    last: Nanos,
    credit: u64,
}

impl Estimator {
    pub(super) fn new(config: &Config) -> Self {
        let rate = |tokens: u64| tokens * super::CREDIT;
        Self {
            constants: Constants {
                max_delay: Nanos(config.max_delay),
                group_gap: Nanos(config.group_gap),
                quantile: config.silence_quantile,
                prior: Nanos(config.prior_silence),
                prior_size: super::milli_tokens(config.prior_tokens),
                late_part: config.late_part,
                rate_first: rate(config.rate_first),
                memory: config.rate_memory,
                trust: config.rate_trust,
                trust_groups: config.rate_trust_groups,
            },
            gaps: [Gap::default(); RING],
            next: 0,
            count: 0,
            sorted: [0; RING],
            weight: 0,
            group: None,
            credit: 0,
            time: 0,
            mean: rate(config.rate_first),
            known: Known::default(),
        }
    }

    /// A raw delta came in.
    pub(super) fn observe(&mut self, now: Nanos, credit: u64) {
        let c = self.constants;
        let mut group = match self.group {
            None => Group { first: now, last: now, credit: 0 },
            Some(g) if now.since(g.first) >= c.group_gap => {
                self.close(g, now);
                Group { first: now, last: now, credit: 0 }
            }
            Some(g) => g,
        };
        group.credit = group.credit.saturating_add(credit);
        group.last = group.last.max(now);
        if self.count == 0 {
            // What is expected of it depends on its size.
            self.known = Known::default();
        }
        self.group = Some(group);
    }

    /// Mean rate of the stream, credit per second. Silences beyond `max_delay` do not dilute it.
    pub(super) fn mean_rate(&self) -> u64 {
        self.mean
    }

    /// How long after the last arrival the next group is to be expected: the weighted quantile of the known
    /// silences that are longer than the present one. Without any, a multiple of the present one.
    pub(super) fn expect(&mut self, now: Nanos) -> Nanos {
        let Some(group) = self.group else { return Nanos::ZERO };
        let silence = now.since(group.last);
        let elapsed = micros(silence);
        if !self.known.holds_at(elapsed) {
            self.known = self.silences_beyond(elapsed, group.credit);
        }
        match self.known.quantile {
            0 => Nanos(mul_div(silence.0, self.constants.late_part, MILLI)),
            quantile => Nanos(u64::from(quantile) * 1_000),
        }
    }

    fn silences_beyond(&self, elapsed: u32, credit: u64) -> Known {
        if self.count == 0 {
            let prior = Some(self.prior(credit)).filter(|length| *length > elapsed);
            return Known {
                from: elapsed,
                until: prior.unwrap_or(u32::MAX),
                quantile: prior.unwrap_or(0),
            };
        }
        let mut sorted =
            self.sorted[..usize::from(self.count)].iter().map(|place| self.gap(*place));
        let mut total = self.weight;
        let mut until = u32::MAX;
        for gap in sorted.clone() {
            if gap.length > elapsed {
                until = gap.length;
                break;
            }
            total -= u64::from(gap.weight);
        }
        // From the longest down, since few lie beyond a high quantile.
        let mut beyond = total - total * self.constants.quantile / MILLI;
        let mut quantile = 0;
        while let Some(gap) = sorted.next_back().filter(|gap| gap.length > elapsed) {
            quantile = gap.length;
            match beyond.checked_sub(u64::from(gap.weight)) {
                Some(left) => beyond = left,
                None => break,
            }
        }
        Known { from: elapsed, until, quantile }
    }

    /// Before any silence is known: the one that a group of this size makes likely, in microseconds.
    fn prior(&self, credit: u64) -> u32 {
        let c = &self.constants;
        micros(Nanos(mul_div(c.prior.0, credit.min(c.prior_size), c.prior_size)))
    }

    fn gap(&self, place: u8) -> Gap {
        self.gaps[usize::from(place)]
    }

    fn close(&mut self, group: Group, now: Nanos) {
        let c = self.constants;
        let span = now.since(group.first).min(c.max_delay);
        self.keep(Gap { length: micros(now.since(group.last)), weight: micros(span) });
        let left = decay(span.0, c.memory);
        self.credit = mul_div(self.credit, left, ONE).saturating_add(group.credit);
        self.time = mul_div(self.time, left, ONE).saturating_add(span.0);
        let measured = mul_div(self.credit, SECOND, self.time);
        self.mean = match u64::from(self.count) {
            count if count >= c.trust_groups || self.time >= c.trust => measured,
            count => {
                let trust = self.time.max(mul_div(c.trust, count, c.trust_groups));
                let guess = mul_div(c.rate_first, c.trust - trust, c.trust);
                mul_div(measured, trust, c.trust) + guess
            }
        };
        self.known = Known::default();
    }

    /// Puts a silence in place of the oldest, and where it belongs by length.
    fn keep(&mut self, gap: Gap) {
        let mut count = usize::from(self.count);
        if count == RING {
            let old = self.sorted.iter().position(|place| *place == self.next).unwrap_or_default();
            self.sorted.copy_within(old + 1.., old);
            self.weight -= u64::from(self.gap(self.next).weight);
            count -= 1;
        }
        let at =
            self.sorted[..count].partition_point(|place| self.gap(*place).length <= gap.length);
        self.sorted.copy_within(at..count, at + 1);
        self.sorted[at] = self.next;
        self.gaps[usize::from(self.next)] = gap;
        self.weight += u64::from(gap.weight);
        self.count = count as u8 + 1;
        self.next = (self.next + 1) % RING as u8;
    }
}

/// `exp(-span / memory)` in parts of [`ONE`], by the series of the reciprocal: exact to 0.1 % for a third of the
/// memory, and falling towards zero everywhere.
fn decay(span: u64, memory: u64) -> u64 {
    let x = mul_div(span, 65_536, memory).min(64 * 65_536);
    let x2 = (x * x) >> 16;
    let x3 = (x2 * x) >> 16;
    (ONE << 16) / (65_536 + x + x2 / 2 + x3 / 6)
}

const ONE: u64 = 1 << 24;

fn micros(t: Nanos) -> u32 {
    u32::try_from(t.0 / 1_000).unwrap_or(u32::MAX)
}

/// Groups remembered: some thirty seconds of a clustered stream.
const RING: usize = 24;

#[cfg(test)]
mod tests {
    use super::super::CREDIT;
    use super::*;

    use std::vec::Vec;

    const MS: u64 = 1_000_000;

    fn estimator() -> Estimator {
        Estimator::new(&Config::default())
    }

    #[test]
    fn a_steady_pattern_is_learnt() {
        let mut e = estimator();
        for i in 0..20 {
            e.observe(Nanos(i * 1_000 * MS), 50 * CREDIT);
            e.observe(Nanos(i * 1_000 * MS + 10 * MS), 50 * CREDIT);
        }
        assert_eq!(e.expect(Nanos(19_010 * MS)), Nanos(990 * MS));
        assert_eq!((e.mean_rate() + CREDIT / 2) / CREDIT, 100);
    }

    #[test]
    fn silences_shorter_than_the_present_one_say_nothing() {
        let mut e = Estimator::new(&Config::default().with("silence_quantile", 500).unwrap());
        let mut now = 0;
        for i in 0..30 {
            e.observe(Nanos(now * MS), 10 * CREDIT);
            now += if i % 5 == 4 { 1_000 } else { 400 };
        }
        let last = now - 1_000;
        assert_eq!(e.expect(Nanos((last + 100) * MS)), Nanos(400 * MS));
        assert_eq!(e.expect(Nanos((last + 500) * MS)), Nanos(1_000 * MS));
    }

    #[test]
    fn a_late_group_stretches_the_horizon() {
        let mut e = estimator();
        for i in 0..10 {
            e.observe(Nanos(i * 1_000 * MS), 100 * CREDIT);
        }
        let now = Nanos(9_000 * MS + 1_200 * MS);
        assert!(e.expect(now) > Nanos(1_200 * MS));
    }

    #[test]
    fn the_ring_stays_sorted_and_forgets_the_oldest() {
        let mut e = estimator();
        for i in 0..100u32 {
            e.keep(Gap { length: i.wrapping_mul(7_919) % 1_000, weight: i });
            let lengths =
                e.sorted[..usize::from(e.count)].iter().map(|p| e.gaps[usize::from(*p)].length);
            assert!(lengths.is_sorted(), "{i}");
        }
        let mut weights: Vec<u32> =
            e.sorted.iter().map(|p| e.gaps[usize::from(*p)].weight).collect();
        weights.sort_unstable();
        assert!(weights.into_iter().eq(76..100));
    }

    #[test]
    fn decay_is_the_exponential() {
        for (ms, want) in [(0, 1_000_000), (750, 904_837), (7_500, 367_879), (1_500_000, 0)] {
            let got = decay(ms * MS, 7_500 * MS) * 1_000_000 / ONE;
            assert!(got.abs_diff(want) < 8_000, "{ms} ms: {got}");
        }
    }

    #[test]
    fn a_clock_that_runs_backwards_does_no_harm() {
        let mut e = estimator();
        for t in [5_000, 10, 4_000, 0, u64::MAX / MS, 3] {
            e.observe(Nanos(t * MS), 10 * CREDIT);
            let _ = (e.expect(Nanos(t)), e.mean_rate());
        }
    }
}
