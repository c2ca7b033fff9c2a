//! A finished answer that was not streamed: what its one JSON body holds.
//!
//! Bodies have parts with whole texts where streams have deltas, so they are read by tables of their own.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::answer::MODEL_BYTES_MAX;
use super::chat::{REASONING_FIELDS, entry_text};
use super::json::{Object, Value};
use super::reader::error_of;
use super::tape::Tape;
use super::think::{Inline, Think};
use super::usage::{Tokens, gathered};
use super::{Dialect, Part};
use crate::Kind;

/// What a finished response says. The texts are those of choice 0 (or the first there is).
///
/// ```
/// use decluster::wire::{Body, Dialect};
/// let body = Body::read(br#"{"model": "m", "message": {"thinking": "Hm.", "content": "Yes."},
///     "done": true, "done_reason": "stop", "prompt_eval_count": 12, "eval_count": 9}"#)?;
/// assert_eq!((body.dialect, body.reasoning.as_str()), (Some(Dialect::Ollama), "Hm."));
/// assert_eq!(body.tokens.and_then(|tokens| tokens.output), Some(9));
/// # Ok::<(), decluster::wire::BodyError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Body {
    /// The dialect; `None` where only the usage or the error could be told.
    pub dialect: Option<Dialect>,
    /// The model as the provider names it, unless that has more than 256 bytes.
    pub model: Option<String>,
    /// The usage in one meaning for all providers.
    pub tokens: Option<Tokens>,
    /// The provider's own usage object, as JSON.
    pub usage: Option<String>,
    /// The text of the reasoning, be it in a field of its own or between `<think>` tags.
    pub reasoning: String,
    /// The visible text.
    pub output: String,
    /// Reasoning that only the provider can read, as it must be sent back.
    pub encrypted: Vec<String>,
    /// Why it stopped, in the provider's words.
    pub finish: Option<String>,
    /// The error that the body reports, as JSON.
    pub error: Option<String>,
}

/// Why a body cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyError {
    /// The byte at this place is not UTF-8.
    NotUtf8(usize),
    /// It is not JSON; the text has line and column.
    NotJson(String),
    /// It is a stream of events: [`Reader`](super::Reader) and [`Collector`](crate::Collector) read those.
    Stream,
    /// It is JSON of another kind than an object, or an array of other things than Gemini's.
    NotAnObject(&'static str),
    /// It is of no known dialect, has no `usage` and reports no error.
    UnknownDialect,
}

