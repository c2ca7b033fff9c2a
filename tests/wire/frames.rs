//! JSON lines and JSON arrays are framed as event streams are: nothing is lost, no cut changes anything.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::time::{Duration, Instant};

use decluster::frames::{Ending, Frames, Writer};
use decluster::sse::{Form, Frame, TooLarge};
use decluster::wire::{Answer, Reader, Verdict};
use decluster_tests::{EVENT_CAP, captures, cut, decode, decode_lines, sizes};
use proptest::prelude::*;

/// A frame without borrowing: its bytes, its data, its form in a letter, and whether it is whole.
type Seen = (String, Option<String>, char, bool);

fn seen(frame: &Frame<'_>) -> Seen {
    let raw = String::from_utf8_lossy(frame.raw).into_owned();
    let data = frame.event.as_ref().map(|event| {
        if let Some(range) = event.data_range.clone() {
            assert_eq!(&frame.raw[range], event.data.as_bytes());
        }
        if let Form::Line { before, after } | Form::Element { before, after } = frame.form {
            let value = &frame.raw[before..frame.raw.len() - after];
            assert_eq!(String::from_utf8_lossy(value), event.data);
        }
        event.data.to_owned()
    });
    let form = match frame.form {
        Form::Sse => 's',
        Form::Line { .. } => 'l',
        Form::Element { .. } => 'e',
        Form::ArrayEnd => ']',
        other => panic!("{other:?}"),
    };
    (raw, data, form, frame.terminated)
}

fn run<'p>(
    limit: usize,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> (Vec<Seen>, Option<TooLarge>) {
    let mut frames = Frames::new(limit);
    let mut all = Vec::new();
    let result = decode(&mut frames, pieces, |frame| all.push(seen(frame)));
    (all, result.err())
}

/// The frames, the same for every cut in two and byte by byte; every byte is in one of them.
fn framed(input: &[u8]) -> Vec<Seen> {
    let (whole, error) = run(EVENT_CAP, [input]);
    assert_eq!(error, None);
    let shown = String::from_utf8_lossy(input);
    assert_eq!(whole.iter().map(|f| f.0.as_str()).collect::<String>(), shown);
    assert_eq!(run(EVENT_CAP, input.chunks(1)).0, whole, "{shown:?} byte by byte");
    for at in 0..=input.len() {
        let (a, b) = input.split_at(at);
        assert_eq!(run(EVENT_CAP, [a, b]).0, whole, "{shown:?} cut at {at}");
    }
    whole
}

fn raws(input: &str) -> Vec<String> {
    framed(input.as_bytes()).into_iter().map(|frame| frame.0).collect()
}

fn data(input: &str) -> Vec<String> {
    framed(input.as_bytes()).into_iter().filter_map(|frame| frame.1).collect()
}

fn by_lines<'l>(lines: impl IntoIterator<Item = &'l str>) -> Vec<Seen> {
    let mut frames = Frames::new(EVENT_CAP);
    let mut all = Vec::new();
    let lines = lines.into_iter().map(str::as_bytes);
    decode_lines(&mut frames, lines, |frame| all.push(seen(frame))).unwrap();
    all
}

fn answer(input: &str) -> Answer {
    let mut reader = Reader::new(None);
    let mut frames = Frames::new(EVENT_CAP);
    decode(&mut frames, [input.as_bytes()], |frame| drop(reader.read(frame))).unwrap();
    reader.finish();
    reader.answer().clone()
}

#[test]
fn the_first_byte_tells_the_framing() {
    let forms = |input: &str| framed(input.as_bytes()).iter().map(|f| f.2).collect::<String>();
    assert_eq!(forms("data: {}\n\n"), "s");
    assert_eq!(forms("{\"a\":1}\n{\"a\":2}\n"), "ll");
    assert_eq!(forms("[{\"a\":1},{\"a\":2}]"), "ee]");
    assert_eq!(forms("\u{feff}{}\n"), "l");
    assert_eq!(forms("\u{feff}[{}]"), "e]");
    assert_eq!(forms("\u{feff}data: x\n\n"), "s");
    assert_eq!(forms("\n\r\n \t{}\n"), "ssl", "blank lines do not wait");
    assert_eq!(forms("\r\n\rdata: x\r\n\r\n"), "ssss");
    assert_eq!(forms("[DONE]\n\n"), "s");
    assert_eq!(forms("<html>\n\n"), "s");
    assert_eq!(raws("\r\n \r\n\r\n {}"), ["\r", "\n \r\n\r", "\n {}"]);
    for input in ["", " ", "\u{feff}", "\u{feff}\n\n"] {
        assert!(framed(input.as_bytes()).iter().all(|frame| frame.1.is_none()), "{input:?}");
    }
    assert_eq!(forms("["), "e");
}

