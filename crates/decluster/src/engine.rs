//! The engine: joins queue, segmenter and pacer. It does no parsing and no arithmetic of its own.
//!
//! Time enters in [`Engine::push`], [`Engine::mark`], [`Engine::finish`] and [`Engine::poll`] only. What goes
//! next, and when, is decided whenever something arrives or leaves and holds in between, so
//! [`Output::Wait`] is a promise in both directions: nothing goes earlier, something goes then.

use crate::config::Config;
use crate::delta::{Delta, Kind};
#[cfg(feature = "guard")]
use crate::guard::{ClusterRule, Clustering};
use crate::pace::{self, Pacer};
use crate::queue::{Item, Queue, TooManyLanes};
use crate::release::{Moment, Release, Rules};
use crate::segment::{Boundary, Edge};
use crate::tails::Tails;
use crate::time::Nanos;
use core::fmt;

/// Takes the deltas of one stream and gives them back as paced pieces.
///
/// Bounded by [`Config`]; never panics, whatever the text, the order of calls or the clock.
#[derive(Debug)]
pub struct Engine {
    rules: Rules,
    max_queue_bytes: usize,
    max_event_bytes: usize,
    queue: Queue,
    pacer: Pacer,
    /// The latest time seen; a clock that runs backwards stands still.
    clock: Nanos,
    plan: Plan,
    /// Tool calls and ends that are queued.
    tails: Tails,
    flush_before: u64,
    finished: bool,
    paused: bool,
    arrived: u64,
    left: u64,
    seq: u64,
    attempt: u32,
    stats: Stats,
    #[cfg(feature = "guard")]
    clusters: Clustering,
}

/// What [`Engine::poll`] gives. Text is borrowed until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output<'a> {
    /// Text to show now.
    Piece(Piece<'a>),
    /// A mark whose turn has come: the number given to [`Engine::mark`].
    Mark(u64),
    /// Something that happened.
    Event(Event),
    /// Nothing before this time unless there is input; then something.
    Wait(Nanos),
    /// Nothing until there is input.
    NeedInput,
    /// Everything is out and no more will come.
    Finished,
}

/// Something that happened in the stream, in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// [`Engine::begin_attempt`] was called: what follows is attempt number `attempt`, the first being 1.
    Restarted {
        /// Number of the attempt.
        attempt: u32,
    },
    /// All output of this choice so far was reasoning: a closing tag came that nothing had opened. Given by
    /// the rewriter alone.
    Reclassified {
        /// The choice.
        index: u32,
    },
    /// More reasoning came than is allowed: the stream ends here, or everything is out and the final usage says so.
    /// Given by the rewriter alone, with `over_budget = event`.
    #[cfg(feature = "wire")]
    BudgetExceeded(crate::guard::ReasoningBudgetExceeded),
}

/// What is released at once: a block, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece<'a> {
    /// The text. Empty for a part of a token count without text.
    pub text: &'a str,
    /// Reasoning or output.
    pub kind: Kind,
    /// The choice.
    pub index: u32,
    /// Numbers all pieces, marks and events of an engine in the order they leave, from 0.
    pub seq: u64,
    /// Number of the block within its choice, from 0.
    pub block: u64,
    /// Number of this piece within its block, from 0.
    pub part: u32,
    /// What stands at its end.
    pub boundary: Boundary,
    /// Whether the block is known to end here.
    pub ends_block: bool,
    /// Estimate of its LLM tokens; the estimates of a stream's pieces add up to that of its text.
    pub tokens: u32,
    /// Number of the delta that holds its last byte: the n-th accepted push, from 0.
    pub origin: u64,
    /// When its first byte arrived.
    pub arrived: Nanos,
}

impl Piece<'_> {
    /// The same piece with its text kept elsewhere.
    #[cfg(feature = "wire")]
    pub(crate) fn with_text(self, text: &str) -> Piece<'_> {
        let Self {
            kind,
            index,
            seq,
            block,
            part,
            boundary,
            ends_block,
            tokens,
            origin,
            arrived,
            ..
        } = self;
        Piece { text, kind, index, seq, block, part, boundary, ends_block, tokens, origin, arrived }
    }
}

/// What to do with queued text on [`Engine::cancel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// It leaves at once, then the engine is finished.
    Flush,
    /// It is forgotten.
    Drop,
}

