//! Peers that follow a rate that they measure.

use super::CHARS;
use super::fixed::words;
use super::screen::{HZ, frames};
use crate::trace::{Tokens, Trace, nanos, seconds};
use std::collections::VecDeque;

/// chat-ui: after each word the time that its characters take at 1.1 times the arrival rate (decayed over 1 s), at
/// 300 characters a second, or at what gets the queue out by its deadline, whichever is fastest; 5 to 80 ms. A
/// word is complete when the next begins, and leaves 400 ms later at most.
///
/// On 1,000 tokens a second the real thing was measured at 229 ms of delay, this at 99 ms: there the words are
/// 1.4 ms apart, and a timer that sleeps for more than it was asked leaves the rest to the deadline.
pub(super) fn chat_ui(trace: &Trace) -> Vec<Tokens> {
    const DECAY: f64 = 1.0;
    const HEAD: f64 = 1.1;
    const FLOOR: f64 = 300.0;
    const DEADLINE: f64 = 0.4;
    const WAIT: (f64, f64) = (0.005, 0.08);
    let words = words(trace);
    let mut schedule = Vec::with_capacity(words.len());
    let mut arrivals = trace.arrivals.iter().peekable();
    let (mut recent, mut seen, mut free) = (0.0, 0.0, 0.0);
    // Words that have come, and the tokens in them that have not left.
    let (mut come, mut queue) = (0, 0.0);
    for word in &words {
        let arrived = seconds(word.at);
        let due = arrived + DEADLINE;
        let now = arrived.max(due.min(free));
        while let Some(a) = arrivals.next_if(|a| seconds(a.at) <= now) {
            let at = seconds(a.at);
            recent = recent * f64::exp((seen - at) / DECAY) + f64::from(a.count) * CHARS;
            seen = at;
        }
        while let Some(w) = words.get(come).filter(|w| seconds(w.at) <= now) {
            queue += f64::from(w.count);
            come += 1;
        }
        let chars = f64::from(word.count) * CHARS;
        queue -= f64::from(word.count);
        schedule.push(Tokens { at: nanos(now).max(word.at), count: word.count });
        let arriving = HEAD * recent * f64::exp((seen - now) / DECAY) / DECAY;
        let catch_up = queue * CHARS / (due - now).max(0.001);
        let least = if catch_up > FLOOR { 0.0 } else { WAIT.0 };
        free = now + (chars / arriving.max(FLOOR).max(catch_up)).clamp(least, WAIT.1);
    }
    schedule
}

/// mux: each frame at the fastest of three speeds, at 420 characters a second at most: the arrival rate of the
/// last 2 s, or 72; with what waits over 60 characters shown within 250 ms; and from 72 at an empty queue to 420
/// at 180 characters. Over 1,024 characters jump, and at the end all that is left.
pub(super) fn mux(trace: &Trace) -> Vec<Tokens> {
    const BASE: f64 = 72.0;
    const FASTEST: f64 = 420.0;
    const RAMP: f64 = 180.0;
    const SOFT: f64 = 60.0;
    const CATCH_UP: f64 = 0.25;
    const LIVE: f64 = 2.0;
    const JUMP: f64 = 1_024.0;
    /// Least and most characters of a frame.
    const FRAME: (f64, f64) = (2.0, 48.0);
    let (mut recent, mut window, mut credit) = (VecDeque::new(), 0u64, 0.0);
    frames(trace, |f| {
        for a in f.news {
            recent.push_back(*a);
            window += u64::from(a.count);
        }
        while let Some(a) = recent.pop_front_if(|a| seconds(a.at) < f.now - LIVE) {
            window -= u64::from(a.count);
        }
        if f.done || f.queue <= 0.0 {
            return f.queue;
        }
        let live = BASE.max(window as f64 * CHARS / f.now.clamp(0.25, LIVE));
        let over = f.queue - SOFT;
        let soft = if over > 0.0 { live + over / CATCH_UP } else { 0.0 };
        let ramp = BASE + (f.queue / RAMP).min(1.0) * (FASTEST - BASE);
        credit += live.max(soft).max(ramp).min(FASTEST) / HZ;
        let mut count = f64::floor(credit).min(FRAME.1);
        if count < FRAME.0.min(f.queue) {
            count = 0.0;
        }
        credit -= count;
        count.max(f.queue - JUMP)
    })
}

