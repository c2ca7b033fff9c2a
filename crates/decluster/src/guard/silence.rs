//! How long nothing has come.

use crate::engine::LATE;
use crate::time::Nanos;

/// The clock of a silence. It runs from poll to poll while input is wanted; of a consumer's absence only 100 ms count, for
/// whoever reads may have been kept from it meanwhile.
#[derive(Debug)]
pub(crate) struct Silence {
    /// 0 is none.
    limit: u64,
    /// How much of the present silence counts.
    silent: u64,
    /// Until when it was counted.
    seen: Option<Nanos>,
    /// When the consumer should poll next.
    due: Nanos,
    /// Input is wanted: the clock runs.
    wanted: bool,
}

impl Silence {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, silent: 0, seen: None, due: Nanos::MAX, wanted: true }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.limit > 0
    }

    /// How much of the present silence counts.
    pub(crate) fn length(&self) -> Nanos {
        Nanos(self.silent)
    }

    /// Something was pushed: the consumer should poll now.
    pub(crate) fn pushed(&mut self, now: Nanos) {
        self.seen.get_or_insert(now);
        self.due = self.due.min(now);
    }

    /// It was more than a sign of life.
    pub(crate) fn heard(&mut self, now: Nanos) {
        self.silent = 0;
        self.seen = self.seen.max(Some(now));
    }

    /// The consumer polls. Says whether the silence is over the limit.
    pub(crate) fn poll(&mut self, now: Nanos) -> bool {
        let seen = *self.seen.get_or_insert(now);
        let away = now.since(self.due) > LATE;
        if self.wanted {
            let until = if away { self.due.after(LATE) } else { now };
            self.silent = self.silent.saturating_add(until.since(seen).0);
            if away {
                // Whoever reads gets its turn before this is a silence.
                self.silent = self.silent.min(self.limit.saturating_sub(LATE.0));
            }
        }
        self.seen = Some(seen.max(now));
        self.wanted && self.silent >= self.limit
    }

    /// The consumer gets something at `now`: it should come back at once.
    pub(crate) fn gave(&mut self, now: Nanos, wanted: bool) {
        (self.wanted, self.due) = (wanted, now);
    }

    /// The consumer is to wait, until `at` if that is known. Gives the time at which it should come back in any case.
    pub(crate) fn wait(&mut self, at: Option<Nanos>, wanted: bool) -> Option<Nanos> {
        self.wanted = wanted;
        let left = Nanos(self.limit.saturating_sub(self.silent));
        let over = self.seen.filter(|_| wanted).map(|seen| seen.after(left));
        let at = at.into_iter().chain(over).min();
        self.due = at.unwrap_or(Nanos::MAX);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    /// Polls as told from `from` on until it stalls; gives when that is.
    fn stalls_at(silence: &mut Silence, from: u64) -> Nanos {
        let mut now = at(from);
        while !silence.poll(now) {
            now = silence.wait(None, true).unwrap();
        }
        now
    }

    #[test]
    fn it_starts_with_the_first_poll_or_push() {
        assert_eq!(stalls_at(&mut Silence::new(500 * MS), 700), at(1_200));
        let mut pushed = Silence::new(500 * MS);
        pushed.pushed(at(650));
        assert_eq!(stalls_at(&mut pushed, 700), at(1_150));
    }

    #[test]
    fn what_is_heard_begins_it_anew() {
        let mut silence = Silence::new(500 * MS);
        assert!(!silence.poll(at(0)));
        assert_eq!(silence.wait(None, true), Some(at(500)));
        silence.pushed(at(400));
        silence.heard(at(400));
        assert_eq!(stalls_at(&mut silence, 400), at(900));
    }

    #[test]
    fn it_stands_still_while_no_input_is_wanted() {
        let mut silence = Silence::new(500 * MS);
        assert!(!silence.poll(at(0)));
        assert_eq!(silence.wait(Some(at(300)), true), Some(at(300)));
        assert!(!silence.poll(at(300)));
        // 300 ms have gone.
        assert_eq!(silence.wait(Some(at(5_000)), false), Some(at(5_000)));
        assert_eq!(stalls_at(&mut silence, 5_000), at(5_200));
    }

    #[test]
    fn of_an_absence_100_ms_count() {
        let mut silence = Silence::new(500 * MS);
        assert!(!silence.poll(at(0)));
        silence.gave(at(0), true);
        assert_eq!(stalls_at(&mut silence, 60_000), at(60_400));
    }

    #[test]
    fn who_comes_back_late_finds_no_silence_before_the_reader_had_its_turn() {
        let mut silence = Silence::new(500 * MS);
        assert!(!silence.poll(at(0)));
        assert_eq!(silence.wait(None, true), Some(at(500)));
        assert_eq!(stalls_at(&mut silence, 60_000), at(60_100));
        let mut silence = Silence::new(500 * MS);
        assert!(!silence.poll(at(0)));
        assert_eq!(silence.wait(None, true), Some(at(500)));
        assert!(silence.poll(at(600)), "100 ms late is as good as at the time");
    }

    #[test]
    fn a_clock_that_runs_backwards_stands_still() {
        let mut silence = Silence::new(500 * MS);
        assert!(!silence.poll(at(1_000)));
        silence.wait(None, true);
        assert!(!silence.poll(at(0)));
        assert_eq!(silence.wait(None, true), Some(at(1_500)));
    }
}
