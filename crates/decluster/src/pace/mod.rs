//! When text goes: numbers only, never the text.
//!
//! The pacer is told what arrives and what leaves, in *credit*, and answers with two times: when the next
//! release is [due](Pacer::due), and when a reader would begin to see a [stall](Pacer::stall). Rate and
//! times are computed when something arrives or leaves and hold in between.
//!
//! Adaptive pacing learns how long the silences between arrival groups are (a weighted quantile of the recent
//! ones, after Moon, Kurose and Towsley 1998), spreads the backlog over a part of the silence expected now,
//! keeps a small reserve to drip through a late one, and never falls below the least rate that meets every
//! deadline (the *Optimal Available* rule of speed scaling, Yao, Demers and Shenker 1995). Spending is a debt
//! that is paid off at the rate, as in str0m's leaky bucket: nothing is saved up while idle, so no burst
//! follows a silence. A second bucket, the cluster guard, bounds what leaves in any time.

mod backlog;
mod bucket;
mod control;
mod estimate;
mod guard;

use crate::Nanos;
use crate::config::Config;
use backlog::Backlog;
use bucket::{Debt, TokenBucket};
use control::{Inputs, Law};
use estimate::Estimator;
use guard::Guard;

/// Parts of one token: the unit of the bucket. The segmenter counts in sixteenths of a token.
pub(crate) const CREDIT: u64 = 4_096;

/// `tokens` sixteenths of a token, as credit.
pub(crate) const fn credit(sixteenths: u64) -> u64 {
    sixteenths.saturating_mul(CREDIT / 16)
}

/// Thousandths of a token, as credit.
const fn milli_tokens(thousandths: u64) -> u64 {
    thousandths.saturating_mul(CREDIT) / MILLI
}

/// What still has to leave before a point in the stream, and when: a tail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    /// Credit that is queued before the point.
    pub left: u64,
    /// When the last of it must have left.
    pub until: Nanos,
}

/// Times the releases of one stream.
#[derive(Debug)]
pub(crate) struct Pacer {
    mode: Mode,
    backlog: Backlog,
    debt: Debt,
    /// The reader's own limit, credit per second.
    max_rate: Option<u64>,
    /// When the reader has read what has left.
    read: Nanos,
    max_gap: Nanos,
    margin: Nanos,
    quantum: Nanos,
    piece_max: u64,
    due: Nanos,
    /// The most that comes in the ordinary course, or that deadlines ask for; credit per second.
    usual: u64,
    /// Whether a deadline or a tail asks for more than the law by itself.
    hurried: bool,
    /// Whether the text belongs to a tail.
    ending: bool,
}

/// The three ways to time releases.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one for each stream, and nearly always the large one"
)]
enum Mode {
    /// Learns the stream and spreads the backlog over the silence it expects.
    Adaptive(Adaptive),
    /// A plain token bucket, under the same hard bound on delay.
    Fixed(TokenBucket),
    /// Everything is due at once.
    Off,
}

#[derive(Debug)]
struct Adaptive {
    estimator: Estimator,
    law: Law,
    guard: Guard,
    cluster_rate: u64,
}

impl Pacer {
    pub(crate) fn new(config: &Config) -> Self {
        let margin = Nanos(config.deadline_margin);
        Self {
            mode: match config.pace {
                0 => Mode::Adaptive(Adaptive {
                    estimator: Estimator::new(config),
                    law: Law::new(config),
                    guard: Guard::new(milli_tokens(config.cluster_burst)),
                    cluster_rate: config.cluster_rate,
                }),
                1 => Mode::Fixed(TokenBucket::new(config.rate * CREDIT, config.burst * CREDIT)),
                _ => Mode::Off,
            },
            backlog: Backlog::new(Nanos(config.max_delay), margin),
            debt: Debt::new(),
            max_rate: (config.max_rate > 0).then_some(config.max_rate * CREDIT),
            read: Nanos::ZERO,
            max_gap: Nanos(if config.unit == 1 { config.word_gap } else { config.max_gap }),
            margin,
            quantum: Nanos(config.quantum),
            piece_max: milli_tokens(config.piece_max),
            due: Nanos::ZERO,
            usual: 0,
            hurried: false,
            ending: false,
        }
    }

    /// A raw delta of this much credit came in.
    pub(crate) fn arrived(&mut self, now: Nanos, credit: u64) {
        if let Mode::Adaptive(adaptive) = &mut self.mode {
            adaptive.estimator.observe(now, credit);
        }
        self.backlog.add(now, credit);
    }

    /// This much credit left; `flushed` if the caller asked for it out of turn, which is no debt. A plan must
    /// follow before the next question.
    pub(crate) fn released(&mut self, now: Nanos, credit: u64, flushed: bool) {
        self.backlog.take(credit);
        self.debt.spend(now, if flushed { 0 } else { credit });
        if let Some(rate) = self.max_rate.filter(|_| !flushed) {
            self.read = self.read.max(now).after(Nanos(mul_div(credit, SECOND, rate)));
        }
        match &mut self.mode {
            Mode::Adaptive(adaptive) => adaptive.guard.spend(now, credit),
            Mode::Fixed(bucket) => bucket.spend(now, credit),
            Mode::Off => {}
        }
    }

