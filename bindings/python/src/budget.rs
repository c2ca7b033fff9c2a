//! Budgets for reasoning.

use crate::error;
use decluster::ReasoningBudgetExceeded;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

/// Tokens of reasoning that several streams may use between them: `budget=` of the verbs.
///
/// >>> from decluster import Budget, pieces
/// >>> budget = Budget(20_000)
/// >>> lines = ['data: {"choices":[{"index":0,"delta":{"reasoning_content":"It ends."}}]}', ""]
/// >>> for piece in pieces(lines, budget=budget):
/// ...     pass
/// >>> budget.used, budget.remaining
/// (3, 19997)
///
/// Each piece of reasoning is charged before it is given out; once the limit is reached there is no
/// more, whichever stream it is of. So over all of them one piece at the most exceeds the limit. A
/// provider's own count corrects the charge. Any thread may use it. A stream that is closed early
/// stays charged with what it gave.
///
/// Raises `ConfigError` for a limit below 0, `TypeError` for what is no whole number.
#[pyclass(frozen, module = "decluster")]
pub(crate) struct Budget {
    inner: decluster::guard::Budget,
}

#[pymethods]
impl Budget {
    #[new]
    fn new(py: Python<'_>, max_reasoning_tokens: &Bound<'_, PyAny>) -> PyResult<Self> {
        let given = max_reasoning_tokens;
        if !given.is_instance_of::<PyInt>() || given.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err("max_reasoning_tokens takes a whole number"));
        }
        let Ok(limit) = given.extract() else {
            let message = format!(
                "max_reasoning_tokens = {given} is out of bounds: 0 to {} tokens",
                u64::MAX
            );
            return Err(error(py, "ConfigError", &message));
        };
        Ok(Self { inner: decluster::guard::Budget::new(limit) })
    }

    /// Tokens that were charged so far.
    #[getter]
    fn used(&self) -> u64 {
        self.inner.used()
    }

    /// The limit.
    #[getter]
    fn limit(&self) -> u64 {
        self.inner.limit()
    }

    /// What is left of it.
    #[getter]
    fn remaining(&self) -> u64 {
        self.inner.remaining()
    }

    fn __repr__(&self) -> String {
        format!("<decluster.Budget: {} of {} tokens used>", self.inner.used(), self.inner.limit())
    }
}

/// The budget that was given.
pub(crate) fn shared(given: Option<&Bound<'_, Budget>>) -> Option<decluster::guard::Budget> {
    given.map(|budget| budget.get().inner.clone())
}

/// By how much a limit was exceeded, as `Exceeded` takes it.
pub(crate) type Told = (u64, u64, &'static str, bool);

pub(crate) fn told(exceeded: ReasoningBudgetExceeded) -> Told {
    let ReasoningBudgetExceeded { used, limit, source, shared } = exceeded;
    (used, limit, source.name(), shared)
}
