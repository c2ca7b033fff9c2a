//! What a stream's reasoning comes to, and whether more of it may leave.
//!
//! Text is estimated as it arrives. What the provider counts is laid over that: a list of points says which count holds
//! at which estimate. Between two points the estimate is scaled in proportion, beyond the last it is taken as it is. So
//! what has left can be read in the provider's tokens, although the provider counts what it has sent. Where the count
//! rose without text, two points are at one estimate: what was counted there belongs behind the text before it.

use super::budget::{Budget, CountSource, ReasoningBudgetExceeded};
use crate::delta::Kind;
use crate::segment::{Cutter, SegmentConfig};
use crate::wire::Text;
use alloc::boxed::Box;
use alloc::collections::VecDeque;

/// Counts the reasoning of one stream against its limits.
#[derive(Debug)]
pub(crate) struct Meter {
    /// 0 is none.
    limit: u64,
    shared: Option<Budget>,
    /// What the shared budget was charged with.
    charged: u64,
    /// What has arrived and what has left, in sixteenths of a token, as estimated.
    arrived: u64,
    left: u64,
    /// The first point is at what has left or before it. Neither number ever falls from one to the next.
    points: VecDeque<Point>,
    /// What the attempts before this one came to.
    before: u64,
    /// The provider's last report on this attempt.
    reported: Option<u64>,
    /// The final usage of this attempt.
    last: Option<u64>,
    /// The provider has counted something beside a text.
    given: bool,
    source: CountSource,
    /// The piece that left last has exceeded the limit.
    was_last: bool,
    /// More has arrived than the limit allows. No later report frees it: what becomes of a stream must not depend on how
    /// fast it leaves.
    spent: bool,
    /// A report has brought the shared budget over its limit.
    shared_over: bool,
    /// What had arrived where a mark was put behind a report that was too much.
    mark: Option<u64>,
    /// Of text that does not go through the engine; none before there is any.
    estimate: Option<Box<Estimate>>,
}

