//! The blocking pair: order, ends, close, backpressure, several consumers.

#![expect(clippy::disallowed_methods, reason = "threads are what is tested")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use decluster::wire::Verdict;
use decluster::{Config, RewriterError, RewriterOptions};
use decluster_runtime::{Flow, Paced, PacedError, Step, pair};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(10);

fn delta(text: &str) -> Vec<u8> {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
        .into()
}

fn texts(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.split("\"content\":\"").skip(1).filter_map(|part| part.split('"').next()).collect()
}

fn quick() -> Config {
    Config::default().with("max_tail", 0).unwrap()
}

fn pieces() -> RewriterOptions {
    let mut options = RewriterOptions::default();
    options.pieces = true;
    options
}

#[test]
fn an_iterator_comes_out_whole_and_ends() {
    let chunks =
        ["One thing is clear. ", "Another thing is not. "].map(|t| Ok::<_, String>(delta(t)));
    let source = chunks.into_iter().chain([Ok(b"data: [DONE]\n\n".to_vec())]);
    let mut paced = Paced::new(source, &quick(), RewriterOptions::default()).unwrap();
    let mut out = Vec::new();
    for chunk in paced.by_ref() {
        out.extend(chunk.unwrap());
    }
    assert_eq!(texts(&out), "One thing is clear. Another thing is not. ");
    assert!(paced.next().is_none());
    let verdict = paced.flow().with_answer(|_, answer| answer.verdict);
    assert_eq!(verdict, Some(Verdict::Complete));
}

#[test]
fn the_sources_error_comes_after_what_had_arrived() {
    let source = [Ok(delta("Some text that arrived.")), Err("reset".to_owned())].into_iter();
    let mut paced = Paced::new(source, &Config::default(), RewriterOptions::default()).unwrap();
    let (mut out, mut error) = (Vec::new(), None);
    for chunk in paced.by_ref() {
        match chunk {
            Ok(bytes) => out.extend(bytes),
            Err(e) => error = Some(e),
        }
    }
    assert_eq!(texts(&out), "Some text that arrived.");
    assert!(matches!(error, Some(PacedError::Source(e)) if e == "reset"));
}

#[test]
fn an_event_over_the_cap_is_told_after_what_had_arrived() {
    let config = quick().with("max_event_bytes", 1_024).unwrap();
    let source = [delta("Kept."), delta(&"x".repeat(2_000))].map(Ok::<_, String>).into_iter();
    let out: Vec<_> = Paced::new(source, &config, RewriterOptions::default()).unwrap().collect();
    assert_eq!(texts(out[0].as_ref().unwrap()), "Kept.");
    let last = out.last().unwrap();
    assert!(matches!(last, Err(PacedError::Stream(RewriterError::TooLarge(_)))), "{last:?}");
}

#[test]
fn a_feed_that_is_dropped_ends_the_stream() {
    let (feed, flow) = pair::<String>(&quick(), RewriterOptions::default()).unwrap();
    feed.bytes(delta("All of it.")).unwrap();
    drop(feed);
    let mut out = Vec::new();
    while let Step::Bytes(bytes) = flow.next(LONG) {
        out.extend(bytes);
    }
    assert_eq!(texts(&out), "All of it.");
    let verdict = flow.with_answer(|_, answer| answer.verdict);
    assert_eq!(verdict, Some(Verdict::Truncated));
}

#[test]
fn close_wakes_a_consumer_that_waits_and_a_reader_that_is_blocked() {
    let (feed, flow) = pair::<String>(&Config::default(), RewriterOptions::default()).unwrap();
    let flow = Arc::new(flow);
    let consumer = thread::spawn({
        let flow = Arc::clone(&flow);
        move || {
            while !matches!(flow.next(LONG), Step::Finished) {}
            Instant::now()
        }
    });
    flow.close();
    let closed = Instant::now();
    let woken = consumer.join().unwrap();
    assert!(woken.saturating_duration_since(closed) < Duration::from_secs(1));
    assert!(feed.bytes(delta("too late")).is_err());
    assert!(matches!(flow.next(LONG), Step::Finished));
}

