//! Bedrock's Converse stream in its decoded form, an object a line.

use decluster::wire::Dialect;
use decluster::wire::Verdict::{Complete, Failed, Truncated};
use decluster_tests::rewriting::steady_lines;

use super::{calls, told};

fn delta(index: u32, delta: &str) -> String {
    format!(
        "{{\"contentBlockDelta\":{{\"contentBlockIndex\":{index},\"delta\":{{{delta}}},\"p\":\"abcdef\"}}}}\n"
    )
}

fn stop(why: &str) -> String {
    format!("{{\"messageStop\":{{\"stopReason\":\"{why}\",\"p\":\"ab\"}}}}\n")
}

const START: &str = "{\"messageStart\":{\"role\":\"assistant\",\"p\":\"abc\"}}\n";
const METADATA: &str = "{\"metadata\":{\"metrics\":{\"latencyMs\":7},\"usage\":{\"inputTokens\":4,\"outputTokens\":9,\"totalTokens\":13}}}\n";

#[test]
fn reasoning_and_text_stand_in_deltas_of_their_own() {
    let stream = [
        START,
        &delta(0, r#""reasoningContent":{"text":"First we look. "}"#),
        &delta(0, r#""reasoningContent":{"text":"Then we act. And it ends."}"#),
        &delta(0, r#""reasoningContent":{"signature":"bm8="}"#),
        "{\"contentBlockStop\":{\"contentBlockIndex\":0}}\n",
        &delta(1, r#""reasoningContent":{"redactedContent":"bm8="}"#),
        &delta(2, r#""text":"""#),
        &delta(2, r#""text":"Yes. It is so.""#),
        &stop("end_turn"),
        METADATA,
    ];
    let seen = steady_lines(&stream.concat());
    assert_eq!(seen.dialect, Some(Dialect::Bedrock));
    assert_eq!(
        told(&seen),
        ("First we look. Then we act. And it ends.", "Yes. It is so.", Complete, Some("end_turn"))
    );
    assert!(seen.answer.usage.unwrap().contains(r#""outputTokens":9"#));
}

#[test]
fn calls_are_put_together() {
    let stream = [
        START,
        &delta(0, r#""text":"I look.""#),
        "{\"contentBlockStart\":{\"contentBlockIndex\":1,\"start\":{\"toolUse\":{\"toolUseId\":\"t\",\"name\":\"f\"}}}}\n",
        &delta(1, r#""toolUse":{"input":"{\"x\""}"#),
        &delta(1, r#""toolUse":{"input":":1}"}"#),
        "{\"contentBlockStop\":{\"contentBlockIndex\":1}}\n",
        &stop("tool_use"),
        METADATA,
    ];
    let seen = steady_lines(&stream.concat());
    assert_eq!(told(&seen), ("", "I look.", Complete, Some("tool_use")));
    assert_eq!(calls(&seen), [["t", "f", "{\"x\":1}"]]);
    let cut = steady_lines(&stream[..4].concat());
    assert_eq!((cut.answer.verdict, cut.answer.tool_calls()[0].complete), (Some(Truncated), false));
}

#[test]
fn a_stop_is_an_end_though_nothing_follows_it() {
    let text = delta(0, r#""text":"x""#);
    assert_eq!(
        told(&steady_lines(&[START, &text, &stop("max_tokens")].concat())),
        ("", "x", Complete, Some("max_tokens"))
    );
    assert_eq!(told(&steady_lines(&[START, &text].concat())), ("", "x", Truncated, None));
}

#[test]
fn exceptions_are_failures_and_the_text_stays() {
    for name in [
        "throttlingException",
        "modelStreamErrorException",
        "internalServerException",
        "validationException",
        "serviceUnavailableException",
    ] {
        let exception = format!("{{\"{name}\":{{\"message\":\"no\"}}}}\n");
        let seen = steady_lines(&[START, &delta(0, r#""text":"Half of""#), &exception].concat());
        assert_eq!(told(&seen), ("", "Half of", Failed, None), "{name}");
        assert_eq!(seen.answer.error.as_deref(), Some(r#"{"message":"no"}"#));
    }
}

#[test]
fn fields_of_the_wrong_type_are_nothing() {
    for wrong in ["null", "7", "true", "\"\"", "[]", "{}", "[null]"] {
        for odd in [
            format!("{{\"contentBlockStart\":{wrong}}}\n"),
            format!("{{\"contentBlockDelta\":{wrong}}}\n"),
            format!(
                "{{\"contentBlockDelta\":{{\"contentBlockIndex\":{wrong},\"delta\":{wrong}}}}}\n"
            ),
            delta(0, &format!(r#""text":{wrong},"reasoningContent":{wrong},"toolUse":{wrong}"#)),
            delta(
                0,
                &format!(
                    r#""reasoningContent":{{"text":{wrong},"signature":{wrong}}},"toolUse":{{"input":{wrong}}}"#
                ),
            ),
            format!("{{\"contentBlockStop\":{wrong}}}\n"),
            format!("{{\"messageStart\":{wrong}}}\n"),
        ] {
            let text = delta(0, r#""text":"Yes.""#);
            let seen = steady_lines(&[START, &odd, &text, &stop("end_turn"), METADATA].concat());
            assert_eq!(told(&seen), ("", "Yes.", Complete, Some("end_turn")), "{odd}");
        }
    }
}
