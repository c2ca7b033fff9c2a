//! Every way in which libraries cut a stream into lines is read; where that cannot be, the reason is told.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use decluster::wire::Verdict;
use decluster::{Framer, Framing, Kind};
use decluster_tests::streams::{Decoded, read, read_lines};

fn event(content: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{content}"}}}}]}}"#)
}

/// Two deltas, an end.
fn stream(end: &str) -> String {
    [event("One "), event("two."), "[DONE]".to_owned()]
        .map(|data| format!("data: {data}{end}{end}"))
        .concat()
}

fn lines<'l>(lines: impl IntoIterator<Item = &'l str>) -> Decoded {
    read_lines(lines.into_iter().map(str::as_bytes))
}

/// The same text and verdict as the undamaged stream, nothing repaired.
fn reads_well(seen: &Decoded) {
    assert_eq!(seen.text(0, Kind::Output), "One two.");
    assert_eq!(seen.answer.verdict, Some(Verdict::Complete));
    assert_eq!((seen.answer.repairs, seen.answer.malformed), (0, 0));
}

#[test]
fn lines_cut_at_every_line_end_are_read() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = stream(end);
        reads_well(&lines(stream.split_terminator(end)));
        reads_well(&lines(stream.split_inclusive(end)));
    }
}

#[test]
fn the_cr_that_a_reader_leaves_is_no_text() {
    reads_well(&lines(stream("\r\n").split_terminator('\n')));
}

/// `requests.iter_lines()` cuts each chunk for itself, so a CRLF over two chunks gives an empty line more.
#[test]
fn an_empty_line_too_many_changes_nothing() {
    let stream = stream("\n");
    for extra in 0..stream.lines().count() {
        let mut cut: Vec<&str> = stream.lines().collect();
        cut.insert(extra, "");
        reads_well(&lines(cut));
    }
    let named = [
        "event: response.output_text.delta",
        "",
        r#"data: {"type":"response.output_text.delta","delta":"x"}"#,
        "",
    ];
    assert_eq!(
        lines(named).text(0, Kind::Output),
        "x",
        "inside a block the type in the data tells"
    );
}

/// Response bodies without a charset are Latin-1 to `requests`, and then `str.splitlines` cuts at 0x85.
#[test]
fn lines_that_were_decoded_as_latin_1_are_told_once() {
    let text = "C'est d\u{e9}j\u{e0} \u{f0}\u{c5}\u{4f45}. ";
    let latin: String = event(text).bytes().map(char::from).collect();
    assert!(latin.contains('\u{85}'));
    let line = format!("data: {latin}");
    let mut cut: Vec<&str> = line.split('\u{85}').chain([""]).collect();
    cut.extend(cut.clone());
    let good = format!("data: {}", event("x"));
    cut.splice(0..0, [good.as_str(), ""]);
    cut.extend(["data: [DONE]", ""]);
    let answer = lines(cut).answer;
    assert_eq!((answer.malformed, answer.repairs), (2, 0));
    let message = answer.first_malformed.unwrap().message;
    assert!(message.contains("Latin-1") && message.contains("utf-8"), "{message}");
    assert_eq!(answer.reason, Some(message));
}

/// `httpx.iter_lines()` cuts where `str.splitlines` does and loses the character.
#[test]
fn a_line_cut_at_a_separator_is_put_together() {
    for cut in ["\u{2028}", "\u{2029}", "\u{85}"] {
        let line = format!("data: {}", event(&format!("One{cut} two.")));
        let seen = lines(line.split(cut).chain(["", "data: [DONE]", ""]));
        assert_eq!(seen.text(0, Kind::Output), "One\u{2028} two.");
        assert_eq!((seen.answer.repairs, seen.answer.malformed), (1, 0));
    }
}

#[test]
fn a_line_cut_at_several_separators_is_put_together() {
    let line = format!("data: {}", event("One\u{2028} two: \u{85}three.\u{2029}"));
    let cut = line.split(['\u{2028}', '\u{2029}', '\u{85}']);
    let seen = lines(cut.chain(["", "data: [DONE]", ""]));
    assert_eq!(seen.text(0, Kind::Output), "One\u{2028} two: \u{2028}three.\u{2028}");
    assert_eq!((seen.answer.repairs, seen.answer.malformed), (1, 0));
}

