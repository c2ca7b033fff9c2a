//! What has arrived and not left: text by choice, and marks between it.
//!
//! The queue keeps order and bounds memory. It knows which text may be cut where (the segmenter tells it),
//! but not when anything should go.
//!
//! Every delta and every mark gets a number when it arrives. A choice is a [`Lane`]; what is in a lane
//! leaves in the order of its numbers, and nothing passes a mark in either direction: a mark is a fence in
//! every lane that had text when it came. The one exception is `unit = whole`, where a mark that fell into
//! the middle of a block leaves after that block, unless it changes what the text before it is.

use crate::config::Config;
use crate::delta::{Delta, Kind};
use crate::segment::{Boundary, Cutter, Edge, SegmentConfig};
use crate::time::Nanos;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use unicode_segmentation::GraphemeCursor;

/// Text and marks of one stream, in order.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) marks: VecDeque<Mark>,
    /// Number of the next delta or mark.
    next: u64,
    bytes: usize,
    whole: bool,
    segment: Option<SegmentConfig>,
    max_bytes: usize,
    max_lanes: usize,
}

/// Something that is not text and keeps its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub number: u64,
    pub item: Item,
    /// What is queued before it should leave soon.
    pub hurry: bool,
}

/// What a mark stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    /// The caller's own number.
    Caller(u64),
    /// Attempt number so-and-so begins here.
    Restarted(u32),
    /// What was output of this choice was reasoning.
    #[cfg(feature = "wire")]
    Reclassified(u32),
}

/// One choice of the stream: the text of both kinds in the order it came.
#[derive(Debug)]
pub(crate) struct Lane {
    pub index: u32,
    text: String,
    /// Offset of `text[0]` in all text of the lane.
    base: u64,
    pub runs: VecDeque<Run>,
    cuts: Cuts,
    /// When each of the decided block ends was decided.
    decided: VecDeque<Due>,
    /// How long the deadline clock has stood still.
    away: Nanos,
    /// Places that no piece may cross.
    fences: VecDeque<Edge>,
    /// What has left.
    pub head: Edge,
    kind: Kind,
    /// Where the text ends for good: the last cluster there cannot grow.
    closed: u64,
    pub block: u64,
    pub part: u32,
    /// The first visible character of each kind while it has not left.
    first: [First; 2],
}

/// What one delta brought.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub number: u64,
    /// Number among the deltas alone.
    pub delta: u64,
    pub kind: Kind,
    /// End of its text in the lane.
    pub end: Edge,
    /// Tokens without text, in even parts.
    pub count: Option<Count>,
    pub arrived: Nanos,
    /// The same on the deadline clock: see [`Lane::due_from`].
    due_from: Due,
}

/// A time on the deadline clock, which stands still while the consumer is away: without the time for which it has.
/// So an absence moves all of them at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due(u64);

impl Due {
    pub(crate) fn of(at: Nanos, away: Nanos) -> Self {
        Self(at.0.wrapping_sub(away.0))
    }

    pub(crate) fn at(self, away: Nanos) -> Nanos {
        Nanos(self.0.wrapping_add(away.0))
    }
}

/// Tokens whose text is not known, leaving part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    tokens: u32,
    given: u32,
    part: u32,
}

/// Whether the first visible text of a kind has been seen, and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    Unseen,
    Waiting { at: u64, arrived: Nanos },
    Shown,
}

/// Where a lane's text may be cut: by the segmenter, or after each delta when segmenting is off.
#[derive(Debug)]
enum Cuts {
    Semantic(Cutter),
    PerDelta { ends: VecDeque<Edge>, cutter: Cutter },
}

/// A delta was refused: it would open one lane too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyLanes;

