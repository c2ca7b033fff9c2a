//! How the bytes come.

use decluster::sse::Decoder;
use decluster::wire::{Reader, Verdict::Complete, Verdict::Failed, Verdict::Truncated};
use decluster::{Config, Kind, Nanos, Rewriter, RewriterOptions, Rewritten};
use decluster_tests::rewriting::{config, rewrite, steady, steady_with};
use decluster_tests::small::{DONE, content, event, named, stop};
use decluster_tests::streams::{Decoded, read, read_lines};
use decluster_tests::{EVENT_CAP, decode};

use super::told;

fn one(text: &str) -> String {
    [&content(text), &stop("stop"), DONE].concat()
}

#[test]
fn a_character_cut_by_the_end_of_a_chunk_stays_one_character() {
    // jawah/urllib3.future#349, xberg-io/liter-llm#152, zeroclaw-labs/zeroclaw#3723
    let seen = steady(&one("caf\u{e9}"));
    assert_eq!(told(&seen), ("", "caf\u{e9}", Complete, Some("stop")));
    assert_eq!((seen.answer.malformed, seen.answer.repairs), (0, 0));
}

#[test]
fn a_byte_a_chunk_makes_no_replacement_characters() {
    // deeplethe/utopia#764, astrid-runtime/astrid#171
    let text = "\u{4f60}\u{597d}\u{1f980}";
    assert_eq!(told(&steady(&one(text))), ("", text, Complete, Some("stop")));
}

#[test]
fn chunks_of_64_kb_may_end_inside_characters() {
    // vllm-project/vllm#38732
    let text = "\u{8fd9}\u{662f}\u{4e00}\u{53e5}\u{8bdd}\u{3002}".repeat(12_000);
    let stream = one(&text);
    let chunks: Vec<&[u8]> = stream.as_bytes().chunks(64 << 10).collect();
    assert!(chunks[1..].iter().any(|chunk| (0x80..0xc0).contains(&chunk[0])), "one is cut so");
    assert!(read(chunks, None).text(0, Kind::Output) == text);
    let out = rewrite(&config("block", "adaptive", "semantic"), stream.as_bytes(), 7);
    assert!(read([&out[..]], None).text(0, Kind::Output) == text);
}

#[test]
fn the_byte_85_inside_a_character_ends_no_line() {
    // open-metadata/OpenMetadata#29531, Moyf/moys-asr-workflow#132
    let text = "\u{c5}ngstr\u{f6}m \u{2026} \u{5185}";
    let stream = one(text);
    assert!(stream.as_bytes().contains(&0x85));
    assert_eq!(told(&steady(&stream)), ("", text, Complete, Some("stop")));
    assert_eq!(told(&lines(&stream, |line| line.as_bytes().to_vec())).1, text);
}

#[test]
fn text_that_was_cut_as_latin_1_is_told() {
    // The same reports: what reaches us was decoded as Latin-1 and cut at U+0085. The text cannot be had
    // again; that it is damaged can be told.
    let latin: String = one("\u{c5}b").bytes().map(char::from).collect();
    let seen = read_lines(latin.split(['\n', '\u{85}']).map(str::as_bytes));
    assert_eq!((seen.answer.repairs, seen.answer.malformed), (0, 1));
    assert!(seen.answer.first_malformed.unwrap().message.contains("Latin-1"));
    assert_eq!(seen.answer.verdict, Some(Complete));
}

#[test]
fn a_raw_line_separator_in_a_string_ends_no_line() {
    // florimondmanca/httpx-sse#34, Soju06/codex-lb#1010, langgenius/dify#39008, langchain-ai/langgraph#2560
    for separator in ["\u{2028}", "\u{2029}", "\u{85}"] {
        let text = format!("a{separator}b");
        let stream = one(&text);
        let seen = steady(&stream);
        assert_eq!(told(&seen), ("", &*text, Complete, Some("stop")));
        assert_eq!((seen.answer.events, seen.answer.repairs), (3, 0));
        // What a splitter lost can be guessed, and the guess is told.
        let split =
            read_lines(stream.split(['\n', '\u{2028}', '\u{2029}', '\u{85}']).map(str::as_bytes));
        assert_eq!(told(&split), ("", "a\u{2028}b", Complete, Some("stop")));
        assert_eq!(split.answer.repairs, 1);
    }
}

