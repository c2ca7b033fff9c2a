//! Placeholder until the readers exist.
