//! Price tables and ledgers. Decimals go to Python as texts.

use crate::body::tokens_dict;
use crate::error;
use crate::form::lock;
use decluster::guard::{Cost, Ledger, LedgerEntry, LedgerError, PriceError, Prices, UnknownModel};
use decluster::wire::Tokens;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex};

/// What models cost.
#[pyclass(frozen, module = "decluster._core")]
pub(crate) struct PriceTable {
    inner: Arc<Prices>,
}

#[pymethods]
impl PriceTable {
    /// Without text the examples. `is_made` says that nobody wrote the text, so its lines say nothing.
    #[new]
    #[pyo3(signature = (text=None, *, is_made=false))]
    fn new(py: Python<'_>, text: Option<&str>, is_made: bool) -> PyResult<Self> {
        let found = text.map_or_else(|| Ok(Prices::examples()), Prices::parse);
        let found = found.map_err(|PriceError { line, message, .. }| match line {
            Some(line) if !is_made => format!("line {line}: {message}"),
            _ => message,
        });
        let inner = found.map_err(|message| error(py, "ConfigError", &message))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    fn currency(&self) -> &str {
        self.inner.currency()
    }

    fn models(&self) -> Vec<&str> {
        self.inner.models().map(|(name, _)| name).collect()
    }

    /// The fields of `decluster.Price`.
    fn price<'py>(&self, py: Python<'py>, model: &str) -> PyResult<Bound<'py, PyDict>> {
        let price = self.inner.get(model).map_err(|why| unknown(py, &why))?;
        let dict = PyDict::new(py);
        dict.set_item("prompt", price.prompt.to_string())?;
        dict.set_item("cached", price.cached.to_string())?;
        dict.set_item("cache_write", price.cache_write.to_string())?;
        dict.set_item("reasoning", price.reasoning.to_string())?;
        dict.set_item("output", price.output.to_string())?;
        dict.set_item("aliases", &price.aliases)?;
        dict.set_item("as_of", &price.as_of)?;
        dict.set_item("source", &price.source)?;
        Ok(dict)
    }
}

/// A ledger that many threads write to.
#[pyclass(frozen, module = "decluster._core")]
pub(crate) struct Book {
    inner: Mutex<Ledger>,
}

#[pymethods]
impl Book {
    #[new]
    fn new(
        py: Python<'_>,
        prices: Option<&Bound<'_, PriceTable>>,
        currency: Option<&str>,
        rate: Option<&str>,
    ) -> PyResult<Self> {
        let prices = prices.map(|prices| Arc::clone(&prices.get().inner));
        let mut ledger = Ledger::new(prices);
        if let (Some(currency), Some(rate)) = (currency, rate) {
            let other = ledger.with_currency(currency, rate);
            ledger = other.map_err(|why| error(py, "ConfigError", &why))?;
        }
        Ok(Self { inner: Mutex::new(ledger) })
    }

    /// Adds an answer and gives the fields of its `decluster.Cost`. `keep` takes one of a model without a price, too.
    fn add<'py>(
        &self,
        py: Python<'py>,
        tokens: Option<&Bound<'py, PyAny>>,
        model: Option<&str>,
        key: Option<&str>,
        keep: bool,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let tokens = tokens.map(tokens_of).transpose()?;
        let mut ledger = lock(&self.inner);
        let added =
            if keep { ledger.keep(tokens, model, key) } else { ledger.add(tokens, model, key) };
        drop(ledger);
        cost_dict(py, added.map_err(|why| refused(py, &why))?.as_ref())
    }

    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        // Never both locked at once: it may be the same one.
        let other = lock(&other.get().inner).clone();
        lock(&self.inner).merge(&other).map_err(|why| refused(py, &why))
    }

    /// The fields of `decluster.LedgerEntry`: of the `total`, of each `model` or `key`, or of each `row`.
    fn entries<'py>(&self, py: Python<'py>, of: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let ledger = lock(&self.inner);
        let entries = match of {
            "total" => vec![ledger.total()],
            "model" => ledger.by_model(),
            "key" => ledger.by_key(),
            "row" => ledger.rows(),
            _ => return Err(PyValueError::new_err(of.to_owned())),
        };
        drop(ledger);
        entries.iter().map(|entry| entry_dict(py, entry)).collect()
    }

    fn currency(&self) -> Option<String> {
        lock(&self.inner).currency().map(str::to_owned)
    }
}

fn tokens_of(given: &Bound<'_, PyAny>) -> PyResult<Tokens> {
    let count = |name: &str| given.getattr(name)?.extract::<Option<u64>>();
    let mut tokens = Tokens::default();
    tokens.input = count("input")?;
    tokens.cached_input = count("cached_input")?;
    tokens.cache_write = count("cache_write")?;
    tokens.output = count("output")?;
    tokens.reasoning = count("reasoning")?;
    tokens.visible = count("visible")?;
    tokens.cost_picodollars = count("cost_picodollars")?;
    Ok(tokens)
}

fn cost_dict<'py>(py: Python<'py>, cost: Option<&Cost>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(cost) = cost else { return Ok(None) };
    let dict = PyDict::new(py);
    dict.set_item("prompt", cost.prompt.to_string())?;
    dict.set_item("cached", cost.cached.to_string())?;
    dict.set_item("cache_write", cost.cache_write.to_string())?;
    dict.set_item("reasoning", cost.reasoning.to_string())?;
    dict.set_item("output", cost.output.to_string())?;
    dict.set_item("total", cost.total.to_string())?;
    dict.set_item("currency", &cost.currency)?;
    Ok(Some(dict))
}

fn entry_dict<'py>(py: Python<'py>, entry: &LedgerEntry) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("model", &entry.model)?;
    dict.set_item("key", &entry.key)?;
    dict.set_item("streams", entry.streams)?;
    dict.set_item("unreported", entry.unreported)?;
    dict.set_item("unpriced", entry.unpriced)?;
    dict.set_item("tokens", tokens_dict(py, Some(entry.tokens))?)?;
    dict.set_item("costs_told", entry.costs_told)?;
    dict.set_item("cost", cost_dict(py, entry.cost.as_ref())?)?;
    Ok(dict)
}

fn refused(py: Python<'_>, why: &LedgerError) -> PyErr {
    match why {
        LedgerError::UnknownModel(why) => unknown(py, why),
        LedgerError::Full(_) => error(py, "Full", why),
        _ => error(py, "ConfigError", why),
    }
}

fn unknown(py: Python<'_>, why: &UnknownModel) -> PyErr {
    let raised = error(py, "UnknownModel", why);
    let value = raised.value(py);
    let told = value
        .setattr("model", &why.model)
        .and_then(|()| value.setattr("known", &why.known))
        .and_then(|()| value.setattr("nearest", &why.nearest));
    told.err().unwrap_or(raised)
}
