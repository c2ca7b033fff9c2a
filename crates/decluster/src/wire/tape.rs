//! An index of a JSON text: one pass that checks it and notes where each value stands.
//!
//! A parser into a tree costs an allocation for every string and object, and one that skips what it does
//! not know has to be run again for each level. Here a text of any shape costs one walk over its bytes and
//! one flat list, which is kept for the next text. The events of a stream differ in a few strings and numbers
//! alone, so a text is first held against the last one of another form, its [`Mold`], and only the strings and
//! numbers are read. What is JSON is for `serde_json` to say: this accepts nothing that it refuses, and
//! whatever is refused here is put to it for the reason.

use alloc::format;
use alloc::vec::Vec;

use serde::de::Error as _;
use serde_json::Error;
use serde_json::value::RawValue;

/// The values of a JSON text in the order they begin; the key of a member stands before its value.
///
/// Takes at most ten bytes for each byte of the text. Between texts no more than `KEPT_MAX` nodes stay
/// allocated, and the mold.
#[derive(Debug, Default)]
pub(super) struct Tape {
    nodes: Vec<Node>,
    shape: u64,
    mold: Mold,
}

/// A text and its index, to which others may be like but for their strings and numbers.
#[derive(Debug, Default)]
struct Mold {
    text: Vec<u8>,
    nodes: Vec<Node>,
    /// The places of the strings and numbers that may differ: at first all that are no part of the shape.
    gaps: Vec<u32>,
    /// Of these only those are left that did differ once.
    settled: bool,
    /// The places of objects and arrays, each with that of the last gap before its end, if there is one.
    ends: Vec<(u32, Option<u32>)>,
}

/// A value or a key. Places are in bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) start: u32,
    /// While an object or array is open: the place of the one around it.
    pub(super) end: u32,
    /// How many nodes it takes to the next one beside it: itself and all in it.
    pub(super) size: u32,
    /// Of a key, how many nodes before it its object stands; 0 of all else.
    pub(super) owner: u32,
    /// What else is known of it: of an object the marks of its keys (see [`Mark`]), of a key its own, of
    /// other strings and numbers [`ESCAPED`] and [`TOLD`].
    pub(super) note: u32,
}

impl Tape {
    /// Reads a text that is one value and blanks around it.
    ///
    /// # Errors
    /// What `serde_json` says of it; a text nested too deeply is refused, too.
    pub(super) fn parse(&mut self, text: &str) -> Result<(), Error> {
        let bytes = text.as_bytes();
        // All places must fit into a node.
        if u32::try_from(bytes.len()).is_err() {
            self.nodes.clear();
            return Err(Error::custom("longer than 4 GiB"));
        }
        if self.mold.fill(bytes, &mut self.nodes).is_some() {
            self.mold.settle(bytes, &self.nodes);
            return Ok(());
        }
        let end = self.scan(bytes);
        if end.is_some_and(|end| blanks(bytes, end) == bytes.len()) {
            self.mold.set(bytes, &self.nodes);
            return Ok(());
        }
        self.nodes.clear();
        self.mold = Mold::default();
        Err(serde_json::from_str::<&RawValue>(text)
            .err()
            .unwrap_or_else(|| Error::custom(format!("nested deeper than {DEPTH_MAX} levels"))))
    }

    /// What was read: the value, then all in it. Empty after an error.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A hash of what the text looks like without its texts and numbers.
    ///
    /// Keys, nesting, the kind of each value, whether a string is empty, true and false count; strings and
    /// numbers only under the keys in `TELLING`. Blanks do not.
    pub(super) fn shape(&self) -> u64 {
        self.shape
    }

    /// Gives back the memory that a large text has taken.
    pub(super) fn shrink(&mut self) {
        self.nodes.clear();
        self.nodes.shrink_to(KEPT_MAX);
    }

