//! Which usage counts, and which count of reasoning tokens.

use decluster::wire::Verdict::Complete;
use decluster_tests::rewriting::steady;
use decluster_tests::small::{DONE, content, event, named, stop};

use super::told;

#[test]
fn a_usage_chunk_has_an_empty_list_of_choices() {
    // XSpoonAi/spoon-core#179, awslabs/llmeter#34, Lambdua/openai4j#60, Portkey-AI/gateway#1629
    let usage = event(
        r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":1}}}"#,
    );
    let seen = steady(&[&content("x"), &stop("stop"), &usage, DONE].concat());
    assert_eq!(told(&seen), ("", "x", Complete, Some("stop")));
    assert!(seen.answer.usage.as_ref().unwrap().contains(r#""completion_tokens":2"#));
    assert_eq!((seen.answer.reasoning_tokens, seen.answer.error), (Some(1), None));
}

#[test]
fn a_usage_chunk_may_have_no_choices_at_all() {
    // ROCm/ATOM#1711
    let usage = event(r#"{"usage":{"completion_tokens":2}}"#);
    let seen = steady(&[&content("x"), &stop("stop"), &usage, DONE].concat());
    assert_eq!(told(&seen), ("", "x", Complete, Some("stop")));
    assert_eq!(seen.answer.usage.as_deref(), Some(r#"{"completion_tokens":2}"#));
}

#[test]
fn the_last_usage_counts() {
    // brainlid/langchain#625, langchain-ai/langchainjs#8694, InsForge/InsForge#2015
    let chunk = |tokens: u32| {
        event(&format!(
            r#"{{"choices":[{{"index":0,"delta":{{"content":"One is in. Two is out. "}}}}],"usage":{{"completion_tokens":{tokens}}}}}"#
        ))
    };
    let none = event(r#"{"choices":[],"usage":null}"#);
    let seen = steady(&[&chunk(1), &chunk(2), &chunk(3), &stop("stop"), &none, DONE].concat());
    assert_eq!(seen.answer.usage.as_deref(), Some(r#"{"completion_tokens":3}"#));
}

#[test]
fn usage_in_start_and_delta_is_laid_over_one_another() {
    // tensorzero/tensorzero#5481, ccusage/ccusage#938
    let stream = [
        named(
            "message_start",
            r#""message":{"id":"m","usage":{"input_tokens":30,"cache_read_input_tokens":7,"output_tokens":1}}"#,
        ),
        named("content_block_delta", r#""index":0,"delta":{"type":"text_delta","text":"x"}"#),
        named(
            "message_delta",
            r#""delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":null,"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}"#,
        ),
        named("message_stop", ""),
    ];
    let seen = steady(&stream.concat());
    let usage: serde_json::Value =
        serde_json::from_str(seen.answer.usage.as_ref().unwrap()).unwrap();
    assert_eq!(
        usage,
        serde_json::json!({"input_tokens": 30, "cache_read_input_tokens": 7, "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}})
    );
    assert_eq!(seen.answer.reasoning_tokens, Some(4));
}

#[test]
fn each_place_of_the_count_of_reasoning_tokens_is_known() {
    for (usage, count) in [
        (r#"{"completion_tokens_details":{"reasoning_tokens":7}}"#, Some(7)),
        (r#"{"completion_tokens_details":{"reasoning_tokens":7.0}}"#, Some(7)),
        (r#"{"reasoning_tokens":7}"#, Some(7)),
        (r#"{"output_tokens_details":{"reasoning_tokens":7}}"#, Some(7)),
        (r#"{"completion_tokens_details":null}"#, None),
        (
            r#"{"completion_tokens_details":{"reasoning_tokens":null},"reasoning_tokens":3}"#,
            Some(3),
        ),
        (r#"{"completion_tokens_details":"x","reasoning_tokens":"4"}"#, Some(4)),
    ] {
        let chunk = event(&format!(r#"{{"choices":[],"usage":{usage}}}"#));
        let seen = steady(&[&content("x"), &stop("stop"), &chunk, DONE].concat());
        assert_eq!(seen.answer.reasoning_tokens, count, "{usage}");
    }
}

#[test]
fn a_later_usage_without_the_count_does_not_take_it_away() {
    let with = event(
        r#"{"choices":[],"usage":{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":5}}}"#,
    );
    let without = event(
        r#"{"choices":[],"usage":{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":null}}}"#,
    );
    let seen = steady(&[&content("x"), &stop("stop"), &with, &without, DONE].concat());
    assert_eq!(seen.answer.reasoning_tokens, Some(5));
}

#[test]
fn usage_of_langchain_is_no_usage_of_a_dialect() {
    // Its messages are no stream of a provider; what it puts beside a chunk changes nothing.
    let chunk = event(
        r#"{"choices":[{"index":0,"delta":{"content":"x"}}],"usage_metadata":{"input_tokens":3,"output_tokens":9,"output_token_details":{"reasoning":4}}}"#,
    );
    let seen = steady(&[&chunk, &stop("stop"), DONE].concat());
    assert_eq!(told(&seen), ("", "x", Complete, Some("stop")));
    assert_eq!((seen.answer.usage, seen.answer.reasoning_tokens), (None, None));
}

#[test]
fn groqs_usage_stands_in_a_member_of_its_own() {
    let chunk = event(r#"{"choices":[],"x_groq":{"id":"r","usage":{"completion_tokens":4}}}"#);
    let seen = steady(&[&content("x"), &stop("stop"), &chunk, DONE].concat());
    assert_eq!(seen.answer.usage.as_deref(), Some(r#"{"completion_tokens":4}"#));
}
