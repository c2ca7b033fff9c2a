//! What many answers cost, by model and by whatever else they are to be told apart by.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use rust_decimal::Decimal;

use super::cost::{Charged, Cost};
use super::price::{self, PriceError, Prices, UnknownModel};
use crate::wire::{MODEL_BYTES_MAX, Tokens};

/// Adds up answers by model and key: a customer, a job, a feature, whatever the caller names.
///
/// Counts are integers that stop at the largest `u64`, costs are computed from the summed counts and exact as [`Cost`] is,
/// so the order of the answers changes nothing, nor does it matter in which of two ledgers that are
/// [merged](Self::merge) an answer was. A ledger has at most 10,000 pairs of model and key.
///
/// ```
/// use decluster::guard::{Ledger, Prices};
/// use decluster::wire::Tokens;
/// let mut ledger = Ledger::new(Some(Prices::examples().into())).with_currency("CNY", "7.1")?;
/// let tokens = Tokens::of(r#"{"prompt_tokens": 1000, "completion_tokens": 500}"#, false);
/// for key in ["search", "search", "mail"] {
///     ledger.add(tokens, Some("gpt-4.1"), Some(key))?;
/// }
/// let search = &ledger.by_key()[1];
/// // 2 x (1000 x 3 + 500 x 8) by the million are 0.014 dollars; times 7.1.
/// assert_eq!((search.key.as_deref(), search.streams), (Some("search"), 2));
/// assert_eq!(search.cost.as_ref().map(|cost| cost.total.to_string()), Some("0.0994".into()));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    prices: Option<Arc<Prices>>,
    /// The currency of the costs, and how many of it one of the prices' is.
    currency: Option<(String, Decimal)>,
    rows: BTreeMap<(Option<String>, Option<String>), Row>,
}

/// Answers added up: those of a model and a key, of one of the two, or all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LedgerEntry {
    /// The model, by its name in the price table where that has it. `None` if nobody named one, and for several.
    pub model: Option<String>,
    /// The key. `None` if none was given, and for several.
    pub key: Option<String>,
    /// All answers.
    pub streams: u64,
    /// Of these, those without usage: nothing is known of what they cost.
    pub unreported: u64,
    /// Of these, those with usage whose model has no price, which [`Ledger::keep`] took; none without a price table.
    pub unpriced: u64,
    /// The sums of the counts; `None` where no answer had the count.
    pub tokens: Tokens,
    /// Of how many answers the provider said what they cost: `tokens.cost_picodollars` is the sum of that.
    pub costs_told: u64,
    /// What it cost by the price table, without `unreported` and `unpriced`. `None` without a price table.
    pub cost: Option<Cost>,
}

/// Why a ledger does not take an answer, or another ledger. It is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LedgerError {
    /// The price table does not have the model.
    UnknownModel(UnknownModel),
    /// There would be more than this many pairs of model and key.
    Full(usize),
    /// The name of a model, or a key, has more than 256 bytes.
    TooLong(usize),
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    streams: u64,
    unreported: u64,
    tokens: Tokens,
    costs_told: u64,
    charged: Charged,
}

impl Ledger {
    /// An empty ledger. Without prices it counts tokens only.
    #[must_use]
    pub fn new(prices: Option<Arc<Prices>>) -> Self {
        Self { prices, ..Self::default() }
    }

    /// The same with costs in another currency, of which `rate` makes one of the price table's: a decimal number above 0,
    /// to 1,000,000, with at most 12 decimals.
    ///
    /// # Errors
    /// [`PriceError`] for a rate that is none or out of bounds, for a currency that is not 1 to 16 letters and digits, and
    /// for a ledger without prices.
    pub fn with_currency(mut self, currency: &str, rate: &str) -> Result<Self, PriceError> {
        if self.prices.is_none() {
            let message = "a ledger without prices has no currency".to_owned();
            return Err(PriceError { line: None, message });
        }
        self.currency = Some((price::currency(currency)?.to_owned(), price::rate(rate)?));
        Ok(self)
    }

    /// Adds an answer, and says what it cost: `None` without a price table, or without usage. Tokens of which nothing is
    /// known are no usage.
    ///
    /// # Errors
    /// [`LedgerError`]; then nothing was added.
    pub fn add(
        &mut self,
        tokens: Option<Tokens>,
        model: Option<&str>,
        key: Option<&str>,
    ) -> Result<Option<Cost>, LedgerError> {
        if let Some(prices) = self.prices.as_ref().filter(|prices| prices.find(model).is_none()) {
            return Err(LedgerError::UnknownModel(prices.unknown(model)));
        }
        self.keep(tokens, model, key)
    }