#[test]
fn each_line_of_json_is_a_frame() {
    assert_eq!(raws("{\"a\":1}\n{\"b\":2}\r\n"), ["{\"a\":1}\n", "{\"b\":2}\r\n"]);
    assert_eq!(data(" {\"a\":\"}\\\"{\"} \r\n{\"b\":[1]}"), ["{\"a\":\"}\\\"{\"}", "{\"b\":[1]}"]);
    let blank = framed(b"{}\n\n{}\n");
    assert_eq!(blank[1], ("\n".to_owned(), None, 'l', true));
    assert_eq!(data("{}\n[DONE]\n"), ["{}", "[DONE]"]);
    let comments = framed(b"{}\n: still here\n{}\n");
    assert_eq!(comments.iter().filter(|frame| frame.1.is_some()).count(), 2);
}

#[test]
fn the_end_of_the_input_ends_the_last_line() {
    let last = |input: &str| framed(input.as_bytes()).pop().unwrap();
    assert_eq!(
        last("{}\n{\"a\":1}"),
        ("{\"a\":1}".to_owned(), Some("{\"a\":1}".to_owned()), 'l', false)
    );
    assert_eq!(last("{}\n{\"a\":").1.as_deref(), Some("{\"a\":"));
    assert!(!last("{}").3);
}

#[test]
fn a_bad_line_damages_only_itself() {
    for bad in [
        "{\"a\":\n",
        "{\"a\":\"x\n",
        "{\"a\":\"\\\n",
        "}\n",
        "nonsense\n",
        "{}}\n",
        "\"\n",
        "[{\n",
        ",\n",
    ] {
        let input = ["{\"n\":1}\n", bad, "{\"n\":2}\n"].concat();
        assert_eq!(data(&input), ["{\"n\":1}", bad.trim_end(), "{\"n\":2}"]);
    }
    assert_eq!(data("{\"a\":\"x\n{\"n\":2}\n"), ["{\"a\":\"x", "{\"n\":2}"], "the first as well");
}

#[test]
fn values_that_spread_over_lines_end_with_their_bracket() {
    let pretty = "{\n  \"a\": \"}\",\n  \"b\": [\n    {}\n  ]\n}\n{\n}\n";
    assert_eq!(raws(pretty), [&pretty[..pretty.len() - 5], "\n{\n}", "\n"]);
    assert_eq!(
        data("{\"a\":1}{\"b\":2} {\"c\":3}\n{}\n"),
        ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}", "{}"]
    );
    assert_eq!(data("{}\n{\"a\":1}{\"b\":2}\n{}\n"), ["{}", "{\"a\":1}", "{\"b\":2}", "{}"]);
    assert_eq!(data("{\n}\n[DONE]\n"), ["{\n}", "[DONE]"]);
}

#[test]
fn a_field_name_begins_an_event_stream() {
    let forms = |input: &str| framed(input.as_bytes()).iter().map(|f| f.2).collect::<String>();
    assert_eq!(
        data("{\"error\":1}\ndata: {}\n\ndata: [DONE]\n\n"),
        ["{\"error\":1}", "{}", "[DONE]"]
    );
    assert_eq!(forms("{\"error\":1}\n\nevent: x\ndata: {}\n\n"), "lls");
    assert_eq!(data("{\"a\": {\ndata: x\n\n"), ["{\"a\": {", "x"], "not in the middle of a value");
    assert_eq!(data("[{}\ndata: x\n\n"), ["{}", "x"]);
    assert_eq!(data("{}\ndata: x"), ["{}", "x"], "at the end of the input");
    assert_eq!(forms("{}\ndatum: x\n"), "ll");
    assert_eq!(data("{\n\"data\": 1}\n"), ["{\n\"data\": 1}"]);
}

