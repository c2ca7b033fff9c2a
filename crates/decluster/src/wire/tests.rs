use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::frames::Frames;

/// What a stream of events says: kind, choice and text, and the answer.
fn read(input: &str) -> (Vec<(Kind, u32, String)>, Answer) {
    let (texts, _, answer) = read_all(input);
    (texts, answer)
}

fn read_all(input: &str) -> (Vec<(Kind, u32, String)>, Vec<Role>, Answer) {
    let mut decoder = Frames::new(1 << 20);
    let mut reader = Reader::new(None);
    decoder.push(input.as_bytes());
    decoder.finish();
    let (mut texts, mut roles) = (Vec::new(), Vec::new());
    while let Some(frame) = decoder.poll().unwrap() {
        let reading = reader.read(&frame);
        if frame.event.is_some() || frame.stray.is_some() {
            roles.push(reading.role);
        }
        texts.extend(reading.texts.into_iter().map(|t| (t.kind, t.index, t.text.into_owned())));
    }
    reader.finish();
    (texts, roles, reader.answer().clone())
}

/// One event of a dialect.
fn one<'a>(dialect: Dialect, name: &str, data: &'a str) -> Reading<'a> {
    Reader::new(Some(dialect)).read_event(name, data)
}

fn chat(delta: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n")
}

fn joined(texts: &[(Kind, u32, String)], kind: Kind) -> String {
    texts.iter().filter(|(k, _, _)| *k == kind).map(|(_, _, t)| t.as_str()).collect()
}

const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE_EVENT: &str = "data: [DONE]\n\n";

use Kind::{Output, Reasoning};

#[test]
fn dialects_have_names() {
    for dialect in Dialect::ALL {
        assert_eq!(Dialect::from_name(dialect.name()), Some(dialect));
    }
    assert_eq!(Dialect::from_name("x"), None);
}

