//! An index of a JSON text: one pass that checks it and notes where each value stands.
//!
//! A parser into a tree costs an allocation for every string and object, and one that skips what it does
//! not know has to be run again for each level. Here a text of any shape costs one walk over its bytes and
//! one flat list, which is kept for the next text. What is JSON is for `serde_json` to say: this accepts
//! nothing that it refuses, and whatever is refused here is put to it for the reason.

use alloc::format;
use alloc::vec::Vec;

use serde::de::Error as _;
use serde_json::Error;
use serde_json::value::RawValue;

/// The values of a JSON text in the order they begin; the key of a member stands before its value.
///
/// Takes at most eight bytes for each byte of the text. Between texts no more than `KEPT_MAX` nodes stay
/// allocated.
#[derive(Debug, Default)]
pub(super) struct Tape {
    nodes: Vec<Node>,
}

/// A value or a key. Places are in bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) start: u32,
    /// While an object or array is open: the place of the one around it.
    pub(super) end: u32,
    /// How many nodes it takes to the next one beside it: itself and all in it.
    pub(super) size: u32,
    /// What else is known of it: of an object which keys it may have (see [`key_bit`]), of a string whether
    /// it is a key and whether it has escapes.
    pub(super) note: u32,
}

impl Tape {
    /// Reads a text that is one value and blanks around it.
    ///
    /// # Errors
    /// What `serde_json` says of it; a text nested too deeply is refused, too.
    pub(super) fn parse(&mut self, text: &str) -> Result<&[Node], Error> {
        let end = self.scan(text.as_bytes());
        if end.is_some_and(|end| blanks(text.as_bytes(), end) == text.len()) {
            return Ok(&self.nodes);
        }
        Err(serde_json::from_str::<&RawValue>(text)
            .err()
            .unwrap_or_else(|| Error::custom(format!("nested deeper than {DEPTH_MAX} levels"))))
    }

    /// Gives back the memory that a large text has taken.
    pub(super) fn shrink(&mut self) {
        self.nodes.clear();
        self.nodes.shrink_to(KEPT_MAX);
    }

    /// Walks over one value and says where it ends; `None` if it is not valid.
    fn scan(&mut self, bytes: &[u8]) -> Option<usize> {
        self.nodes.clear();
        // All places fit into a node.
        u32::try_from(bytes.len()).ok()?;
        let mut at = blanks(bytes, 0);
        // The place of the object or array that the next value is in.
        let mut around = NONE;
        let mut depth = 0;
        loop {
            let start = at;
            let opened = match *bytes.get(at)? {
                b'"' => {
                    let string = string(bytes, at)?;
                    at = string.end;
                    self.push(start, at, string.note);
                    None
                }
                b'-' | b'0'..=b'9' => {
                    at = number(bytes, at)?;
                    self.push(start, at, 0);
                    None
                }
                open @ (b'{' | b'[') => {
                    depth += 1;
                    if depth > DEPTH_MAX {
                        return None;
                    }
                    self.push(start, around as usize, 0);
                    around = self.nodes.len() as u32 - 1;
                    at = blanks(bytes, at + 1);
                    Some(open)
                }
                _ => {
                    let word = WORDS.iter().find(|word| bytes[at..].starts_with(word))?;
                    at += word.len();
                    self.push(start, at, 0);
                    None
                }
            };
            if let Some(open) = opened
                && *bytes.get(at)? != closing(open)
            {
                if open == b'{' {
                    at = self.key(bytes, at, around)?;
                }
                continue;
            }
            // What comes after a value: the ends of all that it is the last of, then a comma.
            let mut fresh = opened.is_some();
            loop {
                let Some(node) = self.nodes.get(around as usize) else { return Some(at) };
                let open = bytes[node.start as usize];
                at = blanks(bytes, at);
                let byte = *bytes.get(at)?;
                at += 1;
                if byte == closing(open) {
                    depth -= 1;
                    around = self.close(around, at);
                    fresh = false;
                } else if byte == b',' && !fresh {
                    at = blanks(bytes, at);
                    if open == b'{' {
                        at = self.key(bytes, at, around)?;
                    }
                    break;
                } else {
                    return None;
                }
            }
        }
    }

    fn push(&mut self, start: usize, end: usize, note: u32) {
        self.nodes.push(Node { start: start as u32, end: end as u32, size: 1, note });
    }

    /// Ends the object or array at `place` and gives the place of the one around it.
    fn close(&mut self, place: u32, end: usize) -> u32 {
        let size = self.nodes.len() as u32 - place;
        let Some(node) = self.nodes.get_mut(place as usize) else { return NONE };
        node.size = size;
        core::mem::replace(&mut node.end, end as u32)
    }

    /// Reads the key at `at`, of the object at `place`, and says where its value begins.
    fn key(&mut self, bytes: &[u8], at: usize, place: u32) -> Option<usize> {
        if *bytes.get(at)? != b'"' {
            return None;
        }
        let key = string(bytes, at)?;
        self.push(at, key.end, key.note | KEY);
        let bit =
            if key.note & ESCAPED == 0 { key_bit(&bytes[at + 1..key.end - 1]) } else { u32::MAX };
        self.nodes.get_mut(place as usize)?.note |= bit;
        let colon = blanks(bytes, key.end);
        (*bytes.get(colon)? == b':').then(|| blanks(bytes, colon + 1))
    }
}

/// The bit of a key in the note of its object. Most keys that are asked for are not there; the bit tells,
/// without a look at those that are.
pub(super) const fn key_bit(key: &[u8]) -> u32 {
    let first = if let [first, ..] = key { *first as usize } else { 0 };
    1 << ((key.len() * 7 + first) % 32)
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

struct Str {
    end: usize,
    note: u32,
}

/// The string whose first quote is at `at`.
fn string(bytes: &[u8], at: usize) -> Option<Str> {
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
            b'"' => return Some(Str { end: at + 1, note }),
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
pub(super) const KEY: u32 = 1;
/// In the note of a string: it has escapes.
pub(super) const ESCAPED: u32 = 2;
/// As many levels as `serde_json` reads by recursion.
const DEPTH_MAX: u32 = 127;
/// Ten times what a text delta has.
const KEPT_MAX: usize = 512;
const NONE: u32 = u32::MAX;
const WORDS: [&[u8]; 3] = [b"null", b"false", b"true"];
