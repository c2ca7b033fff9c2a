//! Streams put together at random from all that may stand in them: however odd the mixture, every way to read
//! it says the same, and its texts are those that were put in.

use std::collections::BTreeMap;

use decluster::Config;
use decluster_tests::rewriting::{steady, steady_lines, steady_with};
use decluster_tests::small::{event, named};
use decluster_tests::{Random, cases};

/// One of these.
fn any<'w>(random: &mut Random, words: &[&'w str]) -> &'w str {
    words[random.below(words.len() as u64) as usize]
}

/// Texts as they stand in JSON.
const TEXTS: [&str; 10] = [
    "One goes in. ",
    "Two comes out.",
    "word",
    " ",
    "\\n\\n",
    "",
    "\\u4f60\u{597d}\u{3002}",
    "a < b",
    "\\ud83e\\udd80 ",
    "- item\\n- item\\n",
];
/// Pieces of tags, and halves of characters.
const TAGGED: [&str; 14] = [
    "<think>",
    "</think>",
    "<th",
    "ink>",
    "</thi",
    "nk>",
    "<",
    "think>",
    "/",
    "<think/>",
    "<thinking>",
    "</thinking>",
    "\\ud83d",
    "\\ude00",
];
const CALL: &str =
    r#""tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]"#;

fn random_text(random: &mut Random, odd: bool) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(3) {
        text.push_str(if odd && random.below(2) == 0 {
            any(random, &TAGGED)
        } else {
            any(random, &TEXTS)
        });
    }
    text
}