#[test]
fn an_array_cut_at_a_separator_is_put_together() {
    let stream = format!("[{},\n{}\n]", event("One\\n\u{2028}"), event("two\\\"."));
    let seen = lines(stream.split(['\n', '\u{2028}']));
    assert_eq!(seen.text(0, Kind::Output), "One\n\u{2028}two\".");
    assert_eq!((seen.answer.repairs, seen.answer.malformed), (1, 0));
}

#[test]
fn blank_lines_may_be_dropped() {
    reads_well(&lines(stream("\n").lines().filter(|line| !line.is_empty())));
    let named = [
        "event: a",
        r#"data: {"type":"response.output_text.delta","delta":"a"}"#,
        "event: b",
        r#"data: {"type":"response.output_text.delta","delta":"b"}"#,
    ];
    assert_eq!(lines(named).text(0, Kind::Output), "ab");
}

#[test]
fn the_prefix_may_be_dropped() {
    for blanks in [true, false] {
        let stream = stream("\n");
        let bare = stream.lines().filter(|line| blanks || !line.is_empty());
        reads_well(&lines(bare.map(|line| line.trim_start_matches("data: "))));
    }
    let comment = [event("One "), ": keep-alive".to_owned(), event("two."), "[DONE]".to_owned()];
    reads_well(&lines(comment.iter().map(String::as_str)));
}

#[test]
fn other_framings_say_the_same() {
    let (one, two) = (event("One "), event("two."));
    for stream in [
        format!("{one}\n{two}\n[DONE]\n"),
        format!("{one}\r\n{two}\r\n[DONE]"),
        format!("\n{one}\n\n{two}\n\n[DONE]"),
    ] {
        reads_well(&read([stream.as_bytes()], None));
        reads_well(&lines(stream.lines()));
    }
    let finish = two.replace("}}]}", "},\"finish_reason\":\"stop\"}]}");
    for stream in [format!("[{one},\r\n{finish}\n]"), format!("[\n{one}\n,\n{finish}\n]\n")] {
        reads_well(&read([stream.as_bytes()], None));
        reads_well(&lines(stream.lines()));
    }
}

#[test]
fn the_framing_is_told_from_the_first_items() {
    let told = |items: &[&str]| {
        let mut framer = Framer::new(None);
        for item in items {
            framer.take(item.as_bytes().to_vec());
        }
        framer.finish();
        framer.framing()
    };
    let (one, two) = (event("One "), event("two."));
    assert_eq!(told(&[&one, &two]), Some(Framing::Lines));
    assert_eq!(told(&[&format!("{one}\n"), &two]), Some(Framing::LinesWithEnds));
    assert_eq!(told(&[&format!("{one}\n{two}\n")]), Some(Framing::Bytes));
    assert_eq!(told(&["[{", "  \"candidates\": ["]), Some(Framing::Lines));
    assert_eq!(told(&["[{\n  \"candidates\": ["]), Some(Framing::Bytes));
    // An empty one may be a blank line or a chunk without content.
    assert_eq!(told(&["", &one, ""]), Some(Framing::Lines));
    assert_eq!(told(&["", "", &one[..9], &one[9..]]), Some(Framing::Bytes));
    assert_eq!(told(&[""; 20]), Some(Framing::Lines));
    assert_eq!(told(&[""]), Some(Framing::Lines));
}

#[test]
fn a_json_body_is_no_stream() {
    let seen = |body: &str| {
        let whole = read([body.as_bytes()], None).answer;
        assert_eq!(lines(body.lines()).answer, whole, "{body}");
        (whole.verdict, whole.reason.unwrap_or_default())
    };
    for body in ["{\"surprise\":1}", "{\n  \"surprise\": [\n    1\n  ]\n}\n", "[{\"surprise\":1}]"]
    {
        let (verdict, reason) = seen(body);
        assert_eq!(verdict, Some(Verdict::Failed));
        assert!(reason.contains("JSON"), "{reason}");
    }
    for body in [
        "{\"error\":{\"code\":1}}",
        "{\n  \"error\": {\n    \"code\": 1\n  }\n}",
        "[{\n  \"error\": {\n    \"code\": 1\n  }\n}\n]\n",
    ] {
        assert_eq!(seen(body).0, Some(Verdict::Failed), "{body}");
        assert!(read([body.as_bytes()], None).answer.error.unwrap().contains("code"));
    }
    assert_eq!(read([&b"{\"surprise\":"[..]], None).answer.verdict, Some(Verdict::Truncated));
}
