//! Gemini's responses, an event each.

use decluster::wire::Verdict::{Complete, Failed, Truncated};
use decluster_tests::rewriting::steady;
use decluster_tests::small::event;

use super::{calls, order, told};
use decluster::Kind::{Output, Reasoning};

/// An event with these parts and other members of the candidate; lines end with CRLF.
fn parts(parts: &str, rest: &str) -> String {
    let candidate =
        format!(r#"{{"content":{{"role":"model","parts":[{parts}]}}{rest},"index":0}}"#);
    crlf(&format!(r#"{{"candidates":[{candidate}],"usageMetadata":{{"promptTokenCount":4}}}}"#))
}

fn crlf(data: &str) -> String {
    event(data).replace('\n', "\r\n")
}

const STOP: &str = r#","finishReason":"STOP""#;

#[test]
fn thoughts_and_answers_are_told_apart_part_by_part() {
    // open-telemetry/opentelemetry-ebpf-instrumentation#2530
    let stream = [
        parts(r#"{"text":"First we look. ","thought":true}"#, ""),
        parts(r#"{"text":"Then we act.","thought":true},{"text":"Yes. "},{"text":"It is so.","thought":false}"#, ""),
        parts(r#"{"text":" And so.","thought":null}"#, STOP),
    ]
    .concat();
    let seen = steady(&stream);
    assert_eq!(
        told(&seen),
        ("First we look. Then we act.", "Yes. It is so. And so.", Complete, Some("STOP"))
    );
    let kinds: Vec<_> = order(&stream).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [Reasoning, Reasoning, Output, Output, Output]);
}

#[test]
fn signatures_are_no_text() {
    let stream = [
        parts(r#"{"text":"So it is. And so.","thought":true,"thoughtSignature":"bm8="}"#, ""),
        parts(r#"{"text":"","thoughtSignature":"bm8="}"#, ""),
        parts(r#"{"thoughtSignature":"bm8="}"#, ""),
        parts(r#"{"text":"Yes."}"#, STOP),
    ];
    assert_eq!(
        told(&steady(&stream.concat())),
        ("So it is. And so.", "Yes.", Complete, Some("STOP"))
    );
}

#[test]
fn calls_come_whole_or_in_parts() {
    let stream = [
        parts(
            r#"{"text":"I look it up. "},{"functionCall":{"name":"f","args":{"x":1},"id":"c"},"thoughtSignature":"bm8="},{"text":"And then."}"#,
            "",
        ),
        parts(r#"{"functionCall":{"name":"g"}}"#, ""),
        // Arguments in parts are not put together yet.
        parts(r#"{"functionCall":{"name":"h","willContinue":true}}"#, ""),
        parts(
            r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.y","stringValue":"no"}],"willContinue":true}}"#,
            "",
        ),
        parts(r#"{"functionCall":{}}"#, STOP),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("", "I look it up. And then.", Complete, Some("STOP")));
    assert_eq!(calls(&seen), [["c", "f", "{\"x\":1}"], ["", "g", "{}"], ["", "h", "{}"]]);
}

#[test]
fn other_parts_keep_their_place_and_are_no_text() {
    let others = [
        r#"{"executableCode":{"language":"PYTHON","code":"print(1)"}}"#,
        r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}"#,
        r#"{"inlineData":{"mimeType":"image/png","data":"bm8="}}"#,
        "{}",
        "null",
        "7",
    ];
    for other in others {
        for all in [
            format!(r#"{other},{{"text":"One. Two."}}"#),
            format!(r#"{{"text":"One. Two."}},{other}"#),
        ] {
            let seen = steady(&parts(&all, STOP));
            assert_eq!(told(&seen), ("", "One. Two.", Complete, Some("STOP")), "{all}");
        }
    }
}

#[test]
fn content_may_be_missing() {
    for candidate in [
        r#"{"finishReason":"MAX_TOKENS"}"#,
        r#"{"content":{},"finishReason":"MAX_TOKENS"}"#,
        r#"{"content":{"role":"model","parts":null},"finishReason":"MAX_TOKENS"}"#,
    ] {
        let last = crlf(&format!(
            r#"{{"candidates":[{candidate}],"usageMetadata":{{"thoughtsTokenCount":90,"totalTokenCount":94}}}}"#
        ));
        let seen = steady(&[parts(r#"{"text":"So","thought":true}"#, ""), last].concat());
        assert_eq!(told(&seen), ("So", "", Complete, Some("MAX_TOKENS")), "{candidate}");
        assert_eq!(seen.answer.reasoning_tokens, Some(90));
    }
}

#[test]
fn a_reason_to_stop_may_come_twice_or_as_a_number() {
    let stream = [
        parts(r#"{"text":"One. "}"#, STOP),
        parts(r#"{"text":"Two."}"#, STOP),
        crlf(r#"{"usageMetadata":{"thoughtsTokenCount":3}}"#),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("", "One. Two.", Complete, Some("STOP")));
    assert_eq!(seen.answer.usage.as_deref(), Some(r#"{"thoughtsTokenCount":3}"#));
    let seen = steady(&parts(r#"{"text":"x"}"#, r#","finishReason":1"#));
    assert_eq!(told(&seen), ("", "x", Complete, Some("1")));
    assert_eq!(told(&steady(&parts(r#"{"text":"x"}"#, ""))), ("", "x", Truncated, None));
}

#[test]
fn a_blocked_prompt_is_an_end() {
    let seen = steady(&crlf(
        r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4}}"#,
    ));
    assert_eq!(told(&seen), ("", "", Complete, Some("SAFETY")));
}

#[test]
fn an_error_in_the_middle_is_a_failure_and_the_text_stays() {
    let error = r#"{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}"#;
    for last in [format!(r#"{{"error":{error}}}"#), format!(r#"[{{"error":{error}}}]"#)] {
        for event in
            [crlf(&last), format!("{last}\r\n"), format!("event: error\r\n{}", crlf(&last))]
        {
            let stream = [
                parts(r#"{"text":"So it is.","thought":true}"#, ""),
                parts(r#"{"text":"Half of"}"#, ""),
                event,
            ];
            let seen = steady(&stream.concat());
            assert_eq!(told(&seen), ("So it is.", "Half of", Failed, None), "{}", stream[2]);
            assert_eq!(seen.answer.error.as_deref(), Some(error));
        }
    }
}

#[test]
fn several_candidates_are_told_apart() {
    let both = crlf(
        r#"{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]}},{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}"#,
    );
    let seen = steady(&both);
    assert_eq!(told(&seen), ("", "a", Complete, Some("STOP")));
    assert_eq!(seen.text(1, Output), "b");
}

#[test]
fn halves_of_characters_wait_for_their_other_half() {
    let stream = [parts(r#"{"text":"a\ud83d"}"#, ""), parts(r#"{"text":"\ude00b"}"#, STOP)];
    assert_eq!(told(&steady(&stream.concat())).1, "a\u{1f600}b");
    let within = parts(r#"{"text":"a\ud83d"},{"text":"\ude00b. And more of it."}"#, STOP);
    assert_eq!(told(&steady(&within)).1, "a\u{1f600}b. And more of it.");
}

#[test]
fn fields_of_the_wrong_type_are_nothing() {
    for wrong in ["null", "7", "true", "\"\"", "[]", "{}", "[null]"] {
        for odd in [
            format!(r#"{{"candidates":{wrong}}}"#),
            format!(r#"{{"candidates":[{{"content":{wrong}}}]}}"#),
            format!(r#"{{"candidates":[{{"content":{{"parts":{wrong}}}}}]}}"#),
            format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":{wrong}}}]}}}}]}}"#),
            format!(
                r#"{{"candidates":[{{"index":{wrong},"content":{{"parts":[{{"functionCall":{wrong}}}]}}}}]}}"#
            ),
            format!(r#"{{"candidates":[],"usageMetadata":{wrong},"promptFeedback":{wrong}}}"#),
        ] {
            let seen = steady(&[&crlf(&odd), &*parts(r#"{"text":"Yes."}"#, STOP)].concat());
            assert_eq!(told(&seen), ("", "Yes.", Complete, Some("STOP")), "{odd}");
            assert_eq!(seen.answer.malformed, 0, "{odd}");
        }
    }
}
