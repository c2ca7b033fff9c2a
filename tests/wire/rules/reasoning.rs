//! Reasoning in fields of its own, in chat completions.

use decluster::Kind::{Output, Reasoning};
use decluster::wire::{Reader, Verdict::Complete};
use decluster::{Config, Nanos, Rewriter, RewriterOptions, Rewritten};
use decluster_tests::rewriting::steady;
use decluster_tests::small::{DONE, chat, content, event, reasoning, stop};

use super::{order, told};

#[test]
fn both_in_one_delta_are_taken_reasoning_first() {
    // BerriAI/litellm#27492, brainlid/langchain#651
    let both = chat(r#"{"reasoning_content":"end","content":"Sta"}"#);
    let stream = [&reasoning("The "), &both, &content("rt."), &stop("stop"), DONE].concat();
    assert_eq!(told(&steady(&stream)), ("The end", "Start.", Complete, Some("stop")));
    let parts = [(Reasoning, "The "), (Reasoning, "end"), (Output, "Sta"), (Output, "rt.")];
    assert_eq!(order(&stream), parts.map(|(kind, text)| (kind, text.to_owned())));
    // In whichever order they stand in the event.
    let turned = chat(r#"{"content":"Sta","reasoning_content":"end"}"#);
    assert_eq!(order(&turned), [(Reasoning, "end".to_owned()), (Output, "Sta".to_owned())]);
}

#[test]
fn both_in_many_deltas_are_taken() {
    // futuregene/future-os#46, Arvo-AI/aurora#383
    let both =
        |r: &str, o: &str| chat(&format!(r#"{{"content":"{o}","reasoning_content":"{r}"}}"#));
    let stream = [both("One. ", "A. "), both("Two. ", "B. "), both("Three.", "C."), stop("stop")];
    let seen = steady(&stream.concat());
    assert_eq!(told(&seen), ("One. Two. Three.", "A. B. C.", Complete, Some("stop")));
}

#[test]
fn each_name_of_the_field_is_reasoning() {
    // BerriAI/litellm#20246, BerriAI/litellm#26501, BerriAI/litellm#20821, BerriAI/litellm#24020
    for field in ["reasoning", "reasoning_content", "reasoning_text", "thinking"] {
        let delta = |text: &str| chat(&format!(r#"{{"{field}":"{text}"}}"#));
        let stream =
            [&delta("So it "), &delta("is."), &content("Yes."), &stop("stop"), DONE].concat();
        assert_eq!(
            told(&steady(&stream)),
            ("So it is.", "Yes.", Complete, Some("stop")),
            "{field}"
        );
    }
}

#[test]
fn a_field_may_change_its_name_within_the_stream() {
    // vllm-project/vllm#50624, strands-agents/harness-sdk#2191, decolua/9router#3601
    let stream = [
        chat(r#"{"role":"assistant","content":""}"#),
        chat(r#"{"reasoning_content":"One. "}"#),
        chat(r#"{"reasoning":"Two. "}"#),
        chat(r#"{"reasoning_content":"","reasoning":"Three."}"#),
        content("Yes."),
        stop("stop"),
    ];
    assert_eq!(
        told(&steady(&stream.concat())),
        ("One. Two. Three.", "Yes.", Complete, Some("stop"))
    );
}

#[test]
fn an_empty_field_on_each_answer_chunk_opens_no_block() {
    // langgenius/dify-plugin-sdks#277, farion1231/cc-switch#7227, MoonshotAI/kimi-code#2506
    for empty in ["\"\"", "null"] {
        let answer = |text: &str| {
            chat(&format!(
                r#"{{"content":"{text}","reasoning_content":{empty},"reasoning_details":[]}}"#
            ))
        };
        let words = ["It", " is", " so", " and", " stays", " so."];
        let stream = [
            &chat(r#"{"content":null,"reasoning_content":"Hm."}"#),
            &*words.map(answer).concat(),
            &stop("stop"),
        ]
        .concat();
        assert_eq!(
            told(&steady(&stream)),
            ("Hm.", "It is so and stays so.", Complete, Some("stop"))
        );
        let texts = order(&stream);
        assert!(texts[1..].iter().all(|(kind, text)| *kind == Output && !text.is_empty()));
        let (mut now, mut options) = (Nanos::ZERO, RewriterOptions::default());
        options.pieces = true;
        let mut rewriter = Rewriter::new(&Config::default(), options, now).unwrap();
        rewriter.push(now, stream.as_bytes()).unwrap();
        rewriter.finish(now);
        let mut blocks = Vec::new();
        loop {
            match rewriter.poll(now) {
                Rewritten::Piece(piece) => blocks.push((piece.kind, piece.block)),
                Rewritten::Wait(at) => now = at,
                _ => break,
            }
        }
        blocks.dedup();
        assert_eq!(blocks, [(Reasoning, 0), (Output, 1)]);
    }
}

#[test]
fn reasoning_may_come_again_after_an_answer() {
    let stream =
        [&reasoning("One."), &content("A."), &reasoning(" Two."), &content(" B."), &stop("stop")];
    let stream: String = stream.into_iter().map(String::as_str).collect();
    assert_eq!(told(&steady(&stream)), ("One. Two.", "A. B.", Complete, Some("stop")));
    assert_eq!(
        order(&stream).iter().map(|(k, _)| *k).collect::<Vec<_>>(),
        [Reasoning, Output, Reasoning, Output]
    );
}

#[test]
fn the_same_text_in_several_fields_comes_once() {
    let delta = |text: &str| {
        chat(&format!(
            r#"{{"reasoning":"{text}","reasoning_content":"{text}","reasoning_details":[{{"type":"reasoning.text","index":0,"text":"{text}"}}]}}"#
        ))
    };
    let stream = [
        delta("First we look. "),
        delta("Then we act. And it ends."),
        content("Yes."),
        stop("stop"),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(
        told(&seen),
        ("First we look. Then we act. And it ends.", "Yes.", Complete, Some("stop"))
    );
}

#[test]
fn reasoning_details_alone_are_read() {
    let stream = [
        chat(
            r#"{"content":"","reasoning_details":[{"type":"reasoning.summary","summary":"First we look. Then we act.","index":0}]}"#,
        ),
        chat(
            r#"{"content":"","reasoning_details":[{"type":"reasoning.text","text":" It ","index":1},{"type":"reasoning.text","text":"ends.","index":1,"signature":"s"}]}"#,
        ),
        chat(
            r#"{"content":"","reasoning_details":[{"type":"reasoning.encrypted","data":"bm8=","index":2}]}"#,
        ),
        chat(
            r#"{"content":"","reasoning_details":[{"type":"reasoning.text","text":"","signature":"s2","index":1}]}"#,
        ),
        chat(
            r#"{"content":"","reasoning_details":[{"type":"reasoning.text","text":null,"summary":5},null,7,"x"]}"#,
        ),
        content("Yes."),
        stop("stop"),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(
        told(&seen),
        ("First we look. Then we act. It ends.", "Yes.", Complete, Some("stop"))
    );
}

#[test]
fn a_signature_without_text_is_no_text_and_passes() {
    // BerriAI/litellm#8797, OpenRouterTeam/ai-sdk-provider#427, turnstonelabs/turnstone#214, pensarai/apex#534
    let signature = |part: &str| {
        let data = format!(
            r#"{{"choices":[{{"index":0,"delta":{{"reasoning":null,"reasoning_details":[{{"type":"reasoning.text","text":"","signature":"{part}"}}]}}}}]}}"#
        );
        let reading = Reader::new(None).read_event("message", &data).texts.len();
        assert_eq!(reading, 0, "no text");
        event(&data)
    };
    let stream =
        [reasoning("So."), signature("abc"), signature("def"), content("Yes."), stop("stop")];
    assert_eq!(told(&steady(&stream.concat())), ("So.", "Yes.", Complete, Some("stop")));
}

#[test]
fn litellm_gives_reasoning_in_two_forms_and_it_comes_once() {
    let both = |text: &str| {
        chat(&format!(
            r#"{{"reasoning_content":"{text}","thinking_blocks":[{{"type":"thinking","thinking":"{text}","signature":null}}],"provider_specific_fields":{{"thinking_blocks":[{{"type":"thinking","thinking":"{text}"}}]}},"content":""}}"#
        ))
    };
    let stream = [
        both("First we look. "),
        both("Then we act. And it ends."),
        chat(
            r#"{"reasoning_content":"","thinking_blocks":[{"type":"thinking","thinking":"","signature":"sig"}],"content":""}"#,
        ),
        chat(r#"{"thinking_blocks":[{"type":"redacted_thinking","data":"bm8="}],"content":""}"#),
        content("Yes. It is so."),
        stop("stop"),
        event(r#"{"choices":[{"index":0,"delta":{}}]}"#),
        event(
            r#"{"choices":[{"index":0,"delta":{}}],"usage":{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":6,"text_tokens":3}}}"#,
        ),
        DONE.to_owned(),
    ];
    let seen = steady(&stream.concat());
    assert_eq!(
        told(&seen),
        ("First we look. Then we act. And it ends.", "Yes. It is so.", Complete, Some("stop"))
    );
    assert_eq!(seen.answer.reasoning_tokens, Some(6));
}

#[test]
fn reasoning_never_comes_as_visible_text() {
    // HKUDS/nanobot#2821, crewAIInc/crewAI#5829
    let stream = [&reasoning("hidden"), &content("shown"), &stop("stop"), DONE].concat();
    let seen = steady(&stream);
    assert!(!seen.text(0, Output).contains("hidden") && !seen.text(0, Reasoning).contains("shown"));
    assert_eq!(told(&seen), ("hidden", "shown", Complete, Some("stop")));
}
