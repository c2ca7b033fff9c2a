//! The seam between pacing and segmenting: what of a lane may go next, and when.
//!
//! Pacing says when something is due; the segmenter says where text may be cut. This module only picks: of
//! all ways to release something from the head of a lane it gives the earliest, and of those at the same
//! time the one with the best boundary. Nothing here changes any state.

use crate::config::Config;
use crate::delta::Kind;
use crate::pace::{self, Pacer};
use crate::queue::{First, Lane, Run};
use crate::segment::Edge;
use crate::time::Nanos;

/// The parameters that decide what a piece is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    unit: Unit,
    /// Size of a part of a token count, in sixteenths.
    target: u64,
    /// Part of the queue that a cut against a stall takes, in thousandths.
    cut_part: u64,
    max_delay: Nanos,
    first_hold: Nanos,
    grapheme_hold: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Block,
    Word,
    Whole,
}

/// What the pacer and the engine say about this moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'a> {
    pub now: Nanos,
    /// By its last plan.
    pub pacer: &'a Pacer,
    /// Size of a piece of words, in sixteenths.
    pub quantum: u64,
    /// Deltas and marks with a smaller number are not paced any more.
    pub flush_before: u64,
    /// Text before this number has to leave by this time: a tool call or the end comes behind it.
    pub tail: Option<(u64, Nanos)>,
    /// Whether nothing has been released yet.
    pub first: bool,
}

/// Something to release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// Text up to here.
    Text(Edge),
    /// So many tokens of a count.
    Count(u32),
}

impl Moment<'_> {
    /// When the cluster guard has room for so many sixteenths of a token.
    fn room(&self, sixteenths: u64) -> Nanos {
        self.pacer.room(pace::credit(sixteenths))
    }

    /// Not in the past, and not before the reader has read what went before.
    fn earliest(&self, at: Nanos, flushed: bool) -> Nanos {
        if flushed { at.max(self.now) } else { at.max(self.now).max(self.pacer.reader()) }
    }
}

impl Rules {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            unit: match config.unit {
                0 => Unit::Block,
                1 => Unit::Word,
                _ => Unit::Whole,
            },
            // Without segmenting a count is one block, whatever its size.
            target: match config.segmenting() {
                Some(_) => config.target * 16 / 1_000,
                None => u64::MAX / 4,
            },
            cut_part: config.cut_part,
            max_delay: Nanos(config.max_delay),
            first_hold: Nanos(config.first_hold),
            grapheme_hold: Nanos(config.grapheme_hold),
        }
    }

    /// The next release of a lane, not before `m.now`; `None` when it waits for input.
    pub(crate) fn next(&self, lane: &Lane, m: &Moment<'_>) -> Option<(Nanos, Release)> {
        let front = lane.runs.front()?;
        let flushed = front.number < m.flush_before;
        let tail = m.tail.filter(|(before, _)| front.number < *before).map(|(_, until)| until);
        if let Some(count) = front.count {
            let size = if self.unit == Unit::Word { m.quantum } else { self.target };
            let count = count.next(size);
            let due = match self.unit {
                _ if flushed || m.first => m.now,
                Unit::Word => m.pacer.due().max(m.room(u64::from(count) * 16)),
                _ => m.pacer.due(),
            };
            let at = due.min(self.deadline(lane.due_from(front), tail));
            return Some((m.earliest(at, flushed), Release::Count(count)));
        }
        let cuts = Cuts::new(self, lane, front);
        let options =
            [cuts.first_text(m.now), if flushed { cuts.best(m.now) } else { None }, cuts.paced(m)];
        // `min_by_key` keeps the first of equals.
        let first = options.into_iter().flatten().min_by_key(|(at, _)| (*at).max(m.now));
        let due_from = match (self.unit, cuts.block_end) {
            (Unit::Whole, Some((_, decided))) => decided,
            _ => lane.due_from(front),
        };
        let deadline = self.deadline(due_from, tail).max(m.now);
        let (at, cut) = match first {
            // The ordinary case: no deadline is near.
            Some((at, cut)) if at.max(m.now) <= deadline => (at, cut),
            later => {
                let options = [later, cuts.best(deadline)];
                options.into_iter().flatten().min_by_key(|(at, _)| (*at).max(m.now))?
            }
        };
        Some((m.earliest(at, flushed), Release::Text(cut)))
    }

    fn deadline(&self, from: Nanos, tail: Option<Nanos>) -> Nanos {
        let bound = from.after(self.max_delay);
        tail.map_or(bound, |until| until.min(bound))
    }
}

/// Where the head of a lane may be cut.
struct Cuts<'a> {
    rules: &'a Rules,
    lane: &'a Lane,
    kind: Kind,
    /// The end of the block, if it is decided and no fence stands before it.
    block_end: Option<(Edge, Nanos)>,
    /// The fence, if it stands before the block's end.
    fence: Option<Edge>,
    /// No piece reaches beyond this offset.
    limit: u64,
    /// How far the characters cannot grow any more.
    certain: Edge,
}

