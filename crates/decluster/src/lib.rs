//! The clustered stream of a reasoning model, as a steady flow.
//!
//! ```
//! use decluster::{Config, Delta, Engine, Kind, Nanos, Output};
//!
//! let mut now = Nanos::ZERO; // the caller's clock; here one that leaps
//! let mut engine = Engine::new(&Config::default(), now);
//! let burst = "First, the retry. It runs on a half-read chunk, so the whole call is billed twice.";
//! engine.push(now, Delta { kind: Kind::Reasoning, index: 0, text: burst, tokens: None })?;
//! engine.finish(now);
//!
//! let mut shown = String::new();
//! loop {
//!     match engine.poll(now) {
//!         Output::Piece(piece) => shown.push_str(piece.text),
//!         Output::Wait(at) => now = at, // sleep until then, or until there is input
//!         Output::NeedInput => unreachable!("it was finished"),
//!         Output::Finished => break,
//!         _ => {}
//!     }
//! }
//! assert_eq!(shown, burst);
//! # Ok::<(), decluster::PushError>(())
//! ```
//!
//! One direction: `bytes -> events -> deltas -> blocks -> pieces`. Each stage can be used alone:
//! [`sse`], [`frames`] and [`wire`] (feature `wire`), [`segment`], [`Engine`]; [`Rewriter`] joins them all. There is no IO, no
//! clock, no thread, no randomness and no `unsafe` in this crate; without the feature `guard` it is `no_std` with `alloc`.
//! [`guard`] watches over streams: how much they reason, how long they are silent, how they cluster, and what they cost.

#![forbid(unsafe_code)]
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(feature = "wire")]
mod collect;
mod config;
mod delta;
mod engine;
#[cfg(feature = "wire")]
pub mod frames;
#[cfg(feature = "wire")]
mod framing;
#[cfg(feature = "wire")]
pub mod guard;
mod pace;
mod queue;
mod release;
#[cfg(feature = "wire")]
mod rewrite;
pub mod segment;
pub mod sse;
mod tails;
mod time;
#[cfg(feature = "wire")]
pub mod wire;

#[cfg(feature = "wire")]
pub use collect::{Collected, Collector, CollectorError};
pub use config::{
    Config, ConfigError, PARAMETERS, PRESETS, PROFILES, Parameter, ParameterUnit, Preset,
};
pub use delta::{Delta, Kind};
pub use engine::{Cancel, Engine, Event, Output, Piece, PushError, Stats};
#[cfg(feature = "wire")]
pub use framing::{Framer, Framing};
#[cfg(feature = "wire")]
pub use guard::{CountSource, ReasoningBudgetExceeded};
#[cfg(feature = "wire")]
pub use rewrite::{Rewriter, RewriterError, RewriterOptions, Rewritten};
pub use segment::Boundary;
pub use time::Nanos;
