//! A rewriter on a virtual clock that leaps, with a caller that heeds what it is told.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use decluster::frames::Frames;
use decluster::wire::{Answer, Reader};
use decluster::{Config, Event, Kind, Nanos, Rewriter, RewriterError, RewriterOptions, Rewritten};

use crate::alloc::held;
use crate::streams::{Decoded, Framed, read_frames};

/// Drives a rewriter and checks at every step that it keeps its word.
#[derive(Debug)]
pub struct Recut {
    rewriter: Rewriter,
    now: Nanos,
    lines: bool,
    /// All bytes that came out.
    pub out: Vec<u8>,
    /// In piece mode, all text that came out, by choice.
    pub texts: BTreeMap<u32, [String; 2]>,
    /// In piece mode, the names and data of the events that are not text.
    pub others: Vec<(String, String)>,
    /// What ended the stream before its end.
    pub fault: Option<RewriterError>,
    /// How many things came out.
    pub outputs: u64,
    /// The most memory that was held beside what came out, if the allocator counts.
    pub peak: isize,
    /// The size of the largest chunk that went in.
    pub largest: usize,
    /// Memory of what came out.
    taken: isize,
}

impl Recut {
    /// A rewriter for one stream; with `lines` it is fed lines.
    ///
    /// # Panics
    ///
    /// If these settings do not go together.
    #[must_use]
    pub fn new(config: &Config, options: RewriterOptions, lines: bool) -> Self {
        let now = Nanos::from_secs(1);
        Self {
            rewriter: Rewriter::new(config, options, now).unwrap(),
            now,
            lines,
            out: Vec::new(),
            texts: BTreeMap::new(),
            others: Vec::new(),
            fault: None,
            outputs: 0,
            peak: 0,
            largest: 0,
            taken: 0,
        }
    }

    /// Waits for room, gives one chunk or line, and takes what is due until `gap` later.
    ///
    /// # Panics
    ///
    /// If the rewriter breaks its word.
    pub fn feed(&mut self, chunk: &[u8], gap: Nanos) {
        let mut turns = 0;
        while !self.rewriter.wants_input() && !self.rewriter.is_finished() {
            self.advance(Nanos::MAX);
            turns += 1;
            assert!(turns < 3, "nothing is due, and no input is wanted");
        }
        self.largest = self.largest.max(chunk.len());
        let pushed = if self.lines {
            self.rewriter.push_line(self.now, chunk)
        } else {
            self.rewriter.push(self.now, chunk)
        };
        match pushed {
            Ok(()) => assert!(self.fault.is_none(), "more was taken after {:?}", self.fault),
            Err(RewriterError::Finished) => assert!(self.fault.is_some(), "finished by itself"),
            Err(RewriterError::Full { .. }) => panic!("full, but wanted input"),
            Err(fault) => self.fault = Some(fault),
        }
        self.peak = self.peak.max(held() - self.taken);
        self.advance(self.now.after(gap));
    }

    /// The clock runs backwards.
    pub fn step_back(&mut self, by: Nanos) {
        self.now = Nanos(self.now.0.saturating_sub(by.0));
    }

    /// Ends the input and takes all that is left.
    ///
    /// # Panics
    ///
    /// If the rewriter breaks its word.
    pub fn finish(&mut self) {
        self.rewriter.finish(self.now);
        self.advance(Nanos::MAX);
        assert_eq!(self.rewriter.poll(self.now), Rewritten::Finished);
        if let Some(fault) = self.rewriter.take_fault() {
            self.fault.get_or_insert(fault);
        }
    }

    /// What the stream amounts to.
    #[must_use]
    pub fn answer(&self) -> &Answer {
        self.rewriter.answer()
    }

    /// What the bytes that came out say.
    ///
    /// # Panics
    ///
    /// As [`read_frames`].
    #[must_use]
    pub fn decoded(&self, reader: Reader) -> Decoded {
        decoded(&self.out, reader, self.lines, crate::EVENT_CAP).0
    }

    /// Leaps from release to release. What was to come after a wait must come, and not a moment before.
    fn advance(&mut self, until: Nanos) {
        let mut promised = false;
        loop {
            let output = self.rewriter.poll(self.now);
            let before = held();
            self.peak = self.peak.max(before - self.taken);
            match output {
                Rewritten::Bytes(bytes) => {
                    assert!(!bytes.is_empty(), "an empty chunk ends a chunked body");
                    self.out.extend_from_slice(bytes);
                }
                Rewritten::Piece(piece) => {
                    let texts = self.texts.entry(piece.index).or_default();
                    texts[piece.kind as usize].push_str(piece.text);
                }
                Rewritten::Event(Event::Restarted { .. }) => self.texts.clear(),
                Rewritten::Event(Event::Reclassified { index }) => {
                    let [reasoning, output] = self.texts.entry(index).or_default();
                    reasoning.push_str(&std::mem::take(output));
                }
                Rewritten::Event(_) | Rewritten::Object { .. } => panic!("{output:?} of bytes"),
                Rewritten::Other { name, data } => {
                    self.others.push((name.to_owned(), data.to_owned()));
                }
                Rewritten::Wait(at) => {
                    assert!(at > self.now, "Wait({at}) at {} is no wait", self.now);
                    assert!(!promised, "nothing came at the time that was given");
                    if at > until {
                        break;
                    }
                    let before = Nanos((at.0 - 1).max(self.now.0));
                    let again = self.rewriter.poll(before);
                    assert_eq!(again, Rewritten::Wait(at), "early, or changed");
                    self.now = at;
                    promised = true;
                    continue;
                }
                Rewritten::NeedInput | Rewritten::Finished => {
                    assert!(!promised, "nothing came at the time that was given");
                    break;
                }
            }
            promised = false;
            self.outputs += 1;
            self.taken += held() - before;
        }
        if until < Nanos::MAX {
            self.now = self.now.max(until);
        }
    }
}

/// What bytes say, up to the first event over the cap, and how they are framed.
///
/// # Panics
///
/// As [`read_frames`].
#[must_use]
pub fn decoded(bytes: &[u8], reader: Reader, lines: bool, cap: usize) -> (Decoded, Framed) {
    let mut decoder = Frames::new(cap);
    if !lines {
        return read_frames(reader, |show| crate::decode(&mut decoder, [bytes], show));
    }
    let lines = bytes.split_inclusive(|b| *b == b'\n');
    read_frames(reader, |show| crate::decode_lines(&mut decoder, lines, show))
}

/// Whether the text of a choice and kind is the same, or the beginning of the other.
#[must_use]
pub fn begins(part: &BTreeMap<u32, [String; 2]>, whole: &BTreeMap<u32, [String; 2]>) -> bool {
    part.iter().all(|(choice, texts)| {
        [Kind::Reasoning, Kind::Output].into_iter().all(|kind| {
            let whole = whole.get(choice).map_or("", |texts| &texts[kind as usize]);
            whole.starts_with(&texts[kind as usize])
        })
    })
}