/// llm-ui: at the speed at which it has shown text in the last 2 s, a quarter faster while over 30 characters
/// wait, a sixth slower otherwise; 15 always wait, and nothing is shown before there are 30. At the end what is
/// left, at the speed it has.
///
/// This is a kind reading: parts of a character are saved up, and 60 characters a second are granted always.
/// The original rounds to whole characters a frame, which hardly lets it leave 60 a second.
pub(super) fn llm_ui(trace: &Trace) -> Vec<Tokens> {
    const READ_AHEAD: f64 = 15.0;
    const TARGET: f64 = 15.0;
    const ADJUST: f64 = 0.2;
    const LOOK_BACK: usize = 2 * HZ as usize;
    let (mut past, mut credit) = (VecDeque::from([0.0]), 0.0);
    frames(trace, |f| {
        let old = past.front().copied().unwrap_or_default();
        let span = (past.len() - 1) as f64 / HZ;
        let mut speed = ((f.shown - old) / span.max(0.25)).max(HZ);
        let least = if f.shown > 0.0 { READ_AHEAD } else { READ_AHEAD + TARGET };
        let mut count = 0.0;
        if f.done || f.queue >= least {
            if !f.done {
                let behind = f.queue > READ_AHEAD + TARGET;
                speed /= if behind { 1.0 - ADJUST } else { 1.0 + ADJUST };
            }
            credit += speed / HZ;
            count = f64::floor(credit);
            credit -= count;
        }
        if past.len() > LOOK_BACK {
            past.pop_front();
        }
        past.push_back(f.shown + count.min(f.queue));
        count
    })
}

/// Cherry Studio's second rule: at the mean rate since the first text, pulled within 0.3 s towards a cushion that
/// lasts as long as the stalls do: their peak, decaying over 6 s, 80 to 800 ms. A stall is a gap over 250 ms and
/// six times the median of the last 32; so where every gap is one, none is. Over 400 characters jump, and so
/// does all that is left at the end.
///
/// The `wait` for the first text is a gap too, and none that the median counts: it alone may arm the cushion.
pub(super) fn cherry_v2(trace: &Trace, wait: f64) -> Vec<Tokens> {
    const CUSHION: (f64, f64) = (0.08, 0.8);
    const RELEASE: f64 = 6.0;
    const PULL: f64 = 0.3;
    const JUMP: f64 = 400.0;
    const LEAST_SPAN: f64 = 1.0;
    const MOST_FRAME: f64 = 0.1;
    let (mut gaps, mut peak) = (Gaps::default(), 0.0);
    let (mut total, mut before, mut last, mut credit) = (0.0, -wait, None, 0.0);
    frames(trace, |f| {
        for a in f.news {
            let at = seconds(a.at);
            let gap = at - before;
            if total > 0.0 {
                gaps.push(gap);
            }
            if gap > gaps.stall() {
                peak = f64::max(peak, gap.min(CUSHION.1));
            }
            before = at;
            total += f64::from(a.count) * CHARS;
        }
        if f.done || f.queue <= 0.0 {
            return f.queue;
        }
        let Some(frame) = last.replace(f.now) else { return 1.0 };
        let step = f64::min(f.now - frame, MOST_FRAME);
        let rate = total / f.now.max(LEAST_SPAN);
        peak *= f64::exp(-step / RELEASE);
        let cushion = rate * peak.clamp(CUSHION.0, CUSHION.1);
        let speed = rate + (f.queue - cushion) / PULL;
        if speed > 0.0 {
            credit += speed * step;
        } else {
            credit = 1.0;
        }
        let count = f64::floor(credit);
        credit -= count;
        count.max(f.queue - JUMP)
    })
}

/// The last gaps of a stream.
#[derive(Default)]
struct Gaps(VecDeque<f64>);

impl Gaps {
    const MOST: usize = 32;

    fn push(&mut self, gap: f64) {
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back(gap);
    }

    /// What is longer is a stall.
    fn stall(&self) -> f64 {
        let mut sorted: Vec<f64> = self.0.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        (6.0 * median).max(0.25)
    }
}
