#![allow(missing_docs)]
use decluster::frames::Frames;
use decluster::*;
use decluster_tests::*;
use std::io::Read;
fn main() {
    let mut b = Vec::new();
    std::io::stdin().read_to_end(&mut b).unwrap();
    let a: Vec<String> = std::env::args().collect();
    let lines = a[1] == "lines";
    let show = |b: &[u8]| {
        let mut d = Frames::new(EVENT_CAP);
        let mut f = |fr: &sse::Frame| {
            println!(
                "  {:?} {} comments={} term={} bare={} ev={:?}",
                String::from_utf8_lossy(fr.raw),
                match fr.form {
                    sse::Form::Sse => "sse".into(),
                    f => format!("{f:?}"),
                },
                fr.comments,
                fr.terminated,
                fr.bare,
                fr.event.as_ref().map(|e| (e.name, e.data))
            )
        };
        if lines {
            decode_lines(&mut d, b.split_inclusive(|b| *b == b'\n'), &mut f).unwrap()
        } else {
            decode(&mut d, [b], &mut f).unwrap()
        }
    };
    println!("IN");
    show(&b);
    let mut c = Config::default();
    for kv in &a[2..] {
        let (k, v) = kv.split_once('=').unwrap();
        c = c.with(k, v.parse().unwrap()).unwrap();
    }
    let mut now = Nanos::ZERO;
    let mut r = Rewriter::new(&c, RewriterOptions::default(), now).unwrap();
    if lines {
        for l in b.split_inclusive(|b| *b == b'\n') {
            r.push_line(now, l).unwrap();
        }
    } else {
        r.push(now, &b).unwrap();
    }
    r.finish(now);
    let mut out = Vec::new();
    loop {
        match r.poll(now) {
            Rewritten::Bytes(b) => out.extend_from_slice(b),
            Rewritten::Wait(t) => now = t,
            Rewritten::Finished => break,
            _ => {}
        }
    }
    println!("OUT {:?}", r.answer());
    show(&out);
}
