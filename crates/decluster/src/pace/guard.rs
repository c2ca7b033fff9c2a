//! The cluster guard: in any time `w` at most `cluster_burst + cluster_rate x mean x w` leaves.
//!
//! A leaky bucket behind the control law. It holds back what the law would let out in a clump; it does not
//! hold back what a deadline or a tail asks for.

use super::{SECOND, mul_div};
use crate::Nanos;

/// How full the leaky bucket is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    burst: u64,
    level: u64,
    at: Nanos,
    /// Credit per second at which it leaks from `at` on.
    leak: u64,
}

impl Guard {
    pub(super) fn new(burst: u64) -> Self {
        Self { burst, level: 0, at: Nanos::ZERO, leak: 0 }
    }

    /// So much leaves. Beyond the brim nothing is remembered: what had to leave is no debt.
    pub(super) fn spend(&mut self, now: Nanos, credit: u64) {
        self.settle(now);
        self.level = self.level.saturating_add(credit).min(self.burst);
    }

    /// Leaks at another rate from `now` on.
    pub(super) fn plan(&mut self, now: Nanos, leak: u64) {
        self.settle(now);
        self.leak = leak;
    }

    /// When there is room for so much; what exceeds the whole bucket waits for an empty one.
    pub(super) fn room(&self, credit: u64) -> Nanos {
        match (self.level + credit.min(self.burst)).checked_sub(self.burst) {
            None | Some(0) => Nanos::ZERO,
            Some(_) if self.leak == 0 => Nanos::MAX,
            Some(over) => self.at.after(Nanos(mul_div(over, SECOND, self.leak).saturating_add(1))),
        }
    }

    fn settle(&mut self, now: Nanos) {
        self.level = self.level.saturating_sub(mul_div(self.leak, now.since(self.at).0, SECOND));
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_and_then_the_leak() {
        let mut guard = Guard::new(12);
        guard.plan(Nanos::ZERO, 10);
        assert_eq!(guard.room(12), Nanos::ZERO);
        guard.spend(Nanos::ZERO, 12);
        assert_eq!(guard.room(5), Nanos(SECOND / 2 + 1));
        guard.plan(Nanos(SECOND), 20);
        assert_eq!(
            (guard.room(10), guard.room(11)),
            (Nanos::ZERO, Nanos(SECOND + SECOND / 20 + 1))
        );
    }

    #[test]
    fn what_had_to_leave_is_no_debt() {
        let mut guard = Guard::new(12);
        guard.plan(Nanos::ZERO, 12);
        guard.spend(Nanos::ZERO, 1_000);
        assert_eq!(guard.room(12), Nanos(SECOND + 1));
        assert_eq!(
            guard.room(1_000),
            Nanos(SECOND + 1),
            "more than the bucket waits for an empty one"
        );
    }
}
