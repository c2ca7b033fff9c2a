//! Chat completions: choices, texts, what else stands in a chunk.

use decluster::Kind::{Output, Reasoning};
use decluster::wire::Verdict::{Complete, Failed, Truncated};
use decluster_tests::rewriting::{config, rewrite, steady};
use decluster_tests::small::{DONE, chat, content, event, reasoning, stop};

use super::told;

#[test]
fn choices_may_be_empty_absent_or_of_no_use() {
    let odd = [
        r#"{"choices":[]}"#,
        r#"{"object":"chat.completion.chunk"}"#,
        r#"{"choices":null}"#,
        r#"{"choices":{}}"#,
        r#"{"choices":[{}]}"#,
        r#"{"choices":[null,7,"x",[]]}"#,
        r#"{"choices":[{"index":0,"delta":null}]}"#,
    ];
    for odd in odd {
        let odd = event(odd);
        let seen =
            steady(&[&content("a"), &odd, &content("b"), &stop("stop"), &odd, DONE].concat());
        assert_eq!(told(&seen), ("", "ab", Complete, Some("stop")), "{odd}");
        assert_eq!(seen.answer.malformed, 0, "{odd}");
    }
}

#[test]
fn choices_come_interleaved_and_several_in_one_event() {
    let stream = [
        event(
            r#"{"choices":[{"index":1,"delta":{"content":"One is b. "}},{"delta":{"content":"One is a. "}}]}"#,
        ),
        event(
            r#"{"choices":[{"index":2.0,"delta":{"reasoning":"c"}},{"index":1,"delta":{"content":"Two is b."}}]}"#,
        ),
        event(
            r#"{"choices":[{"index":0,"delta":{"content":"Two is a."},"finish_reason":"stop"}]}"#,
        ),
        event(
            r#"{"choices":[{"index":1,"delta":{},"finish_reason":"length"},{"index":2,"delta":{},"finish_reason":"stop"}]}"#,
        ),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("", "One is a. Two is a.", Complete, Some("stop")));
    assert_eq!(seen.text(1, Output), "One is b. Two is b.");
    assert_eq!(seen.text(2, Reasoning), "c");
    let finishes: Vec<_> =
        seen.answer.choices.iter().map(|c| (c.index, c.finish.as_deref())).collect();
    assert_eq!(finishes, [(1, Some("length")), (0, Some("stop")), (2, Some("stop"))]);
    // One choice without an end: cut.
    assert_eq!(steady(&stream[..3].concat()).answer.verdict, Some(Truncated));
}

#[test]
fn an_index_may_be_anything() {
    for index in
        ["4294967295", "0.0", "null", "\"0\"", "-1", "1e9", "99999999999999999999", "[]", "{}"]
    {
        let event = event(&format!(
            r#"{{"choices":[{{"index":{index},"delta":{{"content":"x"}},"finish_reason":"stop"}}]}}"#
        ));
        let seen = steady(&event);
        assert_eq!(seen.answer.choices.len(), 1, "{index}");
        let index = seen.answer.choices[0].index;
        assert_eq!(seen.text(index, Output), "x", "{index}");
        assert_eq!((seen.answer.verdict, seen.answer.malformed), (Some(Complete), 0), "{index}");
    }
}

