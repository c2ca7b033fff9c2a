//! Usage means the same for all providers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use decluster::Collector;
use decluster::wire::Tokens;
use decluster_tests::{captures, shared};
use serde_json::Value;

/// The counts in the order: input, output, reasoning, visible.
fn counts(usage: &str, reasoning_text: bool) -> [Option<u64>; 4] {
    let tokens = Tokens::of(usage, reasoning_text).unwrap();
    [tokens.input, tokens.output, tokens.reasoning, tokens.visible]
}

#[track_caller]
fn gives(usage: &str, input: u64, output: u64, reasoning: u64) {
    let visible = output.saturating_sub(reasoning);
    assert_eq!(counts(usage, true), [input, output, reasoning, visible].map(Some));
}

#[track_caller]
fn gives_no_reasoning(usage: &str, input: u64, output: u64) {
    assert_eq!(counts(usage, true), [Some(input), Some(output), None, None]);
}

#[test]
fn chat_completions_count_reasoning_in_the_output() {
    gives(
        r#"{"prompt_tokens":10,"completion_tokens":30,"total_tokens":40,
            "completion_tokens_details":{"reasoning_tokens":20}}"#,
        10,
        30,
        20,
    );
}

#[test]
fn the_responses_api_counts_reasoning_in_the_output() {
    let usage = r#"{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},
        "output_tokens":30,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":40}"#;
    gives(usage, 10, 30, 20);
    let tokens = Tokens::of(usage, true).unwrap();
    assert_eq!((tokens.cached_input, tokens.cache_write), (Some(4), Some(3)));
}

#[test]
fn xai_counts_reasoning_beside_the_output() {
    gives(
        r#"{"prompt_tokens":10,"completion_tokens":30,"total_tokens":60,
            "completion_tokens_details":{"reasoning_tokens":20}}"#,
        10,
        50,
        20,
    );
}

#[test]
fn xai_is_known_without_a_total_by_members_of_its_own() {
    let details = r#""completion_tokens_details":{"reasoning_tokens":20},"num_sources_used":0"#;
    gives(&format!(r#"{{"prompt_tokens":10,"completion_tokens":30,{details}}}"#), 10, 50, 20);
}

#[test]
fn xai_counts_as_all_do_in_the_responses_api() {
    gives(
        r#"{"input_tokens":10,"output_tokens":30,"output_tokens_details":{"reasoning_tokens":20},
            "num_sources_used":0,"cost_in_usd_ticks":5}"#,
        10,
        30,
        20,
    );
}

#[test]
fn a_flat_count_is_read() {
    gives(r#"{"prompt_tokens":10,"completion_tokens":30,"reasoning_tokens":20}"#, 10, 30, 20);
}

#[test]
fn a_flat_count_alone_says_nothing_of_the_output() {
    let tokens = Tokens::of(r#"{"reasoning_tokens":20}"#, true).unwrap();
    assert_eq!((tokens.reasoning, tokens.output, tokens.visible), (Some(20), None, None));
}

#[test]
fn a_count_far_above_the_output_is_in_neither_output_nor_total() {
    gives(
        r#"{"prompt_tokens":28,"completion_tokens":9,"total_tokens":37,
            "completion_tokens_details":{"reasoning_tokens":61}}"#,
        28,
        70,
        61,
    );
}

#[test]
fn a_count_a_little_above_the_output_leaves_nothing_visible() {
    let usage = r#"{"prompt_tokens":43,"completion_tokens":10,"total_tokens":53,
        "completion_tokens_details":{"reasoning_tokens":11}}"#;
    assert_eq!(counts(usage, true), [Some(43), Some(10), Some(11), Some(0)]);
}

#[test]
fn gemini_counts_thoughts_beside_the_output_and_tools_beside_the_prompt() {
    let usage = r#"{"promptTokenCount":10,"candidatesTokenCount":30,"thoughtsTokenCount":20,
        "toolUsePromptTokenCount":5,"cachedContentTokenCount":4,"totalTokenCount":65}"#;
    gives(usage, 15, 50, 20);
    assert_eq!(Tokens::of(usage, true).unwrap().cached_input, Some(4));
}

