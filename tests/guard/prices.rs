//! Price tables: what they hold, and what is said of one that cannot be read.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;

use decluster::guard::{Decimal, Price, Prices};
use proptest::prelude::*;

fn refused(text: &str) -> String {
    Prices::parse(text).unwrap_err().to_string()
}

#[test]
fn json_and_toml_say_the_same() {
    let toml = r#"
        currency = "EUR"
        as_of = 2026-11-30
        [models."a.b"]
        prompt = 0.10
        cached = "0.025"
        output = 1_000
        aliases = ["x", "y"]
        [models.c]
        prompt = 1
        cache_write = 1.25
        reasoning = 3e-1
        output = 2.0
        as_of = "2025"
        source = "their page"
    "#;
    let json = r#"{"currency": "EUR", "as_of": "2026-11-30", "models": {
        "c": {"source": "their page", "as_of": "2025", "prompt": 1, "cache_write": "1.25", "reasoning": 0.3,
            "output": 2.0},
        "a.b": {"prompt": 0.10, "cached": 0.025, "output": 1000, "aliases": ["x", "y"]}}}"#;
    let prices = Prices::parse(toml).unwrap();
    assert_eq!(Prices::parse(&["\u{feff} ", json].concat()), Ok(prices.clone()));
    assert_eq!(prices.currency(), "EUR");
    let [ab, c] = ["y", "c"].map(|name| prices.get(name).unwrap());
    let figures = |p: &Price| {
        [p.prompt, p.cached, p.cache_write, p.reasoning, p.output].map(|n| n.to_string())
    };
    assert_eq!(figures(ab), ["0.10", "0.025", "0.10", "1000", "1000"]);
    assert_eq!(figures(c), ["1", "1", "1.25", "0.3", "2.0"]);
    assert_eq!((ab.as_of.as_deref(), c.as_of.as_deref()), (Some("2026-11-30"), Some("2025")));
    assert_eq!((ab.source.as_deref(), c.source.as_deref()), (None, Some("their page")));
}

#[test]
fn an_error_names_line_model_and_member() {
    let model = |members: &str| [TOML_START, members].concat();
    for (text, expected) in [
        ("", "a price table needs models; it has: currency, as_of, source, models".to_owned()),
        ("{}", "a price table needs models; it has: currency, as_of, source, models".to_owned()),
        (
            "\n[price.x]",
            "line 2: \"price\" is no member of the table; there are: currency, as_of, source, models; a name with \
            dots stands in quotes, as in [models.\"gpt-4.1\"]"
                .to_owned(),
        ),
        (
            "[models.gpt-4.1]\nprompt = 1",
            "line 1: \"1\" is no member of model \"gpt-4\"; there are: prompt, cached, cache_write, reasoning, \
            output, aliases, as_of, source; a name with dots stands in quotes, as in [models.\"gpt-4.1\"]"
                .to_owned(),
        ),
        (
            &model("prompt = 1\ninput = 1"),
            "line 3: \"input\" is no member of model \"m\"; there are: prompt, cached, cache_write, reasoning, \
            output, aliases, as_of, source"
                .to_owned(),
        ),
        (&model("prompt = 1"), "line 1: model \"m\" has no output".to_owned()),
        (&model("output = 1"), "line 1: model \"m\" has no prompt".to_owned()),
        (&model("\nprompt = -1"), "line 3: model \"m\", prompt is below 0: \"-1\"".to_owned()),
        (&model("prompt = inf"), "line 2: model \"m\", prompt is no decimal number: \"inf\"".to_owned()),
        (
            &model("prompt = 0x1F"),
            "line 2: model \"m\", prompt is a number, not a number of another base than 10".to_owned(),
        ),
        (&model("prompt = true"), "line 2: model \"m\", prompt is a number, not a truth value".to_owned()),
        (&model("prompt = 1e7"), "line 2: model \"m\", prompt is above 1000000: \"1e7\"".to_owned()),
        (
            &model("prompt = 0.0000000001"),
            "line 2: model \"m\", prompt has more than 9 decimals: \"0.0000000001\"".to_owned(),
        ),
        (&model("aliases = \"x\""), "line 2: model \"m\", aliases: it is a list of names, not text".to_owned()),
        (&model("aliases = [1]"), "line 2: model \"m\", aliases is text, not a number".to_owned()),
        (&model("source = 1"), "line 2: model \"m\", source is text, not a number".to_owned()),
        (
            &model(&["source = \"", &"x".repeat(1_025), "\""].concat()),
            "line 2: model \"m\", source has more than 1024 bytes".to_owned(),
        ),
        ("models = 1", "line 1: models is an object: a model's name and its prices".to_owned()),
        (
            "{\"models\":\n{\"m\":\n3}}",
            "line 3: model \"m\": its prices are an object, not a number".to_owned(),
        ),
        (
            "currency = \"US Dollar\"\n[models]",
            "line 1: a currency is 1 to 16 letters and digits, such as USD, not \"US Dollar\"".to_owned(),
        ),
        (
            "{\"models\":{\n\"m\":{\"prompt\":1,\"output\":1},\n\"m\":{\"prompt\":1,\"output\":1}}}",
            "line 3: \"m\" stands there twice".to_owned(),
        ),
        (
            "{\"models\":{\n\"m\":{\"prompt\":1,\"output\":1},\n\"n\":{\"prompt\":1,\"output\":1,\"aliases\":[\"m\"]}}}",
            "line 3: \"m\" names a model twice".to_owned(),
        ),
        (&model("prompt=1\noutput=1\naliases=[\"m\"]"), "line 1: \"m\" is an alias of itself".to_owned()),
        (
            "{\"models\":{\"\":{\"prompt\":1,\"output\":1}}}",
            "line 1: the name of a model has 1 to 256 bytes; \"\" has 0".to_owned(),
        ),
        ("{\"models\":\n nothing}", "line 2: this is not JSON: expected ident at line 2 column 3".to_owned()),
        ("a = 1\nb = = 2", "line 2: this is not TOML: ".to_owned()),
        ("a = 1\na = 2", "line 2: this is not TOML: duplicate key".to_owned()),
    ] {
        let found = refused(text);
        assert!(found.starts_with(&expected), "{text}\n  found: {found}\n  not:   {expected}");
    }
}

