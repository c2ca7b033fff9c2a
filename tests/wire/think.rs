//! Tags in visible text mean the same wherever the deltas cut them, and stay where they stand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use decluster::wire::{Part, Reader, Tags, Think};
use decluster::{Collector, Config, Event, Kind, Nanos, Rewriter, RewriterOptions, Rewritten};
use decluster_tests::rewriting::run;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::json;

const PARTS: [&str; 26] = [
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "<think/>",
    "<thi",
    "nk>",
    "</thi",
    "<",
    ">",
    "</",
    "[THINK]",
    "[/THINK]",
    "◁think▷",
    "◁/think▷",
    "◁",
    "\n",
    " ",
    "\n\n",
    "Thus.",
    "a",
    "é🙂",
    "<|channel|>analysis<|message|>",
    "<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|end|>",
    "<thought>",
];

fn event(content: &str) -> String {
    let delta = json!({"choices": [{"index": 0, "delta": {"content": content}}]});
    format!("data: {delta}\n\n")
}

/// Reasoning, output and whether output proved to be reasoning, of a text cut like this.
fn meaning(think: Think, deltas: &[&str]) -> (String, String, bool) {
    let mut reader = Reader::new(None).with_think(think);
    let (mut texts, mut turned) = ([String::new(), String::new()], false);
    let mut take = |reading: &decluster::wire::Reading<'_>| {
        for text in &reading.texts {
            match text.part {
                Part::Turn => {
                    turned = true;
                    let output = std::mem::take(&mut texts[Kind::Output as usize]);
                    texts[Kind::Reasoning as usize].push_str(&output);
                }
                Part::Tag => {}
                Part::Text | Part::Late => texts[text.kind as usize].push_str(&text.text),
            }
        }
    };
    for delta in deltas {
        let data = json!({"choices": [{"index": 0, "delta": {"content": delta}}]}).to_string();
        let reading = reader.read_event("message", &data);
        let standing = reading.texts.iter().filter(|t| t.part != Part::Late);
        assert_eq!(
            &standing.map(|t| &*t.text).collect::<String>(),
            delta,
            "the string is all there"
        );
        take(&reading);
    }
    take(&reader.finish());
    let [reasoning, output] = texts;
    (reasoning, output, turned)
}

fn of(text: &str) -> (String, String) {
    with(Think::default(), text)
}

fn with(think: Think, text: &str) -> (String, String) {
    let whole = meaning(think, &[text]);
    for (at, _) in text.char_indices() {
        let (a, b) = text.split_at(at);
        assert_eq!(meaning(think, &[a, b]), whole, "cut at {at}");
    }
    (whole.0, whole.1)
}

fn pair(reasoning: &str, output: &str) -> (String, String) {
    (reasoning.to_owned(), output.to_owned())
}

#[test]
fn text_between_tags_is_reasoning() {
    assert_eq!(of("<think>\nSo.\n</think>\n\nYes."), pair("\nSo.\n", "\n\nYes."));
    assert_eq!(of("\n <thinking>So.</thinking>Yes."), pair("So.", "Yes."));
    assert_eq!(of("<think>a</think>\n<think>b</think>c"), pair("ab", "c"));
}

#[test]
fn only_tags_that_are_on_count() {
    assert_eq!(of("[THINK]a[/THINK]b"), pair("", "[THINK]a[/THINK]b"));
    let all = Think { tags: Tags::All, ..Think::default() };
    assert_eq!(with(all, "[THINK]a[/THINK]b"), pair("a", "b"));
    assert_eq!(with(all, "◁think▷a◁/think▷b"), pair("a", "b"));
    let harmony =
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b";
    assert_eq!(with(all, harmony), pair("a", "b"));
    let off = Think { tags: Tags::Off, ..Think::default() };
    assert_eq!(with(off, "<think>a</think>b"), pair("", "<think>a</think>b"));
}