impl<'a> Cuts<'a> {
    fn new(rules: &'a Rules, lane: &'a Lane, front: &Run) -> Self {
        let fence = lane.fence_at();
        let block_end = lane.block_end();
        let block_end = block_end.filter(|(e, _)| fence.is_none_or(|f| e.end <= f.end));
        let fence = if block_end.is_some() { None } else { fence };
        let limit = block_end.map(|(e, _)| e).or(fence).map_or(u64::MAX, |e| e.end);
        let certain = lane.certain();
        Self { rules, lane, kind: front.kind, block_end, fence, limit, certain }
    }

    /// The first visible text goes at its first word end, or after `first_hold` without one.
    fn first_text(&self, now: Nanos) -> Option<(Nanos, Edge)> {
        let First::Waiting { at, arrived } = self.lane.first(self.kind) else { return None };
        if self.rules.unit != Unit::Word
            && let Some((end, _)) = self.block_end
        {
            return Some((now, end));
        }
        if self.rules.unit == Unit::Whole {
            return None;
        }
        let word = self.lane.edge_after(at).filter(|e| e.end <= self.limit);
        if let Some(edge) = word.or(self.block_end.map(|(e, _)| e)) {
            return Some((now, edge));
        }
        if let Some(fence) = self.fence.filter(|f| f.end <= at) {
            return Some((now, fence));
        }
        let held = arrived.after(self.rules.first_hold);
        match self.fence {
            Some(fence) if fence.end <= self.certain.end => Some((now, fence)),
            _ if self.certain.end > at => Some((held, self.capped(self.certain))),
            _ => Some((held.max(self.held_until()), self.capped(self.lane.end()))),
        }
    }

    /// What goes in the ordinary course of pacing.
    fn paced(&self, m: &Moment<'_>) -> Option<(Nanos, Edge)> {
        let head = self.lane.head;
        let due = m.pacer.due();
        match self.rules.unit {
            Unit::Whole => self.block_end.map(|(end, _)| (due, end)),
            Unit::Block => match (self.block_end, self.fence) {
                (Some((end, _)), _) => Some((due, end)),
                // A part that ends at a mark cannot grow: nothing to wait for but the pacer.
                (None, Some(fence)) => Some((self.when_certain(due, fence), fence)),
                // The block is not decided: a part of what is there, at a word, against the stall.
                (None, None) => {
                    let queued = m.pacer.backlog() / pace::credit(1);
                    let some = (queued * self.rules.cut_part / 1_000).max(2 * 16);
                    let cut = self.lane.edge_at_least(head.tokens + some);
                    match cut.or_else(|| self.lane.edge_before(u64::MAX)) {
                        Some(cut) => Some((m.pacer.stall(), self.short(cut))),
                        None => self.open_word(m.pacer.stall()),
                    }
                }
            },
            Unit::Word => {
                let within = |e: &Edge| e.end <= self.limit;
                let some = self.lane.edge_at_most(head.tokens + m.quantum, self.limit);
                let one = || self.lane.edge_after(head.end).filter(within);
                let last = || self.block_end.map(|(e, _)| e);
                match (some.or_else(one).or_else(last), self.fence) {
                    (Some(edge), _) => {
                        let edge = self.short(edge);
                        Some((due.max(m.room(edge.tokens - head.tokens)), edge))
                    }
                    (None, Some(fence)) => Some((self.when_certain(due, fence), fence)),
                    (None, None) => self.open_word(m.pacer.stall()),
                }
            }
        }
    }

    /// Nothing but a word whose end has not come: against a stall it goes as far as its last character has
    /// been held long enough, or else as far as the delta before brought it. Blanks alone end no stall that a
    /// reader would see.
    fn open_word(&self, stall: Nanos) -> Option<(Nanos, Edge)> {
        let (head, end) = (self.lane.head.end, self.lane.end());
        if self.lane.slice(head, end.end).trim().is_empty() {
            return None;
        }
        let held = self.held_until();
        let before = self
            .lane
            .delta_end_before(end.end)
            .filter(|e| e.end > head && e.end <= self.certain.end);
        match before {
            Some(before) if held > stall => Some((stall, before)),
            _ => (end.end > head).then(|| (stall.max(held), end)),
        }
    }

    /// The best cut there is when something must go at `at`.
    fn best(&self, at: Nanos) -> Option<(Nanos, Edge)> {
        if let Some((end, _)) = self.block_end {
            return Some((at, end));
        }
        if self.rules.unit == Unit::Whole {
            return None;
        }
        if let Some(edge) = self.lane.edge_before(self.limit) {
            return Some((at, self.short(edge)));
        }
        if self.certain.end > self.lane.head.end {
            return Some((at, self.short(self.capped(self.certain))));
        }
        let end = self.capped(self.lane.end());
        (end.end > self.lane.head.end).then(|| (at.max(self.held_until()), end))
    }

    /// The same cut, or an earlier one where the block may yet prove to end: no piece spans such a place.
    fn short(&self, edge: Edge) -> Edge {
        self.lane.undecided_before(edge.end).unwrap_or(edge)
    }

    fn capped(&self, edge: Edge) -> Edge {
        self.fence.filter(|f| f.end < edge.end).unwrap_or(edge)
    }

    fn when_certain(&self, at: Nanos, edge: Edge) -> Nanos {
        if edge.end <= self.certain.end { at } else { at.max(self.held_until()) }
    }

    /// When the open cluster at the end of the text has been held long enough.
    fn held_until(&self) -> Nanos {
        self.lane.arrival(self.certain.end).after(self.rules.grapheme_hold)
    }
}
