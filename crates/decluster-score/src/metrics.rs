//! What is measured of one schedule.

use crate::trace::{Tokens, Trace, each, seconds};
use decluster::Nanos;

/// The silences that count as stalls, in milliseconds. Several, since dripping a token just below any one of
/// them would hide a stall from it.
pub const LIMITS_MS: [u64; 5] = [150, 200, 250, 500, 1_000];

/// Place of the 250 ms limit, by which streams are called steady.
pub(crate) const STEADY: usize = 2;

/// The measures of one schedule. Times are in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Tokens of the trace.
    pub tokens: u64,
    /// From the first arrival to the last.
    pub span: f64,
    /// From the first arrival to the first release.
    pub first: f64,
    /// Added delay of a token: mean, 95th percentile, most.
    pub delay_mean: f64,
    /// See `delay_mean`.
    pub delay_p95: f64,
    /// See `delay_mean`.
    pub delay_max: f64,
    /// Sum of what silences exceed each of [`LIMITS_MS`] by.
    pub stall: [f64; 5],
    /// How many exceed it.
    pub stalls: [u32; 5],
    /// Share of the played time that lies in silences over 400 ms.
    pub dead: f64,
    /// Standard deviation over mean of the tokens in windows of 250 ms, the last partial one included;
    /// `None` for fewer than four windows.
    pub variation: Option<f64>,
    /// Sum of squares of the same counts over the window: about the integral of the squared rate.
    pub energy: Option<f64>,
    /// Share of windows of 500 ms (every 100 ms) with less than a quarter of the stream's mean; `None` for
    /// schedules of a second or less.
    pub low_flow: Option<f64>,
    /// Most tokens in any 10 ms, in any 50 ms.
    pub cluster: [u32; 2],
    /// Most tokens that had arrived and not been released.
    pub backlog: u64,
    /// From the last arrival to the last release.
    pub tail: f64,
    /// Quality of experience after Andes (arXiv 2404.16283) for a reader of 5 tokens a second: one, less the
    /// lateness of digested tokens over its normaliser.
    pub qoe: f64,
}

impl Score {
    /// Measures a schedule against its trace.
    ///
    /// # Panics
    /// If the schedule does not release every token once, in order, and none before it arrived: then it is
    /// none of this trace.
    #[allow(clippy::panic, reason = "a schedule that is wrong must not get a score")]
    pub fn new(trace: &Trace, schedule: &[Tokens]) -> Self {
        let (arrived, released) = (each(&trace.arrivals), each(schedule));
        let n = released.len();
        assert!(n > 0 && arrived.len() == n, "{}: {n} tokens of {}", trace.name, arrived.len());
        assert!(released.is_sorted(), "{}: a schedule runs backwards", trace.name);
        let early = arrived.iter().zip(&released).position(|(a, r)| r < a);
        assert!(early.is_none(), "{}: token {early:?} leaves before it comes", trace.name);
        let r: Vec<f64> = released.iter().map(|t| seconds(*t)).collect();
        let mut delays: Vec<f64> =
            arrived.iter().zip(&released).map(|(a, r)| seconds(r.since(*a))).collect();
        let (first, mean) = (delays[0], delays.iter().sum::<f64>() / n as f64);
        delays.sort_by(f64::total_cmp);
        let gaps: Vec<u64> = released.windows(2).map(|w| w[1].since(w[0]).0).collect();
        let over = |ms: u64| gaps.iter().filter(move |g| **g > ms * 1_000_000);
        let played = r[n - 1] - r[0];
        let counts = windows(&r);
        Self {
            tokens: n as u64,
            span: trace.span(),
            first,
            delay_mean: mean,
            delay_p95: delays[(0.95 * (n - 1) as f64) as usize],
            delay_max: delays[n - 1],
            stall: LIMITS_MS.map(|ms| over(ms).map(|g| *g as f64 / 1e9 - ms as f64 / 1e3).sum()),
            stalls: LIMITS_MS.map(|ms| over(ms).count() as u32),
            dead: over(400).map(|g| *g as f64 / 1e9).sum::<f64>() / played.max(1e-9),
            variation: counts.as_deref().map(variation),
            energy: counts.map(|c| c.iter().map(|x| x * x).sum::<f64>() / WINDOW),
            low_flow: low_flow(&r, trace.span()),
            cluster: [10, 50].map(|ms| cluster(&released, Nanos::from_millis(ms))),
            backlog: backlog(&arrived, &released),
            tail: r[n - 1] - seconds(arrived[n - 1]),
            qoe: experience(&r),
        }
    }

