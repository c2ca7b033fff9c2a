//! What must hold for any bytes: the functions that the fuzz targets (`tests/fuzz`) call, and that
//! `make test` runs over small inputs and their mutations. Each panics where something does not hold.
//!
//! An input is a line of knobs, then the stream. Digits in the knobs stand for their value, other bytes for
//! their number; what a knob means is said at each check. Without a line end the stream is empty.

#![allow(clippy::panic, reason = "a check may panic")]

pub mod frames;
pub mod rewriter;
pub mod sse;
pub mod wire;

/// Panics where something does not hold for these bytes.
pub type Check = fn(&[u8]);

/// All checks, by the name of their fuzz target.
pub const ALL: [(&str, Check); 4] = [
    ("sse", sse::check),
    ("frames", frames::check),
    ("wire", wire::check),
    ("rewriter", rewriter::check),
];

/// The bytes of the first line, handed out one by one, again from the beginning when they are used up.
#[derive(Clone, Debug)]
struct Knobs<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Knobs<'a> {
    /// Takes an input apart: knobs and stream.
    fn of(input: &'a [u8]) -> (Self, &'a [u8]) {
        let end = input.iter().position(|b| *b == b'\n').unwrap_or(input.len());
        let stream = input.get(end + 1..).unwrap_or_default();
        (Self { bytes: &input[..end], at: 0 }, stream)
    }

    fn next(&mut self) -> usize {
        let value = self.bytes.get(self.at % self.bytes.len().max(1)).map_or(0, |b| value(*b));
        self.at += 1;
        value
    }

    /// The knobs that were not used yet, to be used over and over.
    fn rest(&self) -> Self {
        Self { bytes: self.bytes.get(self.at..).unwrap_or_default(), at: 0 }
    }

    /// Cuts the stream into pieces of these sizes, some of which may be empty; whole if there are none.
    fn cut(mut self, stream: &[u8]) -> Vec<&[u8]> {
        if self.bytes.iter().all(|b| value(*b) == 0) {
            return vec![stream];
        }
        let (mut pieces, mut rest) = (Vec::new(), stream);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(self.next().min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}

/// What to make of tags, by one knob: which, and three switches.
fn think(knob: usize) -> [(&'static str, u64); 4] {
    let [tags, inside, reopens, copies] = [knob % 3, knob / 3 % 2, knob / 6 % 2, knob / 12 % 2];
    [
        ("think_tags", tags as u64),
        ("starts_inside", inside as u64),
        ("think_reopens", reopens as u64),
        ("think_copies", copies as u64),
    ]
}

fn value(knob: u8) -> usize {
    usize::from(if knob.is_ascii_digit() { knob - b'0' } else { knob })
}
