//! Chat completions and their relatives.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use super::answer::{Answer, ToolCall};
use super::common::{Common, Decode, End};
use super::json::{Object, Value};
use super::{Reading, Role, With, mistral};
use crate::Kind;

/// The state of a chat stream lies in the answer; nothing else is carried from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Chat {
    /// A finish reason was seen.
    finishing: bool,
    /// A choice had a whole message and no delta.
    finished_answer: bool,
}

/// Whether an event of unknown dialect is of this one.
pub(super) fn is_one(event: &Object<'_, '_>) -> bool {
    event.get("choices").is_some_and(|v| v.text.starts_with('['))
        || event.string("object").is_some_and(|o| o == "chat.completion.chunk")
}

impl Decode for Chat {
    fn end(&self, common: &Common) -> End {
        let choices = &common.answer.choices;
        if choices.iter().any(|c| c.finish.as_deref() == Some(FAILED)) {
            End::Failed
        } else if common.done {
            End::Closed
        } else if self.finishing && choices.iter().all(|c| c.finish.is_some()) {
            End::Enough
        } else {
            End::Open
        }
    }

    fn read<'a>(
        &mut self,
        _: &str,
        chunk: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        reading.plain = true;
        common.answer.take_model(chunk, "model");
        let choices = chunk.get("choices").map(|v| v.array()).unwrap_or_default();
        for choice in choices {
            self.choice(&choice.object(), common, reading);
        }
        let own = chunk.present("usage");
        let nested = chunk.present("x_groq").and_then(|x| x.object().present("usage"));
        if let Some(usage) = own.or(nested) {
            common.answer.take_usage(usage);
            reading.last_with(own, With::Json("null"));
            if self.finishing && reading.texts.is_empty() {
                reading.role = Role::Hurry;
            }
        }
        Common::others(chunk, &CHUNK_MEMBERS, reading);
    }

    fn finished_answer(&self) -> bool {
        self.finished_answer
    }
}

impl Chat {
    fn choice<'a>(
        &mut self,
        choice: &Object<'a, '_>,
        common: &mut Common,
        reading: &mut Reading<'a>,
    ) {
        let index = Value::index(choice.get("index"));
        let delta = choice.get("delta").map(|v| v.object());
        self.finished_answer |= delta.is_none() && choice.present("message").is_some();
        let said = delta.is_some() || choice.present("finish_reason").is_some();
        // Azure sends entries with a filter's result alone: those open no choice.
        if (said || choice.get("text").is_some()) && common.answer.choice(index).is_none() {
            return;
        }
        let delta = delta.unwrap_or_default();
        let before = reading.texts.len();
        reading.first_only(delta.present("role"));
        reasoning(&delta, index, common, reading);
        output(choice, &delta, index, common, reading);
        if reading.texts.len() > before {
            if choice.present("logprobs").is_some_and(per_token) {
                reading.whole = true;
                reading.plain = false;
            }
            counts(&delta, reading);
        }
        if tool_calls(&delta, index, common, reading) {
            common.settle(index, reading);
        }
        for key in ["finish_reason", "native_finish_reason"] {
            // Readers look for it in every chunk.
            reading.last_with(choice.present(key), With::Json("null"));
        }
        if let Some(finish) = choice.string("finish_reason").filter(|f| !f.is_empty()) {
            common.settle(index, reading);
            self.finishing = true;
            reading.role = Role::Hurry;
            common.answer.finish_choice(index, &finish);
        }
        if choice.present("error").is_some_and(|error| common.answer.take_error(error)) {
            reading.role = Role::Hurry;
        }
        Common::others(choice, &CHOICE_MEMBERS, reading);
        Common::others(&delta, &DELTA_MEMBERS, reading);
    }
}

/// Numbers in a delta are increments as its text is, such as a count of tokens: a reader that adds them up must find
/// each once.
fn counts<'a>(delta: &Object<'a, '_>, reading: &mut Reading<'a>) {
    for (key, value) in delta.members() {
        if key != "index" && value.text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            reading.last_only(value);
            reading.plain = false;
        }
    }
}