    /// Stall time beyond that of a clairvoyant with the same bound, never below zero: a stream that does
    /// better pays for no other.
    pub fn avoidable(&self, clairvoyant: &Self, limit: usize) -> f64 {
        (self.stall[limit] - clairvoyant.stall[limit]).max(0.0)
    }
}

const WINDOW: f64 = 0.25;

/// Tokens in each 250 ms from the first release to the last.
fn windows(r: &[f64]) -> Option<Vec<f64>> {
    let (start, end) = (r[0], r[r.len() - 1]);
    let mut counts = vec![0.0; ((end - start) / WINDOW + 1e-9) as usize + 1];
    for t in r {
        let last = counts.len() - 1;
        counts[(((t - start) / WINDOW) as usize).min(last)] += 1.0;
    }
    (counts.len() >= 4).then_some(counts)
}

fn variation(counts: &[f64]) -> f64 {
    let n = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / n;
    let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / n;
    variance.sqrt() / mean
}

fn low_flow(r: &[f64], span: f64) -> Option<f64> {
    let (start, end) = (r[0], r[r.len() - 1]);
    if end - start <= 1.0 {
        return None;
    }
    let least = 0.25 * 0.5 * r.len() as f64 / if span > 1.0 { span } else { end - start };
    let (mut low, mut all, mut x) = (0, 0, start);
    while x + 0.5 <= end {
        let count = r.partition_point(|t| *t < x + 0.5) - r.partition_point(|t| *t < x);
        low += u32::from((count as f64) < least);
        all += 1;
        x += 0.1;
    }
    (all > 0).then(|| f64::from(low) / f64::from(all))
}

/// Most tokens in any closed window of this length.
fn cluster(released: &[Nanos], window: Nanos) -> u32 {
    let mut from = 0;
    let sizes = released.iter().enumerate().map(|(to, t)| {
        while t.since(released[from]) > window {
            from += 1;
        }
        (to - from + 1) as u32
    });
    sizes.max().unwrap_or_default()
}

/// What is released at a time counts as gone at that time.
fn backlog(arrived: &[Nanos], released: &[Nanos]) -> u64 {
    let mut gone = 0;
    let sizes = arrived.iter().enumerate().map(|(i, t)| {
        while gone < i && released[gone] <= *t {
            gone += 1;
        }
        (i + 1 - gone) as u64
    });
    sizes.max().unwrap_or_default()
}

