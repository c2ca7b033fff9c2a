//! Reasoning between tags in visible text.

use std::time::{Duration, Instant};

use decluster::wire::Reader;
use decluster::wire::Verdict::Complete;
use decluster::{Config, Kind};
use decluster_tests::rewriting::{pieces, rewrite, steady, steady_with};
use decluster_tests::small::{DONE, chat, content, event, reasoning, stop};
use decluster_tests::streams::{Decoded, read_with};

use super::{calls, order, told};

/// Deltas with these texts and an end.
fn deltas(texts: &[&str]) -> String {
    let texts: String = texts.iter().map(|text| content(text)).collect();
    [&texts, &stop("stop"), DONE].concat()
}

fn set(names: &[&str]) -> Config {
    names.iter().fold(Config::default(), |config, name| config.with(name, 1).unwrap())
}

fn under(config: &Config, stream: &str) -> Decoded {
    steady_with(config, None, stream.as_bytes())
}

/// Reads the text cut in two deltas at every character, and a character a delta.
fn everywhere(config: &Config, text: &str, expect: [&str; 2]) {
    let places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let mut streams: Vec<String> = places
        .map(|at| {
            let (a, b) = text.split_at(at);
            deltas(&[a, b])
        })
        .collect();
    let singles: Vec<String> = text.chars().map(String::from).collect();
    streams.push(deltas(&singles.iter().map(String::as_str).collect::<Vec<_>>()));
    for stream in streams {
        let seen = under(config, &stream);
        assert_eq!(told(&seen), (expect[0], expect[1], Complete, Some("stop")), "{stream}");
    }
}

#[test]
fn a_tag_may_be_cut_at_every_character() {
    everywhere(&Config::default(), "<think>so it is</think>Yes.", ["so it is", "Yes."]);
    everywhere(&Config::default(), "<thinking>so</thinking>A < b.", ["so", "A < b."]);
}

#[test]
fn a_closing_tag_cut_in_two_is_not_shown() {
    // MihaiBuilds/memory-vault#152, InternLM/lmdeploy#4754
    let seen = steady(&deltas(&["<think>s</thi", "nk>A"]));
    assert_eq!(told(&seen), ("s", "A", Complete, Some("stop")));
}