/// The reasoning of a delta. Where it stands in several fields they hold the same text, so the first is
/// the text and the others are copies of it.
fn reasoning<'a>(
    delta: &Object<'a, '_>,
    index: u32,
    common: &mut Common,
    reading: &mut Reading<'a>,
) {
    let full = |v: &Value<'a, '_>| v.text.starts_with('"') && !v.is_empty();
    let mut fields = REASONING_FIELDS.iter().filter_map(|key| delta.get(key)).filter(full);
    let channel = (Kind::Reasoning, index, 0);
    let details = delta.present("reasoning_details");
    let Some(first) = fields.next() else {
        if let Some(details) = details {
            detailed_reasoning(details, index, common, reading);
        }
        return;
    };
    let text = first.bytes();
    let mut copies = Vec::new();
    for field in fields {
        if field.bytes() == text { copies.push(field.span()) } else { reading.whole = true }
    }
    if let Some(details) = details {
        let entries = details.array();
        let texts: Vec<_> = entries.iter().filter_map(entry_text).collect();
        match (&entries[..], &texts[..]) {
            (_, []) if details.is_empty() => {}
            (_, []) => reading.last_only(details),
            ([entry], [copy]) if copy.bytes() == text => {
                copies.push(copy.span());
                entry_rest(entry, reading);
            }
            _ => reading.whole = true,
        }
    }
    if common.text(channel, index, first, reading) {
        common.inline.fielded(index);
        if let Some(text) = reading.texts.last_mut() {
            text.copies = copies;
        }
    } else {
        reading.blanks.extend(copies);
    }
    reading.plain &= !reading.whole;
}

/// Reasoning that stands in `reasoning_details` alone.
fn detailed_reasoning<'a>(
    details: Value<'a, '_>,
    index: u32,
    common: &mut Common,
    reading: &mut Reading<'a>,
) {
    let entries = details.array();
    let texts: Vec<_> = entries.iter().map(entry_text).collect();
    if texts.iter().all(Option::is_none) {
        if !details.is_empty() {
            reading.last_only(details);
        }
        return;
    }
    // An entry without text cannot be left out of the earlier parts alone.
    if texts.iter().any(Option::is_none) {
        reading.whole = true;
        reading.plain = false;
    }
    for (entry, text) in entries.iter().zip(texts) {
        if let Some(text) = text {
            if common.text((Kind::Reasoning, index, 0), index, text, reading) {
                common.inline.fielded(index);
            }
            entry_rest(entry, reading);
        }
    }
}

/// The text of an entry of `reasoning_details`, if it has one.
pub(super) fn entry_text<'a, 't>(entry: &Value<'a, 't>) -> Option<Value<'a, 't>> {
    let entry = entry.object();
    let texts = ["text", "summary"].into_iter().filter_map(|key| entry.get(key));
    texts.into_iter().find(|v| v.text.starts_with('"') && !v.is_empty())
}

/// What an entry of `reasoning_details` holds besides its text.
fn entry_rest(entry: &Value<'_, '_>, reading: &mut Reading<'_>) {
    let entry = entry.object();
    reading.last_only(entry.present("signature"));
    for name in ["id", "format"] {
        reading.first_only(entry.present(name));
    }
}

/// The visible text of a choice.
fn output<'a>(
    choice: &Object<'a, '_>,
    delta: &Object<'a, '_>,
    index: u32,
    common: &mut Common,
    reading: &mut Reading<'a>,
) {
    let full = |v: &Value<'a, '_>| v.text.starts_with('"') && !v.is_empty();
    let parts = delta.get("content").filter(|v| v.text.starts_with('['));
    if let Some(parts) = parts {
        mistral::content(parts, index, common, reading);
    }
    let content = delta.get("content").filter(full);
    // Completions of the old kind have `text`; some send it beside `content`, the same text twice.
    let text = choice.get("text").filter(full);
    match (content, text) {
        (Some(content), copy) => {
            let same = copy.filter(|copy| copy.bytes() == content.bytes());
            reading.whole |= copy.is_some() && same.is_none();
            common.visible(index, content, same, reading);
        }
        (None, Some(text)) if delta.is_empty() => common.visible(index, text, None, reading),
        _ => {}
    }
    if let Some(refusal) = delta.get("refusal") {
        common.text((Kind::Output, index, 1), index, refusal, reading);
    }
}

