//! What all streams of a process add up to.

use alloc::string::{String, ToString};
use core::fmt::{self, Write as _};
use core::sync::atomic::{AtomicU64, Ordering};

use super::{Clustering, Clusters, Sketch};
use crate::engine::Stats;
use crate::rewrite::Rewriter;
use crate::wire::{Answer, Verdict};

/// Adds up streams that are over, from any number of threads and without locks; renders the sums for Prometheus.
///
/// Whoever has a stream adds it once it is over, or when it is given up. Until then nothing of it is seen here. No sum ever
/// falls.
///
/// ```
/// use decluster::guard::Totals;
/// use decluster::{Config, Nanos, Rewriter, RewriterOptions, Rewritten};
/// let totals = Totals::default();
/// let mut rewriter = Rewriter::new(&Config::default(), RewriterOptions::default(), Nanos::ZERO)?;
/// let event = r#"data: {"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"stop"}]}"#;
/// rewriter.push_line(Nanos::ZERO, event.as_bytes())?;
/// rewriter.finish(Nanos::ZERO);
/// while !matches!(rewriter.poll(Nanos::ZERO), Rewritten::Finished) {}
/// totals.add(&rewriter);
/// assert!(totals.render().contains("decluster_streams_total{verdict=\"complete\"} 1\n"));
/// # Ok::<(), decluster::RewriterError>(())
/// ```
#[derive(Debug, Default)]
pub struct Totals {
    complete: Sum,
    failed: Sum,
    truncated: Sum,
    none: Sum,
    tokens_in: Sum,
    tokens_out: Sum,
    reasoning_tokens: Sum,
    pieces: Sum,
    hurried: Sum,
    bytes_in: Sum,
    bytes_out: Sum,
    over_budget: Sum,
    stalled: Sum,
    before: Seen,
    after: Seen,
}

/// What passed on one side of the pacer.
#[derive(Debug, Default)]
struct Seen {
    events: Sum,
    watched_ms: Sum,
    sizes: Counted<{ SIZES.len() }>,
    gaps: Counted<{ GAPS.len() }>,
}

/// How many values are up to each edge, without those up to the edge before it; and all that are beyond.
#[derive(Debug)]
struct Counted<const N: usize> {
    up_to: [Sum; N],
    beyond: Sum,
    sum: Sum,
}

#[derive(Debug, Default)]
struct Sum(AtomicU64);

impl Totals {
    /// The content type of what [`Totals::render`] gives.
    pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    /// Adds a stream that is over or given up. Each is to be added once.
    pub fn add(&self, stream: &Rewriter) {
        self.add_answer(stream.answer());
        self.add_stats(&stream.stats());
        let Clustering { before, after } = stream.clusters();
        self.before.add(before);
        self.after.add(after);
        if stream.exceeded().is_some() {
            self.over_budget.add(1);
        }
        if stream.stalled().is_some() {
            self.stalled.add(1);
        }
    }

    /// The sums in the Prometheus text format, version 0.0.4.
    pub fn render(&self) -> String {
        let mut out = Rendering(String::with_capacity(8_192));
        // Nothing fails that writes into a string.
        let _ = self.write(&mut out);
        out.0
    }

    fn add_answer(&self, answer: &Answer) {
        let verdict = match answer.verdict {
            Some(Verdict::Complete) => &self.complete,
            Some(Verdict::Failed) => &self.failed,
            Some(Verdict::Truncated) => &self.truncated,
            None => &self.none,
        };
        verdict.add(1);
        if let Some(reasoning) = answer.tokens().and_then(|tokens| tokens.reasoning) {
            self.reasoning_tokens.add(reasoning);
        }
    }

    fn add_stats(&self, stats: &Stats) {
        self.tokens_in.add(stats.tokens_in);
        self.tokens_out.add(stats.tokens_out);
        self.pieces.add(stats.pieces);
        self.hurried.add(stats.hurried);
        self.bytes_in.add(stats.bytes_in);
        self.bytes_out.add(stats.bytes_out);
    }

