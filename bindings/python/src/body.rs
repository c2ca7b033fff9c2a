//! A finished response, and usage in one meaning for all providers.

use crate::error;
use decluster::wire::{Body, Dialect, Tokens};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What a finished response says. Usage and error are JSON.
#[pyfunction]
#[pyo3(signature = (body, /))]
pub(crate) fn read_body<'py>(py: Python<'py>, body: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let found = py.detach(|| Body::read(body)).map_err(|e| error(py, "BodyError", &e))?;
    let dict = PyDict::new(py);
    dict.set_item("tokens", tokens_dict(py, found.tokens)?)?;
    dict.set_item("model", found.model)?;
    dict.set_item("dialect", found.dialect.map(Dialect::name))?;
    dict.set_item("raw", found.usage)?;
    dict.set_item("reasoning_text", found.reasoning)?;
    dict.set_item("output_text", found.output)?;
    dict.set_item("encrypted", found.encrypted)?;
    dict.set_item("finish", found.finish)?;
    dict.set_item("error", found.error)?;
    Ok(dict)
}

/// The fields of `decluster.Tokens`.
pub(crate) fn tokens_dict(
    py: Python<'_>,
    tokens: Option<Tokens>,
) -> PyResult<Option<Bound<'_, PyDict>>> {
    let Some(tokens) = tokens else { return Ok(None) };
    let dict = PyDict::new(py);
    dict.set_item("input", tokens.input)?;
    dict.set_item("cached_input", tokens.cached_input)?;
    dict.set_item("cache_write", tokens.cache_write)?;
    dict.set_item("output", tokens.output)?;
    dict.set_item("reasoning", tokens.reasoning)?;
    dict.set_item("visible", tokens.visible)?;
    dict.set_item("cost_picodollars", tokens.cost_picodollars)?;
    Ok(Some(dict))
}