impl Body {
    /// Reads a finished response of any dialect. An error that the provider reports is no error here. Time
    /// is linear in the length.
    ///
    /// # Errors
    /// [`BodyError`] for what is no response.
    pub fn read(json: &[u8]) -> Result<Self, BodyError> {
        let text = core::str::from_utf8(json).map_err(|e| BodyError::NotUtf8(e.valid_up_to()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut tape = Tape::default();
        let whole = Value::parse(text, 0, &mut tape).map_err(|error| {
            let stream = EVENT_STARTS.iter().any(|start| text.trim_start().starts_with(start));
            if stream { BodyError::Stream } else { BodyError::NotJson(error.to_string()) }
        })?;
        let elements = if whole.text.starts_with('[') { whole.array() } else { Vec::from([whole]) };
        if elements.is_empty() {
            return Err(BodyError::NotAnObject("an empty array"));
        }
        let mut body = Self::default();
        let several = elements.len() > 1;
        for element in elements {
            if !element.text.starts_with('{') {
                return Err(BodyError::NotAnObject(kind(element)));
            }
            let object = element.object();
            body.element(element, &object);
            if several && body.dialect != Some(Dialect::Gemini) && body.error.is_none() {
                return Err(BodyError::NotAnObject("an array of objects that are not Gemini's"));
            }
        }
        if body.dialect.is_none() && body.usage.is_none() && body.error.is_none() {
            return Err(BodyError::UnknownDialect);
        }
        let reasoning_text = !body.reasoning.is_empty();
        body.tokens = body.usage.as_deref().and_then(|usage| Tokens::of(usage, reasoning_text));
        Ok(body)
    }

    /// Reads the body, or one element of Gemini's array: texts add up, of the rest the last counts.
    fn element(&mut self, whole: Value<'_, '_>, object: &Object<'_, '_>) {
        if let Some((dialect, _, read)) = DIALECTS.iter().find(|(_, is, _)| is(object)) {
            self.dialect = Some(*dialect);
            read(self, object);
        }
        let model = first(object, &MODELS).and_then(|model| model.string());
        let model = model.filter(|model| (1..=MODEL_BYTES_MAX).contains(&model.len()));
        self.model = model.map(Cow::into_owned).or_else(|| self.model.take());
        let nested = |(outer, inner): &(&str, &str)| object.get(outer)?.object().present(inner);
        let usages = USAGES.iter().filter_map(|key| object.present(key));
        let mut usages = usages.chain(NESTED_USAGES.iter().filter_map(nested));
        if let Some(usage) = usages.find(|usage| usage.text.starts_with('{')) {
            self.usage = Some(usage.text.to_owned());
        } else if self.dialect == Some(Dialect::Ollama) {
            self.usage = gathered(object);
        }
        let bare = || {
            let said = self.dialect.is_some() || self.usage.is_some();
            let message = || ERROR_MESSAGES.iter().any(|key| begins(object, key, '"'));
            (!said && message()).then_some(whole)
        };
        if let Some(error) =
            error_of("message", object.string("type").as_deref(), whole, object).or_else(bare)
        {
            self.error.get_or_insert_with(|| error.text.to_owned());
        }
    }

    /// Reads a list of parts, or a string in its place, which is output.
    fn parts(&mut self, list: Option<Value<'_, '_>>, but: Option<What>) {
        let Some(list) = list else { return };
        if list.text.starts_with('"') {
            add(list, &mut self.output);
        }
        for part in list.array() {
            if part.text.starts_with('"') {
                add(part, &mut self.output);
                continue;
            }
            let part = part.object();
            let kind = part.string("type").unwrap_or_default();
            let known = PARTS.iter().find(|(name, _, what)| *name == kind && Some(*what) != but);
            let Some((_, member, what)) = known else { continue };
            if let Some(value) = part.get(member) {
                self.take(*what, value);
            }
        }
    }

    fn take(&mut self, what: What, value: Value<'_, '_>) {
        match what {
            What::Reasoning => add(value, &mut self.reasoning),
            What::Output => add(value, &mut self.output),
            What::Encrypted => {
                let data = value.string().filter(|data| !data.is_empty());
                self.encrypted.extend(data.map(Cow::into_owned));
            }
        }
    }

    /// Where no field had the reasoning, it may stand between tags.
    fn untag(&mut self) {
        if !self.reasoning.is_empty() {
            return;
        }
        let mut inline = Inline::new(Think::default());
        let mut found = inline.split(0, Cow::Owned(core::mem::take(&mut self.output)));
        found.extend(inline.flush(0).map(|(kind, text)| (Part::Late, kind, Cow::Owned(text))));
        for (part, kind, text) in found {
            match (part, kind) {
                (Part::Turn, _) => self.reasoning = core::mem::take(&mut self.output),
                (Part::Tag, _) => {}
                (_, Kind::Reasoning) => self.reasoning.push_str(&text),
                (_, Kind::Output) => self.output.push_str(&text),
            }
        }
    }

    fn finished(&mut self, word: Option<Value<'_, '_>>) {
        // Some write their enumerations as numbers.
        let Some(word) = word.filter(|word| !word.is_compound()) else { return };
        let word = word.string().map_or_else(|| word.text.to_owned(), Cow::into_owned);
        if !word.is_empty() {
            self.finish = Some(word);
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8(at) => write!(f, "byte {at} of the body is not UTF-8"),
            Self::NotJson(why) => write!(f, "the body is not JSON: {why}"),
            Self::Stream => f.write_str("the body is a stream of events, not one JSON object"),
            Self::NotAnObject(kind) => {
                write!(f, "a response is an object, or Gemini's array of them; this is {kind}")
            }
            Self::UnknownDialect => {
                f.write_str("the body has no `usage` and is of no known dialect; there are: ")?;
                for (at, (dialect, ..)) in DIALECTS.iter().enumerate() {
                    write!(f, "{}{}", if at == 0 { "" } else { ", " }, dialect.name())?;
                }
                Ok(())
            }
        }
    }
}

impl core::error::Error for BodyError {}

fn chat(body: &mut Body, response: &Object<'_, '_>) {
    let Some(choice) = first_choice(response.get("choices")) else { return };
    body.finished(choice.present("finish_reason"));
    if let Some(error) = choice.present("error").filter(|error| !error.is_empty()) {
        body.error = Some(error.text.to_owned());
    }
    let message = member(&choice, &["message"]);
    // Where the reasoning stands in several places it is the same text.
    let mut fields = REASONING_FIELDS.iter().filter_map(|key| message.get(key));
    if let Some(field) = fields.find(|v| v.text.starts_with('"') && !v.is_empty()) {
        add(field, &mut body.reasoning);
    }
    let details = message.get("reasoning_details").map(|v| v.array()).unwrap_or_default();
    let encrypted = details.iter().filter_map(|entry| entry.object().get("data"));
    for data in encrypted {
        body.take(What::Encrypted, data);
    }
    if body.reasoning.is_empty() {
        for text in details.iter().filter_map(entry_text) {
            add(text, &mut body.reasoning);
        }
    }
    for list in [message.get("thinking_blocks"), message.get("content")] {
        let but = (!body.reasoning.is_empty()).then_some(What::Reasoning);
        body.parts(list, but);
    }
    body.untag();
    if let Some(refusal) = message.get("refusal") {
        add(refusal, &mut body.output);
    }
    // Completions of the old kind.
    if let Some(text) = choice.get("text").filter(|_| body.output.is_empty()) {
        add(text, &mut body.output);
    }
}

fn responses(body: &mut Body, response: &Object<'_, '_>) {
    for item in response.get("output").map(|v| v.array()).unwrap_or_default() {
        let item = item.object();
        // A published form of the item has its text here, alone or in an object.
        let published = item.present("reasoning");
        let inner = published.map(|v| v.object()).unwrap_or_default();
        for data in [&item, &inner].into_iter().filter_map(|o| o.get("encrypted_content")) {
            body.take(What::Encrypted, data);
        }
        let reasoning = item.string("type").is_some_and(|kind| kind == "reasoning");
        let before = body.reasoning.len();
        // The same words may stand in several of these: raw text counts before its summary.
        let raw = item.get("content").filter(|_| reasoning);
        let summary = item.get("summary").filter(|_| reasoning);
        for text in [raw, published, summary].into_iter().flatten() {
            if body.reasoning.len() == before {
                add(text, &mut body.reasoning);
            }
        }
        if !reasoning {
            body.parts(item.get("content"), None);
        }
    }
    body.finished(response.present("status"));
    if let Some(finish) = body.finish.as_mut().filter(|finish| *finish == "incomplete")
        && let Some(why) = member(response, &["incomplete_details"]).string("reason")
    {
        finish.push(':');
        finish.push_str(&why);
    }
}

fn anthropic(body: &mut Body, response: &Object<'_, '_>) {
    body.parts(response.get("content"), None);
    body.finished(response.present("stop_reason"));
}

fn gemini(body: &mut Body, response: &Object<'_, '_>) {
    let Some(candidate) = first_choice(response.get("candidates")) else {
        let feedback = first(response, &["promptFeedback", "prompt_feedback"]);
        let feedback = feedback.map(|v| v.object()).unwrap_or_default();
        body.finished(first(&feedback, &["blockReason", "block_reason"]));
        return;
    };
    body.finished(first(&candidate, &["finishReason", "finish_reason"]));
    let parts = member(&candidate, &["content"]).get("parts").map(|v| v.array());
    for part in parts.unwrap_or_default() {
        let part = part.object();
        let thought = part.get("thought").is_some_and(|v| v.text == "true");
        if let Some(text) = part.get("text") {
            body.take(if thought { What::Reasoning } else { What::Output }, text);
        }
    }
}

fn ollama(body: &mut Body, response: &Object<'_, '_>) {
    let message = member(response, &["message"]);
    // `generate` has no message.
    for (object, output) in [(&message, "content"), (response, "response")] {
        for (key, what) in [("thinking", What::Reasoning), (output, What::Output)] {
            if let Some(text) = object.get(key) {
                body.take(what, text);
            }
        }
    }
    body.untag();
    body.finished(response.present("done_reason"));
}

fn cohere(body: &mut Body, response: &Object<'_, '_>) {
    let message = member(response, &["message"]);
    body.parts(message.get("content"), None);
    body.finished(response.present("finish_reason"));
}

fn bedrock(body: &mut Body, response: &Object<'_, '_>) {
    let content = member(response, &["output", "message"]).get("content").map(|v| v.array());
    for part in content.unwrap_or_default() {
        let part = part.object();
        let reasoning = member(&part, &["reasoningContent"]);
        let found = [
            (What::Output, part.get("text")),
            (What::Reasoning, reasoning.get("reasoningText")),
            (What::Encrypted, reasoning.get("redactedContent")),
        ];
        for (what, value) in found {
            if let Some(value) = value {
                body.take(what, value);
            }
        }
    }
    body.finished(response.present("stopReason"));
}

/// Adds a string, the `text` of an object, or all of these in an array.
fn add(value: Value<'_, '_>, out: &mut String) {
    if value.text.starts_with('[') {
        value.array().into_iter().filter_map(text_of).for_each(|text| out.push_str(&text));
    } else if let Some(text) = text_of(value) {
        out.push_str(&text);
    }
}

fn text_of<'a>(value: Value<'a, '_>) -> Option<Cow<'a, str>> {
    if value.is_compound() { value.object().get("text")?.string() } else { value.string() }
}

/// The first of these members that is there and not null.
fn first<'a, 't>(object: &Object<'a, 't>, keys: &[&str]) -> Option<Value<'a, 't>> {
    keys.iter().find_map(|key| object.present(key))
}

/// The choice with number 0, or else the first.
fn first_choice<'a, 't>(choices: Option<Value<'a, 't>>) -> Option<Object<'a, 't>> {
    let choices = choices?.array();
    let zero = choices.iter().find(|choice| Value::index(choice.object().get("index")) == 0);
    zero.or_else(|| choices.first()).map(Value::object)
}

/// The object at the end of a path; empty if there is none.
fn member<'a, 't>(object: &Object<'a, 't>, path: &[&str]) -> Object<'a, 't> {
    let Some((first, rest)) = path.split_first() else { return Object::default() };
    let first = object.get(first).map(|v| v.object()).unwrap_or_default();
    rest.iter().fold(first, |object, key| object.get(key).map(|v| v.object()).unwrap_or_default())
}

fn begins(object: &Object<'_, '_>, key: &str, with: char) -> bool {
    object.get(key).is_some_and(|value| value.text.starts_with(with))
}

fn is(object: &Object<'_, '_>, key: &str, word: &str) -> bool {
    object.string(key).is_some_and(|value| value == word)
}

/// Mistral is told from other chat completions by content in chunks, of which one is thinking.
fn is_mistral(response: &Object<'_, '_>) -> bool {
    let choice = first_choice(response.get("choices")).unwrap_or_default();
    let content = member(&choice, &["message"]).get("content").map(|v| v.array());
    content.unwrap_or_default().iter().any(|chunk| is(&chunk.object(), "type", "thinking"))
}

fn kind(value: Value<'_, '_>) -> &'static str {
    match value.text.as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'[') => "an array of arrays",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a truth value",
        _ => "a number",
    }
}