    /// Computes the rate and the next release from the state at `now`.
    pub(crate) fn plan(&mut self, now: Nanos, tails: impl Iterator<Item = Tail>) {
        let tail_rate = tails.map(|tail| tail.rate(now, self.margin)).max();
        self.ending = tail_rate.is_some();
        if self.ending {
            // What went early, against stalls, is owed at the rate of then. Paid at the start of a tail, it would leave
            // the rest of the tail to go in a clump.
            self.debt.forgive(now);
        }
        let tail_rate = tail_rate.unwrap_or_default();
        self.due = match &mut self.mode {
            Mode::Adaptive(adaptive) => {
                let mean = adaptive.estimator.mean_rate();
                let rate = adaptive.law.rate(&Inputs {
                    backlog: self.backlog.total(),
                    mean,
                    silence: adaptive.estimator.expect(now),
                    max_delay: self.backlog.max_delay(),
                    ending: self.ending,
                });
                let leak = mul_div(mean, adaptive.cluster_rate, MILLI);
                let floor = self.backlog.floor_beyond(now, rate.min(leak)).max(tail_rate);
                // The guard never holds back what the deadlines need: that would come in a clump at the end.
                self.usual = leak.max(floor);
                adaptive.guard.plan(now, self.usual);
                self.hurried = self.ending || floor > rate.min(leak);
                self.debt.plan(now, rate.max(floor))
            }
            Mode::Fixed(bucket) => {
                let floor = self.backlog.floor_beyond(now, bucket.rate()).max(tail_rate);
                let rate = floor.max(bucket.rate());
                self.usual = rate;
                self.hurried = floor > bucket.rate();
                self.debt.plan(now, rate);
                bucket.plan(now, rate)
            }
            Mode::Off => now,
        };
        if let Mode::Adaptive(_) = self.mode {
            let stall = self.stall();
            self.hurried &= self.due <= stall;
            self.due = self.due.min(stall);
        }
    }

    /// When the next release is due, by the last plan.
    pub(crate) fn due(&self) -> Nanos {
        self.due
    }

    /// Whether a deadline or a tail asked for more than the law by itself, at the last plan.
    pub(crate) fn is_hurried(&self) -> bool {
        self.hurried
    }

    /// When the cluster guard has room for so much, by the last plan.
    pub(crate) fn room(&self, credit: u64) -> Nanos {
        match &self.mode {
            Mode::Adaptive(adaptive) if !self.ending => adaptive.guard.room(credit),
            _ => Nanos::ZERO,
        }
    }

    /// When the reader is free for more; nothing is to go before.
    pub(crate) fn reader(&self) -> Nanos {
        self.read
    }

    /// Whether more is queued and still being read than the reader can take within half of `max_delay`; once
    /// intake has paused, within a quarter.
    pub(crate) fn is_behind(&self, now: Nanos, paused: bool) -> bool {
        self.max_rate.is_some_and(|rate| {
            let reading = mul_div(rate, self.read.since(now).0, SECOND);
            let able =
                mul_div(rate, self.backlog.max_delay().0, SECOND) / if paused { 4 } else { 2 };
            let queued = self.backlog.total();
            // An empty queue wants input whatever is still being read: nothing else would wake the caller.
            queued > 0 && queued.saturating_add(reading) >= able
        })
    }

    /// When the reader has seen nothing for `max_gap`, and a fixed bucket has something to spend; the end of
    /// time before the first release.
    pub(crate) fn stall(&self) -> Nanos {
        let stall = self.debt.last().after(self.max_gap);
        match self.mode {
            Mode::Fixed(_) => stall.max(self.due),
            _ => stall,
        }
    }

    /// How much a piece of words should hold: `quantum` at the planned rate, at most `piece_max` and what a
    /// fixed bucket holds, but a token.
    pub(crate) fn quantum(&self) -> u64 {
        let most = match &self.mode {
            Mode::Fixed(bucket) if !self.hurried => bucket.left(self.due),
            Mode::Off => 0,
            _ => u64::MAX,
        };
        let rate = self.debt.rate().min(self.usual).min(self.max_rate.unwrap_or(u64::MAX));
        let quantum = mul_div(rate, self.quantum.0, SECOND);
        quantum.min(self.piece_max).min(most).max(CREDIT)
    }

    /// Credit per second at the last plan; zero when nothing is queued.
    pub(crate) fn rate(&self) -> u64 {
        self.debt.rate()
    }

    /// Credit that is queued.
    pub(crate) fn backlog(&self) -> u64 {
        self.backlog.total()
    }

