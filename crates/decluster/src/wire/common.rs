//! What the dialects share while they read: the answer, and half characters that wait for their other
//! half.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::answer::{Answer, Malformed};
use super::json::{self, Object, Value};
use super::{Reading, Role, Text};
use crate::Kind;

#[derive(Debug, Default)]
pub(super) struct Common {
    pub(super) answer: Answer,
    /// The high half of a surrogate pair at the end of the last string of a channel.
    pub(super) held: BTreeMap<Channel, u16>,
    /// `[DONE]` was seen.
    pub(super) done: bool,
}

/// Kind and numbers of the text a string continues.
pub(super) type Channel = (Kind, u32, u32);

impl Common {
    /// Adds the string to the texts, if it is one and not empty.
    pub(super) fn text<'a>(
        &mut self,
        (kind, index, part): Channel,
        choice: u32,
        value: Value<'a>,
        reading: &mut Reading<'a>,
    ) -> bool {
        let Some(bytes) = value.bytes() else { return false };
        if bytes.is_empty() {
            return false;
        }
        let channel = (kind, index, part);
        let mut held = if self.held.is_empty() { None } else { self.held.remove(&channel) };
        let joined = json::join(bytes, &mut held);
        if let Some(half) = held.filter(|_| self.held.len() < HELD_MAX) {
            self.held.insert(channel, half);
        }
        if joined.text.is_empty() {
            reading.blanks.push(value.span());
            return false;
        }
        reading.texts.push(Text {
            kind,
            index: choice,
            ascii: value.text.is_ascii() && !joined.text.is_ascii(),
            text: joined.text,
            span: value.span(),
            copies: Vec::new(),
            tokens: None,
            tokens_span: None,
            altered: joined.altered,
        });
        if reading.role == Role::Mark {
            reading.role = Role::Delta;
        }
        true
    }

    /// Objects and arrays among `members` that no rule here names: they stand on the last part only.
    pub(super) fn others<'a>(object: &Object<'a>, known: &[&str], reading: &mut Reading<'a>) {
        let others = object.filled().filter(|(key, _)| !known.contains(&&**key));
        reading.rest.extend(others.map(|(_, value)| value.span()));
    }

    pub(super) fn malformed(&mut self, message: String) {
        self.answer.malformed += 1;
        let event = self.answer.events;
        self.answer.first_malformed.get_or_insert(Malformed { event, message });
    }
}

/// More channels than this do not end in half a character at once.
const HELD_MAX: usize = 1024;
