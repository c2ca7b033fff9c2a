//! Texts that make segmenters slow, as data: what begins the text and what is repeated.

/// A text of any length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub(crate) name: &'static str,
    head: &'static str,
    unit: &'static str,
    /// Every two to four bytes are a word to be judged, and none of them is plain.
    #[allow(dead_code, reason = "read by one of those who include this file")]
    pub(crate) dense: bool,
}

impl Input {
    /// As much of it as fits into `bytes`, whole units only.
    pub(crate) fn text(&self, bytes: usize) -> String {
        self.head.to_owned()
            + &self.unit.repeat(bytes.saturating_sub(self.head.len()) / self.unit.len())
    }
}

const fn of(name: &'static str, unit: &'static str) -> Input {
    Input { name, head: "", unit, dense: false }
}

const fn dense(name: &'static str, unit: &'static str) -> Input {
    Input { name, head: "", unit, dense: true }
}

const fn unclosed(name: &'static str, head: &'static str, unit: &'static str) -> Input {
    Input { name, head, unit, dense: false }
}

/// What the others are measured against.
pub(crate) const PROSE: Input = of("prose", include_str!("../../benches/text.txt"));

pub(crate) const INPUTS: &[Input] = &[
    of("no terminator", "we go on and on and never come to any end of it "),
    of("one word", "a"),
    of("one number", "1"),
    of("base64", BASE64),
    of("letters alone", "a "),
    of("listed words", "and "),
    of("capitals and digits", "A1"),
    // Punctuation.
    of("dots", "."),
    dense("dots and blanks", ". "),
    of("question marks", "?"),
    dense("question marks and blanks", "? "),
    of("commas", ","),
    dense("commas and blanks", ", "),
    of("colons", ":"),
    of("hyphens", "-"),
    dense("hyphens and blanks", "- "),
    of("asterisks", "*"),
    of("underscores", "_"),
    of("apostrophes", "'"),
    of("letters and apostrophes", "a'"),
    of("letters and dots", "a."),
    of("letters and commas", "a, "),
    of("dashes", "—"),
    of("ellipses", "…"),
    of("closing parentheses", ")"),
    of("alternating closers", "\")"),
    of("closers after a stop", ".\")"),
    of("every closer", ")]}\"'*_~”’»"),
    of("guillemets", "«»"),
    dense("abbreviations", "Mr. "),
    dense("dotted abbreviations", "e.g. "),
    of("abbreviations in a row", "e.g."),
    dense("spaced abbreviations", "z. B. "),
    dense("ordinals", "12. "),
    // Formulas and code.
    of("dollars", "$"),
    of("dollars before letters", "$a "),
    unclosed("unclosed dollar", "$", "x + y = z "),
    of("displays", "$$\n"),
    unclosed("unclosed display", "$$", "x &= y \\\\ "),
    of("backslashes", "\\"),
    of("brackets", "["),
    of("opened brackets", "\\["),
    unclosed("unclosed bracket", "\\[", "x + y \\leq z "),
    of("parentheses", "("),
    of("backticks", "`"),
    of("backticks before letters", "`a "),
    unclosed("unclosed backtick", "`", "some words of code "),
    of("fences", "```\n"),
    unclosed("unclosed fence", "```\n", "    let x = f(y);\n"),
    // Lines and blanks.
    of("blanks", " "),
    of("tabs", "\t"),
    of("newlines", "\n"),
    of("carriage returns", "\r"),
    of("both", "\r\n"),
    of("blank lines", "\n \n"),
    of("short lines", "    x\n"),
    dense("list items", "- a\n"),
    dense("numbered items", "1. a\n"),
    dense("table", "| a | 1 |\n"),
    of("nulls", "\u{0}"),
    of("no-break spaces", "\u{a0}"),
    // Scripts.
    of("Cyrillic", "мы идём дальше и не доходим до конца "),
    of("Arabic", "نمضي ولا نصل إلى النهاية "),
    of("Hindi", "हम आगे बढ़ते हैं और अंत तक नहीं पहुँचते "),
    of("Korean", "우리는 계속 가고 끝에 이르지 않는다 "),
    of("accented letters", "é"),
    of("Han", "我们一直走下去而到不了头"),
    of("Han and kana", "私たちは先へ進む"),
    of("katakana", "カタカナ"),
    of("Thai", "เราเดินต่อไปโดยไม่ถึงที่สิ้นสุด"),
    of("wide stops", "。"),
    of("wide commas", "，"),
    of("wide quotes", "「」"),
    // Clusters.
    of("combining marks", "\u{301}"),
    of("letters with marks", "e\u{301}\u{308}"),
    of("two marks in turn", "\u{301}\u{308}"),
    of("emoji", "👍"),
    of("emoji with skin", "👍🏽"),
    of("joiners", "\u{200d}"),
    of("emoji and joiners", "👩\u{200d}"),
    of("families", "👩\u{200d}👩\u{200d}👧"),
    of("marks before a joiner", "👩\u{fe0f}\u{200d}"),
    of("regional indicators", "🇩"),
    of("flags", "🇩🇪"),
    of("conjuncts", "क्"),
    of("conjuncts and joiners", "क्\u{200d}"),
    of("leading jamo", "\u{1100}"),
    of("vowel jamo", "\u{1161}"),
    of("trailing jamo", "\u{11a8}"),
    of("syllables of jamo", "\u{1100}\u{1161}\u{11a8}"),
    of("Hangul", "한"),
    of("prepended marks", "\u{600}"),
    of("Thai vowels", "กำ"),
];

