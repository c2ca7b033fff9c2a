use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::*;

/// What a frame says, without borrowing.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    raw: String,
    data: Option<String>,
    terminated: bool,
    bare: bool,
}

fn drain(decoder: &mut Decoder, out: &mut Vec<Seen>) {
    while let Some(f) = decoder.poll().unwrap() {
        out.push(Seen {
            raw: String::from_utf8_lossy(f.raw).into_owned(),
            data: f.event.map(|e| e.data.to_string()),
            terminated: f.terminated,
            bare: f.bare,
        });
    }
}

/// All frames, which must be the same whole and byte by byte.
fn frames(input: &[u8]) -> Vec<Seen> {
    let (mut whole, mut bytes) = (Vec::new(), Vec::new());
    let mut decoder = Decoder::new(1000);
    decoder.push(input);
    drain(&mut decoder, &mut whole);
    decoder.finish();
    drain(&mut decoder, &mut whole);
    let mut decoder = Decoder::new(1000);
    for byte in input {
        decoder.push(&[*byte]);
        drain(&mut decoder, &mut bytes);
    }
    decoder.finish();
    drain(&mut decoder, &mut bytes);
    assert_eq!(whole, bytes);
    whole
}

fn raws(input: &[u8]) -> Vec<String> {
    frames(input).into_iter().map(|f| f.raw).collect()
}

fn lines(input: &[&str]) -> Vec<Seen> {
    let mut decoder = Decoder::new(1000).with_lines(|d| d.ends_with('}') || d == "[DONE]");
    let mut out = Vec::new();
    for line in input {
        decoder.push_line(line.as_bytes());
        drain(&mut decoder, &mut out);
    }
    decoder.finish();
    drain(&mut decoder, &mut out);
    out
}

#[test]
fn comments_and_empty_lines_are_frames_at_once() {
    assert_eq!(raws(b": a\n\ndata: x\n: b\n\n"), [": a\n", "\n", "data: x\n: b\n\n"]);
}

#[test]
fn an_event_goes_out_on_its_cr_and_the_lf_leads_the_next_frame() {
    assert_eq!(raws(b"data: x\r\n\r\ndata: y\r\n\r\n"), ["data: x\r\n\r", "\ndata: y\r\n\r", "\n"]);
    assert_eq!(raws(b"data: x\r\rdata: y\r\r"), ["data: x\r\r", "data: y\r\r"]);
}

#[test]
fn the_end_leaves_an_open_block_unterminated() {
    let seen = frames(b"data: a\n\nid: 7\ndata: b");
    assert!(seen[0].terminated);
    assert!(!seen[1].terminated);
    assert_eq!(seen[1].data.as_deref(), Some("b"));
    let mut decoder = Decoder::new(100);
    decoder.push(b"id: 7\ndata: b");
    decoder.finish();
    assert_eq!(decoder.poll().unwrap().unwrap().event.unwrap().id, "");
    assert_eq!(decoder.last_event_id(), "");
}

#[test]
fn fields_follow_the_standard() {
    let mut decoder = Decoder::new(1000);
    decoder.push(b"\xef\xbb\xbfevent: e\nid: 1\nretry: 10\nretry: x\ndata:  a\ndata\nfoo: 1\n\n");
    let frame = decoder.poll().unwrap().unwrap();
    assert_eq!(frame.stray, Some(&b"foo: 1"[..]));
    let event = frame.event.unwrap();
    assert_eq!((event.name, event.data, event.id, event.retry), ("e", " a\n", "1", Some(10)));
    assert!(event.own_id && event.data_range.is_none());
    decoder.push(b"id: 2\x00\ndata: {\xc3\xa9}\n\n");
    let frame = decoder.poll().unwrap().unwrap();
    let event = frame.event.unwrap();
    assert_eq!((event.name, event.id, event.data), ("message", "1", "{é}"));
    assert_eq!(&frame.raw[event.data_range.unwrap()], "{é}".as_bytes());
    decoder.push(b"data: a\xf0\x9f\xa6\n\n");
    assert_eq!(decoder.poll().unwrap().unwrap().event.unwrap().data, "a\u{fffd}");
    assert_eq!(decoder.reconnection_ms(), Some(10));
}

#[test]
fn a_frame_over_the_cap_fails_where_it_begins() {
    for step in [1, 7, 100] {
        let mut decoder = Decoder::new(16);
        let (mut seen, mut failed) = (0, None);
        for chunk in b"data: ok\n\ndata: 0123456789abcdef\n\ndata: no\n\n".chunks(step) {
            decoder.push(chunk);
            loop {
                match decoder.poll() {
                    Ok(Some(_)) => seen += 1,
                    Ok(None) => break,
                    Err(e) => failed = Some(e),
                }
            }
        }
        assert_eq!((seen, failed), (1, Some(TooLarge { limit: 16, offset: 10 })));
        assert!(decoder.rest().starts_with(b"data: 0123"));
        assert_eq!(failed.unwrap().to_string(), "the event at byte 10 is larger than 16 bytes");
    }
}

#[test]
fn lines_with_blanks_are_framed_as_usual() {
    let seen = lines(&["data: {}", "", "data: {\n", "data: }", "", "data: [DONE]\r", "\r"]);
    let data: Vec<_> = seen.iter().map(|f| f.data.as_deref().unwrap_or("-")).collect();
    assert_eq!(data, ["{}", "{\n}", "[DONE]"]);
    assert!(seen.iter().all(|f| !f.bare && f.terminated));
}

