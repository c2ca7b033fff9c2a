//! Price tables from text. Both languages become one tree first, with the places of its values; what is wrong is told
//! from that.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use rust_decimal::Decimal;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toml::de::{DeTable, DeValue};

use super::{Price, PriceError, Prices, Short};

/// A value and where it stands in the text.
struct Node {
    at: usize,
    value: Value,
}

enum Value {
    Table(Vec<(String, Node)>),
    List(Vec<Node>),
    Text(String),
    /// As it is written.
    Number(String),
    Date(String),
    /// Nothing that a table holds: what it is.
    Other(&'static str),
}

pub(super) fn table(text: &str) -> Result<Prices, PriceError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > TEXT_MAX {
        let message = format!("a price table has at most {TEXT_MAX} bytes, not {}", text.len());
        return Err(PriceError { line: None, message });
    }
    let is_json = text.trim_start().starts_with('{');
    let tree = if is_json { json(text) } else { toml(text) };
    tree.and_then(Draft::read).map_err(|(at, message)| {
        let before = at.and_then(|at| text.get(..at));
        PriceError { line: before.map(|before| before.matches('\n').count() + 1), message }
    })
}

/// What is wrong, and where.
type Wrong = (Option<usize>, String);

/// A table while it is read.
struct Draft {
    prices: Prices,
    /// Bytes of the text that are names: each may stand in it once only.
    names: usize,
}

impl Draft {
    fn read(tree: Node) -> Result<Prices, Wrong> {
        let Value::Table(members) = tree.value else {
            return Err((None, "a price table is an object with the member models".to_owned()));
        };
        let mut draft = Self { prices: Prices::default(), names: 0 };
        let (mut as_of, mut source, mut models) = (None, None, None);
        for (name, node) in members {
            let place = || format!("{:?}", Short(&name));
            match name.as_str() {
                "currency" => {
                    let at = node.at;
                    let given = text(node, TEXTS_MAX, &place)?;
                    let given = currency(&given).map_err(|why| (Some(at), why))?;
                    given.clone_into(&mut draft.prices.currency);
                }
                "as_of" => as_of = Some(text(node, TEXTS_MAX, &place)?),
                "source" => source = Some(text(node, TEXTS_MAX, &place)?),
                "models" => models = Some(node),
                _ => return Err(unknown(&node, &place(), "the table", &TABLE_MEMBERS)),
            }
        }
        let Some(models) = models else {
            return Err((
                None,
                format!("a price table needs models; it has: {}", list(&TABLE_MEMBERS)),
            ));
        };
        let at = models.at;
        let Value::Table(models) = models.value else {
            return Err((
                Some(at),
                "models is an object: a model's name and its prices".to_owned(),
            ));
        };
        for (name, node) in models {
            let at = node.at;
            let mut price = price(&name, node)?;
            price.as_of = price.as_of.or_else(|| as_of.clone());
            price.source = price.source.or_else(|| source.clone());
            draft.add(name, price).map_err(|why| (Some(at), why))?;
        }
        Ok(draft.prices)
    }

    fn add(&mut self, name: String, price: Price) -> Result<(), String> {
        let Prices { models, aliases, .. } = &mut self.prices;
        for new in core::iter::once(&name).chain(&price.aliases) {
            let shown = Short(new);
            if new.is_empty() || new.len() > NAME_MAX {
                return Err(format!(
                    "the name of a model has 1 to {NAME_MAX} bytes; {shown:?} has {}",
                    new.len()
                ));
            }
            if models.contains_key(new) || aliases.contains_key(new) {
                return Err(format!("{shown:?} names a model twice"));
            }
            self.names += 1;
            if self.names > NAMES_MAX {
                return Err(format!("a price table has at most {NAMES_MAX} models and aliases"));
            }
            if *new != name {
                aliases.insert(new.clone(), name.clone());
            } else if !price.aliases.is_empty() && price.aliases.contains(new) {
                return Err(format!("{shown:?} is an alias of itself"));
            }
        }
        models.insert(name, price);
        Ok(())
    }
}

