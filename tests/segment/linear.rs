//! Inputs that make segmenters quadratic: a megabyte of each is cut in bounded blocks, in a time that
//! grows with the length (printed, not asserted: a loaded machine proves nothing).

#![expect(clippy::disallowed_macros, clippy::disallowed_methods, reason = "measures and prints")]

use std::time::Instant;

use decluster::segment::{SegmentConfig, Segmenter};

fn largest_block(unit: &str, bytes: usize) -> (usize, u128) {
    let text = unit.repeat(bytes / unit.len());
    let start = Instant::now();
    let mut segmenter = Segmenter::new(SegmentConfig::default());
    let mut largest = 0;
    let mut total = 0;
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let mut at = rest.len().min(1000);
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        for block in segmenter.push(&rest[..at]) {
            largest = largest.max(block.text.len());
            total += block.text.len();
        }
        rest = &rest[at..];
    }
    for block in segmenter.finish() {
        largest = largest.max(block.text.len());
        total += block.text.len();
    }
    assert_eq!(total, text.len());
    (largest, start.elapsed().as_micros())
}

#[test]
fn a_megabyte_of_anything() {
    for unit in [
        "a",
        "1",
        ".",
        " ",
        "\n",
        "\r",
        "\r\n",
        "\t",
        ". ",
        "? ",
        "$",
        "$a ",
        "$$\n",
        "`",
        "`a ",
        "```\n",
        "\\",
        "\\[",
        "(",
        ")",
        "\")",
        "\u{301}",
        "a\u{301}",
        "\u{200d}",
        "👩\u{200d}",
        "🇩",
        "क्",
        "\u{1100}",
        "\u{1161}",
        "한",
        "我",
        "。",
        "「",
        "ก",
        "\u{600}",
        "z. B. ",
        "Mr. ",
        "e.g.",
        "and ",
        "\u{a0}",
        "*",
        "_",
        "—",
        "…",
        "    x\n",
        "\n \n",
        "\u{0}",
    ] {
        let (_, short) = largest_block(unit, 100_000);
        let (largest, long) = largest_block(unit, 1_000_000);
        println!("{unit:?}: 100 KB {short} us, 1 MB {long} us, largest block {largest} bytes");
        assert!(largest as u64 <= SegmentConfig::default().block_bytes_max() + 4, "{unit:?}");
    }
}
