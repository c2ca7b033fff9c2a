//! The tails that are queued: what has to be out soon, since a tool call or the end comes behind it.

use crate::pace::Tail;
use crate::queue::Due;
use crate::time::Nanos;
use alloc::collections::VecDeque;

/// In the order they came; no tail is due before an earlier one.
#[derive(Debug)]
pub(crate) struct Tails {
    queue: VecDeque<Queued>,
    max_tail: Nanos,
    /// How long their clock has stood still.
    away: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    /// Text and marks with a smaller number are before it.
    before: u64,
    until: Due,
    /// Credit that had arrived before it.
    arrived: u64,
}

impl Tails {
    pub(crate) fn new(max_tail: Nanos) -> Self {
        Self { queue: VecDeque::new(), max_tail, away: Nanos::ZERO }
    }

    pub(crate) fn push(&mut self, now: Nanos, before: u64, arrived: u64) {
        let until = Due::of(now.after(self.max_tail), self.away);
        self.queue.push_back(Queued { before, until, arrived });
    }

    pub(crate) fn pop(&mut self) {
        self.queue.pop_front();
    }

    /// The number that the first ends at, and when what is before has to be out.
    pub(crate) fn first(&self) -> Option<(u64, Nanos)> {
        self.queue.front().map(|tail| (tail.before, tail.until.at(self.away)))
    }

    /// The first ones as the pacer sees them when so much credit has left.
    pub(crate) fn ahead(&self, left: u64) -> impl Iterator<Item = Tail> {
        let tails = self.queue.iter().take(TAILS).map(move |tail| Tail {
            left: tail.arrived.saturating_sub(left),
            until: tail.until.at(self.away),
        });
        tails.filter(|tail| tail.left > 0)
    }

    /// The consumer was away for so long, and is back `now`: each has as much more time, but not more than a new one
    /// would have. In constant time for each call, but for those that come to have as much as a new one.
    pub(crate) fn shift(&mut self, away: Nanos, now: Nanos) {
        let before = self.away;
        self.away = before.after(away);
        let most = now.after(self.max_tail);
        let tails = self.queue.iter_mut().rev();
        for tail in tails.take_while(|tail| tail.until.at(before) > most.since(away)) {
            tail.until = Due::of(most, self.away);
        }
    }
}

/// Tails that are planned for together: more in quick succession are beyond what a reader could tell apart.
const TAILS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn an_absence_moves_tails_as_if_each_were_rewritten() {
        let mut number = 1_u64;
        let mut below = |end: u64| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 33) % end
        };
        for round in 0..400 {
            let (late, max_tail) = (Nanos(100), Nanos(below(400)));
            // Every other time most of the steps reach the end of time.
            let start = if round % 2 == 0 { u64::MAX - 5_000 } else { below(300) };
            let (mut tails, mut plain) = (Tails::new(max_tail), Vec::new());
            let (mut now, mut counted) = (Nanos(start), Nanos(start));
            for _ in 0..100 {
                now = now.after(Nanos(below(2) * below(300)));
                match below(4) {
                    0 | 1 => {
                        tails.push(now, 0, 0);
                        plain.push(now.after(max_tail));
                    }
                    2 if !plain.is_empty() => {
                        tails.pop();
                        plain.remove(0);
                    }
                    _ if now.since(late) > counted => {
                        // Away since something was due, less what counts as lateness.
                        let due = counted.after(Nanos(below(now.since(late).since(counted).0)));
                        counted = now.since(late);
                        let away = counted.since(due);
                        tails.shift(away, now);
                        for until in &mut plain {
                            *until = until.after(away).min(now.after(max_tail));
                        }
                    }
                    _ => {}
                }
                let found: Vec<_> = tails.queue.iter().map(|t| t.until.at(tails.away)).collect();
                assert_eq!(found, plain, "round {round}");
            }
        }
    }
}
