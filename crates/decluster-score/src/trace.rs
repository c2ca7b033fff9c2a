//! Arrival traces: what is played, and how it is read.

use decluster::Nanos;
use serde::Deserialize;
use std::fmt;

/// So many tokens at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// When, counted from the trace's first arrival.
    pub at: Nanos,
    /// How many.
    pub count: u32,
}

/// The arrivals of one stream, in order of time; the first is at zero and none is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// A name for messages.
    pub name: String,
    /// What it belongs to: a file, a pattern.
    pub group: String,
    /// What arrived when.
    pub arrivals: Vec<Tokens>,
}

/// A line that is no trace.
#[derive(Debug)]
pub struct TraceError(pub(crate) String);

/// One line of a trace file. Other members are ignored.
#[derive(Deserialize)]
struct Line {
    t_ms: Vec<f64>,
    tokens: Vec<u32>,
}

impl Trace {
    /// A trace of arrivals in any order, with time counted from the first of them.
    pub fn new(name: impl Into<String>, group: impl Into<String>, arrivals: Vec<Tokens>) -> Self {
        let mut arrivals: Vec<_> = arrivals.into_iter().filter(|a| a.count > 0).collect();
        arrivals.sort_by_key(|a| a.at);
        let start = arrivals.first().map_or(Nanos::ZERO, |a| a.at);
        for arrival in &mut arrivals {
            arrival.at = arrival.at.since(start);
        }
        Self { name: name.into(), group: group.into(), arrivals }
    }

    /// Reads `{"t_ms": [...], "tokens": [...]}`: times in milliseconds that do not fall, and as many counts.
    ///
    /// # Errors
    /// [`TraceError`] says what is wrong with the line.
    pub fn from_json(name: &str, group: &str, line: &str) -> Result<Self, TraceError> {
        Self::with_start(name, group, line).map(|(trace, _)| trace)
    }

    /// The same, with the time that stands at the first token, in milliseconds.
    pub(crate) fn with_start(
        name: &str,
        group: &str,
        line: &str,
    ) -> Result<(Self, f64), TraceError> {
        let line: Line = serde_json::from_str(line).map_err(|e| {
            // There is one line; its number in the file is the caller's to say.
            TraceError(e.to_string().replace(" at line 1 column ", " at column "))
        })?;
        if line.t_ms.len() != line.tokens.len() {
            let (times, counts) = (line.t_ms.len(), line.tokens.len());
            return Err(TraceError(format!("{times} times in t_ms, but {counts} tokens")));
        }
        let mut arrivals = Vec::with_capacity(line.t_ms.len());
        let mut before = f64::NEG_INFINITY;
        let start = line.t_ms.first().copied().unwrap_or_default();
        let first = line.t_ms.iter().zip(&line.tokens).find(|(_, count)| **count > 0);
        let first = first.map_or(start, |(ms, _)| *ms);
        for (place, (ms, count)) in line.t_ms.into_iter().zip(line.tokens).enumerate() {
            if !(ms >= before && (0.0..MAX_MS).contains(&(ms - start))) {
                return Err(TraceError(format!(
                    "t_ms[{place}] = {ms:e} is before the one before it, or out of range"
                )));
            }
            before = ms;
            arrivals.push(Tokens { at: nanos((ms - start) / 1e3), count });
        }
        let trace = Self::new(name, group, arrivals);
        match trace.tokens() {
            0 => Err(TraceError("no token arrives".into())),
            1..=MAX_TOKENS => Ok((trace, first)),
            tokens => Err(TraceError(format!("{tokens} tokens are more than {MAX_TOKENS}"))),
        }
    }

    /// The same trace without what arrives after `end`.
    #[must_use]
    pub fn until(mut self, end: Nanos) -> Self {
        self.arrivals.retain(|a| a.at <= end);
        self
    }

    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.arrivals.iter().map(|a| u64::from(a.count)).sum()
    }

    /// Seconds from the first arrival to the last.
    pub fn span(&self) -> f64 {
        self.arrivals.last().map_or(0.0, |a| seconds(a.at))
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TraceError {}

/// The time of every single token.
pub(crate) fn each(tokens: &[Tokens]) -> Vec<Nanos> {
    tokens.iter().flat_map(|t| std::iter::repeat_n(t.at, t.count as usize)).collect()
}

pub(crate) fn seconds(t: Nanos) -> f64 {
    t.0 as f64 / 1e9
}

pub(crate) fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

/// Longest trace that is read: a day.
const MAX_MS: f64 = 86_400_000.0;
/// Most tokens of a trace that is read, since every one of them is kept: more than any model gives at once.
const MAX_TOKENS: u64 = 2_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_from_its_first_arrival() {
        let t = Trace::from_json(
            "a",
            "g",
            r#"{"t_ms": [700, 700.5, 900], "tokens": [2, 0, 3], "x": 1}"#,
        );
        let t = t.unwrap();
        assert_eq!(t.arrivals[1], Tokens { at: Nanos::from_millis(200), count: 3 });
        assert_eq!((t.arrivals.len(), t.tokens(), t.span()), (2, 5, 0.2));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, says) in [
            ("{}", "missing field `t_ms` at column 2"),
            (r#"{"t_ms": [1], "tokens": []}"#, "1 times in t_ms, but 0 tokens"),
            (r#"{"t_ms": [5, 4], "tokens": [1, 1]}"#, "t_ms[1] = 4e0"),
            (r#"{"t_ms": [0, 1e300], "tokens": [1, 1]}"#, "t_ms[1] = 1e300"),
            (r#"{"t_ms": [0], "tokens": [0]}"#, "no token arrives"),
            (r#"{"t_ms": [0], "tokens": [-1]}"#, "-1"),
            (r#"{"t_ms": [0, 1], "tokens": [1, 2000000]}"#, "2000001 tokens are more than"),
        ] {
            let error = Trace::from_json("a", "g", line).unwrap_err().to_string();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
