//! Text into semantic blocks: sentences, lines, clauses; 12.4 tokens on average.
//!
//! [`Cutter`] finds offsets and keeps no text; the engine uses it. [`Segmenter`] is for callers who only
//! want blocks. Both look at the text alone: never at time, nor at how the text was cut into pushes. A
//! block's end is known at most a few tokens after it.
//!
//! The parts: `chars` (what characters are), `clusters` (where graphemes begin), `scan` (what came
//! before), `formula` (LaTeX), `code` (Markdown's), `markers` (items of lists), `class` (what a boundary
//! is), `words` (lists), `tokens` (the estimate), `vocabulary` (its tables), `choose` (which boundaries
//! end blocks), `cutter` (the pass that joins them).

mod chars;
mod choose;
mod class;
mod clusters;
mod code;
mod cutter;
mod formula;
mod markers;
mod scan;
mod segmenter;
mod tokens;
mod vocabulary;
mod words;

use core::fmt;

pub use cutter::Cutter;
pub use segmenter::{Block, Segmenter};
#[cfg(feature = "guard")]
pub(crate) use tokens::weigh;

/// A place where text may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Byte offset since the [`Cutter`] was made.
    pub end: u64,
    /// Estimated tokens of all text up to there, in sixteenths of a token.
    pub tokens: u64,
    /// What stands there.
    pub boundary: Boundary,
}

/// How a block or a piece ends, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Boundary {
    /// An empty line.
    Paragraph = 0,
    /// A newline.
    Line = 1,
    /// The end of a sentence.
    Sentence = 2,
    /// A comma, a colon, a conjunction, a relation sign.
    Clause = 3,
    /// Any blank.
    Word = 4,
    /// Between two characters as the reader sees them.
    Grapheme = 5,
}

impl Boundary {
    /// The name used in every language and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paragraph => "paragraph",
            Self::Line => "line",
            Self::Sentence => "sentence",
            Self::Clause => "clause",
            Self::Word => "word",
            Self::Grapheme => "grapheme",
        }
    }
}

/// How large blocks are.
///
/// ```
/// use decluster::segment::SegmentConfig;
/// assert!(SegmentConfig::default().target_tenths_of_token(80).is_ok());
/// assert!(SegmentConfig::default().target_tenths_of_token(8).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentConfig {
    target_tenths: u32,
    level: bool,
    sentences: bool,
}

impl SegmentConfig {
    /// The average size of a block, in tenths of a token: 40 to 640, default 124. Everything else scales
    /// with it; the largest block is about three times as large. Below 80 blocks come out larger than asked,
    /// because text has too few places to cut. Up to the default an empty line always ends a block; with larger
    /// targets short paragraphs are joined, as sentences are.
    ///
    /// # Errors
    ///
    /// The target is out of range.
    pub const fn target_tenths_of_token(mut self, target: u32) -> Result<Self, TargetOutOfRange> {
        if target < TARGET_TENTHS_MIN || target > TARGET_TENTHS_MAX {
            return Err(TargetOutOfRange(target));
        }
        self.target_tenths = target;
        Ok(self)
    }

    /// Keep the average of each stream near the target (default), at the price of a few sentences cut at
    /// a comma. Without it the thresholds are fixed, and dense text has larger blocks.
    #[must_use]
    pub const fn level(mut self, on: bool) -> Self {
        self.level = on;
        self
    }

    /// Blocks are sentences and lines, however short or long (off by default): for speech, or to take the
    /// place of a sentence splitter. The target says nothing then. What is longer than 256 tokens or 4 KiB
    /// is cut, at a clause if there is one in its second half, or else at a blank.
    #[must_use]
    pub const fn sentences(mut self, on: bool) -> Self {
        self.sentences = on;
        self
    }

    /// The average size of a block, in tenths of a token.
    pub const fn target_tenths(self) -> u32 {
        self.target_tenths
    }

    /// Does the integrator keep the average?
    pub const fn is_level(self) -> bool {
        self.level
    }

    /// Are blocks sentences?
    pub const fn is_sentences(self) -> bool {
        self.sentences
    }

    /// The largest block in bytes. Blanks cost next to nothing in tokens, so the token cap does not bound
    /// a block's bytes; this does. Seven times what a capped block of English has.
    pub const fn block_bytes_max(self) -> u64 {
        if self.sentences {
            return SENTENCE_BYTES;
        }
        let scaled = BLOCK_BYTES * self.target_tenths as u64 / TARGET_TENTHS as u64;
        if scaled > BLOCK_BYTES { scaled } else { BLOCK_BYTES }
    }
}

impl Default for SegmentConfig {
    fn default() -> Self {
        Self { target_tenths: TARGET_TENTHS, level: true, sentences: false }
    }
}

/// The target is not within 4 to 64 tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetOutOfRange(pub u32);

impl fmt::Display for TargetOutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(target) = self;
        write!(
            f,
            "a target of {target} tenths of a token is not within {TARGET_TENTHS_MIN} to {TARGET_TENTHS_MAX}"
        )
    }
}

impl core::error::Error for TargetOutOfRange {}

/// 12.4 tokens: between a clause and a sentence; what readers of a stream take as one step.
const TARGET_TENTHS: u32 = 124;
const TARGET_TENTHS_MIN: u32 = 40;
const TARGET_TENTHS_MAX: u32 = 640;
const BLOCK_BYTES: u64 = 1024;
const SENTENCE_BYTES: u64 = 4096;
