//! Keyword arguments to a `Config`, by the core's table of parameters.

use crate::error;
use decluster::{Config, ConfigError, PARAMETERS, ParameterUnit};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString, PyTuple};

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
        let bounds = if self.choices.is_empty() {
            format!("{} to {} {}", self.min, self.max, self.unit)
        } else {
            self.choices.join(" | ")
        };
        Ok(format!("Parameter({:?}, {bounds}, default={default}: {})", self.name, self.doc))
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
        let wrong = |e: ConfigError| error(py, "ConfigError", &e);
        // An unknown name is refused by the core, with the list of those there are.
        let Some(parameter) = PARAMETERS.iter().find(|p| p.name == name) else {
            config.set(&name, 0).map_err(wrong)?;
            continue;
        };
        if parameter.unit.names().is_empty() {
            let number = number(parameter, &given)?;
            // The core's own message speaks in the units of its table.
            if number.is_none_or(|number| config.set(&name, number).is_err()) {
                let (min, max) = (
                    value(py, parameter.unit, parameter.min)?,
                    value(py, parameter.unit, parameter.max)?,
                );
                let (given, unit) = (given.repr()?, unit_name(parameter.unit));
                let message = format!("{name} = {given} is out of bounds: {min} to {max} {unit}");
                return Err(error(py, "ConfigError", &message));
            }
        } else {
            let Ok(choice) = given.cast::<PyString>() else { return Err(takes(parameter)) };
            config = config.with_choice(&name, choice.to_str()?).map_err(wrong)?;
        }
    }
    Ok(config)
}

/// A Python number in the unit of the table; `None` if that cannot hold it.
fn number(parameter: &decluster::Parameter, given: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    if given.is_instance_of::<PyBool>() || given.is_instance_of::<PyString>() {
        return Err(takes(parameter));
    }
    let Some(scale) = scale(parameter.unit) else {
        if !given.is_instance_of::<PyInt>() {
            return Err(takes(parameter));
        }
        return Ok(given.extract().ok());
    };
    let number: f64 = given.extract().map_err(|_| takes(parameter))?;
    let scaled = (number * scale).round();
    Ok((0.0..MAX_EXACT).contains(&scaled).then_some(scaled as u64))
}

fn takes(parameter: &decluster::Parameter) -> PyErr {
    let kind = match parameter.unit {
        ParameterUnit::Nanoseconds => "a number of seconds".to_owned(),
        ParameterUnit::MilliTokens => "a number of tokens".to_owned(),
        unit if unit.names().is_empty() => "a whole number".to_owned(),
        unit => format!("one of: {}", unit.names().join(" ")),
    };
    PyTypeError::new_err(format!("{} takes {kind}", parameter.name))
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

/// Beyond this a float counts no single nanoseconds any more; no bound comes near it.
const MAX_EXACT: f64 = 9e15;