#[test]
fn a_table_is_bounded() {
    let long = [" ".repeat(TEXT_MAX), "{}".to_owned()].concat();
    assert_eq!(refused(&long), "a price table has at most 1048576 bytes, not 1048578");
    let mut names = "[models.m]\nprompt = 1\noutput = 1\naliases = [".to_owned();
    for n in 0..NAMES_MAX {
        write!(names, "\"{n}\", ").unwrap();
    }
    names.push(']');
    assert!(refused(&names).ends_with("at most 10000 models and aliases"));
    let last = names.replacen("\"0\", ", "", 1);
    assert_eq!(Prices::parse(&last).unwrap().get("9999").unwrap().aliases.len(), NAMES_MAX - 1);
    for deep in [
        ["{\"models\":".repeat(9_000), "1".to_owned(), "}".repeat(9_000)].concat(),
        ["models = ", &"[".repeat(9_000), &"]".repeat(9_000)].concat(),
    ] {
        Prices::parse(&deep).unwrap_err();
    }
}

/// Words of which tables are made, and of which they break.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(
        &[
            "{",
            "}",
            "[",
            "]",
            "\"",
            "\n",
            " ",
            "=",
            ":",
            ",",
            ".",
            "-",
            "1",
            "0.5",
            "1e9",
            "models",
            "prompt",
            "output",
            "aliases",
            "\"models\"",
            "\"prompt\":",
            "[models.m]\n",
            "prompt = ",
            "output = 1\n",
            "as_of",
            "\u{feff}",
            "é",
            "\\",
            "\\u12",
            "inf",
            "2026-01-01",
            "'''",
            "#",
            "null",
            "{\"models\":{\"m\":{",
        ][..],
    );
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), words in words()) {
        for text in [text, words] {
            if let Err(error) = Prices::parse(&text) {
                prop_assert!(!error.message.is_empty());
                prop_assert!(error.line.is_none_or(|line| (1..=text.lines().count() + 1).contains(&line)));
            }
        }
    }

    #[test]
    fn a_number_within_the_bounds_is_itself(number in 0_i64..=1_000_000_000_000_000, decimals in 0_u32..=9) {
        let number = Decimal::new(number, 9).trunc_with_scale(decimals);
        for text in [
            format!("[models.m]\nprompt = {number}\noutput = \"{number}\""),
            format!("{{\"models\": {{\"m\": {{\"prompt\": {number}, \"output\": \"{number}\"}}}}}}"),
        ] {
            let prices = Prices::parse(&text).unwrap();
            let price = prices.get("m").unwrap();
            prop_assert_eq!([price.prompt, price.cached, price.output], [number; 3]);
            prop_assert_eq!(price.prompt.to_string(), number.to_string());
        }
    }
}

const TOML_START: &str = "[models.m]\n";
const TEXT_MAX: usize = 1 << 20;
const NAMES_MAX: usize = 10_000;