impl Queue {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            lanes: Vec::new(),
            marks: VecDeque::new(),
            next: 0,
            bytes: 0,
            whole: config.unit == 2,
            segment: config.segmenting(),
            max_bytes: config.max_queue_bytes as usize,
            max_lanes: config.max_choices as usize,
        }
    }

    /// Bytes of text, plus what the bookkeeping of each delta and mark costs.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number that the next delta or mark will get; everything queued has a smaller one.
    pub(crate) fn next_number(&self) -> u64 {
        self.next
    }

    /// Whether so many deltas or marks, with so many bytes together, would be taken. An empty queue takes
    /// anything.
    pub(crate) fn fits(&self, bytes: usize, items: usize) -> bool {
        self.bytes == 0 || self.bytes + bytes + items * OVERHEAD <= self.max_bytes
    }

    /// Whether there are lanes for all these choices, or room for them.
    #[cfg(feature = "wire")]
    pub(crate) fn has_lanes_for(&self, indexes: impl Iterator<Item = u32>) -> bool {
        let new = |index: &u32| self.lanes.iter().all(|lane| lane.index != *index);
        let mut new: Vec<u32> = indexes.filter(new).collect();
        new.sort_unstable();
        new.dedup();
        self.lanes.len() + new.len() <= self.max_lanes
    }

    /// Takes in a delta whole, whether it [fits](Queue::fits) or not. Gives the sixteenths of a token that it weighs.
    pub(crate) fn push(
        &mut self,
        now: Nanos,
        delta: &Delta<'_>,
        number: u64,
    ) -> Result<u64, TooManyLanes> {
        let place = match self.lanes.iter().position(|l| l.index == delta.index) {
            Some(place) => place,
            None if self.lanes.len() >= self.max_lanes => return Err(TooManyLanes),
            None => {
                if self.lanes.is_empty() {
                    // Most streams have one choice, and a lane is large.
                    self.lanes.reserve_exact(1);
                }
                self.lanes.push(Lane::new(delta.index, delta.kind, self.segment));
                self.lanes.len() - 1
            }
        };
        let lane = &mut self.lanes[place];
        let before = lane.cuts.end().tokens;
        let count = if delta.text.is_empty() { delta.tokens.map(Count::new) } else { None };
        if count.is_some() {
            // It stands for text that is not known: no block spans it.
            lane.end_block(now);
            lane.fence();
        }
        lane.append(now, delta);
        let weight = match count {
            Some(count) => u64::from(count.tokens) * 16,
            None => lane.cuts.end().tokens - before,
        };
        lane.runs.push_back(Run {
            number: self.next,
            delta: number,
            kind: delta.kind,
            end: lane.cuts.end(),
            count,
            arrived: now,
            due_from: Due::of(now, lane.away),
        });
        self.next += 1;
        self.bytes += delta.text.len() + OVERHEAD;
        Ok(weight)
    }

    /// Queues a mark behind everything that is there.
    pub(crate) fn mark(&mut self, now: Nanos, item: Item, hurry: bool) {
        // What is true from here on only must not be said of a block that goes on.
        let apart = hurry || !matches!(item, Item::Caller(_));
        if apart {
            self.end_blocks(now);
        }
        if apart || !self.whole {
            self.lanes.iter_mut().for_each(Lane::fence);
        }
        self.marks.push_back(Mark { number: self.next, item, hurry });
        self.next += 1;
        self.bytes += OVERHEAD;
    }

    /// What comes after this belongs to other blocks.
    pub(crate) fn end_blocks(&mut self, now: Nanos) {
        self.lanes.iter_mut().for_each(|lane| lane.end_block(now));
    }

    pub(crate) fn pop_mark(&mut self) -> Option<Mark> {
        let mark = self.marks.pop_front()?;
        self.bytes -= OVERHEAD;
        Some(mark)
    }

    /// Takes text of the lane up to `cut` out of the books; its bytes stay readable until the next call
    /// that changes the queue. Gives the run that holds the last of it.
    pub(crate) fn release(&mut self, place: usize, cut: Edge) -> Option<Run> {
        let lane = &mut self.lanes[place];
        let mut last = None;
        while let Some(run) = lane.runs.front().copied()
            && run.count.is_none()
            && last.is_none_or(|l: Run| l.end.end < cut.end)
        {
            last = Some(run);
            if run.end.end <= cut.end {
                lane.runs.pop_front();
                self.bytes -= OVERHEAD;
            }
        }
        self.bytes -= (cut.end - lane.head.end) as usize;
        last
    }

    /// Takes one part of a token count; each part is a block of its own.
    pub(crate) fn release_count(&mut self, place: usize, tokens: u32) -> Option<Run> {
        let lane = &mut self.lanes[place];
        let run = lane.runs.front_mut()?;
        let count = run.count.as_mut()?;
        count.given += tokens;
        count.part += 1;
        let (done, run) = (count.given >= count.tokens, *run);
        if done {
            lane.runs.pop_front();
            self.bytes -= OVERHEAD;
        }
        lane.block += 1;
        Some(run)
    }

    /// The consumer was away: the deadline clock stood still from `from` to `now`. In constant time for each call, but for
    /// what came in between, which is looked at once.
    pub(crate) fn shift(&mut self, from: Nanos, now: Nanos) {
        for lane in &mut self.lanes {
            let before = lane.away;
            lane.away = before.after(now.since(from));
            let after = lane.away;
            // What came meanwhile arrives when the clock goes on. It is last, since times only grow.
            let runs = lane.runs.iter_mut().rev().map(|run| &mut run.due_from);
            for due in runs.take_while(|due| due.at(before) > from) {
                *due = Due::of(due.at(before).max(now), after);
            }
            let decided = lane.decided.iter_mut().rev();
            for due in decided.take_while(|due| due.at(before) > from) {
                *due = Due::of(due.at(before).max(now), after);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.lanes.clear();
        self.marks.clear();
        self.bytes = 0;
    }
}

impl Lane {
    fn new(index: u32, kind: Kind, segment: Option<SegmentConfig>) -> Self {
        let cutter = Cutter::new(segment.unwrap_or_default());
        let head = cutter.end();
        Self {
            index,
            text: String::new(),
            base: 0,
            runs: VecDeque::new(),
            cuts: match segment {
                Some(_) => Cuts::Semantic(cutter),
                None => Cuts::PerDelta { ends: VecDeque::new(), cutter },
            },
            decided: VecDeque::new(),
            away: Nanos::ZERO,
            fences: VecDeque::new(),
            head,
            kind,
            closed: 0,
            block: 0,
            part: 0,
            first: [First::Unseen; 2],
        }
    }

    fn append(&mut self, now: Nanos, delta: &Delta<'_>) {
        if delta.text.is_empty() {
            return;
        }
        if delta.kind != self.kind {
            self.end_block(now);
            self.kind = delta.kind;
        }
        self.compact();
        let at = self.cuts.end().end;
        self.text.push_str(delta.text);
        self.cuts.push(delta.text);
        self.note_decided(now);
        let first = &mut self.first[delta.kind as usize];
        if *first == First::Unseen
            && let Some(visible) = delta.text.find(|c: char| !c.is_whitespace())
        {
            *first = First::Waiting { at: at + visible as u64, arrived: now };
        }
    }

    /// The text so far is a run of its own: its last block ends here, its last cluster cannot grow.
    fn end_block(&mut self, now: Nanos) {
        self.cuts.finish();
        self.note_decided(now);
        self.closed = self.cuts.end().end;
    }

    fn note_decided(&mut self, now: Nanos) {
        self.decided.resize(self.cuts.ends().len(), Due::of(now, self.away));
    }

    fn fence(&mut self) {
        let end = self.cuts.end();
        if end.end > self.head.end && self.fences.back().is_none_or(|f| f.end < end.end) {
            self.fences.push_back(Edge { boundary: Boundary::Grapheme, ..end });
        }
    }

    /// Text of the lane between two offsets that have not been dropped.
    pub(crate) fn slice(&self, from: u64, to: u64) -> &str {
        let range = (from - self.base) as usize..(to - self.base) as usize;
        self.text.get(range).unwrap_or_default()
    }

    /// Moves the head and forgets cuts that lie behind it.
    pub(crate) fn advance(&mut self, cut: Edge) {
        self.head = cut;
        self.cuts.drop_edges(cut.end);
        while self.fences.front().is_some_and(|f| f.end <= cut.end) {
            self.fences.pop_front();
        }
        for first in &mut self.first {
            if matches!(*first, First::Waiting { at, .. } if at < cut.end) {
                *first = First::Shown;
            }
        }
    }

    /// If a block was decided to end where the head is (or before), the next piece is of the next block.
    pub(crate) fn enter_block(&mut self) {
        while self.cuts.ends().front().is_some_and(|e| e.end <= self.head.end) {
            self.cuts.pop_end();
            self.decided.pop_front();
            if self.part > 0 {
                self.block += 1;
                self.part = 0;
            }
        }
    }

    /// The first block end behind the head, and when it was decided. `enter_block` first.
    pub(crate) fn block_end(&self) -> Option<(Edge, Nanos)> {
        let ends = self.cuts.ends().iter().zip(&self.decided);
        ends.map(|(end, due)| (*end, due.at(self.away))).find(|(end, _)| end.end > self.head.end)
    }

    /// The first place behind the head and before `offset` that may yet prove to be a block's end.
    pub(crate) fn undecided_before(&self, offset: u64) -> Option<Edge> {
        let behind = |end: &u64| (self.head.end + 1..offset).contains(end);
        let place = self.cuts.undecided().filter(behind)?;
        self.edge_after(place - 1).filter(|edge| edge.end == place)
    }

    /// How far the next piece may reach: to the first fence, if there is one.
    pub(crate) fn fence_at(&self) -> Option<Edge> {
        self.fences.front().copied()
    }

    /// The first word end (or better) behind `offset`.
    pub(crate) fn edge_after(&self, offset: u64) -> Option<Edge> {
        let edges = self.cuts.edges();
        edges.get(edges.partition_point(|e| e.end <= offset)).copied()
    }

    /// The last word end (or better) up to `offset`, behind the head.
    pub(crate) fn edge_before(&self, offset: u64) -> Option<Edge> {
        let edges = self.cuts.edges();
        let place = edges.partition_point(|e| e.end <= offset).checked_sub(1)?;
        edges.get(place).copied().filter(|e| e.end > self.head.end)
    }

    /// The first word end at which at least, the last at which at most, so many sixteenths have left.
    pub(crate) fn edge_at_least(&self, tokens: u64) -> Option<Edge> {
        let edges = self.cuts.edges();
        edges.get(edges.partition_point(|e| e.tokens < tokens)).copied()
    }

    /// The latter not beyond `offset` either.
    pub(crate) fn edge_at_most(&self, tokens: u64, offset: u64) -> Option<Edge> {
        // Those that have left are gone from the front, and a piece has few: no search is as quick.
        let edges = self.cuts.edges().iter();
        let within = edges.take_while(|e| e.tokens <= tokens && e.end <= offset);
        within.last().copied().filter(|e| e.end > self.head.end)
    }

    /// Where the last delta that ends before `offset` ends, if no character goes on there.
    pub(crate) fn delta_end_before(&self, offset: u64) -> Option<Edge> {
        let place = self.runs.partition_point(|r| r.end.end < offset).checked_sub(1)?;
        let end = self.runs.get(place)?.end;
        let mut cursor = GraphemeCursor::new((end.end - self.base) as usize, self.text.len(), true);
        let whole = cursor.is_boundary(&self.text, 0) == Ok(true);
        whole.then_some(Edge { boundary: Boundary::Grapheme, ..end })
    }

    /// All text that has come.
    pub(crate) fn end(&self) -> Edge {
        self.cuts.end()
    }

    /// How far the text consists of characters that cannot grow any more.
    pub(crate) fn certain(&self) -> Edge {
        let end = self.cuts.end();
        if self.closed == end.end { end } else { self.cuts.last_cluster() }
    }

    pub(crate) fn first(&self, kind: Kind) -> First {
        self.first[kind as usize]
    }

    /// When a run arrived, on the deadline clock.
    pub(crate) fn due_from(&self, run: &Run) -> Nanos {
        run.due_from.at(self.away)
    }

    /// When the byte at `offset` arrived.
    pub(crate) fn arrival(&self, offset: u64) -> Nanos {
        let place = self.runs.partition_point(|r| r.end.end <= offset);
        self.runs.get(place).or(self.runs.back()).map_or(Nanos::ZERO, |r| r.arrived)
    }

    /// Drops text that has left, once it is most of what is held: constant cost per byte.
    fn compact(&mut self) {
        let gone = (self.head.end - self.base) as usize;
        if gone > 1_024 && gone * 2 > self.text.len() {
            self.text.drain(..gone);
            self.base = self.head.end;
        }
    }
}

impl Count {
    fn new(tokens: u32) -> Self {
        Self { tokens, given: 0, part: 0 }
    }

    /// The size of the next part when parts should be about `size` sixteenths: even parts, no crumbs, and
    /// not more parts than any real cluster needs, however large the number a provider sends.
    pub(crate) fn next(self, size: u64) -> u32 {
        let left = self.tokens - self.given;
        let most = MAX_PARTS.saturating_sub(self.part).max(1);
        let parts = ((u64::from(left) * 16 + size / 2) / size.max(16)).clamp(1, u64::from(most));
        (u64::from(left).div_ceil(parts)) as u32
    }
}

impl Cuts {
    fn push(&mut self, text: &str) {
        match self {
            Self::Semantic(cutter) => cutter.push(text),
            Self::PerDelta { ends, cutter } => {
                cutter.push(text);
                cutter.finish();
                let end = cutter.end();
                cutter.drop_edges(end.end);
                while !cutter.ends().is_empty() {
                    cutter.pop_end();
                }
                ends.push_back(end);
            }
        }
    }

    fn finish(&mut self) {
        if let Self::Semantic(cutter) = self {
            cutter.finish();
        }
    }

    fn end(&self) -> Edge {
        match self {
            Self::Semantic(cutter) | Self::PerDelta { cutter, .. } => cutter.end(),
        }
    }

    fn undecided(&self) -> Option<u64> {
        match self {
            Self::Semantic(cutter) => cutter.undecided(),
            Self::PerDelta { .. } => None,
        }
    }

    fn last_cluster(&self) -> Edge {
        match self {
            Self::Semantic(cutter) => cutter.last_cluster(),
            Self::PerDelta { cutter, .. } => cutter.end(),
        }
    }

    fn drop_edges(&mut self, to: u64) {
        if let Self::Semantic(cutter) = self {
            cutter.drop_edges(to);
        }
    }

    fn pop_end(&mut self) {
        match self {
            Self::Semantic(cutter) => {
                cutter.pop_end();
            }
            Self::PerDelta { ends, .. } => {
                ends.pop_front();
            }
        }
    }

    fn edges(&self) -> &VecDeque<Edge> {
        match self {
            Self::Semantic(cutter) => cutter.edges(),
            Self::PerDelta { ends, .. } => ends,
        }
    }

    fn ends(&self) -> &VecDeque<Edge> {
        match self {
            Self::Semantic(cutter) => cutter.ends(),
            Self::PerDelta { ends, .. } => ends,
        }
    }
}

/// Parts of one token count.
const MAX_PARTS: u32 = 256;
/// What a delta or a mark costs besides its text, so that empty ones are bounded too.
const OVERHEAD: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    /// Any numbers, the same ones for the same seed.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % end
        }
    }

    /// The deadline clock by its definition: every time is rewritten at each absence.
    #[derive(Default)]
    struct Plain {
        /// By the number of the run.
        runs: BTreeMap<u64, Nanos>,
        /// By lane and offset of the block end.
        decided: BTreeMap<(usize, u64), Nanos>,
    }

    impl Plain {
        /// What is new came at `now`, and what was there has the time it had.
        fn compare(&mut self, queue: &Queue, now: Nanos, seed: u64) {
            for (place, lane) in queue.lanes.iter().enumerate() {
                for run in &lane.runs {
                    let plain = *self.runs.entry(run.number).or_insert(now);
                    assert_eq!(lane.due_from(run), plain, "run {} of seed {seed}", run.number);
                }
                assert_eq!(lane.decided.len(), lane.cuts.ends().len());
                for (end, due) in lane.cuts.ends().iter().zip(&lane.decided) {
                    let plain = *self.decided.entry((place, end.end)).or_insert(now);
                    assert_eq!(due.at(lane.away), plain, "end {} of seed {seed}", end.end);
                }
            }
        }

        fn shift(&mut self, from: Nanos, now: Nanos) {
            for time in self.runs.values_mut().chain(self.decided.values_mut()) {
                *time = if *time <= from { time.after(now.since(from)) } else { (*time).max(now) };
            }
        }
    }

    fn release(queue: &mut Queue, place: usize) {
        let lane = &queue.lanes[place];
        match lane.runs.front() {
            Some(run) if run.count.is_some() => {
                queue.release_count(place, 1);
            }
            Some(_) => {
                let cut = lane.edge_after(lane.head.end).unwrap_or_else(|| lane.end());
                queue.release(place, cut);
                queue.lanes[place].advance(cut);
                queue.lanes[place].enter_block();
            }
            None => {}
        }
    }

    #[test]
    fn an_absence_moves_times_as_if_each_were_rewritten() {
        const TEXTS: [&str; 5] = ["One. ", "Two is", " it.\n\n", "word ", ""];
        for seed in 0..400 {
            let mut numbers = Numbers(seed);
            let config = Config::default();
            let segment = if seed % 4 == 0 { "off" } else { "semantic" };
            let mut queue = Queue::new(&config.with_choice("segment", segment).unwrap());
            let mut plain = Plain::default();
            let step = 1 << numbers.below(40);
            // Most of the steps reach the end of time.
            let start = if seed % 3 == 0 { u64::MAX - 60 * step } else { numbers.below(step) };
            let (mut now, mut back) = (Nanos(start), Nanos(start));
            for _ in 0..120 {
                now = now.after(Nanos(numbers.below(2) * numbers.below(step)));
                match numbers.below(8) {
                    0..4 => {
                        let text = TEXTS[numbers.below(5) as usize];
                        let kind = [Kind::Output, Kind::Reasoning][numbers.below(6) as usize / 5];
                        let index = numbers.below(3) as u32;
                        let delta = Delta { kind, index, text, tokens: Some(3) };
                        queue.push(now, &delta, 0).unwrap();
                    }
                    4 => queue.mark(now, Item::Caller(0), numbers.below(2) == 0),
                    5 => {
                        // Away from some time after the last return, up to some time before now.
                        let left = now.since(back).0.saturating_add(1);
                        let from = back.after(Nanos(numbers.below(left)));
                        let to = from.after(Nanos(numbers.below(now.since(from).0 + 1)));
                        queue.shift(from, to);
                        plain.shift(from, to);
                        back = to;
                    }
                    _ if queue.lanes.is_empty() => {}
                    _ => {
                        let place = numbers.below(queue.lanes.len() as u64) as usize;
                        release(&mut queue, place);
                    }
                }
                plain.compare(&queue, now, seed);
            }
        }
    }
}
