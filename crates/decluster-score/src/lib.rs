//! How well a stream is paced: arrival traces, a virtual clock, metrics, and what to compare with.
//!
//! A *trace* says when how many tokens arrived; a *schedule* says when how many were released. Policies turn
//! one into the other: the [`engine`] itself, [models of other pacers](peers), and
//! [clairvoyants](clairvoyant) that know the whole trace. [`Score`] measures a schedule against its trace,
//! [`Row`] a policy over many.
//!
//! This is the measuring side: unlike the engine it computes in floating point.

#![forbid(unsafe_code)]

pub mod capture;
pub mod clairvoyant;
pub mod diagnose;
pub mod engine;
mod metrics;
pub mod peers;
pub mod recorded;
mod study;
mod summary;
pub mod synthetic;
mod table;
mod text;
mod trace;

pub use metrics::{LIMITS_MS, Score};
pub use study::{Played, RATES, Rule, Study};
pub use summary::{Side, Spread, Summary};
pub use table::{Row, header};
pub use text::lay;
pub use trace::{Tokens, Trace, TraceError};