#[test]
fn lines_without_blanks_end_when_the_next_begins_then_at_once() {
    let seen = lines(&["event: a", "data: {1}", "event: b", "data: {2}", "data: {", "data: 3}"]);
    let data: Vec<_> = seen.iter().map(|f| (f.data.as_deref().unwrap(), f.bare)).collect();
    assert_eq!(data, [("{1}", true), ("{2}", true), ("{\n3}", true)]);
    let mut decoder = Decoder::new(1000).with_lines(|d| d.ends_with('}'));
    let mut out = Vec::new();
    for (line, frames) in [("data: {1}", 0), ("data: {2}", 2), ("data: {3}", 3), (": c", 4)] {
        decoder.push_line(line.as_bytes());
        drain(&mut decoder, &mut out);
        assert_eq!(out.len(), frames, "after {line}");
    }
}

#[test]
fn lines_may_be_nothing_but_data() {
    let seen = lines(&["a: {1}", "", "{x: 2}\n", "id: 1", "b: {3}", "[DONE]"]);
    let data: Vec<_> = seen.iter().map(|f| (f.data.as_deref(), f.bare)).collect();
    let whole = |data| (Some(data), true);
    assert_eq!(data[..3], [whole("a: {1}"), (None, false), whole("{x: 2}")]);
    assert_eq!(data[3..], [(None, false)], "an event had begun");
    assert_eq!(rewritten(b"{1}\n", "{2}", LAST), "{2}\n");
    assert_eq!(frames(b"{1}\n\n")[0].data, None, "bytes are never taken so");
}

#[test]
fn many_open_lines_do_not_ask_each_time() {
    use core::sync::atomic::{AtomicUsize, Ordering};
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let mut decoder = Decoder::new(1 << 20).with_lines(|_| {
        ASKED.fetch_add(1, Ordering::Relaxed);
        false
    });
    for _ in 0..10_000 {
        decoder.push_line(b"data: }");
        assert!(decoder.poll().unwrap().is_none());
    }
    assert!(ASKED.load(Ordering::Relaxed) < 64);
}

fn rewritten(raw: &[u8], data: &str, how: Rewrite) -> String {
    let mut out = vec![];
    rewrite(raw, data, how, &mut out);
    String::from_utf8(out).unwrap()
}

const LAST: Rewrite = Rewrite { keep_id: true, after_cr: false, close: false };

#[test]
fn a_rewrite_keeps_everything_but_the_data() {
    let raw = b"event: e\n: c\nid: 4\ndata:{1}\nretry: 9\n\n";
    assert_eq!(rewritten(raw, "{2}", LAST), "event: e\n: c\nid: 4\ndata:{2}\nretry: 9\n\n");
    let part = Rewrite { keep_id: false, ..LAST };
    assert_eq!(rewritten(raw, "{2}", part), "event: e\n: c\ndata:{2}\nretry: 9\n\n");
    assert_eq!(rewritten(b"data: {\ndata: }\n\n", "{\n1}", LAST), "data: {\ndata: 1}\n\n");
    assert_eq!(rewritten(b"data\n\n", "x", LAST), "data: x\n\n");
    assert_eq!(rewritten(b"data:x\n\n", "{\n 1}", LAST), "data:{\ndata:  1}\n\n");
    assert_eq!(rewritten(b"data: x\n", "y", LAST), "data: y\n");
}

#[test]
fn a_rewrite_keeps_the_line_ends() {
    let close = Rewrite { close: true, ..LAST };
    assert_eq!(rewritten(b"data: x", "y", close), "data: y\n\n");
    assert_eq!(rewritten(b"event: a\r\ndata: x", "y", close), "event: a\r\ndata: y\r\n\r\n");
    assert_eq!(rewritten(b"\ndata: x\r\n\r", "y", LAST), "data: y\r\n\r");
    let after = Rewrite { after_cr: true, ..LAST };
    assert_eq!(rewritten(b"data: x\r\n\r", "y", after), "\ndata: y\r\n\r");
    assert_eq!(rewritten(b"data: x\r\r", "y", after), "data: y\r\r");
}

#[test]
fn a_rewrite_keeps_the_blank_line_where_line_ends_differ() {
    let part = Rewrite { keep_id: false, close: true, ..LAST };
    assert_eq!(rewritten(b"data: x\rid: 1\n\n", "y", part), "data: y\r\n\n");
    assert_eq!(rewritten(b"event: e\ndata: x\r", "y", part), "event: e\ndata: y\r\n\n");
    assert_eq!(rewritten(b"data: x\r\r", "y", part), "data: y\r\r");
}

#[test]
fn a_number_that_the_end_cut_is_no_reconnection_time() {
    let mut decoder = Decoder::new(100);
    decoder.push(b"retry: 3000\ndata: x\nretry: 30");
    decoder.finish();
    assert_eq!(decoder.poll().unwrap().unwrap().event.unwrap().retry, Some(3_000));
    assert_eq!(decoder.reconnection_ms(), Some(3_000));
}

#[test]
fn a_frame_is_the_same_without_the_byte_order_mark() {
    let mut decoder = Decoder::new(100);
    decoder.push(b"\xef\xbb\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\n");
    let frame = decoder.poll().unwrap().unwrap();
    assert!(frame.marked);
    let frame = frame.unmarked();
    let event = frame.event.unwrap();
    assert_eq!((frame.raw, event.data), (&b"data: x\n\n"[..], "x"));
    assert_eq!(&frame.raw[event.data_range.unwrap()], b"x");
    // Anywhere else it is part of the name.
    let frame = decoder.poll().unwrap().unwrap();
    assert!(!frame.marked && frame.event.is_none());
}