    /// The same for an answer that must not be lost: one of a model without a price is counted, as `unpriced`.
    ///
    /// # Errors
    /// [`LedgerError::Full`] and [`LedgerError::TooLong`]; then nothing was added.
    pub fn keep(
        &mut self,
        tokens: Option<Tokens>,
        model: Option<&str>,
        key: Option<&str>,
    ) -> Result<Option<Cost>, LedgerError> {
        let long = [model, key].into_iter().flatten().map(str::len).find(|n| *n > MODEL_BYTES_MAX);
        if let Some(bytes) = long {
            return Err(LedgerError::TooLong(bytes));
        }
        let row = Row::of(tokens);
        let place = (self.name(model), key.map(ToOwned::to_owned));
        let cost = self.cost(place.0.as_deref(), &row).filter(|_| row.unreported == 0);
        if !self.rows.contains_key(&place) && self.rows.len() >= ROWS_MAX {
            return Err(LedgerError::Full(ROWS_MAX));
        }
        self.rows.entry(place).or_default().add(&row);
        Ok(cost)
    }

    /// Adds all that another ledger holds. It is priced by this one's table and in its currency, as if each answer had
    /// been [kept](Self::keep) here.
    ///
    /// # Errors
    /// [`LedgerError::Full`]; then nothing was added.
    pub fn merge(&mut self, other: &Self) -> Result<(), LedgerError> {
        let rows = other.rows.iter();
        let rows: Vec<_> = rows
            .map(|((model, key), row)| ((self.name(model.as_deref()), key.clone()), row))
            .collect();
        let new: BTreeSet<_> = rows.iter().map(|(place, _)| place).collect();
        let new = new.into_iter().filter(|place| !self.rows.contains_key(*place)).count();
        if self.rows.len() + new > ROWS_MAX {
            return Err(LedgerError::Full(ROWS_MAX));
        }
        for (place, row) in rows {
            self.rows.entry(place).or_default().add(row);
        }
        Ok(())
    }

    /// All answers together.
    #[must_use]
    pub fn total(&self) -> LedgerEntry {
        let total = self.sums(|_, _| ((), ())).into_values().next();
        total.unwrap_or_else(|| self.start())
    }

    /// The answers of each model, in the order of their names.
    #[must_use]
    pub fn by_model(&self) -> Vec<LedgerEntry> {
        let sums = self.sums(|model, _| (model, ()));
        let named =
            sums.into_iter().map(|((model, ()), entry)| (model.map(ToOwned::to_owned), entry));
        named.map(|(model, entry)| LedgerEntry { model, ..entry }).collect()
    }

    /// The answers of each key, in their order.
    #[must_use]
    pub fn by_key(&self) -> Vec<LedgerEntry> {
        let sums = self.sums(|_, key| (key, ()));
        let named = sums.into_iter().map(|((key, ()), entry)| (key.map(ToOwned::to_owned), entry));
        named.map(|(key, entry)| LedgerEntry { key, ..entry }).collect()
    }

    /// The answers of each pair of model and key, in the order of the models.
    #[must_use]
    pub fn rows(&self) -> Vec<LedgerEntry> {
        let sums = self.sums(|model, key| (model, key));
        let named = sums.into_iter().map(|((model, key), entry)| LedgerEntry {
            model: model.map(ToOwned::to_owned),
            key: key.map(ToOwned::to_owned),
            ..entry
        });
        named.collect()
    }

    /// What costs are in; `None` without a price table.
    #[must_use]
    pub fn currency(&self) -> Option<&str> {
        let own = self.currency.as_ref().map(|(currency, _)| currency.as_str());
        own.or(self.prices.as_ref().map(|prices| prices.currency()))
    }

    /// All of it as JSON: an object with `currency`, `total` (an entry), `models`, `keys` and `rows` (lists of entries).
    /// An entry has the members of [`LedgerEntry`], its costs as strings.
    #[must_use]
    pub fn json(&self) -> String {
        let mut out = String::from("{\"currency\":");
        write_text(&mut out, self.currency());
        out.push_str(",\"total\":");
        self.total().write(&mut out);
        for (name, entries) in
            [("models", self.by_model()), ("keys", self.by_key()), ("rows", self.rows())]
        {
            let _infallible = write!(out, ",\"{name}\":[");
            for (at, entry) in entries.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                entry.write(&mut out);
            }
            out.push(']');
        }
        out.push('}');
        out
    }

    /// What the price table calls it, or what it was called.
    fn name(&self, model: Option<&str>) -> Option<String> {
        let known = self.prices.as_ref().and_then(|prices| prices.find(model));
        known.map(|(name, _)| name).or(model).map(ToOwned::to_owned)
    }

    fn cost(&self, model: Option<&str>, row: &Row) -> Option<Cost> {
        let prices = self.prices.as_ref()?;
        let (_, price) = prices.find(model)?;
        let cost = row.charged.cost(price, prices.currency());
        Some(match &self.currency {
            Some((currency, rate)) => cost.times(currency, *rate),
            None => cost,
        })
    }

    /// An entry to which nothing was added.
    fn start(&self) -> LedgerEntry {
        let cost = self
            .currency()
            .map(|currency| Cost { currency: currency.to_owned(), ..Cost::default() });
        LedgerEntry { cost, ..LedgerEntry::default() }
    }

    /// The rows added up by what `group` makes of model and key.
    fn sums<'a, G: Ord>(
        &'a self,
        group: impl Fn(Option<&'a str>, Option<&'a str>) -> G,
    ) -> BTreeMap<G, LedgerEntry> {
        let mut sums: BTreeMap<G, LedgerEntry> = BTreeMap::new();
        for ((model, key), row) in &self.rows {
            let cost = self.cost(model.as_deref(), row);
            let unpriced = self.prices.is_some() && cost.is_none();
            let entry = sums.entry(group(model.as_deref(), key.as_deref()));
            entry.or_insert_with(|| self.start()).add(row, cost.as_ref(), unpriced);
        }
        sums
    }
}