    /// Walks over one value and says where it ends; `None` if it is not valid.
    fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        self.nodes.clear();
        self.shape = 0;
        let mut at = blanks(bytes, 0);
        // The place of the object or array that the next value is in.
        let mut around = NONE;
        let mut depth = 0;
        // As deep as this, or deeper, texts and numbers are part of the shape.
        let mut telling = u32::MAX;
        loop {
            let start = at;
            let first = *bytes.get(at)?;
            match first {
                b'"' => {
                    let (end, note) = string(bytes, at)?;
                    at = end;
                    self.scalar(b's', bytes.get(start..at)?, start, note, depth >= telling);
                }
                b'{' | b'[' => {
                    depth += 1;
                    if depth > DEPTH_MAX {
                        return None;
                    }
                    self.push(start, around as usize, 0);
                    self.mix(first, 0);
                    around = self.nodes.len() as u32 - 1;
                    at = blanks(bytes, at + 1);
                    if *bytes.get(at)? != closing(first) {
                        if first == b'{' {
                            at = self.key(bytes, at, around, depth, &mut telling)?;
                        }
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => {
                    at = number(bytes, at)?;
                    self.scalar(b'#', bytes.get(start..at)?, start, 0, depth >= telling);
                }
                _ => {
                    let word: &[u8] = match first {
                        b'n' => b"null",
                        b't' => b"true",
                        b'f' => b"false",
                        _ => return None,
                    };
                    at += word.len();
                    if bytes.get(start..at)? != word {
                        return None;
                    }
                    self.push(start, at, 0);
                    self.mix(first, 0);
                }
            }
            // What comes after a value: the ends of all that it is the last of, then a comma.
            loop {
                let Some(node) = self.nodes.get(around as usize) else { return Some(at) };
                let open = *bytes.get(node.start as usize)?;
                at = blanks(bytes, at);
                let byte = *bytes.get(at)?;
                at += 1;
                if byte == b',' {
                    at = blanks(bytes, at);
                    if open == b'{' {
                        at = self.key(bytes, at, around, depth, &mut telling)?;
                    }
                    break;
                }
                if byte != closing(open) {
                    return None;
                }
                depth -= 1;
                if depth < telling {
                    telling = u32::MAX;
                }
                around = self.close(around, at);
                self.mix(byte, 0);
            }
        }
    }

    #[inline]
    fn push(&mut self, start: usize, end: usize, note: u32) {
        let (start, end) = (start as u32, end as u32);
        self.nodes.push(Node { start, end, size: 1, owner: 0, note });
    }

    /// Adds a string or number, and its text to the shape if it is `told`.
    fn scalar(&mut self, kind: u8, text: &[u8], start: usize, note: u32, told: bool) {
        self.push(start, start + text.len(), if told { note | TOLD } else { note });
        // Of two fields for text one may be empty: text in the other one is another shape.
        let kind = if text == b"\"\"" { b'e' } else { kind };
        self.mix(kind, if told { digest(text) } else { 0 });
    }

    fn mix(&mut self, kind: u8, digest: u64) {
        self.shape = mix(mix(self.shape, u64::from(kind)), digest);
    }

    /// Ends the object or array at `place` and gives the place of the one around it.
    fn close(&mut self, place: u32, end: usize) -> u32 {
        let size = self.nodes.len() as u32 - place;
        let Some(node) = self.nodes.get_mut(place as usize) else { return NONE };
        node.size = size;
        core::mem::replace(&mut node.end, end as u32)
    }

    /// Reads the key at `at`, of the object at `place`, and says where its value begins.
    fn key(
        &mut self,
        bytes: &[u8],
        at: usize,
        place: u32,
        depth: u32,
        telling: &mut u32,
    ) -> Option<usize> {
        if *bytes.get(at)? != b'"' {
            return None;
        }
        let (end, note) = string(bytes, at)?;
        let text = bytes.get(at + 1..end - 1)?;
        let mark = Mark::of(text);
        let object = self.nodes.get(place as usize..)?;
        let owner = object.len() as u32;
        let before = object.first()?.note;
        let repeats = before & mark.bit() != 0
            && (owner > LOOKED_AT || object.iter().any(|node| node.note == mark.0));
        self.push(at, end, mark.0 | note);
        self.nodes.last_mut()?.owner = owner;
        self.nodes.get_mut(place as usize)?.note |= match note {
            ESCAPED => ANY_KEY,
            _ if repeats => mark.bit() | REPEATS,
            _ => mark.bit(),
        };
        self.mix(b':', digest(text));
        // A key that tells holds for all in its value, so only one outside of such a value changes it.
        if depth <= *telling {
            *telling = if TELLING.contains(&text) { depth } else { u32::MAX };
        }
        let colon = blanks(bytes, end);
        (*bytes.get(colon)? == b':').then(|| blanks(bytes, colon + 1))
    }
}

/// What tells most keys apart without a look at them. Most of the keys that are asked for are not there,
/// and the bits of those that are say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(pub(super) u32);

impl Mold {
    /// Reads a text into `nodes` if it is like the mold's.
    fn fill(&self, bytes: &[u8], nodes: &mut Vec<Node>) -> Option<()> {
        // Where the text and the mold's go on, and the first node that was not moved.
        let (mut at, mut from, mut next) = (0, 0, 0);
        if self.nodes.is_empty() {
            return None;
        }
        nodes.clear();
        nodes.extend_from_slice(&self.nodes);
        for gap in &self.gaps {
            let gap = *gap as usize;
            let old = *self.nodes.get(gap)?;
            let (start, end) = (old.start as usize, old.end as usize);
            let between = self.text.get(from..start)?;
            bytes.get(at..)?.starts_with(between).then_some(())?;
            move_on(nodes.get_mut(next..gap)?, from, at);
            at += between.len();
            let new = nodes.get_mut(gap)?;
            new.start = at as u32;
            (at, new.note) = match (self.text.get(start)?, bytes.get(at)?) {
                (b'"', b'"') => string(bytes, at)?,
                (b'-' | b'0'..=b'9', b'-' | b'0'..=b'9') => (number(bytes, at)?, 0),
                _ => return None,
            };
            new.end = at as u32;
            // A string is empty in both or in neither, or the shape is another.
            let empty = |text: &[u8], from, to| text.get(from..to) == Some(b"\"\"");
            let begun = new.start as usize;
            (empty(bytes, begun, at) == empty(&self.text, start, end)).then_some(())?;
            (from, next) = (end, gap + 1);
        }
        (bytes.get(at..)? == self.text.get(from..)?).then_some(())?;
        move_on(nodes.get_mut(next..)?, from, at);
        for (place, gap) in &self.ends {
            let old = self.nodes.get(*place as usize)?.end;
            nodes.get_mut(*place as usize)?.end = match gap {
                None => old,
                Some(gap) => {
                    let (from, to) = (self.nodes.get(*gap as usize)?, nodes.get(*gap as usize)?);
                    old.wrapping_sub(from.end).wrapping_add(to.end)
                }
            };
        }
        Some(())
    }

