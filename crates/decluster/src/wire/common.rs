//! What the dialects share while they read: the answer, half characters that wait for their other half,
//! tags in visible text.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::answer::{Answer, Malformed};
use super::json::{self, Joined, Object, Value};
use super::think::{Inline, Think};
use super::{Part, Reading, Role, Text, With};
use crate::Kind;

#[derive(Debug, Default)]
pub(super) struct Common {
    pub(super) answer: Answer,
    /// The high half of a surrogate pair at the end of the last string of a channel.
    pub(super) held: BTreeMap<Channel, u16>,
    pub(super) inline: Inline,
    /// `[DONE]` was seen.
    pub(super) done: bool,
}

/// Kind and numbers of the text a string continues.
pub(super) type Channel = (Kind, u32, u32);

/// How far a stream has come, by the rules of its dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Something must still come.
    Open,
    /// This is enough for an end, but more may come.
    Enough,
    /// This was the end.
    Closed,
    /// This was the end, and it says that it failed.
    Failed,
}

/// What a dialect does with its events. One implementation a file.
pub(super) trait Decode: core::fmt::Debug + Send + Sync {
    /// Reads an event. `kind` is its `type`, or the name of the event line where it has none.
    fn read<'a>(
        &mut self,
        kind: &str,
        event: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    );

    /// How far the stream has come.
    fn end(&self, common: &Common) -> End;

    /// What came was a whole answer, not a stream of one.
    fn finished_answer(&self) -> bool {
        false
    }
}

impl Common {
    pub(super) fn new(think: Think) -> Self {
        Self { inline: Inline::new(think), ..Self::default() }
    }

    /// Adds the string to the texts, if it is one and not empty. Says whether there is a text.
    pub(super) fn text<'a>(
        &mut self,
        channel: Channel,
        choice: u32,
        value: Value<'a, '_>,
        reading: &mut Reading<'a>,
    ) -> bool {
        let Some(joined) = self.joined(channel, value, reading) else { return false };
        let text = Text::new(channel.0, choice, joined.text, value);
        self.answer.reasoning_text |= channel.0 == Kind::Reasoning;
        reading.add(Text { altered: joined.altered, ..text });
        true
    }

    /// The same for visible text in which reasoning may stand between tags. `copy` is another string with
    /// the same text.
    pub(super) fn visible<'a>(
        &mut self,
        choice: u32,
        value: Value<'a, '_>,
        copy: Option<Value<'a, '_>>,
        reading: &mut Reading<'a>,
    ) {
        let Some(joined) = self.joined((Kind::Output, choice, 0), value, reading) else {
            reading.blanks.extend(copy.map(|copy| copy.span()));
            return;
        };
        // Asked once: a string may hold very many parts.
        let ascii = value.text.is_ascii();
        for (part, kind, text) in self.inline.split(choice, joined.text) {
            let reasoning = part.is_text() && kind == Kind::Reasoning;
            self.answer.reasoning_text |= reasoning || part == Part::Turn;
            let ascii = ascii && !text.is_ascii();
            let text = Text { ascii, span: value.span(), ..Text::bare(kind, choice, text) };
            let copies = copy.iter().map(Value::span).collect();
            reading.add(match part {
                Part::Late => text.late(),
                part => Text { part, copies, altered: joined.altered, ..text },
            });
        }
    }

    /// What was held of the choice's visible text, since it may have become a tag, is text.
    pub(super) fn settle(&mut self, choice: u32, reading: &mut Reading<'_>) {
        if let Some((kind, text)) = self.inline.flush(choice) {
            reading.add(Text::bare(kind, choice, Cow::Owned(text)).late());
        }
    }

    /// The same for all choices: the stream is at its end.
    pub(super) fn settle_all(&mut self, reading: &mut Reading<'_>) {
        for choice in self.inline.holding() {
            self.settle(choice, reading);
        }
        // Half a character that nothing followed.
        self.answer.repairs += self.held.len() as u64;
    }

    /// The answer begins anew: what came so far is void, and nothing of it goes on.
    pub(super) fn restart(&mut self, reading: &mut Reading<'_>) {
        self.answer.restart();
        self.held.clear();
        reading.restart = true;
        reading.role = Role::Hurry;
    }

    fn joined<'a>(
        &mut self,
        channel: Channel,
        value: Value<'a, '_>,
        reading: &mut Reading<'a>,
    ) -> Option<Joined<'a>> {
        let bytes = value.bytes().filter(|bytes| !bytes.is_empty())?;
        let mut held = if self.held.is_empty() { None } else { self.held.remove(&channel) };
        let joined = json::join(bytes, &mut held);
        if let Some(half) = held.filter(|_| self.held.len() < HELD_MAX) {
            self.held.insert(channel, half);
        }
        if joined.text.is_empty() {
            reading.blanks.push(value.span());
            return None;
        }
        Some(joined)
    }

    /// Objects and arrays among `members` that no rule here names: they stand on the last part only.
    pub(super) fn others<'a>(object: &Object<'a, '_>, known: &[&str], reading: &mut Reading<'a>) {
        let others = object.filled().filter(|(key, _)| !known.contains(&&**key));
        reading.rest.extend(others.map(|(_, value)| (value.span(), With::Gone)));
    }

    pub(super) fn malformed(&mut self, message: String) {
        self.answer.malformed += 1;
        let event = self.answer.events;
        self.answer.first_malformed.get_or_insert(Malformed { event, message });
    }
}

impl<'a> Reading<'a> {
    pub(super) fn add(&mut self, text: Text<'a>) {
        if self.role == Role::Mark && text.part != Part::Late {
            self.role = Role::Delta;
        }
        self.texts.push(text);
    }

    /// A member that later parts do not have.
    pub(super) fn first_only<'v>(&mut self, value: impl Into<Option<Value<'v, 'v>>>) {
        self.lead.extend(value.into().map(|value| value.span()));
    }

    /// A member that earlier parts do not have.
    pub(super) fn last_only<'v>(&mut self, value: impl Into<Option<Value<'v, 'v>>>) {
        self.last_with(value, With::Gone);
    }

    /// A value in whose place earlier parts have another one.
    pub(super) fn last_with<'v>(
        &mut self,
        value: impl Into<Option<Value<'v, 'v>>>,
        with: With<'static>,
    ) {
        self.rest.extend(value.into().map(|value| (value.span(), with)));
    }
}

impl<'a> Text<'a> {
    /// A text that stands in the string `value`.
    pub(super) fn new(kind: Kind, index: u32, text: Cow<'a, str>, value: Value<'_, '_>) -> Self {
        let ascii = !text.is_ascii() && value.text.is_ascii();
        Self { ascii, span: value.span(), ..Self::bare(kind, index, text) }
    }

    /// A text that stands nowhere.
    pub(super) fn bare(kind: Kind, index: u32, text: Cow<'a, str>) -> Self {
        Self {
            kind,
            index,
            text,
            part: Part::Text,
            span: 0..0,
            copies: Vec::new(),
            tokens: None,
            tokens_span: None,
            ascii: false,
            altered: false,
        }
    }

    /// The same text, which stood in an event before this one.
    fn late(self) -> Self {
        Self { part: Part::Late, span: 0..0, ..self }
    }
}

/// More channels than this do not end in half a character at once.
const HELD_MAX: usize = 1024;