impl LedgerEntry {
    /// As JSON: an object with these members, the numbers of the cost as strings.
    #[must_use]
    pub fn json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn add(&mut self, row: &Row, cost: Option<&Cost>, unpriced: bool) {
        self.streams = self.streams.saturating_add(row.streams);
        self.unreported = self.unreported.saturating_add(row.unreported);
        if unpriced {
            let reported = row.streams.saturating_sub(row.unreported);
            self.unpriced = self.unpriced.saturating_add(reported);
        }
        self.tokens = sum(&self.tokens, &row.tokens);
        self.costs_told = self.costs_told.saturating_add(row.costs_told);
        if let (Some(sum), Some(cost)) = (&mut self.cost, cost) {
            *sum = sum.plus(cost);
        }
    }

    fn write(&self, out: &mut String) {
        out.push_str("{\"model\":");
        write_text(out, self.model.as_deref());
        out.push_str(",\"key\":");
        write_text(out, self.key.as_deref());
        let Self { streams, unreported, unpriced, tokens, costs_told, .. } = self;
        let _infallible = write!(
            out,
            ",\"streams\":{streams},\"unreported\":{unreported},\"unpriced\":{unpriced},\"tokens\":{{"
        );
        let counts = [
            ("input", tokens.input),
            ("cached_input", tokens.cached_input),
            ("cache_write", tokens.cache_write),
            ("output", tokens.output),
            ("reasoning", tokens.reasoning),
            ("visible", tokens.visible),
            ("cost_picodollars", tokens.cost_picodollars),
        ];
        for (at, (name, count)) in counts.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _infallible = match count {
                Some(count) => write!(out, "{comma}\"{name}\":{count}"),
                None => write!(out, "{comma}\"{name}\":null"),
            };
        }
        let _infallible = write!(out, "}},\"costs_told\":{costs_told},\"cost\":");
        out.push_str(&self.cost.as_ref().map_or_else(|| "null".to_owned(), Cost::json));
        out.push('}');
    }
}

impl Row {
    fn of(tokens: Option<Tokens>) -> Self {
        let Some(tokens) = tokens.filter(|tokens| *tokens != Tokens::default()) else {
            return Self { streams: 1, unreported: 1, ..Self::default() };
        };
        let costs_told = u64::from(tokens.cost_picodollars.is_some());
        let charged = Charged::of(&tokens);
        Self { streams: 1, tokens, costs_told, charged, ..Self::default() }
    }

    fn add(&mut self, other: &Self) {
        self.streams = self.streams.saturating_add(other.streams);
        self.unreported = self.unreported.saturating_add(other.unreported);
        self.tokens = sum(&self.tokens, &other.tokens);
        self.costs_told = self.costs_told.saturating_add(other.costs_told);
        self.charged = self.charged.plus(other.charged);
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownModel(unknown) => unknown.fmt(f),
            Self::Full(rows) => write!(f, "a ledger has at most {rows} pairs of model and key"),
            Self::TooLong(bytes) => {
                write!(
                    f,
                    "a model's name or a key has at most {MODEL_BYTES_MAX} bytes, not {bytes}"
                )
            }
        }
    }
}

impl core::error::Error for LedgerError {}

fn sum(a: &Tokens, b: &Tokens) -> Tokens {
    let sum = |of: fn(&Tokens) -> Option<u64>| match (of(a), of(b)) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
    Tokens {
        input: sum(|t| t.input),
        cached_input: sum(|t| t.cached_input),
        cache_write: sum(|t| t.cache_write),
        output: sum(|t| t.output),
        reasoning: sum(|t| t.reasoning),
        visible: sum(|t| t.visible),
        cost_picodollars: sum(|t| t.cost_picodollars),
    }
}

fn write_text(out: &mut String, text: Option<&str>) {
    match text.map(serde_json::to_string) {
        Some(Ok(text)) => out.push_str(&text),
        _ => out.push_str("null"),
    }
}

/// A few megabytes. Whoever has more keys than that has one for each request: sum them up and begin anew.
const ROWS_MAX: usize = 10_000;
