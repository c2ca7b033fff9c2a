//! decluster: the clustered stream of a reasoning model, as a steady flow.

#![forbid(unsafe_code)]
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod delta;
pub mod sse;
pub mod segment;
mod time;
#[cfg(feature = "wire")]
pub mod wire;

pub use delta::{Delta, Kind};
pub use time::Nanos;
