//! Many scores as one row of a table.

use crate::metrics::{LIMITS_MS, STEADY, Score};
use std::fmt::Write as _;

/// One policy over a set of traces. Times are in seconds, shares between 0 and 1.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Traces.
    pub traces: usize,
    /// The longest wait for a first text.
    pub first: f64,
    /// Mean over traces of the mean, and of the 95th percentile, of the added delay.
    pub delay_mean: f64,
    /// See `delay_mean`.
    pub delay_p95: f64,
    /// The longest delay of all.
    pub delay_max: f64,
    /// Stall time over all traces, for each of [`LIMITS_MS`].
    pub stall: [f64; 5],
    /// How many stalls.
    pub stalls: [u32; 5],
    /// Stall time beyond the clairvoyant's, floored at zero for each trace.
    pub avoidable: [f64; 5],
    /// One, less the avoidable stall (250 ms) over the time in which no clairvoyant stalls either.
    pub steady: f64,
    /// Mean rate variation.
    pub variation: f64,
    /// Mean ratio of the second moment of the rate to the clairvoyant's.
    pub energy: f64,
    /// Mean share of low flow.
    pub low_flow: f64,
    /// Largest clusters.
    pub cluster: [u32; 2],
    /// Largest backlog.
    pub backlog: u64,
    /// Mean tail.
    pub tail: f64,
    /// Mean share of time in silences over 400 ms.
    pub dead: f64,
    /// Mean quality of experience.
    pub qoe: f64,
}

impl Row {
    /// Sums up one policy's scores; `clairvoyant` has those of [`taut_string`](crate::clairvoyant::taut_string)
    /// on the same traces.
    pub fn new(scores: &[Score], clairvoyant: &[Score]) -> Self {
        let mean = |value: &dyn Fn(&Score) -> Option<f64>| mean(scores.iter().filter_map(value));
        let most = |value: &dyn Fn(&Score) -> f64| scores.iter().map(value).fold(0.0, f64::max);
        let pairs = || scores.iter().zip(clairvoyant);
        let avoidable = |limit| pairs().map(|(s, c)| s.avoidable(c, limit)).sum::<f64>();
        let flowing: f64 = clairvoyant.iter().map(|c| c.span - c.stall[STEADY]).sum();
        let sum = |limit: usize| scores.iter().map(|s| s.stall[limit]).sum();
        let count = |limit: usize| scores.iter().map(|s| s.stalls[limit]).sum();
        let limits = [0, 1, 2, 3, 4];
        Self {
            traces: scores.len(),
            first: most(&|s| s.first),
            delay_mean: mean(&|s| Some(s.delay_mean)),
            delay_p95: mean(&|s| Some(s.delay_p95)),
            delay_max: most(&|s| s.delay_max),
            stall: limits.map(sum),
            stalls: limits.map(count),
            avoidable: limits.map(avoidable),
            steady: (1.0 - avoidable(STEADY) / flowing.max(1e-9)).max(0.0),
            variation: mean(&|s| s.variation),
            energy: self::mean(pairs().filter_map(|(s, c)| Some(s.energy? / c.energy?))),
            low_flow: mean(&|s| s.low_flow),
            cluster: [0, 1].map(|i: usize| scores.iter().map(|s| s.cluster[i]).max().unwrap_or(0)),
            backlog: scores.iter().map(|s| s.backlog).max().unwrap_or(0),
            tail: mean(&|s| Some(s.tail)),
            dead: mean(&|s| Some(s.dead)),
            qoe: mean(&|s| Some(s.qoe)),
        }
    }

    /// The row as a line of a Markdown table, below [`header`].
    pub fn line(&self, name: &str) -> String {
        let ms = |s: f64| format!("{:.0}", s * 1e3);
        let mut line = format!(
            "| {name} | {} / {} / {} | {:.2} | {:.3} | {:.2} |",
            ms(self.delay_mean),
            ms(self.delay_p95),
            ms(self.delay_max),
            self.steady * 100.0,
            self.variation,
            self.energy,
        );
        for limit in 0..LIMITS_MS.len() {
            let _ = write!(line, " {:.1} / {} |", self.avoidable[limit], self.stalls[limit]);
        }
        let _ = write!(
            line,
            " {:.1} | {} / {} | {} | {} | {} | {:.3} |",
            self.low_flow * 100.0,
            self.cluster[0],
            self.cluster[1],
            self.backlog,
            ms(self.tail),
            ms(self.first),
            self.qoe,
        );
        line
    }
}

/// The two header lines of the table.
pub fn header() -> String {
    let mut names = String::from("| policy | delay mean / p95 / max ms | Steady % | CV | M2 |");
    for ms in LIMITS_MS {
        let _ = write!(names, " avoidable s / stalls > {ms} ms |");
    }
    names.push_str(" low flow % | in 10 / 50 ms | backlog | tail ms | first ms | QoE |");
    let columns = names.matches('|').count() - 1;
    format!("{names}\n|{}", " --- |".repeat(columns))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), v| (sum + v, count + 1));
    sum / f64::from(count.max(1))
}
