//! Events that go out as they came in. They are read for what they say of the answer, but nothing in them is
//! moved, so they need neither an engine nor a template.

use crate::engine::Stats;
use crate::sse::Frame;
use crate::wire::Reading;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

/// A queue of events.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Their bytes; those before `start` have left.
    bytes: Vec<u8>,
    start: usize,
    /// Each event's bytes, and how many texts they hold of how many bytes.
    events: VecDeque<(usize, u64, u64)>,
    /// The last event got the LF that the next frame begins with.
    split: bool,
    /// What came in: texts and their bytes.
    taken: (u64, u64),
    /// What went out.
    given: (u64, u64),
}

impl Passed {
    pub(super) fn push(&mut self, frame: &Frame<'_>, reading: &Reading<'_>) {
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
            return;
        }
        let texts = reading.texts.len() as u64;
        let text = reading.texts.iter().map(|text| text.text.len() as u64).sum();
        self.events.push_back((length, texts, text));
        self.taken = (self.taken.0 + texts, self.taken.1 + text);
    }

    /// Where the next event stands. Its bytes stay until the next push.
    pub(super) fn next(&mut self) -> Option<Range<usize>> {
        let (length, texts, text) = self.events.pop_front()?;
        self.given = (self.given.0 + texts, self.given.1 + text);
        let start = self.start;
        self.start += length;
        Some(start..self.start)
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

    /// The counters of an engine that each text went through at once, as one piece.
    pub(super) fn stats(&self, engine: Stats) -> Stats {
        Stats {
            deltas: self.taken.0,
            bytes_in: self.taken.1,
            pieces: self.given.0,
            blocks: self.given.0,
            bytes_out: self.given.1,
            queued_bytes: self.queued() as u64,
            ..engine
        }
    }
}

/// What an event costs besides its bytes.
const OVERHEAD: usize = 32;
