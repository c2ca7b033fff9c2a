//! A stream of each dialect, of one text: what comes before it, its deltas, and what comes after.

use decluster::Kind::{self, Output, Reasoning};
use decluster_tests::small::{DONE, event, named};

/// The events of one dialect. Deltas get their text as a JSON string, with its quotes.
pub(crate) struct Stream {
    pub(crate) name: &'static str,
    pub(crate) begin: String,
    pub(crate) delta: fn(Kind, &str) -> String,
    /// Between reasoning and output.
    pub(crate) turn: String,
    pub(crate) end: String,
}

/// All dialects, and Gemini's array besides its events.
pub(crate) fn all() -> Vec<Stream> {
    vec![
        chat(),
        responses(),
        anthropic(),
        gemini(),
        gemini_array(),
        ollama(),
        mistral(),
        cohere(),
        bedrock(),
        incident(),
    ]
}

/// Chat completions with a comment, a tool call and usage.
pub(crate) fn chat() -> Stream {
    Stream {
        name: "openai-chat",
        begin: chat_delta(r#""role":"assistant","content":"""#),
        delta: |kind, text| match kind {
            Reasoning => chat_delta(&format!(r#""reasoning_content":{text}"#)),
            Output => chat_delta(&format!(r#""content":{text}"#)),
        },
        turn: ": keep-alive\n\n".to_owned(),
        end: [
            chat_delta(
                r#""tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\":"}}]"#,
            ),
            chat_delta(r#""tool_calls":[{"index":0,"function":{"arguments":"1}"}}]"#),
            event(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#),
            event(
                r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":90,"completion_tokens_details":{"reasoning_tokens":60}}}"#,
            ),
            DONE.to_owned(),
        ]
        .concat(),
    }
}

/// A chunk whose delta in choice 0 has these members.
pub(crate) fn chat_delta(members: &str) -> String {
    event(&format!(r#"{{"choices":[{{"index":0,"delta":{{{members}}}}}]}}"#))
}

/// The Responses API, with a summary of the reasoning.
pub(crate) fn responses() -> Stream {
    Stream {
        name: "openai-responses",
        begin: [
            named("response.created", r#""response":{"id":"r","status":"in_progress"}"#),
            named(
                "response.output_item.added",
                r#""output_index":0,"item":{"id":"i","type":"reasoning","summary":[]}"#,
            ),
        ]
        .concat(),
        delta: |kind, text| match kind {
            Reasoning => named(
                "response.reasoning_summary_text.delta",
                &format!(r#""output_index":0,"summary_index":0,"delta":{text}"#),
            ),
            Output => named(
                "response.output_text.delta",
                &format!(r#""output_index":1,"content_index":0,"delta":{text}"#),
            ),
        },
        turn: named(
            "response.output_item.added",
            r#""output_index":1,"item":{"id":"j","type":"message","content":[]}"#,
        ),
        end: named(
            "response.completed",
            r#""response":{"id":"r","status":"completed","usage":{"input_tokens":7,"output_tokens":90,"output_tokens_details":{"reasoning_tokens":60}}}"#,
        ),
    }
}

/// Anthropic's Messages, with a ping.
pub(crate) fn anthropic() -> Stream {
    let block = |index: u32, block: &str| {
        named("content_block_start", &format!(r#""index":{index},"content_block":{{{block}}}"#))
    };
    let stop = |index: u32| named("content_block_stop", &format!(r#""index":{index}"#));
    Stream {
        name: "anthropic",
        begin: [
            named(
                "message_start",
                r#""message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":7,"output_tokens":1}}"#,
            ),
            block(0, r#""type":"thinking","thinking":"","signature":"""#),
            named("ping", ""),
        ]
        .concat(),
        delta: |kind, text| {
            let members = match kind {
                Reasoning => {
                    format!(r#""index":0,"delta":{{"type":"thinking_delta","thinking":{text}}}"#)
                }
                Output => format!(r#""index":1,"delta":{{"type":"text_delta","text":{text}}}"#),
            };
            named("content_block_delta", &members)
        },
        turn: [stop(0), block(1, r#""type":"text","text":"""#)].concat(),
        end: [
            stop(1),
            named(
                "message_delta",
                r#""delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":90}"#,
            ),
            named("message_stop", ""),
        ]
        .concat(),
    }
}

/// Gemini's events, whose lines end with CRLF.
pub(crate) fn gemini() -> Stream {
    let crlf = |text: &str| event(text).replace('\n', "\r\n");
    Stream {
        name: "gemini",
        begin: crlf(r#"{"usageMetadata":{"promptTokenCount":7},"modelVersion":"m"}"#),
        delta: |kind, text| event(&candidate(kind, text)).replace('\n', "\r\n"),
        turn: String::new(),
        end: crlf(GEMINI_END),
    }
}

/// The same as elements of one array.
fn gemini_array() -> Stream {
    Stream {
        name: "gemini-array",
        begin: r#"[{"usageMetadata":{"promptTokenCount":7},"modelVersion":"m"}"#.to_owned(),
        delta: |kind, text| format!(",\r\n{}", candidate(kind, text)),
        turn: String::new(),
        end: format!(",\r\n{GEMINI_END}\n]\n"),
    }
}

fn candidate(kind: Kind, text: &str) -> String {
    let thought = if kind == Reasoning { r#","thought":true"# } else { "" };
    format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"text":{text}{thought}}}]}},"index":0}}]}}"#
    )
}

const GEMINI_END: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":30,"thoughtsTokenCount":60}}"#;

/// Ollama, an object a line.
pub(crate) fn ollama() -> Stream {
    Stream {
        name: "ollama",
        begin: String::new(),
        delta: |kind, text| {
            let said = match kind {
                Reasoning => format!(r#""content":"","thinking":{text}"#),
                Output => format!(r#""content":{text}"#),
            };
            format!(
                "{{\"model\":\"m\",\"message\":{{\"role\":\"assistant\",{said}}},\"done\":false}}\n"
            )
        },
        turn: String::new(),
        end: "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":7,\"eval_count\":90}\n".to_owned(),
    }
}

/// Mistral, whose content may be an array.
pub(crate) fn mistral() -> Stream {
    Stream {
        name: "mistral",
        begin: chat_delta(r#""role":"assistant","content":"""#),
        delta: |kind, text| match kind {
            Reasoning => chat_delta(&format!(
                r#""content":[{{"type":"thinking","thinking":[{{"type":"text","text":{text}}}]}}]"#
            )),
            Output => chat_delta(&format!(r#""content":{text}"#)),
        },
        turn: String::new(),
        end: [
            event(
                r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":90}}"#,
            ),
            DONE.to_owned(),
        ]
        .concat(),
    }
}

/// Cohere's second version.
fn cohere() -> Stream {
    let content = |kind: &str, index: u32, content: &str| {
        named(
            kind,
            &format!(r#""index":{index},"delta":{{"message":{{"content":{{{content}}}}}}}"#),
        )
    };
    let stop = |index: u32| named("content-end", &format!(r#""index":{index}"#));
    Stream {
        name: "cohere",
        begin: [
            named("message-start", r#""id":"m","delta":{"message":{"role":"assistant"}}"#),
            content("content-start", 0, r#""type":"thinking","thinking":"""#),
        ]
        .concat(),
        delta: |kind, text| {
            let (index, member) = match kind {
                Reasoning => (0, "thinking"),
                Output => (1, "text"),
            };
            named(
                "content-delta",
                &format!(
                    r#""index":{index},"delta":{{"message":{{"content":{{"{member}":{text}}}}}}}"#
                ),
            )
        },
        turn: [stop(0), content("content-start", 1, r#""type":"text","text":"""#)].concat(),
        end: [
            stop(1),
            named(
                "message-end",
                r#""delta":{"finish_reason":"COMPLETE","usage":{"tokens":{"input_tokens":7,"output_tokens":90}}}"#,
            ),
        ]
        .concat(),
    }
}

/// Bedrock's Converse stream in its decoded form, an object a line.
fn bedrock() -> Stream {
    Stream {
        name: "bedrock-converse",
        begin: "{\"messageStart\":{\"role\":\"assistant\"}}\n".to_owned(),
        delta: |kind, text| {
            let (index, delta) = match kind {
                Reasoning => (0, format!(r#""reasoningContent":{{"text":{text}}}"#)),
                Output => (1, format!(r#""text":{text}"#)),
            };
            format!(
                "{{\"contentBlockDelta\":{{\"contentBlockIndex\":{index},\"delta\":{{{delta}}},\"p\":\"abc\"}}}}\n"
            )
        },
        turn: "{\"contentBlockStop\":{\"contentBlockIndex\":0}}\n".to_owned(),
        end: "{\"contentBlockStop\":{\"contentBlockIndex\":1}}\n{\"messageStop\":{\"stopReason\":\"end_turn\"}}\n{\"metadata\":{\"usage\":{\"inputTokens\":7,\"outputTokens\":90,\"totalTokens\":97}}}\n".to_owned(),
    }
}

/// Counts in place of reasoning, and text.
fn incident() -> Stream {
    Stream {
        name: "incident",
        begin: String::new(),
        delta: |kind, text| match kind {
            Reasoning => format!(
                "event: response.reasoning.delta\ndata: {{\"delta_tokens\": {}}}\n\n",
                text.len()
            ),
            Output => format!("event: response.output.delta\ndata: {{\"delta\": {text}}}\n\n"),
        },
        turn: String::new(),
        end: DONE.to_owned(),
    }
}