    /// Takes a text that was read, unless it is too large.
    fn set(&mut self, bytes: &[u8], nodes: &[Node]) {
        self.text.clear();
        self.nodes.clear();
        self.gaps.clear();
        self.settled = false;
        if bytes.len() > MOLD_MAX {
            return;
        }
        self.text.extend_from_slice(bytes);
        self.nodes.extend_from_slice(nodes);
        for (place, node) in (0..).zip(nodes) {
            let scalar = bytes.get(node.start as usize);
            let scalar = matches!(scalar, Some(b'"' | b'-' | b'0'..=b'9'));
            if scalar && node.owner == 0 && node.note & TOLD == 0 {
                self.gaps.push(place);
            }
        }
        self.find_ends();
    }

    /// Takes the first text that fits: what is the same in it, as ids are, is likely to stay.
    fn settle(&mut self, bytes: &[u8], nodes: &[Node]) {
        if core::mem::replace(&mut self.settled, true) {
            return;
        }
        let text = |bytes, node: &Node| <[u8]>::get(bytes, node.start as usize..node.end as usize);
        let (text_before, nodes_before) = (&self.text, &self.nodes);
        self.gaps.retain(|gap| {
            let before = nodes_before.get(*gap as usize).map(|node| text(text_before, node));
            before != nodes.get(*gap as usize).map(|node| text(bytes, node))
        });
        self.find_ends();
    }

