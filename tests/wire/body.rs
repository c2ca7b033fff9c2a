//! A finished response of any dialect gives its usage, texts and end.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use decluster::wire::{Body, BodyError};
use decluster_tests::streams::digest;
use decluster_tests::{captures, shared};
use serde_json::Value;

#[track_caller]
fn read(json: &str) -> Body {
    Body::read(json.as_bytes()).unwrap()
}

/// Dialect, reasoning, output, finish.
#[track_caller]
fn says(json: &str, dialect: &str, reasoning: &str, output: &str, finish: &str) -> Body {
    let body = read(json);
    let found = (body.dialect.unwrap().name(), &*body.reasoning, &*body.output);
    assert_eq!(found, (dialect, reasoning, output));
    assert_eq!(body.finish.as_deref().unwrap_or_default(), finish);
    assert_eq!(body.error, None);
    body
}

/// A chat completion with this message.
fn chat(message: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"stop"}}]}}"#)
}

#[test]
fn a_chat_completion_is_read_from_its_first_choice() {
    let body = says(
        r#"{"id":"c","object":"chat.completion","choices":[
            {"index":1,"message":{"content":"other"},"finish_reason":"length"},
            {"index":0,"message":{"role":"assistant","reasoning_content":"Hm.","content":"Yes."},
             "finish_reason":"stop"}],
            "usage":{"prompt_tokens":5,"completion_tokens":9,"total_tokens":14,
                     "completion_tokens_details":{"reasoning_tokens":6}}}"#,
        "openai-chat",
        "Hm.",
        "Yes.",
        "stop",
    );
    assert!(body.usage.unwrap().starts_with(r#"{"prompt_tokens":5"#));
    let tokens = body.tokens.unwrap();
    assert_eq!((tokens.input, tokens.output, tokens.visible), (Some(5), Some(9), Some(3)));
}

#[test]
fn each_field_for_reasoning_is_read_and_taken_once() {
    for message in [
        r#"{"reasoning":"Hm.","content":"Yes."}"#,
        r#"{"reasoning_text":"Hm.","content":"Yes."}"#,
        r#"{"thinking":"Hm.","content":"Yes."}"#,
        r#"{"reasoning_content":"","reasoning":"Hm.","content":"Yes."}"#,
        r#"{"reasoning_content":"Hm.","reasoning":"Hm.","content":"Yes."}"#,
        r#"{"reasoning":"Hm.","reasoning_details":[{"text":"Hm."}],"content":"Yes."}"#,
        r#"{"reasoning":null,"reasoning_details":[{"text":"H"},{"summary":"m."}],"content":"Yes."}"#,
        r#"{"reasoning_content":"Hm.","thinking_blocks":[{"type":"thinking","thinking":"Hm."}],
            "content":"Yes."}"#,
        r#"{"thinking_blocks":[{"type":"thinking","thinking":"Hm."}],"content":"Yes."}"#,
    ] {
        says(&chat(message), "openai-chat", "Hm.", "Yes.", "stop");
    }
}

#[test]
fn encrypted_details_are_kept() {
    let body = says(
        &chat(
            r#"{"reasoning_details":[{"type":"reasoning.summary","summary":"Hm."},
                {"type":"reasoning.encrypted","data":"QQ=="}],
                "thinking_blocks":[{"type":"redacted_thinking","data":"Qg=="}],"content":"Yes."}"#,
        ),
        "openai-chat",
        "Hm.",
        "Yes.",
        "stop",
    );
    assert_eq!(body.encrypted, ["QQ==", "Qg=="]);
}

#[test]
fn content_may_be_an_array_or_a_refusal_or_text_of_the_old_kind() {
    let parts = r#"{"content":[{"type":"text","text":"Ye"},"s",{"type":"image_url"},null]}"#;
    says(&chat(parts), "openai-chat", "", "Yes", "stop");
    says(&chat(r#"{"content":null,"refusal":"No."}"#), "openai-chat", "", "No.", "stop");
    let old = r#"{"choices":[{"text":"Yes.","finish_reason":"length"}]}"#;
    says(old, "openai-chat", "", "Yes.", "length");
}

#[test]
fn mistrals_thinking_is_in_its_content() {
    for thinking in [r#"[{"type":"text","text":"H"},{"type":"text","text":"m."}]"#, r#""Hm.""#] {
        let content = format!(
            r#"{{"content":[{{"type":"thinking","thinking":{thinking}}},
                {{"type":"text","text":"Yes."}}]}}"#
        );
        says(&chat(&content), "mistral", "Hm.", "Yes.", "stop");
    }
}

