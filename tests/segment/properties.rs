//! What holds for every text, on text made to break it.

use decluster::segment::{Boundary, Cutter, Edge, SegmentConfig, Segmenter};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use unicode_segmentation::UnicodeSegmentation;

const PARTS: &[&str] = &[
    "a",
    "word",
    " ",
    "  ",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\t",
    ".",
    "?",
    "!",
    "...",
    ",",
    ";",
    ":",
    "-",
    "—",
    "–",
    "…",
    "1",
    "2.5",
    "300",
    "$",
    "$$",
    "\\(",
    "\\)",
    "\\[",
    "\\]",
    "\\\\",
    "`",
    "```",
    "~~~",
    "=",
    "\\leq",
    "(",
    ")",
    "[",
    "\"",
    "'",
    "„",
    "“",
    "”",
    "«",
    "»",
    "「",
    "」",
    "。",
    "，",
    "！",
    "我",
    "们",
    "か",
    "カ",
    "ไทย",
    "ำ",
    "한",
    "\u{1112}",
    "\u{1161}",
    "\u{11ab}",
    "é",
    "e\u{301}",
    "\u{308}",
    "\u{fe0f}",
    "\u{200d}",
    "👩",
    "👍🏽",
    "👩‍👩‍👧",
    "🇩",
    "🇪",
    "🇩🇪",
    "क",
    "्",
    "ष",
    "।",
    "\u{600}",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    "and",
    "because",
    "Mr.",
    "z.",
    "The",
    "größe",
    "Привет",
    "مرحبا",
    "\u{0}",
    "\u{ad}",
];

fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => proptest::sample::select(PARTS).prop_map(str::to_owned),
        1 => (proptest::sample::select(PARTS), 1..80_usize).prop_map(|(part, n)| part.repeat(n)),
        3 => proptest::sample::select(PARTS).prop_map(|part| format!("{part} ")),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(part, 0..160).prop_map(|parts| parts.concat())
}

fn config() -> impl Strategy<Value = SegmentConfig> {
    (prop_oneof![3 => Just(124_u32), 1 => 40..=640_u32], any::<bool>(), any::<bool>()).prop_map(
        |(target, level, sentences)| {
            let config =
                SegmentConfig::default().target_tenths_of_token(target).unwrap_or_default();
            config.level(level).sentences(sentences)
        },
    )
}

fn cut<'a>(
    config: SegmentConfig,
    parts: impl IntoIterator<Item = &'a str>,
) -> (Vec<Edge>, Vec<Edge>) {
    let mut cutter = Cutter::new(config);
    parts.into_iter().for_each(|part| cutter.push(part));
    cutter.finish();
    (cutter.edges().iter().copied().collect(), cutter.ends().iter().copied().collect())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: decluster_tests::cases(400),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn lossless(text in text(), config in config()) {
        let mut segmenter = Segmenter::new(config);
        let mut blocks = segmenter.push(&text);
        blocks.extend(segmenter.finish());
        let whole: String = blocks.iter().map(|block| block.text.as_str()).collect();
        prop_assert_eq!(whole, text);
        prop_assert!(blocks.iter().enumerate().all(|(i, block)| block.number == i as u64));
    }

    #[test]
    fn chunk_blind(text in text(), config in config(), places in proptest::collection::vec(0..200_usize, 0..20)) {
        let whole = cut(config, [text.as_str()]);
        prop_assert_eq!(&cut(config, text.split_inclusive(|_| true)), &whole);
        let mut rest = text.as_str();
        let mut parts = Vec::new();
        for place in places {
            let at = (0..=place.min(rest.len())).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
            parts.push(&rest[..at]);
            rest = &rest[at..];
        }
        parts.push(rest);
        prop_assert_eq!(&cut(config, parts), &whole);
    }

    #[test]
    fn edges_are_clusters_and_in_order_and_hold_all_ends(text in text(), config in config()) {
        let (edges, ends) = cut(config, [text.as_str()]);
        let clusters: std::collections::HashSet<u64> =
            text.grapheme_indices(true).map(|(at, g)| (at + g.len()) as u64).collect();
        prop_assert!(edges.windows(2).all(|w| w[0].end < w[1].end && w[0].tokens <= w[1].tokens));
        prop_assert!(ends.windows(2).all(|w| w[0].end < w[1].end));
        for edge in &edges {
            prop_assert!(clusters.contains(&edge.end), "{} in {text:?}", edge.end);
        }
        for end in &ends {
            prop_assert!(edges.contains(end), "{end:?}");
        }
        prop_assert_eq!(ends.last().map_or(0, |end| end.end), text.len() as u64);
    }

    #[test]
    fn a_flush_anywhere_loses_nothing(text in text(), config in config(), places in proptest::collection::vec(0..60_usize, 0..12)) {
        let mut segmenter = Segmenter::new(config);
        let (mut whole, mut rest) = (String::new(), text.as_str());
        for place in places {
            let (part, after) = rest.split_at(rest.floor_char_boundary(place));
            rest = after;
            for block in segmenter.push(part).into_iter().chain(segmenter.flush()) {
                prop_assert!(!block.text.is_empty());
                whole += &block.text;
            }
            prop_assert!(text[whole.len()..].starts_with(segmenter.pending()));
        }
        for block in segmenter.push(rest).into_iter().chain(segmenter.finish()) {
            whole += &block.text;
        }
        prop_assert_eq!(whole, text);
        prop_assert_eq!(segmenter.pending(), "");
    }

    #[test]
    fn blocks_are_bounded(text in text()) {
        let (_, ends) = cut(SegmentConfig::default(), [text.as_str()]);
        let mut start = (0, 0);
        for end in ends {
            prop_assert!(end.tokens / 16 - start.1 / 16 <= 36);
            prop_assert!(end.end - start.0 <= SegmentConfig::default().block_bytes_max() + 4);
            start = (end.end, end.tokens);
        }
    }

    #[test]
    fn what_is_known_stays_known(text in text(), more in text()) {
        let mut cutter = Cutter::new(SegmentConfig::default());
        cutter.push(&text);
        let (last, ends) = (cutter.last_cluster().end, cutter.ends().clone());
        let edges: Vec<_> = cutter.edges().iter().map(|edge| edge.end).collect();
        cutter.push(&more);
        let whole = text + &more;
        prop_assert!(last == 0 || last == whole.len() as u64 || whole.grapheme_indices(true).any(|(at, _)| at as u64 == last));
        prop_assert!(ends.iter().eq(cutter.ends().iter().take(ends.len())));
        prop_assert!(edges.iter().copied().eq(cutter.edges().iter().take(edges.len()).map(|edge| edge.end)));
    }

    #[test]
    fn the_estimate_is_a_running_sum(text in text(), at in 0..400_usize) {
        let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let mut cutter = Cutter::new(SegmentConfig::default());
        cutter.push(&text[..at]);
        let half = cutter.end();
        cutter.push(&text[at..]);
        prop_assert!(half.tokens <= cutter.end().tokens);
        for edge in cutter.edges().iter().filter(|edge| edge.end == half.end) {
            prop_assert_eq!(edge.tokens, half.tokens);
        }
        prop_assert!(half.boundary <= Boundary::Grapheme);
    }
}
