//! Costs and ledgers: exact to the last digit, whatever the order.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use decluster::guard::{Cost, Decimal, Ledger, LedgerEntry, LedgerError, Prices};
use decluster::wire::Tokens;
use proptest::prelude::*;

/// A price with five figures that tell the classes apart.
const APART: &str = r#"
    [models.apart]
    prompt = 10
    cached = 1
    cache_write = 12.5
    reasoning = 60
    output = 40
    aliases = ["other/apart"]
"#;

fn apart() -> Arc<Prices> {
    Arc::new(Prices::parse(APART).unwrap())
}

fn tokens(usage: &str) -> Tokens {
    Tokens::of(usage, true).unwrap()
}

/// Prompt, cached, written, reasoning, visible output, total.
fn parts(cost: &Cost) -> [String; 6] {
    [cost.prompt, cost.cached, cost.cache_write, cost.reasoning, cost.output, cost.total]
        .map(|number| number.to_string())
}

#[track_caller]
fn costs(usage: &str, expected: [&str; 6]) {
    let cost = apart().cost("apart", &tokens(usage)).unwrap();
    assert_eq!(parts(&cost), expected.map(str::to_owned));
}

#[test]
fn reasoning_within_the_output_is_charged_once() {
    costs(
        r#"{"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500,
            "completion_tokens_details": {"reasoning_tokens": 450}}"#,
        // 1000 x 10 = 10,000; 450 x 60 = 27,000; (500 - 450) x 40 = 2,000; together 39,000; by the million.
        ["0.01", "0", "0", "0.027", "0.002", "0.039"],
    );
}

#[test]
fn reasoning_beside_the_output_of_xai_is_charged_too() {
    costs(
        r#"{"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 303,
            "completion_tokens_details": {"reasoning_tokens": 290}}"#,
        // 12 x 10 = 120; 290 x 60 = 17,400; 1 x 40 = 40; together 17,560.
        ["0.00012", "0", "0", "0.0174", "0.00004", "0.01756"],
    );
}

#[test]
fn thoughts_of_gemini_are_charged_beside_the_candidates() {
    costs(
        r#"{"promptTokenCount": 40, "cachedContentTokenCount": 32, "candidatesTokenCount": 6,
            "thoughtsTokenCount": 210, "totalTokenCount": 256}"#,
        // (40 - 32) x 10 = 80; 32 x 1 = 32; 210 x 60 = 12,600; 6 x 40 = 240; together 12,952.
        ["0.00008", "0.000032", "0", "0.0126", "0.00024", "0.012952"],
    );
}

#[test]
fn a_gateway_that_counts_reasoning_in_no_sum_is_charged_all() {
    costs(
        r#"{"prompt_tokens": 28, "completion_tokens": 9, "total_tokens": 37,
            "completion_tokens_details": {"reasoning_tokens": 61}}"#,
        // 28 x 10 = 280; 61 x 60 = 3,660; 9 x 40 = 360; together 4,300.
        ["0.00028", "0", "0", "0.00366", "0.00036", "0.0043"],
    );
}

#[test]
fn what_was_read_from_a_cache_and_written_to_one_has_its_own_price() {
    costs(
        // Anthropic counts both beside the input: it is 3 + 90 + 7 = 100.
        r#"{"input_tokens": 3, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7, "output_tokens": 2}"#,
        // 3 x 10 = 30; 90 x 1 = 90; 7 x 12.5 = 87.5; reasoning is not counted, so 2 x 40 = 80; together 287.5.
        ["0.00003", "0.00009", "0.0000875", "0", "0.00008", "0.0002875"],
    );
}

#[test]
fn no_more_is_charged_than_the_output_has() {
    costs(
        r#"{"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 15,
            "completion_tokens_details": {"reasoning_tokens": 11}}"#,
        // 5 x 10 = 50; 10 x 60 = 600, not 11; none is visible; together 650.
        ["0.00005", "0", "0", "0.0006", "0", "0.00065"],
    );
}

