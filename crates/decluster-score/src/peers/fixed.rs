//! Peers of a fixed cadence: on a stream that is faster than they are, their delay grows with its length.

use super::screen::ticks;
use super::{CHARS, WORD};
use crate::trace::{Tokens, Trace, nanos};
use decluster::Nanos;

/// A token bucket: it holds `burst` tokens, is full at the start, and gets `rate` of them a second.
///
/// Written as the virtual scheduling algorithm, which is the same: what counts is when the bucket would be full.
pub fn token_bucket(trace: &Trace, rate: f64, burst: u32) -> Vec<Tokens> {
    let token = nanos(1.0 / rate);
    let slack = Nanos(token.0 * u64::from(burst.saturating_sub(1)));
    let mut full = Nanos::ZERO;
    let singles = trace.arrivals.iter().flat_map(|a| std::iter::repeat_n(a.at, a.count as usize));
    let leave = singles.map(|arrival| {
        let at = arrival.max(full.since(slack));
        full = full.max(at).after(token);
        Tokens { at, count: 1 }
    });
    leave.collect()
}

/// Vercel: a word is let go when the text behind it has begun, and then nothing for 10 ms.
///
/// Under a real timer 10 ms are 11 to 12, so that its ceiling of 100 words a second was measured as 85 to 95.
pub(super) fn vercel(trace: &Trace) -> Vec<Tokens> {
    const DELAY: Nanos = Nanos::from_millis(10);
    let mut free = Nanos::ZERO;
    let leave = words(trace).into_iter().map(|word| {
        let at = word.at.max(free);
        free = at.after(DELAY);
        Tokens { at, ..word }
    });
    leave.collect()
}

/// Ant Design X: six characters every 100 ms.
pub(super) fn ant_design_x(trace: &Trace) -> Vec<Tokens> {
    const STEP: f64 = 6.0;
    ticks(trace, Nanos::from_millis(100), |_| STEP)
}

/// The words of a trace, each at the time when it is known to be complete: when the next one begins, or with
/// the last arrival.
pub(super) fn words(trace: &Trace) -> Vec<Tokens> {
    let mut words = Vec::new();
    let (mut come, mut cut) = (0, 0);
    let end = |word: usize| ((word + 1) as f64 * WORD / CHARS) as u64;
    for arrival in &trace.arrivals {
        come += u64::from(arrival.count);
        while come > end(words.len()) {
            let count = (end(words.len()) - cut) as u32;
            cut = end(words.len());
            words.push(Tokens { at: arrival.at, count });
        }
    }
    let last = trace.arrivals.last().filter(|_| come > cut);
    words.extend(last.map(|a| Tokens { at: a.at, count: (come - cut) as u32 }));
    words
}