#[test]
fn an_opening_tag_cut_in_two_is_not_shown() {
    // diegosouzapw/OmniRoute#10441, youssofal/MTPLX#149
    let seen = steady(&deltas(&["<think", ">r</think>o"]));
    assert_eq!(told(&seen), ("r", "o", Complete, Some("stop")));
    for (open, close) in [
        ("<thought>", "</thought>"),
        ("<reasoning>", "</reasoning>"),
        ("<seed:think>", "</seed:think>"),
        ("\u{25c1}think\u{25b7}", "\u{25c1}/think\u{25b7}"),
        ("[THINK]", "[/THINK]"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ] {
        let text = format!("{open}r{close}o");
        everywhere(&set(&["think_tags"]), &text, ["r", "o"]);
        assert_eq!(told(&steady(&deltas(&[&text]))).1, text, "only by a setting");
    }
}

#[test]
fn without_an_opening_tag_all_before_the_closing_one_is_reasoning() {
    // vllm-project/vllm#13125, deepseek-ai/DeepSeek-R1#352, open-webui/open-webui#9808
    let text = "It is so.</think>Yes.";
    everywhere(&set(&["starts_inside"]), text, ["It is so.", "Yes."]);
    // Nothing says so beforehand: what was output so far proves to be reasoning. The pieces' reader is told
    // by an event, and `steady` compares what it makes of it.
    everywhere(&Config::default(), text, ["It is so.", "Yes."]);
    // InternLM/lmdeploy#3303: another server, with the empty field beside the text.
    let beside = |text: &str| chat(&format!(r#"{{"content":"{text}","reasoning_content":null}}"#));
    let stream =
        [beside("It is so.\\n"), beside("</think>"), beside("\\n\\nYes."), stop("stop")].concat();
    for config in [set(&["starts_inside"]), Config::default()] {
        let seen = under(&config, &stream);
        assert_eq!(told(&seen), ("It is so.\n", "\n\nYes.", Complete, Some("stop")));
    }
}

#[test]
fn a_model_that_was_to_begin_inside_may_write_the_tag_again() {
    everywhere(&set(&["starts_inside"]), "<think>r</think>o", ["r", "o"]);
}

#[test]
fn reasoning_that_is_never_closed_is_no_output() {
    // sgl-project/sglang#4539
    let seen = under(&set(&["starts_inside"]), &deltas(&["The answer", " is 4."]));
    assert_eq!(told(&seen), ("The answer is 4.", "", Complete, Some("stop")));
    assert!(seen.answer.reason.unwrap().contains("no visible output"));
}

#[test]
fn text_without_any_tag_is_output() {
    // raullenchai/Rapid-MLX#1570: that it was reasoning cannot be known.
    let seen = steady(&deltas(&["The user wants 4. ", "4."]));
    assert_eq!(told(&seen), ("", "The user wants 4. 4.", Complete, Some("stop")));
}

#[test]
fn the_same_reasoning_in_the_field_and_between_tags_comes_once() {
    // QwenLM/qwen-code#3411, can1357/oh-my-pi#3020
    let both = |reasoning: &str, content: &str| {
        chat(&format!(r#"{{"reasoning_content":"{reasoning}","content":"{content}"}}"#))
    };
    let stream =
        [both("so", "<think>so"), both(" it is", " it is</thi"), content("nk>Yes."), stop("stop")]
            .concat();
    let seen = under(&set(&["think_copies"]), &stream);
    assert_eq!(told(&seen), ("so it is", "Yes.", Complete, Some("stop")));
    // Without the setting tags are text where a field holds the reasoning.
    let seen = steady(&stream);
    assert_eq!(told(&seen).0, "so it is");
    assert_eq!(told(&seen).1, "<think>so it is</think>Yes.");
}

#[test]
fn tags_are_text_once_a_field_held_reasoning() {
    let stream =
        [reasoning("so"), deltas(&["The tag <thi", "nk> opens, </think> closes."])].concat();
    let text = "The tag <think> opens, </think> closes.";
    assert_eq!(told(&steady(&stream)), ("so", text, Complete, Some("stop")));
}

#[test]
fn a_tag_in_an_answer_is_text_unless_told_otherwise() {
    let text = "<think>a</think>Use <think>b</think> so.";
    everywhere(&Config::default(), text, ["a", "Use <think>b</think> so."]);
    everywhere(&set(&["think_reopens"]), text, ["ab", "Use  so."]);
}

#[test]
fn an_empty_block_opens_nothing() {
    for text in [
        "<think>\\n\\n</think>Yes.",
        "<think></think>Yes.",
        "<think/>Yes.",
        "\\n<think>\\n</think>Yes.",
    ] {
        let seen = steady(&deltas(&[text]));
        assert_eq!(told(&seen), ("", "Yes.", Complete, Some("stop")), "{text}");
        assert!(order(&deltas(&[text])).iter().all(|(kind, _)| *kind == Kind::Output), "{text}");
    }
}

#[test]
fn what_might_have_become_a_tag_is_given_at_the_end() {
    for (text, expect) in [
        ("a <thi", ["", "a <thi"]),
        ("<thi", ["", "<thi"]),
        ("  \\n", ["", "  \n"]),
        ("<think>a</thi", ["a</thi", ""]),
        ("<think>a</think>b</thi", ["a", "b</thi"]),
    ] {
        let held = content(text);
        let finish = format!(
            r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#
        );
        // The end of the input, `[DONE]`, a finish reason behind it, one in the same chunk.
        for stream in [
            held.clone(),
            [&held, DONE].concat(),
            deltas(&[text]),
            [&event(&finish), DONE].concat(),
        ] {
            let seen = steady(&stream);
            assert_eq!([told(&seen).0, told(&seen).1], expect, "{stream}");
        }
    }
}

#[test]
fn what_might_have_become_a_tag_is_given_before_a_tool_call() {
    let call =
        chat(r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}"#);
    let stream = [&content("I look <"), &call, &stop("tool_calls"), DONE].concat();
    let seen = steady(&stream);
    assert_eq!(told(&seen), ("", "I look <", Complete, Some("tool_calls")));
    assert_eq!(calls(&seen), [["c", "f", "{}"]]);
    assert_eq!(order(&stream).last(), Some(&(Kind::Output, "<".to_owned())));
    let together = chat(
        r#"{"content":"I look <","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}"#,
    );
    let seen = steady(&[together, content("3"), stop("tool_calls")].concat());
    assert_eq!(told(&seen).1, "I look <3");
}

#[test]
fn what_might_have_become_a_tag_goes_on_behind_a_field_of_reasoning() {
    let stream =
        [&content("a <"), &reasoning("r"), &content("think> b"), &stop("stop"), DONE].concat();
    assert_eq!(told(&steady(&stream)), ("r", "a <think> b", Complete, Some("stop")));
}

#[test]
fn each_choice_has_its_own_tags() {
    let two = |a: &str, b: &str| {
        event(&format!(
            r#"{{"choices":[{{"index":0,"delta":{{"content":"{a}"}}}},{{"index":1,"delta":{{"content":"{b}"}}}}]}}"#
        ))
    };
    let end = event(
        r#"{"choices":[{"index":1,"delta":{},"finish_reason":"stop"},{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    );
    let stream = [
        &two("<thi", "Plain"),
        &two("nk>r0</", " text </thi"),
        &two("think>o0", "nk>o1"),
        &end,
        DONE,
    ]
    .concat();
    let seen = steady(&stream);
    assert_eq!(told(&seen), ("r0", "o0", Complete, Some("stop")));
    assert_eq!(seen.text(1, Kind::Reasoning), "Plain text ");
    assert_eq!(seen.text(1, Kind::Output), "o1");
}

#[test]
fn halves_of_characters_stand_beside_tags() {
    let stream = deltas(&[
        "<think>a\\ud83d",
        "\\ude00</thi",
        "nk>b\\ud83d",
        "\\ude00 <",
        "\\ud83d",
        "\\ude00c",
    ]);
    let seen = steady(&stream);
    assert_eq!(told(&seen), ("a\u{1f600}", "b\u{1f600} <\u{1f600}c", Complete, Some("stop")));
    assert_eq!(seen.answer.repairs, 0);
}

#[test]
fn many_texts_and_tags_in_one_delta_are_taken_apart() {
    let text = "<think>First this. Then that.</think>So it is. And thus it ends. <think> stays.";
    let stream = deltas(&[text]);
    let seen = steady(&stream);
    assert_eq!(told(&seen).0, "First this. Then that.");
    assert_eq!(told(&seen).1, "So it is. And thus it ends. <think> stays.");
    let pieces = pieces(&Config::default(), None, stream.as_bytes());
    assert_eq!(pieces[&0][0], "First this. Then that.");
}

#[test]
fn tags_may_be_taken_for_text() {
    let config = Config::default().with_choice("think_tags", "off").unwrap();
    let seen = under(&config, &deltas(&["<think>a</think>b"]));
    assert_eq!(told(&seen), ("", "<think>a</think>b", Complete, Some("stop")));
}

#[test]
fn tool_tags_behind_reasoning_are_text() {
    let seen = steady(&deltas(&["<think>r</think><tool_", "call>{}</tool_call>"]));
    assert_eq!(told(&seen), ("r", "<tool_call>{}</tool_call>", Complete, Some("stop")));
}

#[test]
fn half_a_character_alone_is_no_reasoning_in_a_field() {
    for field in [
        r#""reasoning":"\ud83d""#,
        r#""reasoning_details":[{"type":"reasoning.text","text":"\ud83d"}]"#,
    ] {
        let half = chat(&format!("{{{field},\"content\":\"<think>\"}}"));
        let stream = [&half, &*deltas(&["so</think>Yes."])].concat();
        assert_eq!(told(&steady(&stream)), ("so", "Yes.", Complete, Some("stop")), "{field}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the bound on time is what is tested")]
fn many_tags_in_one_delta_take_linear_time() {
    for (config, unit) in
        [(Config::default(), "<think>a</think>"), (set(&["think_reopens"]), "b <think>a</think>")]
    {
        let text = unit.repeat(100_000);
        let stream = deltas(&[&text]);
        let started = Instant::now();
        let seen = read_with(Reader::new(None).with_think(config.think()), [stream.as_bytes()]);
        assert_eq!(seen.text(0, Kind::Reasoning), "a".repeat(100_000));
        let out = rewrite(&config, stream.as_bytes(), 0);
        let again = read_with(Reader::new(None).with_think(config.think()), [&out[..]]);
        assert!(again.texts == seen.texts);
        // For each tag a look at all that comes after it would take minutes.
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}