#[test]
fn no_more_is_charged_than_the_input_has() {
    costs(
        r#"{"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens": 1}"#,
        // 5 x 1 = 5, not 8; 1 x 40 = 40.
        ["0", "0.000005", "0", "0", "0.00004", "0.000045"],
    );
    costs(
        r#"{"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 4}}"#,
        // 3 x 1 = 3; (5 - 3) x 12.5 = 25.
        ["0", "0.000003", "0.000025", "0", "0", "0.000028"],
    );
}

#[test]
fn parts_without_a_whole_are_charged_as_they_are() {
    let mut tokens = Tokens::default();
    (tokens.cached_input, tokens.reasoning) = (Some(8), Some(2));
    // 8 x 1 = 8; 2 x 60 = 120.
    let cost = apart().cost("apart", &tokens).unwrap();
    assert_eq!(parts(&cost), ["0", "0.000008", "0", "0.00012", "0", "0.000128"].map(str::to_owned));
}

#[test]
fn the_figures_of_the_report_cost_what_they_cost_by_hand() {
    let prices = Prices::examples();
    for (model, expected) in [
        // 1,234,567 of input, 89,012 of output of which 76,543 of reasoning, so 12,469 visible.
        // x 12 = 14,814,804; x 24 = 1,837,032 and 299,256; together 16,951,092.
        ("gpt-5.5-codex", "16.951092"),
        // x 3 = 3,703,701; x 15 = 1,148,145 and 187,035; together 5,038,881.
        ("claude-sonnet-4.5", "5.038881"),
        // x 0.5 = 617,283.5; x 2.5 = 191,357.5 and 31,172.5; together 839,813.5.
        ("gemini-2.5-flash", "0.8398135"),
        // x 0.14 = 172,839.38; x 0.42 = 32,148.06 and 5,236.98; together 210,224.42.
        ("deepseek-v3.2", "0.21022442"),
        // x 3 = 3,703,701; x 8 = 612,344 and 99,752; together 4,415,797.
        ("gpt-4.1", "4.415797"),
    ] {
        let usage = r#"{"prompt_tokens": 1234567, "completion_tokens": 89012, "total_tokens": 1323579,
            "completion_tokens_details": {"reasoning_tokens": 76543}}"#;
        let cost = prices.cost(model, &tokens(usage)).unwrap();
        assert_eq!(
            (cost.total.to_string(), cost.currency),
            (expected.to_owned(), "USD".to_owned())
        );
    }
}

#[test]
fn a_second_currency_is_exact() {
    let usage = r#"{"prompt_tokens": 1234567, "completion_tokens": 89012}"#;
    let cost = apart().cost("apart", &tokens(usage)).unwrap();
    // 1,234,567 x 10 = 12.34567; 89,012 x 40 = 3.56048; together 15.90615; x 7.123456.
    let yuan = cost.converted("CNY", "7.123456").unwrap();
    assert_eq!(yuan.prompt.to_string(), "87.94383703552");
    assert_eq!(yuan.output.to_string(), "25.36292261888");
    assert_eq!(
        (yuan.total.to_string(), yuan.currency.as_str()),
        ("113.3067596544".to_owned(), "CNY")
    );
    let mut ledger = Ledger::new(Some(apart())).with_currency("CNY", "7.123456").unwrap();
    assert_eq!(ledger.add(Some(tokens(usage)), Some("apart"), None), Ok(Some(yuan.clone())));
    assert_eq!((ledger.total().cost, ledger.currency()), (Some(yuan), Some("CNY")));
}

