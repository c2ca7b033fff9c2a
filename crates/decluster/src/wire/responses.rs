//! The Responses API.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;

use super::answer::ToolCall;
use super::common::{Common, Decode, End};
use super::json::{Object, Value};
use super::{Dialect, Reading, Role, incident};
use crate::Kind;

/// What must be known of earlier events. Items are told apart by `output_index`, not by their id: one
/// gateway gives every event another id.
#[derive(Debug, Default)]
pub(super) struct Responses {
    /// `response.created` was seen, so nothing is missing before the first event.
    created: bool,
    /// The channel in which reasoning came first for an item. The other repeats it.
    reasoning: BTreeMap<u32, Channel>,
    /// Parts whose text was seen: channel, item, part.
    seen: BTreeSet<(Channel, u32, u32)>,
    /// The part that had text last.
    last: Option<(Channel, u32, u32)>,
    /// The place of the call that an item is.
    calls: BTreeMap<u32, usize>,
    /// The response that is being sent.
    id: Option<String>,
    end: Option<End>,
    /// The stream is of the dialect that counts tokens in place of text.
    counts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Channel {
    Raw,
    Summary,
    Output,
    Refusal,
}

/// Whether an event of unknown dialect is of this one.
pub(super) fn is_one(name: &str, kind: &str) -> bool {
    [name, kind].iter().any(|name| name.starts_with("response."))
}

impl Responses {
    /// A reader of this dialect or of [`Dialect::Incident`].
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { counts: dialect == Dialect::Incident, ..Self::default() }
    }
}

impl Decode for Responses {
    fn end(&self, common: &Common) -> End {
        match self.end {
            None if self.counts && common.done => End::Closed,
            end => end.unwrap_or(End::Open),
        }
    }

    fn read<'a>(
        &mut self,
        kind: &str,
        event: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        if incident::takes(self.counts, kind, event) {
            return incident::read(kind, event, common, reading);
        }
        let number = event.present("sequence_number");
        reading.number = number.and_then(|n| Some((n.number()?, n.span())));
        if let Some(stem) = kind.strip_suffix(".delta")
            && let Some(channel) = text_channel(stem)
        {
            self.delta(channel, event, common, reading);
        } else if let Some(stem) = kind.strip_suffix(".done")
            && let Some(channel) = text_channel(stem)
        {
            let key = if channel == Channel::Refusal { "refusal" } else { "text" };
            self.final_text(channel, position(channel, event), event.get(key), common, reading);
        } else if PARTS_DONE.contains(&kind) {
            let part = event.get("part").map(|v| v.object()).unwrap_or_default();
            let summary = kind == "response.reasoning_summary_part.done";
            if let Some((channel, text)) = part_text(&part, summary, kind) {
                self.final_text(channel, position(channel, event), Some(text), common, reading);
            }
        } else if let Some((stem, last)) = kind.rsplit_once('.')
            && CALLS.contains(&stem)
        {
            reading.role = Role::Hurry;
            self.arguments(last == "done", event, common);
        } else {
            self.bracket(kind, event, common, reading);
        }
    }
}