#[test]
fn reasoning_comes_before_content_and_nothing_is_nothing() {
    let input = [
        chat(r#"{"content":"Sta","reasoning_content":"end"}"#),
        chat(r#"{"content":null,"reasoning":""}"#),
        chat(r#"{"thinking":{"a":1},"reasoning_text":"x"}"#),
    ]
    .concat();
    let (texts, _) = read(&input);
    let texts: Vec<_> = texts.iter().map(|(k, _, t)| (*k, t.as_str())).collect();
    assert_eq!(texts, [(Reasoning, "end"), (Output, "Sta"), (Reasoning, "x")]);
}

#[test]
fn the_same_reasoning_in_two_fields_is_a_copy() {
    let data = r#"{"choices":[{"index":0,"delta":{"reasoning":"ab","reasoning_content":"ab","reasoning_details":[{"type":"reasoning.text","text":"ab","signature":"s"}]}}]}"#;
    let reading = one(Dialect::Chat, "message", data);
    assert_eq!(reading.texts.len(), 1);
    let text = &reading.texts[0];
    assert_eq!(text.text, "ab");
    assert_eq!(text.copies.len(), 2);
    assert!(text.copies.iter().all(|span| &data[span.clone()] == "\"ab\""));
    assert_eq!(reading.rest.iter().map(|(s, _)| &data[s.clone()]).collect::<Vec<_>>(), ["\"s\""]);
    assert!(!reading.whole && !reading.plain);
    let several = data.replace(r#""text":"ab","#, r#""text":"a"},{"text":"b","#);
    assert!(one(Dialect::Chat, "message", &several).whole);
    let encrypted = data.replace(r#""text":"ab","signature":"s""#, r#""data":"x""#);
    let reading = one(Dialect::Chat, "message", &encrypted);
    assert!(!reading.whole && encrypted[reading.rest[0].0.clone()].starts_with('['));
}

#[test]
fn what_belongs_to_the_event_stands_on_the_last_part() {
    let data = r#"{"choices":[{"index":0,"delta":{"content":"x","tool_calls":[{"index":0,"id":"a"}]},"finish_reason":"stop"}],"usage":{"completion_tokens":1},"citations":["u"]}"#;
    let reading = one(Dialect::Chat, "message", data);
    let rest: Vec<_> = reading.rest.iter().map(|(s, _)| &data[s.clone()]).collect();
    assert_eq!(rest.len(), 4, "{rest:?}");
    assert!(rest.contains(&"\"stop\"") && rest.contains(&r#"["u"]"#));
    assert_eq!(reading.role, Role::Hurry);
}

#[test]
fn plain_deltas_of_one_shape_may_be_joined() {
    let delta = |json: &str| {
        let data = chat(json);
        let reading = one(Dialect::Chat, "message", data.trim_start_matches("data: "));
        (reading.plain, reading.shape)
    };
    let (a, b) = (delta(r#"{"content":"a"}"#), delta(r#"{"content":"b\n"}"#));
    assert_eq!((a.0, a), (true, b));
    assert_ne!(a, delta(r#"{"role":"assistant","content":"b"}"#));
    let logged =
        r#"{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[{"token":"a"}]}}]}"#;
    let reading = one(Dialect::Chat, "message", logged);
    assert!(reading.whole && !reading.plain);
    let empty = logged.replace(r#"[{"token":"a"}]"#, "[]");
    assert!(one(Dialect::Chat, "message", &empty).plain);
}

#[test]
fn choices_are_told_apart() {
    let event = r#"data: {"choices":[{"index":1,"delta":{"content":"b"}},{"delta":{"content":"a"},"index":0.0}]}"#;
    let stop = r#"data: {"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}"#;
    let (texts, answer) = read(&format!("{event}\n\n{stop}\n\n"));
    assert_eq!(texts, [(Output, 1, "b".to_string()), (Output, 0, "a".to_string())]);
    assert_eq!(answer.verdict, Some(Verdict::Truncated), "choice 0 has no end");
    assert_eq!(answer.finish(), None);
}

#[test]
fn half_characters_wait_for_their_other_half() {
    let input = [
        chat(r#"{"content":"a\ud83d"}"#),
        chat(r#"{"content":""}"#),
        chat(r#"{"content":"\ude00b","reasoning":"\ud83d"}"#),
        chat(r#"{"reasoning":"\ude00"}"#),
    ];
    let (texts, answer) = read(&input.concat());
    assert_eq!(joined(&texts, Output), "a\u{1f600}b");
    assert_eq!(joined(&texts, Reasoning), "\u{1f600}");
    assert_eq!(answer.repairs, 0);
    let half = r#"{"choices":[{"delta":{"content":"\ud83d"}}]}"#;
    let reading = one(Dialect::Chat, "message", half);
    assert!(reading.texts.is_empty());
    assert_eq!(&half[reading.blanks[0].clone()], r#""\ud83d""#);
    let text = one(Dialect::Chat, "message", r#"{"choices":[{"delta":{"content":"\u00e9"}}]}"#);
    assert!(text.texts[0].ascii && !text.texts[0].altered);
}

#[test]
fn tool_calls_are_put_together() {
    let calls = |deltas: &[&str]| {
        let events = deltas.iter().map(|d| chat(&format!(r#"{{"tool_calls":{d}}}"#)));
        let answer = read(&events.collect::<String>()).1;
        let seen = answer.tool_calls().iter();
        seen.map(|c| format!("{} {} {}", c.id, c.name, c.arguments)).collect::<Vec<_>>()
    };
    // Numbered from 1, in fragments.
    let by_index = [
        r#"[{"index":1,"id":"a","function":{"name":"f","arguments":""}}]"#,
        r#"[{"index":1,"function":{"arguments":"{\"x\""}}]"#,
        r#"[{"index":1,"function":{"arguments":":1}"}}]"#,
    ];
    assert_eq!(calls(&by_index), [r#"a f {"x":1}"#]);
    // Without numbers; all 0 with other ids; the id each time; several in one delta.
    let unnumbered = [
        r#"[{"id":"a","function":{"name":"f","arguments":"{"}}]"#,
        r#"[{"function":{"arguments":"}"}}]"#,
        r#"[{"id":"b","function":{"name":"g","arguments":{"x":1}}}]"#,
    ];
    assert_eq!(calls(&unnumbered), ["a f {}", r#"b g {"x":1}"#]);
    let all_zero = [
        r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":0,"id":"b","function":{"name":"g","arguments":"["}}]"#,
        r#"[{"index":0,"id":"b","function":{"arguments":"]"}},{"index":0,"id":"a","function":{"arguments":"}"}}]"#,
    ];
    assert_eq!(calls(&all_zero), ["a f {}", "b g []"]);
}

#[test]
fn three_outcomes_are_kept_apart() {
    let text = chat(r#"{"content":"x"}"#);
    let error = "data: {\"error\":{\"message\":\"quota\"}}\n\n";
    let usage = "data: {\"choices\":[],\"usage\":{\"completion_tokens\":3,\"completion_tokens_details\":{\"reasoning_tokens\":2}}}\n\n";
    let of = |parts: &[&str]| read(&parts.concat()).1;
    let verdict = |parts: &[&str]| of(parts).verdict.unwrap();
    assert_eq!(verdict(&[&text, DONE_EVENT]), Verdict::Complete);
    assert_eq!(verdict(&[&text, STOP, usage]), Verdict::Complete);
    assert_eq!(of(&[&text, STOP, usage]).reasoning_tokens, Some(2));
    assert_eq!(verdict(&[&text]), Verdict::Truncated);
    assert_eq!(verdict(&[&text, error, DONE_EVENT]), Verdict::Failed);
    assert_eq!(of(&[error, DONE_EVENT]).error.as_deref(), Some(r#"{"message":"quota"}"#));
    assert_eq!(
        verdict(&[&text, "data: {\"error\":{},\"choices\":[]}\n\n", STOP]),
        Verdict::Complete
    );
    assert_eq!(verdict(&[&text, "error: {\"message\":\"m\"}\n\n"]), Verdict::Failed);
    assert_eq!(verdict(&[&text, "{\"error\":{\"code\":500}}\n\n", DONE_EVENT]), Verdict::Failed);
    assert_eq!(
        verdict(&[&text, "data: {\"object\":\"error\",\"message\":\"m\"}\n\n"]),
        Verdict::Failed
    );
    assert_eq!(verdict(&[""]), Verdict::Truncated);
    assert_eq!(verdict(&[&text, "data: [DONE]"]), Verdict::Complete, "unterminated");
    assert_eq!(verdict(&[&text, STOP.trim_end()]), Verdict::Complete, "unterminated");
    assert_eq!(verdict(&[&text, STOP, "data: {\"choices\":[],\"us"]), Verdict::Truncated);
    assert_eq!(verdict(&[&text, DONE_EVENT, "data: {\"choi"]), Verdict::Complete);
}

#[test]
fn broken_json_is_counted_and_the_stream_goes_on() {
    let (bad, good) = ("data: {\"choices\":[}\n\n", chat(r#"{"content":"x"}"#));
    let (texts, roles, answer) = read_all(&[bad, &good, bad, bad, &good, STOP].concat());
    assert_eq!(joined(&texts, Output), "xx");
    assert_eq!(roles[0], Role::Mark);
    assert_eq!((answer.malformed, answer.verdict), (3, Some(Verdict::Complete)));
    let first = answer.first_malformed.unwrap();
    assert_eq!(first.event, 1);
    assert!(first.message.contains("column"), "{}", first.message);
    let of = |parts: &[&str]| read(&parts.concat()).1.verdict;
    assert_eq!(of(&[bad, bad, bad, &good, DONE_EVENT]), Some(Verdict::Truncated));
    assert_eq!(of(&[&good, STOP, bad]), Some(Verdict::Truncated));
    let deep = format!("data: {}{}\n\n", "[".repeat(10_000), "]".repeat(10_000));
    let answer = read(&[&deep, good.as_str(), STOP].concat()).1;
    assert_eq!((answer.malformed, answer.verdict), (1, Some(Verdict::Complete)));
}

#[test]
fn events_glued_together_are_read_apart() {
    let (a, b) = (chat(r#"{"content":"a"}"#), chat(r#"{"content":"b"}"#));
    let glued = format!("{}{b}", a.trim_end());
    let stacked = format!("{}\n{}\n{DONE_EVENT}", a.trim_end(), b.trim_end());
    for (input, events) in [(glued, 2), (stacked, 3)] {
        let (texts, answer) = read(&input);
        assert_eq!(joined(&texts, Output), "ab");
        assert_eq!((answer.repairs, answer.malformed, answer.events), (1, 0, events));
    }
    let split = chat("{\"content\":\"a\u{2028}b\"}").replace('\u{2028}', "\n");
    let (texts, answer) = read(&split);
    assert_eq!(joined(&texts, Output), "a\u{2028}b");
    assert_eq!((answer.repairs, answer.malformed), (1, 0));
}

#[test]
fn lines_without_their_prefix_are_read() {
    let mut decoder = Frames::new(1000);
    let mut reader = Reader::new(None);
    let mut output = String::new();
    for line in chat(r#"{"content":"a"}"#).repeat(2).lines().chain(["data: [DONE]"]) {
        decoder.push_line(line.trim_start_matches("data: ").as_bytes());
        while let Some(frame) = decoder.poll().unwrap() {
            output.extend(reader.read(&frame).texts.iter().map(|t| t.text.as_ref()));
        }
    }
    reader.finish();
    assert_eq!((output.as_str(), reader.answer().verdict), ("aa", Some(Verdict::Complete)));
}

#[test]
fn keep_alives_have_no_order() {
    let input = "data: : OPENROUTER PROCESSING\n\nevent: ping\ndata: {}\n\ndata:\n\n: c\n\n";
    let (texts, roles, answer) = read_all(input);
    assert!(texts.is_empty());
    assert_eq!(roles, vec![Role::Ping; 3]);
    assert_eq!((answer.comments, answer.malformed), (1, 0));
}

#[test]
fn a_stream_of_another_dialect_than_was_named_says_so() {
    let mut reader = Reader::new(Some(Dialect::Anthropic));
    reader.read_event("message", r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#);
    reader.finish();
    let answer = reader.answer();
    assert_eq!(answer.verdict, Some(Verdict::Truncated));
    assert_eq!(answer.reason.as_deref(), Some("this is openai-chat, not anthropic"));
}

#[test]
fn an_error_in_plain_words_is_an_error() {
    let answer = read("event: error\ndata: upstream \"gone\"\n\n").1;
    assert_eq!(answer.error.as_deref(), Some(r#""upstream \"gone\"""#));
    assert_eq!((answer.verdict, answer.malformed), (Some(Verdict::Failed), 0));
}

#[test]
fn what_is_no_event_stream_says_so() {
    let reason = |body: &str| {
        let answer = read(body).1;
        assert_eq!(answer.verdict, Some(Verdict::Failed), "{body}");
        answer.reason.unwrap_or_default()
    };
    assert!(reason("<html>\n<body>502</body>\n</html>\n").contains("markup"));
    assert!(reason("{\"choices\":[{\"message\":{}}]}").contains("JSON"));
    assert!(reason("upstream timed out\n").contains("text"));
    for body in ["{\n \"error\": {\"message\": \"x\"}\n}\n", "[{\"error\":{\"message\": \"x\"}}]"] {
        assert_eq!(read(body).1.error.as_deref(), Some(r#"{"message": "x"}"#));
        assert_eq!(read(body).1.verdict, Some(Verdict::Failed));
    }
    let other = read("data: {\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"a\"}\n\n").1;
    assert_eq!((other.verdict, other.reason.is_some()), (None, true));
}

fn responses(events: &[(&str, &str)]) -> (Vec<(Kind, u32, String)>, Answer) {
    let event = |(kind, rest): &(&str, &str)| {
        format!("event: {kind}\ndata: {{\"type\":\"{kind}\",\"output_index\":0{rest}}}\n\n")
    };
    read(&events.iter().map(event).collect::<String>())
}

#[test]
fn the_reasoning_channel_that_comes_first_counts() {
    let raw = ("response.reasoning_text.delta", r#","content_index":0,"delta":"a""#);
    let summary = ("response.reasoning_summary_text.delta", r#","summary_index":0,"delta":"a""#);
    assert_eq!(joined(&responses(&[raw, summary, raw]).0, Reasoning), "aa");
    assert_eq!(joined(&responses(&[summary, raw]).0, Reasoning), "a");
    let early = ("response.reasoning.delta", r#","delta":{"text":"b"}"#);
    assert_eq!(joined(&responses(&[raw, early]).0, Reasoning), "ab");
}

#[test]
fn final_texts_count_where_there_were_no_deltas() {
    let delta = ("response.output_text.delta", r#","content_index":0,"delta":"x""#);
    let done = ("response.output_text.done", r#","content_index":0,"text":"x""#);
    let item = (
        "response.output_item.done",
        r#","item":{"type":"message","content":[{"type":"output_text","text":"x"}]}"#,
    );
    let reasoning = (
        "response.output_item.done",
        r#","item":{"type":"reasoning","summary":[{"type":"summary_text","text":"r"}]}"#,
    );
    let created = ("response.created", "");
    let completed = (
        "response.completed",
        r#","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}],"usage":{"output_tokens_details":{"reasoning_tokens":7}}}"#,
    );
    for events in [
        vec![delta, done, item, completed],
        vec![done, item, completed],
        vec![item, completed],
        vec![created, completed],
    ] {
        let (texts, answer) = responses(&events);
        assert_eq!(joined(&texts, Output), "x", "{events:?}");
        assert_eq!(answer.verdict, Some(Verdict::Complete));
        assert_eq!((answer.finish(), answer.reasoning_tokens), (Some("completed"), Some(7)));
    }
    assert!(responses(&[completed]).0.is_empty(), "resumed: what came before is not repeated");
    assert_eq!(joined(&responses(&[reasoning]).0, Reasoning), "r");
}

#[test]
fn terminal_events_settle_the_verdict() {
    let of = |kind, rest| {
        let answer = responses(&[("response.created", ""), (kind, rest)]).1;
        (answer.verdict.unwrap(), answer.finish().unwrap_or_default().to_string())
    };
    let incomplete = r#","response":{"incomplete_details":{"reason":"max_output_tokens"}}"#;
    let (verdict, finish) = of("response.incomplete", incomplete);
    assert_eq!((verdict, finish.as_str()), (Verdict::Complete, "incomplete:max_output_tokens"));
    assert_eq!(of("response.failed", r#","response":{"error":{"code":"x"}}"#).0, Verdict::Failed);
    assert_eq!(of("response.in_progress", "").0, Verdict::Truncated);
    let flat = responses(&[("error", r#","code":"x","message":"m""#)]).1;
    assert!(flat.error.unwrap().contains(r#""code":"x""#));
}

#[test]
fn responses_deltas_know_number_and_boundary() {
    let data =
        r#"{"type":"response.output_text.delta","sequence_number":41,"delta":"x","logprobs":[]}"#;
    let reading = one(Dialect::Responses, "message", data);
    let (number, span) = reading.number.unwrap();
    assert_eq!((number, &data[span]), (41, "41"));
    assert!(reading.plain);
    assert!(one(Dialect::Responses, "response.content_part.added", "{}").boundary);
}

#[test]
fn counts_without_text_are_read() {
    let input = "event: response.reasoning.delta\ndata: {\"delta_tokens\": 67}\n\n\
        event: response.output.delta\ndata: {\"delta_tokens\": 2, \"delta\": \"hi\"}\n\n\
        event: response.output.delta\ndata: {\"delta\": \"!\"}\n\n\
        event: response.output.delta\ndata: {\"delta_tokens\": 0}\n\n";
    let mut decoder = Frames::new(1 << 10);
    let mut reader = Reader::new(None);
    decoder.push(input.as_bytes());
    let mut seen = Vec::new();
    while let Some(frame) = decoder.poll().unwrap() {
        let texts = reader.read(&frame).texts;
        seen.extend(texts.into_iter().map(|t| (t.kind, t.text.into_owned(), t.tokens)));
    }
    assert_eq!(reader.dialect(), Some(Dialect::Incident));
    assert_eq!(
        seen,
        [
            (Reasoning, String::new(), Some(67)),
            (Output, "hi".to_string(), Some(2)),
            (Output, "!".to_string(), None),
        ]
    );
    for bad in ["-1", "1.5", "1e3", "\"7\"", "[]", "99999999999"] {
        let mut reader = Reader::new(Some(Dialect::Incident));
        let data = format!("{{\"delta_tokens\": {bad}}}");
        let reading = reader.read_event("response.reasoning.delta", &data);
        assert!(reading.texts.is_empty());
        assert_eq!(reader.answer().malformed, 1, "{bad}");
    }
}
