//! Where blocks end, sentence by sentence. Texts here are long enough for a sentence to stand alone.

use decluster::segment::{Block, Boundary, Cutter, SegmentConfig, Segmenter};

fn blocks(text: &str) -> Vec<Block> {
    let mut segmenter = Segmenter::new(SegmentConfig::default().level(false));
    let mut blocks = segmenter.push(text);
    blocks.extend(segmenter.finish());
    assert_eq!(blocks.iter().map(|block| block.text.as_str()).collect::<String>(), text);
    blocks
}

/// `|` in the expectation is a block end.
fn ends(marked: &str) {
    let text = marked.replace('|', "");
    let found: Vec<_> = blocks(&text).into_iter().map(|block| block.text).collect();
    assert_eq!(found.join("|"), marked);
}

fn boundaries(text: &str) -> Vec<&'static str> {
    blocks(text).iter().map(|block| block.boundary.name()).collect()
}

#[test]
fn sentences_take_the_blank_with_the_next_word() {
    ends("The first sum is seven.| The second sum is nine.| Which one is larger?| I think nine");
    ends("\"We have to leave now.\"| She looked at the clock.");
    ends("We add them (all of them.)| Then we are done here.");
}

#[test]
fn short_sentences_join_the_next() {
    ends("Hmm. Let me think about this again.| Wait. That is not what they asked.");
}

#[test]
fn lines_and_paragraphs() {
    ends("First of all some words\n|second line of some words\n\n|Third after an empty line\n");
    assert_eq!(
        boundaries("First of all some words\nsecond line of some words\n\nThird after one\n"),
        ["line", "paragraph", "line"]
    );
    ends("First of all some words\r\n|second line of some words\r\n\r\n|Third");
    ends("An empty line with blanks  \n  \n|    indented text");
}

#[test]
fn long_sentences_end_at_clauses() {
    ends(
        "If the train leaves at noon and goes at the same speed as before,| then it will meet the other \
         one in the middle of the long bridge.",
    );
    ends(
        "The teacher gave each child in the class one more red apple than on each other day| because there were so \
         many apples left over.",
    );
    ends(
        "There is only one thing left that we can do here;| we count all of the cases one by one.",
    );
}

#[test]
fn a_clause_cut_leaves_no_stub() {
    ends("We have looked at all of the cases that there are, friend.| Now the next one.");
}

#[test]
fn a_long_run_of_words_is_cut_at_a_blank() {
    let text = "apple pear ".repeat(40);
    let blocks = blocks(&text);
    assert!(blocks.len() > 2);
    assert!(blocks.iter().all(|block| block.boundary == Boundary::Word && block.tokens <= 36));
}

#[test]
fn abbreviations() {
    ends("We asked Mr. Smith and Dr. Jones about it.| They said no to all of it.");
    ends("Look at the table in Fig. 3 of the book.| It has all of the numbers.");
    ends("Apples, pears, plums, etc.| The rest of the list is not here.");
    ends("He moved to the U.S.| Then he came back home.");
    ends("It was J. K. Rowling who wrote that one.| And so it goes on.");
    ends("Nimm ein Obst, z. B. Kirschen oder z.B. Birnen.| Dann iss es auf.");
}

#[test]
fn quotes_of_other_languages() {
    ends("Er sagte: „Das ist ganz richtig so.“| Dann ging er nach Hause.");
    ends("Il a dit : « Nous y sommes enfin. »| Puis il est parti vite.");
}

#[test]
fn numbers() {
    ends("Version 1.2.3 runs on 192.168.1.1 today.| It is at 98.6 degrees now.");
    ends("Das kostet 22,1 Euro am 12. Juni in Berlin.| Dann wird es teurer.");
    ends("That was a long time ago, in 1980.| Then came the next one.");
    ends("1980 was the year of the great 1980.");
}

#[test]
fn addresses_hold_no_blank() {
    let text =
        "See https://example.com/a.b?c=d!e and /usr/lib/x.so.6 for it. Then come back to us.";
    for block in blocks(text) {
        assert!(!block.text.ends_with("https:") && !block.text.ends_with("x."), "{block:?}");
        assert!(block.boundary < Boundary::Word, "{block:?}");
    }
}

#[test]
fn list_markers_are_no_sentences() {
    ends("3. Multiply all of the numbers.\n|a) Add the rest of them.\n|- Then stop right here.\n");
}

#[test]
fn brackets() {
    ends("It holds for all of them.| (Note: the last one is special.)| Now we go on from there.");
}

#[test]
fn no_blank_no_sentence_in_latin() {
    ends("Sentence one is here.Sentence two is here.");
}

