//! What models cost: a table that the user supplies, as JSON or TOML. No price is built in but for examples.

mod read;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use rust_decimal::Decimal;

/// Prices by model.
///
/// The text of a table, in TOML; JSON has the same members:
///
/// ```toml
/// currency = "USD"            # the default
/// as_of = "2026-11-30"        # for all models that have none of their own; so has `source`
///
/// [models."gpt-4.1"]          # the name in quotes, for its dot
/// prompt = 3                  # per million tokens of input
/// cached = 0.75               # of input that was read from a cache; else as `prompt`
/// cache_write = 3             # of input that was written to a cache; else as `prompt`
/// reasoning = 8               # of reasoning; else as `output`
/// output = 8                  # of output
/// aliases = ["openai/gpt-4.1", "gpt-4.1-2025-04-14"]
/// source = "our contract"
/// ```
///
/// Numbers are taken as they are written, digit by digit, never as floating point; they may stand in quotes. A price is
/// from 0 to 1,000,000 with at most 9 decimals. A table has at most 1 MiB of text and 10,000 models and aliases, each of at
/// most 256 bytes.
///
/// ```
/// use decluster::guard::Prices;
/// let prices = Prices::parse("[models.mine]\nprompt = 0.25\noutput = 1.50\n")?;
/// assert_eq!(prices.get("mine").map(|price| price.reasoning.to_string()), Ok("1.50".into()));
/// let unknown = prices.get("yours").unwrap_err();
/// assert_eq!(unknown.to_string(), r#"no price for the model "yours"; the table has: "mine""#);
/// # Ok::<(), decluster::guard::PriceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    currency: String,
    models: BTreeMap<String, Price>,
    /// The model that a name stands for.
    aliases: BTreeMap<String, String>,
}

/// What a model costs, in units of the table's currency per million tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Price {
    /// Of input that was neither read from a cache nor written to one.
    pub prompt: Decimal,
    /// Of input that was read from a cache.
    pub cached: Decimal,
    /// Of input that was written to a cache.
    pub cache_write: Decimal,
    /// Of reasoning.
    pub reasoning: Decimal,
    /// Of output that is no reasoning, or of which it is not known.
    pub output: Decimal,
    /// Other names of the model.
    pub aliases: Vec<String>,
    /// From when the prices are, as the table says it.
    pub as_of: Option<String>,
    /// Where they are from, as the table says it.
    pub source: Option<String>,
}

/// What is wrong with a price table, or with a currency and its rate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PriceError {
    /// The line of the text, from 1, where it is one line.
    pub line: Option<usize>,
    /// The model and member, and what is wrong there.
    pub message: String,
}

/// The table has no price for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownModel {
    /// The name that was asked for; `None` if nobody named a model.
    pub model: Option<String>,
    /// The models that there are.
    pub known: Vec<String>,
    /// The name among them, or among their aliases, that is most like it.
    pub nearest: Option<String>,
}

impl Prices {
    /// Reads a table. A text whose first character is `{` is JSON, any other TOML.
    ///
    /// # Errors
    /// [`PriceError`], with the line.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        read::table(text)
    }

    /// The five models of the published incident report, with its figures: examples to try things with, dated, and no
    /// provider's price list.
    #[must_use]
    pub fn examples() -> Self {
        // A test holds that the file can be read.
        Self::parse(EXAMPLES).unwrap_or_default()
    }

    /// The price of a model, by its exact name or by an alias.
    ///
    /// # Errors
    /// [`UnknownModel`].
    pub fn get(&self, model: &str) -> Result<&Price, UnknownModel> {
        self.find(Some(model)).map(|(_, price)| price).ok_or_else(|| self.unknown(Some(model)))
    }

    /// The models by name, without aliases.
    pub fn models(&self) -> impl ExactSizeIterator<Item = (&str, &Price)> {
        self.models.iter().map(|(name, price)| (name.as_str(), price))
    }

    /// What the prices are in.
    #[must_use]
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// The name in the table, and the price.
    pub(super) fn find(&self, model: Option<&str>) -> Option<(&str, &Price)> {
        let model = model?;
        let name = self.aliases.get(model).map_or(model, String::as_str);
        self.models.get_key_value(name).map(|(name, price)| (name.as_str(), price))
    }

    /// Why a model has no price. It goes through the whole table.
    pub(super) fn unknown(&self, model: Option<&str>) -> UnknownModel {
        let names = || self.models.keys().chain(self.aliases.keys());
        let likeness = |model: &str, name: &str| {
            // Some put the provider in front.
            let own = model.rsplit('/').next().unwrap_or(model);
            let [whole, own] = [model, own].map(|model| shared_start(model, name));
            whole.max(own)
        };
        let nearest = model.and_then(|model| {
            let alike = names().map(|name| (likeness(model, name), name));
            // Of two that are alike the shorter.
            let best = alike.max_by(|a, b| a.0.cmp(&b.0).then(b.1.len().cmp(&a.1.len())));
            best.filter(|(shared, _)| *shared >= ALIKE_FROM).map(|(_, name)| name.clone())
        });
        UnknownModel {
            model: model.map(ToOwned::to_owned),
            known: self.models.keys().cloned().collect(),
            nearest,
        }
    }
}

