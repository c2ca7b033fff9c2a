//! Events that go out as they came in. They are read for what they say of the answer, but nothing in them is
//! moved, so they need neither an engine nor a template.

use crate::engine::Stats;
use crate::sse::Frame;
use crate::wire::Reading;
#[cfg(feature = "guard")]
use crate::{
    segment::weigh,
    wire::{Part, Text},
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

/// A queue of events.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Their bytes; those before `start` have left.
    bytes: Vec<u8>,
    start: usize,
    events: VecDeque<PassedEvent>,
    /// The last event got the LF that the next frame begins with.
    split: bool,
    /// What came in.
    taken: Texts,
    /// What went out.
    given: Texts,
    /// Less than a token, in sixteenths.
    #[cfg(feature = "guard")]
    rest: u64,
}

/// Texts that passed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Texts {
    pub number: u64,
    pub bytes: u64,
    /// By the estimate; `None` where none of them is part of the answer, or nothing is estimated.
    pub tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct PassedEvent {
    length: usize,
    texts: Texts,
}

impl Passed {
    /// Takes in an event; gives the texts in it.
    pub(super) fn push(&mut self, frame: &Frame<'_>, reading: &Reading<'_>) -> Texts {
        // Each byte moves at most once for each byte that has left.
        if self.start >= self.bytes.len() - self.start {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        // The LF that belongs to a CR goes out with it.
        let led = frame.led && self.split;
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&frame.raw[usize::from(led)..]);
        self.split = frame.split;
        if frame.split {
            self.bytes.push(b'\n');
        }
        let length = self.bytes.len() - before;
        if length == 0 {
            return Texts::default();
        }
        let texts = Texts {
            number: reading.texts.len() as u64,
            bytes: reading.texts.iter().map(|text| text.text.len() as u64).sum(),
            #[cfg(feature = "guard")]
            tokens: weight(reading).map(|weight| self.whole_tokens(weight)),
            #[cfg(not(feature = "guard"))]
            tokens: None,
        };
        self.events.push_back(PassedEvent { length, texts });
        self.taken.add(texts);
        texts
    }

    /// Where the next event stands, and the texts in it. Its bytes stay until the next push.
    pub(super) fn next(&mut self) -> Option<(Range<usize>, Texts)> {
        let PassedEvent { length, texts } = self.events.pop_front()?;
        self.given.add(texts);
        let start = self.start;
        self.start += length;
        Some((start..self.start, texts))
    }

    /// What is left over goes to the next event.
    #[cfg(feature = "guard")]
    fn whole_tokens(&mut self, weight: u64) -> u64 {
        let sixteenths = self.rest.saturating_add(weight);
        self.rest = sixteenths % 16;
        sixteenths / 16
    }

    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// What is queued, in bytes, with what the bookkeeping costs.
    pub(super) fn queued(&self) -> usize {
        self.bytes.len() - self.start + self.events.len() * OVERHEAD
    }

    /// Forgets what is queued.
    pub(super) fn clear(&mut self) {
        self.start = self.bytes.len();
        self.events.clear();
    }

    /// The counters of an engine that each text went through at once, as one piece. (Parsed events went through the
    /// engine itself.)
    pub(super) fn stats(&self, engine: Stats) -> Stats {
        Stats {
            deltas: engine.deltas + self.taken.number,
            bytes_in: engine.bytes_in + self.taken.bytes,
            tokens_in: engine.tokens_in + self.taken.tokens.unwrap_or(0),
            pieces: engine.pieces + self.given.number,
            blocks: engine.blocks + self.given.number,
            bytes_out: engine.bytes_out + self.given.bytes,
            tokens_out: engine.tokens_out + self.given.tokens.unwrap_or(0),
            queued_bytes: engine.queued_bytes + self.queued() as u64,
            ..engine
        }
    }
}

impl Texts {
    fn add(&mut self, other: Self) {
        self.number += other.number;
        self.bytes += other.bytes;
        let tokens = self.tokens.unwrap_or(0).saturating_add(other.tokens.unwrap_or(0));
        self.tokens = Some(tokens);
    }
}

/// The tokens of an event's texts in sixteenths, each text for itself, as the engine has it where segmenting is off.
#[cfg(feature = "guard")]
fn weight(reading: &Reading<'_>) -> Option<u64> {
    let something = |text: &&Text<'_>| !text.text.is_empty() || text.tokens.unwrap_or(0) > 0;
    let texts = reading.texts.iter().filter(|text| text.part == Part::Text).filter(something);
    let weights = texts.map(|text| match text.tokens {
        Some(tokens) if text.text.is_empty() => u64::from(tokens) * 16,
        _ => weigh(&text.text),
    });
    weights.reduce(u64::saturating_add)
}

/// What an event costs besides its bytes.
const OVERHEAD: usize = size_of::<PassedEvent>();