#[test]
fn a_rate_or_currency_out_of_bounds_is_refused() {
    let cost = Cost::default();
    for (currency, rate, expected) in [
        ("CNY", "0", "the rate is 0: nothing can be worth that"),
        ("CNY", "-1", "the rate is below 0: \"-1\""),
        ("CNY", "1000001", "the rate is above 1000000: \"1000001\""),
        ("CNY", "0.1234567890123", "the rate has more than 12 decimals: \"0.1234567890123\""),
        ("CNY", "7,1", "the rate is no decimal number: \"7,1\""),
        ("", "1", "a currency is 1 to 16 letters and digits, such as USD, not \"\""),
        ("¥", "1", "a currency is 1 to 16 letters and digits, such as USD, not \"¥\""),
    ] {
        assert_eq!(cost.converted(currency, rate).unwrap_err().to_string(), expected);
        let ledger = Ledger::new(Some(apart())).with_currency(currency, rate);
        assert_eq!(ledger.unwrap_err().to_string(), expected);
    }
    let without = Ledger::new(None).with_currency("CNY", "7").unwrap_err();
    assert_eq!(without.to_string(), "a ledger without prices has no currency");
}

#[test]
fn rounding_is_for_display_and_to_the_even_digit() {
    for (number, expected) in [(125, "0.12"), (135, "0.14"), (1, "0.00")] {
        let mut cost = Cost::default();
        cost.total = Decimal::new(number, 3);
        assert_eq!(cost.rounded(2).total.to_string(), expected);
    }
}