    /// The consumer was away: deadlines stood still from `from` to `now`.
    pub(crate) fn absent(&mut self, from: Nanos, now: Nanos) {
        self.backlog.shift(from, now);
    }

    /// Forgets what is queued.
    pub(crate) fn clear(&mut self) {
        self.backlog.clear();
    }
}

impl Tail {
    /// The rate that empties it in time, less a margin for what cannot be cut finely.
    fn rate(self, now: Nanos, margin: Nanos) -> u64 {
        mul_div(self.left, SECOND, self.until.since(now.after(margin)).0.max(TAIL_LEAST))
    }
}

/// `a * b / c` without overflow; saturates, and takes a zero divisor as one.
pub(crate) fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    let c = c.max(1);
    match a.checked_mul(b) {
        Some(product) => product / c,
        None => u64::try_from(u128::from(a) * u128::from(b) / u128::from(c)).unwrap_or(u64::MAX),
    }
}

/// Nanoseconds in a second.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Thousandths in one.
const MILLI: u64 = 1_000;
/// No rate is computed from less time than this.
const TAIL_LEAST: u64 = 5_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn pacer(pace: &str) -> Pacer {
        Pacer::new(&Config::default().with_choice("pace", pace).unwrap())
    }

    /// Releases `size` credit whenever it is due, to the end; gives the times.
    fn drain(pacer: &mut Pacer, mut now: Nanos, size: u64) -> std::vec::Vec<Nanos> {
        let mut times = std::vec::Vec::new();
        pacer.plan(now, core::iter::empty());
        while pacer.backlog() > 0 {
            now = now.max(pacer.due());
            times.push(now);
            pacer.released(now, size.min(pacer.backlog()), false);
            pacer.plan(now, core::iter::empty());
            assert!(times.len() < 10_000, "never ends");
        }
        times
    }

    #[test]
    fn a_burst_is_spread_but_never_beyond_the_bound() {
        let mut p = pacer("adaptive");
        p.arrived(Nanos::ZERO, 100 * CREDIT);
        let times = drain(&mut p, Nanos::ZERO, 4 * CREDIT);
        assert_eq!(times[0], Nanos::ZERO, "the first goes at once");
        assert!(times.last().unwrap() > &Nanos::from_millis(500), "{times:?}");
        assert!(times.last().unwrap() <= &Nanos::from_millis(1500), "{times:?}");
        let gap = times.windows(2).map(|w| w[1].since(w[0])).max().unwrap();
        assert!(gap <= Nanos::from_millis(240), "{gap}");
    }

    #[test]
    fn a_fixed_bucket_lets_the_burst_through_and_then_the_rate() {
        let mut p = pacer("fixed");
        p.arrived(Nanos::ZERO, 272 * CREDIT);
        let times = drain(&mut p, Nanos::ZERO, CREDIT);
        assert!(times[..32].iter().all(|t| *t == Nanos::ZERO));
        let last = times.last().unwrap().0;
        assert!((990_000_000..1_010_000_000).contains(&last), "240 more at 240 a second: {last}");
    }

    #[test]
    fn without_pacing_everything_is_due() {
        let mut p = pacer("off");
        p.arrived(Nanos(5), 300 * CREDIT);
        assert!(drain(&mut p, Nanos(5), CREDIT).iter().all(|t| *t == Nanos(5)));
    }

    #[test]
    fn a_tail_leaves_in_time_and_evenly() {
        let mut p = pacer("adaptive");
        p.arrived(Nanos::ZERO, 200 * CREDIT);
        let until = Nanos::from_millis(300);
        let (mut now, mut times) = (Nanos::ZERO, std::vec::Vec::new());
        while p.backlog() > 0 {
            p.plan(now, core::iter::once(Tail { left: p.backlog(), until }));
            now = now.max(p.due());
            times.push(now);
            p.released(now, 10 * CREDIT, false);
        }
        assert!(times.last().unwrap() <= &until, "{times:?}");
        assert!(times[10] > Nanos::from_millis(100), "{times:?}");
    }

    #[test]
    fn what_was_owed_before_a_tail_does_not_delay_it() {
        let mut p = pacer("adaptive");
        p.arrived(Nanos::ZERO, 100 * CREDIT);
        p.plan(Nanos::ZERO, core::iter::empty());
        for _ in 0..4 {
            // Against a stall, long before it was due.
            p.released(Nanos::ZERO, 10 * CREDIT, false);
            p.plan(Nanos::ZERO, core::iter::empty());
        }
        let until = Nanos::from_millis(300);
        p.plan(Nanos::ZERO, core::iter::once(Tail { left: p.backlog(), until }));
        assert!(
            p.due() <= Nanos::from_millis(45),
            "60 tokens in 270 ms, ten are owed: {}",
            p.due()
        );
    }

    #[test]
    fn mul_div_saturates() {
        assert_eq!(mul_div(u64::MAX, u64::MAX, 0), u64::MAX);
        assert_eq!(mul_div(u64::MAX, 10, 20), u64::MAX / 2);
    }
}
