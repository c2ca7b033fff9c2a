//! Anthropic's Messages.

use std::time::{Duration, Instant};

use decluster::wire::Verdict::{Complete, Failed, Truncated};
use decluster_tests::rewriting::steady;
use decluster_tests::small::{event, named};
use decluster_tests::streams::read;

use super::{calls, told};

fn start(id: &str) -> String {
    named(
        "message_start",
        &format!(
            r#""message":{{"id":"{id}","role":"assistant","content":[],"usage":{{"input_tokens":5,"output_tokens":1}}}}"#
        ),
    )
}

fn block(index: u32, block: &str) -> String {
    named("content_block_start", &format!(r#""index":{index},"content_block":{{{block}}}"#))
}

fn delta(index: u32, delta: &str) -> String {
    named("content_block_delta", &format!(r#""index":{index},"delta":{{{delta}}}"#))
}

fn thinking(index: u32, text: &str) -> String {
    delta(index, &format!(r#""type":"thinking_delta","thinking":"{text}""#))
}

fn text(index: u32, text: &str) -> String {
    delta(index, &format!(r#""type":"text_delta","text":"{text}""#))
}

fn close(index: u32) -> String {
    named("content_block_stop", &format!(r#""index":{index}"#))
}

fn end(why: &str) -> String {
    [
        named("message_delta", &format!(r#""delta":{{"stop_reason":"{why}","stop_sequence":null}},"usage":{{"output_tokens":9}}"#)),
        named("message_stop", ""),
    ]
    .concat()
}

fn message(blocks: &[String]) -> String {
    [start("m"), blocks.concat(), end("end_turn")].concat()
}

const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";

#[test]
fn thinking_and_text_are_told_apart_by_their_deltas() {
    let seen = steady(&message(&[
        block(0, r#""type":"thinking","thinking":"","signature":"""#),
        thinking(0, "First we look. "),
        thinking(0, "Then we act. And it ends."),
        delta(0, r#""type":"signature_delta","signature":"abc""#),
        close(0),
        block(1, r#""type":"text","text":"""#),
        text(1, "Yes. It is so."),
        close(1),
    ]));
    assert_eq!(
        told(&seen),
        ("First we look. Then we act. And it ends.", "Yes. It is so.", Complete, Some("end_turn"))
    );
}

#[test]
fn a_ping_counts_for_nothing_wherever_it_comes() {
    // vercel/ai#383, vercel/ai#447
    let inner = [
        PING,
        &start("m"),
        PING,
        &text(0, "One. "),
        PING,
        &text(0, "Two."),
        &end("end_turn"),
        PING,
    ]
    .concat();
    let seen = steady(&inner);
    assert_eq!(told(&seen), ("", "One. Two.", Complete, Some("end_turn")));
    let nameless = event(r#"{"type":"ping","cost":"0.01"}"#);
    assert_eq!(told(&steady(&[&nameless, &*inner].concat())).1, "One. Two.");
}

#[test]
fn an_error_in_the_middle_is_a_failure_and_the_text_stays() {
    // farzaa/clicky#132, jeremychone/rust-genai#245, karthink/gptel#1512
    let error = named("error", r#""error":{"type":"overloaded_error","message":"Overloaded"}"#);
    let seen = steady(&[start("m"), thinking(0, "So."), text(1, "Half of"), error].concat());
    assert_eq!(told(&seen), ("So.", "Half of", Failed, None));
    assert_eq!(
        seen.answer.error.as_deref(),
        Some(r#"{"type":"overloaded_error","message":"Overloaded"}"#)
    );
}

#[test]
fn signatures_come_in_pieces_or_without_any_text() {
    // BerriAI/litellm#8797, OpenRouterTeam/ai-sdk-provider#427, turnstonelabs/turnstone#214, pensarai/apex#534
    let signature =
        |part: &str| delta(0, &format!(r#""type":"signature_delta","signature":"{part}""#));
    let stream = message(&[
        block(0, r#""type":"thinking","thinking":"","signature":"""#),
        signature("abc"),
        signature("def"),
        close(0),
        text(1, "Yes."),
    ]);
    let seen = steady(&stream);
    assert_eq!(told(&seen), ("", "Yes.", Complete, Some("end_turn")));
    assert_eq!(seen.texts[&0][0], "");
}

#[test]
fn redacted_thinking_and_what_the_provider_runs_have_no_text() {
    let seen = steady(&message(&[
        block(0, r#""type":"redacted_thinking","data":"bm8=""#),
        close(0),
        block(1, r#""type":"server_tool_use","id":"s","name":"web_search","input":{}"#),
        delta(1, r#""type":"input_json_delta","partial_json":"{\"query\":\"no\"}""#),
        close(1),
        block(
            2,
            r#""type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","title":"no"}]"#,
        ),
        close(2),
        thinking(3, "So."),
        delta(4, r#""type":"citations_delta","citation":{"cited_text":"no"}"#),
        text(4, "Yes."),
    ]));
    assert_eq!(told(&seen), ("So.", "Yes.", Complete, Some("end_turn")));
    assert!(calls(&seen).is_empty());
}

#[test]
fn text_in_the_beginning_of_a_block_counts() {
    let seen = steady(&message(&[
        block(0, r#""type":"thinking","thinking":"First we look. ""#),
        thinking(0, "Then we act."),
        block(1, r#""type":"text","text":"One. Two. ""#),
        text(1, "Three."),
    ]));
    assert_eq!(
        told(&seen),
        ("First we look. Then we act.", "One. Two. Three.", Complete, Some("end_turn"))
    );
}

#[test]
fn tool_calls_are_put_together() {
    let stream = [
        start("m"),
        thinking(0, "So."),
        block(1, r#""type":"tool_use","id":"t1","name":"f","input":{}"#),
        delta(1, r#""type":"input_json_delta","partial_json":"""#),
        delta(1, r#""type":"input_json_delta","partial_json":"{\"x\"""#),
        delta(1, r#""type":"input_json_delta","partial_json":":1}""#),
        close(1),
        block(2, r#""type":"tool_use","id":"t2","name":"g","input":{"y":2}"#),
        close(2),
        end("tool_use"),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("So.", "", Complete, Some("tool_use")));
    assert_eq!(calls(&seen), [["t1", "f", "{\"x\":1}"], ["t2", "g", "{\"y\":2}"]]);
    let cut = steady(&stream[..4].concat());
    assert_eq!((cut.answer.verdict, cut.answer.tool_calls()[0].complete), (Some(Truncated), false));
}

#[test]
fn a_reason_to_stop_is_enough_for_an_end() {
    let delta = named(
        "message_delta",
        r#""delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}"#,
    );
    let seen = steady(&[start("m"), text(0, "x"), delta].concat());
    assert_eq!(told(&seen), ("", "x", Complete, Some("max_tokens")));
    let none =
        named("message_delta", r#""delta":{"stop_reason":null},"usage":{"output_tokens":9}"#);
    let seen = steady(&[start("m"), text(0, "x"), close(0), none].concat());
    assert_eq!(told(&seen), ("", "x", Truncated, None));
}

#[test]
fn another_message_in_the_same_stream_begins_the_answer_anew() {
    // earendil-works/pi#8031, HKUDS/nanobot#4038, NuGuardAI/nuguard#455, endolith/open-interpreter#291
    let stream = [
        start("m1"),
        thinking(0, "So. \\ud83d"),
        block(1, r#""type":"tool_use","id":"t1","name":"f","input":{}"#),
        text(2, "Half of"),
        start("m2"),
        thinking(0, "Anew."),
        text(1, "All of it."),
        end("end_turn"),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("Anew.", "All of it.", Complete, Some("end_turn")));
    assert_eq!(seen.answer.restarts, 1);
    assert!(calls(&seen).is_empty());
    let same = [start("m"), text(0, "One. "), start("m"), text(0, "Two."), end("end_turn")];
    let seen = steady(&same.concat());
    assert_eq!((told(&seen).1, seen.answer.restarts), ("One. Two.", 0));
}

#[test]
fn the_events_before_messages_are_read() {
    let old = |text: &str, why: &str| {
        format!(
            "event: completion\r\ndata: {{\"type\":\"completion\",\"completion\":\"{text}\",\"stop_reason\":{why},\"stop\":null}}\r\n\r\n"
        )
    };
    let stream =
        [old(" One is in.", "null"), old(" Two is out. And that is it.", "\"stop_sequence\"")]
            .concat();
    assert_eq!(
        told(&steady(&stream)),
        ("", " One is in. Two is out. And that is it.", Complete, Some("stop_sequence"))
    );
}

#[test]
fn halves_of_characters_wait_in_their_block() {
    let stream = message(&[
        thinking(0, "a\\ud83d"),
        thinking(0, "\\ude00b"),
        text(1, "c\\ud83e"),
        PING.to_owned(),
        text(1, "\\udd80"),
    ]);
    let seen = steady(&stream);
    assert_eq!(told(&seen), ("a\u{1f600}b", "c\u{1f980}", Complete, Some("end_turn")));
}

#[test]
fn fields_of_the_wrong_type_are_nothing() {
    for wrong in ["null", "7", "true", "\"\"", "[]", "{}", "[null]"] {
        for odd in [
            named("message_start", &format!(r#""message":{wrong}"#)),
            named("content_block_start", &format!(r#""index":{wrong},"content_block":{wrong}"#)),
            block(0, &format!(r#""type":{wrong},"text":{wrong},"thinking":{wrong}"#)),
            block(
                0,
                &format!(r#""type":"server_tool_use","id":{wrong},"name":{wrong},"input":{wrong}"#),
            ),
            named("content_block_delta", &format!(r#""index":{wrong},"delta":{wrong}"#)),
            delta(
                0,
                &format!(
                    r#""type":{wrong},"text":{wrong},"thinking":{wrong},"partial_json":{wrong}"#
                ),
            ),
            named("content_block_stop", &format!(r#""index":{wrong}"#)),
            named("message_delta", &format!(r#""delta":{wrong},"usage":{wrong}"#)),
            named("message_delta", &format!(r#""delta":{{"stop_reason":{wrong}}}"#)),
        ] {
            // The first announces the message without an id.
            let begin = if odd.contains("message_start") {
                odd.clone()
            } else {
                [start("m"), odd.clone()].concat()
            };
            let seen = steady(&[begin, text(0, "Yes."), end("end_turn")].concat());
            assert_eq!(told(&seen), ("", "Yes.", Complete, Some("end_turn")), "{odd}");
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the bound on time is what is tested")]
fn usage_that_comes_often_takes_linear_time() {
    let large = format!(r#""usage":{{"input_tokens":3,"note":"{}"}}"#, "x".repeat(1 << 20));
    let often = named("message_delta", r#""delta":{},"usage":{"output_tokens":7}"#).repeat(20_000);
    let stream = [
        &named("message_start", &format!(r#""message":{{"id":"m",{large}}}"#)),
        &often,
        &*end("end_turn"),
    ]
    .concat();
    let started = Instant::now();
    let seen = read([stream.as_bytes()], None);
    // Putting the large one together with each small one would take minutes.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let usage = seen.answer.usage.unwrap();
    assert!(usage.contains(r#""input_tokens":3"#) && usage.contains(r#""output_tokens":9"#));
}
