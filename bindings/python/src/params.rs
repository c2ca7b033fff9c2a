//! Keyword arguments to a `Config`, by the core's table of parameters.

use crate::error;
use decluster::{Config, PARAMETERS, ParameterUnit};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};

/// One row of the table of parameters, in the units that Python takes.
#[pyclass(frozen, get_all, module = "decluster")]
pub(crate) struct Parameter {
    name: &'static str,
    unit: &'static str,
    min: Py<PyAny>,
    max: Py<PyAny>,
    default: Py<PyAny>,
    choices: Vec<&'static str>,
    doc: &'static str,
}

#[pymethods]
impl Parameter {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let default = self.default.bind(py).repr()?;
        Ok(format!("Parameter({:?}, unit={:?}, default={default})", self.name, self.unit))
    }
}

/// All parameters.
pub(crate) fn all(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let rows: PyResult<Vec<Parameter>> = PARAMETERS
        .iter()
        .map(|p| {
            Ok(Parameter {
                name: p.name,
                unit: unit_name(p.unit),
                min: value(py, p.unit, p.min)?,
                max: value(py, p.unit, p.max)?,
                default: value(py, p.unit, p.default)?,
                choices: p.unit.names().to_vec(),
                doc: p.doc.trim(),
            })
        })
        .collect();
    PyTuple::new(py, rows?.into_iter().map(|row| Py::new(py, row)).collect::<PyResult<Vec<_>>>()?)
}

/// A config from keyword arguments. `None` keeps a default.
pub(crate) fn config(py: Python<'_>, arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Config> {
    let mut config = Config::default();
    let Some(arguments) = arguments else { return Ok(config) };
    for (name, given) in arguments {
        let name: String = name.extract()?;
        if given.is_none() {
            continue;
        }
        let unit = PARAMETERS.iter().find(|p| p.name == name).map(|p| p.unit);
        if let Ok(choice) = given.cast::<PyString>() {
            let chosen = config.clone().with_choice(&name, choice.to_str()?);
            config = chosen.map_err(|e| error(py, "ConfigError", &e))?;
            continue;
        }
        let number = unit.map_or(Ok(0), |unit| number(&name, unit, &given))?;
        config.set(&name, number).map_err(|e| error(py, "ConfigError", &e))?;
    }
    Ok(config)
}

/// A Python number in the unit of the table; what is negative or no number is out of any bounds.
fn number(name: &str, unit: ParameterUnit, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    let wrong = || PyTypeError::new_err(format!("{name} takes a {}", kind(unit)));
    if given.is_instance_of::<PyBool>() {
        return Err(wrong());
    }
    let Some(scale) = scale(unit) else {
        return match given.extract::<i128>() {
            Ok(number) => Ok(u64::try_from(number).unwrap_or(u64::MAX)),
            Err(_) => Err(wrong()),
        };
    };
    let number: f64 = given.extract().map_err(|_| wrong())?;
    let scaled = (number * scale).round();
    // A float cast saturates; a negative or absent number must not become a valid zero.
    Ok(if scaled >= 0.0 { scaled as u64 } else { u64::MAX })
}

fn value(py: Python<'_>, unit: ParameterUnit, number: u64) -> PyResult<Py<PyAny>> {
    if let Some(name) = unit.names().get(number as usize) {
        return Ok(name.into_pyobject(py)?.into_any().unbind());
    }
    Ok(match scale(unit) {
        None => number.into_pyobject(py)?.into_any().unbind(),
        Some(scale) => (number as f64 / scale).into_pyobject(py)?.into_any().unbind(),
    })
}

/// How many of the table's units make one of Python's; `None` for whole numbers.
fn scale(unit: ParameterUnit) -> Option<f64> {
    match unit {
        ParameterUnit::Nanoseconds => Some(1e9),
        ParameterUnit::MilliTokens => Some(1e3),
        _ => None,
    }
}

fn unit_name(unit: ParameterUnit) -> &'static str {
    match unit {
        ParameterUnit::Nanoseconds => "seconds",
        ParameterUnit::MilliTokens | ParameterUnit::Tokens => "tokens",
        ParameterUnit::Bytes => "bytes",
        _ if unit.names().is_empty() => "count",
        _ => "choice",
    }
}

fn kind(unit: ParameterUnit) -> &'static str {
    match unit {
        ParameterUnit::Nanoseconds => "number of seconds",
        ParameterUnit::MilliTokens => "number of tokens",
        _ if unit.names().is_empty() => "whole number",
        _ => "name",
    }
}
