//! Peers that drain their backlog: the more waits, the more goes. What they bridge is about as long as the time
//! in which they would drain it, and so is what they delay even a steady stream by.

use super::WORD;
use super::screen::{HZ, frames, ticks};
use crate::trace::{Tokens, Trace};
use decluster::Nanos;
use std::collections::VecDeque;

/// `NextChat`: each frame a sixtieth of what waits, one character at least; at the end all that is left.
pub(super) fn nextchat(trace: &Trace) -> Vec<Tokens> {
    const SHARE: f64 = 60.0;
    frames(trace, |f| if f.done { f.queue } else { (f.queue / SHARE).round().max(1.0) })
}

/// lobe-chat: as many characters a second as wait, ten at least. The speed nears that by half a percent each
/// frame, and by 0.08 % more for each character that the queue has changed by. It is back at ten characters a
/// second whenever the queue has been empty.
pub(super) fn lobe_chat(trace: &Trace) -> Vec<Tokens> {
    const START: f64 = 10.0;
    const NEAR: f64 = 0.005;
    const NEAR_EACH: f64 = 0.000_8;
    let (mut speed, mut before, mut time) = (START, 0.0, 0.0);
    frames(trace, |f| {
        if f.queue <= 0.0 {
            (speed, before, time) = (START, 0.0, 0.0);
            return 0.0;
        }
        time += 1.0 / HZ;
        let near = (f64::abs(f.queue - before) * NEAR_EACH + NEAR).min(1.0);
        speed += (f.queue.max(START) - speed) * near;
        let count = (time * speed).floor();
        time -= count / speed;
        before = f.queue - count.min(f.queue);
        count
    })
}

/// `LibreChat`: every 25 ms the share of what waits that drains it in 250 ms, four characters at least, and on to
/// the end of the word. At the end the rest in ten equal parts.
///
/// Under a real timer 25 ms are more, so that the delay of 60 words a second was measured as 168 ms, and is 133 ms
/// here.
pub(super) fn librechat(trace: &Trace) -> Vec<Tokens> {
    const TICK: Nanos = Nanos::from_millis(25);
    const TICKS: f64 = 10.0;
    const LEAST: f64 = 4.0;
    let mut rest: f64 = 0.0;
    ticks(trace, TICK, |f| {
        if f.done && rest > 0.0 {
            return rest;
        }
        let piece = (f.queue / TICKS).ceil().max(LEAST);
        if f.done {
            rest = piece;
        }
        ((f.shown + piece) / WORD).ceil() * WORD - f.shown
    })
}

/// assistant-ui: a character takes 5 ms, or less, so that what waits would take 250 ms.
pub(super) fn assistant_ui(trace: &Trace) -> Vec<Tokens> {
    const SLOWEST: f64 = 0.005;
    const DRAIN: f64 = 0.25;
    let mut since: Option<f64> = None;
    frames(trace, |f| {
        if f.queue <= 0.0 {
            since = None;
            return 0.0;
        }
        let each = SLOWEST.min(DRAIN / f.queue);
        let from = *since.get_or_insert(f.now);
        let count = ((f.now - from) / each).floor();
        since = Some(from + count * each);
        count
    })
}

/// Cherry Studio's first rule: each frame a fifth of the words, blanks and signs that wait, one at least; at the
/// end all that is left.
pub(super) fn cherry_v1(trace: &Trace) -> Vec<Tokens> {
    const SHARE: f64 = 5.0;
    /// A word, or the blank behind it.
    const UNIT: f64 = WORD / 2.0;
    frames(
        trace,
        |f| {
            if f.done { f.queue } else { (f.queue / UNIT / SHARE).floor().max(1.0) * UNIT }
        },
    )
}