/// What a part holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Reasoning,
    Output,
    Encrypted,
}

/// The parts of a message by their `type`, the member that holds them, and what it is.
const PARTS: [(&str, &str, What); 7] = [
    ("text", "text", What::Output),
    ("output_text", "text", What::Output),
    ("refusal", "refusal", What::Output),
    ("thinking", "thinking", What::Reasoning),
    ("reasoning", "text", What::Reasoning),
    ("reasoning_text", "text", What::Reasoning),
    ("redacted_thinking", "data", What::Encrypted),
];

type Is = fn(&Object<'_, '_>) -> bool;
type Read = fn(&mut Body, &Object<'_, '_>);

/// The dialects, by the signs of a finished response; the first that fits is it.
const DIALECTS: [(Dialect, Is, Read); 8] = [
    (Dialect::Mistral, is_mistral, chat),
    (Dialect::Chat, |o| begins(o, "choices", '['), chat),
    (Dialect::Responses, |o| begins(o, "output", '[') || is(o, "object", "response"), responses),
    (Dialect::Gemini, |o| GEMINI_MEMBERS.iter().any(|key| o.get(key).is_some()), gemini),
    (Dialect::Bedrock, |o| begins(o, "output", '{') && o.get("stopReason").is_some(), bedrock),
    (
        Dialect::Anthropic,
        |o| begins(o, "content", '[') && o.get("stop_reason").is_some(),
        anthropic,
    ),
    (Dialect::Ollama, |o| matches!(o.get("done").map(|v| v.text), Some("true" | "false")), ollama),
    (Dialect::Cohere, |o| begins(o, "message", '{') && o.get("finish_reason").is_some(), cohere),
];

/// Members that only Gemini's responses have, also as its Python SDK names them.
const GEMINI_MEMBERS: [&str; 4] =
    ["candidates", "usageMetadata", "promptFeedback", "usage_metadata"];

/// Where the model is named; the last is how Gemini's Python SDK names the second.
const MODELS: [&str; 3] = ["model", "modelVersion", "model_version"];
/// Where the usage stands.
const USAGES: [&str; 3] = ["usage", "usageMetadata", "usage_metadata"];
const NESTED_USAGES: [(&str, &str); 1] = [("x_groq", "usage")];

/// What a body that is nothing else says its error in.
const ERROR_MESSAGES: [&str; 3] = ["message", "Message", "detail"];

/// How the lines of a stream begin.
const EVENT_STARTS: [&str; 3] = ["data:", "event:", ": "];
