//! The control law: from numbers to a rate, and nothing else.
//!
//! Over the time `T` in which the backlog `b` should be gone, the rate starts at `b/T + q`, `q = g v T / 4`,
//! and falls linearly: of all plans that empty `b` within `T` this one has the least integral of rate² plus
//! `g v` times the backlog (Euler-Lagrange). `g` pulls towards less delay, `v` is the stream's mean rate.

use super::estimate::Expected;
use super::{MILLI, SECOND, mul_div};
use crate::Nanos;
use crate::config::Config;

/// The constants of the law, as the table of parameters has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    horizon_min: Nanos,
    /// Part of the horizon in which the backlog should go: for short silences, for long ones.
    horizon_part: (u64, u64),
    /// How much of the spread of silences comes on top.
    horizon_spread: u64,
    /// Pull towards less delay, for short silences, for long ones.
    gravity: (u64, u64),
    /// What is kept to drip through a late arrival: at most so much credit …
    reserve_max: u64,
    /// … and at most so much time of the mean rate, with so much of the spread.
    reserve_time: Nanos,
    reserve_spread: u64,
    reserve_block: u64,
    /// The mean rate is never taken to be less: the reserve would vanish.
    rate_min: u64,
    cap: u64,
    excess_time: Nanos,
    drain: u64,
}

/// What the law looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs {
    /// Queued credit.
    pub backlog: u64,
    /// Mean rate of the stream, credit per second.
    pub mean: u64,
    /// What is expected of the next arrival group.
    pub expected: Expected,
    /// Upper bound of the horizon.
    pub max_delay: Nanos,
    /// Least rate that meets every deadline and the tail.
    pub floor: u64,
    /// Whether the end, or a tool call, is queued.
    pub ending: bool,
}

impl Law {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            horizon_min: Nanos(config.horizon_min),
            horizon_part: (config.horizon_part_short, config.horizon_part_long),
            horizon_spread: config.horizon_spread,
            gravity: (config.gravity_short, config.gravity_long),
            reserve_max: super::milli_tokens(config.reserve),
            reserve_time: Nanos(config.reserve_time),
            reserve_spread: config.reserve_spread,
            reserve_block: if config.unit == 1 {
                0
            } else {
                super::milli_tokens(config.reserve_block)
            },
            rate_min: config.rate_min * super::CREDIT,
            cap: config.rate_cap,
            excess_time: Nanos(config.excess_time),
            drain: config.drain,
        }
    }

    /// Credit per second.
    pub(super) fn rate(&self, i: &Inputs) -> u64 {
        if i.backlog == 0 {
            return 0;
        }
        let v = i.mean.max(self.rate_min);
        if i.ending {
            return i.floor.max(mul_div(v, self.drain, MILLI));
        }
        let Expected { silence, spread } = i.expected;
        let horizon = silence.clamp(self.horizon_min.min(i.max_delay), i.max_delay);
        let spread = spread.min(i.max_delay);
        let part = blend(self.horizon_part, horizon);
        let time = (mul_div(horizon.0, part, MILLI)
            + mul_div(spread.0, self.horizon_spread, MILLI))
        .max(1);
        let kept = self.reserve_time.0 + mul_div(spread.0, self.reserve_spread, MILLI);
        let reserve = self.reserve_max.min(mul_div(v, kept, SECOND)) + self.reserve_block;
        let backlog = i.backlog.saturating_sub(reserve);
        let gravity = mul_div(v, blend(self.gravity, horizon), MILLI);
        let pull = mul_div(gravity, time, 4 * SECOND);
        let mut rate = if backlog >= mul_div(pull, time, SECOND) {
            mul_div(backlog, SECOND, time).saturating_add(pull)
        } else {
            let square = u128::from(gravity) * u128::from(backlog);
            u64::try_from(square.isqrt()).unwrap_or(u64::MAX)
        };
        if rate > v {
            let excess = backlog.saturating_sub(mul_div(v, time, SECOND));
            rate = v.saturating_add(mul_div(excess, SECOND, time.max(self.excess_time.0)));
        }
        i.floor.max(rate.min(mul_div(v, self.cap, MILLI)))
    }
}

/// From the value for short silences (250 ms and less) to the one for long ones (750 ms and more).
fn blend((short, long): (u64, u64), horizon: Nanos) -> u64 {
    let w = horizon.since(SHORT).0.min(LONG.0 - SHORT.0);
    let w = w / ((LONG.0 - SHORT.0) / MILLI);
    (short * (MILLI - w) + long * w) / MILLI
}

const SHORT: Nanos = Nanos::from_millis(250);
const LONG: Nanos = Nanos::from_millis(750);

#[cfg(test)]
mod tests {
    use super::super::CREDIT;
    use super::*;

    fn law() -> Law {
        Law::new(&Config::default())
    }

    fn inputs() -> Inputs {
        Inputs {
            backlog: 80 * CREDIT,
            mean: 60 * CREDIT,
            expected: Expected { silence: Nanos::from_millis(1_400), spread: Nanos::ZERO },
            max_delay: Nanos::from_millis(1_500),
            floor: 50 * CREDIT,
            ending: false,
        }
    }

    #[test]
    fn nothing_queued_needs_no_rate() {
        assert_eq!(law().rate(&Inputs { backlog: 0, ..inputs() }), 0);
    }

    #[test]
    fn the_floor_always_holds() {
        let floor = 9_000 * CREDIT;
        assert_eq!(law().rate(&Inputs { floor, ..inputs() }), floor);
    }

    #[test]
    fn a_burst_goes_somewhat_faster_than_the_mean_and_never_beyond_the_cap() {
        let rate = law().rate(&inputs()) / CREDIT;
        assert!((60..=100).contains(&rate), "{rate}");
        let rate = law().rate(&Inputs { backlog: 9_000 * CREDIT, floor: 0, ..inputs() });
        assert_eq!(rate, 60 * CREDIT * Config::default().rate_cap / 1_000);
    }

    #[test]
    fn the_reserve_is_not_spent() {
        let law = Law { reserve_max: 5 * CREDIT, reserve_time: Nanos::from_millis(50), ..law() };
        let i = Inputs { backlog: 2 * CREDIT, floor: 7, ..inputs() };
        assert_eq!(law.rate(&i), 7);
    }

    #[test]
    fn extreme_numbers_do_not_overflow() {
        for x in [0, 1, u64::MAX / 2, u64::MAX] {
            let _ = law().rate(&Inputs {
                backlog: x,
                mean: x,
                expected: Expected { silence: Nanos(x), spread: Nanos(x) },
                max_delay: Nanos(x.max(1)),
                floor: 0,
                ending: false,
            });
        }
    }
}
