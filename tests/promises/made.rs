//! What generated streams consist of.

use decluster::{Kind, Nanos};
use proptest::prelude::*;

/// Prose mostly, and what breaks naive cutters.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "the ",
        "retry ",
        "so ",
        "wait",
        ", ",
        "because ",
        "it ",
        "fails. ",
        "Then ",
        "why? ",
        "No! ",
        "e.g. ",
        "3.14 ",
        "\n",
        "\n\n",
        "- item ",
        "`code` ",
        "$x = 1$ ",
        "我们",
        "的。",
        "、",
        "がある。",
        "é",
        "e\u{301}",
        "\u{301}",
        "👩\u{200d}",
        "👩\u{200d}💻 ",
        "🇩🇪",
        "🇫",
        "한",
        "\u{1112}\u{1161}",
        "\r",
        "\r\n",
        " ",
        "   ",
        "```\n",
        "x",
        "averyveryverylongidentifier_without_end",
        "\u{200d}",
        "\u{fe0f}",
        "ไทย",
        "(",
        ") ",
        "“",
        "”",
        ": ",
        "; ",
        "\u{0}",
        "\u{2028}",
        "नि",
        "क्षि",
    ]);
    prop::collection::vec(word, 1..40).prop_map(|words| words.concat())
}

/// Reasoning mostly.
pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Reasoning, Kind::Reasoning, Kind::Output])
}

/// From none to half a minute.
pub(crate) fn pause() -> impl Strategy<Value = Nanos> {
    let ms = prop::sample::select(vec![
        0u64, 0, 1, 5, 20, 40, 60, 99, 150, 400, 1_200, 1_499, 3_000, 30_000,
    ]);
    (ms, 0u64..1_000_000).prop_map(|(ms, ns)| Nanos(ms * 1_000_000 + if ms > 0 { ns } else { 0 }))
}
