//! Tool calls of chat completions, put together from fragments.

use decluster::wire::Verdict::{Complete, Truncated};
use decluster_tests::rewriting::steady;
use decluster_tests::small::{DONE, chat, content, stop};

use super::{calls, told};

/// A stream with these values of `tool_calls`.
fn stream(deltas: &[&str]) -> String {
    let deltas: String = deltas.iter().map(|d| chat(&format!(r#"{{"tool_calls":{d}}}"#))).collect();
    [&content("I look it up."), &deltas, &stop("tool_calls"), DONE].concat()
}

#[test]
fn fragments_are_joined_by_their_number() {
    let seen = steady(&stream(&[
        r#"[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]"#,
        r#"[{"index":0,"function":{"arguments":"{\"x\""}}]"#,
        r#"[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]"#,
        r#"[{"index":0,"function":{"arguments":":1}"}}]"#,
    ]));
    assert_eq!(told(&seen), ("", "I look it up.", Complete, Some("tool_calls")));
    assert_eq!(calls(&seen), [["a", "f", "{\"x\":1}"], ["b", "g", "{}"]]);
}

#[test]
fn a_fragment_without_a_number_belongs_to_its_id_or_to_the_last_call() {
    // openai/openai-python#2806, openai/openai-python#3246, openai/openai-python#3410
    let seen = steady(&stream(&[
        r#"[{"id":"a","function":{"name":"f","arguments":"{"}}]"#,
        r#"[{"id":"b","function":{"name":"g","arguments":"["}}]"#,
        r#"[{"function":{"arguments":"]"}}]"#,
        r#"[{"id":"a","function":{"arguments":"}"}}]"#,
    ]));
    assert_eq!(calls(&seen), [["a", "f", "{}"], ["b", "g", "[]"]]);
}

#[test]
fn the_first_number_may_be_one() {
    // pipecat-ai/pipecat#4987, pipecat-ai/pipecat#5342
    let seen = steady(&stream(&[
        r#"[{"index":1,"id":"a","function":{"name":"f","arguments":""}}]"#,
        r#"[{"index":1,"function":{"arguments":"{}"}}]"#,
    ]));
    assert_eq!(calls(&seen), [["a", "f", "{}"]]);
}

#[test]
fn a_new_id_at_the_same_number_is_a_new_call() {
    let seen = steady(&stream(&[
        r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]"#,
        r#"[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"y\""}},{"index":0,"function":{"arguments":":2}"}}]"#,
    ]));
    assert_eq!(calls(&seen), [["a", "f", "{}"], ["b", "f", "{\"y\":2}"]]);
}

#[test]
fn an_id_that_comes_every_time_is_one_call() {
    let seen = steady(&stream(&[
        r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]"#,
        r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}]"#,
    ]));
    assert_eq!(calls(&seen), [["a", "f", "{}"]]);
}

#[test]
fn arguments_may_be_an_object() {
    let seen =
        steady(&stream(&[r#"[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]"#]));
    assert_eq!(calls(&seen), [["a", "f", "{\"x\":1}"]]);
    assert!(seen.answer.tool_calls()[0].is_object);
}

#[test]
fn calls_of_the_wrong_type_are_no_calls() {
    for odd in ["null", "[]", "\"x\"", "{}", "7"] {
        assert!(calls(&steady(&stream(&[odd]))).is_empty(), "{odd}");
    }
    for odd in [
        "[null]",
        "[7]",
        "[{}]",
        "[{\"function\":\"x\"}]",
        "[{\"index\":\"0\",\"function\":{\"name\":7,\"arguments\":null}}]",
    ] {
        let seen = steady(&stream(&[odd]));
        assert_eq!((seen.answer.malformed, told(&seen).1), (0, "I look it up."), "{odd}");
    }
}

#[test]
fn the_form_before_tools_is_one_call() {
    let old = [
        chat(r#"{"function_call":{"name":"f","arguments":"{"}}"#),
        chat(r#"{"function_call":{"arguments":"}"}}"#),
        stop("function_call"),
    ];
    assert_eq!(calls(&steady(&old.concat())), [["", "f", "{}"]]);
}

#[test]
fn a_call_cut_short_is_not_complete() {
    // router-for-me/CLIProxyAPI#4884, 2389-research/tracker#544
    let cut = [
        content("I look."),
        chat(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}]}"#),
    ];
    let seen = steady(&cut.concat());
    assert_eq!(told(&seen), ("", "I look.", Truncated, None));
    assert_eq!(calls(&seen), [["a", "f", "{\"x"]]);
    assert!(!seen.answer.tool_calls()[0].complete);
}