#[test]
fn a_reader_stops_when_nobody_consumes_and_nothing_is_lost() {
    let config = quick().with("max_queue_bytes", 65_536).unwrap();
    let (feed, flow) = pair::<String>(&config, RewriterOptions::default()).unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let reader = thread::spawn({
        let sent = Arc::clone(&sent);
        move || {
            for number in 0..5_000 {
                feed.bytes(delta(&format!("{number} "))).unwrap();
                sent.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let Step::Bytes(first) = flow.next(LONG) else { panic!("the first text") };
    assert!(sent.load(Ordering::SeqCst) < 2_000, "the reader ran ahead of everything");
    flow.flush();
    let mut out = first;
    loop {
        match flow.next(LONG) {
            Step::Bytes(bytes) => out.extend(bytes),
            Step::Finished => break,
            _ => {}
        }
        flow.flush();
    }
    reader.join().unwrap();
    let want: Vec<String> = (0..5_000).map(|number| format!("{number} ")).collect();
    assert_eq!(texts(&out), want.concat());
}

#[test]
fn several_consumers_put_it_together_again_by_number() {
    let (feed, flow) = pair::<String>(&quick(), pieces()).unwrap();
    let flow = Arc::new(flow);
    let (found, results) = mpsc::channel();
    let consumers: Vec<_> = (0..4)
        .map(|_| {
            let (flow, found) = (Arc::clone(&flow), found.clone());
            thread::spawn(move || consume(&flow, &found))
        })
        .collect();
    drop(found);
    let sentences: Vec<_> = (0..200).map(|n| format!("Sentence {n} ends here. ")).collect();
    let text = sentences.concat();
    for chunk in delta(&text).chunks(100) {
        feed.bytes(chunk.to_vec()).unwrap();
    }
    feed.finish().unwrap();
    let mut all: Vec<(u64, String)> = results.iter().collect();
    for consumer in consumers {
        consumer.join().unwrap();
    }
    all.sort();
    assert_eq!(all.into_iter().map(|(_, text)| text).collect::<String>(), text);
}

fn consume(flow: &Flow<String>, found: &mpsc::Sender<(u64, String)>) {
    loop {
        match flow.next(LONG) {
            Step::Piece(piece) => found.send((piece.seq, piece.text)).unwrap(),
            Step::Finished => break,
            _ => {}
        }
    }
}

#[test]
fn patience_is_kept() {
    let (_feed, flow) = pair::<String>(&Config::default(), RewriterOptions::default()).unwrap();
    assert!(matches!(flow.next(Duration::ZERO), Step::Pending));
}

#[test]
fn chunks_larger_than_the_queue_come_through() {
    let config = Config::default().with("max_queue_bytes", 65_536).unwrap();
    let config = config.with("max_event_bytes", 1_024).unwrap().with_choice("pace", "off").unwrap();
    let chunk = delta("Some words of text here. ").repeat(1_000);
    let source = vec![Ok::<_, String>(chunk); 4].into_iter();
    let out: Vec<_> = Paced::new(source, &config, RewriterOptions::default())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(texts(&out.concat()), "Some words of text here. ".repeat(4_000));
}

#[test]
fn an_error_of_the_source_comes_without_pacing() {
    let config = Config::default().with("max_queue_bytes", 65_536).unwrap();
    let (feed, flow) = pair::<String>(&config, RewriterOptions::default()).unwrap();
    feed.bytes(delta(&"Some words of text here. ".repeat(3_000))).unwrap();
    feed.fail("reset".to_owned()).unwrap();
    let start = Instant::now();
    while !matches!(flow.next(LONG), Step::Failed(_)) {}
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn a_reader_of_large_chunks_stops_too() {
    let (feed, flow) = pair::<String>(&Config::default(), RewriterOptions::default()).unwrap();
    let sent = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while sent.load(Ordering::SeqCst) < 99 && feed.bytes(vec![b' '; 1 << 20]).is_ok() {
                sent.fetch_add(1, Ordering::SeqCst);
            }
        });
        // Nobody consumes: two megabytes are on their way, then the reader waits until it is told.
        while sent.load(Ordering::SeqCst) < 2 {
            thread::yield_now();
        }
        flow.close();
    });
    assert!(sent.load(Ordering::SeqCst) < 4, "{}", sent.load(Ordering::SeqCst));
}

#[test]
fn flush_wakes_a_consumer_that_waits() {
    let config = Config::default().with("max_delay", 60_000_000_000).unwrap();
    let config = config.with("max_gap", 10_000_000_000).unwrap();
    let (feed, flow) = pair::<String>(&config, pieces()).unwrap();
    feed.bytes(delta("One. Two three")).unwrap();
    let flow = Arc::new(flow);
    let Step::Piece(_) = flow.next(LONG) else { panic!("the first word") };
    let consumer = thread::spawn({
        let flow = Arc::clone(&flow);
        move || (flow.next(Duration::MAX), Instant::now())
    });
    flow.flush();
    let flushed = Instant::now();
    let (step, at) = consumer.join().unwrap();
    assert!(matches!(step, Step::Piece(_)), "{step:?}");
    assert!(at.saturating_duration_since(flushed) < Duration::from_secs(2));
}
