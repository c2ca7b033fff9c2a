//! What Azure sends beside the chunks of chat completions.

use decluster::wire::Verdict::Complete;
use decluster_tests::rewriting::steady;
use decluster_tests::small::{DONE, content, event, stop};

use super::told;

const FIRST: &str = r#"{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}"#;

#[test]
fn the_first_event_has_no_choice() {
    let stream = [&event(FIRST), &content("x"), &stop("stop"), DONE].concat();
    assert_eq!(told(&steady(&stream)), ("", "x", Complete, Some("stop")));
    let seen = steady(&event(FIRST));
    assert!(seen.answer.choices.is_empty() && seen.dialect.is_some());
}

#[test]
fn results_of_the_filter_stand_beside_the_text() {
    let chunk = |text: &str| {
        event(&format!(
            r#"{{"choices":[{{"content_filter_results":{{"hate":{{"filtered":false,"severity":"safe"}}}},"delta":{{"content":"{text}"}},"finish_reason":null,"index":0,"logprobs":null}}]}}"#
        ))
    };
    let stream = [
        chunk("One goes in. "),
        chunk("One comes out. And a third."),
        stop("stop"),
        DONE.to_owned(),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(
        told(&seen),
        ("", "One goes in. One comes out. And a third.", Complete, Some("stop"))
    );
}

/// The asynchronous mode of the filter, by its documentation: verdicts follow the text, in entries without a
/// delta or with an empty one.
#[test]
fn verdicts_of_the_filter_may_follow_the_text() {
    let verdict = |delta: &str, end: u32| {
        event(&format!(
            r#"{{"id":"","object":"","created":0,"model":"","choices":[{{"index":0,"finish_reason":null,{delta}"content_filter_offsets":{{"check_offset":44,"start_offset":44,"end_offset":{end}}},"content_filter_results":{{"hate":{{"filtered":false,"severity":"safe"}}}}}}]}}"#
        ))
    };
    let stream = [
        event(FIRST),
        content("One goes in. "),
        verdict("", 57),
        content("One comes out."),
        verdict(r#""delta":{},"#, 71),
        verdict(r#""delta":{"content":""},"#, 71),
        stop("stop"),
        verdict("", 200),
        DONE.to_owned(),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("", "One goes in. One comes out.", Complete, Some("stop")));
    assert_eq!((seen.answer.choices.len(), seen.answer.malformed), (1, 0));
}

#[test]
fn a_stream_the_filter_ends_has_no_error() {
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter","content_filter_results":{"violence":{"filtered":true,"severity":"high"}}}]}"#;
    let seen = steady(&[&event(FIRST), &content("One "), &event(end), DONE].concat());
    assert_eq!(told(&seen), ("", "One ", Complete, Some("content_filter")));
}
