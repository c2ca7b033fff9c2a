//! Keyword arguments to a `Config`, by the core's table of parameters.

use crate::error;
use decluster::{Config, ConfigError, PARAMETERS, PRESETS, PROFILES, ParameterUnit};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString, PyTuple};

/// One row of the table of parameters, in the units that Python takes.
#[pyclass(frozen, get_all, module = "decluster")]
pub(crate) struct Parameter {
    /// The keyword argument.
    name: &'static str,
    /// What its numbers count; of names and switches, what kind they are.
    unit: &'static str,
    /// The least value that is taken; of names, see `choices`.
    min: Py<PyAny>,
    /// The largest value that is taken; of names, see `choices`.
    max: Py<PyAny>,
    /// What holds unless it is given.
    default: Py<PyAny>,
    /// The names that are taken; empty for numbers.
    choices: Vec<&'static str>,
    /// What it means.
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

/// Named settings: a row of `PRESETS` or `PROFILES`.
#[pyclass(frozen, module = "decluster")]
pub(crate) struct Preset {
    /// What `preset` or `profile` takes.
    #[pyo3(get)]
    name: &'static str,
    values: Py<PyDict>,
    /// What it is for.
    #[pyo3(get)]
    doc: &'static str,
}

#[pymethods]
impl Preset {
    /// The values that differ from the defaults, in the units that Python takes; the caller's own copy.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.values.bind(py).copy()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let values = self.values.bind(py).repr()?;
        Ok(format!("Preset({:?}, {values}: {})", self.name, self.doc))
    }
}

/// A table of presets or profiles.
pub(crate) fn presets<'py>(
    py: Python<'py>,
    table: &[decluster::Preset],
) -> PyResult<Bound<'py, PyTuple>> {
    let row = |preset: &decluster::Preset| {
        let values = PyDict::new(py);
        for (name, number) in preset.values {
            if let Some(parameter) = find(name) {
                values.set_item(name, value(py, parameter.unit, *number)?)?;
            }
        }
        Py::new(py, Preset { name: preset.name, values: values.unbind(), doc: preset.doc })
    };
    PyTuple::new(py, table.iter().map(row).collect::<PyResult<Vec<_>>>()?)
}

/// A config from keyword arguments: `preset` or `profile` to begin with, single parameters over it. `None`
/// says nothing.
pub(crate) fn config(py: Python<'_>, arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Config> {
    let Some(arguments) = arguments else { return Ok(Config::default()) };
    let mut config = beginning(py, arguments)?;
    for (name, given) in arguments {
        let name: String = name.extract()?;
        if !given.is_none() && name != PRESET && name != PROFILE {
            config = with(py, config, &name, &given)?;
        }
    }
    Ok(config)
}

/// What `preset` or `profile` says, or the defaults.
fn beginning(py: Python<'_>, arguments: &Bound<'_, PyDict>) -> PyResult<Config> {
    let said = |what| -> PyResult<_> {
        Ok(arguments.get_item(what)?.filter(|given: &Bound<'_, PyAny>| !given.is_none()))
    };
    match (said(PRESET)?, said(PROFILE)?) {
        (None, None) => Ok(Config::default()),
        (Some(given), None) => named(py, PRESET, PRESETS, &given, Config::preset),
        (None, Some(given)) => named(py, PROFILE, PROFILES, &given, Config::profile),
        (Some(_), Some(_)) => {
            Err(error(py, "ConfigError", &"preset and profile exclude each other: give one"))
        }
    }
}

fn named(
    py: Python<'_>,
    what: &str,
    all: &[decluster::Preset],
    given: &Bound<'_, PyAny>,
    config: fn(&str) -> Result<Config, ConfigError>,
) -> PyResult<Config> {
    let Ok(name) = given.cast::<PyString>() else {
        let names: Vec<_> = all.iter().map(|preset| preset.name).collect();
        return Err(PyTypeError::new_err(format!("{what} takes one of: {}", names.join(" "))));
    };
    config(name.to_str()?).map_err(|e| error(py, "ConfigError", &e))
}

/// The same settings with one parameter as it was given.
fn with(
    py: Python<'_>,
    mut config: Config,
    name: &str,
    given: &Bound<'_, PyAny>,
) -> PyResult<Config> {
    let wrong = |e: ConfigError| error(py, "ConfigError", &e);
    let Some(parameter) = find(name) else { return Err(unknown(py, name)) };
    if !parameter.unit.names().is_empty() {
        let Ok(choice) = given.cast::<PyString>() else { return Err(takes(parameter)) };
        return config.with_choice(name, choice.to_str()?).map_err(wrong);
    }
    if parameter.unit == ParameterUnit::Switch {
        let Ok(on) = given.cast::<PyBool>() else { return Err(takes(parameter)) };
        return config.with(name, u64::from(on.is_true())).map_err(wrong);
    }
    // The core's own message speaks in the units of its table.
    if number(parameter, given)?.is_none_or(|number| config.set(name, number).is_err()) {
        let min = value(py, parameter.unit, parameter.min)?;
        let max = value(py, parameter.unit, parameter.max)?;
        let (given, unit) = (given.repr()?, unit_name(parameter.unit));
        let message = format!("{name} = {given} is out of bounds: {min} to {max} {unit}");
        return Err(error(py, "ConfigError", &message));
    }
    Ok(config)
}

/// An unknown name is refused with the one that may be meant.
fn unknown(py: Python<'_>, name: &str) -> PyErr {
    let refused =
        py.import("decluster._published").and_then(|m| m.call_method1("unknown", (name,)));
    refused.map_or_else(|error| error, PyErr::from_value)
}

fn find(name: &str) -> Option<&'static decluster::Parameter> {
    PARAMETERS.iter().find(|p| p.name == name)
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
        ParameterUnit::Thousandths => "a number".to_owned(),
        ParameterUnit::Switch => "True or False".to_owned(),
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
        None if unit == ParameterUnit::Switch => {
            PyBool::new(py, number == 1).to_owned().into_any().unbind()
        }
        None => number.into_pyobject(py)?.into_any().unbind(),
        Some(scale) => (number as f64 / scale).into_pyobject(py)?.into_any().unbind(),
    })
}

/// How many of the table's units make one of Python's; `None` for whole numbers.
fn scale(unit: ParameterUnit) -> Option<f64> {
    match unit {
        ParameterUnit::Nanoseconds => Some(1e9),
        ParameterUnit::MilliTokens | ParameterUnit::Thousandths => Some(1e3),
        _ => None,
    }
}

fn unit_name(unit: ParameterUnit) -> &'static str {
    match unit {
        ParameterUnit::Nanoseconds => "seconds",
        ParameterUnit::MilliTokens | ParameterUnit::Tokens => "tokens",
        ParameterUnit::Thousandths => "ratio",
        ParameterUnit::TokensPerSecond => "tokens/s",
        ParameterUnit::Bytes => "bytes",
        ParameterUnit::Switch => "bool",
        _ if unit.names().is_empty() => "count",
        _ => "choice",
    }
}

/// Arguments that name settings, beside the parameters themselves.
const PRESET: &str = "preset";
/// See [`PRESET`].
const PROFILE: &str = "profile";
/// Beyond this a float counts no single nanoseconds any more; no bound comes near it.
const MAX_EXACT: f64 = 9e15;
