//! Made traces: the published incident's pattern, and others that a pacer may meet. The same seed gives the
//! same traces on every machine.

use crate::trace::{Tokens, Trace, nanos};

/// The patterns, in the order in which [`traces`] makes them.
pub const PATTERNS: [&str; 10] = [
    "incident",
    "bursts",
    "quick bursts",
    "smooth",
    "rate change",
    "long stall",
    "dump",
    "slow start",
    "tool call",
    "heavy tail",
];

/// `per` traces of each of the [`PATTERNS`].
pub fn traces(seed: u64, per: u64) -> Vec<Trace> {
    (0..per)
        .flat_map(|i| PATTERNS.iter().enumerate().map(move |(p, name)| (i, p as u64, *name)))
        .map(|(i, p, name)| pattern(name, i, Random::new(seed, i * 100 + p)))
        .collect()
}

/// Trace A of the field's comparison: 12 deltas of 40 to 150 tokens, 1.0 to 2.0 s apart.
pub fn trace_a() -> Trace {
    let mut maker = Maker::new(Random::new(17, 0));
    for _ in 0..12 {
        let count = maker.random.between(40, 150);
        maker.arrive(count);
        maker.pause(1.0, 2.0);
    }
    Trace::new("A", "A", maker.arrivals)
}

/// So many tokens every `period` seconds, for `seconds`.
pub fn even(period: f64, tokens: u32, seconds: f64) -> Trace {
    let count = (seconds / period) as u32;
    let arrivals = (0..count).map(|k| Tokens { at: nanos(f64::from(k) * period), count: tokens });
    Trace::new("even", "even", arrivals.collect())
}

fn pattern(name: &str, i: u64, random: Random) -> Trace {
    let mut m = Maker::new(random);
    match name {
        "incident" => {
            for size in [67, 81].repeat(2 + i as usize % 3) {
                let count = m.random.between(size - 3, size + 3);
                m.burst(count);
                m.pause(1.35, 1.45);
            }
            m.burst(12);
        }
        "bursts" => {
            let count = m.random.between(8, 18);
            m.bursts(count, (80, 150), (1.0, 1.5));
        }
        "quick bursts" => {
            let count = m.random.between(14, 28);
            m.bursts(count, (80, 150), (0.45, 0.8));
        }
        "smooth" => m.smooth((6.0, 12.0), (30.0, 100.0)),
        "rate change" => {
            m.bursts(6, (80, 150), (1.0, 1.5));
            m.smooth((4.0, 4.0), (30.0, 100.0));
            m.now += 0.3;
            m.bursts(8, (40, 90), (0.3, 0.6));
        }
        "long stall" => {
            m.bursts(5, (80, 150), (1.0, 1.5));
            m.pause(5.0, 30.0);
            m.bursts(5, (80, 150), (1.0, 1.5));
        }
        "dump" => {
            let count = m.random.between(800, 3_000);
            m.spread(count, 0.02);
        }
        "slow start" => {
            m.smooth((3.0, 3.0), (5.0, 5.0));
            m.now += 1.0;
            m.bursts(8, (80, 150), (1.0, 1.5));
        }
        "tool call" => {
            for _ in 0..4 {
                let count = m.random.between(2, 5);
                m.bursts(count, (60, 150), (0.8, 1.5));
                m.pause(2.0, 8.0);
            }
        }
        _ => {
            for _ in 0..25 {
                let count = m.random.between(20, 150);
                m.burst(count);
                m.now += exp(m.random.normal() * 0.8 - 0.7).min(6.0);
            }
        }
    }
    Trace::new(format!("{name} {i}"), name, m.arrivals)
}

/// A trace in the making.
struct Maker {
    random: Random,
    now: f64,
    arrivals: Vec<Tokens>,
}

impl Maker {
    fn new(random: Random) -> Self {
        Self { random, now: 0.0, arrivals: Vec::new() }
    }

    fn arrive(&mut self, count: u32) {
        self.arrivals.push(Tokens { at: nanos(self.now), count });
    }

    fn pause(&mut self, least: f64, most: f64) {
        self.now += self.random.uniform(least, most);
    }

    fn bursts(&mut self, count: u32, size: (u32, u32), pause: (f64, f64)) {
        for _ in 0..count {
            let tokens = self.random.between(size.0, size.1);
            self.burst(tokens);
            self.pause(pause.0, pause.1);
        }
    }

    fn burst(&mut self, tokens: u32) {
        let width = self.random.uniform(0.002, 0.008);
        self.spread(tokens, width);
    }

    /// In two to six deltas within `width` seconds.
    fn spread(&mut self, tokens: u32, width: f64) {
        let parts = self.random.between(2, 6);
        for part in 0..parts {
            let after = if part == 0 { 0.0 } else { self.random.uniform(0.0, width) };
            let count = tokens / parts + if part == 0 { tokens % parts } else { 0 };
            self.arrivals.push(Tokens { at: nanos(self.now + after), count });
        }
    }

    /// Single tokens with a jitter of a third.
    fn smooth(&mut self, seconds: (f64, f64), rate: (f64, f64)) {
        let end = self.now + self.random.uniform(seconds.0, seconds.1);
        let rate = self.random.uniform(rate.0, rate.1);
        while self.now < end {
            self.arrive(1);
            self.now += ((1.0 + 0.3 * self.random.normal()) / rate).max(0.000_5);
        }
    }
}

/// `SplitMix64` (Steele, Lea and Flood 2014): a library's generator may change with its version, and these
/// traces must not.
struct Random(u64);

impl Random {
    fn new(seed: u64, stream: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn uniform(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, least: u32, most: u32) -> u32 {
        least + (self.next() % u64::from(most - least + 1)) as u32
    }

    /// Mean 0, deviation 1: the sum of twelve uniform ones (no logarithm, so the same bits everywhere).
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform(0.0, 1.0)).sum::<f64>() - 6.0
    }
}

/// The exponential by squaring: `f64::exp` may differ in its last bit between machines.
fn exp(x: f64) -> f64 {
    (0..10).fold(1.0 + x / 1_024.0, |y, _| y * y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_traces_everywhere() {
        let sum = |seed| {
            let all = traces(seed, 2);
            assert_eq!(all.len(), 2 * PATTERNS.len());
            all.iter().flat_map(|t| &t.arrivals).fold(0u64, |sum, a| {
                sum.wrapping_mul(31)
                    .wrapping_add(a.at.0)
                    .wrapping_mul(31)
                    .wrapping_add(a.count.into())
            })
        };
        assert_eq!(sum(7), SUM_7);
        assert_ne!(sum(7), sum(8));
    }

    #[test]
    fn the_incident_is_as_published() {
        let incident = &traces(7, 1)[0];
        let groups = incident.arrivals.chunk_by(|a, b| b.at.since(a.at).0 < 30_000_000);
        let sizes: Vec<u32> = groups.map(|g| g.iter().map(|a| a.count).sum()).collect();
        assert_eq!(sizes.len(), 5);
        assert!((64..=70).contains(&sizes[0]) && (78..=84).contains(&sizes[1]) && sizes[4] == 12);
    }

    #[test]
    fn trace_a_is_like_the_one_of_the_comparison() {
        let a = trace_a();
        assert_eq!(a.arrivals.len(), 12);
        assert!((900..=1_400).contains(&a.tokens()), "about 5,456 characters: {}", a.tokens());
        assert!((14.0..19.0).contains(&a.span()));
    }

    const SUM_7: u64 = 2_256_127_591_478_023_630;
}
