//! Telling the dialect from the first event that tells.

use alloc::boxed::Box;

use super::common::Decode;
use super::json::Object;
use super::{Dialect, anthropic, bedrock, chat, cohere, gemini, incident, ollama, responses};

/// What an event says about the dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// One that is read here.
    Ours(Dialect),
    /// One that is known and not read here.
    Other,
    /// Nothing: an error, a ping, an object of no known form.
    None,
}

/// What reads the events of a dialect.
pub(super) fn open(dialect: Dialect) -> Box<dyn Decode> {
    match dialect {
        Dialect::Chat | Dialect::Mistral => Box::new(chat::Chat::default()),
        Dialect::Responses | Dialect::Incident => Box::new(responses::Responses::new(dialect)),
        Dialect::Anthropic => Box::new(anthropic::Anthropic::default()),
        Dialect::Gemini => Box::new(gemini::Gemini::default()),
        Dialect::Ollama => Box::new(ollama::Ollama::default()),
        Dialect::Cohere => Box::new(cohere::Cohere::default()),
        Dialect::Bedrock => Box::new(bedrock::Bedrock::default()),
    }
}

pub(super) fn sign(name: &str, event: &Object<'_, '_>) -> Sign {
    let kind = event.string("type");
    let kind = kind.as_deref().unwrap_or_default();
    SIGNS.iter().find(|(is_one, _)| is_one(name, kind, event)).map_or(Sign::None, |(_, sign)| *sign)
}

/// Says whether an event with this name and this `type` is of a dialect.
type IsOne = fn(&str, &str, &Object<'_, '_>) -> bool;

/// In this order: by `type` first, then by members.
const SIGNS: [(IsOne, Sign); 10] = [
    (incident::is_one, Sign::Ours(Dialect::Incident)),
    (|name, kind, _| responses::is_one(name, kind), Sign::Ours(Dialect::Responses)),
    (|name, kind, _| anthropic::is_one(name, kind), Sign::Ours(Dialect::Anthropic)),
    (|_, kind, _| cohere::is_one(kind), Sign::Ours(Dialect::Cohere)),
    (|_, kind, _| OTHER_TYPES.iter().any(|prefix| kind.starts_with(prefix)), Sign::Other),
    (|_, _, event| chat::is_one(event), Sign::Ours(Dialect::Chat)),
    (|_, _, event| gemini::is_one(event), Sign::Ours(Dialect::Gemini)),
    (|_, _, event| bedrock::is_one(event), Sign::Ours(Dialect::Bedrock)),
    (|_, _, event| ollama::is_one(event), Sign::Ours(Dialect::Ollama)),
    (|_, _, event| OTHER_KEYS.iter().any(|key| event.get(key).is_some()), Sign::Other),
];

/// How `type` begins in the AI SDK's events.
const OTHER_TYPES: [&str; 6] = ["start", "text-", "reasoning-", "tool-", "data-", "finish"];

/// Members of Gemini's interactions and of Cohere's first version.
const OTHER_KEYS: [&str; 2] = ["event_type", "interaction"];

#[cfg(test)]
mod tests {

    use super::*;
    use crate::wire::json::Value;
    use crate::wire::tape::Tape;

    fn of(name: &str, json: &str) -> Sign {
        sign(name, &Value::parse(json, 0, &mut Tape::default()).unwrap().object())
    }

    #[test]
    fn each_sign_is_known() {
        use Dialect::{Anthropic, Bedrock, Chat, Cohere, Gemini, Incident, Ollama, Responses};
        for (name, json, expected) in [
            ("message", r#"{"type":"response.created"}"#, Sign::Ours(Responses)),
            ("response.created", r#"{"response":{}}"#, Sign::Ours(Responses)),
            ("response.reasoning.delta", r#"{"delta":"x"}"#, Sign::Ours(Responses)),
            ("response.reasoning.delta", r#"{"delta_tokens":3}"#, Sign::Ours(Incident)),
            ("response.output.delta", r#"{"delta":"x"}"#, Sign::Ours(Incident)),
            ("message", r#"{"choices":[],"object":""}"#, Sign::Ours(Chat)),
            ("message", r#"{"object":"chat.completion.chunk"}"#, Sign::Ours(Chat)),
            ("message_start", r#"{"type":"message_start","message":{}}"#, Sign::Ours(Anthropic)),
            ("completion", r#"{"completion":"x"}"#, Sign::Ours(Anthropic)),
            ("message", r#"{"candidates":[]}"#, Sign::Ours(Gemini)),
            ("message", r#"{"contentBlockDelta":{}}"#, Sign::Ours(Bedrock)),
            ("message", r#"{"throttlingException":{"message":"x"}}"#, Sign::Ours(Bedrock)),
            ("message", r#"{"type":"message-start","delta":{}}"#, Sign::Ours(Cohere)),
            ("message", r#"{"type":"tool-call-start"}"#, Sign::Ours(Cohere)),
            ("message", r#"{"model":"m","message":{},"done":false}"#, Sign::Ours(Ollama)),
            ("message", r#"{"model":"m","response":"x","done":true}"#, Sign::Ours(Ollama)),
            ("message", r#"{"type":"text-delta"}"#, Sign::Other),
            ("message", r#"{"type":"tool-input-start"}"#, Sign::Other),
            ("message", r#"{"event_type":"step.start"}"#, Sign::Other),
            ("message", r#"{"error":{"message":"x"}}"#, Sign::None),
            ("ping", "{}", Sign::None),
        ] {
            assert_eq!(of(name, json), expected, "{name} {json}");
        }
    }
}