/// Whether log probabilities are more than empty members.
fn per_token(logprobs: Value<'_, '_>) -> bool {
    let members = logprobs.object();
    if members.is_empty() {
        !logprobs.is_empty()
    } else {
        members.members().any(|(_, v)| !v.is_empty())
    }
}

/// Says whether there are any.
fn tool_calls<'a>(
    delta: &Object<'a, '_>,
    index: u32,
    common: &mut Common,
    reading: &mut Reading<'a>,
) -> bool {
    let full = |key: &str| delta.present(key).filter(|v| !v.is_empty());
    // The second is the form before tools.
    let (calls, old) = (full("tool_calls"), full("function_call"));
    if calls.is_none() && old.is_none() {
        return false;
    }
    reading.role = Role::Hurry;
    let answer = &mut common.answer;
    for call in calls.map(|v| v.array()).unwrap_or_default() {
        let call = call.object();
        let function = call.get("function").map(|v| v.object()).unwrap_or_default();
        let number = call.present("index").map(|v| Value::index(Some(v)));
        let id = call.string("id").unwrap_or_default();
        tool_call(answer, index, number, &id, &function);
    }
    if let Some(call) = old {
        tool_call(answer, index, None, "", &call.object());
    }
    true
}

/// Adds a fragment to the call it belongs to. Ids and numbers are unreliable: the number may be missing,
/// the same for all calls, or start above 0, and the id may come once or every time.
fn tool_call(
    answer: &mut Answer,
    choice: u32,
    number: Option<u32>,
    id: &str,
    function: &Object<'_, '_>,
) {
    let name = function.string("name").unwrap_or_default();
    let arguments = function.present("arguments");
    let Some(calls) = answer.choice(choice).map(|c| &c.tool_calls) else { return };
    let same_number = || match number {
        Some(number) => calls.iter().rposition(|c| c.index == Some(number)),
        None => calls.len().checked_sub(1),
    };
    let place = if id.is_empty() {
        // A second name, once there are arguments, is a second call of a sender without ids.
        let starts = |at: usize| !name.is_empty() && !calls[at].arguments.is_empty();
        same_number()
            .filter(|&at| !starts(at))
            .or_else(|| if name.is_empty() { calls.len().checked_sub(1) } else { None })
    } else {
        let unnamed = |at: &usize| calls[*at].id.is_empty();
        calls.iter().rposition(|c| c.id == id).or_else(|| same_number().filter(unnamed))
    };
    let place = place
        .or_else(|| answer.open_call(choice, ToolCall { index: number, ..ToolCall::default() }));
    let Some(place) = place else { return };
    if let Some(call) = answer.call(choice, place) {
        for (old, new) in [(&mut call.id, id), (&mut call.name, name.as_ref())] {
            if old.is_empty() {
                new.clone_into(old);
            }
        }
    }
    answer.add_value(choice, place, arguments);
}

/// The finish reason of a choice that did not end by itself; the error may be told nowhere else.
const FAILED: &str = "error";

/// Where servers put reasoning text, most specific first; after these `reasoning_details`.
pub(super) const REASONING_FIELDS: [&str; 4] =
    ["reasoning_content", "reasoning", "reasoning_text", "thinking"];

/// Members that may stand on every part of a chunk, or that the code above has dealt with.
const CHUNK_MEMBERS: [&str; 4] = ["choices", "prompt_filter_results", "error", "usage"];
const CHOICE_MEMBERS: [&str; 3] = ["delta", "content_filter_results", "logprobs"];
const DELTA_MEMBERS: [&str; 2] = ["reasoning_details", "content"];
