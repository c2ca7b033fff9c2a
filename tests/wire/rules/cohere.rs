//! Cohere's chat, version 2.

use decluster::wire::Verdict::{Complete, Failed, Truncated};
use decluster_tests::rewriting::steady;
use decluster_tests::small::{DONE, named};

use super::{calls, told};

fn content(index: u32, members: &str) -> String {
    named(
        "content-delta",
        &format!(r#""index":{index},"delta":{{"message":{{"content":{{{members}}}}}}}"#),
    )
}

fn end(delta: &str) -> String {
    [&*named("message-end", &format!(r#""delta":{{{delta}}}"#)), DONE].concat()
}

fn complete() -> String {
    end(
        r#""finish_reason":"COMPLETE","usage":{"billed_units":{"output_tokens":3},"tokens":{"output_tokens":9,"reasoning_tokens":5}}"#,
    )
}

fn start() -> String {
    named("message-start", r#""id":"m","delta":{"message":{"role":"assistant","content":[]}}"#)
}

#[test]
fn the_member_of_a_delta_tells_thinking_from_text() {
    let stream = [
        start(),
        named(
            "content-start",
            r#""index":0,"delta":{"message":{"content":{"type":"thinking","thinking":""}}}"#,
        ),
        content(0, r#""thinking":"First we look. ""#),
        content(0, r#""thinking":"Then we act. And it ends.""#),
        named("content-end", r#""index":0"#),
        named(
            "content-start",
            r#""index":1,"delta":{"message":{"content":{"type":"text","text":""}}}"#,
        ),
        content(1, r#""text":"Yes. It is so.""#),
        named("content-end", r#""index":1"#),
        complete(),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(
        told(&seen),
        ("First we look. Then we act. And it ends.", "Yes. It is so.", Complete, Some("COMPLETE"))
    );
    assert_eq!(seen.answer.reasoning_tokens, Some(5));
}

#[test]
fn text_in_the_beginning_of_a_content_counts() {
    let begin = named(
        "content-start",
        r#""index":0,"delta":{"message":{"content":{"type":"text","text":"One. Two. "}}}"#,
    );
    let seen = steady(&[start(), begin, content(0, r#""text":"Three.""#), complete()].concat());
    assert_eq!(told(&seen), ("", "One. Two. Three.", Complete, Some("COMPLETE")));
}

#[test]
fn calls_are_put_together_and_the_plan_before_them_is_no_text() {
    let call = |kind: &str, index: u32, members: &str| {
        named(
            kind,
            &format!(r#""index":{index},"delta":{{"message":{{"tool_calls":{{{members}}}}}}}"#),
        )
    };
    let stream = [
        start(),
        named("tool-plan-delta", r#""delta":{"message":{"tool_plan":"I will look."}}"#),
        call(
            "tool-call-start",
            0,
            r#""id":"a","type":"function","function":{"name":"f","arguments":""}"#,
        ),
        call("tool-call-delta", 0, r#""function":{"arguments":"{\"x\""}"#),
        call("tool-call-delta", 0, r#""function":{"arguments":":1}"}"#),
        named("tool-call-end", r#""index":0"#),
        call("tool-call-start", 1, r#""id":"b","function":{"name":"g","arguments":"{}"}"#),
        end(r#""finish_reason":"TOOL_CALL""#),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("", "", Complete, Some("TOOL_CALL")));
    assert_eq!(calls(&seen), [["a", "f", "{\"x\":1}"], ["b", "g", "{}"]]);
}

#[test]
fn an_error_at_the_end_is_a_failure_and_no_end_is_a_cut() {
    let text = content(0, r#""text":"Half of""#);
    let seen = steady(
        &[start(), text.clone(), end(r#""finish_reason":"ERROR","error":"overloaded""#)].concat(),
    );
    assert_eq!(told(&seen), ("", "Half of", Failed, Some("ERROR")));
    let seen = steady(&[start(), text.clone(), end(r#""finish_reason":"ERROR""#)].concat());
    assert_eq!(told(&seen), ("", "Half of", Failed, Some("ERROR")));
    assert_eq!(told(&steady(&[start(), text].concat())), ("", "Half of", Truncated, None));
}

#[test]
fn fields_of_the_wrong_type_are_nothing() {
    for wrong in ["null", "7", "true", "\"\"", "[]", "{}", "[null]"] {
        for kind in [
            "message-start",
            "content-start",
            "content-delta",
            "content-end",
            "tool-call-delta",
            "tool-call-end",
            "citation-start",
        ] {
            for odd in [
                named(kind, &format!(r#""index":{wrong},"delta":{wrong}"#)),
                named(kind, &format!(r#""delta":{{"message":{wrong}}}"#)),
                named(
                    kind,
                    &format!(r#""delta":{{"message":{{"content":{wrong},"tool_calls":{wrong}}}}}"#),
                ),
                named(
                    kind,
                    &format!(
                        r#""delta":{{"message":{{"content":{{"text":{wrong},"thinking":{wrong}}}}}}}"#
                    ),
                ),
            ] {
                let seen = steady(
                    &[start(), odd.clone(), content(0, r#""text":"Yes.""#), complete()].concat(),
                );
                assert_eq!(told(&seen), ("", "Yes.", Complete, Some("COMPLETE")), "{odd}");
            }
        }
    }
}