#[test]
fn tags_after_visible_text_are_text_unless_asked_for() {
    let text = "Write <think>a</think>.";
    assert_eq!(of(text), pair("", text));
    let reopens = Think { reopens: true, ..Think::default() };
    assert_eq!(with(reopens, text), pair("a", "Write ."));
    assert_eq!(of("<think>a</think>Write <think>b</think>."), pair("a", "Write <think>b</think>."));
}

#[test]
fn a_closing_tag_that_nothing_opened_turns_what_was_output() {
    let (reasoning, output, turned) = meaning(Think::default(), &["So it is.</th", "ink>Yes."]);
    assert_eq!((reasoning.as_str(), output.as_str(), turned), ("So it is.", "Yes.", true));
    let quoted = "Close it with `</think>`, she said.";
    assert_eq!(of(quoted), pair("", quoted));
    let once = of("a</think>b</think>c");
    assert_eq!(once, pair("a", "b</think>c"));
    let inside = Think { starts_inside: true, ..Think::default() };
    let (reasoning, output, turned) = meaning(inside, &["So it is.</th", "ink>Yes."]);
    assert_eq!((reasoning.as_str(), output.as_str(), turned), ("So it is.", "Yes.", false));
    assert_eq!(with(inside, "<think>\na</think>b"), pair("\na", "b"));
    assert_eq!(with(inside, "No tag at all."), pair("No tag at all.", ""));
}

#[test]
fn blanks_alone_are_no_reasoning() {
    assert_eq!(of("<think>\n\n</think>\nYes."), pair("", "\nYes."));
    assert_eq!(of("<think/>Yes."), pair("", "Yes."));
}

#[test]
fn what_is_held_at_the_end_is_not_lost() {
    assert_eq!(of("<thi"), pair("", "<thi"));
    assert_eq!(of("<think>a</thi"), pair("a</thi", ""));
    assert_eq!(of("<think>\n"), pair("\n", ""));
    assert_eq!(of(" \n"), pair("", " \n"));
    let blanks = " ".repeat(300);
    assert_eq!(of(&format!("{blanks}<think>a")), pair("", &format!("{blanks}<think>a")));
}