#[test]
fn gemini_may_think_and_say_nothing() {
    gives(r#"{"promptTokenCount":87,"thoughtsTokenCount":78,"totalTokenCount":165}"#, 87, 78, 78);
}

#[test]
fn the_total_decides_for_gemini_too() {
    gives(
        r#"{"promptTokenCount":10,"candidatesTokenCount":30,"thoughtsTokenCount":20,
            "totalTokenCount":40}"#,
        10,
        30,
        20,
    );
}

#[test]
fn the_names_of_geminis_python_sdk_are_read() {
    gives(
        r#"{"prompt_token_count":10,"candidates_token_count":30,"thoughts_token_count":20,
            "tool_use_prompt_token_count":null,"total_token_count":60}"#,
        10,
        50,
        20,
    );
}

#[test]
fn geminis_interactions_count_thoughts_beside_the_output() {
    gives(
        r#"{"total_tokens":65,"total_input_tokens":10,"total_tool_use_tokens":5,
            "total_output_tokens":30,"total_thought_tokens":20}"#,
        15,
        50,
        20,
    );
}

#[test]
fn anthropics_input_is_what_it_counts_and_what_was_cached() {
    let usage = r#"{"input_tokens":10,"cache_read_input_tokens":100,
        "cache_creation_input_tokens":1000,"output_tokens":30,
        "output_tokens_details":{"thinking_tokens":20}}"#;
    gives(usage, 1110, 30, 20);
    let tokens = Tokens::of(usage, true).unwrap();
    assert_eq!((tokens.cached_input, tokens.cache_write), (Some(100), Some(1000)));
}

#[test]
fn anthropics_older_models_count_no_thinking() {
    gives_no_reasoning(
        r#"{"input_tokens":10,"cache_read_input_tokens":null,"output_tokens":30}"#,
        10,
        30,
    );
}

#[test]
fn anthropics_names_in_a_chat_completion_are_part_of_the_prompt() {
    let usage = r#"{"prompt_tokens":1110,"completion_tokens":30,"total_tokens":1140,
        "cache_read_input_tokens":100,"cache_creation_input_tokens":1000}"#;
    gives_no_reasoning(usage, 1110, 30);
    let tokens = Tokens::of(usage, true).unwrap();
    assert_eq!((tokens.cached_input, tokens.cache_write), (Some(100), Some(1000)));
}

#[test]
fn bedrocks_input_is_what_it_counts_and_what_was_cached() {
    let usage = r#"{"inputTokens":10,"outputTokens":30,"totalTokens":1140,
        "cacheReadInputTokens":100,"cacheWriteInputTokens":1000}"#;
    gives_no_reasoning(usage, 1110, 30);
}

#[test]
fn cohere_counts_tokens_and_bills_others() {
    gives(
        r#"{"billed_units":{"input_tokens":6,"output_tokens":23},
            "tokens":{"input_tokens":10,"output_tokens":30,"reasoning_tokens":20},
            "cached_tokens":4}"#,
        10,
        30,
        20,
    );
}