#[test]
fn a_line_end_cut_in_two_is_one_line_end() {
    // rexxars/eventsource-parser#17, Effect-TS/effect#6954, ax-llm/ax#622, openclacky#489
    let input = b"data: a\r\ndata: b\r\n\r\n";
    for at in 0..=input.len() {
        let (a, b) = input.split_at(at);
        let mut data = Vec::new();
        decode(&mut Decoder::new(EVENT_CAP), [a, b], |frame| {
            data.extend(frame.event.as_ref().map(|event| event.data.to_owned()));
        })
        .unwrap();
        assert_eq!(data, ["a\nb"], "cut at {at}");
    }
    assert_eq!(told(&steady(&one("x").replace('\n', "\r\n"))), ("", "x", Complete, Some("stop")));
    assert_eq!(told(&steady(&one("x").replace('\n', "\r"))), ("", "x", Complete, Some("stop")));
}

#[test]
fn the_blank_after_data_may_be_missing() {
    // openai/openai-python#498, openai/openai-python#502, openai/openai-python#559,
    // davidmigloz/langchain_dart#778, lidge-jun/opencodex#1170
    let seen = steady(&one("x").replace("data: ", "data:"));
    assert_eq!(told(&seen), ("", "x", Complete, Some("stop")));
}

#[test]
fn a_keep_alive_is_no_error_even_as_data() {
    // pfrankov/obsidian-local-gpt#22, tmc/langchaingo#1350, dvcrn/ex_openai#31,
    // router-for-me/CLIProxyAPI#942
    let stream =
        [": OPENROUTER PROCESSING\n\n", "data: : OPENROUTER PROCESSING\n\n", &one("x")].concat();
    let seen = steady(&stream);
    assert_eq!(told(&seen), ("", "x", Complete, Some("stop")));
    assert_eq!((seen.answer.comments, seen.answer.malformed), (1, 0));
}

#[test]
fn events_between_crlfs_come_one_by_one() {
    // miruamel/xuan#194, praxis-proxy/praxis#739
    let (mut decoder, mut reader) = (Decoder::new(EVENT_CAP), Reader::new(None));
    for text in ["a", "b", "c"] {
        // The event is over with the CR of the blank line.
        let event = content(text).replace('\n', "\r\n");
        decoder.push(&event.as_bytes()[..event.len() - 1]);
        let mut seen = String::new();
        while let Some(frame) = decoder.poll().unwrap() {
            seen.extend(reader.read(&frame).texts.iter().map(|t| t.text.as_ref()));
        }
        assert_eq!(seen, text);
        decoder.push(b"\n");
    }
}

#[test]
fn long_lines_are_one_event() {
    // openai/openai-go#368, cloudwego/hertz#1441, mark3labs/mcp-go#61, SamSaffron/term-llm#347
    for size in [70_000, 300_000, 2_000_000] {
        let text = "word ".repeat(size / 5);
        let stream = one(&text);
        let seen = read(stream.as_bytes().chunks(4_096), None);
        assert!(seen.text(0, Kind::Output) == text);
        assert_eq!((seen.answer.events, seen.answer.verdict), (3, Some(Complete)));
        let out = rewrite(&config("block", "adaptive", "semantic"), stream.as_bytes(), 1);
        assert!(read([&out[..]], None).text(0, Kind::Output) == text);
    }
}

