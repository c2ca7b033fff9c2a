//! What is owed, and what may be spent: the arithmetic of releases, without any law of its own.

use super::{CREDIT, SECOND, mul_div};
use crate::Nanos;

/// Spending as a debt that is paid off at the rate; the next release is due when nothing is owed.
#[derive(Debug)]
pub(super) struct Debt {
    /// Credit owed at `at`.
    owed: u64,
    at: Nanos,
    /// Credit per second from `at` on.
    rate: u64,
    /// The end of time before the first release.
    last: Nanos,
    /// What was released last.
    spent: u64,
}

impl Debt {
    pub(super) fn new() -> Self {
        Self { owed: 0, at: Nanos::ZERO, rate: 0, last: Nanos::MAX, spent: 0 }
    }

    /// Pays for what was just released.
    pub(super) fn spend(&mut self, now: Nanos, credit: u64) {
        self.settle(now);
        self.owed = self.owed.saturating_add(credit);
        self.last = now;
        self.spent = credit;
    }

    /// Forgives what is owed for anything but the last release.
    pub(super) fn forgive(&mut self, now: Nanos) {
        self.settle(now);
        self.owed = self.owed.min(self.spent);
    }

    /// Changes the rate at `now`; gives the time when nothing is owed any more.
    pub(super) fn plan(&mut self, now: Nanos, rate: u64) -> Nanos {
        self.settle(now);
        self.rate = rate;
        match (self.owed, rate) {
            (0, _) => now,
            (_, 0) => Nanos::MAX,
            (owed, rate) => now.after(Nanos(mul_div(owed, SECOND, rate))),
        }
    }

    pub(super) fn rate(&self) -> u64 {
        self.rate
    }

    /// The time of the last release, the end of time before the first.
    pub(super) fn last(&self) -> Nanos {
        self.last
    }

    fn settle(&mut self, now: Nanos) {
        let paid = mul_div(self.rate, now.since(self.at).0, SECOND);
        self.owed = self.owed.saturating_sub(paid);
        self.at = self.at.max(now);
    }
}

/// The classic token bucket: saves up to `burst`, may run into debt by what cannot be cut.
#[derive(Debug)]
pub(super) struct TokenBucket {
    rate: u64,
    burst: i64,
    level: i64,
    at: Nanos,
    /// The rate in force since `at`: the bucket's own, or more where a deadline asks for it.
    filling: u64,
}

impl TokenBucket {
    pub(super) fn new(rate: u64, burst: u64) -> Self {
        let burst = i64::try_from(burst).unwrap_or(i64::MAX);
        Self { rate, burst, level: burst, at: Nanos::ZERO, filling: rate }
    }

    pub(super) fn rate(&self) -> u64 {
        self.rate
    }

    pub(super) fn spend(&mut self, now: Nanos, credit: u64) {
        self.refill(now);
        self.level = self.level.saturating_sub_unsigned(credit);
    }

    /// When there is a whole token to spend.
    pub(super) fn plan(&mut self, now: Nanos, filling: u64) -> Nanos {
        self.refill(now);
        self.filling = filling;
        let least = CREDIT.cast_signed().min(self.burst);
        match u64::try_from(least.saturating_sub(self.level)) {
            Ok(missing) => now.after(Nanos(mul_div(missing, SECOND, filling))),
            Err(_) => now,
        }
    }

    /// What it holds at a time that is not in the past.
    pub(super) fn left(&self, at: Nanos) -> u64 {
        let gained = mul_div(self.filling, at.since(self.at).0, SECOND);
        let level = self.level.saturating_add_unsigned(gained).min(self.burst);
        u64::try_from(level).unwrap_or_default()
    }

    fn refill(&mut self, now: Nanos) {
        let gained = mul_div(self.filling, now.since(self.at).0, SECOND);
        self.level = self.level.saturating_add_unsigned(gained).min(self.burst);
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debt_is_paid_at_the_rate() {
        let mut debt = Debt::new();
        debt.spend(Nanos(0), 10);
        assert_eq!(debt.plan(Nanos(0), 10), Nanos(SECOND));
        assert_eq!(debt.plan(Nanos(SECOND / 2), 5), Nanos(SECOND / 2 + SECOND));
        assert_eq!(debt.plan(Nanos(SECOND), 0), Nanos::MAX);
    }

    #[test]
    fn idle_time_saves_nothing_up() {
        let mut debt = Debt::new();
        debt.plan(Nanos(0), 10);
        debt.spend(Nanos(100 * SECOND), 10);
        assert_eq!(debt.plan(Nanos(100 * SECOND), 10), Nanos(101 * SECOND));
    }
}