fn price(model: &str, node: Node) -> Result<Price, Wrong> {
    let start = node.at;
    let Value::Table(members) = node.value else {
        let why = format!(
            "model {:?}: its prices are an object, not {}",
            Short(model),
            node.value.kind()
        );
        return Err((Some(start), why));
    };
    let mut figures = [None; FIGURES.len()];
    let mut price = Price::default();
    for (name, node) in members {
        let place = || format!("model {:?}, {name}", Short(model));
        if let Some(figure) =
            FIGURES.iter().position(|figure| *figure == name).and_then(|at| figures.get_mut(at))
        {
            *figure = Some(number(&node, &place)?);
            continue;
        }
        match name.as_str() {
            "aliases" => {
                let at = node.at;
                let Value::List(names) = node.value else {
                    let why =
                        format!("{}: it is a list of names, not {}", place(), node.value.kind());
                    return Err((Some(at), why));
                };
                for name in names {
                    price.aliases.push(text(name, NAME_MAX, &place)?);
                }
            }
            "as_of" => price.as_of = Some(text(node, TEXTS_MAX, &place)?),
            "source" => price.source = Some(text(node, TEXTS_MAX, &place)?),
            _ => {
                let of = format!("model {:?}", Short(model));
                let name = format!("{:?}", Short(&name));
                return Err(unknown(&node, &name, &of, &MODEL_MEMBERS));
            }
        }
    }
    let [prompt, cached, cache_write, reasoning, output] = figures;
    let needed = |figure: Option<Decimal>, name: &str| {
        figure.ok_or_else(|| (Some(start), format!("model {:?} has no {name}", Short(model))))
    };
    price.prompt = needed(prompt, "prompt")?;
    price.output = needed(output, "output")?;
    price.cached = cached.unwrap_or(price.prompt);
    price.cache_write = cache_write.unwrap_or(price.prompt);
    price.reasoning = reasoning.unwrap_or(price.output);
    Ok(price)
}

fn number(node: &Node, place: &dyn Fn() -> String) -> Result<Decimal, Wrong> {
    let why = match &node.value {
        Value::Number(text) | Value::Text(text) => match decimal(text, DECIMALS_MAX) {
            Ok(number) => return Ok(number),
            Err(why) => format!("{} {why}", place()),
        },
        other => format!("{} is a number, not {}", place(), other.kind()),
    };
    Err((Some(node.at), why))
}