#[test]
fn a_response_has_items() {
    let body = says(
        r#"{"id":"r","object":"response","status":"completed","error":null,
            "reasoning":{"effort":"low","summary":"auto"},"output":[
            {"type":"reasoning","summary":[{"type":"summary_text","text":"H"},
             {"type":"summary_text","text":"m."}],"encrypted_content":"QQ=="},
            {"type":"function_call","name":"f","arguments":"{}"},
            {"type":"message","content":[{"type":"output_text","text":"Yes."},
             {"type":"refusal","refusal":" No."}]}],
            "usage":{"input_tokens":5,"output_tokens":9,"total_tokens":14,
                     "output_tokens_details":{"reasoning_tokens":6}}}"#,
        "openai-responses",
        "Hm.",
        "Yes. No.",
        "completed",
    );
    assert_eq!(body.encrypted, ["QQ=="]);
    assert_eq!(body.tokens.unwrap().visible, Some(3));
}

#[test]
fn raw_reasoning_counts_before_its_summary_item_by_item() {
    says(
        r#"{"object":"response","status":"completed","output":[
            {"type":"reasoning","summary":[{"type":"summary_text","text":"short"}],
             "content":[{"type":"reasoning_text","text":"Raw. "}]},
            {"type":"reasoning","content":[],"summary":[{"type":"summary_text","text":"Sum."}]}]}"#,
        "openai-responses",
        "Raw. Sum.",
        "",
        "completed",
    );
}

#[test]
fn the_published_form_has_its_reasoning_in_the_item() {
    for reasoning in [r#""Hm.""#, r#"{"text":"Hm.","encrypted_content":"Qg=="}"#] {
        let body = says(
            &format!(
                r#"{{"object":"response","output":[{{"type":"message","reasoning":{reasoning},
                    "content":[{{"type":"output_text","text":"Yes."}}],"encrypted_content":"QQ=="}}],
                    "usage":{{"reasoning_tokens":67}}}}"#
            ),
            "openai-responses",
            "Hm.",
            "Yes.",
            "",
        );
        assert_eq!(body.encrypted[0], "QQ==");
        assert_eq!(body.encrypted.len(), 1 + usize::from(reasoning.starts_with('{')));
        assert_eq!(body.tokens.unwrap().reasoning, Some(67));
    }
}

#[test]
fn an_incomplete_response_says_why() {
    says(
        r#"{"object":"response","status":"incomplete","output":[],
            "incomplete_details":{"reason":"max_output_tokens"}}"#,
        "openai-responses",
        "",
        "",
        "incomplete:max_output_tokens",
    );
}

#[test]
fn a_failed_response_has_an_error() {
    let body = read(r#"{"object":"response","status":"failed","error":{"code":"x"},"output":[]}"#);
    assert_eq!(body.error.as_deref(), Some(r#"{"code":"x"}"#));
    assert_eq!(body.finish.as_deref(), Some("failed"));
}

#[test]
fn an_anthropic_message_has_blocks() {
    let body = says(
        r#"{"type":"message","role":"assistant","content":[
            {"type":"thinking","thinking":"Hm.","signature":"s"},
            {"type":"redacted_thinking","data":"QQ=="},
            {"type":"text","text":"Yes."},
            {"type":"tool_use","id":"t","name":"f","input":{"text":"no"}}],
            "stop_reason":"tool_use","usage":{"input_tokens":5,"cache_read_input_tokens":7,
            "output_tokens":9}}"#,
        "anthropic",
        "Hm.",
        "Yes.",
        "tool_use",
    );
    assert_eq!(body.encrypted, ["QQ=="]);
    assert_eq!(body.tokens.unwrap().input, Some(12));
}

#[test]
fn geminis_thoughts_are_parts_with_a_flag() {
    let one = |text: &str, thought: &str, more: &str| {
        format!(
            r#"{{"candidates":[{{"index":0,"content":{{"parts":[
                {{"text":"{text}","thought":{thought}}},{{"functionCall":{{"name":"f"}}}}]}}{more}}}],
                "usageMetadata":{{"promptTokenCount":5,"thoughtsTokenCount":6}}}}"#
        )
    };
    let end = r#","finishReason":"STOP""#;
    let body = says(&one("Hm.", "true", end), "gemini", "Hm.", "", "STOP");
    assert_eq!(body.tokens.unwrap().output, Some(6));
    let array = |elements: &[String]| format!("[{}]", elements.join(",\r\n"));
    says(&array(&[one("Yes.", "null", end)]), "gemini", "", "Yes.", "STOP");
    let several = [one("H", "true", ""), one("m.", "true", ""), one("Yes.", "false", end)];
    says(&array(&several), "gemini", "Hm.", "Yes.", "STOP");
}

