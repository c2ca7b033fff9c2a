//! The blocking face of decluster: one thread reads the source, another takes what is due.
//!
//! A source that blocks in a read can release nothing meanwhile, so reading happens elsewhere: [`pair`] gives a
//! [`Feed`] for the thread that reads and a [`Flow`] for the consumer. [`Paced`] is both for a plain iterator.
//! Arrival times are taken when the feed gets an item; the engine itself runs in the consumer's calls. [`Inline`] is
//! the same without threads, for an event loop or for those who do not mind the silences. [`Totals`] adds up what streams
//! were.
//!
//! ```
//! use decluster::{Config, RewriterOptions};
//! use decluster_runtime::Paced;
//!
//! let upstream = ["data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello there.\"}}]}\n\n", "data: [DONE]\n\n"];
//! let source = upstream.into_iter().map(|chunk| Ok::<_, std::io::Error>(chunk.as_bytes().to_vec()));
//! let mut out = Vec::new();
//! for chunk in Paced::new(source, &Config::default(), RewriterOptions::default())? {
//!     out.extend(chunk?);
//! }
//! assert!(String::from_utf8_lossy(&out).contains("there."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "clocks and threads are what this crate is for")]

mod feed;
mod flow;
mod inline;
mod paced;

pub use decluster::guard::{Budget, Totals};
pub use feed::{Closed, Feed};
pub use flow::{Flow, OwnedObject, OwnedPiece, Step, pair};
pub use inline::{End, Inline};
pub use paced::{Paced, PacedError};