#[test]
fn a_ledger_tells_models_and_keys_apart() {
    let mut ledger = Ledger::new(Some(apart()));
    let one = Some(tokens(r#"{"prompt_tokens": 100, "completion_tokens": 10, "cost": 0.002}"#));
    let two = Some(tokens(
        r#"{"prompt_tokens": 1, "completion_tokens": 2, "reasoning_tokens": 1, "total_tokens": 3}"#,
    ));
    ledger.add(one, Some("apart"), Some("mail")).unwrap();
    // By its alias it is the same model.
    ledger.add(two, Some("other/apart"), Some("search")).unwrap();
    ledger.keep(one, Some("nowhere"), Some("mail")).unwrap();
    ledger.add(None, Some("apart"), None).unwrap();
    let told = |entries: Vec<LedgerEntry>| {
        let told = entries.into_iter().map(|e| {
            let cost = e.cost.map(|cost| cost.total.to_string());
            (
                e.model,
                e.key,
                [e.streams, e.unreported, e.unpriced, e.costs_told],
                e.tokens.output,
                cost,
            )
        });
        told.collect::<Vec<_>>()
    };
    let some = |text: &str| Some(text.to_owned());
    // 100 x 10 + 10 x 40 = 1,400; 1 x 10 + 1 x 60 + 1 x 40 = 110.
    assert_eq!(
        told(ledger.rows()),
        [
            (some("apart"), None, [1, 1, 0, 0], None, some("0")),
            (some("apart"), some("mail"), [1, 0, 0, 1], Some(10), some("0.0014")),
            (some("apart"), some("search"), [1, 0, 0, 0], Some(2), some("0.00011")),
            (some("nowhere"), some("mail"), [1, 0, 1, 1], Some(10), some("0")),
        ]
    );
    assert_eq!(
        told(ledger.by_model()),
        [
            (some("apart"), None, [3, 1, 0, 1], Some(12), some("0.00151")),
            (some("nowhere"), None, [1, 0, 1, 1], Some(10), some("0")),
        ]
    );
    assert_eq!(
        told(ledger.by_key()),
        [
            (None, None, [1, 1, 0, 0], None, some("0")),
            (None, some("mail"), [2, 0, 1, 2], Some(20), some("0.0014")),
            (None, some("search"), [1, 0, 0, 0], Some(2), some("0.00011")),
        ]
    );
    assert_eq!(told(vec![ledger.total()]), [(None, None, [4, 1, 1, 2], Some(22), some("0.00151"))]);
    assert_eq!(ledger.total().tokens.cost_picodollars, Some(4_000_000_000));
}

#[test]
fn a_model_without_a_price_is_refused_and_nothing_is_added() {
    let mut ledger = Ledger::new(Some(apart()));
    let usage = Some(tokens(r#"{"prompt_tokens": 1}"#));
    for (model, expected) in [
        (
            Some("apar"),
            r#"no price for the model "apar"; did you mean "apart"?; the table has: "apart""#,
        ),
        (None, r#"no model was named, and the stream tells none; the table has: "apart""#),
    ] {
        let error = ledger.add(usage, model, None).unwrap_err();
        assert!(matches!(error, LedgerError::UnknownModel(_)));
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!((ledger.rows(), ledger.total().streams), (Vec::new(), 0));
}

#[test]
fn without_prices_tokens_are_counted_and_no_cost() {
    let mut ledger = Ledger::new(None);
    let usage = Some(tokens(r#"{"prompt_tokens": 1}"#));
    assert_eq!(ledger.add(usage, Some("any"), None), Ok(None));
    assert_eq!(ledger.add(usage, None, None), Ok(None));
    let total = ledger.total();
    assert_eq!(
        (total.streams, total.unpriced, total.tokens.input, total.cost),
        (2, 0, Some(2), None)
    );
}

#[test]
fn tokens_that_say_nothing_are_no_usage() {
    let mut ledger = Ledger::new(Some(apart()));
    assert_eq!(ledger.add(Some(Tokens::default()), Some("apart"), None), Ok(None));
    assert_eq!(ledger.total().unreported, 1);
}

#[test]
fn a_full_ledger_refuses_what_would_be_a_new_row_and_loses_nothing() {
    let mut ledger = Ledger::new(None);
    for key in 0..10_000 {
        ledger.add(None, None, Some(&key.to_string())).unwrap();
    }
    let full = Err(LedgerError::Full(10_000));
    assert_eq!(ledger.add(None, None, Some("more")), full);
    assert_eq!(ledger.add(None, None, Some("9999")), Ok(None));
    let mut other = Ledger::new(None);
    other.add(None, None, Some("7")).unwrap();
    ledger.merge(&other).unwrap();
    other.add(None, None, Some("more")).unwrap();
    assert_eq!(ledger.merge(&other), Err(LedgerError::Full(10_000)));
    assert_eq!((ledger.rows().len(), ledger.total().streams), (10_000, 10_002));
    let long = "x".repeat(257);
    assert_eq!(ledger.add(None, Some(&long), None), Err(LedgerError::TooLong(257)));
    assert_eq!(
        LedgerError::TooLong(257).to_string(),
        "a model's name or a key has at most 256 bytes, not 257"
    );
}

#[test]
fn counts_and_costs_stop_at_the_largest() {
    let most =
        r#"{"prompt_tokens": 18446744073709551615, "completion_tokens": 18446744073709551615}"#;
    let dear = "[models.dear]\nprompt = 1000000\noutput = 1000000";
    let prices = Arc::new(Prices::parse(dear).unwrap());
    let mut ledger = Ledger::new(Some(prices)).with_currency("X", "1000000").unwrap();
    for _ in 0..3 {
        ledger.add(Some(tokens(most)), Some("dear"), None).unwrap();
    }
    let total = ledger.total();
    assert_eq!(total.tokens.input, Some(u64::MAX));
    // Twice 18,446,744,073,709,551,615 at one unit each, times a million.
    assert_eq!(total.cost.unwrap().total.to_string(), "36893488147419103230000000");
}

#[test]
fn a_ledger_is_told_as_json() {
    let mut ledger = Ledger::new(Some(apart()));
    let usage = tokens(r#"{"prompt_tokens": 100, "completion_tokens": 10}"#);
    let cost = ledger.add(Some(usage), Some("apart"), Some("a \"key\"")).unwrap().unwrap();
    let cost_json = r#"{"prompt":"0.001","cached":"0","cache_write":"0","reasoning":"0","output":"0.0004","total":"0.0014","currency":"USD"}"#;
    assert_eq!(cost.json(), cost_json);
    let told: serde_json::Value = serde_json::from_str(&ledger.json()).unwrap();
    assert_eq!(told["currency"], "USD");
    let entry: serde_json::Value = serde_json::from_str(&ledger.rows()[0].json()).unwrap();
    assert_eq!(told["rows"], serde_json::json!([entry]));
    assert_eq!((&told["models"][0]["key"], &told["keys"][0]["model"]), (&().into(), &().into()));
    assert_eq!(told["keys"][0]["key"], "a \"key\"");
    let cost: serde_json::Value = serde_json::from_str(cost_json).unwrap();
    let tokens = serde_json::json!({"input": 100, "cached_input": null, "cache_write": null, "output": 10,
        "reasoning": null, "visible": null, "cost_picodollars": null});
    let total = serde_json::json!({"model": null, "key": null, "streams": 1, "unreported": 0, "unpriced": 0,
        "tokens": tokens, "costs_told": 0, "cost": cost});
    assert_eq!(told["total"], total);
}

/// An answer of a few models and keys, with counts up to a thousand million.
type Added = (Option<Tokens>, Option<&'static str>, Option<&'static str>);

fn added() -> impl Strategy<Value = Added> {
    let count = || prop::option::of(0_u64..1_000_000_000);
    let counts = (count(), count(), count(), count(), count(), count());
    let tokens = counts.prop_map(|(input, cached, written, output, reasoning, cost)| {
        let mut tokens = Tokens::default();
        (tokens.input, tokens.cached_input, tokens.cache_write) = (input, cached, written);
        (tokens.output, tokens.reasoning, tokens.cost_picodollars) = (output, reasoning, cost);
        tokens.visible = output.zip(reasoning).map(|(all, part)| all.saturating_sub(part));
        tokens
    });
    let models = prop::sample::select(
        &[Some("apart"), Some("other/apart"), Some("b"), Some("none"), None][..],
    );
    let keys = prop::sample::select(&[Some("x"), Some("y"), None][..]);
    (prop::option::of(tokens), models, keys)
}

fn two_models() -> Arc<Prices> {
    let more = "[models.b]\nprompt = 0.000000001\nreasoning = 999.999999999\noutput = 7.77";
    Arc::new(Prices::parse(&[APART, more].concat()).unwrap())
}

proptest! {
    #[test]
    fn the_cost_of_the_sum_is_the_sum_of_the_costs(answers in prop::collection::vec(added(), 0..40)) {
        let prices = two_models();
        let mut ledger = Ledger::new(Some(Arc::clone(&prices)));
        let mut sum = Decimal::ZERO;
        for (tokens, model, key) in answers {
            let cost = ledger.keep(tokens, model, key).unwrap();
            let apart = tokens.and_then(|tokens| prices.cost(model?, &tokens).ok());
            let apart = apart.filter(|_| tokens != Some(Tokens::default()));
            prop_assert_eq!(&cost, &apart);
            sum += cost.map_or(Decimal::ZERO, |cost| cost.total);
        }
        for entries in [vec![ledger.total()], ledger.by_model(), ledger.by_key(), ledger.rows()] {
            let costs = entries.into_iter().map(|entry| entry.cost.unwrap());
            let parts = costs.clone().map(|c| c.prompt + c.cached + c.cache_write + c.reasoning + c.output);
            prop_assert_eq!(costs.map(|c| c.total).sum::<Decimal>(), sum);
            prop_assert_eq!(parts.sum::<Decimal>(), sum);
        }
    }

    #[test]
    fn ledgers_merged_are_one_ledger(
        answers in prop::collection::vec((added(), any::<bool>()), 0..40), priced in any::<bool>()
    ) {
        let prices = Some(two_models());
        let mut all = Ledger::new(prices.clone());
        // What is merged is priced as where it comes to, whatever it was priced by before.
        let mut parts = [Ledger::new(prices.clone()), Ledger::new(prices.filter(|_| priced))];
        for ((tokens, model, key), first) in answers {
            all.keep(tokens, model, key).unwrap();
            parts[usize::from(first)].keep(tokens, model, key).unwrap();
        }
        let [mut merged, other] = parts;
        merged.merge(&other).unwrap();
        prop_assert_eq!(merged.json(), all.json());
    }
}