#[test]
fn an_event_of_gemini_cut_inside_a_string_is_one_event() {
    // BerriAI/litellm#30224, jeremychone/rust-genai#63, elastic/kibana#217990
    let stream = event(
        r#"{"candidates":[{"content":{"parts":[{"text":"one \"two\" } three"}]},"finishReason":"STOP"}]}"#,
    );
    let seen = steady(&stream.replace('\n', "\r\n"));
    assert_eq!(told(&seen), ("", "one \"two\" } three", Complete, Some("STOP")));
    assert_eq!(seen.answer.events, 1);
}

#[test]
fn json_over_three_data_lines_is_joined() {
    // maximhq/bifrost#372
    let stream = concat!(
        "data: {\"choices\":[{\"index\":0,\n",
        "data: \"delta\":{\"content\":\"One thing is here. Another is there.\"},\n",
        "data: \"finish_reason\":\"stop\"}]}\n\n",
    );
    let seen = steady(stream);
    assert_eq!(told(&seen), ("", "One thing is here. Another is there.", Complete, Some("stop")));
    assert_eq!((seen.answer.events, seen.answer.repairs), (1, 0));
}

#[test]
fn a_last_line_without_its_end_is_taken() {
    // binaricat/Netcatty#3027, achetronic/magec#62
    for stream in
        [one("x"), [content("x"), stop("stop")].concat(), [content("x"), DONE.to_owned()].concat()]
    {
        let seen = steady(stream.trim_end());
        assert_eq!((told(&seen).1, told(&seen).2), ("x", Complete), "{stream}");
        let seen = steady(&stream[..stream.len() - 1]);
        assert_eq!((told(&seen).1, told(&seen).2), ("x", Complete), "{stream}");
    }
    let cut = [content("x"), stop("stop").trim_end().to_owned()].concat();
    let seen = steady(&cut[..cut.len() - 1]);
    assert_eq!((told(&seen).1, told(&seen).2), ("x", Truncated), "half of an event is none");
}

#[test]
fn a_connection_that_closes_right_behind_the_end_is_complete() {
    // 64bit/async-openai#74
    let stream = one("x");
    for length in [stream.len(), stream.len() - 1, stream.len() - 2] {
        assert_eq!(told(&steady(&stream[..length])), ("", "x", Complete, Some("stop")));
    }
}

