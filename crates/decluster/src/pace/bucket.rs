//! What is owed and what is queued: the arithmetic of releases, without any law of its own.

use super::{CREDIT, SECOND, mul_div};
use crate::Nanos;
use alloc::collections::VecDeque;

/// Spending as a debt that is paid off at the rate; the next release is due when nothing is owed.
#[derive(Debug, Default)]
pub(super) struct Debt {
    /// Credit owed at `at`.
    owed: u64,
    at: Nanos,
    /// Credit per second from `at` on.
    rate: u64,
    last: Option<Nanos>,
}

impl Debt {
    /// Pays for what was just released.
    pub(super) fn spend(&mut self, now: Nanos, credit: u64) {
        self.settle(now);
        self.owed = self.owed.saturating_add(credit);
        self.last = Some(now);
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

    /// The time of the last release.
    pub(super) fn last(&self) -> Option<Nanos> {
        self.last
    }

    fn settle(&mut self, now: Nanos) {
        let paid = mul_div(self.rate, now.since(self.at).0, SECOND);
        self.owed = self.owed.saturating_sub(paid);
        self.at = self.at.max(now);
    }
}

/// The classic token bucket: saves up to `burst`, may run into debt by one release.
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

    fn refill(&mut self, now: Nanos) {
        let gained = mul_div(self.filling, now.since(self.at).0, SECOND);
        self.level = self.level.saturating_add_unsigned(gained).min(self.burst);
        self.at = self.at.max(now);
    }
}

/// What is queued, by arrival group, so that the least rate that meets every deadline can be told.
#[derive(Debug)]
pub(super) struct Backlog {
    groups: VecDeque<(Nanos, u64)>,
    total: u64,
    max_delay: Nanos,
}

impl Backlog {
    pub(super) fn new(max_delay: Nanos) -> Self {
        Self { groups: VecDeque::new(), total: 0, max_delay }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn max_delay(&self) -> Nanos {
        self.max_delay
    }

    /// Arrivals within 30 ms share the first one's deadline: at most `max_delay` / 30 ms groups are kept.
    pub(super) fn add(&mut self, now: Nanos, credit: u64) {
        if credit == 0 {
            return;
        }
        self.total = self.total.saturating_add(credit);
        match self.groups.back_mut() {
            Some((first, sum)) if now.since(*first) < super::estimate::GROUP => {
                *sum = sum.saturating_add(credit);
            }
            _ => self.groups.push_back((now, credit)),
        }
    }

    /// Takes from the oldest.
    pub(super) fn take(&mut self, credit: u64) {
        let mut left = credit.min(self.total);
        self.total -= left;
        while let Some((_, sum)) = self.groups.front_mut() {
            if *sum > left {
                *sum -= left;
                return;
            }
            left -= *sum;
            self.groups.pop_front();
        }
    }

    /// The least constant rate from `now` on that lets every group leave in time: max over the groups of the
    /// backlog up to it, over the time it has left.
    pub(super) fn floor(&self, now: Nanos) -> u64 {
        let (mut sum, mut floor) = (0u64, 0);
        for (arrived, credit) in &self.groups {
            sum = sum.saturating_add(*credit);
            let left = arrived.after(self.max_delay).since(now.after(GUARD)).0;
            floor = floor.max(mul_div(sum, SECOND, left.max(LEAST)));
        }
        floor
    }

    /// Deadlines stood still from `from` to `now`; what came in between counts from `now`.
    pub(super) fn shift(&mut self, from: Nanos, now: Nanos) {
        let away = now.since(from);
        for (arrived, _) in &mut self.groups {
            *arrived = if *arrived <= from { arrived.after(away) } else { now };
        }
    }

    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.total = 0;
    }
}

/// Plans aim this much before a deadline, so that the last piece of a group is not late by its own size.
const GUARD: Nanos = Nanos::from_millis(30);
/// No rate is computed from less time than this.
const LEAST: u64 = 20_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debt_is_paid_at_the_rate() {
        let mut debt = Debt::default();
        debt.spend(Nanos(0), 10);
        assert_eq!(debt.plan(Nanos(0), 10), Nanos(SECOND));
        assert_eq!(debt.plan(Nanos(SECOND / 2), 5), Nanos(SECOND / 2 + SECOND));
        assert_eq!(debt.plan(Nanos(SECOND), 0), Nanos::MAX);
    }

    #[test]
    fn idle_time_saves_nothing_up() {
        let mut debt = Debt::default();
        debt.plan(Nanos(0), 10);
        debt.spend(Nanos(100 * SECOND), 10);
        assert_eq!(debt.plan(Nanos(100 * SECOND), 10), Nanos(101 * SECOND));
    }

    #[test]
    fn the_floor_is_the_steepest_deadline() {
        let mut backlog = Backlog::new(Nanos::from_millis(1030));
        backlog.add(Nanos(0), 100);
        backlog.add(Nanos::from_millis(500), 300);
        assert_eq!(backlog.floor(Nanos(0)), 266, "400 in 1.5 s beats 100 in 1 s");
        backlog.take(50);
        assert_eq!(backlog.floor(Nanos(0)), 233);
        backlog.take(350);
        assert_eq!((backlog.floor(Nanos(0)), backlog.total()), (0, 0));
    }

    #[test]
    fn an_absence_moves_deadlines() {
        let mut backlog = Backlog::new(Nanos::from_millis(1030));
        backlog.add(Nanos(0), 100);
        backlog.add(Nanos(5 * SECOND), 100);
        backlog.shift(Nanos(SECOND), Nanos(11 * SECOND));
        assert_eq!(backlog.floor(Nanos(10 * SECOND)), 100);
    }
}