/// A number as it is written, exactly; or what is wrong with it.
pub(super) fn decimal(text: &str, decimals: u32) -> Result<Decimal, String> {
    let shown = Short(text);
    let bare = text.strip_prefix('+').unwrap_or(text);
    if bare.starts_with('-') {
        return Err(format!("is below 0: {shown:?}"));
    }
    let (mantissa, exponent) = bare.split_once(['e', 'E']).unwrap_or((bare, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let is_number = !whole.is_empty() && is_digits(whole) && is_digits(fraction);
    let exponent: Option<i64> = exponent.parse().ok().filter(|n: &i64| n.abs() <= EXPONENT_MAX);
    let (true, Some(exponent)) = (is_number && !mantissa.ends_with('.'), exponent) else {
        return Err(format!("is no decimal number: {shown:?}"));
    };
    // 0.50 keeps its 0; further ones say nothing.
    let kept = fraction.len().min(usize::try_from(decimals).unwrap_or(0));
    let (kept, rest) = fraction.split_at(kept);
    let rest = rest.trim_end_matches('0');
    let digits = [whole, kept, rest].concat();
    let digits = digits.trim_start_matches('0');
    let scale = i64::try_from(kept.len() + rest.len()).unwrap_or(i64::MAX) - exponent;
    let too_fine = || format!("has more than {decimals} decimals: {shown:?}");
    let too_large = || format!("is above {FIGURE_MAX}: {shown:?}");
    if digits.len() > DIGITS_MAX {
        let large = i64::try_from(digits.len()).unwrap_or(i64::MAX) - scale > 7;
        return Err(if large { too_large() } else { too_fine() });
    }
    let mut number: i128 = digits.bytes().fold(0, |n, digit| n * 10 + i128::from(digit - b'0'));
    let mut scale = if number == 0 { scale.clamp(0, i64::from(decimals)) } else { scale };
    while scale > i64::from(decimals) && number % 10 == 0 {
        (number, scale) = (number / 10, scale - 1);
    }
    while scale < 0 {
        if number > i128::from(FIGURE_MAX) {
            return Err(too_large());
        }
        (number, scale) = (number * 10, scale + 1);
    }
    if scale > i64::from(decimals) {
        return Err(too_fine());
    }
    let scale = u32::try_from(scale).unwrap_or(0);
    let number = Decimal::try_from_i128_with_scale(number, scale).map_err(|_| too_large())?;
    if number > Decimal::from(FIGURE_MAX) { Err(too_large()) } else { Ok(number) }
}

pub(super) fn currency(name: &str) -> Result<&str, String> {
    let fits =
        (1..=CURRENCY_MAX).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric());
    if fits {
        return Ok(name);
    }
    let shown = Short(name);
    Err(format!("a currency is 1 to {CURRENCY_MAX} letters and digits, such as USD, not {shown:?}"))
}

fn text(node: Node, max: usize, place: &dyn Fn() -> String) -> Result<String, Wrong> {
    let why = match node.value {
        Value::Text(text) | Value::Date(text) if text.len() <= max => return Ok(text),
        Value::Text(_) => format!("{} has more than {max} bytes", place()),
        other => format!("{} is text, not {}", place(), other.kind()),
    };
    Err((Some(node.at), why))
}

fn unknown(node: &Node, name: &str, of: &str, known: &[&str]) -> Wrong {
    let hint = match node.value {
        Value::Table(_) => "; a name with dots stands in quotes, as in [models.\"gpt-4.1\"]",
        _ => "",
    };
    (Some(node.at), format!("{name} is no member of {of}; there are: {}{hint}", list(known)))
}

fn list(names: &[&str]) -> String {
    names.join(", ")
}

impl Value {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Table(_) => "an object",
            Self::List(_) => "a list",
            Self::Text(_) => "text",
            Self::Number(_) => "a number",
            Self::Date(_) => "a date",
            Self::Other(kind) => kind,
        }
    }
}

fn json(text: &str) -> Result<Node, Wrong> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
        let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let at = lines.map(str::len).sum();
        (Some(at), format!("this is not JSON: {error}"))
    })?;
    json_node(raw.get(), text, 0)
}

/// The tree of a value that is known to be JSON. A level is read anew for each level above it, so these are bounded.
fn json_node(raw: &str, text: &str, depth: u32) -> Result<Node, Wrong> {
    let at = raw.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    let wrong = |error: serde_json::Error| (Some(at), error.to_string());
    let value = match raw.as_bytes().first() {
        Some(b'{' | b'[') if depth >= DEPTH_MAX => Value::Other("an object within objects"),
        Some(b'{') => {
            let Members(members) = serde_json::from_str(raw).map_err(wrong)?;
            let mut table = Vec::with_capacity(members.len());
            let mut seen = BTreeSet::new();
            for (name, value) in members {
                let node = json_node(value.get(), text, depth + 1)?;
                if !seen.insert(name.clone()) {
                    return Err((Some(node.at), format!("{:?} stands there twice", Short(&name))));
                }
                table.push((name, node));
            }
            Value::Table(table)
        }
        Some(b'[') => {
            let list: Vec<&RawValue> = serde_json::from_str(raw).map_err(wrong)?;
            let nodes = list.into_iter().map(|value| json_node(value.get(), text, depth + 1));
            Value::List(nodes.collect::<Result<_, _>>()?)
        }
        Some(b'"') => Value::Text(serde_json::from_str(raw).map_err(wrong)?),
        Some(b'n') => Value::Other("null"),
        Some(b't' | b'f') => Value::Other("a truth value"),
        _ => Value::Number(raw.to_owned()),
    };
    Ok(Node { at, value })
}

/// The members of an object in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

fn toml(text: &str) -> Result<Node, Wrong> {
    let table = DeTable::parse(text).map_err(|error| {
        (error.span().map(|span| span.start), format!("this is not TOML: {}", error.message()))
    })?;
    Ok(toml_table(0, table.into_inner(), 0))
}

