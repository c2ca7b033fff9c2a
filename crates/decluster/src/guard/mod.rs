//! What watches over a stream: how it clusters, what it may cost and what it did cost. Nothing here changes when text
//! leaves, and all of it can be used without an engine.

mod clusters;
mod sketch;

pub use clusters::{ClusterRule, Clustering, Clusters};
pub use sketch::Sketch;