#[test]
fn elements_go_out_as_their_bracket_comes() {
    let input = "[{\n  \"a\": \"]}\\\"\"\n}\n,\r\n{\"b\": []}\n]\n";
    assert_eq!(raws(input), ["[{\n  \"a\": \"]}\\\"\"\n}", "\n,\r\n{\"b\": []}", "\n]", "\n"]);
    let mut frames = Frames::new(EVENT_CAP);
    frames.push(b"[{\"a\":1}");
    assert_eq!(frames.poll().unwrap().unwrap().raw, b"[{\"a\":1}");
    frames.push(b",{\"a\":2}]");
    assert_eq!(frames.poll().unwrap().unwrap().raw, b",{\"a\":2}");
    assert_eq!(frames.poll().unwrap().unwrap().form, Form::ArrayEnd);
    assert_eq!(frames.buffered(), 0);
    assert_eq!(raws("[]"), ["[]"]);
    assert_eq!(raws("[{}][{}]"), ["[{}", "]", "[{}", "]"]);
}

#[test]
fn an_array_that_stays_open_is_truncated() {
    let of = |input: &str| answer(input).verdict;
    let chunk = r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}"#;
    assert_eq!(of(&format!("[{chunk}]")), Some(Verdict::Complete));
    for cut in [format!("[{chunk}"), format!("[{chunk},"), format!("[{chunk},\r\n{{\"choi")] {
        assert_eq!(of(&cut), Some(Verdict::Truncated), "{cut}");
    }
}

#[test]
fn garbage_in_an_array_is_counted_and_kept() {
    let input = "[{\"a\":1}, 17 x,null,,\"s]\" [[{\"b\":1}]] }{\"c\":1}:]";
    let whole = data(input);
    assert_eq!(
        whole,
        ["{\"a\":1}", "17", "x", "null", "\"s]\"", "[[{\"b\":1}]]", "}", "{\"c\":1}", ":"]
    );
    let answer = answer(input);
    assert_eq!((answer.events, answer.malformed), (9, 6));
}

#[test]
fn lines_without_their_ends_are_framed_alike() {
    let of = |seen: &[Seen]| seen.iter().filter_map(|frame| frame.1.clone()).collect::<Vec<_>>();
    for input in [
        "{\"a\":1}\n{\"b\":2}\n",
        "{\"a\":1}\n\n{\"b\":2}\n[DONE]\n",
        "[{\n  \"a\": 1\n}\n,\n{\n  \"b\": 2\n}\n]\n",
        "{\n  \"error\": {\n    \"code\": 1\n  }\n}\n",
        "\n{\"a\":1}\n",
        "{\"error\":1}\n\ndata: {\"a\":1}\n\n",
    ] {
        let crlf = input.replace('\n', "\r\n");
        let lines = by_lines(input.lines());
        assert_eq!(of(&lines), data(input), "{input:?}");
        assert_eq!(by_lines(input.split_inclusive('\n')), lines);
        assert_eq!(of(&by_lines(crlf.split_inclusive('\n'))), data(&crlf));
        assert_eq!(of(&by_lines(crlf.split_terminator('\n'))), data(&crlf), "the CR stays");
    }
}