impl Responses {
    fn delta<'a>(
        &mut self,
        channel: Channel,
        event: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let Some(delta) = event.present("delta") else { return };
        // The early SDKs have an object here.
        let Some(text) = inner_text(delta) else { return };
        let place = position(channel, event);
        if text.is_empty() || !self.takes(channel, place) {
            return;
        }
        reading.plain = true;
        if common.text(channel.of(place), 0, text, reading) {
            self.note(channel, place);
        }
        if event.present("logprobs").is_some_and(|v| !v.is_empty()) {
            reading.whole = true;
            reading.plain = false;
        }
        Common::others(event, &DELTA_MEMBERS, reading);
    }

    /// A text in full. It repeats the deltas, so it counts only where there were none.
    fn final_text<'a>(
        &mut self,
        channel: Channel,
        place: (u32, u32),
        text: Option<Value<'a, '_>>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let Some(text) = text.filter(|v| v.text.starts_with('"') && !v.is_empty()) else { return };
        if self.seen.contains(&(channel, place.0, place.1)) || !self.takes(channel, place) {
            return;
        }
        if common.text(channel.of(place), 0, text, reading) {
            self.note(channel, place);
        }
        reading.whole = true;
    }

    /// Whether to take text of a part: the other channel of reasoning did not come first.
    fn takes(&self, channel: Channel, (item, part): (u32, u32)) -> bool {
        if self.last == Some((channel, item, part)) {
            return true;
        }
        let has_room = self.seen.len() < PARTS_MAX || self.seen.contains(&(channel, item, part));
        let first = self.reasoning.get(&item).filter(|_| channel.is_reasoning());
        has_room && first.is_none_or(|first| *first == channel)
    }

    /// Notes that a part had text. Half a character is none: nothing of it is written.
    fn note(&mut self, channel: Channel, (item, part): (u32, u32)) {
        // Most texts go on with the part before.
        if self.last.replace((channel, item, part)) == Some((channel, item, part)) {
            return;
        }
        self.seen.insert((channel, item, part));
        if channel.is_reasoning() {
            self.reasoning.entry(item).or_insert(channel);
        }
    }

    /// Whether any text of the item was seen.
    fn has_text(&self, channels: [Channel; 2], item: u32) -> bool {
        channels.into_iter().any(|channel| {
            self.seen.range((channel, item, 0)..=(channel, item, u32::MAX)).next().is_some()
        })
    }

    /// Everything that brackets texts: items, parts, the response itself.
    fn bracket<'a>(
        &mut self,
        kind: &str,
        event: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        reading.boundary = BOUNDARIES.contains(&kind);
        let object = |key: &str| event.get(key).map(|v| v.object()).unwrap_or_default();
        if common.answer.model.is_none() {
            common.answer.take_model(&object("response"), "model");
        }
        match kind {
            "response.created" => self.start(&object("response"), common, reading),
            "response.output_item.added" | "response.output_item.done" => {
                let place = Value::index(event.get("output_index"));
                let item = object("item");
                let done = kind == "response.output_item.done";
                if self.tool_item(place, done, &item, common) {
                    reading.role = Role::Hurry;
                } else if done {
                    self.item_text(place, &item, common, reading);
                }
            }
            _ => {
                if let Some((_, end)) = ENDS.iter().find(|(name, _)| *name == kind) {
                    self.terminal(kind, *end, &object("response"), common, reading);
                    reading.role = Role::Hurry;
                }
            }
        }
    }

    /// The same response may be announced again. Another one means that a gateway started anew.
    fn start<'a>(
        &mut self,
        response: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let id = response.string("id").unwrap_or_default();
        if self.id.as_ref().is_some_and(|before| *before != id) && !id.is_empty() {
            common.restart(reading);
            *self = Self { counts: self.counts, ..Self::default() };
        }
        self.created = true;
        self.id = Some(id.into_owned());
    }

    /// Text that came with the finished item only.
    fn item_text<'a>(
        &mut self,
        place: u32,
        item: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let parts = |key: &str| item.get(key).map(|v| v.array()).unwrap_or_default();
        let reasoning = item.string("type").is_some_and(|t| t == "reasoning");
        let channels = if reasoning {
            [Channel::Raw, Channel::Summary]
        } else {
            [Channel::Output, Channel::Refusal]
        };
        if self.has_text(channels, place) {
            return;
        }
        for (list, summary) in [(parts("content"), false), (parts("summary"), true)] {
            for (at, part) in (0..).zip(list) {
                let found = part_text(&part.object(), summary, "");
                if let Some((channel, text)) = found.filter(|(c, _)| channels.contains(c)) {
                    self.final_text(channel, (place, at), Some(text), common, reading);
                }
            }
        }
    }

    /// Follows a call that the caller must run; says whether the item is one.
    fn tool_item(
        &mut self,
        place: u32,
        done: bool,
        item: &Object<'_, '_>,
        common: &mut Common,
    ) -> bool {
        let kind = item.string("type").unwrap_or_default();
        if !TOOL_ITEMS.contains(&kind.as_ref()) {
            return false;
        }
        let at = if let Some(at) = self.calls.get(&place) {
            *at
        } else {
            let call = ToolCall { index: Some(place), ..ToolCall::default() };
            let Some(at) = common.answer.open_call(0, call) else { return true };
            self.calls.insert(place, at);
            at
        };
        if let Some(call) = common.answer.call(0, at) {
            call.complete |= done;
            let texts = [(&mut call.id, "call_id"), (&mut call.name, "name")];
            for (old, key) in texts {
                if let Some(new) = item.string(key).filter(|new| !new.is_empty()) {
                    *old = new.into_owned();
                }
            }
        }
        let arguments = item.string("arguments").or_else(|| item.string("input"));
        common.answer.set_arguments(0, at, &arguments.unwrap_or_default());
        true
    }

    fn arguments(&mut self, done: bool, event: &Object<'_, '_>, common: &mut Common) {
        let Some(at) = self.calls.get(&Value::index(event.get("output_index"))) else { return };
        if !done {
            let delta = event.string("delta").unwrap_or_default();
            common.answer.add_arguments(0, *at, &delta);
            return;
        }
        let arguments = event.string("arguments").or_else(|| event.string("input"));
        common.answer.set_arguments(0, *at, &arguments.unwrap_or_default());
        if let Some(call) = common.answer.call(0, *at) {
            call.complete = true;
        }
    }

    fn terminal<'a>(
        &mut self,
        kind: &str,
        end: End,
        response: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        self.end = Some(end);
        if let Some(usage) = response.present("usage") {
            common.answer.take_usage(usage);
        }
        if let Some(error) = response.present("error") {
            common.answer.take_error(error);
        }
        let word = kind.rsplit('.').next().unwrap_or_default();
        // `response.done` has the outcome in the response.
        let status = response.string("status").filter(|s| word == "done" && !s.is_empty());
        let mut finish = status.map_or_else(|| String::from(word), String::from);
        let why = response.get("incomplete_details").map(|v| v.object()).unwrap_or_default();
        if let Some(reason) = why.string("reason").filter(|_| finish == "incomplete") {
            finish = format!("{finish}:{reason}");
        }
        if matches!(finish.as_str(), "failed" | "cancelled") {
            self.end = Some(End::Failed);
        }
        if let Some(choice) = common.answer.choice(0) {
            choice.finish = Some(finish);
        }
        // A resumed stream lacks what came before, and its final form repeats it: no text from there. Nor
        // where anything was streamed, since gateways number the items differently.
        if self.created && self.seen.is_empty() {
            let items = response.get("output").map(|v| v.array()).unwrap_or_default();
            for (place, item) in (0..).zip(items) {
                let item = item.object();
                if !self.tool_item(place, true, &item, common) {
                    self.item_text(place, &item, common, reading);
                }
            }
        }
    }
}

