//! What watches over a stream: how much it may reason and how long it may be silent, how it clusters, what it costs. All of
//! it can be used without an engine, and nothing here changes when text leaves, but for the limits: what exceeds one ends.
//!
//! Budgets and silences come with the feature `wire`, the rest with `guard`.

mod budget;
#[cfg(feature = "guard")]
mod clusters;
#[cfg(feature = "guard")]
mod cost;
#[cfg(feature = "guard")]
mod ledger;
pub(crate) mod meter;
#[cfg(feature = "guard")]
mod price;
pub(crate) mod silence;
#[cfg(feature = "guard")]
mod sketch;
#[cfg(feature = "guard")]
mod totals;

pub use budget::{Budget, CountSource, ReasoningBudgetExceeded};
#[cfg(feature = "guard")]
pub use clusters::{ClusterGroup, ClusterRule, Clustering, Clusters};
#[cfg(feature = "guard")]
pub use cost::Cost;
#[cfg(feature = "guard")]
pub use ledger::{Ledger, LedgerEntry, LedgerError};
#[cfg(feature = "guard")]
pub use price::{Price, PriceError, Prices, UnknownModel};
#[cfg(feature = "guard")]
pub use rust_decimal::Decimal;
#[cfg(feature = "guard")]
pub use sketch::Sketch;
#[cfg(feature = "guard")]
pub use totals::Totals;