#[test]
fn cohere_may_say_only_what_it_bills() {
    gives_no_reasoning(r#"{"billed_units":{"input_tokens":6,"output_tokens":23}}"#, 6, 23);
}

#[test]
fn mistral_ollama_and_the_ai_sdk_are_read() {
    gives_no_reasoning(
        r#"{"prompt_tokens":10,"completion_tokens":30,"total_tokens":40,"num_cached_tokens":4}"#,
        10,
        30,
    );
    gives_no_reasoning(
        r#"{"total_duration":1,"prompt_eval_count":10,"eval_count":30,"eval_duration":5}"#,
        10,
        30,
    );
    gives(
        r#"{"inputTokens":10,"outputTokens":30,"totalTokens":40,"reasoningTokens":20,
            "cachedInputTokens":4}"#,
        10,
        30,
        20,
    );
    gives_no_reasoning(r#"{"promptTokens":10,"completionTokens":30}"#, 10, 30);
}

#[test]
fn no_tokens_for_a_reasoning_with_text_is_no_count() {
    let usage = r#"{"prompt_tokens":10,"completion_tokens":30,"reasoning_tokens":0}"#;
    gives_no_reasoning(usage, 10, 30);
    assert_eq!(counts(usage, false), [Some(10), Some(30), Some(0), Some(30)]);
}

#[test]
fn null_is_no_count() {
    gives(
        r#"{"prompt_tokens":10,"prompt_tokens_details":null,"completion_tokens":30,
            "completion_tokens_details":{"reasoning_tokens":null},"reasoning_tokens":20}"#,
        10,
        30,
        20,
    );
}

#[test]
fn whole_numbers_may_be_written_as_floats() {
    gives(
        r#"{"prompt_tokens":10.0,"completion_tokens":3.0e1,"completion_tokens_details":
            {"reasoning_tokens":20.00}}"#,
        10,
        30,
        20,
    );
}

