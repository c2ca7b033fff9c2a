//! Budgets of reasoning that several rewriters share.

use crate::handle::{self, Handle, opaque};
use crate::status::decluster_status;
use decluster::guard::Budget;
use std::ffi::c_char;

/// LLM tokens of reasoning that several streams may use between them, all together. Every call takes it with `const`: any
/// number of threads may use it at the same time.
///
/// A rewriter that was given one (`decluster_rewriter_share_budget()`) charges each piece of reasoning before it gives it
/// out. Once the limit is reached it gives out none any more and ends with `REASONING_BUDGET_EXCEEDED`, so over all streams
/// one piece at the most exceeds the limit. What a provider counts itself corrects the charge, up or down.
pub struct decluster_budget(Handle<Budget>);

opaque!(decluster_budget, Budget);

/// Makes a budget of `limit` LLM tokens, of which none is used; one of 0 lets no reasoning through. To be freed with
/// `decluster_budget_free()`.
///
/// Errors: `NULL`, `PANIC`; then `budget` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_budget_new(
    limit: u64,
    budget: *mut *mut decluster_budget,
) -> decluster_status {
    // SAFETY: the caller passes what can be written.
    unsafe { handle::give(budget, || Ok(Budget::new(limit))) }
}

/// Frees it; `NULL` is ignored. Rewriters that share it go on sharing it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_budget_free(budget: *mut decluster_budget) {
    // SAFETY: the caller frees what it was given, once.
    unsafe { handle::free(budget) };
}

/// Tells how many tokens were charged so far, over all streams. It may exceed the limit by one piece, and by what a provider
/// counts itself. A stream that was freed or cancelled stays charged with what it had given out.
///
/// Errors: those of every call; then `used` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_budget_used(
    budget: *const decluster_budget,
    used: *mut u64,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be written.
    unsafe { handle::tell(budget, used, |budget| Ok(budget.used())) }
}

/// What a panic said; as `decluster_config_error()`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_budget_error(budget: *const decluster_budget) -> *const c_char {
    // SAFETY: the caller passes a handle.
    unsafe { handle::message(budget) }
}