#[test]
fn everything_leaves_at_done_though_the_connection_stays_open() {
    // agentscope-ai/agentscope-java#2073
    let mut now = Nanos::ZERO;
    let mut rewriter = Rewriter::new(&Config::default(), RewriterOptions::default(), now).unwrap();
    rewriter.push(now, one("One thing is here. Another thing is there").as_bytes()).unwrap();
    let mut out = Vec::new();
    loop {
        match rewriter.poll(now) {
            Rewritten::Bytes(bytes) => out.extend_from_slice(bytes),
            Rewritten::Wait(at) => now = at,
            Rewritten::NeedInput => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(out.ends_with(DONE.as_bytes()));
    assert!(now < Nanos::from_millis(2_000), "{now:?}");
    rewriter.finish(now);
    assert_eq!(rewriter.answer().verdict, Some(Complete));
}

#[test]
fn data_may_stand_before_the_name() {
    let stream = "data: {\"delta\":\"x\"}\nevent: response.output_text.delta\n\n\
        data: {\"response\":{\"status\":\"completed\"}}\nevent: response.completed\n\n";
    assert_eq!(told(&steady(stream)), ("", "x", Complete, Some("completed")));
}

#[test]
fn the_type_in_the_data_counts_more_than_the_name() {
    let stream = [
        named("response.output_text.delta", r#""delta":"x""#)
            .replace("event: response.output_text.delta", "event: response.reasoning_text.delta"),
        named("response.completed", "")
            .replace("event: response.completed", "event: response.failed"),
    ]
    .concat();
    assert_eq!(told(&steady(&stream)), ("", "x", Complete, Some("completed")));
}

#[test]
fn events_that_lost_the_line_ends_between_them_are_read_apart() {
    let glued = [content("a").trim_end(), &content("b"), &stop("stop"), DONE].concat();
    let stacked =
        [&content("a")[..content("a").len() - 1], &content("b"), &stop("stop"), DONE].concat();
    for stream in [glued, stacked] {
        let seen = steady(&stream);
        assert_eq!(told(&seen), ("", "ab", Complete, Some("stop")), "{stream}");
        assert_eq!((seen.answer.events, seen.answer.repairs), (4, 1), "{stream}");
    }
}

#[test]
fn an_error_in_a_field_of_its_own_is_an_error() {
    for line in
        ["error: {\"code\":500,\"message\":\"slot\"}", "error:{\"code\":500,\"message\":\"slot\"}"]
    {
        let seen = steady(&[&content("x"), line, "\n\n"].concat());
        assert_eq!(told(&seen), ("", "x", Failed, None));
        assert_eq!(seen.answer.error.as_deref(), Some(r#"{"code":500,"message":"slot"}"#));
    }
}

#[test]
fn an_error_without_a_field_name_is_an_error_and_other_lines_are_nothing() {
    let seen = steady(&[&content("x"), "{\"error\":{\"message\":\"quota\"}}\n\n", DONE].concat());
    assert_eq!(told(&seen), ("", "x", Failed, None));
    assert_eq!(seen.answer.error.as_deref(), Some(r#"{"message":"quota"}"#));
    let seen = steady(&[&content("x"), "{\"note\":1}\n\n", DONE].concat());
    assert_eq!(told(&seen), ("", "x", Complete, None));
}

#[test]
fn blanks_behind_the_json_are_nothing() {
    let stream = [
        named("message_start", r#""message":{"id":"m"}"#),
        named(
            "content_block_delta",
            r#""index":0,"delta":{"type":"text_delta","text":"Padded. And more."}"#,
        ),
        named("message_delta", r#""delta":{"stop_reason":"end_turn"}"#),
        named("message_stop", ""),
    ];
    let padded = stream.concat().replace("}\n\n", "}   \t  \n\n");
    let seen = steady(&padded);
    assert_eq!(told(&seen), ("", "Padded. And more.", Complete, Some("end_turn")));
    assert_eq!(seen.answer.malformed, 0);
}

#[test]
fn a_mark_at_the_very_beginning_is_dropped() {
    let seen = steady_with(&Config::default(), None, format!("\u{feff}{}", one("x")).as_bytes());
    assert_eq!(told(&seen), ("", "x", Complete, Some("stop")));
}

#[test]
fn lines_say_what_bytes_say() {
    let stream = [": c\n\n", &content("One. "), &content("Two."), &stop("stop"), DONE].concat();
    let whole = read([stream.as_bytes()], None);
    let ways: [fn(&str) -> Vec<u8>; 4] = [
        |line| line.as_bytes().to_vec(),
        |line| format!("{line}\n").into_bytes(),
        |line| format!("{line}\r\n").into_bytes(),
        // A reader that cuts at LF leaves the CR behind.
        |line| format!("{line}\r").into_bytes(),
    ];
    for way in ways {
        for blanks in [true, false] {
            let given = stream.lines().filter(|line| blanks || !line.is_empty()).map(way);
            let given: Vec<Vec<u8>> = given.collect();
            let seen = read_lines(given.iter().map(Vec::as_slice));
            assert_eq!((&seen.texts, &seen.answer), (&whole.texts, &whole.answer));
        }
    }
    // A library that cuts each chunk for itself makes two line ends of a CRLF that was cut.
    let doubled = stream.lines().flat_map(|line| [line, ""]).map(str::as_bytes);
    let seen = read_lines(doubled);
    assert_eq!((&seen.texts, &seen.answer), (&whole.texts, &whole.answer));
}

fn lines(stream: &str, way: impl Fn(&str) -> Vec<u8>) -> Decoded {
    let given: Vec<Vec<u8>> = stream.lines().map(way).collect();
    read_lines(given.iter().map(Vec::as_slice))
}