#[test]
fn the_end_of_a_choice_gives_what_was_held_before_it() {
    let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    for next in [stop, call] {
        let mut reader = Reader::new(None);
        reader.read_event("message", r#"{"choices":[{"index":0,"delta":{"content":"a<"}}]}"#);
        let reading = reader.read_event("message", next);
        let texts: Vec<_> = reading.texts.iter().map(|t| (t.part, &*t.text)).collect();
        assert_eq!(texts, [(Part::Late, "<")], "{next}");
        assert!(reader.finish().texts.is_empty());
    }
}

#[test]
fn once_reasoning_has_a_field_of_its_own_tags_are_text() {
    let field = r#"{"choices":[{"index":0,"delta":{"reasoning_content":"a"}}]}"#;
    let content = r#"{"choices":[{"index":0,"delta":{"content":"<think>a</think>b"}}]}"#;
    let collected = |config: &Config| {
        let mut collector = Collector::new(config, None);
        collector.push(format!("data: {field}\n\ndata: {content}\n\n").as_bytes()).unwrap();
        collector.finish().unwrap();
        let text = collector.text(0).unwrap();
        (text.reasoning.clone(), text.output.clone())
    };
    assert_eq!(collected(&Config::default()), pair("a", "<think>a</think>b"));
    let copies = Config::default().with("think_copies", 1).unwrap();
    assert_eq!(collected(&copies), pair("a", "b"));
}

#[test]
fn an_open_end_is_told() {
    let mut collector = Collector::new(&Config::default(), None);
    let stop = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
    collector.push(format!("{}{stop}\n\n", event("<think>a")).as_bytes()).unwrap();
    collector.finish().unwrap();
    assert!(collector.answer().reason.as_deref().unwrap().contains("not closed"));
}

/// All pieces and events of a stream, as they leave.
fn pieces(config: &Config, stream: &str) -> Vec<String> {
    let mut options = RewriterOptions::default();
    (options.pieces, options.events) = (true, true);
    let mut now = Nanos::ZERO;
    let mut rewriter = Rewriter::new(config, options, now).unwrap();
    rewriter.push(now, stream.as_bytes()).unwrap();
    rewriter.finish(now);
    let mut out = Vec::new();
    loop {
        match rewriter.poll(now) {
            Rewritten::Piece(piece) => out.push(format!("{} {}", piece.kind.name(), piece.text)),
            Rewritten::Event(Event::Reclassified { index }) => out.push(format!("turn {index}")),
            Rewritten::Other { data, .. } => out.push(data.to_owned()),
            Rewritten::Wait(at) => now = at,
            Rewritten::Finished => return out,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn pieces_have_no_tags_and_say_where_output_was_reasoning() {
    let off = Config::default().with_choice("pace", "off").unwrap();
    let stream = event("<think>Thus.</think>Yes.");
    assert_eq!(pieces(&off, &stream), ["reasoning Thus.", "output Yes."]);
    let stream = [event("Thus."), event("</think>Yes.")].concat();
    assert_eq!(pieces(&off, &stream), ["output Thus.", "turn 0", "output Yes."]);
    let whole = Config::default().with_choice("unit", "whole").unwrap();
    let stream = [event("Thus"), event("</think> it is so.")].concat();
    assert_eq!(pieces(&whole, &stream), ["output Thus", "turn 0", "output  it is so."]);
    let stream = [event("Yes.</thi"), event("rd>")].concat();
    assert_eq!(pieces(&off, &stream), ["output Yes.", "output </third>"]);
}

fn rewritten(config: &Config, stream: &str) -> String {
    let events = stream.split_inclusive("\n\n").map(str::as_bytes);
    String::from_utf8(run(config, events, Nanos::ZERO).0.concat()).unwrap()
}

/// The content strings of a stream's events.
fn contents(stream: &str) -> Vec<String> {
    let events = stream.split("data: ").skip(1);
    let value = |data: &str| serde_json::from_str::<serde_json::Value>(data.trim()).unwrap();
    let content = |data| value(data)["choices"][0]["delta"]["content"].as_str().unwrap().to_owned();
    events.map(content).collect()
}

#[test]
fn a_tag_leaves_in_one_piece_in_its_own_field() {
    let stream =
        event("<think>First this is looked at. Then that.</think>So it is. And that is all.");
    assert_eq!(
        contents(&rewritten(&Config::default().with_choice("pace", "off").unwrap(), &stream)),
        [
            "<think>",
            "First this is looked at.",
            " Then that.",
            "</think>",
            "So",
            " it is. And that is all."
        ]
    );
}

fn settings() -> impl Strategy<Value = Think> {
    let tags = prop_oneof![Just(Tags::Common), Just(Tags::All), Just(Tags::Off)];
    (tags, any::<bool>(), any::<bool>()).prop_map(|(tags, starts_inside, reopens)| Think {
        tags,
        starts_inside,
        reopens,
        ..Think::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: decluster_tests::cases(1_000),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_meaning_does_not_depend_on_where_deltas_are_cut(
        think in settings(),
        parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let text = parts.concat();
        let mut places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        places.push(text.len());
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| places[cut.index(places.len())]).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let deltas: Vec<&str> = cuts.windows(2).map(|w| &text[w[0]..w[1]]).collect();
        prop_assert_eq!(meaning(think, &deltas), meaning(think, &[&text]));
    }

    #[test]
    fn rewriting_keeps_the_meaning_and_every_character(
        all: bool,
        parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 1..12),
        again in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..12),
    ) {
        let (first, second) = (parts.concat(), again.concat());
        let config = Config::default().with_choice("think_tags", if all { "all" } else { "common" }).unwrap();
        let stream = [event(&first), event(&second)].concat();
        let out = contents(&rewritten(&config, &stream));
        prop_assert_eq!(out.concat(), [&*first, &second].concat());
        let cut: Vec<&str> = out.iter().map(String::as_str).collect();
        let think = Think { tags: if all { Tags::All } else { Tags::Common }, ..Think::default() };
        prop_assert_eq!(meaning(think, &cut), meaning(think, &[&first, &second]));
    }
}