#[test]
fn a_prompt_that_gemini_blocks_says_why() {
    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{}}"#;
    says(blocked, "gemini", "", "", "SAFETY");
}

#[test]
fn geminis_python_sdk_has_names_of_its_own() {
    let body = says(
        r#"{"candidates":[{"content":{"parts":[{"text":"Yes."}]},"finish_reason":1}],
            "usage_metadata":{"prompt_token_count":5,"candidates_token_count":9}}"#,
        "gemini",
        "",
        "Yes.",
        "1",
    );
    assert_eq!(body.tokens.unwrap().output, Some(9));
}

#[test]
fn ollama_counts_in_the_answer_itself() {
    let counts =
        r#""done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":9,"context":[1,2]"#;
    for texts in [
        r#""message":{"role":"assistant","thinking":"Hm.","content":"Yes."}"#,
        r#""thinking":"Hm.","response":"Yes.""#,
    ] {
        let json = format!(r#"{{"model":"m",{texts},{counts}}}"#);
        let body = says(&json, "ollama", "Hm.", "Yes.", "stop");
        assert_eq!(body.usage.as_deref(), Some(r#"{"prompt_eval_count":5,"eval_count":9}"#));
        assert_eq!(body.tokens.unwrap().input, Some(5));
    }
}

#[test]
fn reasoning_may_stand_between_tags() {
    for (content, reasoning, output) in [
        ("<think>Hm.</think>Yes.", "Hm.", "Yes."),
        ("Hm.</think>Yes.", "Hm.", "Yes."),
        ("<think>Hm.", "Hm.", ""),
        ("Yes <", "", "Yes <"),
    ] {
        let chat = format!(r#"{{"choices":[{{"message":{{"content":"{content}"}}}}]}}"#);
        let body = Body::read(chat.as_bytes()).unwrap();
        assert_eq!((&*body.reasoning, &*body.output), (reasoning, output), "{content}");
    }
    let own = r#"{"choices":[{"message":{"reasoning":"Hm.","content":"<think>"}}]}"#;
    assert_eq!(Body::read(own.as_bytes()).unwrap().output, "<think>");
}

#[test]
fn cohere_has_a_message_without_choices() {
    let body = says(
        r#"{"id":"x","finish_reason":"COMPLETE","message":{"role":"assistant","tool_plan":"Look.",
            "content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Yes."}]},
            "usage":{"billed_units":{"input_tokens":1,"output_tokens":2},
                     "tokens":{"input_tokens":5,"output_tokens":9}}}"#,
        "cohere",
        "Hm.",
        "Yes.",
        "COMPLETE",
    );
    assert_eq!(body.tokens.unwrap().output, Some(9));
}

#[test]
fn bedrock_names_its_parts() {
    let body = says(
        r#"{"output":{"message":{"role":"assistant","content":[
            {"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"s"}}},
            {"reasoningContent":{"redactedContent":"QQ=="}},{"text":"Yes."},
            {"toolUse":{"name":"f"}}]}},"stopReason":"end_turn",
            "usage":{"inputTokens":5,"outputTokens":9,"totalTokens":14},"metrics":{}}"#,
        "bedrock-converse",
        "Hm.",
        "Yes.",
        "end_turn",
    );
    assert_eq!(body.encrypted, ["QQ=="]);
    assert_eq!(body.tokens.unwrap().output, Some(9));
}