#[test]
fn full_width_stops_need_no_blank() {
    ends("小明有三个苹果和五个梨。|他又买了两个苹果。|现在他一共有多少个？|我们来算一算。");
    ends("「みんなで一緒に行こう！」と彼は言った。|それから家に帰った。");
    ends("राम के पास तीन सेब और दो केले हैं।| उसने एक और खरीदा।");
}

#[test]
fn formulas_hold_no_sentences() {
    let text = "So we get $x = 3. Y = 4$ and so that is it. Now the rest of it.";
    assert_eq!(blocks(text)[0].text, "So we get $x = 3. Y = 4$ and so that is it.");
    assert_eq!(
        boundaries("It costs $5. Then it costs $6 more than before."),
        ["sentence", "sentence"]
    );
}

#[test]
fn displays_break_after_commands() {
    let text = "\\[ a_1 \\cdot a_2 \\cdot a_3 \\implies b_1 \\cdot b_2 \\cdot b_3 \\]\n";
    assert!(blocks(text)[0].text.ends_with("\\implies"), "{:?}", blocks(text));
}

#[test]
fn displays_break_after_a_relation() {
    let text = "\\[ a_1 + a_2 + a_3 = b_1 + b_2 + b_3 \\leq c_1 + c_2 + c_3 \\]\n";
    let blocks = blocks(text);
    assert!(blocks[0].text.ends_with(" =") || blocks[0].text.ends_with("\\leq"), "{blocks:?}");
    assert!(blocks.iter().all(|block| block.boundary < Boundary::Word));
}

#[test]
fn code_ends_at_lines() {
    ends(
        "Here is the code for it:\n|```python\nprint(a, b)\n|for x in y. Zed:\n|    pass\n```\n|Done with it.",
    );
    assert!(!boundaries("```\na = b + c\n\nd = e + f + g\n```\n").contains(&"paragraph"));
}

#[test]
fn the_end_is_named_for_what_stands_there() {
    assert_eq!(boundaries("Done."), ["sentence"]);
    assert_eq!(boundaries("Done"), ["word"]);
    assert_eq!(boundaries("Done,"), ["clause"]);
    assert_eq!(boundaries("Done. "), ["sentence"]);
    assert_eq!(boundaries("Done, "), ["clause"]);
    assert_eq!(boundaries("So said Dr."), ["word"]);
    assert_eq!(boundaries("Done\n"), ["line"]);
    assert_eq!(boundaries("Done\n\n"), ["paragraph"]);
    assert!(boundaries("").is_empty());
}

#[test]
fn a_flush_gives_what_may_be_complete() {
    let mut segmenter = Segmenter::new(SegmentConfig::default().sentences(true));
    let mut flush = |text: &str| {
        let blocks = segmenter.push(text).into_iter().chain(segmenter.flush());
        blocks.map(|block| block.text).collect::<Vec<_>>().join("|")
    };
    assert_eq!(flush("So it was."), "So it was.");
    assert_eq!(flush(""), "");
    assert_eq!(flush(" Then Dr."), "");
    assert_eq!(flush(" Ito came. "), " Then Dr. Ito came. ");
    assert_eq!(flush("A line\n"), "A line\n");
    assert_eq!(flush("1."), "");
    assert_eq!(flush(" An item, and"), "");
    assert_eq!(flush(" more. The rest"), "1. An item, and more.");
}

#[test]
fn a_run_may_follow_a_run() {
    let mut cutter = Cutter::new(SegmentConfig::default());
    cutter.push("`unclosed code");
    cutter.finish();
    cutter.finish();
    cutter.push("Then we go on here. Next one");
    let ends: Vec<_> = cutter.ends().iter().map(|edge| edge.end).collect();
    assert_eq!(ends, [14, 33]);
    assert_eq!(cutter.end().end, 42);
}

#[test]
fn words_are_edges_as_soon_as_the_blank_comes() {
    let mut cutter = Cutter::new(SegmentConfig::default());
    cutter.push("Hello");
    assert!(cutter.edges().is_empty());
    cutter.push(" ");
    assert_eq!(cutter.edges().back().map(|edge| edge.end), Some(5));
    cutter.push("you\n");
    assert_eq!(cutter.edges().back().map(|edge| edge.end), Some(10));
    cutter.drop_edges(5);
    assert_eq!(cutter.edges().len(), 1);
}

#[test]
fn the_last_cluster_may_grow() {
    let mut cutter = Cutter::new(SegmentConfig::default());
    cutter.push("ab");
    assert_eq!(cutter.last_cluster().end, 1);
    cutter.push("\u{301}");
    assert_eq!(cutter.last_cluster().end, 1);
    cutter.push("\r");
    assert_eq!(cutter.last_cluster().end, 4);
    cutter.push("\n");
    assert_eq!(cutter.last_cluster().end, 6);
}