    fn find_ends(&mut self) {
        self.ends.clear();
        for (place, node) in (0..).zip(&self.nodes) {
            if let Some(b'{' | b'[') = self.text.get(node.start as usize) {
                let before = self.gaps.partition_point(|gap| *gap < place + node.size);
                let last = before.checked_sub(1).and_then(|last| self.gaps.get(last).copied());
                self.ends.push((place, last));
            }
        }
    }
}

/// Moves nodes as a text that stood at `from` was moved, to `at`.
fn move_on(nodes: &mut [Node], from: usize, at: usize) {
    if at == from {
        return;
    }
    let by = (at as u32).wrapping_sub(from as u32);
    for node in nodes {
        node.start = node.start.wrapping_add(by);
        node.end = node.end.wrapping_add(by);
    }
}

impl Mark {
    #[inline]
    pub(super) const fn of(key: &[u8]) -> Self {
        let (first, last) = match key {
            [first, .., last] => (*first as u32, *last as u32),
            [only] => (*only as u32, 0),
            [] => (0, 0),
        };
        Self(KEY | (key.len() as u32) << 18 | first << 10 | last << 2)
    }

    /// The bit of the key in the note of its object.
    #[inline]
    pub(super) const fn bit(self) -> u32 {
        // Every bit but that of `REPEATS`.
        2 << ((self.0.wrapping_mul(0x9e37_79b9) >> 27) % 31)
    }
}

/// The first byte from `at` on that is no blank, or the end.
fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

const fn closing(open: u8) -> u8 {
    if open == b'{' { b'}' } else { b']' }
}

/// The string whose first quote is at `at`: where it ends, and [`ESCAPED`] or 0.
fn string(bytes: &[u8], at: usize) -> Option<(usize, u32)> {
    let (mut at, mut note) = (at + 1, 0);
    loop {
        while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
            let found = special(u64::from_le_bytes(*chunk));
            at += found.trailing_zeros() as usize / 8;
            if found != 0 {
                break;
            }
        }
        match *bytes.get(at)? {
            b'"' => return Some((at + 1, note)),
            b'\\' => {
                note = ESCAPED;
                at = match *bytes.get(at + 1)? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at + 2,
                    b'u' if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => at + 6,
                    _ => return None,
                };
            }
            0..=0x1f => return None,
            _ => at += 1,
        }
    }
}

fn digest(text: &[u8]) -> u64 {
    let (words, rest) = text.as_chunks();
    let hash = words.iter().fold(text.len() as u64, |h, word| mix(h, u64::from_le_bytes(*word)));
    mix(hash, rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

const fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER)
}

/// Has the high bit set in the first byte (the lowest) that is a quote, a backslash or a control character,
/// and in none before it.
const fn special(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (control | quote | backslash) & (ONES * 0x80)
}

/// The end of the number at `at`.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = |at: usize| {
        let end = at + bytes.get(at..)?.iter().take_while(|b| b.is_ascii_digit()).count();
        (end > at).then_some(end)
    };
    let whole = at + usize::from(bytes.get(at) == Some(&b'-'));
    let mut end = if bytes.get(whole) == Some(&b'0') { whole + 1 } else { digits(whole)? };
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        end = digits(end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-'))))?;
    }
    Some(end)
}

/// In the note of a string: it is a key.
const KEY: u32 = 1;
/// In the note of a string: it has escapes.
pub(super) const ESCAPED: u32 = 2;
/// In the note of a string or number: its text is part of the shape.
const TOLD: u32 = 4;
/// In the note of an object: two keys may be the same.
pub(super) const REPEATS: u32 = 1;
/// So many nodes are looked through for another key like it; with more in an object, two may be the same.
const LOOKED_AT: u32 = 64;
/// In the note of an object: a key has escapes, so its mark says nothing.
pub(super) const ANY_KEY: u32 = u32::MAX;
/// As many levels as `serde_json` reads by recursion.
const DEPTH_MAX: u32 = 127;
/// Odd, so that no word is lost in it; its bits come from the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
/// Keys whose strings and numbers are part of the shape: deltas that differ here are not alike.
const TELLING: [&[u8]; 6] =
    [b"index", b"output_index", b"content_index", b"summary_index", b"type", b"role"];
/// Ten times what a text delta has.
const KEPT_MAX: usize = 512;
/// In bytes. Events with text deltas stay far below.
const MOLD_MAX: usize = 2_048;
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests;
