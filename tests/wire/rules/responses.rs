//! The Responses API.

use decluster::wire::Reader;
use decluster::wire::Verdict::{Complete, Failed, Truncated};
use decluster_tests::rewriting::steady;
use decluster_tests::small::{DONE, event, named};

use super::{calls, told};

fn delta(name: &str, item: u32, part: u32, text: &str) -> String {
    let kind = format!("response.{name}.delta");
    let index = if name.contains("summary") { "summary_index" } else { "content_index" };
    named(&kind, &format!(r#""output_index":{item},"{index}":{part},"delta":"{text}""#))
}

fn created(id: &str) -> String {
    named("response.created", &format!(r#""response":{{"id":"{id}","status":"in_progress"}}"#))
}

fn completed() -> String {
    named(
        "response.completed",
        r#""response":{"id":"r","status":"completed","usage":{"output_tokens":9,"output_tokens_details":{"reasoning_tokens":5}}}"#,
    )
}

#[test]
fn parts_are_told_apart_by_their_numbers_not_by_the_id() {
    let with_id = |id: &str, text: &str| {
        named(
            "response.output_text.delta",
            &format!(r#""item_id":"{id}","output_index":0,"content_index":0,"delta":"{text}""#),
        )
    };
    let done = named(
        "response.output_text.done",
        r#""item_id":"i9","output_index":0,"content_index":0,"text":"One. Two.""#,
    );
    let stream = [created("r"), with_id("i1", "One. "), with_id("i2", "Two."), done, completed()];
    assert_eq!(told(&steady(&stream.concat())), ("", "One. Two.", Complete, Some("completed")));
}

#[test]
fn the_same_words_raw_and_as_a_summary_come_once() {
    // peonist-ai/halogen-flash-server#67
    let both = |text: &str| {
        [delta("reasoning_text", 0, 0, text), delta("reasoning_summary_text", 0, 0, text)].concat()
    };
    let stream = [
        created("r"),
        both("One. "),
        both("Two."),
        delta("output_text", 1, 0, "Yes."),
        completed(),
    ];
    assert_eq!(told(&steady(&stream.concat())), ("One. Two.", "Yes.", Complete, Some("completed")));
    // Of another item the other channel may come first.
    let stream =
        [created("r"), both("One."), delta("reasoning_summary_text", 2, 0, " Two."), completed()];
    assert_eq!(told(&steady(&stream.concat())).0, "One. Two.");
}

#[test]
fn both_channels_of_reasoning_are_read() {
    // vercel/ai#19659
    for name in ["reasoning_text", "reasoning_summary_text", "reasoning", "reasoning_summary"] {
        let stream = [
            created("r"),
            delta(name, 0, 0, "So it is."),
            delta("output_text", 1, 0, "Yes."),
            completed(),
        ];
        let seen = steady(&stream.concat());
        assert_eq!(told(&seen), ("So it is.", "Yes.", Complete, Some("completed")), "{name}");
        assert_eq!(seen.answer.reasoning_tokens, Some(5));
    }
    let object = named(
        "response.reasoning.delta",
        r#""output_index":0,"content_index":0,"delta":{"text":"So it is. And so."}"#,
    );
    assert_eq!(told(&steady(&[created("r"), object, completed()].concat())).0, "So it is. And so.");
}

#[test]
fn a_final_text_alone_is_taken_once() {
    // anomalyco/opencode#44595
    let done = named(
        "response.reasoning_summary_text.done",
        r#""output_index":0,"summary_index":0,"text":"So it is. And so.""#,
    );
    let part = named(
        "response.reasoning_summary_part.done",
        r#""output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"So it is. And so."}"#,
    );
    let item = named(
        "response.output_item.done",
        r#""output_index":0,"item":{"type":"reasoning","summary":[{"type":"summary_text","text":"So it is. And so."}]}"#,
    );
    for events in [vec![&done], vec![&done, &part], vec![&part, &item], vec![&done, &part, &item]] {
        let events: String = events.into_iter().map(String::as_str).collect();
        let stream = [&created("r"), &events, &*completed()].concat();
        assert_eq!(
            told(&steady(&stream)),
            ("So it is. And so.", "", Complete, Some("completed")),
            "{events}"
        );
    }
}

#[test]
fn a_summary_in_the_finished_item_alone_is_taken_once() {
    // diegosouzapw/OmniRoute#5832
    let item = named(
        "response.output_item.done",
        r#""output_index":0,"item":{"type":"reasoning","encrypted_content":"bm8=","summary":[{"type":"summary_text","text":"One. "},{"type":"summary_text","text":"Two."}]}"#,
    );
    let last = named(
        "response.completed",
        r#""response":{"id":"r","status":"completed","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"One. "},{"type":"summary_text","text":"Two."}]},{"type":"message","content":[{"type":"output_text","text":"Yes."}]}]}"#,
    );
    let text = delta("output_text", 1, 0, "Yes.");
    let seen = steady(&[created("r"), item, text, last.clone()].concat());
    assert_eq!(told(&seen), ("One. Two.", "Yes.", Complete, Some("completed")));
    let seen = steady(&[created("r"), last].concat());
    assert_eq!(told(&seen), ("One. Two.", "Yes.", Complete, Some("completed")));
}

#[test]
fn an_early_final_text_closes_nothing() {
    let done =
        named("response.output_text.done", r#""output_index":0,"content_index":0,"text":"One. ""#);
    let all = named(
        "response.output_text.done",
        r#""output_index":0,"content_index":0,"text":"One. Two.""#,
    );
    let stream = [
        created("r"),
        delta("output_text", 0, 0, "One. "),
        done,
        delta("output_text", 0, 0, "Two."),
        all,
        completed(),
    ];
    assert_eq!(told(&steady(&stream.concat())), ("", "One. Two.", Complete, Some("completed")));
}

#[test]
fn an_empty_final_output_replaces_nothing() {
    let last =
        named("response.completed", r#""response":{"id":"r","status":"completed","output":[]}"#);
    let stream = [created("r"), delta("output_text", 0, 0, "Yes."), last];
    assert_eq!(told(&steady(&stream.concat())), ("", "Yes.", Complete, Some("completed")));
}

#[test]
fn incomplete_and_failed_ends_are_not_taken_for_success() {
    // openai/openai-agents-python#3106
    let incomplete = named(
        "response.incomplete",
        r#""response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#,
    );
    let seen = steady(&[created("r"), delta("reasoning_text", 0, 0, "So"), incomplete].concat());
    assert_eq!(told(&seen), ("So", "", Complete, Some("incomplete:max_output_tokens")));
    let failed = named(
        "response.failed",
        r#""response":{"id":"r","status":"failed","error":{"code":"server_error","message":"m"}}"#,
    );
    let seen = steady(&[created("r"), delta("output_text", 0, 0, "x"), failed].concat());
    assert_eq!(told(&seen), ("", "x", Failed, Some("failed")));
    assert_eq!(seen.answer.error.as_deref(), Some(r#"{"code":"server_error","message":"m"}"#));
}

#[test]
fn a_stream_without_a_terminal_event_is_cut() {
    // openclaw/openclaw#109133, router-for-me/CLIProxyAPI#4905
    let item = named(
        "response.output_item.done",
        r#""output_index":0,"item":{"type":"message","status":"completed","content":[{"type":"output_text","text":"Yes."}]}"#,
    );
    let stream = [created("r"), delta("output_text", 0, 0, "Yes."), item].concat();
    assert_eq!(told(&steady(&stream)), ("", "Yes.", Truncated, None));
    assert_eq!(told(&steady(&[&stream, DONE].concat())).2, Truncated, "`[DONE]` is no end here");
    assert_eq!(told(&steady(&[&stream, &*completed(), DONE].concat())).2, Complete);
}

#[test]
fn errors_are_flat_or_nested() {
    let flat =
        named("error", r#""code":"rate_limit","message":"m","param":null,"sequence_number":3"#);
    let nested = named(
        "error",
        r#""sequence_number":3,"error":{"type":"invalid_request_error","code":"c","message":"m"}"#,
    );
    for (error, says) in [(flat, "rate_limit"), (nested, "invalid_request_error")] {
        let seen = steady(&[created("r"), delta("output_text", 0, 0, "x"), error].concat());
        assert_eq!((told(&seen).1, told(&seen).2), ("x", Failed));
        assert!(seen.answer.error.unwrap().contains(says));
    }
}

#[test]
fn refusals_are_visible_and_unknown_events_nothing() {
    let stream = [
        created("r"),
        named("response.queued", r#""response":{"id":"r"}"#),
        named("response.in_progress", r#""response":{"id":"r"}"#),
        event(r#"{"type":"keepalive","sequence_number":4}"#),
        delta("refusal", 0, 0, "I will not. "),
        named("response.novelty.delta", r#""delta":"no""#),
        named("response.output_text.annotation.added", r#""annotation":{"text":"no"}"#),
        delta("refusal", 0, 0, "Ask me else."),
        named(
            "response.refusal.done",
            r#""output_index":0,"content_index":0,"refusal":"I will not. Ask me else.""#,
        ),
        completed(),
    ];
    assert_eq!(
        told(&steady(&stream.concat())),
        ("", "I will not. Ask me else.", Complete, Some("completed"))
    );
}

#[test]
fn calls_are_put_together_and_the_final_form_counts() {
    let added = |item: u32, kind: &str, rest: &str| {
        named(
            "response.output_item.added",
            &format!(r#""output_index":{item},"item":{{"type":"{kind}",{rest}}}"#),
        )
    };
    let stream = [
        created("r"),
        added(0, "function_call", r#""call_id":"c0","name":"f","arguments":"""#),
        added(1, "web_search_call", r#""id":"w""#),
        named("response.function_call_arguments.delta", r#""output_index":0,"delta":"{\"x\"""#),
        named("response.function_call_arguments.delta", r#""output_index":0,"delta":":1}""#),
        named(
            "response.function_call_arguments.done",
            r#""output_index":0,"arguments":"{\"x\":1}""#,
        ),
        added(2, "custom_tool_call", r#""call_id":"c2","name":"g","input":"""#),
        named("response.custom_tool_call_input.delta", r#""output_index":2,"delta":"free ""#),
        named(
            "response.output_item.done",
            r#""output_index":2,"item":{"type":"custom_tool_call","call_id":"c2","name":"g","input":"free text"}"#,
        ),
        completed(),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(calls(&seen), [["c0", "f", "{\"x\":1}"], ["c2", "g", "free text"]]);
    assert!(seen.answer.tool_calls().iter().all(|call| call.complete));
}

#[test]
fn an_item_of_reasoning_may_have_no_text() {
    let item = |event: &str| {
        named(
            event,
            r#""output_index":0,"item":{"id":"i","type":"reasoning","summary":[],"encrypted_content":"bm8="}"#,
        )
    };
    let stream = [
        created("r"),
        item("response.output_item.added"),
        item("response.output_item.done"),
        delta("output_text", 1, 0, "Yes."),
        completed(),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("", "Yes.", Complete, Some("completed")));
    assert_eq!(seen.answer.reasoning_tokens, Some(5));
}

#[test]
fn brackets_may_come_in_forms_of_their_own() {
    let stream = [
        created("r"),
        named(
            "response.reasoning_part.added",
            r#""output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":""}"#,
        ),
        delta("reasoning_text", 0, 0, "So. "),
        named(
            "response.reasoning_part.done",
            r#""output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":"So. "}"#,
        ),
        named(
            "response.content_part.added",
            r#""output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}"#,
        ),
        delta("output_text", 1, 0, "Yes."),
        named(
            "response.content_part.done",
            r#""output_index":1,"content_index":0,"part":{"type":"output_text","text":"Yes."}"#,
        ),
        named("response.done", r#""response":{"status":"completed"}"#),
    ];
    assert_eq!(told(&steady(&stream.concat())), ("So. ", "Yes.", Complete, Some("completed")));
}

#[test]
fn fields_of_the_wrong_type_are_nothing() {
    for wrong in ["null", "7", "true", "[]", "{}", "[null]", "{\"text\":7}"] {
        let kinds = [
            "response.output_text.delta",
            "response.reasoning_text.delta",
            "response.output_item.done",
            "response.created",
            "response.output_text.done",
            "response.content_part.done",
            "response.function_call_arguments.delta",
        ];
        for kind in kinds {
            let odd = named(
                kind,
                &format!(
                    r#""delta":{wrong},"item":{wrong},"response":{wrong},"text":{wrong},"part":{wrong},"output_index":{wrong},"sequence_number":{wrong}"#
                ),
            );
            let text = delta("output_text", 9, 9, "Yes.");
            let seen = steady(&[&created("r"), &odd, &text, &*completed()].concat());
            assert_eq!(told(&seen), ("", "Yes.", Complete, Some("completed")), "{odd}");
        }
    }
}

#[test]
fn a_resumed_stream_needs_no_beginning() {
    // openai/openai-python#2828, openai/openai-node#1983, openai/openai-node#1984, openai/openai-node#2671,
    // openai/openai-ruby#548
    let number =
        |n: u32, event: &str| event.replacen("\",", &format!("\",\"sequence_number\":{n},"), 1);
    let all = named(
        "response.completed",
        r#""response":{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"One goes in. One comes out. And a third."}]}]}"#,
    );
    let stream = [
        number(11, &delta("output_text", 1, 0, "One comes out. ")),
        number(12, &delta("output_text", 1, 0, "And a third.")),
        number(
            13,
            &named(
                "response.output_text.done",
                r#""output_index":1,"content_index":0,"text":"One goes in. One comes out. And a third.""#,
            ),
        ),
        number(14, &all),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("", "One comes out. And a third.", Complete, Some("completed")));
    // The number to resume after is that of the last event really seen.
    let mut reader = Reader::new(None);
    let data = stream[1].split("data: ").nth(1).unwrap().trim_end();
    let (last, place) = reader.read_event("message", data).number.unwrap();
    assert_eq!((last, &data[place]), (12, "12"));
}

#[test]
fn a_replay_is_told_by_its_numbers_and_nothing_is_dropped_unasked() {
    // diegosouzapw/OmniRoute#5832. A re-cut stream repeats numbers, so only a caller who says that a new
    // attempt begins may have replays dropped; the reader gives each event's number and all of its text.
    let text = |n: u32, text: &str| {
        event(&format!(
            r#"{{"type":"response.output_text.delta","sequence_number":{n},"output_index":0,"content_index":0,"delta":"{text}"}}"#
        ))
    };
    let stream = [text(4, "a"), text(5, "b"), text(4, "a"), text(5, "b"), text(6, "c")];
    let mut reader = Reader::new(None);
    let numbers: Vec<u64> = stream
        .iter()
        .map(|event| {
            reader
                .read_event("message", event.trim_start_matches("data: ").trim())
                .number
                .unwrap()
                .0
        })
        .collect();
    assert_eq!(numbers, [4, 5, 4, 5, 6]);
    assert_eq!(told(&steady(&[&stream.concat(), &*completed()].concat())).1, "ababc");
}

#[test]
fn another_response_in_the_same_stream_begins_the_answer_anew() {
    // earendil-works/pi#8031, HKUDS/nanobot#4038, NuGuardAI/nuguard#455, endolith/open-interpreter#291,
    // speakeasy-api/kit#10, langchain-ai/deepagents#5905: what the retry says is not glued to what came.
    let stream = [
        created("r1"),
        delta("reasoning_text", 0, 0, "So. \\ud83d"),
        delta("output_text", 1, 0, "Half of"),
        created("r2"),
        delta("reasoning_text", 0, 0, "Anew."),
        delta("output_text", 1, 0, "All of it."),
        completed(),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("Anew.", "All of it.", Complete, Some("completed")));
    assert_eq!(seen.answer.restarts, 1);
    // The same one announced again is no other.
    let again = [
        created("r1"),
        delta("output_text", 0, 0, "One. "),
        created("r1"),
        delta("output_text", 0, 0, "Two."),
        completed(),
    ];
    let seen = steady(&again.concat());
    assert_eq!((told(&seen).1, seen.answer.restarts), ("One. Two.", 0));
}

#[test]
fn half_a_character_alone_is_no_text_of_a_part() {
    // The re-cut event has an empty string there: it must not have opened a channel before.
    let half = named(
        "response.reasoning_summary_text.done",
        r#""output_index":0,"summary_index":0,"text":"\ud83d""#,
    );
    let stream = [&created("r"), &half, &delta("reasoning_text", 0, 0, "So it is."), &*completed()];
    assert_eq!(
        told(&steady(&stream.concat())),
        ("\u{fffd}So it is.", "", Complete, Some("completed"))
    );
}
