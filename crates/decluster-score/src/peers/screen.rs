//! What the models run on: a queue of characters, and a clock that asks how many of them to show.

use super::CHARS;
use crate::trace::{Tokens, Trace, nanos, seconds};
use decluster::Nanos;

/// Frames a second of a display.
pub(super) const HZ: f64 = 60.0;

/// One frame or tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// Seconds since the first arrival.
    pub(super) now: f64,
    /// Characters that have come and not been shown.
    pub(super) queue: f64,
    /// Characters that have been shown.
    pub(super) shown: f64,
    /// All has come.
    pub(super) done: bool,
    /// What has come since the frame before.
    pub(super) news: &'a [Tokens],
}

/// Asks at every frame of the display, from the first arrival on.
pub(super) fn frames(trace: &Trace, step: impl FnMut(Frame<'_>) -> f64) -> Vec<Tokens> {
    play(trace, step, |k, _, _| nanos(k as f64 / HZ))
}

/// Asks every `period` while characters wait. One that comes into an empty queue is asked about at once,
/// though no sooner than a period after the tick before.
pub(super) fn ticks(
    trace: &Trace,
    period: Nanos,
    step: impl FnMut(Frame<'_>) -> f64,
) -> Vec<Tokens> {
    play(trace, step, |_, now, wake| now.after(period).max(wake))
}

/// Shows as many characters as `step` says, at the times that `next` gives: from the number of the frame, the
/// time of the one before and, if no character waits, the next arrival. A token leaves with its last character.
fn play(
    trace: &Trace,
    mut step: impl FnMut(Frame<'_>) -> f64,
    next: impl Fn(u64, Nanos, Nanos) -> Nanos,
) -> Vec<Tokens> {
    let mut schedule = Vec::new();
    let (mut rest, mut now, mut shown) = (trace.arrivals.as_slice(), Nanos::ZERO, 0.0);
    let (mut come, mut gone) = (0u64, 0u64);
    for frame in 1.. {
        let (news, later) = rest.split_at(rest.iter().take_while(|a| a.at <= now).count());
        rest = later;
        come += news.iter().map(|a| u64::from(a.count)).sum::<u64>();
        let queue = ((come as f64 * CHARS + SLIP).floor() - shown).max(0.0);
        let done = rest.is_empty();
        let count = step(Frame { now: seconds(now), queue, shown, done, news }).min(queue);
        shown += count;
        let empty = queue - count < SLIP;
        let out = if empty { come } else { whole(shown) };
        if out > gone {
            schedule.push(Tokens { at: now, count: (out - gone) as u32 });
            gone = out;
        }
        if empty && done {
            break;
        }
        let wake = rest.first().filter(|_| empty).map_or(Nanos::ZERO, |a| a.at);
        now = next(frame, now, wake);
    }
    schedule
}

/// The tokens in the first so many characters. They end at whole ones: otherwise the last tenth of a token would
/// wait for a character more, which a slow rule takes seconds for.
fn whole(chars: f64) -> u64 {
    let more = (chars + SLIP).floor() + 1.0;
    ((more - SLIP) / CHARS).ceil() as u64 - 1
}

/// Part of a character that floating point may lose.
const SLIP: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_end_at_whole_characters() {
        // At 4, 8, 12, 17 … and the tenth at 43.
        let ends =
            [(0.0, 0), (3.9, 0), (4.0, 1), (7.0, 1), (8.0, 2), (12.0, 3), (16.0, 3), (17.0, 4)];
        for (chars, tokens) in ends.into_iter().chain([(42.0, 9), (43.0, 10)]) {
            assert_eq!(whole(chars), tokens, "{chars}");
        }
    }

    #[test]
    fn frames_keep_their_grid_and_ticks_wake_up() {
        let at = |ms, count| Tokens { at: Nanos::from_millis(ms), count };
        let trace = Trace::new("t", "t", vec![at(0, 1), at(40, 2)]);
        let shown = |schedule: Vec<Tokens>| schedule.iter().map(|t| t.at.0 / 1_000).collect();
        let frames: Vec<u64> = shown(frames(&trace, |_| 4.0));
        assert_eq!(frames, [0, 50_000, 66_666]);
        let ticks: Vec<u64> = shown(ticks(&trace, Nanos::from_millis(25), |_| 4.0));
        assert_eq!(ticks, [0, 40_000, 65_000]);
    }
}