    fn write(&self, out: &mut Rendering) -> fmt::Result {
        out.counter(
            "decluster_streams_total",
            "Streams that are over, by how the provider ended them; none: closed before that.",
            &[
                (r#"verdict="complete""#, &self.complete),
                (r#"verdict="failed""#, &self.failed),
                (r#"verdict="truncated""#, &self.truncated),
                (r#"verdict="none""#, &self.none),
            ],
        )?;
        out.counter(
            "decluster_tokens_total",
            "LLM tokens of text that came in and went out, by estimate.",
            &[(IN, &self.tokens_in), (OUT, &self.tokens_out)],
        )?;
        out.counter(
            "decluster_reasoning_tokens_total",
            "Reasoning tokens by the provider's own count, of the streams that reported one.",
            &[("", &self.reasoning_tokens)],
        )?;
        out.counter(
            "decluster_text_bytes_total",
            "Bytes of text that came in and went out.",
            &[(IN, &self.bytes_in), (OUT, &self.bytes_out)],
        )?;
        out.counter("decluster_pieces_total", "Pieces that went out.", &[("", &self.pieces)])?;
        out.counter(
            "decluster_hurried_pieces_total",
            "Pieces for which a deadline asked for more than pacing would have given.",
            &[("", &self.hurried)],
        )?;
        out.counter(
            "decluster_reasoning_budget_exceeded_total",
            "Streams that had more reasoning than max_reasoning_tokens or a shared budget allows.",
            &[("", &self.over_budget)],
        )?;
        out.counter(
            "decluster_stalled_streams_total",
            "Streams that were ended because nothing came for max_silence.",
            &[("", &self.stalled)],
        )?;
        out.counter(
            "decluster_cluster_events_total",
            "Groups of many tokens beside a silence, before and after pacing.",
            &[(BEFORE, &self.before.events), (AFTER, &self.after.events)],
        )?;
        out.head(
            "decluster_watched_seconds_total",
            "Time from the first to the last text of each stream, before and after pacing.",
            "counter",
        )?;
        for (stage, seen) in self.stages() {
            writeln!(
                out.0,
                "decluster_watched_seconds_total{{{stage}}} {}",
                Millis(seen.watched_ms.get())
            )?;
        }
        out.head(
            "decluster_group_tokens",
            "Tokens that came or went together, before and after pacing.",
            "histogram",
        )?;
        for (stage, seen) in self.stages() {
            let edges = SIZES.map(|edge| edge.to_string());
            let sum = |sum: u64| sum.to_string();
            seen.sizes.write(&mut out.0, "decluster_group_tokens", stage, &edges, sum)?;
        }
        out.head(
            "decluster_gap_seconds",
            "Silences between such groups, before and after pacing.",
            "histogram",
        )?;
        for (stage, seen) in self.stages() {
            let edges = GAPS.map(|edge| Millis(edge).to_string());
            let sum = |sum: u64| Millis(sum).to_string();
            seen.gaps.write(&mut out.0, "decluster_gap_seconds", stage, &edges, sum)?;
        }
        Ok(())
    }

    fn stages(&self) -> [(&'static str, &Seen); 2] {
        [(BEFORE, &self.before), (AFTER, &self.after)]
    }
}

impl Seen {
    fn add(&self, clusters: &Clusters) {
        self.events.add(clusters.events());
        self.watched_ms.add(clusters.watched().0 / 1_000_000);
        self.sizes.add(&clusters.sizes(), &SIZES);
        self.gaps.add(clusters.gaps(), &GAPS);
    }
}

impl<const N: usize> Counted<N> {
    fn add(&self, values: &Sketch, edges: &[u64; N]) {
        let mut below = 0;
        for (sum, edge) in self.up_to.iter().zip(edges) {
            let count = values.count_up_to(*edge);
            sum.add(count.saturating_sub(below));
            below = below.max(count);
        }
        self.beyond.add(values.count().saturating_sub(below));
        self.sum.add(values.sum());
    }

    fn write(
        &self,
        out: &mut String,
        name: &str,
        stage: &str,
        edges: &[String; N],
        sum: impl Fn(u64) -> String,
    ) -> fmt::Result {
        let mut count = 0_u64;
        for (up_to, edge) in self.up_to.iter().zip(edges) {
            count = count.saturating_add(up_to.get());
            writeln!(out, "{name}_bucket{{{stage},le=\"{edge}\"}} {count}")?;
        }
        // Others may add meanwhile: the count is that of what stands here.
        count = count.saturating_add(self.beyond.get());
        writeln!(out, "{name}_bucket{{{stage},le=\"+Inf\"}} {count}")?;
        writeln!(out, "{name}_sum{{{stage}}} {}", sum(self.sum.get()))?;
        writeln!(out, "{name}_count{{{stage}}} {count}")
    }
}

impl<const N: usize> Default for Counted<N> {
    fn default() -> Self {
        let up_to = [(); N].map(|()| Sum::default());
        Self { up_to, beyond: Sum::default(), sum: Sum::default() }
    }
}

impl Sum {
    fn add(&self, more: u64) {
        // It stands still at its end rather than begin anew.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| {
            Some(sum.saturating_add(more))
        });
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Rendering(String);

impl Rendering {
    fn head(&mut self, name: &str, help: &str, kind: &str) -> fmt::Result {
        writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}")
    }

    fn counter(&mut self, name: &str, help: &str, values: &[(&str, &Sum)]) -> fmt::Result {
        self.head(name, help, "counter")?;
        for (label, sum) in values {
            let value = sum.get();
            if label.is_empty() {
                writeln!(self.0, "{name} {value}")?;
            } else {
                writeln!(self.0, "{name}{{{label}}} {value}")?;
            }
        }
        Ok(())
    }
}

/// Milliseconds, written in seconds.
struct Millis(u64);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 as f64 / 1e3)
    }
}

const IN: &str = r#"stage="in""#;
const OUT: &str = r#"stage="out""#;
const BEFORE: &str = r#"stage="before""#;
const AFTER: &str = r#"stage="after""#;
/// Edges of the sizes of groups, in tokens.
const SIZES: [u64; 8] = [1, 5, 10, 20, 40, 80, 150, 300];
/// Edges of the silences between them, in milliseconds.
const GAPS: [u64; 10] = [50, 100, 250, 500, 1_000, 1_500, 2_500, 5_000, 10_000, 30_000];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_stays_short_whatever_was_counted() {
        let totals = Totals::default();
        let Totals { complete, failed, truncated, none, tokens_in, tokens_out, .. } = &totals;
        let Totals { reasoning_tokens, pieces, hurried, bytes_in, bytes_out, .. } = &totals;
        let Totals { over_budget, stalled, before, after, .. } = &totals;
        let mut sums = alloc::vec![complete, failed, truncated, none, tokens_in, tokens_out];
        sums.extend([reasoning_tokens, pieces, hurried, bytes_in, bytes_out, over_budget, stalled]);
        for Seen { events, watched_ms, sizes, gaps } in [before, after] {
            sums.extend([events, watched_ms, &sizes.beyond, &sizes.sum, &gaps.beyond, &gaps.sum]);
            sums.extend(sizes.up_to.iter().chain(&gaps.up_to));
        }
        let empty = totals.render();
        for sum in sums {
            sum.add(u64::MAX);
        }
        let full = totals.render();
        let zeros = |text: &str| text.lines().filter(|line| line.ends_with(" 0")).count();
        assert!(zeros(&empty) > 60 && zeros(&full) == 0, "{full}");
        // Callers from C are promised that 32 KiB are enough; new sums need room, too.
        assert!(full.len() < 16_384, "{}", full.len());
    }
}
