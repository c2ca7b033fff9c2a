//! Mistral's content: a string, or an array of chunks.

use decluster::wire::Verdict::Complete;
use decluster_tests::rewriting::steady;
use decluster_tests::small::{DONE, chat, content, event, stop};

use super::{calls, told};

fn array(chunks: &str) -> String {
    chat(&format!(r#"{{"content":[{chunks}]}}"#))
}

fn thinking(inner: &str) -> String {
    array(&format!(r#"{{"type":"thinking","thinking":[{inner}]}}"#))
}

#[test]
fn thinking_and_text_stand_in_chunks() {
    let stream = [
        thinking(r#"{"type":"text","text":"First we look. "}"#),
        thinking(r#"{"type":"text","text":"Then "},{"type":"text","text":"we act. And it ends."}"#),
        content(""),
        array(r#"{"type":"text","text":"Yes. "}"#),
        content("It is so. And so."),
        stop("stop"),
        DONE.to_owned(),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(
        told(&seen),
        (
            "First we look. Then we act. And it ends.",
            "Yes. It is so. And so.",
            Complete,
            Some("stop")
        )
    );
}

#[test]
fn thinking_may_be_a_plain_string_and_stand_beside_text() {
    let both = array(
        r#"{"type":"thinking","thinking":"So it is. And so.","closed":true},{"type":"text","text":"Yes. It is."}"#,
    );
    let seen = steady(&[&both, &*stop("stop")].concat());
    assert_eq!(told(&seen), ("So it is. And so.", "Yes. It is.", Complete, Some("stop")));
}

#[test]
fn other_chunks_keep_their_place_and_are_no_text() {
    let reference = r#"{"type":"reference","reference_ids":[1]}"#;
    let text = r#"{"type":"text","text":"One. Two. Three."}"#;
    for chunks in [
        [text, reference].join(","),
        [reference, text].join(","),
        [reference, text, r#"{"type":"image_url","image_url":"no"}"#].join(","),
        [r#"{"type":"thinking","thinking":[{"type":"tool_reference","title":"no"}]}"#, text]
            .join(","),
        ["null,7,\"no\",{},[]", text].join(","),
    ] {
        let seen = steady(&[&array(&chunks), &*stop("stop")].concat());
        assert_eq!(told(&seen), ("", "One. Two. Three.", Complete, Some("stop")), "{chunks}");
    }
}

#[test]
fn a_finish_reason_and_usage_may_stand_with_the_text() {
    let last = event(
        r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"One. Two."}]},"finish_reason":"stop"}],"usage":{"completion_tokens":9}}"#,
    );
    let seen = steady(&last);
    assert_eq!(told(&seen), ("", "One. Two.", Complete, Some("stop")));
    assert_eq!(seen.answer.usage.as_deref(), Some(r#"{"completion_tokens":9}"#));
}

#[test]
fn calls_come_whole_or_with_the_number_beside_them() {
    let whole = chat(
        r#"{"content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"},"index":0}]}"#,
    );
    assert_eq!(calls(&steady(&[&whole, &*stop("tool_calls")].concat())), [["a", "f", "{\"x\":1}"]]);
    let parts = [
        chat(r#"{"index":0,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}"#),
        chat(r#"{"index":0,"tool_calls":[{"id":"a","function":{"name":"","arguments":"}"}}]}"#),
        stop("tool_calls"),
    ];
    assert_eq!(calls(&steady(&parts.concat())), [["a", "f", "{}"]]);
}

#[test]
fn tags_may_stand_in_chunks_of_text() {
    let stream = [
        array(r#"{"type":"text","text":"<thi"}"#),
        array(r#"{"type":"text","text":"nk>so</"},{"type":"text","text":"think>Yes <"}"#),
        stop("stop"),
    ];
    assert_eq!(told(&steady(&stream.concat())), ("so", "Yes <", Complete, Some("stop")));
}

#[test]
fn halves_of_characters_wait_over_chunks() {
    let stream = [
        array(
            r#"{"type":"thinking","thinking":[{"type":"text","text":"a\ud83d"},{"type":"text","text":"\ude00"}]}"#,
        ),
        array(r#"{"type":"text","text":"b\ud83d"},{"type":"text","text":"\ude00c\ud83e"}"#),
        content("\\udd80"),
        stop("stop"),
    ];
    assert_eq!(
        told(&steady(&stream.concat())),
        ("a\u{1f600}", "b\u{1f600}c\u{1f980}", Complete, Some("stop"))
    );
}
