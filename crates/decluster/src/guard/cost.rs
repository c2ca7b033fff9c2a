//! From counts of tokens to money, in decimals.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt::Write as _;

use rust_decimal::Decimal;

use super::price::{self, Price, PriceError, Prices, UnknownModel};
use crate::wire::Tokens;

/// What an answer cost, or several did, part by part. No token is in two parts.
///
/// All numbers are exact: nothing is rounded as long as a number has no more than 28 digits, before and after the point
/// together. Where it would have more it is rounded to these, as with counts of 15 digits at prices of 15 digits.
///
/// ```
/// use decluster::guard::Prices;
/// use decluster::wire::Tokens;
/// let usage = r#"{"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 400}, "output_tokens": 300,
///     "output_tokens_details": {"reasoning_tokens": 250}, "total_tokens": 1300}"#;
/// let tokens = Tokens::of(usage, true).unwrap_or_default();
/// let cost = Prices::examples().cost("gpt-5.5-codex", &tokens)?;
/// // 1000 x 12 of input, 250 x 24 of reasoning, 50 x 24 of visible output: by the million 0.0192 dollars.
/// assert_eq!((cost.total.to_string(), cost.currency.as_str()), ("0.0192".into(), "USD"));
/// assert_eq!(cost.converted("CNY", "7.1")?.rounded(2).total.to_string(), "0.14");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// Of the input that was neither read from a cache nor written to one.
    pub prompt: Decimal,
    /// Of the input that was read from a cache.
    pub cached: Decimal,
    /// Of the input that was written to a cache.
    pub cache_write: Decimal,
    /// Of the reasoning. 0 where the provider does not count it: then it is in `output`.
    pub reasoning: Decimal,
    /// Of the output without reasoning.
    pub output: Decimal,
    /// Of all of these.
    pub total: Decimal,
    /// What they are in.
    pub currency: String,
}

impl Prices {
    /// What an answer of this model cost. What the provider does not count costs nothing here: see [`Tokens`].
    ///
    /// Output is charged once: reasoning at its own price, up to the output, and the rest at the output's price. Where
    /// reasoning is not counted, all output is charged at the output's price. So is input: what was read from a cache or
    /// written to one at its own price, up to the input, and the rest at the prompt's.
    ///
    /// # Errors
    /// [`UnknownModel`].
    pub fn cost(&self, model: &str, tokens: &Tokens) -> Result<Cost, UnknownModel> {
        let price = self.get(model)?;
        Ok(Charged::of(tokens).cost(price, self.currency()))
    }
}

impl Cost {
    /// The same in another currency, of which `rate` makes one of this: a decimal number above 0, to 1,000,000, with at
    /// most 12 decimals. Exact as the cost is.
    ///
    /// # Errors
    /// [`PriceError`] for a rate that is none or out of bounds, and for a currency that is not 1 to 16 letters and digits.
    pub fn converted(&self, currency: &str, rate: &str) -> Result<Self, PriceError> {
        Ok(self.times(price::currency(currency)?, price::rate(rate)?))
    }

    /// For display: each number rounded to so many decimals (at most 28), to the even digit where it lies half-way. The
    /// total is rounded from the exact one, so the parts may add up to a little more or less.
    #[must_use]
    pub fn rounded(&self, decimals: u32) -> Self {
        self.each(|number| number.round_dp(decimals))
    }

    /// As JSON: an object with these members, the numbers as strings.
    #[must_use]
    pub fn json(&self) -> String {
        let mut out = String::from("{");
        let names = ["prompt", "cached", "cache_write", "reasoning", "output", "total"];
        for (name, number) in names.into_iter().zip(self.parts().into_iter().chain([self.total])) {
            let _infallible = write!(out, "\"{name}\":\"{number}\",");
        }
        // Letters and digits only.
        let _infallible = write!(out, "\"currency\":\"{}\"}}", self.currency);
        out
    }

    pub(super) fn times(&self, currency: &str, rate: Decimal) -> Self {
        let cost = self.each(|number| number.saturating_mul(rate).normalize());
        Self { currency: currency.to_owned(), ..cost }
    }

    /// The sum; both are in the same currency.
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            prompt: self.prompt.saturating_add(other.prompt),
            cached: self.cached.saturating_add(other.cached),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            output: self.output.saturating_add(other.output),
            total: self.total.saturating_add(other.total),
            currency: self.currency.clone(),
        }
    }

    fn each(&self, change: impl Fn(Decimal) -> Decimal) -> Self {
        Self {
            prompt: change(self.prompt),
            cached: change(self.cached),
            cache_write: change(self.cache_write),
            reasoning: change(self.reasoning),
            output: change(self.output),
            total: change(self.total),
            currency: self.currency.clone(),
        }
    }

    const fn parts(&self) -> [Decimal; 5] {
        [self.prompt, self.cached, self.cache_write, self.reasoning, self.output]
    }
}

/// Tokens by what is charged for them, none in two of these. The sums of many answers cost what the answers cost
/// together, which the sums of [`Tokens`] would not: their parts may exceed each other in one answer and not in the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Charged {
    prompt: u64,
    cached: u64,
    cache_write: u64,
    reasoning: u64,
    output: u64,
}

impl Charged {
    pub(super) fn of(tokens: &Tokens) -> Self {
        // No more of either than there is in all: of 11 of reasoning in an output of 10 the provider charges 10, and
        // one says that 64 of an input of 10 were cached. Where it is not said what there is in all, it is these.
        let least = |part: Option<u64>, all: Option<u64>| {
            let part = part.unwrap_or(0);
            all.map_or(part, |all| part.min(all))
        };
        let cached = least(tokens.cached_input, tokens.input);
        let uncached = tokens.input.map(|input| input.saturating_sub(cached));
        let cache_write = least(tokens.cache_write, uncached);
        let reasoning = least(tokens.reasoning, tokens.output);
        Self {
            prompt: uncached.unwrap_or(0).saturating_sub(cache_write),
            cached,
            cache_write,
            reasoning,
            output: tokens.output.unwrap_or(0).saturating_sub(reasoning),
        }
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            prompt: self.prompt.saturating_add(other.prompt),
            cached: self.cached.saturating_add(other.cached),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            output: self.output.saturating_add(other.output),
        }
    }

    pub(super) fn cost(self, price: &Price, currency: &str) -> Cost {
        // The price of one token first: so the product alone may need more digits than there are.
        let of = |tokens: u64, per_million: Decimal| {
            let one = per_million.saturating_mul(Decimal::new(1, 6));
            Decimal::from(tokens).saturating_mul(one).normalize()
        };
        let cost = Cost {
            prompt: of(self.prompt, price.prompt),
            cached: of(self.cached, price.cached),
            cache_write: of(self.cache_write, price.cache_write),
            reasoning: of(self.reasoning, price.reasoning),
            output: of(self.output, price.output),
            total: Decimal::ZERO,
            currency: currency.to_owned(),
        };
        let total = cost.parts().into_iter().fold(Decimal::ZERO, Decimal::saturating_add);
        Cost { total: total.normalize(), ..cost }
    }
}