/// Counters of one engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Deltas accepted.
    pub deltas: u64,
    /// Pieces released.
    pub pieces: u64,
    /// Blocks of which something was released.
    pub blocks: u64,
    /// Pieces that ended inside a block.
    pub cuts: u64,
    /// Pieces for which a deadline or a tail asked for more than pacing would have given.
    pub hurried: u64,
    /// Tokens that came in, by the estimate.
    pub tokens_in: u64,
    /// Tokens that went out, by the estimate.
    pub tokens_out: u64,
    /// Bytes of text that came in.
    pub bytes_in: u64,
    /// Bytes of text that went out.
    pub bytes_out: u64,
    /// Bytes queued, with the bookkeeping of deltas and marks.
    pub queued_bytes: u64,
    /// The longest time that the first byte of a piece was delayed.
    pub max_delay: Nanos,
    /// Mean rate of release at the last plan, in tokens per second.
    pub rate: u64,
}

/// Why [`Engine::push`] or [`Engine::mark`] refused; the engine is as it was. The caller's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushError {
    /// The queue would exceed `max_queue_bytes`: poll first. Where everything waits for the end of a block
    /// (`unit = whole`), that block is ended.
    Full {
        /// Bytes of the delta.
        bytes: usize,
        /// Bytes queued.
        queued: usize,
        /// The bound.
        limit: usize,
    },
    /// The delta exceeds `max_event_bytes`.
    TooLarge {
        /// Bytes of the delta.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// The stream has more choices than `max_choices`.
    TooManyChoices {
        /// The index that would have been one too many.
        index: u32,
    },
    /// The engine was finished or cancelled before.
    Finished,
}

/// What goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    Mark { at: Nanos },
    Lane { at: Nanos, place: usize, release: Release },
}

impl Engine {
    /// An engine for one stream. `now` is the first reading of the caller's monotonic clock.
    pub fn new(config: &Config, now: Nanos) -> Self {
        Self {
            rules: Rules::new(config),
            max_queue_bytes: config.max_queue_bytes as usize,
            max_event_bytes: config.max_event_bytes as usize,
            queue: Queue::new(config),
            pacer: Pacer::new(config),
            clock: now,
            plan: Plan::Nothing,
            tails: Tails::new(Nanos(config.max_tail)),
            flush_before: 0,
            finished: false,
            paused: false,
            arrived: 0,
            left: 0,
            seq: 0,
            attempt: 1,
            stats: Stats::default(),
            #[cfg(feature = "guard")]
            clusters: Clustering::new(ClusterRule::from(config)),
        }
    }

    /// Takes in one delta, as a whole or not at all. A delta without text and without tokens is nothing.
    ///
    /// # Errors
    /// [`PushError`]; the engine is then as it was.
    pub fn push(&mut self, now: Nanos, delta: Delta<'_>) -> Result<(), PushError> {
        if self.finished {
            return Err(PushError::Finished);
        }
        if delta.text.len() > self.max_event_bytes {
            return Err(PushError::TooLarge {
                bytes: delta.text.len(),
                limit: self.max_event_bytes,
            });
        }
        if delta.text.is_empty() && delta.tokens.unwrap_or(0) == 0 {
            self.tick(now);
            return Ok(());
        }
        self.check(delta.text.len())?;
        self.admit(now, delta).map(|_| ())
    }

    /// Queues an opaque number behind everything that has arrived; it comes back as [`Output::Mark`] in its
    /// place. With `hurry`, the block before it ends here and all queued text leaves within `max_tail`.
    ///
    /// # Errors
    /// [`PushError`]; the engine is then as it was.
    pub fn mark(&mut self, now: Nanos, id: u64, hurry: bool) -> Result<(), PushError> {
        self.check(0)?;
        self.queue_mark(now, Item::Caller(id), hurry);
        Ok(())
    }

    /// What comes after this belongs to other blocks than what came before.
    pub fn end_block(&mut self, now: Nanos) {
        let now = self.tick(now);
        self.queue.end_blocks(now);
        self.replan(now);
    }

    /// The stream starts again: queues [`Event::Restarted`] in its place and ends the blocks before it.
    ///
    /// # Errors
    /// [`PushError`]; the engine is then as it was.
    pub fn begin_attempt(&mut self, now: Nanos) -> Result<(), PushError> {
        self.check(0)?;
        self.admit_attempt(now);
        Ok(())
    }

    /// The same, whether it fits or not.
    pub(crate) fn admit_attempt(&mut self, now: Nanos) {
        self.attempt = self.attempt.saturating_add(1);
        self.queue_mark(now, Item::Restarted(self.attempt), true);
    }

