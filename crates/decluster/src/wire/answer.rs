//! What a whole stream amounted to, apart from its text.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;

use super::json::{self, Object, Value};
use super::tape::Tape;
use super::usage::{self, Tokens};

/// The sum of a stream. Holds no reasoning or output text; memory is bounded by the limits below and
/// by the size of the largest event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The choices in the order they were first seen; dialects without choices have one.
    pub choices: Vec<Choice>,
    /// The model as the provider names it; the first name counts, also where the answer begins anew. `None` where the
    /// dialect has no place for it, and for a name of more than 256 bytes.
    pub model: Option<String>,
    /// The last usage object, as JSON. Usage objects are running totals, so none is ever added up.
    pub usage: Option<String>,
    /// Reasoning tokens as the provider reports them.
    pub reasoning_tokens: Option<u64>,
    /// The first error of the stream, as JSON.
    pub error: Option<String>,
    /// How often the answer began anew within the stream; what came before is not part of it.
    pub restarts: u32,
    /// How it ended: settled by `finish`, and not at all where the dialect is unknown.
    pub verdict: Option<Verdict>,
    /// Why, where the verdict alone does not tell.
    pub reason: Option<String>,
    /// Events with data.
    pub events: u64,
    /// Comment lines.
    pub comments: u64,
    /// Damage that was made good.
    pub repairs: u64,
    /// Events that could not be understood; they pass unchanged.
    pub malformed: u64,
    /// The first of these.
    pub first_malformed: Option<Malformed>,
    /// Tool calls or choices went over a limit and were not kept (they still pass through).
    pub clipped: bool,
    argument_bytes: usize,
    /// Text of the reasoning came.
    pub(super) reasoning_text: bool,
    /// The event that is being read counts the reasoning.
    pub(super) reports: bool,
}

/// How a stream ended. The three are never merged: what stopped is not complete, and what the wire
/// reports as failed is not merely cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The provider said that this is the end. See [`Answer::finish`] for why it stopped there.
    Complete,
    /// The provider reported an error.
    Failed,
    /// It stopped without an end.
    Truncated,
}

/// One of several answers to the same request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// Its number on the wire.
    pub index: u32,
    /// The provider's own word: `stop`, `length`, `completed`, `incomplete:max_output_tokens`, …
    pub finish: Option<String>,
    /// Tool calls that the caller must run.
    pub tool_calls: Vec<ToolCall>,
}

/// A tool call, put together from its fragments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCall {
    /// Its number on the wire, if it has one.
    pub index: Option<u32>,
    /// The id to answer with.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: JSON text, or free text for custom tools.
    pub arguments: String,
    /// The provider sent them as an object, not as text: `arguments` is that object as it stands there.
    pub is_object: bool,
    /// The provider said that nothing more comes.
    pub complete: bool,
}

/// Where and why an event could not be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Malformed {
    /// The number of the event, from 1.
    pub event: u64,
    /// What the JSON reader said; has line and column.
    pub message: String,
}

impl Verdict {
    /// The name used in every language and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Truncated => "truncated",
        }
    }
}

impl Answer {
    /// Why choice 0 (or the first there is) stopped, in the provider's words.
    #[must_use]
    pub fn finish(&self) -> Option<&str> {
        self.first()?.finish.as_deref()
    }

    /// The tool calls of choice 0 (or the first there is).
    #[must_use]
    pub fn tool_calls(&self) -> &[ToolCall] {
        self.first().map_or(&[], |choice| &choice.tool_calls)
    }

    /// The usage in one meaning for all providers; `None` if none came, or one without a known count.
    #[must_use]
    pub fn tokens(&self) -> Option<Tokens> {
        Tokens::of(self.usage.as_deref()?, self.reasoning_text)
    }

    /// Whether every choice that was seen has stopped: what is counted from then on is final.
    pub(crate) fn has_stopped(&self) -> bool {
        !self.choices.is_empty() && self.choices.iter().all(|choice| choice.finish.is_some())
    }

    fn first(&self) -> Option<&Choice> {
        self.choices.iter().find(|c| c.index == 0).or_else(|| self.choices.first())
    }

    /// The choice of this number; `None` if there are too many.
    pub(super) fn choice(&mut self, index: u32) -> Option<&mut Choice> {
        let found = self.choices.iter().position(|c| c.index == index);
        let at = match found {
            Some(at) => at,
            None if self.choices.len() < CHOICES_MAX => {
                self.choices.push(Choice { index, ..Choice::default() });
                self.choices.len() - 1
            }
            None => {
                self.clipped = true;
                return None;
            }
        };
        self.choices.get_mut(at)
    }

