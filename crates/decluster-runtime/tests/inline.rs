//! The engine in one thread: what comes out, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use decluster::{Config, RewriterError, RewriterOptions, Rewritten};
use decluster_runtime::{End, Inline};

const EVENT: &[u8] =
    b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi there, and so on.\"}}]}\n\n";

fn stream() -> Inline<&'static str> {
    Inline::new(&Config::default(), RewriterOptions::default()).unwrap()
}

/// How many bytes come out at once.
fn due(stream: &mut Inline<&'static str>) -> usize {
    let mut bytes = 0;
    while let Rewritten::Bytes(out) = stream.poll(stream.now()) {
        bytes += out.len();
    }
    bytes
}

#[test]
fn an_error_comes_once_after_all_that_had_arrived() {
    let mut stream = stream();
    stream.bytes(stream.now(), EVENT);
    stream.fail("gone");
    assert!(stream.has_ended() && !stream.wants_input());
    assert!(due(&mut stream) >= EVENT.len());
    assert_eq!(stream.poll(stream.now()), Rewritten::Finished);
    assert!(matches!(stream.end(), End::Failed("gone")));
    assert!(matches!(stream.end(), End::Finished));
}

#[test]
fn nothing_comes_once_it_is_closed() {
    let mut stream = stream();
    stream.bytes(stream.now(), EVENT);
    stream.close();
    stream.fail("late");
    stream.bytes(stream.now(), EVENT);
    assert_eq!(due(&mut stream), 0);
    assert_eq!(stream.poll(stream.now()), Rewritten::Finished);
    assert!(matches!(stream.end(), End::Finished));
}

#[test]
fn a_fault_comes_after_what_was_readable() {
    let config = Config::default().with("max_event_bytes", 1_024).unwrap();
    let mut stream = Inline::<&str>::new(&config, RewriterOptions::default()).unwrap();
    stream.bytes(stream.now(), &[EVENT, b"data: ", &[b'x'; 2_000]].concat());
    assert!(stream.has_ended());
    stream.flush();
    assert!(due(&mut stream) >= EVENT.len());
    assert_eq!(stream.poll(stream.now()), Rewritten::Finished);
    assert!(matches!(stream.end(), End::Fault(RewriterError::TooLarge(_))));
}