#[test]
fn one_frame_may_not_exceed_the_cap() {
    let long = "x".repeat(40);
    for (input, offset) in [
        (format!("{{\"a\":1}}\n{{\"a\":\"{long}\"}}\n{{}}\n"), 8),
        (format!("[{{\"a\":1}},{{\"a\":\"{long}\"}},{{}}]"), 8),
        (format!("[{{\"a\":1}}{long}"), 8),
        (format!("\n{}{{}}", " ".repeat(40)), 1),
        (format!("{{\n}}{{\"a\":[{}\n", "\n".repeat(40)), 3),
        (format!("{{\"a\":\n{long}\ndata: x\n\n"), 0),
        (format!("{{}}\ndata: {long}\n\n"), 3),
        (format!("{}\n{{}}\n", " ".repeat(40) + "\n\n"), 0),
    ] {
        let (whole, error) = run(32, [input.as_bytes()]);
        assert_eq!(error, Some(TooLarge { limit: 32, offset }), "{input:?}");
        assert_eq!(run(32, input.as_bytes().chunks(1)), (whole, error), "{input:?}");
        let mut frames = Frames::new(32);
        frames.push(input.as_bytes());
        assert!((0..100).any(|_| frames.poll().is_err()));
        assert!(matches!(frames.poll(), Ok(None)), "told once");
        assert_eq!(frames.rest(), &input.as_bytes()[offset as usize..]);
        frames.push(b"{}\n");
        assert_eq!(frames.buffered(), input.len() - offset as usize, "takes no more");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the bound on time is what is tested")]
fn large_values_take_linear_time() {
    let text = "a\\\"}]\u{2028}".repeat(60_000);
    for input in [
        format!("{{\"a\":\"{text}\"}}\n{{\"a\":\"{text}\"}}\n"),
        format!("[{{\"a\":\"{text}\"}},{{\"a\":\"{text}\"}}]"),
        format!("[{}{}]", "[".repeat(300_000), "]".repeat(300_000)),
        format!("{{}}\n{}", "\n".repeat(600_000)),
        format!("{}{{}}", "\r\n ".repeat(200_000)),
        format!("[{}1]", "1,".repeat(300_000)),
    ] {
        let started = Instant::now();
        let (whole, error) = run(EVENT_CAP, input.as_bytes().chunks(1));
        assert_eq!(error, None);
        assert!(run(EVENT_CAP, [input.as_bytes()]).0 == whole);
        // A scan from the start for each byte would take many minutes.
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}

#[test]
fn damaged_characters_are_replaced_in_the_data_only() {
    let frames = framed(b"{\"a\":\"\xe4\xbd\"}\n");
    assert_eq!(frames[0].1.as_deref(), Some("{\"a\":\"\u{fffd}\"}"));
    let mut frames = Frames::new(EVENT_CAP);
    frames.push(b"[{\"a\":\"\xff\"}]");
    let frame = frames.poll().unwrap().unwrap();
    assert_eq!((frame.raw, frame.event.unwrap().data_range), (&b"[{\"a\":\"\xff\"}"[..], None));
}

/// Writes each event as these texts, and everything else as it is.
fn written(input: &str, parts: &[&str]) -> String {
    let (mut frames, mut writer, mut out) = (Frames::new(EVENT_CAP), Writer::default(), Vec::new());
    decode(&mut frames, [input.as_bytes()], |frame| {
        if frame.event.is_none() {
            return writer.whole(frame.raw, frame.form, frame.led, &mut out);
        }
        for (place, part) in parts.iter().enumerate() {
            let last = place + 1 == parts.len();
            let how = Ending { last, close: !last };
            writer.part(frame.raw, frame.form, part, how, &mut out);
        }
    })
    .unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn an_event_is_written_as_several_of_its_form() {
    let (one, two) = (["{1}"], ["{1}", "{2}"]);
    assert_eq!(written("{}\r\n{}\r\n", &one), "{1}\r\n{1}\r\n");
    assert_eq!(written("{}\r\n{}\r\n", &two), "{1}\r\n{2}\r\n{1}\r\n{2}\r\n");
    assert_eq!(written("{}\n{}", &two), "{1}\n{2}\n{1}\n{2}");
    assert_eq!(written("\u{feff} {}\n", &two), " {1}\n {2}\n");
    assert_eq!(written("{\n}\n{\n}\n", &two), "{1}\n{2}\n{1}\n{2}\n");
    assert_eq!(written("[{},\r\n{}\n]", &one), "[{1},\r\n{1}\n]");
    assert_eq!(written("[{},\r\n{}\n]", &two), "[{1},\n{2},\r\n{1},\r\n{2}\n]");
    assert_eq!(written("\u{feff}[ {},{}]\n", &two), "[ {1},\n{2},{1},{2}]\n");
    assert_eq!(written("[]", &two), "[]");
    assert_eq!(written("data: {}\n\n", &two), "data: {1}\n\ndata: {2}\n\n");
}

#[test]
fn an_array_stays_one_when_elements_are_left_out_or_overtaken() {
    let (mut frames, mut kept) = (Frames::new(EVENT_CAP), Vec::new());
    decode(&mut frames, [&b"[{1},\r\n{2},\r\n{3}\n]"[..]], |frame| {
        kept.push((frame.raw.to_vec(), frame.form));
    })
    .unwrap();
    let order = |order: &[usize], part: bool| {
        let (mut writer, mut out) = (Writer::default(), Vec::new());
        for &place in order {
            let (raw, form) = &kept[place];
            if part && place < 3 {
                writer.part(raw, *form, "{x}", Ending { last: true, close: false }, &mut out);
            } else {
                writer.whole(raw, *form, false, &mut out);
            }
        }
        String::from_utf8(out).unwrap()
    };
    assert_eq!(order(&[1, 2, 3], false), "[\r\n{2},\r\n{3}\n]");
    assert_eq!(order(&[1, 0, 2, 3], false), "[\r\n{2},\n{1},\r\n{3}\n]");
    assert_eq!(order(&[2, 3], true), "[\r\n{x}\n]");
    assert_eq!(order(&[0, 1, 2, 3], false), "[{1},\r\n{2},\r\n{3}\n]");
}

#[test]
fn events_that_were_parsed_are_frames_of_their_own() {
    let mut frames = Frames::new(10);
    assert!(frames.push_event("", "{\"a\":1}") && frames.push_event("news", "{}"));
    frames.push(b"data: x\n\n");
    assert!(frames.buffered() >= "{\"a\":1}news{}".len());
    for (number, name, data) in [(0, "message", "{\"a\":1}"), (1, "news", "{}")] {
        let frame = frames.poll().unwrap().unwrap();
        assert_eq!((frame.form, frame.raw), (Form::Object(number), data.as_bytes()));
        let event = frame.event.unwrap();
        assert_eq!((event.name, event.data, event.data_range), (name, data, Some(0..data.len())));
    }
    assert_eq!(frames.poll(), Ok(None));
    assert_eq!(frames.buffered(), 0);
    assert!(frames.push_event("", "{\"a\":12345}"));
    assert_eq!(frames.poll(), Err(TooLarge { limit: 10, offset: 9 }));
    assert_eq!(frames.poll(), Ok(None));
    assert!(!frames.push_event("", "{}"));
    let mut bytes = Frames::new(10);
    bytes.push(b"{");
    assert!(!bytes.push_event("", "{}"));
}

#[test]
fn recorded_streams_are_framed() {
    for dialect in ["ollama", "bedrock-converse", "gemini"] {
        for capture in captures(dialect) {
            let count = |seen: &[Seen]| seen.iter().filter(|frame| frame.1.is_some()).count();
            let (whole, error) = run(EVENT_CAP, [&capture.bytes[..]]);
            assert_eq!(error, None, "{}", capture.name);
            let bytes: String = whole.iter().map(|frame| frame.0.as_str()).collect();
            assert!(bytes.as_bytes() == capture.bytes, "{}: every byte", capture.name);
            assert_eq!(
                Some(count(&whole) as u64),
                capture.expect["events"].as_u64(),
                "{}",
                capture.name
            );
            assert!(run(EVENT_CAP, capture.bytes.chunks(1)).0 == whole, "{}", capture.name);
            for seed in 0..3 {
                let pieces = cut(&capture.bytes, &sizes(capture.bytes.len(), seed));
                assert!(run(EVENT_CAP, pieces).0 == whole, "{} cut by {seed}", capture.name);
            }
            let lines = by_lines(std::str::from_utf8(&capture.bytes).unwrap().lines());
            assert_eq!(count(&lines), count(&whole), "{} by lines", capture.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: decluster_tests::cases(400),
        failure_persistence: Some(Box::new(proptest::test_runner::FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_cut_of_anything_changes_a_frame(
        parts in prop::collection::vec(
            "(\\{|\\}|\\[|\\]|\"|\\\\|,|:| |\r|\n|\r\n|data: |event:|\\{\\}\n|\\[DONE\\]|1|x|\u{feff}|\u{2028})", 0..60
        ),
        limit in 8..64_usize,
        seed: u64,
    ) {
        let input = parts.concat();
        let whole = framed(input.as_bytes());
        let (capped, error) = run(limit, [input.as_bytes()]);
        prop_assert!(whole.starts_with(&capped[..capped.len() - usize::from(error.is_none() && !capped.is_empty())]));
        prop_assert_eq!(run(limit, cut(input.as_bytes(), &sizes(input.len(), seed))), (capped, error));
    }
}
