//! Lines to fields, and the fields of the event being read.

use alloc::string::String;
use core::mem;
use core::ops::Range;

/// The fields read since the last frame.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) data: Data,
    /// Of the event that was handed out last, if that had one and it was short.
    pub(super) name: String,
    /// Where the name of this one stands, relative to the start of the frame.
    pub(super) named: Option<Range<usize>>,
    pub(super) id: Option<String>,
    pub(super) own_id: bool,
    pub(super) retry: Option<u64>,
    pub(super) comments: u32,
    /// Relative to the start of the frame, as is `Data::One`.
    pub(super) stray: Option<Range<usize>>,
    /// A line other than a comment stands in it.
    pub(super) open: bool,
    pub(super) asked: u32,
    pub(super) ask_at: usize,
}

#[derive(Debug, Default)]
pub(super) enum Data {
    #[default]
    None,
    One(Range<usize>),
    Joined(String),
}

impl Block {
    pub(super) fn clear(&mut self) {
        let mut name = mem::take(&mut self.name);
        if name.capacity() > NAME_KEPT_MAX {
            name = String::new();
        }
        *self = Self { name, ..Self::default() };
    }

    /// Whether a line of this field would begin an event after the one in the block.
    pub(super) fn starts_anew(&self, field: Field) -> bool {
        matches!(field, Field::Data | Field::Event) && !matches!(self.data, Data::None)
    }

    /// Reads the name, for an event that is handed out: without data nobody asks for it.
    pub(super) fn read_name(&mut self, raw: &[u8]) {
        let Some(name) = self.named.clone().and_then(|range| raw.get(range)) else { return };
        // Most have the name of the one before.
        if self.name.as_bytes() != name {
            self.name = lossy(name);
        }
    }

    /// Adds a data line; `raw` begins at `start` of the buffer that `value` counts in.
    pub(super) fn add_data(&mut self, raw: &[u8], start: usize, value: Range<usize>) {
        let value = value.start - start..value.end - start;
        match &mut self.data {
            Data::None => self.data = Data::One(value),
            Data::One(first) => {
                let mut text = lossy(&raw[first.clone()]);
                text.push('\n');
                text.push_str(&lossy(&raw[value]));
                self.data = Data::Joined(text);
            }
            Data::Joined(text) => {
                text.push('\n');
                text.push_str(&lossy(&raw[value]));
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Comment,
    Data,
    Event,
    Id,
    Retry,
    Unknown,
}

impl Field {
    /// The field of a line that is not empty, and where its value begins.
    ///
    /// Of an unknown field it is not said where its value begins.
    pub(super) fn of(line: &[u8]) -> (Self, usize) {
        let (field, rest) = match line {
            [b'd', b'a', b't', b'a', rest @ ..] => (Self::Data, rest),
            [b'e', b'v', b'e', b'n', b't', rest @ ..] => (Self::Event, rest),
            [b'i', b'd', rest @ ..] => (Self::Id, rest),
            [b'r', b'e', b't', b'r', b'y', rest @ ..] => (Self::Retry, rest),
            rest => (Self::Comment, rest),
        };
        let skip = match rest {
            [b':', b' ', ..] => 2,
            [b':', ..] => 1,
            [] => 0,
            _ => return (Self::Unknown, 0),
        };
        (field, line.len() - rest.len() + skip)
    }
}

/// Whether a line that begins like this is a field that the standard knows. A comment is none.
#[cfg(feature = "wire")]
pub(crate) fn is_field(line: &[u8]) -> bool {
    FIELDS.iter().any(|name| line.strip_prefix(*name).is_some_and(|rest| rest.starts_with(b":")))
}

pub(super) fn digits(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |ms: u64, b: &u8| ms.saturating_mul(10).saturating_add(u64::from(b - b'0'));
    Some(value.iter().fold(0, digit))
}

/// One U+FFFD for each maximal bad part, as the standard wants it.
pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A longer name is not kept for the next event: no provider has such names.
const NAME_KEPT_MAX: usize = 256;
#[cfg(feature = "wire")]
const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];
