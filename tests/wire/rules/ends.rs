//! How a stream ends: complete, failed or cut, and never one for the other.

use decluster::wire::Verdict::{Complete, Failed, Truncated};
use decluster_tests::rewriting::{config, rewrite, steady};
use decluster_tests::small::{DONE, chat, content, event, reasoning, stop};

use super::told;

#[test]
fn a_finish_reason_is_an_end_without_done() {
    // wanshuiyin/Auto-claude-code-research-in-sleep#249, Dstack-TEE/private-ai-gateway#114,
    // ikawrakow/ik_llama.cpp#467
    let usage = event(r#"{"choices":[],"usage":{"completion_tokens":3}}"#);
    let seen = steady(&[content("x"), stop("stop"), usage].concat());
    assert_eq!(told(&seen), ("", "x", Complete, Some("stop")));
}

#[test]
fn without_any_end_the_text_stays_and_no_end_is_made_up() {
    // router-for-me/CLIProxyAPI#4884, 2389-research/tracker#544
    let stream = [reasoning("So."), content("Half of it. And then")].concat();
    let seen = steady(&stream);
    assert_eq!(told(&seen), ("So.", "Half of it. And then", Truncated, None));
    let out = rewrite(&config("block", "adaptive", "semantic"), stream.as_bytes(), 2);
    assert!(!String::from_utf8(out).unwrap().contains("[DONE]"));
}

#[test]
fn done_is_an_end_without_a_finish_reason() {
    // can1357/oh-my-pi#9609, anomalyco/opencode#43882
    let seen = steady(&[&content("x"), &content("y"), DONE].concat());
    assert_eq!(told(&seen), ("", "xy", Complete, None));
}

#[test]
fn an_error_before_done_is_a_failure_with_its_message() {
    // apache/rocketmq-dashboard#2178, langchain-ai/langchainjs#11579
    let error = event(r#"{"error":{"message":"quota"}}"#);
    let seen = steady(&[&error, DONE].concat());
    assert_eq!(seen.answer.verdict, Some(Failed));
    assert_eq!(seen.answer.error.as_deref(), Some(r#"{"message":"quota"}"#));
    assert_eq!(told(&steady(&[&content("x"), &error, DONE].concat())), ("", "x", Failed, None));
}

#[test]
fn an_error_beside_empty_choices_keeps_code_and_metadata() {
    // diegosouzapw/OmniRoute#8210, vercel/ai#17279
    let error = r#"{"code":502,"message":"upstream","metadata":{"provider_name":"p","raw":"r"}}"#;
    let seen = steady(
        &[&content("x"), &event(&format!(r#"{{"id":"c","choices":[],"error":{error}}}"#)), DONE]
            .concat(),
    );
    assert_eq!(told(&seen), ("", "x", Failed, None));
    assert_eq!(seen.answer.error.as_deref(), Some(error));
}

#[test]
fn an_error_that_the_server_drops_cannot_be_told() {
    // any-llm#847, bigduu/Bamboo-agent#383: the only hint is that no finish reason came.
    let seen = steady(&[&content("Half of"), DONE].concat());
    assert_eq!(told(&seen), ("", "Half of", Complete, None));
}

#[test]
fn each_form_of_an_error_is_a_failure() {
    for error in [
        r#"{"error":"quota"}"#,
        r#"{"error":{"code":1}}"#,
        r#"{"object":"error","message":"m","code":500}"#,
        r#"{"type":"error","error":{"message":"m"}}"#,
        r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"m"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"error":{"code":502}}]}"#,
        r#"{"error":{"message":"m"},"choices":[{"index":0,"delta":{"content":""}}]}"#,
    ] {
        let seen = steady(&[&content("x"), &event(error), DONE].concat());
        assert_eq!((told(&seen).1, told(&seen).2), ("x", Failed), "{error}");
        assert!(seen.answer.error.is_some(), "{error}");
    }
    let named =
        [&content("x"), "event: error\ndata: {\"message\":\"m\",\"status_code\":400}\n\n"].concat();
    assert_eq!(told(&steady(&named)), ("", "x", Failed, None));
    let named = [
        &content("x"),
        "event: error\ndata: {\"error\":{\"message\":\"m\",\"status_code\":400}}\n\n",
    ]
    .concat();
    assert_eq!(
        steady(&named).answer.error.as_deref(),
        Some(r#"{"message":"m","status_code":400}"#)
    );
}

#[test]
fn a_stop_for_an_error_is_a_failure_though_no_error_is_told() {
    let seen = steady(&[&content("x"), &stop("error"), DONE].concat());
    assert_eq!(told(&seen), ("", "x", Failed, Some("error")));
    assert_eq!(seen.answer.error, None);
}

#[test]
fn an_empty_error_is_none() {
    for empty in ["null", "{}", "\"\"", "[]", "false", "0"] {
        for chunk in [
            format!(r#"{{"error":{empty},"choices":[{{"index":0,"delta":{{"content":"y"}}}}]}}"#),
            format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"y"}},"error":{empty}}}]}}"#),
        ] {
            let seen = steady(&[&content("x"), &event(&chunk), &stop("stop"), DONE].concat());
            assert_eq!(told(&seen), ("", "xy", Complete, Some("stop")), "{chunk}");
        }
    }
}

