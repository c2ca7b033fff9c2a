//! The control law: from numbers to a rate, and nothing else.
//!
//! Over the time `T` in which the backlog `b` should be gone, the rate starts at `b/T + q`, `q = g v T / 4`,
//! and falls linearly: of all plans that empty `b` within `T` this one has the least integral of rate² plus
//! `g v` times the backlog (Euler-Lagrange). `g` pulls towards less delay, `v` is the stream's mean rate.

use super::{CREDIT, SECOND, mul_div};
use crate::Nanos;

/// The constants of the law. Fractions are in 1/1024.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    /// Shortest horizon.
    pub horizon_min: Nanos,
    /// Part of the horizon in which the backlog should go: for short silences, for long ones.
    pub horizon_part: (u64, u64),
    /// Pull towards less delay, per second.
    pub gravity: u64,
    /// What is kept to drip through a late arrival: at most so many tokens (in credit) …
    pub reserve_max: u64,
    /// … and at most so much time of the mean rate.
    pub reserve_time: Nanos,
    /// Most that the rate may exceed the mean.
    pub cap: u64,
    /// What exceeds the mean is worked off over at least this time.
    pub up: Nanos,
    /// How much faster than the mean a tail goes.
    pub drain: u64,
}

/// What the law looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs {
    /// Queued credit.
    pub backlog: u64,
    /// Mean rate of the stream, credit per second.
    pub mean: u64,
    /// Expected time to the next arrival group.
    pub horizon: Nanos,
    /// Upper bound of the horizon.
    pub max_delay: Nanos,
    /// Least rate that meets every deadline and the tail.
    pub floor: u64,
    /// Whether the end, or a tool call, is queued.
    pub ending: bool,
}

impl Law {
    /// The default: mean delay about a third of the silences it bridges.
    pub(super) const BALANCED: Self = Self {
        horizon_min: Nanos::from_millis(115),
        horizon_part: (532, 614),
        gravity: 4_198,
        reserve_max: 11 * CREDIT / 2,
        reserve_time: Nanos::from_millis(49),
        cap: 2_765,
        up: Nanos::from_millis(150),
        drain: 1_126,
    };

    /// Credit per second.
    pub(super) fn rate(&self, i: &Inputs) -> u64 {
        if i.backlog == 0 {
            return 0;
        }
        let v = i.mean;
        if i.ending {
            return i.floor.max(v.saturating_mul(self.drain) / ONE);
        }
        let horizon = i.horizon.clamp(self.horizon_min.min(i.max_delay), i.max_delay);
        let time = mul_div(horizon.0, self.part(horizon), ONE).max(1);
        let reserve = self.reserve_max.min(mul_div(v, self.reserve_time.0, SECOND));
        let backlog = i.backlog.saturating_sub(reserve);
        let usual = mul_div(v, time, SECOND);
        let pull = mul_div(v.saturating_mul(self.gravity) / ONE, time, 4 * SECOND);
        let mut rate = if backlog >= mul_div(pull, time, SECOND) {
            mul_div(backlog, SECOND, time).saturating_add(pull)
        } else {
            let square = u128::from(mul_div(v, self.gravity, ONE)) * u128::from(backlog);
            u64::try_from(square.isqrt()).unwrap_or(u64::MAX)
        };
        if rate > v {
            let excess = backlog.saturating_sub(usual);
            rate = v.saturating_add(mul_div(excess, SECOND, time.max(self.up.0)));
        }
        i.floor.max(rate.min(v.saturating_mul(self.cap) / ONE))
    }

    /// From the part for short silences (250 ms and less) to the part for long ones (750 ms and more).
    fn part(&self, horizon: Nanos) -> u64 {
        let (short, long) = self.horizon_part;
        let w = horizon.since(SHORT).0.min(LONG.0 - SHORT.0);
        short + mul_div(long.saturating_sub(short), w, LONG.0 - SHORT.0)
    }
}

const ONE: u64 = 1_024;
const SHORT: Nanos = Nanos::from_millis(250);
const LONG: Nanos = Nanos::from_millis(750);

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> Inputs {
        Inputs {
            backlog: 80 * CREDIT,
            mean: 60 * CREDIT,
            horizon: Nanos::from_millis(1_400),
            max_delay: Nanos::from_millis(1_500),
            floor: 50 * CREDIT,
            ending: false,
        }
    }

    #[test]
    fn nothing_queued_needs_no_rate() {
        assert_eq!(Law::BALANCED.rate(&Inputs { backlog: 0, ..inputs() }), 0);
    }

    #[test]
    fn the_floor_always_holds() {
        let floor = 9_000 * CREDIT;
        assert_eq!(Law::BALANCED.rate(&Inputs { floor, ..inputs() }), floor);
    }

    #[test]
    fn a_burst_goes_somewhat_faster_than_the_mean_and_never_beyond_the_cap() {
        let rate = Law::BALANCED.rate(&inputs()) / CREDIT;
        assert!((60..=100).contains(&rate), "{rate}");
        let rate = Law::BALANCED.rate(&Inputs { backlog: 9_000 * CREDIT, floor: 0, ..inputs() });
        assert_eq!(rate, 60 * CREDIT * 2_765 / 1_024);
    }

    #[test]
    fn the_reserve_is_not_spent() {
        let i = Inputs { backlog: 2 * CREDIT, floor: 7, ..inputs() };
        assert_eq!(Law::BALANCED.rate(&i), 7);
    }

    #[test]
    fn extreme_numbers_do_not_overflow() {
        for x in [0, 1, u64::MAX / 2, u64::MAX] {
            let _ = Law::BALANCED.rate(&Inputs {
                backlog: x,
                mean: x,
                horizon: Nanos(x),
                max_delay: Nanos(x.max(1)),
                floor: 0,
                ending: false,
            });
        }
    }
}