const BASE64: &str = "\
    bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB1L9RIvNEVUxTveLruM0rfj0WAK1jHDhaXXzOI8d4VFmtvBtMkA/+SN\
    V1tdpcY4BAEl9l2w/j4kSUt26phkV9mGCE/tCLl4r019GWp0RqhrWACeY2thHbFiEbZamq3/KcXlLZxQjFAjRzRNjAetkcvW\
    Bor8df9ikvBioJyjgcieced7mprp4wsNvbb1EKJk753ngVAde2uSronrBZxat0PbZ1humPrSfaC5lovAOaHvNMk5ubjlI6i+\
    +J1HhgjF7PbKNYdY9tJ+bPRScpN5d6dI/Yg5HbZ5ztp9x78fAF7oeb7q13mUz1czQewXtYu/frNNJxHJk8HZdrEosxiNwYKa\
    K0w0L1Qz6+WRodp34BPRtyR1Vi1IV43Ki4S6xmUcPLkBukcZyAtv6RGwkafAUSS2Tu7Olk4JwFjvj5gF2spUa+fPRqB4/tT6\
    /QteOv8USAK4U/iuRZpPDBSt0zFLfMOm72y9IWHq6nlDzoaTuYJNI9F5P/scD8oFtgDTiZtEyXedHg4tlFnQZSOtE+KKQJPC\
    MWuq/nrsWyXzDrouETWZxE17PvcwCs9wyJLYMn24Jy9UQ0rbxhpOEwpWPLWaDQ9H3A6cNliho+0eyUJ02LGZJck+Grt926KU\
    kjrZveMPjLjFVeq0XQiEWunxDUUqmb/LBvdKULmI/n5I3TI3ibiO40pkoQfwyzJTblvObJjDk9shzKf06hh7qMTcqLUdTqgK\
    8pl5HN3T1mZPZnCEKBLvYFPrZQG9YoKkdru/PukedQyriX+97fpQKy2Dm2pWEAiH3M3FB1VcKC5ZWJ4GMApi4oOJHX/oXDPl\
    LItOWBTJL7ajuUZymSAFOKa6uqi0Uth5Lw/R6JuN4dVyknQuw4DqRwZuMHrWRfW8OtrYoG/1hgh8t8RUfPJlNZDXqazmDMYj\
    0lFIrfvIiomusO+I2ng5uo8RsF2nheQ+cT0Dd0xr00Bdmc0wJK8zT/1o22Y6o3A0";