/// At an estimate of `estimated` sixteenths, `counted` tokens are counted.
#[derive(Clone, Copy, Debug)]
struct Point {
    estimated: u64,
    counted: u64,
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            shared: None,
            charged: 0,
            arrived: 0,
            left: 0,
            points: VecDeque::from([Point { estimated: 0, counted: 0 }]),
            before: 0,
            reported: None,
            last: None,
            given: false,
            source: CountSource::Estimate,
            was_last: false,
            spent: false,
            shared_over: false,
            mark: None,
            estimate: None,
        }
    }

    pub(crate) fn share(&mut self, budget: Budget) {
        self.shared = Some(budget);
    }

    /// Whether there is any limit.
    pub(crate) fn is_on(&self) -> bool {
        self.limit > 0 || self.shared.is_some()
    }

    /// Reasoning arrived: its estimate in sixteenths, and the provider's count beside it.
    pub(crate) fn arrive(&mut self, weight: u64, given: Option<u32>) {
        if let Some(given) = given.filter(|given| *given > 0 || self.given) {
            self.given = true;
            self.source = CountSource::Provider;
            let given = u64::from(given);
            let counted = self.counted(self.arrived).saturating_add(given);
            self.arrived = self.arrived.saturating_add(weight);
            if weight != given.saturating_mul(TOKEN) {
                self.put(counted);
            }
        } else {
            // A count of 0 beside a text is none, unless that provider has counted before.
            self.arrived = self.arrived.saturating_add(weight);
        }
    }

    /// Reasoning arrived that does not go through the engine. Gives its estimate; `None` if none of the texts is any.
    pub(crate) fn arrive_whole<'a>(
        &mut self,
        texts: impl Iterator<Item = &'a Text<'a>>,
    ) -> Option<u64> {
        let mut weight = None;
        for text in texts.filter(|text| text.kind == Kind::Reasoning) {
            let estimate = self.estimate.get_or_insert_with(|| Box::new(Estimate::new()));
            let own = estimate.push(&text.text, text.tokens);
            self.arrive(own, text.tokens);
            weight = Some(weight.unwrap_or(0_u64).saturating_add(own));
        }
        weight
    }

    /// The provider reports what this attempt's reasoning comes to; `last` if it is done. Says whether the stream has to
    /// end here, as soon as all that has arrived has left.
    pub(crate) fn report(&mut self, count: u64, last: bool) -> bool {
        // 0 where there is text is no count, and elsewhere says nothing.
        if count == 0 || !last && self.reported == Some(count) {
            return false;
        }
        self.reported = Some(count);
        let total = self.before.saturating_add(count);
        // Of several choices another one may have begun since all that were seen had stopped.
        self.last = last.then_some(total);
        if self.spent {
            return false;
        }
        if last {
            // It may free what waits; more than was thought is told once everything is out.
            if total < self.counted(self.arrived) {
                self.put(total);
                self.correct();
            }
            return false;
        }
        self.source = CountSource::Provider;
        self.put(total);
        let raised = self.correct();
        self.shared_over |= raised && self.shared.as_ref().is_some_and(|b| b.used() > b.limit());
        self.wants_mark()
    }

    /// The answer begins anew: what came so far stays counted, and the provider counts from 0. Says the same as `report`.
    pub(crate) fn restart(&mut self) -> bool {
        let counted = self.counted(self.arrived);
        self.before = self.last.take().map_or(counted, |last| last.max(counted));
        self.reported = None;
        self.put(self.before);
        self.correct();
        self.wants_mark()
    }

    /// All of an event is taken in, text and report.
    pub(crate) fn end_event(&mut self) {
        self.spent |= self.limit > 0 && self.counted(self.arrived) > self.limit;
    }

    /// Whether more has arrived than may leave: then nothing of it should wait.
    pub(crate) fn is_too_much(&self) -> bool {
        let arrived = self.counted(self.arrived);
        let over =
            |b: &Budget| b.used().saturating_add(arrived.saturating_sub(self.charged)) > b.limit();
        self.limit > 0 && arrived > self.limit || self.shared.as_ref().is_some_and(over)
    }

    /// Whether reasoning waits that will be refused, since others have used the shared budget up.
    pub(crate) fn will_refuse(&self) -> bool {
        // Less than a token may be left over by rounding.
        self.arrived >= self.left.saturating_add(TOKEN)
            && self.shared.as_ref().is_some_and(|b| b.used() >= b.limit())
    }

    /// A piece of so many tokens leaves, unless what has left is too much already, or the shared budget refuses it.
    pub(crate) fn leave(&mut self, tokens: u32) -> Result<(), ReasoningBudgetExceeded> {
        self.leave_weight(u64::from(tokens).saturating_mul(TOKEN))
    }

    /// The same in sixteenths.
    pub(crate) fn leave_weight(&mut self, weight: u64) -> Result<(), ReasoningBudgetExceeded> {
        if let Some(exceeded) = self.exceeded() {
            return Err(exceeded);
        }
        let left = self.left.saturating_add(weight);
        let counted = self.counted(left);
        if let Some(budget) = &self.shared {
            if !budget.charge(counted.saturating_sub(self.charged)) {
                return Err(shared_exceeded(budget, self.source));
            }
            self.charged = self.charged.max(counted);
        }
        self.move_to(left);
        self.was_last = self.exceeded().is_some();
        Ok(())
    }

    /// Whether the piece that left last was the last that may. A report alone does not end a stream before what came with it
    /// has left: that is for the mark.
    pub(crate) fn ended(&self) -> Option<ReasoningBudgetExceeded> {
        self.exceeded().filter(|_| self.was_last)
    }

    /// Whether the text that has left is more than this stream may give out.
    fn exceeded(&self) -> Option<ReasoningBudgetExceeded> {
        self.over(self.counted_before(self.left))
    }

    fn over(&self, used: u64) -> Option<ReasoningBudgetExceeded> {
        let Self { limit, source, .. } = *self;
        let exceeded = ReasoningBudgetExceeded { used, limit, source, shared: false };
        (limit > 0 && used > limit).then_some(exceeded)
    }

    /// The place behind a report that was too much is reached: all that had arrived by then has left.
    pub(crate) fn reach_mark(&mut self) -> Option<ReasoningBudgetExceeded> {
        let at = self.mark.take().unwrap_or_default();
        self.move_to(self.left.max(at));
        self.correct();
        let shared = self.shared.as_ref().filter(|b| self.shared_over && b.used() > b.limit());
        self.shared_over = false;
        self.over(self.counted(self.left))
            .or_else(|| shared.map(|b| shared_exceeded(b, self.source)))
    }

    /// Everything is out: whether the final usage is more than was allowed. Says it once.
    pub(crate) fn settle(&mut self) -> Option<ReasoningBudgetExceeded> {
        let used = self.last.take()?;
        let (limit, source) = (self.limit, CountSource::Usage);
        let raised = used > self.charged;
        if let Some(budget) = &self.shared {
            budget.correct(self.charged, used);
            self.charged = used;
        }
        if limit > 0 && used > limit {
            return Some(ReasoningBudgetExceeded { used, limit, source, shared: false });
        }
        let shared = self.shared.as_ref().filter(|b| raised && b.used() > b.limit());
        shared.map(|budget| shared_exceeded(budget, source))
    }

    /// The stream was broken off: what has left is all that counts.
    pub(crate) fn stop(&mut self) {
        self.last = None;
    }

    /// The count that holds at an estimate.
    fn counted(&self, estimated: u64) -> u64 {
        let beyond = |point: &Point| point.estimated > estimated;
        let next = self.points.iter().position(beyond).unwrap_or(self.points.len());
        let Some(from) = next.checked_sub(1).and_then(|n| self.points.get(n)) else { return 0 };
        let more = estimated - from.estimated;
        let Some(to) = self.points.get(next) else {
            return from.counted.saturating_add(more / TOKEN);
        };
        let (rise, run) = (to.counted - from.counted, to.estimated - from.estimated);
        // The share of a u64 is one.
        let share = u128::from(rise) * u128::from(more) / u128::from(run.max(1));
        from.counted.saturating_add(u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// The same without what was counted behind that place.
    fn counted_before(&self, estimated: u64) -> u64 {
        let at = self.points.iter().find(|point| point.estimated == estimated);
        at.map_or_else(|| self.counted(estimated), |point| point.counted)
    }

    /// What has arrived comes to this. What came before cannot come to more.
    fn put(&mut self, counted: u64) {
        for point in &mut self.points {
            point.counted = point.counted.min(counted);
        }
        let estimated = self.arrived.max(self.left);
        if self.points.len() > 1 && self.points.len() >= POINTS_MAX {
            // Coarser, but bounded.
            self.points.pop_back();
        }
        let here = self.points.iter().rev().take_while(|p| p.estimated == estimated).count();
        match self.points.back_mut() {
            Some(last) if here > 1 || here == 1 && last.counted == counted => {
                last.counted = counted;
            }
            _ => self.points.push_back(Point { estimated, counted }),
        }
    }

    fn move_to(&mut self, left: u64) {
        self.left = left;
        while self.points.get(1).is_some_and(|next| next.estimated < left) {
            self.points.pop_front();
        }
    }

    /// Charges the shared budget with what has left as it is counted now. Says whether that is more than before.
    fn correct(&mut self) -> bool {
        let counted = self.counted(self.left);
        let raised = counted > self.charged;
        if let Some(budget) = &self.shared {
            budget.correct(self.charged, counted);
            self.charged = counted;
        }
        raised
    }

    /// Whether the stream has to end once all that has arrived has left. Notes that place, unless one is noted already.
    pub(crate) fn wants_mark(&mut self) -> bool {
        let over = self.limit > 0 && self.counted(self.arrived) > self.limit || self.shared_over;
        let wants = over && self.mark.is_none();
        if wants {
            self.mark = Some(self.arrived);
        }
        wants
    }
}

fn shared_exceeded(budget: &Budget, source: CountSource) -> ReasoningBudgetExceeded {
    let (used, limit) = (budget.used(), budget.limit());
    ReasoningBudgetExceeded { used, limit, source, shared: true }
}

/// Estimates text as the engine would.
#[derive(Debug)]
struct Estimate {
    cutter: Cutter,
}

impl Estimate {
    fn new() -> Self {
        Self { cutter: Cutter::new(SegmentConfig::default()) }
    }

    /// What this text adds, in sixteenths of a token. Without text, what the provider counts.
    fn push(&mut self, text: &str, given: Option<u32>) -> u64 {
        if text.is_empty() {
            return u64::from(given.unwrap_or_default()) * TOKEN;
        }
        let before = self.cutter.end().tokens;
        self.cutter.push(text);
        let end = self.cutter.end();
        self.cutter.drop_edges(end.end);
        while self.cutter.pop_end().is_some() {}
        end.tokens - before
    }
}

/// Sixteenths.
const TOKEN: u64 = 16;
/// Points that may stand between what has left and what has arrived. More than a queue's worth of reports would be.
const POINTS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(limit: u64) -> Meter {
        Meter::new(limit)
    }

    #[test]
    fn without_reports_the_estimate_counts() {
        let mut meter = meter(10);
        meter.arrive(20 * TOKEN, None);
        assert!(meter.is_too_much());
        meter.leave(10).unwrap();
        assert_eq!(meter.ended(), None);
        meter.leave(1).unwrap();
        let source = CountSource::Estimate;
        let exceeded = ReasoningBudgetExceeded { used: 11, limit: 10, source, shared: false };
        assert_eq!(meter.ended(), Some(exceeded));
    }

    #[test]
    fn what_waits_below_a_report_is_scaled_in_proportion() {
        let mut meter = meter(1_000);
        meter.arrive(100 * TOKEN, None);
        assert!(!meter.report(300, false));
        meter.leave(10).unwrap();
        assert_eq!(meter.counted(meter.left), 30);
        meter.arrive(10 * TOKEN, None);
        // Beyond it the estimate fills in.
        assert_eq!(meter.counted(meter.arrived), 310);
    }

    #[test]
    fn a_report_behind_the_event_that_was_too_much_frees_nothing() {
        let mut meter = meter(50);
        meter.arrive(100 * TOKEN, None);
        meter.end_event();
        assert!(!meter.report(40, false));
        meter.leave(51).unwrap();
        assert_eq!(meter.ended().map(|exceeded| exceeded.used), Some(51));
    }

    #[test]
    fn a_lower_report_frees_what_came_with_it() {
        let mut meter = meter(50);
        meter.arrive(100 * TOKEN, None);
        meter.leave(45).unwrap();
        assert!(meter.is_too_much());
        meter.report(40, false);
        assert!(!meter.is_too_much());
        meter.leave(55).unwrap();
        assert_eq!((meter.counted(meter.left), meter.ended()), (40, None));
    }

    #[test]
    fn a_report_that_repeats_does_not_count_twice() {
        let mut meter = meter(100);
        meter.arrive(10 * TOKEN, None);
        meter.report(60, false);
        meter.report(60, false);
        meter.report(60, true);
        meter.leave(10).unwrap();
        assert_eq!((meter.ended(), meter.settle()), (None, None));
        assert_eq!(meter.counted(meter.left), 60);
    }

    #[test]
    fn a_report_without_text_ends_the_stream_behind_what_came_before() {
        let mut meter = meter(100);
        meter.arrive(10 * TOKEN, None);
        assert!(meter.report(101, false));
        // Once is enough.
        assert!(!meter.report(102, false));
        assert_eq!(meter.reach_mark().map(|found| found.used), Some(102));
    }

    #[test]
    fn a_final_report_is_told_once_everything_is_out() {
        let mut meter = meter(100);
        assert!(!meter.report(500, true));
        assert_eq!(meter.ended(), None);
        let (source, shared) = (CountSource::Usage, false);
        let exceeded = ReasoningBudgetExceeded { used: 500, limit: 100, source, shared };
        assert_eq!(meter.settle(), Some(exceeded));
        assert_eq!(meter.settle(), None);
    }

    #[test]
    fn a_report_after_a_final_one_says_that_it_was_not() {
        let budget = Budget::new(1_000);
        let mut meter = meter(0);
        meter.share(budget.clone());
        meter.arrive(20 * TOKEN, None);
        meter.leave(20).unwrap();
        meter.report(20, true);
        meter.arrive(20 * TOKEN, None);
        meter.leave(20).unwrap();
        meter.report(50, false);
        assert_eq!((meter.settle(), budget.used()), (None, 50));
    }

    #[test]
    fn a_restart_keeps_what_was_used() {
        let mut meter = meter(100);
        meter.arrive(30 * TOKEN, None);
        meter.report(60, false);
        assert!(!meter.restart());
        // The same number as before, but of another attempt.
        assert!(meter.report(60, false));
        assert_eq!(meter.counted(meter.arrived), 120);
    }

    #[test]
    fn a_count_beside_a_text_counts_in_its_place() {
        let mut meter = meter(100);
        // It has not begun to count.
        meter.arrive(4 * TOKEN, Some(0));
        assert_eq!(meter.counted(meter.arrived), 4);
        meter.arrive(5 * TOKEN, Some(67));
        meter.arrive(5 * TOKEN, Some(0));
        assert_eq!(meter.counted(meter.arrived), 71);
        assert_eq!(meter.source, CountSource::Provider);
    }

    #[test]
    fn nothing_that_is_reported_overflows() {
        let mut meter = meter(1);
        meter.share(Budget::new(u64::MAX));
        meter.arrive(u64::MAX, Some(u32::MAX));
        meter.report(u64::MAX, false);
        meter.restart();
        meter.report(u64::MAX, false);
        meter.leave(u32::MAX).unwrap();
        meter.arrive(u64::MAX, None);
        assert!(meter.leave_weight(u64::MAX).is_err());
        assert!(meter.ended().is_some());
    }

    #[test]
    fn what_is_remembered_of_reports_is_bounded() {
        let mut meter = meter(0);
        for count in 1..10_000 {
            meter.arrive(TOKEN, None);
            meter.report(count * 3, false);
        }
        assert_eq!(meter.points.len(), POINTS_MAX);
        assert_eq!(meter.counted(meter.arrived), 29_997);
    }

    #[test]
    fn reports_correct_the_charge_of_a_shared_budget() {
        let budget = Budget::new(1_000);
        let mut meter = meter(0);
        meter.share(budget.clone());
        meter.arrive(20 * TOKEN, None);
        meter.leave(10).unwrap();
        assert_eq!(budget.used(), 10);
        meter.report(60, false);
        assert_eq!(budget.used(), 30);
        meter.report(20, false);
        assert_eq!(budget.used(), 10);
        meter.leave(10).unwrap();
        meter.report(90, true);
        assert_eq!((budget.used(), meter.settle()), (20, None));
        assert_eq!(budget.used(), 90);
    }
}