fn chat_chunk(random: &mut Random, odd: bool) -> String {
    let mut choices = Vec::new();
    let first = random.below(2);
    for number in 0..=random.below(2) {
        let mut members = Vec::new();
        let (output, refusal) = (random_text(random, odd), random_text(random, odd));
        // Where several fields hold reasoning they hold the same.
        let reasoning = random_text(random, odd);
        let details = format!(r#"[{{"type":"reasoning.text","text":"{reasoning}"}}]"#);
        let quoted = |text: &str| format!("\"{text}\"");
        for (key, value, one_in) in [
            ("content", quoted(&output), 2),
            ("reasoning_content", quoted(&reasoning), 4),
            ("reasoning", quoted(&reasoning), 6),
            ("reasoning_details", details, 8),
            ("refusal", quoted(&refusal), 9),
        ] {
            if random.below(one_in) == 0 {
                members.push(format!(r#""{key}":{value}"#));
            }
        }
        if random.below(8) == 0 {
            let (a, b) = (random_text(random, odd), random_text(random, odd));
            members.push(format!(r#""content":[{{"type":"thinking","thinking":[{{"type":"text","text":"{a}"}}]}},{{"type":"text","text":"{b}"}}]"#));
        }
        if random.below(12) == 0 {
            members.push(CALL.to_owned());
        }
        let finish = if random.below(12) == 0 { "\"stop\"" } else { "null" };
        choices.push(format!(
            r#"{{"index":{},"delta":{{{}}},"finish_reason":{finish}}}"#,
            (first + number) % 2,
            members.join(",")
        ));
    }
    let usage = any(
        random,
        &[
            "",
            "",
            "",
            r#","usage":{"completion_tokens":3}"#,
            r#","error":null"#,
            r#","usage":null"#,
        ],
    );
    event(&format!(r#"{{"choices":[{}]{usage}}}"#, choices.join(",")))
}

fn other(random: &mut Random) -> String {
    any(
        random,
        &[
            ": keep-alive\n\n",
            "data: : OPENROUTER PROCESSING\n\n",
            "data: {\"choices\":[],\"usage\":{\"completion_tokens\":9}}\n\n",
            "data: {\"error\":{\"message\":\"m\"}}\n\n",
            "data: {\"choices\":[{\n\n",
            "data: {\"surprise\":true}\n\n",
            "\n",
            "event: ping\ndata: {}\n\n",
            "retry: 5\n\n",
        ],
    )
    .to_owned()
}

#[test]
fn chat_streams_of_anything_are_steady() {
    for seed in 0..cases(24).into() {
        let mut random = Random(seed);
        let mut stream = String::new();
        for _ in 0..random.below(9) {
            let odd = random.below(5) == 0;
            stream.push_str(&if odd {
                other(&mut random)
            } else {
                chat_chunk(&mut random, seed % 3 > 0)
            });
        }
        stream.push_str(any(&mut random, &["data: [DONE]\n\n", "data: [DONE]", ""]));
        let mut config = Config::default();
        // Text that begins as reasoning has no field with a copy of it.
        let first = any(&mut random, &["starts_inside", "think_copies"]);
        for name in [first, "think_reopens", "think_tags"] {
            if random.below(3) == 0 {
                config = config.with(name, 1).unwrap();
            }
        }
        let _ = steady_with(&config, None, stream.as_bytes());
    }
}

#[test]
fn tags_do_not_depend_on_how_the_text_was_cut() {
    for seed in 0..cases(24).into() {
        let mut random = Random(seed);
        let texts: Vec<String> =
            (0..=random.below(6)).map(|_| random_text(&mut random, true)).collect();
        let mut config = Config::default();
        for name in ["starts_inside", "think_reopens", "think_tags"] {
            if random.below(3) == 0 {
                config = config.with(name, 1).unwrap();
            }
        }
        let content = |text: &str| {
            event(&format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#))
        };
        let cut: String = texts.iter().map(|text| content(text)).collect();
        let cut = steady_with(&config, None, cut.as_bytes());
        let whole = steady_with(&config, None, content(&texts.concat()).as_bytes());
        assert_eq!(cut.texts, whole.texts, "{texts:?}");
    }
}

#[test]
fn responses_streams_of_anything_are_steady() {
    const KINDS: [&str; 14] = [
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "reasoning_text.delta",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.added",
        "refusal.delta",
        "content_part.added",
        "output_item.done",
        "function_call_arguments.delta",
        "output_item.added",
        "created",
        "reasoning.delta",
    ];
    for seed in 0..cases(24).into() {
        let mut random = Random(seed);
        let mut stream = String::new();
        for number in 0..random.below(12) {
            let (text, place) = (random_text(&mut random, seed % 2 > 0), random.below(2));
            let item = any(
                &mut random,
                &[
                    r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#,
                    r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"One. Two. "}]}"#,
                    r#"{"type":"message","content":[{"type":"output_text","text":"Three. Four."}]}"#,
                    "null",
                ],
            );
            let id = random.below(2);
            stream.push_str(&named(
                &format!("response.{}", any(&mut random, &KINDS)),
                &format!(
                    r#""sequence_number":{number},"output_index":{place},"content_index":0,"summary_index":0,"delta":"{text}","text":"{text}","item":{item},"response":{{"id":"r{id}"}}"#
                ),
            ));
        }
        stream.push_str(any(
            &mut random,
            &[
                "",
                "event: response.completed\ndata: {\"response\":{\"status\":\"completed\"}}\n\n",
                "data: [DONE]\n\n",
            ],
        ));
        let _ = steady(&stream);
    }
}

#[test]
fn anthropic_streams_of_anything_are_steady() {
    for seed in 0..cases(24).into() {
        let mut random = Random(seed);
        let mut stream = String::new();
        for _ in 0..random.below(12) {
            let (text, place) = (random_text(&mut random, seed % 2 > 0), random.below(3));
            let id = random.below(2);
            stream.push_str(&match random.below(9) {
                0 => named("message_start", &format!(r#""message":{{"id":"m{id}","usage":{{"input_tokens":{place}}}}}"#)),
                1 => named("content_block_start", &format!(r#""index":{place},"content_block":{{"type":"text","text":"{text}"}}"#)),
                2 => named("content_block_start", &format!(r#""index":{place},"content_block":{{"type":"tool_use","id":"t","name":"f","input":{{}}}}"#)),
                3 => named("content_block_delta", &format!(r#""index":{place},"delta":{{"type":"thinking_delta","thinking":"{text}"}}"#)),
                4 => named("content_block_delta", &format!(r#""index":{place},"delta":{{"type":"input_json_delta","partial_json":"{{"}}"#)),
                5 => named("message_delta", r#""delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}"#),
                6 => "event: ping\ndata: {\"type\": \"ping\"}\n\n".to_owned(),
                _ => named("content_block_delta", &format!(r#""index":{place},"delta":{{"type":"text_delta","text":"{text}"}}"#)),
            });
        }
        let _ = steady(&stream);
    }
}

#[test]
fn gemini_streams_of_anything_are_steady() {
    for seed in 0..cases(24).into() {
        let mut random = Random(seed);
        let mut stream = String::new();
        for _ in 0..random.below(7) {
            let mut parts = Vec::new();
            for _ in 0..random.below(4) {
                let text = random_text(&mut random, seed % 2 > 0);
                parts.push(match random.below(5) {
                    0 => r#"{"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"s"}"#
                        .to_owned(),
                    1 => format!(r#"{{"text":"{text}","thought":true}}"#),
                    2 => format!(r#"{{"text":"{text}","thoughtSignature":"s"}}"#),
                    3 => r#"{"inlineData":{"data":"x"}}"#.to_owned(),
                    _ => format!(r#"{{"text":"{text}"}}"#),
                });
            }
            let finish = any(&mut random, &["", "", r#","finishReason":"STOP""#]);
            let index = random.below(2);
            stream.push_str(&event(&format!(
                r#"{{"candidates":[{{"index":{index},"content":{{"parts":[{}]}}{finish}}}],"usageMetadata":{{"totalTokenCount":3}}}}"#,
                parts.join(",")
            )));
        }
        let _ = steady(&stream.replace('\n', "\r\n"));
    }
}

#[test]
fn lines_of_ollama_and_bedrock_of_anything_are_steady() {
    for seed in 0..cases(24).into() {
        let mut random = Random(seed);
        let mut stream = String::new();
        for _ in 0..random.below(7) {
            let (text, more) =
                (random_text(&mut random, seed % 4 > 1), random_text(&mut random, false));
            let line = if seed % 2 == 0 {
                match random.below(5) {
                    0 => format!(r#"{{"message":{{"thinking":"{text}","content":"{more}"}},"done":false}}"#),
                    1 => r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}"#.to_owned(),
                    2 => format!(r#"{{"message":{{"content":"{text}"}},"done":true,"done_reason":"stop","eval_count":4}}"#),
                    _ => format!(r#"{{"message":{{"content":"{text}"}},"done":false}}"#),
                }
            } else {
                match random.below(5) {
                    0 => format!(r#"{{"contentBlockDelta":{{"contentBlockIndex":0,"delta":{{"reasoningContent":{{"text":"{text}","signature":"s"}}}},"p":"ab"}}}}"#),
                    1 => r#"{"contentBlockStart":{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t","name":"f"}}}}"#.to_owned(),
                    2 => r#"{"messageStop":{"stopReason":"end_turn"}}"#.to_owned(),
                    _ => format!(r#"{{"contentBlockDelta":{{"contentBlockIndex":1,"delta":{{"text":"{text}"}}}}}}"#),
                }
            };
            stream.push_str(&line);
            stream.push('\n');
        }
        let _ = steady_lines(&stream);
    }
}

/// Texts of a chat stream without tags and halves are what was put in, in order.
#[test]
fn no_text_is_lost_or_moved() {
    for seed in 0..cases(24).into() {
        let mut random = Random(seed);
        let mut expect: BTreeMap<u32, [String; 2]> = BTreeMap::new();
        let mut stream = String::new();
        for _ in 0..random.below(12) {
            let index = random.below(3) as u32;
            let (reasoning, output) =
                (random_text(&mut random, false), random_text(&mut random, false));
            let texts = expect.entry(index).or_default();
            for (text, json) in texts.iter_mut().zip([&reasoning, &output]) {
                text.push_str(&serde_json::from_str::<String>(&format!("\"{json}\"")).unwrap());
            }
            stream.push_str(&event(&format!(
                r#"{{"choices":[{{"index":{index},"delta":{{"reasoning":"{reasoning}","content":"{output}"}}}}]}}"#
            )));
        }
        let mut seen = steady(&stream).texts;
        seen.retain(|_, texts| texts.iter().any(|text| !text.is_empty()));
        expect.retain(|_, texts| texts.iter().any(|text| !text.is_empty()));
        assert_eq!(seen, expect, "{stream}");
    }
}
