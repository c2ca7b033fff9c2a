//! What watches over a stream: how it clusters, what it may cost and what it did cost. Nothing here changes when text
//! leaves, and all of it can be used without an engine.

mod clusters;
mod cost;
mod ledger;
mod price;
mod sketch;

pub use clusters::{ClusterRule, Clusters};
pub use cost::Cost;
pub use ledger::{Ledger, LedgerEntry, LedgerError};
pub use price::{Price, PriceError, Prices, UnknownModel};
pub use rust_decimal::Decimal;
pub use sketch::Sketch;