impl Channel {
    const fn is_reasoning(self) -> bool {
        matches!(self, Self::Raw | Self::Summary)
    }

    /// Where a half character of this text waits.
    fn of(self, (item, part): (u32, u32)) -> (Kind, u32, u32) {
        let kind = if self.is_reasoning() { Kind::Reasoning } else { Kind::Output };
        (kind, item, part)
    }
}

/// The item and the part an event is about.
fn position(channel: Channel, event: &Object<'_, '_>) -> (u32, u32) {
    let part = if channel == Channel::Summary { "summary_index" } else { "content_index" };
    (Value::index(event.get("output_index")), Value::index(event.get(part)))
}

fn text_channel(stem: &str) -> Option<Channel> {
    TEXTS.iter().find(|(name, _)| *name == stem).map(|(_, channel)| *channel)
}

/// A string, or the `text` of an object.
fn inner_text<'a, 't>(value: Value<'a, 't>) -> Option<Value<'a, 't>> {
    let text = if value.text.starts_with('{') { value.object().get("text")? } else { value };
    text.text.starts_with('"').then_some(text)
}

/// The text of a finished part. `kind` is the event's, where there is one.
fn part_text<'a, 't>(
    part: &Object<'a, 't>,
    summary: bool,
    kind: &str,
) -> Option<(Channel, Value<'a, 't>)> {
    let own = part.string("type").unwrap_or_default();
    let channel = match own.as_ref() {
        "refusal" => return Some((Channel::Refusal, part.get("refusal")?)),
        _ if summary => Channel::Summary,
        "reasoning_text" => Channel::Raw,
        _ if kind == "response.reasoning_part.done" => Channel::Raw,
        "output_text" => Channel::Output,
        _ => return None,
    };
    Some((channel, part.get("text")?))
}

/// Events with text, less `.delta` or `.done`. The shorter names are those of early SDKs and of gateways.
const TEXTS: [(&str, Channel); 6] = [
    ("response.output_text", Channel::Output),
    ("response.refusal", Channel::Refusal),
    ("response.reasoning_text", Channel::Raw),
    ("response.reasoning", Channel::Raw),
    ("response.reasoning_summary_text", Channel::Summary),
    ("response.reasoning_summary", Channel::Summary),
];

const PARTS_DONE: [&str; 3] = [
    "response.content_part.done",
    "response.reasoning_summary_part.done",
    "response.reasoning_part.done",
];

const BOUNDARIES: [&str; 4] = [
    "response.output_item.added",
    "response.content_part.added",
    "response.reasoning_summary_part.added",
    "response.reasoning_part.added",
];

/// Events with the arguments of a call, less `.delta` or `.done`.
const CALLS: [&str; 3] = [
    "response.function_call_arguments",
    "response.custom_tool_call_input",
    "response.mcp_call_arguments",
];

/// Items that are calls for the caller to run; the other calls run at the provider.
const TOOL_ITEMS: [&str; 2] = ["function_call", "custom_tool_call"];

const ENDS: [(&str, End); 5] = [
    ("response.completed", End::Closed),
    ("response.incomplete", End::Closed),
    ("response.done", End::Closed),
    ("response.failed", End::Failed),
    ("response.cancelled", End::Failed),
];

const DELTA_MEMBERS: [&str; 2] = ["delta", "logprobs"];

/// Parts with text in one stream; more than any recording by a factor of a hundred.
const PARTS_MAX: usize = 4096;
