//! The control law: from numbers to a rate, and nothing else.
//!
//! What is queued, less a small reserve, is spread over a part of the silence that is expected. The part does
//! not shrink while the silence lasts, so the queue falls like an exponential: a group that comes late finds
//! it drained slowly rather than empty. The reserve is not planned for; it goes word by word when a silence
//! outlasts the plan, each just before the reader would notice.

use super::{MILLI, SECOND, milli_tokens, mul_div};
use crate::Nanos;
use crate::config::Config;

/// The constants of the law, as the table of parameters has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    horizon_min: Nanos,
    /// Part of the horizon in which the backlog should go: for short silences, for long ones.
    horizon_part: (u64, u64),
    silence_short: Nanos,
    silence_long: Nanos,
    /// Credit that is kept to drip through a late arrival.
    reserve: u64,
    /// And at most so much time of the mean rate.
    reserve_time: Nanos,
    /// Where silences are shorter than this, less is kept, in proportion.
    reserve_silence: Nanos,
    rate_cap: u64,
    drain: u64,
}

/// What the law looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs {
    /// Queued credit.
    pub backlog: u64,
    /// Mean rate of the stream, credit per second.
    pub mean: u64,
    /// Silence that is expected before the next arrival group.
    pub silence: Nanos,
    /// Upper bound of the horizon.
    pub max_delay: Nanos,
    /// Whether the end, or a tool call, is queued.
    pub ending: bool,
}

impl Law {
    pub(super) fn new(config: &Config) -> Self {
        let (short, reserve) = match config.unit {
            1 => (config.horizon_part_word, config.reserve_word),
            _ => (config.horizon_part_block, config.reserve_block),
        };
        Self {
            horizon_min: Nanos(config.horizon_min),
            horizon_part: (short, config.horizon_part_long),
            silence_short: Nanos(config.silence_short),
            silence_long: Nanos(config.silence_long),
            reserve: milli_tokens(reserve),
            reserve_time: Nanos(config.reserve_time),
            reserve_silence: Nanos(config.reserve_silence),
            rate_cap: config.rate_cap,
            drain: config.drain,
        }
    }

    /// Credit per second, before deadlines are looked at.
    pub(super) fn rate(&self, i: &Inputs) -> u64 {
        if i.backlog == 0 {
            return 0;
        }
        if i.ending {
            return mul_div(i.mean, self.drain, MILLI);
        }
        let horizon = i.silence.clamp(self.horizon_min.min(i.max_delay), i.max_delay);
        let time = mul_div(horizon.0, self.part(horizon), MILLI);
        let most = self.reserve.min(mul_div(i.mean, self.reserve_time.0, SECOND));
        let reserve = match self.reserve_silence {
            silence if horizon < silence => mul_div(most, horizon.0, silence.0),
            _ => most,
        };
        let backlog = i.backlog.saturating_sub(reserve);
        let rate = mul_div(backlog, SECOND, time);
        rate.min(mul_div(i.mean, self.rate_cap, MILLI))
    }

    /// From the part for short silences to the one for long ones.
    fn part(&self, horizon: Nanos) -> u64 {
        let (short, long) = self.horizon_part;
        let range = self.silence_long.since(self.silence_short).0.max(1);
        let weight = mul_div(horizon.since(self.silence_short).0.min(range), MILLI, range);
        (short * (MILLI - weight) + long * weight) / MILLI
    }
}

#[cfg(test)]
mod tests {
    use super::super::CREDIT;
    use super::*;

    const LAW: Law = Law {
        horizon_min: Nanos::from_millis(20),
        horizon_part: (500, 600),
        silence_short: Nanos::from_millis(250),
        silence_long: Nanos::from_millis(750),
        reserve: 3 * CREDIT,
        reserve_time: Nanos::MAX,
        reserve_silence: Nanos(1),
        rate_cap: 4_000,
        drain: 1_100,
    };

    fn inputs() -> Inputs {
        Inputs {
            backlog: 93 * CREDIT,
            mean: 60 * CREDIT,
            silence: Nanos::from_millis(1_500),
            max_delay: Nanos::from_millis(1_500),
            ending: false,
        }
    }

    #[test]
    fn nothing_queued_needs_no_rate() {
        assert_eq!(LAW.rate(&Inputs { backlog: 0, ..inputs() }), 0);
    }

    #[test]
    fn what_exceeds_the_reserve_is_spread_over_a_part_of_the_silence() {
        assert_eq!(LAW.rate(&inputs()), 100 * CREDIT, "90 over 0.6 of 1.5 s");
        let short = Inputs { silence: Nanos::from_millis(100), backlog: 13 * CREDIT, ..inputs() };
        assert_eq!(LAW.rate(&short), 200 * CREDIT, "10 over half of 0.1 s");
        let halfway = Inputs { silence: Nanos::from_millis(500), backlog: 58 * CREDIT, ..inputs() };
        assert_eq!(LAW.rate(&halfway), 200 * CREDIT, "55 over 0.55 of 0.5 s");
        let beyond = Inputs { silence: Nanos::MAX, ..inputs() };
        assert_eq!(
            LAW.rate(&beyond),
            LAW.rate(&inputs()),
            "no silence beyond max_delay is planned for"
        );
        let none = Inputs { silence: Nanos::ZERO, backlog: 4 * CREDIT, ..inputs() };
        assert_eq!(LAW.rate(&none), 100 * CREDIT, "1 over half of 20 ms");
    }

    #[test]
    fn the_reserve_is_not_spent() {
        assert_eq!(LAW.rate(&Inputs { backlog: 2 * CREDIT, ..inputs() }), 0);
        let brief = Law { reserve_time: Nanos::from_millis(25), ..LAW };
        let backlog = 93 * CREDIT / 2;
        assert_eq!(brief.rate(&Inputs { backlog, ..inputs() }), 50 * CREDIT, "25 ms of 60 are 1.5");
    }

    #[test]
    fn no_rate_is_beyond_the_cap() {
        let backlog = 9_000 * CREDIT;
        assert_eq!(LAW.rate(&Inputs { backlog, ..inputs() }), 240 * CREDIT);
    }

    #[test]
    fn an_end_goes_on_at_the_mean_rate() {
        assert_eq!(LAW.rate(&Inputs { ending: true, ..inputs() }), 66 * CREDIT);
    }

    #[test]
    fn extreme_numbers_do_not_overflow() {
        for x in [0, 1, u64::MAX / 2, u64::MAX] {
            for ending in [false, true] {
                let (silence, max_delay) = (Nanos(x), Nanos(x.max(1)));
                let _ = LAW.rate(&Inputs { backlog: x, mean: x, silence, max_delay, ending });
            }
        }
    }
}
