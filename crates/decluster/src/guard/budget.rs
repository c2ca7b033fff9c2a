//! How much reasoning may come, over one stream or over many.

use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

/// Tokens of reasoning that several streams may use between them, all together. Clones are handles to the same count; any
/// thread may hold one.
///
/// A stream that was given one (`share_budget`) charges each piece of reasoning before it gives it out. Once the limit is
/// reached it gives out none any more, so over all streams one piece at the most exceeds the limit. What a provider
/// counts itself corrects the charge, up or down.
///
/// ```
/// use decluster::{Config, Nanos, Rewriter, RewriterOptions, guard::Budget};
/// let budget = Budget::new(20_000);
/// let mut rewriter = Rewriter::new(&Config::default(), RewriterOptions::default(), Nanos::ZERO)?;
/// rewriter.share_budget(budget.clone());
/// assert_eq!((budget.used(), budget.remaining()), (0, 20_000));
/// # Ok::<(), decluster::RewriterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    /// A budget of so many tokens, of which none is used. One of 0 lets no reasoning through.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { shared: Arc::new(Shared { limit, used: AtomicU64::new(0) }) }
    }

    /// Tokens that were charged so far, over all streams. A stream that was dropped or closed early stays charged with what
    /// it had given out.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.shared.used.load(Ordering::Acquire)
    }

    /// The limit.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.shared.limit
    }

    /// What is left of it; 0 once it is exceeded.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.limit().saturating_sub(self.used())
    }

    /// Charges all of it, or nothing if the limit is reached already; says which.
    pub(crate) fn charge(&self, tokens: u64) -> bool {
        self.update(|used| (used < self.limit()).then(|| used.saturating_add(tokens)))
    }

    /// What was charged proves to be more, or less.
    pub(crate) fn correct(&self, charged: u64, to: u64) {
        let (more, less) = (to.saturating_sub(charged), charged.saturating_sub(to));
        self.update(|used| Some(used.saturating_add(more).saturating_sub(less)));
    }

    /// No other handle's update comes between what is read and what is written.
    fn update(&self, next: impl FnMut(u64) -> Option<u64>) -> bool {
        self.shared.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }
}

/// More reasoning came than `max_reasoning_tokens` or a shared [`Budget`] allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasoningBudgetExceeded {
    /// Tokens that were let through, at most one piece or block above the limit where text is counted as it comes. Of a
    /// shared budget, those of all its streams.
    pub used: u64,
    /// The limit.
    pub limit: u64,
    /// Who counted this stream's tokens.
    pub source: CountSource,
    /// The limit is that of a shared [`Budget`].
    pub shared: bool,
}

/// Who counted tokens of reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CountSource {
    /// Nobody but us: they are estimated from the text.
    Estimate,
    /// The provider, while the stream ran. Between its reports the estimate fills in.
    Provider,
    /// The provider, at the end: its final usage. Everything had been let through by then.
    Usage,
}

impl CountSource {
    /// The name used in every language: `estimate`, `provider`, `usage`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Estimate => "estimate",
            Self::Provider => "provider",
            Self::Usage => "usage",
        }
    }
}

impl fmt::Display for ReasoningBudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { used, limit, source, shared } = self;
        let about = if *source == CountSource::Estimate { "about " } else { "" };
        let which = if *shared { "shared reasoning budget" } else { "reasoning budget" };
        write!(f, "{which} exceeded: {about}{used} tokens, the limit is {limit}")
    }
}

impl core::error::Error for ReasoningBudgetExceeded {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_charged_once_the_limit_is_reached_is_refused_whole() {
        let budget = Budget::new(10);
        assert!(budget.charge(9) && budget.charge(5));
        assert!(!budget.charge(1) && !budget.charge(0));
        assert_eq!((budget.used(), budget.remaining()), (14, 0));
    }

    #[test]
    fn a_correction_goes_both_ways_and_stops_at_nothing() {
        let budget = Budget::new(10);
        budget.correct(0, 12);
        budget.correct(12, 4);
        assert_eq!((budget.used(), budget.remaining()), (4, 6));
        budget.correct(9, 0);
        assert_eq!(budget.used(), 0);
        budget.correct(0, u64::MAX);
        budget.correct(0, 1);
        assert_eq!(budget.used(), u64::MAX);
    }

    #[test]
    fn a_clone_is_a_handle_to_the_same_count() {
        let budget = Budget::new(10);
        assert!(budget.clone().charge(3));
        assert_eq!(budget.used(), 3);
    }
}
