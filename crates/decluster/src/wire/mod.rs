//! Events to deltas: what a provider's event says, and where in it the text stands.
//!
//! A [`Reader`] takes the frames of [`sse`](crate::sse) one by one. For each it gives the texts with
//! their places, so that a rewriter can put other text there ([`splice`]), and it keeps the [`Answer`]:
//! how the stream ended, usage, tool calls, errors. It changes nothing and holds no text. What it does not
//! understand passes as a [`Role::Mark`]. One file per dialect; the names that providers use are tables.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::ops::Range;

use crate::Kind;

mod answer;
mod anthropic;
mod bedrock;
mod body;
mod chat;
mod cohere;
mod common;
mod detect;
mod gemini;
mod incident;
mod json;
mod mistral;
mod ollama;
mod reader;
mod responses;
mod splice;
mod tape;
mod think;
mod usage;

#[cfg_attr(
    not(feature = "guard"),
    expect(unused_imports, reason = "ledgers have the same bound")
)]
pub(crate) use answer::MODEL_BYTES_MAX;
pub use answer::{Answer, Choice, Malformed, ToolCall, Verdict};
pub use body::{Body, BodyError};
pub use reader::{Reader, is_complete};
pub use splice::{Edit, With, splice};
pub use think::{Tags, Think};
pub use usage::Tokens;

/// The form of a stream's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Chat completions, as `OpenAI` and many others send them.
    Chat,
    /// The Responses API.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `streamGenerateContent`, as events or as one array.
    Gemini,
    /// Ollama's `/api/chat` and `/api/generate`.
    Ollama,
    /// Mistral's chat completions. Nothing tells them from others', and both names read both.
    Mistral,
    /// Cohere's chat, version 2.
    Cohere,
    /// Bedrock's Converse stream, in its decoded form.
    Bedrock,
    /// `response.reasoning.delta` and `response.output.delta` with counts (`delta_tokens`) or text.
    Incident,
}

impl Dialect {
    /// All dialects that are read.
    pub const ALL: [Self; 9] = [
        Self::Chat,
        Self::Responses,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::Mistral,
        Self::Cohere,
        Self::Bedrock,
        Self::Incident,
    ];

    /// The name used in every language.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "openai-chat",
            Self::Responses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Mistral => "mistral",
            Self::Cohere => "cohere",
            Self::Bedrock => "bedrock-converse",
            Self::Incident => "incident",
        }
    }

    /// Whether a reader of this dialect reads that one, too.
    fn reads(self, other: Self) -> bool {
        let same = |one, two| (self, other) == (one, two) || (self, other) == (two, one);
        self == other || same(Self::Chat, Self::Mistral) || same(Self::Responses, Self::Incident)
    }

    /// The dialect of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.name() == name)
    }
}

/// What one frame says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading<'a> {
    /// The texts in the order they must leave. None is empty, unless it has a token count.
    pub texts: Vec<Text<'a>>,
    /// How the event may move among the others.
    pub role: Role,
    /// Places of values that must stand only on the last part when the event is cut in several, and what
    /// earlier parts have there.
    pub rest: Vec<(Range<usize>, With<'static>)>,
    /// Places of values that must stand only on the first part; later parts do not have the member. Readers that
    /// put deltas together join strings, so what names the whole must not come twice.
    pub lead: Vec<Range<usize>>,
    /// Places of strings that must be written as `""` whatever happens to the event: half a character
    /// that goes out with the text after it.
    pub blanks: Vec<Range<usize>>,
    /// One text and nothing else: may be joined with neighbours of the same [`shape`](Self::shape).
    pub plain: bool,
    /// A hash of the event without its texts and numbers; 0 unless `plain`.
    pub shape: u64,
    /// The number a resume would use (`sequence_number`) and its place.
    pub number: Option<(u64, Range<usize>)>,
    /// Must not be cut: carries data for each token, or stands for a whole text, or was repaired.
    pub whole: bool,
    /// A new part begins here: what follows is another block.
    pub boundary: bool,
    /// The answer begins anew with this event: what came before it is void.
    pub restart: bool,
    /// The event counts the tokens of the reasoning so far.
    pub(crate) reports: bool,
}

impl Reading<'_> {
    /// The places of all strings that hold text, one perhaps several times.
    pub(crate) fn strings(&self) -> impl Iterator<Item = &Range<usize>> {
        let texts = self.texts.iter().flat_map(|text| text.copies.iter().chain([&text.span]));
        texts.chain(&self.blanks)
    }
}

/// How an event may move among the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// Text and what belongs to it; keeps its order, may be cut and joined.
    Delta,
    /// Keeps its place.
    #[default]
    Mark,
    /// Keeps its place, and what is before it should leave soon. May have texts.
    Hurry,
    /// Has no order.
    Ping,
}

impl Role {
    /// What two events are that came as one.
    const fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Hurry, _) | (_, Self::Hurry) => Self::Hurry,
            (Self::Delta, _) | (_, Self::Delta) => Self::Delta,
            (Self::Mark, _) | (_, Self::Mark) => Self::Mark,
            (Self::Ping, Self::Ping) => Self::Ping,
        }
    }
}

/// What a text is to the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// Reasoning or output that stands in this event.
    #[default]
    Text,
    /// Reasoning or output that stood in events before this one, as what might have become a tag.
    Late,
    /// A tag, or what may still become one: it stands in this event and is not part of the answer.
    Tag,
    /// A closing tag that nothing opened: all output of the choice so far was reasoning. Else as `Tag`.
    Turn,
}

impl Part {
    /// Whether the text is part of the answer.
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Late)
    }
}

/// A text in an event. All places are byte ranges in the data of the event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text<'a> {
    /// Reasoning or output.
    pub kind: Kind,
    /// The choice.
    pub index: u32,
    /// The text.
    pub text: Cow<'a, str>,
    /// What it is to the answer. Several parts may stand in one string.
    pub part: Part,
    /// The JSON string with its quotes; empty if the event has a count only, or does not hold the text.
    pub span: Range<usize>,
    /// Places of other strings that hold the same text and must get the same replacement.
    pub copies: Vec<Range<usize>>,
    /// How many tokens the provider says this is.
    pub tokens: Option<u32>,
    /// Where it says so.
    pub tokens_span: Option<Range<usize>>,
    /// The text is not ASCII but its JSON is: write it the same way.
    pub ascii: bool,
    /// The text is not what the JSON string says (half a character came or went): it must be written
    /// even if the event passes whole.
    pub altered: bool,
}

#[cfg(test)]
mod tests;
