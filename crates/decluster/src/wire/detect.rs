//! Telling the dialect from the first event that tells.

use super::Dialect;
use super::json::Object;

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

pub(super) fn sign(name: &str, event: &Object<'_>) -> Sign {
    let kind = event.string("type");
    let kind = kind.as_deref().unwrap_or_default();
    let counted = event.get("delta_tokens").is_some();
    let responses = |s: &str| s.starts_with("response.");
    if responses(kind) || responses(name) {
        // `response.output.delta` is a name that no provider uses.
        let incident = counted || kind == OUTPUT_DELTA || (kind.is_empty() && name == OUTPUT_DELTA);
        return Sign::Ours(if incident { Dialect::Incident } else { Dialect::Responses });
    }
    if OTHER_TYPES.iter().any(|prefix| kind.starts_with(prefix)) || name == "completion" {
        return Sign::Other;
    }
    let array = |key: &str| event.get(key).is_some_and(|v| v.text.starts_with('['));
    if array("choices") || event.string("object").is_some_and(|o| o == "chat.completion.chunk") {
        return Sign::Ours(Dialect::Chat);
    }
    let ollama = event.get("done").is_some_and(|v| matches!(v.text, "true" | "false"))
        && (event.get("message").is_some() || event.get("response").is_some());
    if ollama || OTHER_KEYS.iter().any(|key| event.get(key).is_some()) {
        return Sign::Other;
    }
    Sign::None
}

const OUTPUT_DELTA: &str = "response.output.delta";

/// How `type` begins in Anthropic's, Cohere's and the AI SDK's events.
const OTHER_TYPES: [&str; 12] = [
    "message_start",
    "content_block_",
    "message_delta",
    "message-start",
    "content-start",
    "content-delta",
    "start",
    "text-",
    "reasoning-",
    "tool-",
    "data-",
    "finish",
];

/// Members that only Gemini's, Bedrock's and some other events have.
const OTHER_KEYS: [&str; 9] = [
    "candidates",
    "usageMetadata",
    "promptFeedback",
    "event_type",
    "interaction",
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "messageStop",
];

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
        use Dialect::{Chat, Incident, Responses};
        for (name, json, expected) in [
            ("message", r#"{"type":"response.created"}"#, Sign::Ours(Responses)),
            ("response.created", r#"{"response":{}}"#, Sign::Ours(Responses)),
            ("response.reasoning.delta", r#"{"delta":"x"}"#, Sign::Ours(Responses)),
            ("response.reasoning.delta", r#"{"delta_tokens":3}"#, Sign::Ours(Incident)),
            ("response.output.delta", r#"{"delta":"x"}"#, Sign::Ours(Incident)),
            ("message", r#"{"choices":[],"object":""}"#, Sign::Ours(Chat)),
            ("message", r#"{"object":"chat.completion.chunk"}"#, Sign::Ours(Chat)),
            ("message_start", r#"{"type":"message_start","message":{}}"#, Sign::Other),
            ("message", r#"{"candidates":[]}"#, Sign::Other),
            ("message", r#"{"model":"m","message":{},"done":false}"#, Sign::Other),
            ("message", r#"{"type":"text-delta"}"#, Sign::Other),
            ("message", r#"{"error":{"message":"x"}}"#, Sign::None),
            ("ping", "{}", Sign::None),
        ] {
            assert_eq!(of(name, json), expected, "{name} {json}");
        }
    }
}