#[test]
fn fields_of_the_wrong_type_are_nothing() {
    for wrong in
        ["null", "0", "1.5", "true", "false", "{}", "[]", "[null]", "[[]]", "[{}]", "{\"a\":1}"]
    {
        for field in [
            "role",
            "content",
            "refusal",
            "reasoning_content",
            "reasoning",
            "reasoning_details",
            "tool_calls",
            "function_call",
            "audio",
        ] {
            let odd = chat(&format!(r#"{{"{field}":{wrong}}}"#));
            let seen = steady(&[&content("a"), &odd, &content("b"), &stop("stop"), DONE].concat());
            assert_eq!(told(&seen), ("", "ab", Complete, Some("stop")), "{odd}");
            assert_eq!(seen.answer.malformed, 0, "{odd}");
        }
        for member in ["usage", "error", "id", "created", "x_groq", "obfuscation"] {
            let odd = format!(
                r#"{{"{member}":{wrong},"choices":[{{"index":0,"delta":{{"content":"b"}}}}]}}"#
            );
            let seen = steady(&[&content("a"), &event(&odd), &stop("stop"), DONE].concat());
            assert_eq!((told(&seen).1, told(&seen).3), ("ab", Some("stop")), "{odd}");
        }
        for member in ["finish_reason", "logprobs", "native_finish_reason"] {
            let odd = format!(
                r#"{{"choices":[{{"index":0,"{member}":{wrong},"delta":{{"content":"b"}}}}]}}"#
            );
            let seen = steady(&[&content("a"), &event(&odd), &stop("stop"), DONE].concat());
            assert_eq!(told(&seen), ("", "ab", Complete, Some("stop")), "{odd}");
        }
    }
}

#[test]
fn a_refusal_is_visible_text() {
    let refusal = |text: &str| chat(&format!(r#"{{"refusal":"{text}","content":null}}"#));
    let stream = [&refusal("I will not. "), &refusal("Ask me else."), &stop("stop"), DONE].concat();
    assert_eq!(told(&steady(&stream)), ("", "I will not. Ask me else.", Complete, Some("stop")));
}

#[test]
fn text_and_usage_may_follow_the_finish_reason() {
    let usage = event(r#"{"choices":[{"index":0,"delta":{}}],"usage":{"completion_tokens":3}}"#);
    let stream =
        [&content("One. "), &stop("stop"), &content("Two."), &reasoning("r"), &usage, DONE]
            .concat();
    let seen = steady(&stream);
    assert_eq!(told(&seen), ("r", "One. Two.", Complete, Some("stop")));
    assert_eq!(seen.answer.usage.as_deref(), Some(r#"{"completion_tokens":3}"#));
}

#[test]
fn an_error_behind_a_finish_reason_is_a_failure() {
    let error = event(r#"{"error":{"message":"overloaded"},"choices":[]}"#);
    let seen = steady(&[&content("x"), &stop("length"), &error, DONE].concat());
    assert_eq!(told(&seen), ("", "x", Failed, Some("length")));
}

#[test]
fn a_finish_reason_may_stand_with_the_last_text_or_call() {
    let stream = event(
        r#"{"choices":[{"index":0,"delta":{"content":"One goes in. One comes out.","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
    );
    let seen = steady(&stream);
    assert_eq!(told(&seen), ("", "One goes in. One comes out.", Complete, Some("tool_calls")));
    assert!(seen.answer.tool_calls()[0].complete);
}

#[test]
fn nothing_counts_behind_done() {
    let error = event(r#"{"error":{"message":"late"}}"#);
    let seen = steady(&[&content("a"), DONE, &content("b"), &error, "data: {\n\n"].concat());
    assert_eq!(told(&seen), ("", "a", Complete, None));
    assert_eq!(seen.answer.malformed, 0);
    for done in [
        "data:[DONE]\n\n",
        "data:  [DONE] \n\n",
        "data: [DONE] bye\n\n",
        "event: end\ndata: [DONE]\n\n",
    ] {
        assert_eq!(
            told(&steady(&[&content("a"), done].concat())),
            ("", "a", Complete, None),
            "{done}"
        );
    }
}

#[test]
fn the_id_of_a_chunk_says_nothing() {
    let chunk = |id: &str, text: &str| {
        event(&format!(r#"{{"id":{id},"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#))
    };
    let stream = [
        chunk("\"\"", "a"),
        chunk("\"x\"", "b"),
        chunk("\"y\"", "c"),
        chunk("null", "d"),
        stop("stop"),
    ];
    assert_eq!(told(&steady(&stream.concat())), ("", "abcd", Complete, Some("stop")));
}

#[test]
fn a_growing_message_beside_the_delta_is_not_text() {
    let chunk = |text: &str, all: &str| {
        event(&format!(
            r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":"{all}"}},"delta":{{"content":"{text}"}}}}],"usage":{{"completion_tokens":{}}}}}"#,
            all.len()
        ))
    };
    let stream = [chunk("One. ", "One. "), chunk("Two.", "One. Two."), stop("stop")].concat();
    let seen = steady(&stream.replace('\n', "\r\n"));
    assert_eq!(told(&seen), ("", "One. Two.", Complete, Some("stop")));
    assert_eq!(seen.answer.usage.as_deref(), Some(r#"{"completion_tokens":9}"#));
}

#[test]
fn members_nobody_knows_change_nothing() {
    let odd = [
        r#""obfuscation":"k3JhX""#,
        r#""citations":["u1","u2"]"#,
        r#""search_results":[{"title":"t","snippet":"{\"delta\":{\"content\":\"no\"}}"}]"#,
        r#""timings":{"predicted_n":5}"#,
        r#""latency_checkpoint":{"engine_ms":4}"#,
        r#""provider_metadata":{"gateway":{"cost":"0.1"}}"#,
        r#""content":"no""#,
        r#""delta":{"content":"no"}"#,
    ];
    for odd in odd {
        let chunk = format!(
            r#"{{{odd},"choices":[{{"index":0,"delta":{{"content":"One is in. One is out."}},"matched_stop":2,"token_id":7}}]}}"#
        );
        let seen = steady(&[event(&chunk), stop("stop"), DONE.to_owned()].concat());
        assert_eq!(told(&seen), ("", "One is in. One is out.", Complete, Some("stop")), "{odd}");
    }
    let groq =
        chat(r#"{"channel":"analysis","reasoning":"so","executed_tools":[{"output":"no"}]}"#);
    assert_eq!(told(&steady(&[&groq, DONE].concat())), ("so", "", Complete, None));
}

#[test]
fn events_that_come_twice_are_text_twice() {
    // Nothing in a chat stream tells a replay: equal words follow each other in any answer.
    let stream =
        [content("ha"), content("ha"), stop("stop"), stop("stop"), DONE.repeat(2)].concat();
    assert_eq!(told(&steady(&stream)), ("", "haha", Complete, Some("stop")));
}

#[test]
fn of_keys_that_come_twice_the_last_counts() {
    let twice = chat(r#"{"content":"no","content":"yes. And more of it."}"#);
    assert_eq!(told(&steady(&[&twice, DONE].concat())).1, "yes. And more of it.");
}

#[test]
fn texts_may_hold_anything() {
    let odd = r#"nul \u0000, \"quotes\" \\ \/ tab \t, \r\n line. \u2028 \ud83e\udd80 end"#;
    let seen = steady(&[content(odd), stop("stop")].concat());
    assert_eq!(told(&seen).1, "nul \0, \"quotes\" \\ / tab \t, \r\n line. \u{2028} \u{1f980} end");
}

#[test]
fn a_half_of_a_character_waits_for_the_other_in_its_own_channel() {
    let stream = [
        chat(r#"{"reasoning_content":"r\ud83d","content":"o\ud83e"}"#),
        chat(r#"{"reasoning_content":"\ude00","content":""}"#),
        event(r#"{"choices":[{"index":1,"delta":{"content":"other"}}]}"#),
        event(r#"{"choices":[{"index":0,"delta":{"content":"\udd80"},"finish_reason":"stop"}]}"#),
        DONE.to_owned(),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("r\u{1f600}", "o\u{1f980}", Complete, Some("stop")));
    assert_eq!((seen.text(1, Output), seen.answer.repairs), ("other", 0));
}

#[test]
fn completions_of_the_old_kind_are_read() {
    let old = |text: &str, why: &str| {
        event(&format!(
            r#"{{"object":"text_completion","choices":[{{"index":0,"text":"{text}","finish_reason":{why}}}]}}"#
        ))
    };
    let seen = steady(&[old("One. ", "null"), old("Two.", "\"stop\""), DONE.to_owned()].concat());
    assert_eq!(told(&seen), ("", "One. Two.", Complete, Some("stop")));
    let both =
        event(r#"{"choices":[{"index":0,"text":"One. Two.","delta":{"content":"One. Two."}}]}"#);
    assert_eq!(told(&steady(&[&both, DONE].concat())), ("", "One. Two.", Complete, None));
}

#[test]
fn the_shapes_of_sglang_and_of_vllm_are_read() {
    let sglang = [
        event(
            r#"{"id":"s","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}"#,
        ),
        event(
            r#"{"id":"s","choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":"So it is.","tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}"#,
        ),
        event(
            r#"{"id":"s","choices":[{"index":0,"delta":{"role":null,"content":"Yes.","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}"#,
        ),
        event(
            r#"{"id":"s","choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":null},"finish_reason":"stop","matched_stop":151645}],"usage":null}"#,
        ),
        event(
            r#"{"id":"s","choices":[],"usage":{"prompt_tokens":4,"completion_tokens":9,"total_tokens":13,"reasoning_tokens":6}}"#,
        ),
        DONE.to_owned(),
    ];
    let seen = steady(&sglang.concat());
    assert_eq!(told(&seen), ("So it is.", "Yes.", Complete, Some("stop")));
    assert_eq!(seen.answer.reasoning_tokens, Some(6));
    let vllm = [
        event(
            r#"{"id":"v","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":null},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":4,"completion_tokens":0,"total_tokens":4}}"#,
        ),
        event(
            r#"{"id":"v","choices":[{"index":0,"delta":{"reasoning":"So it is."},"logprobs":null,"finish_reason":null,"token_ids":null}],"usage":{"prompt_tokens":4,"completion_tokens":5,"total_tokens":9}}"#,
        ),
        event(
            r#"{"id":"v","choices":[{"index":0,"delta":{"content":"Yes."},"logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":null}],"usage":{"prompt_tokens":4,"completion_tokens":8,"total_tokens":12}}"#,
        ),
        event(
            r#"{"id":"v","choices":[],"usage":{"prompt_tokens":4,"completion_tokens":8,"total_tokens":12}}"#,
        ),
        DONE.to_owned(),
    ];
    let seen = steady(&vllm.concat());
    assert_eq!(told(&seen), ("So it is.", "Yes.", Complete, Some("stop")));
}

/// The strings under this key in what the rewriter writes, joined.
fn written(stream: &str, key: &str) -> String {
    let out = rewrite(&config("block", "adaptive", "semantic"), stream.as_bytes(), 0);
    let out = String::from_utf8(out).unwrap();
    let events = out.lines().filter_map(|line| line.strip_prefix("data: {"));
    let delta = |event: &str| {
        let event: serde_json::Value = serde_json::from_str(&format!("{{{event}")).unwrap();
        event["choices"][0]["delta"][key].as_str().unwrap_or_default().to_owned()
    };
    events.map(delta).collect()
}

#[test]
fn a_count_in_a_delta_stands_once() {
    let with = |text: &str, count: u32| {
        chat(&format!(r#"{{"index":3,"reasoning_content":"{text}","tokens":{count}}}"#))
    };
    for stream in [
        with("The lease ends. So a job runs twice. It must be renewed.", 15),
        [with("The lease", 5), with(" ends.", 4), with(" So it", 4), with(" is.", 2)].concat(),
    ] {
        let out = rewrite(&config("block", "adaptive", "semantic"), stream.as_bytes(), 0);
        let out = String::from_utf8(out).unwrap();
        let numbers = |key: &str| -> Vec<u32> {
            let key = format!("\"{key}\":");
            let behind = out.split(&key).skip(1);
            behind.map(|rest| rest.split([',', '}']).next().unwrap().parse().unwrap()).collect()
        };
        assert_eq!(numbers("tokens").iter().sum::<u32>(), 15, "{out}");
        // What names a place is no count.
        assert!(numbers("index").iter().filter(|number| **number == 3).count() > 1, "{out}");
    }
}

#[test]
fn no_text_moves_to_another_field() {
    let both = |content: &str, refusal: &str| {
        chat(&format!(r#"{{"content":"{content}","refusal":"{refusal}"}}"#))
    };
    for stream in [both("word ", "other"), [both("word ", ""), both("", "other")].concat()] {
        assert_eq!(told(&steady(&stream)).1, "word other");
        assert_eq!([written(&stream, "content"), written(&stream, "refusal")], ["word ", "other"]);
    }
    let failover = [
        chat(r#"{"reasoning_content":"So ","reasoning":""}"#),
        chat(r#"{"reasoning_content":"","reasoning":"it is"}"#),
    ];
    let stream = failover.concat();
    assert_eq!(told(&steady(&stream)).0, "So it is");
    assert_eq!(
        [written(&stream, "reasoning_content"), written(&stream, "reasoning")],
        ["So ", "it is"]
    );
}
