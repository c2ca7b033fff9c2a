//! No input makes the readers panic, lose bytes or text, or depend on how it was cut.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::{Duration, Instant};

use decluster::Kind;
use decluster::frames::{Ending, Frames, Writer};
use decluster::sse::{Decoder, Form, TooLarge};
use decluster::wire::{Dialect, Edit, Reader, Verdict, With, is_complete, splice};
use decluster_tests::streams::{Decoded, read, read_lines};
use decluster_tests::{EVENT_CAP, Random, cut, decode, sizes};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use Verdict::{Complete, Failed, Truncated};

/// Small streams with most of what the readers know, written for these tests.
const SEEDS: [&str; 6] = [
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n: keep-alive\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"Ein Gedanke \\ud83d\",\"content\":null}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"\\ude00, \u{4f60}\u{597d}\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi \u{1f9ae}\\u2028\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"completion_tokens\":9,\"completion_tokens_details\":{\"reasoning_tokens\":4}}}\n\ndata: [DONE]\n\n",
    "data: {\"choices\":[{\"index\":1,\"delta\":{\"reasoning\":\"b\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"b\",\"signature\":null}]}},{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\"}}]}}]}\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\":1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\r\n\r\n",
    "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\"}}\n\nevent: response.reasoning_summary_text.delta\ndata: {\"type\":\"response.reasoning_summary_text.delta\",\"sequence_number\":1,\"output_index\":0,\"summary_index\":0,\"delta\":\"**T**\\n\"}\n\nid: 7\nevent: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":2,\"output_index\":1,\"content_index\":0,\"delta\":\"ok\",\"logprobs\":[]}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":3,\"response\":{\"status\":\"completed\",\"usage\":{\"output_tokens\":5}}}\n\n",
    "event: response.reasoning.delta\rdata: {\"delta_tokens\": 67}\r\revent: response.output.delta\rdata: {\"delta\": \"text\", \"delta_tokens\": 1}\r\rdata: [DONE]\r\r",
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\nerror: {\"message\":\"m\"}\n\n",
    "\u{feff}retry: 10\ndata: {\"choices\":[{\"delta\":\ndata: {\"content\":\"x\"}}]}\n\n<html>\n{\"error\":{\"code\":1}}\n\ndata: : OPENROUTER PROCESSING\n\nevent: ping\ndata\n\n",
];

fn text(decoded: &Decoded, kind: Kind) -> &str {
    decoded.text(0, kind)
}

fn chat(content: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n")
}

/// Reads whole and in pieces; every byte must come out once and nothing may depend on the cuts.
fn steady(input: &[u8]) -> Decoded {
    let whole = read([input], None);
    assert_eq!(whole.raw, input);
    assert_eq!(read(input.chunks(1), None), whole);
    whole
}

#[test]
fn the_seeds_are_read() {
    let seen: Vec<_> = SEEDS.iter().map(|seed| steady(seed.as_bytes())).collect();
    assert_eq!(text(&seen[0], Kind::Reasoning), "Ein Gedanke \u{1f600}, \u{4f60}\u{597d}");
    assert_eq!(text(&seen[0], Kind::Output), "Hi \u{1f9ae}\u{2028}");
    assert_eq!(seen[1].answer.tool_calls()[0].arguments, "{\"x\":1}");
    assert_eq!(seen[2].answer.finish(), Some("completed"));
    assert_eq!(seen[3].dialect, Some(Dialect::Incident));
    assert_eq!(text(&seen[4], Kind::Output), "ab");
    assert_eq!(text(&seen[5], Kind::Output), "x");
    let verdicts: Vec<_> = seen.iter().filter_map(|d| d.answer.verdict).collect();
    assert_eq!(verdicts, [Complete, Truncated, Complete, Complete, Failed, Failed]);
}

#[test]
fn a_bad_event_does_not_take_the_others_with_it() {
    let good = chat("x");
    for bad in [
        "data: {\"choices\":[{\n\n",
        "data: {\"a\":\"\x01\"}\n\n",
        "data: nul\0l\n\n",
        "data: {}}\n\n",
    ] {
        let seen = steady([&good, bad, &good, "data: [DONE]\n\n"].concat().as_bytes());
        assert_eq!(text(&seen, Kind::Output), "xx", "{bad:?}");
        assert_eq!((seen.answer.malformed, seen.answer.verdict), (1, Some(Complete)));
    }
    let unknown = "event: news\ndata: {\"type\":\"later\",\"choices\":{\"0\":[1]}}\n\ndata: 17\n\ndata: \"s\"\n\n";
    let seen = steady([&good, unknown, "data: [DONE]\n\n"].concat().as_bytes());
    assert_eq!((seen.answer.malformed, seen.answer.events), (0, 5));
}

#[test]
fn damaged_characters_become_replacement_characters() {
    let input =
        [b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xe4\xbd".as_slice(), b"\xffb\"}}]}\n\n"]
            .concat();
    assert_eq!(text(&steady(&input), Kind::Output), "a\u{fffd}\u{fffd}b");
    let lone = [chat("\\ud83d"), chat("x"), chat("\\ude00"), chat("\\ud83d\\ud83d")].concat();
    let seen = steady(lone.as_bytes());
    assert_eq!(text(&seen, Kind::Output), "\u{fffd}x\u{fffd}\u{fffd}");
    assert_eq!(seen.answer.repairs, 1, "half a character was left at the end");
    assert_eq!(text(&steady(chat("a\\u0000b").as_bytes()), Kind::Output), "a\0b");
}

#[test]
fn a_stream_that_stops_is_truncated() {
    let whole = SEEDS[0].as_bytes();
    for at in 0..whole.len() {
        let seen = read([&whole[..at]], None);
        assert_eq!(seen.raw, &whole[..at]);
        let ended = seen.answer.finish().is_some() && seen.answer.verdict == Some(Complete);
        assert!(ended || seen.answer.verdict == Some(Truncated), "cut at {at}");
    }
}

#[test]
fn a_page_of_markup_is_a_failure() {
    let seen = steady(b"<!DOCTYPE html>\r\n<html><body>\r\n\r\n<h1>502</h1> data: no\r\n</html>");
    assert_eq!((seen.answer.verdict, seen.answer.events), (Some(Failed), 0));
    assert!(seen.answer.reason.unwrap().contains("markup"));
}

#[test]
fn nesting_is_bounded() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = [&open.repeat(10_000), "1", &close.repeat(10_000)].concat();
        for event in [deep.clone(), format!("{{\"choices\":[{{\"delta\":{deep}}}]}}")] {
            let seen = steady(format!("data: {event}\n\n{}", chat("x")).as_bytes());
            assert_eq!((seen.answer.malformed, text(&seen, Kind::Output)), (1, "x"));
        }
        let open_only = format!("data: {}\n\n", open.repeat(10_000));
        assert_eq!(steady(open_only.as_bytes()).answer.malformed, 1);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the bound on time is what is tested")]
fn a_line_of_five_megabytes_takes_linear_time() {
    let long = "x".repeat(5 << 20);
    let input = chat(&long);
    let started = Instant::now();
    let seen = read(input.as_bytes().chunks(1), None);
    assert_eq!(seen.text(0, Kind::Output), long);
    // A scan from the start for each byte would take hours.
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

#[test]
fn an_event_over_the_cap_is_refused_where_it_begins() {
    let input = [chat("a"), chat(&"b".repeat(500)), chat("c")].concat();
    for seed in 0..20 {
        let mut decoder = Frames::new(300);
        let mut reader = Reader::new(None);
        let mut output = String::new();
        let pieces = cut(input.as_bytes(), &sizes(input.len(), seed));
        let result = decode(&mut decoder, pieces, |frame| {
            output.extend(reader.read(frame).texts.iter().map(|t| t.text.as_ref()));
        });
        let offset = chat("a").len() as u64;
        assert_eq!(result, Err(TooLarge { limit: 300, offset }));
        assert_eq!(output, "a");
        assert_eq!(decoder.poll(), Ok(None));
        assert!(input.as_bytes()[offset as usize..].starts_with(decoder.rest()));
    }
}

#[test]
fn lines_with_and_without_blanks_say_the_same() {
    for seed in SEEDS.iter().take(4) {
        let lines = seed.replace("\r\n", "\n").replace('\r', "\n");
        let of = |blanks: bool| {
            let lines = lines.lines().filter(|line| blanks || !line.is_empty());
            let seen = read_lines(lines.map(str::as_bytes));
            (seen.texts, seen.answer)
        };
        assert_eq!(of(true), of(false));
    }
}

fn mutated(seed: usize, random: u64) -> Vec<u8> {
    let mut random = Random(random);
    let mut bytes = SEEDS[seed].as_bytes().to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() as u64) as usize;
        let other = SEEDS[random.below(SEEDS.len() as u64) as usize].as_bytes();
        match random.below(5) {
            0 => bytes[at] = random.bits() as u8,
            1 => bytes.insert(at, b"\r\n\"\\{}[]:, \0\xff\xed"[random.below(14) as usize]),
            2 => drop(bytes.drain(at..bytes.len().min(at + 1 + random.below(20) as usize))),
            3 => {
                let from = random.below(other.len() as u64) as usize;
                let to = other.len().min(from + random.below(60) as usize);
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            _ => bytes.truncate(at.max(1)),
        }
        if bytes.is_empty() {
            bytes.push(b'x');
        }
    }
    bytes
}

/// Whatever was read can be written again, and reads as what was written.
fn rewrites_read_back(bytes: &[u8]) {
    let mut decoder = Frames::new(EVENT_CAP);
    let mut reader = Reader::new(None);
    decode(&mut decoder, [bytes], |frame| {
        // The writer takes frames without the byte order mark of their stream.
        let frame = &frame.unmarked();
        let reading = reader.read(frame);
        let Some(event) = &frame.event else { return };
        let mut edits: Vec<_> = reading
            .texts
            .iter()
            .map(|t| Edit {
                span: t.span.clone(),
                with: With::Text { text: &t.text, ascii: t.ascii },
            })
            .chain(reading.rest.iter().map(|(s, with)| Edit { span: s.clone(), with: *with }))
            .collect();
        let data = splice(event.data, &mut edits);
        if is_complete(event.data) {
            assert!(is_complete(&data), "{data}");
        }
        let mut out = Vec::new();
        let part = Ending { last: false, close: true };
        Writer::default().part(frame.raw, frame.form, &data, part, &mut out);
        // A single event does not always show the framing of its stream.
        let mut seen = Vec::new();
        if frame.form == Form::Sse {
            let mut again = Decoder::new(EVENT_CAP);
            again.push(&out);
            again.finish();
            while let Some(f) = again.poll().unwrap() {
                seen.extend(f.event.as_ref().map(|e| e.data.to_owned()));
            }
            assert_eq!(seen, [data.replace("\r\n", "\n").replace('\r', "\n")]);
        } else if event.data.starts_with('{') && is_complete(event.data) {
            decode(&mut Frames::new(EVENT_CAP), [&out[..]], |f| {
                seen.extend(f.event.as_ref().map(|e| e.data.to_owned()));
            })
            .unwrap();
            assert_eq!(seen, [data]);
        }
    })
    .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: decluster_tests::cases(400),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200), seed: u64) {
        let whole = steady(&bytes);
        prop_assert_eq!(read(cut(&bytes, &sizes(bytes.len(), seed)), None), whole);
    }

    #[test]
    fn random_lines_are_read(parts in prop::collection::vec("(data: |data:|event: |id: |: |error: |\\{|\\[|\"a\"|:|\\}|\\]|\r|\n|\r\n|\n\n|x|\u{2028}|\\[DONE\\]){1,4}", 0..40)) {
        let whole = steady(parts.concat().as_bytes());
        prop_assert!(whole.answer.verdict.is_some() || whole.dialect.is_none());
    }

    #[test]
    fn mutated_lines_are_read(seed in 0..SEEDS.len(), random: u64) {
        let bytes = mutated(seed, random);
        let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
        let seen = read_lines(lines.iter().copied());
        let given: Vec<u8> = lines.iter().flat_map(|line| [line, &b"\n"[..]]).flatten().copied().collect();
        prop_assert_eq!(seen.raw, given);
    }

    #[test]
    fn mutated_streams_are_read(seed in 0..SEEDS.len(), random: u64) {
        let bytes = mutated(seed, random);
        let whole = steady(&bytes);
        prop_assert_eq!(read(cut(&bytes, &sizes(bytes.len(), random)), None), whole);
        for dialect in Dialect::ALL {
            let named = read([&bytes[..]], Some(dialect));
            prop_assert_eq!(&named.raw, &bytes);
        }
        rewrites_read_back(&bytes);
    }
}