/// Without models, in dollars.
impl Default for Prices {
    fn default() -> Self {
        let (models, aliases) = (BTreeMap::new(), BTreeMap::new());
        Self { currency: CURRENCY.to_owned(), models, aliases }
    }
}

impl fmt::Display for PriceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl core::error::Error for PriceError {}

impl fmt::Display for UnknownModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model {
            Some(model) => write!(f, "no price for the model {:?}", Short(model))?,
            None => f.write_str("no model was named, and the stream tells none")?,
        }
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean {:?}?", Short(nearest))?;
        }
        match self.known.len() {
            0 => return f.write_str("; the table has no models"),
            _ => f.write_str("; the table has: ")?,
        }
        for (at, name) in self.known.iter().take(KNOWN_SHOWN).enumerate() {
            write!(f, "{}{:?}", if at == 0 { "" } else { ", " }, Short(name))?;
        }
        match self.known.len().saturating_sub(KNOWN_SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl core::error::Error for UnknownModel {}

/// A name of the user's or the provider's in a message.
pub(super) struct Short<'a>(pub(super) &'a str);

impl fmt::Debug for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(SHOWN_MAX) {
            Some((end, _)) => write!(f, "{:?}…", self.0.get(..end).unwrap_or_default()),
            None => write!(f, "{:?}", self.0),
        }
    }
}

/// A rate of exchange; a price is the same with other bounds.
pub(super) fn rate(text: &str) -> Result<Decimal, PriceError> {
    let refused = |what: &str| PriceError { line: None, message: ["the rate ", what].concat() };
    let rate = read::decimal(text, RATE_DECIMALS_MAX).map_err(|why| refused(&why))?;
    if rate.is_zero() { Err(refused("is 0: nothing can be worth that")) } else { Ok(rate) }
}

pub(super) fn currency(name: &str) -> Result<&str, PriceError> {
    read::currency(name).map_err(|message| PriceError { line: None, message })
}

/// Bytes at the start that are the same, but for upper and lower case.
fn shared_start(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
}

const CURRENCY: &str = "USD";
const EXAMPLES: &str = include_str!("price/examples.toml");
/// Names that share less than this are not alike.
const ALIKE_FROM: usize = 3;
/// Models that a message names.
const KNOWN_SHOWN: usize = 6;
/// Characters of a name in a message.
const SHOWN_MAX: usize = 80;
/// A unit of some currencies is a millionth of one of others.
const RATE_DECIMALS_MAX: u32 = 12;

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn the_examples_are_the_five_models_of_the_report() {
        let prices = Prices::parse(EXAMPLES).unwrap();
        let rows = [
            ("claude-sonnet-4.5", ["3", "15", "15"]),
            ("deepseek-v3.2", ["0.14", "0.42", "0.42"]),
            ("gemini-2.5-flash", ["0.50", "2.50", "2.50"]),
            ("gpt-4.1", ["3", "8", "8"]),
            ("gpt-5.5-codex", ["12", "24", "24"]),
        ];
        assert_eq!((prices.currency(), prices.models().len()), ("USD", rows.len()));
        for ((name, price), (expected, figures)) in prices.models().zip(rows) {
            let found = [price.prompt, price.reasoning, price.output].map(|n| n.to_string());
            assert_eq!((name, found), (expected, figures.map(ToString::to_string)));
            assert_eq!(price.cached, price.prompt);
            assert_eq!(price.as_of.as_deref(), Some("2026-11-30"));
            assert_eq!(price.source.as_deref(), Some("published incident report"));
        }
        assert_eq!(Prices::examples(), prices);
    }

    #[test]
    fn the_nearest_name_is_told() {
        let prices = Prices::parse(
            r#"{"models": {"gpt-4.1": {"prompt": 1, "output": 1, "aliases": ["house-model"]},
                "gpt-4.1-mini": {"prompt": 1, "output": 1}}}"#,
        )
        .unwrap();
        let nearest = |model: &str| prices.get(model).unwrap_err().nearest;
        assert_eq!(nearest("gpt-4.1-2025-04-14").as_deref(), Some("gpt-4.1-mini"));
        assert_eq!(nearest("gpt-4").as_deref(), Some("gpt-4.1"));
        assert_eq!(nearest("openai/GPT-4.1").as_deref(), Some("gpt-4.1"));
        assert_eq!(nearest("house").as_deref(), Some("house-model"));
        assert_eq!(nearest("llama"), None);
        assert_eq!(
            prices.get("gpt-4").unwrap_err().to_string(),
            r#"no price for the model "gpt-4"; did you mean "gpt-4.1"?; the table has: "gpt-4.1", "gpt-4.1-mini""#
        );
    }

    #[test]
    fn a_message_stays_short_however_many_and_long_the_names_are() {
        let long = "x".repeat(5_000);
        let known = (0..9).map(|n| n.to_string()).collect();
        let unknown = UnknownModel { model: Some(long), known, nearest: None };
        let message = unknown.to_string();
        assert!(
            message.ends_with(r#"x"…; the table has: "0", "1", "2", "3", "4", "5" and 3 more"#)
        );
        assert!(message.len() < 300, "{message}");
        let nameless = UnknownModel { model: None, known: Vec::new(), nearest: None };
        assert_eq!(
            nameless.to_string(),
            "no model was named, and the stream tells none; the table has no models"
        );
    }
}
