//! Events that go out as they came in. They are read for what they say of the answer, but nothing in them is
//! moved, so they need neither an engine nor a template.

use crate::engine::Stats;
use crate::sse::Frame;
use crate::wire::Reading;
#[cfg(feature = "guard")]
use crate::{
    delta::Kind,
    segment::Meter,
    wire::{Part, Role, Text},
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
    #[cfg(feature = "guard")]
    meters: Meters,
}

/// Texts that passed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Texts {
    pub number: u64,
    pub bytes: u64,
    /// By the estimate, where there is one.
    pub tokens: u64,
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
            tokens: self.meters.take(reading),
            #[cfg(not(feature = "guard"))]
            tokens: 0,
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
            tokens_in: engine.tokens_in + self.taken.tokens,
            pieces: engine.pieces + self.given.number,
            blocks: engine.blocks + self.given.number,
            bytes_out: engine.bytes_out + self.given.bytes,
            tokens_out: engine.tokens_out + self.given.tokens,
            queued_bytes: engine.queued_bytes + self.queued() as u64,
            ..engine
        }
    }
}

impl Texts {
    fn add(&mut self, other: Self) {
        self.number += other.number;
        self.bytes += other.bytes;
        self.tokens = self.tokens.saturating_add(other.tokens);
    }
}

/// The tokens of texts that are not cut, by choice.
#[cfg(feature = "guard")]
#[derive(Debug, Default)]
struct Meters {
    choices: Vec<(u32, Kind, Meter)>,
    /// Less than a token, in sixteenths.
    rest: u64,
}

#[cfg(feature = "guard")]
impl Meters {
    /// The whole tokens of an event's texts; what is left over goes to the next event.
    fn take(&mut self, reading: &Reading<'_>) -> u64 {
        if reading.boundary {
            self.finish();
        }
        let texts = reading.texts.iter().filter(|text| text.part == Part::Text);
        let sixteenths = texts.fold(self.rest, |sum, text| sum.saturating_add(self.weigh(text)));
        if reading.role == Role::Hurry {
            self.finish();
        }
        self.rest = sixteenths % 16;
        sixteenths / 16
    }

    fn weigh(&mut self, text: &Text<'_>) -> u64 {
        let place = self.choices.iter().position(|(index, ..)| *index == text.index);
        // What comes beyond them is weighed as if it were of the last.
        let place = place.unwrap_or(self.choices.len()).min(CHOICES_MAX - 1);
        if place == self.choices.len() {
            self.choices.push((text.index, text.kind, Meter::default()));
        }
        let Some((_, kind, meter)) = self.choices.get_mut(place) else { return 0 };
        if *kind != text.kind || text.text.is_empty() {
            *kind = text.kind;
            meter.finish();
        }
        match text.tokens {
            Some(tokens) if text.text.is_empty() => u64::from(tokens) * 16,
            _ => meter.push(&text.text),
        }
    }

    fn finish(&mut self) {
        self.choices.iter_mut().for_each(|(.., meter)| meter.finish());
    }
}

/// What an event costs besides its bytes.
const OVERHEAD: usize = size_of::<PassedEvent>();
/// Choices whose tokens are weighed apart.
#[cfg(feature = "guard")]
const CHOICES_MAX: usize = 16;