/// term-llm: every 16 ms one word up to a fifth of a nominal 500 characters that wait, five over four fifths of
/// them, and in between one and four times the fill. Nothing is faster than five, so 300 words a second is all.
pub(super) fn term_llm(trace: &Trace) -> Vec<Tokens> {
    const TICK: Nanos = Nanos::from_millis(16);
    const NOMINAL: f64 = 500.0;
    ticks(trace, TICK, |f| {
        let fill = f.queue / NOMINAL;
        let words = match fill {
            ..0.2 => 1.0,
            ..=0.8 => (1.0 + 4.0 * fill).floor(),
            _ => 5.0,
        };
        words * WORD
    })
}

/// Codex: every 50 ms one line. When eight lines wait, or one has for 120 ms, it changes gear: what drains the
/// queue in 24 ticks, or in 16 when 64 lines wait or one has for 300 ms, between 2 and 24 lines. Back when at
/// most two wait for at most 40 ms, and that for 250 ms; and not up again within 250 ms, unless it is severe.
///
/// A trace has no lines. Twelve tokens are one here, a list item rather than a paragraph: of prose, which is one
/// line to its end, the real thing shows nothing until then.
pub(super) fn codex(trace: &Trace) -> Vec<Tokens> {
    const TICK: Nanos = Nanos::from_millis(50);
    const HOLD: Nanos = Nanos::from_millis(250);
    let lines = lines(trace);
    let (mut next, mut queue) = (0, VecDeque::new());
    let (mut gear, mut now) = (Gear::Smooth { left: None }, Nanos::ZERO);
    let mut schedule = Vec::new();
    while next < lines.len() || !queue.is_empty() {
        while let Some(line) = lines.get(next).filter(|l| l.at <= now) {
            queue.push_back(*line);
            next += 1;
        }
        let depth = queue.len();
        let age = queue.front().map_or(Nanos::ZERO, |l: &Tokens| now.since(l.at));
        let severe = depth >= 64 || age >= Nanos::from_millis(300);
        gear = match gear {
            Gear::CatchUp { .. } if depth == 0 => Gear::Smooth { left: Some(now) },
            Gear::Smooth { left } => {
                let pressed = depth >= 8 || age >= Nanos::from_millis(120);
                let free = left.is_none_or(|t| now.since(t) >= HOLD);
                let up = pressed && (free || severe);
                if up { Gear::CatchUp { calm: None } } else { gear }
            }
            Gear::CatchUp { calm } if depth <= 2 && age <= Nanos::from_millis(40) => {
                let since = calm.unwrap_or(now);
                if now.since(since) >= HOLD {
                    Gear::Smooth { left: Some(now) }
                } else {
                    Gear::CatchUp { calm: Some(since) }
                }
            }
            Gear::CatchUp { .. } => Gear::CatchUp { calm: None },
        };
        let batch = match gear {
            Gear::Smooth { .. } => 1,
            Gear::CatchUp { .. } => depth.div_ceil(if severe { 16 } else { 24 }).clamp(2, 24),
        };
        let count: u32 = queue.drain(..batch.min(depth)).map(|l| l.count).sum();
        if count > 0 {
            schedule.push(Tokens { at: now, count });
        }
        now = now.after(TICK);
    }
    schedule
}

/// How Codex drives: when it has changed down, or since when it could.
#[derive(Clone, Copy)]
enum Gear {
    Smooth { left: Option<Nanos> },
    CatchUp { calm: Option<Nanos> },
}

/// The lines of a trace, each when it is complete; the last with the last arrival.
fn lines(trace: &Trace) -> Vec<Tokens> {
    const LINE: u32 = 12;
    let mut lines = Vec::new();
    let mut part = 0;
    for arrival in &trace.arrivals {
        let line = Tokens { at: arrival.at, count: LINE };
        part += arrival.count;
        lines.extend(std::iter::repeat_n(line, (part / LINE) as usize));
        part %= LINE;
    }
    let last = trace.arrivals.last().filter(|_| part > 0);
    lines.extend(last.map(|a| Tokens { at: a.at, count: part }));
    lines
}