#[test]
fn usage_is_read_without_knowing_the_dialect() {
    let body = read(r#"{"steps":[{"text":"?"}],"usage":{"total_input_tokens":5}}"#);
    assert_eq!((body.dialect, body.tokens.unwrap().input), (None, Some(5)));
}

#[test]
fn groqs_usage_may_be_nested() {
    let body = read(r#"{"choices":[],"usage":null,"x_groq":{"usage":{"prompt_tokens":5}}}"#);
    assert_eq!(body.tokens.unwrap().input, Some(5));
}

#[test]
fn errors_are_kept_as_they_are() {
    for (json, error) in [
        (r#"{"error":{"message":"quota"}}"#, r#"{"message":"quota"}"#),
        (r#"{"error":"no such model"}"#, r#""no such model""#),
        (r#"[{"error":{"code":429}}]"#, r#"{"code":429}"#),
        (r#"{"type":"error","error":{"type":"overloaded"}}"#, r#"{"type":"overloaded"}"#),
        (r#"{"object":"error","message":"m"}"#, r#"{"object":"error","message":"m"}"#),
        (r#"{"message":"invalid token"}"#, r#"{"message":"invalid token"}"#),
        (r#"{"detail":"Not Found"}"#, r#"{"detail":"Not Found"}"#),
        (r#"{"choices":[{"message":{"content":"Ye"},"error":{"code":502}}]}"#, r#"{"code":502}"#),
    ] {
        assert_eq!(read(json).error.as_deref(), Some(error), "{json}");
    }
}

#[test]
fn an_error_does_not_hide_the_text() {
    let body = read(r#"{"choices":[{"message":{"content":"Ye"}}],"error":{"code":502}}"#);
    assert_eq!((&*body.output, body.error.as_deref()), ("Ye", Some(r#"{"code":502}"#)));
}

#[test]
fn half_characters_and_byte_order_marks_do_no_harm() {
    let json = ["\u{feff} ", &chat(r#"{"content":"a\ud83d"}"#), "\n"].concat();
    says(&json, "openai-chat", "", "a\u{fffd}", "stop");
}

#[test]
fn of_members_given_twice_the_last_counts() {
    says(&chat(r#"{"content":"No.","content":"Yes."}"#), "openai-chat", "", "Yes.", "stop");
}

#[track_caller]
fn refuses(json: &[u8], message: &str) -> BodyError {
    let error = Body::read(json).unwrap_err();
    assert_eq!(error.to_string(), message);
    error
}

#[test]
fn what_is_not_json_is_refused_with_line_and_column() {
    let json = "{\"usage\":\n  {\"prompt_tokens\":}}";
    refuses(json.as_bytes(), "the body is not JSON: expected value at line 2 column 20");
    refuses(b"", "the body is not JSON: EOF while parsing a value at line 1 column 0");
    refuses(b"<html>", "the body is not JSON: expected value at line 1 column 1");
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_place() {
    refuses(b"{\"a\":\"\xff\"}", "byte 6 of the body is not UTF-8");
}

#[test]
fn a_stream_is_refused_by_name() {
    for stream in ["data: {\"choices\":[]}\n\n", "event: ping\n", ": hello\n\ndata: {}\n\n"] {
        assert_eq!(Body::read(stream.as_bytes()), Err(BodyError::Stream));
    }
}

#[test]
fn json_that_is_no_object_is_refused() {
    let says =
        |kind: &str| format!("a response is an object, or Gemini's array of them; this is {kind}");
    for (json, kind) in [
        ("\"x\"", "a string"),
        ("7", "a number"),
        ("null", "null"),
        ("false", "a truth value"),
        ("[]", "an empty array"),
        ("[[]]", "an array of arrays"),
        ("[{\"choices\":[]},{\"choices\":[]}]", "an array of objects that are not Gemini's"),
    ] {
        refuses(json.as_bytes(), &says(kind));
    }
}

#[test]
fn an_unknown_dialect_is_refused_with_the_names_of_the_known() {
    refuses(
        b"{\"usage\":7}",
        "the body has no `usage` and is of no known dialect; there are: mistral, openai-chat, \
         openai-responses, gemini, bedrock-converse, anthropic, ollama, cohere",
    );
}

#[test]
fn nesting_is_limited() {
    let deep = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        Body::read(format!("{{\"usage\":{{}},\"x\":{open}{close}}}").as_bytes())
    };
    assert!(deep(126).is_ok());
    for levels in [127, 1_000_000] {
        let refused = deep(levels).unwrap_err().to_string();
        assert_eq!(refused, "the body is not JSON: nested deeper than 127 levels");
    }
}

#[test]
fn no_prefix_of_a_body_is_taken_for_one() {
    let json = chat(r#"{"reasoning":"Hm…","content":[{"type":"text","text":"Yes."}]}"#);
    for end in 0..json.len() {
        assert!(Body::read(&json.as_bytes()[..end]).is_err(), "{end}");
    }
}

/// Members of the wrong kind lose what they hold, and nothing else.
#[test]
fn a_value_of_the_wrong_kind_never_stops_the_rest() {
    let bodies = [
        chat(r#"{"reasoning":"Hm.","content":[{"type":"text","text":"Yes."}]}"#),
        r#"{"output":[{"type":"reasoning","summary":[{"text":"a"}]}],"status":"x"}"#.into(),
        r#"{"content":[{"type":"thinking","thinking":"a"}],"stop_reason":"x"}"#.into(),
        r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}"#.into(),
        r#"{"done":true,"message":{"content":"a"}}"#.into(),
        r#"{"finish_reason":"x","message":{"content":[{"type":"text","text":"a"}]}}"#.into(),
        r#"{"output":{"message":{"content":[{"text":"a"}]}},"stopReason":"x"}"#.into(),
    ];
    for json in bodies {
        let whole: Value = serde_json::from_str(&json).unwrap();
        let mut paths = Vec::new();
        walk(&whole, String::new(), &mut paths);
        for path in paths {
            for wrong in ["null", "7", "\"\"", "{}", "[]", "[[]]", "true"] {
                let mut body = whole.clone();
                body["usage"] = serde_json::json!({ "prompt_tokens": 5 });
                *body.pointer_mut(&path).unwrap() = serde_json::from_str(wrong).unwrap();
                let read = read(&body.to_string());
                assert_eq!(read.tokens.unwrap().input, Some(5), "{path} {wrong}");
            }
        }
    }
}

fn walk(value: &Value, at: String, paths: &mut Vec<String>) {
    if let Some(object) = value.as_object() {
        object.iter().for_each(|(key, inner)| walk(inner, format!("{at}/{key}"), paths));
    }
    for (number, inner) in value.as_array().into_iter().flatten().enumerate() {
        walk(inner, format!("{at}/{number}"), paths);
    }
    if !at.is_empty() {
        paths.push(at);
    }
}

/// Published recordings whose final response was emptied of its output.
const OTHER_THAN_STREAMED: [(&str, &str); 3] = [
    ("openai-responses/genai-completed-empty", "output"),
    ("openai-responses/genai-summary-capture", "reasoning"),
    ("openai-responses/genai-summary-capture", "output"),
];

#[test]
fn a_final_response_says_what_was_streamed() {
    let mut wrong = Vec::new();
    for capture in captures("openai-responses") {
        let text = String::from_utf8(capture.bytes.clone()).unwrap();
        let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let events = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
        let ends = ["response.completed", "response.incomplete", "response.failed"];
        let mut events = events.filter(|e| ends.contains(&e["type"].as_str().unwrap_or_default()));
        let Some(event) = events.next_back() else { continue };
        let body = read(&event["response"].to_string());
        let expect = &capture.expect;
        let usage = body.usage.map_or(Value::Null, |u| serde_json::from_str(&u).unwrap());
        let same = [
            ("reasoning", digest(&body.reasoning) == expect["reasoning"]),
            ("output", digest(&body.output) == expect["output"]),
            ("usage", usage == expect["usage"]),
            ("finish", body.finish.as_deref() == expect["finish"].as_str()),
        ];
        wrong.extend(same.iter().filter(|s| !s.1).map(|s| (capture.name.clone(), s.0)));
    }
    assert_eq!(wrong, OTHER_THAN_STREAMED.map(|(name, what)| (name.to_owned(), what)));
}

#[test]
fn recorded_arrays_of_geminis_are_read_whole() {
    let Some(folder) = shared("captures/gemini") else { return };
    let mut read_ones = 0;
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with("json-array") || name.ends_with(".expect.json") {
            continue;
        }
        let body = Body::read(&fs::read(entry.path()).unwrap()).unwrap();
        let expect = fs::read(entry.path().with_extension("expect.json")).unwrap();
        let expect: Value = serde_json::from_slice(&expect).unwrap();
        assert_eq!(digest(&body.reasoning), expect["reasoning"], "{name}");
        assert_eq!(digest(&body.output), expect["output"], "{name}");
        // One has its enumerations as numbers.
        let finish = expect["finish"].to_string();
        assert_eq!(body.finish.as_deref(), Some(finish.trim_matches('"')), "{name}");
        let tokens = body.tokens.unwrap();
        assert_eq!(tokens.reasoning, expect["reasoning_tokens"].as_u64(), "{name}");
        read_ones += 1;
    }
    assert_eq!(read_ones, 4);
}

#[test]
fn the_model_is_told_where_the_body_names_it() {
    for (name, json) in [
        (Some("gpt-4.1"), r#"{"model":"gpt-4.1","choices":[],"usage":{"prompt_tokens":1}}"#),
        (
            Some("gemini-2.5-flash"),
            r#"[{"candidates":[],"modelVersion":"gemini-2.5-flash"},{"candidates":[]}]"#,
        ),
        (Some("g"), r#"{"usage_metadata":{},"model_version":"g"}"#),
        (None, r#"{"model":"","usage":{"prompt_tokens":1}}"#),
        (None, r#"{"model":7,"usage":{"prompt_tokens":1}}"#),
    ] {
        assert_eq!(read(json).model.as_deref(), name, "{json}");
    }
}
