//! How much reasoning may come.

use core::fmt;

/// More reasoning came than `max_reasoning_tokens` allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasoningBudgetExceeded {
    /// Tokens that were let through, as estimated: at most one piece or block above the limit.
    pub used: u64,
    /// The limit.
    pub limit: u64,
}

#[derive(Debug)]
pub(crate) struct Budget {
    /// 0 is none.
    limit: u64,
    used: u64,
    arrived: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, used: 0, arrived: 0 }
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.limit > 0
    }

    /// Reasoning arrived. Says whether more has than may leave.
    pub(crate) fn arrive(&mut self, tokens: u64) -> bool {
        self.arrived = self.arrived.saturating_add(tokens);
        self.is_limited() && self.arrived > self.limit
    }

    /// Reasoning was let through.
    pub(crate) fn spend(&mut self, tokens: u32) {
        self.used = self.used.saturating_add(tokens.into());
    }

    /// Says once that it was exceeded.
    pub(crate) fn exceeded(&mut self) -> Option<ReasoningBudgetExceeded> {
        let Self { limit, used, .. } = *self;
        if limit == 0 || used <= limit {
            return None;
        }
        self.limit = 0;
        Some(ReasoningBudgetExceeded { used, limit })
    }
}

impl fmt::Display for ReasoningBudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { used, limit } = self;
        write!(f, "reasoning budget exceeded: about {used} tokens, the limit is {limit}")
    }
}

impl core::error::Error for ReasoningBudgetExceeded {}