    /// No more input will come: what is queued leaves within `max_tail`, then [`Output::Finished`].
    pub fn finish(&mut self, now: Nanos) {
        let now = self.tick(now);
        if !self.finished {
            self.finished = true;
            self.queue.end_blocks(now);
            self.tails.push(now, u64::MAX, self.arrived);
            self.replan(now);
        }
    }

    /// Stops pacing what is queued at present: it is due at once. A character that may still grow is held
    /// as ever.
    pub fn flush(&mut self) {
        self.flush_before = self.queue.next_number();
        self.replan(self.clock);
    }

    /// Ends the stream early: what is queued leaves at once or is forgotten, nothing more is taken in.
    pub fn cancel(&mut self, how: Cancel) {
        match how {
            Cancel::Flush => {
                self.finish(self.clock);
                self.flush();
            }
            Cancel::Drop => {
                self.finished = true;
                self.queue.clear();
                self.pacer.clear();
                self.plan = Plan::Nothing;
            }
        }
    }

    /// Whether the caller should go on reading its source: false from half of `max_queue_bytes` on, true
    /// again below a quarter, and whenever nothing can leave without more of it.
    pub fn wants_input(&self) -> bool {
        !self.finished && (!self.paused || self.is_stuck())
    }

    /// What to do now. Call it until it gives [`Output::Wait`], [`Output::NeedInput`] or
    /// [`Output::Finished`]; after `Wait(at)` again at `at`, or after input.
    ///
    /// A call up to 100 ms late gets what is due at once. Of a longer absence 100 ms count as lateness; for the
    /// rest the deadline clock stood still, and what is queued flows out within `max_delay`.
    pub fn poll(&mut self, now: Nanos) -> Output<'_> {
        let now = self.tick(now);
        match self.plan {
            Plan::Nothing if self.finished => Output::Finished,
            Plan::Nothing => Output::NeedInput,
            Plan::Mark { at } | Plan::Lane { at, .. } if at > now => Output::Wait(at),
            Plan::Mark { at } => self.release_mark(at, now),
            Plan::Lane { at, place, release } => {
                let at = self.account_for_lateness(at, now);
                match release {
                    Release::Text(cut) => self.release_text(at, now, place, cut),
                    Release::Count(tokens) => self.release_count(at, now, place, tokens),
                }
            }
        }
    }

    /// Counters so far.
    pub fn stats(&self) -> Stats {
        Stats {
            tokens_in: self.stats.tokens_in / 16,
            queued_bytes: self.queue.bytes() as u64,
            rate: self.pacer.rate() / pace::CREDIT,
            ..self.stats
        }
    }

    /// How clustered the stream came in, and how it left: both by the same estimate as [`Engine::stats`].
    #[cfg(feature = "guard")]
    pub fn clusters(&self) -> &Clustering {
        &self.clusters
    }

    /// Tells the cluster detector what arrived. A rewriter does so for what does not go through the engine.
    #[cfg_attr(not(feature = "guard"), expect(unused_variables, clippy::unused_self))]
    pub(crate) fn saw_arrive(&mut self, now: Nanos, tokens: u64) {
        #[cfg(feature = "guard")]
        self.clusters.before.record(now, tokens);
    }

    /// The same for what left.
    #[cfg_attr(not(feature = "guard"), expect(unused_variables, clippy::unused_self))]
    pub(crate) fn saw_leave(&mut self, now: Nanos, tokens: u64) {
        #[cfg(feature = "guard")]
        self.clusters.after.record(now, tokens);
    }

    /// Takes in a delta whether it fits or not: for a caller that keeps the bound by itself, event by event. Gives its
    /// tokens, in sixteenths.
    pub(crate) fn admit(&mut self, now: Nanos, delta: Delta<'_>) -> Result<u64, PushError> {
        let weight = self.queue.push(now.max(self.clock), &delta, self.stats.deltas);
        let weight =
            weight.map_err(|TooManyLanes| PushError::TooManyChoices { index: delta.index })?;
        let now = self.tick(now);
        self.stats.deltas += 1;
        let before = self.stats.tokens_in;
        self.stats.tokens_in = self.stats.tokens_in.saturating_add(weight);
        // Whole tokens of the running sum, so that they add up to the sum's.
        self.saw_arrive(now, self.stats.tokens_in / 16 - before / 16);
        self.stats.bytes_in += delta.text.len() as u64;
        self.arrived = self.arrived.saturating_add(pace::credit(weight));
        self.pacer.arrived(now, pace::credit(weight));
        self.replan(now);
        Ok(weight)
    }

    /// Queues a mark whether it fits or not.
    #[cfg(feature = "wire")]
    pub(crate) fn admit_mark(&mut self, now: Nanos, id: u64, hurry: bool) {
        self.queue_mark(now, Item::Caller(id), hurry);
    }

    /// Queues [`Event::Reclassified`], whether it fits or not.
    #[cfg(feature = "wire")]
    pub(crate) fn admit_reclassified(&mut self, now: Nanos, index: u32) {
        self.end_block(now);
        self.queue_mark(now, Item::Reclassified(index), false);
    }

    /// Whether all these choices are known or may still begin.
    #[cfg(feature = "wire")]
    pub(crate) fn has_choices_for(&self, indexes: impl Iterator<Item = u32>) -> bool {
        self.queue.has_lanes_for(indexes)
    }

    /// Whether nothing is planned although something is queued: it waits for the end of its block.
    pub(crate) fn is_stuck(&self) -> bool {
        self.plan == Plan::Nothing && self.queue.bytes() > 0
    }

    /// Whether something is planned.
    #[cfg(feature = "wire")]
    pub(crate) fn has_plan(&self) -> bool {
        self.plan != Plan::Nothing
    }

    /// Refuses what would exceed `max_queue_bytes`. If nothing would leave by itself either, the blocks that
    /// everything waits for end here.
    fn check(&mut self, bytes: usize) -> Result<(), PushError> {
        if self.finished {
            return Err(PushError::Finished);
        }
        if self.queue.fits(bytes, 1) {
            return Ok(());
        }
        if self.is_stuck() {
            self.end_block(self.clock);
        }
        Err(PushError::Full { bytes, queued: self.queue.bytes(), limit: self.max_queue_bytes })
    }

    fn queue_mark(&mut self, now: Nanos, item: Item, hurry: bool) {
        let number = self.queue.next_number();
        self.queue.mark(now.max(self.clock), item, hurry);
        let now = self.tick(now);
        if hurry {
            self.tails.push(now, number, self.arrived);
        }
        self.replan(now);
    }

    fn release_mark(&mut self, at: Nanos, now: Nanos) -> Output<'_> {
        let at = self.account_for_lateness(at, now);
        let Some(mark) = self.queue.pop_mark() else { return Output::NeedInput };
        if mark.hurry {
            self.tails.pop();
        }
        self.seq += 1;
        self.plan_at(at);
        match mark.item {
            Item::Caller(id) => Output::Mark(id),
            Item::Restarted(attempt) => Output::Event(Event::Restarted { attempt }),
            #[cfg(feature = "wire")]
            Item::Reclassified(index) => Output::Event(Event::Reclassified { index }),
        }
    }

    fn release_text(&mut self, at: Nanos, now: Nanos, place: usize, cut: Edge) -> Output<'_> {
        let lane = &self.queue.lanes[place];
        let (from, index, block, part) = (lane.head, lane.index, lane.block, lane.part);
        let ends_block = lane.block_end().is_some_and(|(end, _)| end.end == cut.end);
        let arrived = lane.arrival(from.end);
        let Some(run) = self.queue.release(place, cut) else { return Output::NeedInput };
        let lane = &mut self.queue.lanes[place];
        lane.advance(cut);
        lane.part += 1;
        let weight = cut.tokens - from.tokens;
        let tokens = (cut.tokens / 16 - from.tokens / 16) as u32;
        self.count(now, arrived, part, ends_block, u64::from(tokens));
        self.stats.bytes_out += cut.end - from.end;
        self.spend(at, weight, run.number);
        Output::Piece(Piece {
            text: self.queue.lanes[place].slice(from.end, cut.end),
            kind: run.kind,
            index,
            seq: self.seq - 1,
            block,
            part,
            boundary: cut.boundary,
            ends_block,
            tokens,
            origin: run.delta,
            arrived,
        })
    }

    fn release_count(&mut self, at: Nanos, now: Nanos, place: usize, tokens: u32) -> Output<'_> {
        let Some(run) = self.queue.release_count(place, tokens) else { return Output::NeedInput };
        self.count(now, run.arrived, 0, true, u64::from(tokens));
        let (index, block) = (self.queue.lanes[place].index, self.queue.lanes[place].block - 1);
        self.spend(at, u64::from(tokens) * 16, run.number);
        Output::Piece(Piece {
            text: "",
            kind: run.kind,
            index,
            seq: self.seq - 1,
            block,
            part: 0,
            boundary: Boundary::Grapheme,
            ends_block: true,
            tokens,
            origin: run.delta,
            arrived: run.arrived,
        })
    }

    fn count(&mut self, now: Nanos, arrived: Nanos, part: u32, ends_block: bool, tokens: u64) {
        let stats = &mut self.stats;
        stats.pieces += 1;
        stats.blocks += u64::from(part == 0);
        stats.cuts += u64::from(!ends_block);
        stats.hurried += u64::from(self.pacer.is_hurried());
        stats.tokens_out += tokens;
        stats.max_delay = stats.max_delay.max(now.since(arrived));
        self.seq += 1;
        self.saw_leave(now, tokens);
    }

    fn spend(&mut self, at: Nanos, weight: u64, number: u64) {
        let credit = pace::credit(weight);
        self.left = self.left.saturating_add(credit);
        self.pacer.released(at, credit, number < self.flush_before);
        self.plan_at(at);
    }

    /// Plans anew, unless something is overdue: a late consumer must not lose its place.
    fn replan(&mut self, now: Nanos) {
        match self.plan {
            Plan::Mark { at } | Plan::Lane { at, .. } if at < now => self.note_watermarks(),
            _ => self.plan_at(now),
        }
    }

    fn plan_at(&mut self, now: Nanos) {
        self.note_watermarks();
        self.pacer.plan(now, self.tails.ahead(self.left));
        let moment = Moment {
            now,
            pacer: &self.pacer,
            quantum: self.pacer.quantum() / pace::credit(1),
            flush_before: self.flush_before,
            tail: self.tails.first(),
            first: self.stats.pieces == 0,
        };
        let fence = self.queue.marks.front().map_or(u64::MAX, |mark| mark.number);
        let mut held = false;
        let mut best: Option<(Nanos, u64, usize, Release)> = None;
        for (place, lane) in self.queue.lanes.iter_mut().enumerate() {
            let Some(number) = lane.runs.front().map(|run| run.number) else { continue };
            if number > fence {
                continue;
            }
            held = true;
            lane.enter_block();
            if let Some((at, release)) = self.rules.next(lane, &moment)
                && best.is_none_or(|(t, n, ..)| (at, number) < (t, n))
            {
                best = Some((at, number, place, release));
            }
        }
        self.plan = match best {
            Some((at, _, place, release)) => Plan::Lane { at, place, release },
            None if !held && !self.queue.marks.is_empty() => Plan::Mark { at: now },
            None => Plan::Nothing,
        };
    }

    /// A release that is up to 100 ms late counts as done when it was due, so that lateness does not add up. If
    /// it is later, the consumer was away for what exceeds that, and the deadline clock stood still; were it
    /// the whole time, a consumer who is always 101 ms late would stop the clock for good.
    fn account_for_lateness(&mut self, at: Nanos, now: Nanos) -> Nanos {
        let counted = Nanos(now.0.saturating_sub(LATE.0));
        if counted <= at {
            return at;
        }
        self.queue.shift(at, counted);
        self.pacer.absent(at, counted);
        self.tails.shift(counted.since(at), now);
        counted
    }

    fn note_watermarks(&mut self) {
        let (bytes, limit) = (self.queue.bytes(), self.max_queue_bytes);
        let behind = self.pacer.is_behind(self.clock, self.paused);
        if bytes >= limit / 2 || behind {
            self.paused = true;
        } else if bytes < limit / 4 {
            self.paused = false;
        }
    }

    fn tick(&mut self, now: Nanos) -> Nanos {
        self.clock = self.clock.max(now);
        self.clock
    }
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { bytes: 0, queued, limit } => write!(
                f,
                "the engine is full: {queued} bytes are queued of max_queue_bytes = {limit}; poll first"
            ),
            Self::Full { bytes, queued, limit } => write!(
                f,
                "the engine is full: {bytes} bytes do not fit behind {queued} queued of max_queue_bytes = {limit}; \
                 poll first"
            ),
            Self::TooLarge { bytes, limit } => {
                write!(f, "a delta of {bytes} bytes exceeds max_event_bytes = {limit}")
            }
            Self::TooManyChoices { index } => {
                write!(f, "choice {index} is more than max_choices allows")
            }
            Self::Finished => write!(f, "the engine was finished; it takes no more input"),
        }
    }
}

impl core::error::Error for PushError {}

/// How late a consumer may be before it counts as having been away.
pub(crate) const LATE: Nanos = Nanos::from_millis(100);