fn toml_table(at: usize, table: DeTable<'_>, depth: u32) -> Node {
    let members = table.into_iter().map(|(name, value)| {
        let at = name.span().start;
        (name.into_inner().into_owned(), toml_node(at, value.into_inner(), depth + 1))
    });
    Node { at, value: Value::Table(members.collect()) }
}

fn toml_node(at: usize, value: DeValue<'_>, depth: u32) -> Node {
    let value = match value {
        DeValue::Table(_) | DeValue::Array(_) if depth >= DEPTH_MAX => {
            Value::Other("an object within objects")
        }
        DeValue::Table(table) => return toml_table(at, table, depth),
        DeValue::Array(list) => {
            let nodes = list.into_iter();
            let nodes =
                nodes.map(|value| toml_node(value.span().start, value.into_inner(), depth + 1));
            Value::List(nodes.collect())
        }
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => {
            Value::Number(number.as_str().to_owned())
        }
        DeValue::Integer(_) => Value::Other("a number of another base than 10"),
        DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Boolean(_) => Value::Other("a truth value"),
    };
    Node { at, value }
}

const TABLE_MEMBERS: [&str; 4] = ["currency", "as_of", "source", "models"];
const FIGURES: [&str; 5] = ["prompt", "cached", "cache_write", "reasoning", "output"];
const MODEL_MEMBERS: [&str; 8] =
    ["prompt", "cached", "cache_write", "reasoning", "output", "aliases", "as_of", "source"];

/// Ten thousand models with a hundred bytes each.
const TEXT_MAX: usize = 1 << 20;
const NAMES_MAX: usize = 10_000;
/// As long as names are that `Answer::model` keeps.
const NAME_MAX: usize = crate::wire::MODEL_BYTES_MAX;
const TEXTS_MAX: usize = 1_024;
const CURRENCY_MAX: usize = 16;
/// The table, its models, one of these, its aliases.
const DEPTH_MAX: u32 = 4;
const FIGURE_MAX: u32 = 1_000_000;
const DECIMALS_MAX: u32 = 9;
/// Far from what an `i128` holds, and above what any number within the bounds has.
const DIGITS_MAX: usize = 28;
const EXPONENT_MAX: i64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_digit_by_digit() {
        for (text, expected) in [
            ("0", "0"),
            ("0.1", "0.1"),
            ("0.50", "0.50"),
            ("1000000", "1000000"),
            ("1000000.000000000", "1000000.000000000"),
            ("0.123456789", "0.123456789"),
            ("0.1234567890000", "0.123456789"),
            ("999999.999999999", "999999.999999999"),
            ("1e6", "1000000"),
            ("1.5E-7", "0.00000015"),
            ("+2", "2"),
            ("0e999", "0"),
            ("0.000000000000000000000000000000000000", "0.000000000"),
            ("00001", "1"),
        ] {
            assert_eq!(decimal(text, 9).map(|n| n.to_string()).as_deref(), Ok(expected), "{text}");
        }
        let much = "9".repeat(40);
        for (text, why) in [
            ("1000000.000000001", "is above 1000000"),
            ("1e7", "is above 1000000"),
            ("1e1000", "is above 1000000"),
            (much.as_str(), "is above 1000000"),
            ("0.1234567891", "has more than 9 decimals"),
            ("1e-10", "has more than 9 decimals"),
            ("1e-1000", "has more than 9 decimals"),
            ("0.11111111111111111111111111111111111111111", "has more than 9 decimals"),
            ("-1", "is below 0"),
            ("-0.5", "is below 0"),
            ("", "is no decimal number"),
            (".5", "is no decimal number"),
            ("5.", "is no decimal number"),
            ("1e", "is no decimal number"),
            ("1e1001", "is no decimal number"),
            ("1_000", "is no decimal number"),
            ("1,5", "is no decimal number"),
            ("0x10", "is no decimal number"),
            ("nan", "is no decimal number"),
            ("٣", "is no decimal number"),
        ] {
            let found = decimal(text, 9).unwrap_err();
            assert!(found.starts_with(why), "{text}: {found}");
        }
    }
}