#[test]
fn an_error_may_stand_beside_text_and_more_may_follow() {
    let error = event(
        r#"{"error":{"message":"m"},"choices":[{"index":0,"delta":{"content":"One goes in. One comes out."},"finish_reason":null}]}"#,
    );
    let usage = event(r#"{"choices":[],"usage":{"completion_tokens":4}}"#);
    let seen = steady(&[&error, &content(" More."), &usage, DONE].concat());
    assert_eq!(told(&seen), ("", "One goes in. One comes out. More.", Failed, None));
    assert_eq!(seen.answer.usage.as_deref(), Some(r#"{"completion_tokens":4}"#));
}

#[test]
fn the_first_error_counts() {
    let error = |n: u32| event(&format!(r#"{{"error":{{"code":{n}}}}}"#));
    let seen = steady(&[&content("x"), &error(1), &error(2), DONE].concat());
    assert_eq!(seen.answer.error.as_deref(), Some(r#"{"code":1}"#));
}

#[test]
fn one_bad_event_takes_no_other_with_it_and_three_in_a_row_break_the_stream() {
    let bad = "data: {\"choices\":[{\"delta\":{\"content\":\"ha\n\n";
    let seen = steady(
        &[&content("a"), bad, &content("b"), bad, bad, &content("c"), &stop("stop"), DONE].concat(),
    );
    assert_eq!(told(&seen), ("", "abc", Complete, Some("stop")));
    assert_eq!((seen.answer.malformed, seen.answer.first_malformed.unwrap().event), (3, 2));
    let seen =
        steady(&[&content("a"), &bad.repeat(3), &content("b"), &stop("stop"), DONE].concat());
    assert_eq!(told(&seen), ("", "ab", Truncated, Some("stop")));
    let seen = steady(&[&content("a"), &stop("stop"), bad].concat());
    assert_eq!(told(&seen), ("", "a", Truncated, Some("stop")));
}

#[test]
fn every_choice_must_have_its_finish_reason() {
    let other = event(r#"{"choices":[{"index":1,"delta":{"content":"b"}}]}"#);
    assert_eq!(told(&steady(&[&content("a"), &other, &*stop("stop")].concat())).2, Truncated);
    assert_eq!(told(&steady(&[&content("a"), &other, &stop("stop"), DONE].concat())).2, Complete);
}

#[test]
fn a_new_beginning_of_a_chat_is_not_told_by_its_id() {
    // earendil-works/pi#8031, HKUDS/nanobot#4038, NuGuardAI/nuguard#455, endolith/open-interpreter#291,
    // speakeasy-api/kit#10, langchain-ai/deepagents#5905. Some models change the id with every chunk, so the
    // caller must say that an attempt begins; nothing is dropped on a guess.
    let begin = |id: &str| {
        event(&format!(
            r#"{{"id":"{id}","choices":[{{"index":0,"delta":{{"role":"assistant","content":""}}}}]}}"#
        ))
    };
    let seen = steady(
        &[&begin("a"), &content("Half of"), &begin("b"), &content(" it."), &stop("stop"), DONE]
            .concat(),
    );
    assert_eq!((told(&seen).1, seen.answer.restarts), ("Half of it.", 0));
}

#[test]
fn nothing_is_said_of_a_stream_without_events() {
    let seen = steady(": ping\n\n: ping\n\n");
    assert_eq!((seen.answer.verdict, seen.answer.comments), (Some(Truncated), 2));
    let seen = steady(&[": ping\n\n", &chat(r#"{"role":"assistant"}"#)].concat());
    assert_eq!(seen.answer.verdict, Some(Truncated));
}