#[test]
fn what_is_no_count_is_left_out() {
    for bad in ["-1", "1.5", "true", "{}", "[1]", "\"many\"", "1e99", "18446744073709551616"] {
        let usage = format!(r#"{{"prompt_tokens":{bad},"completion_tokens":30}}"#);
        assert_eq!(counts(&usage, false), [None, Some(30), None, None], "{bad}");
    }
}

#[test]
fn sums_stop_at_the_largest_count() {
    let usage = format!(r#"{{"input_tokens":{0},"cache_read_input_tokens":{0}}}"#, u64::MAX);
    assert_eq!(Tokens::of(&usage, false).unwrap().input, Some(u64::MAX));
}

#[test]
fn an_object_without_counts_has_none() {
    for usage in ["{}", "[]", "null", "7", "{\"prompt_tokens\":", r#"{"service_tier":"x"}"#] {
        assert_eq!(Tokens::of(usage, true), None, "{usage}");
    }
}

#[test]
fn costs_are_picodollars_in_every_form() {
    for (usage, cost) in [
        (r#"{"cost":0.00183875}"#, Some(1_838_750_000)),
        (r#"{"cost":3.875e-05}"#, Some(38_750_000)),
        (r#"{"cost":"0.0012"}"#, Some(1_200_000_000)),
        (r#"{"cost":0}"#, Some(0)),
        (r#"{"cost":{"request_cost":0.006,"total_cost":0.00921}}"#, Some(9_210_000_000)),
        (r#"{"cost_in_usd_ticks":1466250}"#, Some(146_625_000)),
        (r#"{"cost":null,"estimated_cost":0.5}"#, Some(500_000_000_000)),
        (r#"{"prompt_tokens":1,"cost":-0.5}"#, None),
        (r#"{"prompt_tokens":1,"cost":1e9}"#, None),
        (r#"{"prompt_tokens":1,"cost":"free"}"#, None),
    ] {
        assert_eq!(Tokens::of(usage, false).unwrap().cost_picodollars, cost, "{usage}");
    }
}

#[test]
fn a_stream_knows_whether_reasoning_text_came() {
    let usage = r#"{"choices":[],"usage":{"completion_tokens":5,"reasoning_tokens":0}}"#;
    for (field, reasoning) in [("content", Some(0)), ("reasoning_content", None)] {
        let mut collector = Collector::new(&decluster::Config::default(), None);
        let text = format!(r#"{{"choices":[{{"index":0,"delta":{{"{field}":"Hm."}}}}]}}"#);
        collector.push(format!("data: {text}\n\ndata: {usage}\n\n").as_bytes()).unwrap();
        assert_eq!(collector.answer().tokens().unwrap().reasoning, reasoning, "{field}");
    }
}

#[test]
fn a_stream_without_usage_has_no_tokens() {
    let collector = Collector::new(&decluster::Config::default(), None);
    assert_eq!(collector.answer().tokens(), None);
}

#[test]
fn a_stream_has_the_tokens_of_its_last_usage() {
    for dialect in ["openai-chat", "openai-responses"] {
        for capture in captures(dialect) {
            let mut collector = Collector::new(&decluster::Config::default(), None);
            collector.push(&capture.bytes).unwrap();
            collector.finish().unwrap();
            let reasoned = collector.text(0).is_some_and(|text| !text.reasoning.is_empty());
            let usage = &capture.expect["usage"];
            let expected = Tokens::of(&usage.to_string(), reasoned);
            assert_eq!(collector.answer().tokens(), expected, "{}", capture.name);
        }
    }
}

/// A reasoning count of 0 though reasoning text came.
const NOT_COUNTED: [&str; 5] = [
    "openai-chat/azure-foundry-deepseek",
    "openai-chat/gateway-vercel-claude",
    "openai-chat/gateway-vercel-claude-signature",
    "openai-chat/snowflake-thinking-tool",
    "openai-responses/encrypted-content-1",
];
/// All that was put out is reasoning, and is counted in two ways: 11 against 10.
const ABOVE_OUTPUT: [&str; 1] = ["openai-chat/openrouter-error"];
/// The reasoning is in neither the output count nor the total.
const NOT_IN_TOTAL: [&str; 1] = ["openai-chat/gateway-vercel-gemini3"];

#[test]
fn every_recorded_usage_adds_up() {
    let Some(root) = shared("captures") else { return };
    let mut files: Vec<_> = fs::read_dir(root).unwrap().flatten().collect();
    files.retain(|entry| entry.path().is_dir());
    let files = files.iter().flat_map(|dir| fs::read_dir(dir.path()).unwrap().flatten());
    let mut files: Vec<_> = files.map(|entry| entry.path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".expect.json"));
    files.sort();
    assert!(files.len() > 200, "{} expectations", files.len());
    let mut odd: [Vec<String>; 3] = Default::default();
    for path in files {
        let expect: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let folder = path.parent().unwrap().file_name().unwrap().to_string_lossy();
        let file = path.file_name().unwrap().to_string_lossy();
        let name = format!("{folder}/{}", file.trim_end_matches(".expect.json"));
        let usage = &expect["usage"];
        let reasoned = expect["reasoning"]["chars"] != 0;
        let Some(tokens) = Tokens::of(&usage.to_string(), reasoned) else {
            assert!(usage.as_object().is_none_or(serde_json::Map::is_empty), "{name}: {usage}");
            continue;
        };
        let (input, output) = (tokens.input.unwrap(), tokens.output.unwrap());
        let reported = expect["reasoning_tokens"].as_u64();
        if reported == Some(0) && reasoned {
            assert_eq!(tokens.reasoning, None, "{name}");
            odd[0].push(name.clone());
        } else {
            assert_eq!(tokens.reasoning, reported, "{name}");
        }
        if let Some(reasoning) = tokens.reasoning {
            let visible = tokens.visible.unwrap();
            if reasoning > output {
                assert_eq!(visible, 0, "{name}");
                odd[1].push(name.clone());
            } else {
                assert_eq!(visible + reasoning, output, "{name}");
            }
        } else {
            assert_eq!(tokens.visible, None, "{name}");
        }
        let total = ["total_tokens", "totalTokenCount", "totalTokens"].map(|key| &usage[key]);
        let total = total.into_iter().find_map(Value::as_u64);
        if total.is_some_and(|total| total != input + output) {
            odd[2].push(name);
        }
    }
    for names in &mut odd {
        names.sort();
    }
    let known = [&NOT_COUNTED[..], &ABOVE_OUTPUT[..], &NOT_IN_TOTAL[..]].map(<[_]>::to_vec);
    assert_eq!(odd, known);
}
