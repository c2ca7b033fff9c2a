//! What is queued and when it is due: deadlines as a rate.

use super::{SECOND, mul_div};
use crate::Nanos;
use alloc::collections::VecDeque;

/// What is queued, by arrival group, so that the least rate that meets every deadline can be told.
#[derive(Debug)]
pub(super) struct Backlog {
    groups: VecDeque<(Nanos, u64)>,
    total: u64,
    max_delay: Nanos,
    margin: Nanos,
    /// What arrives within this time of a group's first shares its deadline.
    width: Nanos,
}

impl Backlog {
    /// `margin`: plans aim this much before a deadline, so that the last piece of a group is not late by its
    /// own size.
    pub(super) fn new(max_delay: Nanos, margin: Nanos) -> Self {
        let width = Nanos(max_delay.0 / GROUPS);
        Self { groups: VecDeque::new(), total: 0, max_delay, margin, width }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn max_delay(&self) -> Nanos {
        self.max_delay
    }

    pub(super) fn add(&mut self, now: Nanos, credit: u64) {
        if credit == 0 {
            return;
        }
        self.total = self.total.saturating_add(credit);
        match self.groups.back_mut() {
            Some((first, sum)) if now.since(*first) < self.width => {
                *sum = sum.saturating_add(credit);
            }
            _ => self.groups.push_back((now, credit)),
        }
        // More than fit into `max_delay` are overdue, and one overdue group is like another.
        while self.groups.len() > GROUPS as usize + 2
            && let Some((oldest, credit)) = self.groups.pop_front()
            && let Some((arrived, sum)) = self.groups.front_mut()
        {
            *arrived = oldest;
            *sum = sum.saturating_add(credit);
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

    /// The least constant rate from `now` on that lets every group leave in time, if it is more than `rate`; else
    /// zero. It is the maximum over the groups of the backlog up to it, over the time it has left.
    pub(super) fn floor_beyond(&self, now: Nanos, rate: u64) -> u64 {
        let from = now.after(self.margin);
        // Quotients are compared without dividing: this runs on every delta, and deadlines are mostly far.
        let (mut sum, mut steepest) = (0u64, None);
        for (arrived, credit) in &self.groups {
            sum = sum.saturating_add(*credit);
            let left = arrived.after(self.max_delay).since(from).0.max(LEAST);
            let (most, over) = steepest.unwrap_or((rate, SECOND));
            if u128::from(sum) * u128::from(over) > u128::from(most) * u128::from(left) {
                steepest = Some((sum, left));
            }
        }
        steepest.map_or(0, |(sum, left)| mul_div(sum, SECOND, left))
    }

    /// Deadlines stood still from `from` to `now`; what came in between counts from `now`.
    pub(super) fn shift(&mut self, from: Nanos, now: Nanos) {
        let away = now.since(from);
        for (arrived, _) in &mut self.groups {
            *arrived = if *arrived <= from { arrived.after(away) } else { (*arrived).max(now) };
        }
    }

    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.total = 0;
    }
}

/// Deadlines that are kept apart: within 2 % of `max_delay`, and a bounded cost.
const GROUPS: u64 = 50;
/// No rate is computed from less time than this.
const LEAST: u64 = 20_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog() -> Backlog {
        Backlog::new(Nanos::from_millis(1030), Nanos::from_millis(30))
    }

    #[test]
    fn the_floor_is_the_steepest_deadline() {
        let mut backlog = backlog();
        backlog.add(Nanos(0), 100);
        backlog.add(Nanos::from_millis(500), 300);
        assert_eq!(backlog.floor_beyond(Nanos(0), 0), 266, "400 in 1.5 s beats 100 in 1 s");
        assert_eq!(
            (backlog.floor_beyond(Nanos(0), 265), backlog.floor_beyond(Nanos(0), 267)),
            (266, 0)
        );
        backlog.take(50);
        assert_eq!(backlog.floor_beyond(Nanos(0), 0), 233);
        backlog.take(350);
        assert_eq!((backlog.floor_beyond(Nanos(0), 0), backlog.total()), (0, 0));
    }

    #[test]
    fn an_absence_moves_deadlines() {
        let mut backlog = backlog();
        backlog.add(Nanos(0), 100);
        backlog.add(Nanos(5 * SECOND), 100);
        backlog.shift(Nanos(SECOND), Nanos(11 * SECOND));
        assert_eq!(backlog.floor_beyond(Nanos(10 * SECOND), 0), 100);
    }

    #[test]
    fn what_is_overdue_is_one_group() {
        let mut backlog = backlog();
        for ms in 0..100_000 {
            backlog.add(Nanos::from_millis(ms), 10);
        }
        assert!(backlog.groups.len() <= GROUPS as usize + 2);
        let now = Nanos::from_secs(100);
        let overdue = backlog.floor_beyond(now, 0) * (LEAST / 1_000_000) / 1_000;
        assert!((989_900..=990_500).contains(&overdue), "what is older than a second: {overdue}");
        backlog.take(999_990);
        assert_eq!((backlog.total(), backlog.groups.len()), (10, 1));
    }
}