fn experience(r: &[f64]) -> f64 {
    const READING: f64 = 5.0;
    let (mut digested, mut late, mut all) = (f64::NEG_INFINITY, 0.0, 0.0);
    for (i, t) in r.iter().enumerate() {
        digested = t.max(digested + 1.0 / READING);
        late += (digested - i as f64 / READING).max(0.0);
        all += digested;
    }
    if all > 0.0 { 1.0 - late / all } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(events: &[(u64, u32)]) -> Vec<Tokens> {
        events
            .iter()
            .map(|(ms, count)| Tokens { at: Nanos::from_millis(*ms), count: *count })
            .collect()
    }

    fn score(arrivals: &[(u64, u32)], releases: &[(u64, u32)]) -> Score {
        Score::new(&Trace::new("t", "t", at(arrivals)), &at(releases))
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn delays_tail_and_backlog() {
        // Ten tokens at 0, one at 900 ms; released one each 100 ms.
        let releases: Vec<_> = (0..11).map(|k| (k * 100, 1)).collect();
        let s = score(&[(0, 10), (900, 1)], &releases);
        assert_eq!(s.tokens, 11);
        close(s.span, 0.9);
        close(s.first, 0.0);
        // 0, 0.1 … 0.9 and 1.0 - 0.9.
        close(s.delay_mean, 4.6 / 11.0);
        close(s.delay_max, 0.9);
        close(s.delay_p95, 0.8); // the tenth of eleven, counted from zero: 0.95 x 10 = 9
        close(s.tail, 0.1);
        assert_eq!(s.backlog, 9, "one leaves as it comes");
    }

    #[test]
    fn stalls_at_every_limit() {
        // Silences of 180, 240, 400, 700 and 1,200 ms.
        let s = score(&[(0, 6)], &[(0, 1), (180, 1), (420, 1), (820, 1), (1_520, 1), (2_720, 1)]);
        assert_eq!(s.stalls, [5, 4, 3, 2, 1]);
        close(s.stall[0], 0.03 + 0.09 + 0.25 + 0.55 + 1.05);
        close(s.stall[1], 0.04 + 0.20 + 0.50 + 1.00);
        close(s.stall[2], 0.15 + 0.45 + 0.95);
        close(s.stall[3], 0.20 + 0.70);
        close(s.stall[4], 0.20);
        close(s.dead, (0.7 + 1.2) / 2.72); // 400 ms is not over 400 ms
    }

    #[test]
    fn a_stall_just_under_a_limit_shows_at_the_next() {
        let drip: Vec<_> = (0..10).map(|k| (k * 240, 1)).collect();
        let s = score(&[(0, 10)], &drip);
        close(s.stall[2], 0.0);
        close(s.stall[1], 9.0 * 0.04);
        close(s.low_flow.unwrap(), 0.0); // even, if slow: 2 or 3 of 10 / 2.16 s each half second
    }

    #[test]
    fn variation_counts_the_last_partial_window() {
        // Windows of 250 ms from 0: 4, 4, 4 and, flushed at the end, 12.
        let s = score(&[(0, 24)], &[(0, 4), (250, 4), (500, 4), (760, 12)]);
        let (mean, square) = (6.0, (3.0 * 4.0 + 36.0) / 4.0);
        close(s.variation.unwrap(), f64::sqrt(square) / mean);
        close(s.energy.unwrap(), (3.0 * 16.0 + 144.0) / 0.25);
        assert_eq!(score(&[(0, 2)], &[(0, 1), (740, 1)]).variation, None, "three windows");
    }

    #[test]
    fn low_flow_sees_a_trickle() {
        // 40 tokens in 2 s: a quarter of the mean is 2.5 a window. One token at 0, the rest from 1.5 s on.
        let s = score(&[(0, 1), (1_500, 38), (2_000, 1)], &[(0, 1), (1_500, 38), (2_000, 1)]);
        // Sixteen windows begin at 0, 0.1 … 1.5; those from 1.1 on hold 1.5 s. (0 … 1.0: low.)
        let low = s.low_flow.unwrap();
        assert!((low - 11.0 / 16.0).abs() < 0.07, "{low}");
    }

    #[test]
    fn clusters_are_closed_windows() {
        let s = score(&[(0, 20)], &[(0, 5), (10, 5), (21, 4), (61, 6)]);
        assert_eq!(s.cluster, [10, 14]);
    }

    #[test]
    fn a_reader_who_is_ahead_of_the_text_is_late() {
        // Two tokens a second apart for a reader of five a second: digested at 0 and at 1 s, expected at 0
        // and 0.2 s; so 1 - 0.8 / 1.
        close(score(&[(0, 2)], &[(0, 1), (1_000, 1)]).qoe, 0.2);
        close(score(&[(0, 2)], &[(0, 2)]).qoe, 1.0);
    }

    #[test]
    fn avoidable_stall_pays_for_no_other() {
        let (slow, quick) = (score(&[(0, 2)], &[(0, 1), (900, 1)]), score(&[(0, 2)], &[(0, 2)]));
        close(slow.avoidable(&quick, STEADY), 0.65);
        close(quick.avoidable(&slow, STEADY), 0.0);
    }

    #[test]
    #[should_panic(expected = "leaves before it comes")]
    fn a_schedule_before_its_trace_gets_no_score() {
        score(&[(0, 1), (100, 1)], &[(0, 1), (99, 1)]);
    }

    #[test]
    #[should_panic(expected = "1 tokens of 2")]
    fn a_schedule_that_loses_a_token_gets_no_score() {
        score(&[(0, 2)], &[(0, 1)]);
    }
}