    /// Opens a call and gives its place; `None` if there are too many.
    pub(super) fn open_call(&mut self, choice: u32, call: ToolCall) -> Option<usize> {
        let calls = &mut self.choice(choice)?.tool_calls;
        if calls.len() == CALLS_MAX {
            self.clipped = true;
            return None;
        }
        calls.push(call);
        Some(calls.len() - 1)
    }

    pub(super) fn call(&mut self, choice: u32, place: usize) -> Option<&mut ToolCall> {
        self.choice(choice)?.tool_calls.get_mut(place)
    }

    /// Appends to the arguments of a call, up to the limit over all calls.
    pub(super) fn add_arguments(&mut self, choice: u32, place: usize, text: &str) {
        if self.argument_bytes + text.len() > ARGUMENT_BYTES_MAX {
            self.clipped = true;
            return;
        }
        if let Some(call) = self.call(choice, place) {
            call.arguments.push_str(text);
            self.argument_bytes += text.len();
        }
    }

    /// The same for a JSON value: the text of a string, or what stands there.
    pub(super) fn add_value(&mut self, choice: u32, place: usize, value: Option<Value<'_, '_>>) {
        let Some(value) = value else { return };
        if let Some(text) = value.string() {
            return self.add_arguments(choice, place, &text);
        }
        self.add_arguments(choice, place, value.text);
        if let Some(call) = self.call(choice, place) {
            call.is_object = true;
        }
    }

    /// Nothing more comes of the call at this place of choice 0, if there is one.
    pub(super) fn complete_call(&mut self, place: Option<&usize>) {
        if let Some(call) = place.and_then(|place| self.call(0, *place)) {
            call.complete = true;
        }
    }

    /// What came so far is void: the stream begins anew.
    pub(super) fn restart(&mut self) {
        self.restarts = self.restarts.saturating_add(1);
        self.choices.clear();
        self.argument_bytes = 0;
        (self.usage, self.reasoning_tokens, self.error) = (None, None, None);
        self.reasoning_text = false;
    }

    /// Notes why a choice stopped, and that its calls are complete.
    pub(super) fn finish_choice(&mut self, index: u32, word: &str) {
        if let Some(choice) = self.choice(index) {
            choice.finish = Some(word.to_owned());
            choice.tool_calls.iter_mut().for_each(|call| call.complete = true);
        }
    }

    /// Replaces the arguments of a call by their final form, unless that is empty.
    pub(super) fn set_arguments(&mut self, choice: u32, place: usize, text: &str) {
        let Some(call) = self.call(choice, place) else { return };
        if text.is_empty() || call.arguments == text {
            return;
        }
        let old = core::mem::take(&mut call.arguments).len();
        self.argument_bytes = self.argument_bytes.saturating_sub(old);
        self.add_arguments(choice, place, text);
    }

    /// Takes the model's name from a member of the object, unless it is known.
    pub(super) fn take_model(&mut self, object: &Object<'_, '_>, member: &str) {
        if self.model.is_some() {
            return;
        }
        let name = object.string(member);
        let name = name.filter(|name| !name.is_empty() && name.len() <= MODEL_BYTES_MAX);
        self.model = name.map(Cow::into_owned);
    }

    /// Takes a usage object; the last one wins.
    pub(super) fn take_usage(&mut self, usage: Value<'_, '_>) {
        if !usage.text.starts_with('{') {
            return;
        }
        self.usage = Some(usage.text.to_owned());
        let members = usage.object();
        if let Some(count) = usage::reported_reasoning(&members) {
            self.reasoning_tokens = Some(count);
            self.reports = true;
        }
    }

    /// The same for an object that stands in no event.
    pub(super) fn take_usage_text(&mut self, usage: &str) {
        let mut tape = Tape::default();
        if let Ok(usage) = Value::parse(usage, 0, &mut tape) {
            self.take_usage(usage);
        }
    }

    /// Keeps an error that is no JSON, as a JSON string.
    pub(super) fn take_error_text(&mut self, error: &str) {
        if self.error.is_none() {
            let mut text = String::new();
            json::write_string(error, false, &mut text);
            self.error = Some(text);
        }
    }

    /// Keeps the error, if it is the first. Null, empty, false and 0 are no errors; says whether it is one.
    pub(super) fn take_error(&mut self, error: Value<'_, '_>) -> bool {
        if error.is_empty() || matches!(error.text, "false" | "0") {
            return false;
        }
        self.error.get_or_insert_with(|| error.text.to_owned());
        true
    }
}

/// A longer name is none of a model.
pub(crate) const MODEL_BYTES_MAX: usize = 256;
/// The most that `max_choices` allows.
const CHOICES_MAX: usize = 4_096;
/// Far above what a model calls in one turn.
const CALLS_MAX: usize = 1024;
/// Over all calls of a stream: as much as the default cap on one event.
const ARGUMENT_BYTES_MAX: usize = 8 << 20;
