//! Blocks with their text: a [`Cutter`] and the text it has not cut yet.

use alloc::string::String;
use alloc::vec::Vec;

use super::tokens::TOKEN;
use super::{Boundary, Cutter, SegmentConfig};

/// Cuts a text that arrives in parts into blocks. The blocks in a row are the text, byte for byte.
///
/// ```
/// use decluster::segment::{Boundary, SegmentConfig, Segmenter};
/// let mut segmenter = Segmenter::new(SegmentConfig::default());
/// assert!(segmenter.push("First we count the apples. ").is_empty());
/// let blocks = segmenter.push("Then the pears");
/// assert_eq!(blocks[0].text, "First we count the apples.");
/// assert_eq!(blocks[0].boundary, Boundary::Sentence);
/// assert_eq!(segmenter.finish()[0].text, " Then the pears");
/// ```
#[derive(Clone, Debug)]
pub struct Segmenter {
    cutter: Cutter,
    pending: String,
    /// Offset of `pending` and tokens up to there.
    start: (u64, u64),
    number: u64,
}

/// A semantic unit of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Counts from 0.
    pub number: u64,
    /// Its text, with the blank before it and up to two newlines after it.
    pub text: String,
    /// Estimated tokens. Rounded so that the sum over blocks is the estimate of the whole.
    pub tokens: u32,
    /// How it ends.
    pub boundary: Boundary,
}

impl Segmenter {
    /// An empty segmenter.
    pub fn new(config: SegmentConfig) -> Self {
        Self { cutter: Cutter::new(config), pending: String::new(), start: (0, 0), number: 0 }
    }

    /// Takes more text; gives the blocks that are complete now.
    pub fn push(&mut self, text: &str) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.floor_char_boundary(PART));
            self.pending.push_str(part);
            self.cutter.push(part);
            self.take(&mut blocks);
            rest = after;
        }
        blocks
    }

    /// Gives what is held if a sentence or a line may end there, and nothing otherwise: for who would rather have
    /// it now than wait for what follows, as when a stream falls silent. Where blocks end is then no longer
    /// a matter of the text alone; everything else goes on.
    ///
    /// ```
    /// use decluster::segment::{SegmentConfig, Segmenter};
    /// let mut segmenter = Segmenter::new(SegmentConfig::default().sentences(true));
    /// assert!(segmenter.push("So said Dr.").is_empty());
    /// assert!(segmenter.flush().is_empty(), "more must follow");
    /// segmenter.push(" Ito.");
    /// assert_eq!(segmenter.flush()[0].text, "So said Dr. Ito.");
    /// ```
    pub fn flush(&mut self) -> Vec<Block> {
        let mut blocks = Vec::new();
        self.cutter.flush();
        self.take(&mut blocks);
        blocks
    }

    /// The text that has not been given out yet.
    pub fn pending(&self) -> &str {
        &self.pending
    }

    /// The text ends here; gives what is left. A `push` after that begins a new text.
    pub fn finish(&mut self) -> Vec<Block> {
        let mut blocks = Vec::new();
        self.cutter.finish();
        self.take(&mut blocks);
        blocks
    }

    fn take(&mut self, blocks: &mut Vec<Block>) {
        self.cutter.drop_edges(u64::MAX);
        let mut taken = 0;
        while let Some(end) = self.cutter.pop_end() {
            let length = (end.end - self.start.0) as usize;
            blocks.push(Block {
                number: self.number,
                text: self.pending[taken..taken + length].into(),
                tokens: (end.tokens / TOKEN - self.start.1 / TOKEN) as u32,
                boundary: end.boundary,
            });
            taken += length;
            self.start = (end.end, end.tokens);
            self.number += 1;
        }
        self.pending.drain(..taken);
    }
}

/// A large push is taken in parts, so that what the cutter queues stays in the cache: half as fast without.
const PART: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_push_is_as_good_as_many_small_ones() {
        let text = "One thing, and another. 然后我们数苹果。\n".repeat(1000);
        let config = SegmentConfig::default();
        let (mut large, mut small) = (Segmenter::new(config), Segmenter::new(config));
        let mut blocks = Vec::new();
        for c in text.chars() {
            blocks.extend(small.push(c.encode_utf8(&mut [0; 4])));
        }
        assert_eq!(large.push(&text), blocks);
        assert_eq!(large.finish(), small.finish());
    }
}
