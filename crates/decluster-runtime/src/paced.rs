//! An iterator over chunks, read in a thread of its own.

use crate::feed::Closed;
use crate::flow::{Flow, Step, pair};
use decluster::guard::Budget;
use decluster::{Config, RewriterError, RewriterOptions};
use std::fmt;
use std::io;
use std::thread;
use std::time::Duration;

/// An iterator of chunks, re-cut and paced: what comes out is a valid stream of the same dialect.
///
/// Dropping it ends the reading thread with its next read.
#[derive(Debug)]
pub struct Paced<E> {
    flow: Flow<E>,
    done: bool,
}

/// Why a paced stream ended early. All that had arrived before has been given.
#[derive(Debug)]
#[non_exhaustive]
pub enum PacedError<E> {
    /// The source's own error.
    Source(E),
    /// The stream is not what it should be.
    Stream(RewriterError),
}

impl<E: Send + 'static> Paced<E> {
    /// Reads `source` in a new thread.
    ///
    /// # Errors
    /// If the options do not fit, as [`decluster::Rewriter::new`], or no thread can be started.
    pub fn new<I>(source: I, config: &Config, options: RewriterOptions) -> io::Result<Self>
    where
        I: Iterator<Item = Result<Vec<u8>, E>> + Send + 'static,
    {
        let (feed, flow) = pair(config, options).map_err(io::Error::other)?;
        thread::Builder::new().name("decluster-reader".into()).spawn(move || {
            // Whoever is gone at the other end needs no telling: the source is dropped either way.
            for chunk in source {
                match chunk.map(|chunk| feed.bytes(chunk)) {
                    Ok(Ok(())) => {}
                    Ok(Err(Closed)) => return,
                    Err(error) => {
                        let _ = feed.fail(error);
                        return;
                    }
                }
            }
            let _ = feed.finish();
        })?;
        Ok(Self { flow, done: false })
    }

    /// Charges the stream's reasoning to a budget that others may share, as [`decluster::Rewriter::share_budget`]. For use
    /// before the first `next`.
    pub fn share_budget(&self, budget: Budget) {
        self.flow.share_budget(budget);
    }

    /// The consuming end, for statistics and the answer.
    pub fn flow(&self) -> &Flow<E> {
        &self.flow
    }
}

impl<E> Iterator for Paced<E> {
    type Item = Result<Vec<u8>, PacedError<E>>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            match self.flow.next(PATIENCE) {
                Step::Bytes(bytes) => return Some(Ok(bytes)),
                Step::Failed(error) => {
                    self.done = true;
                    return Some(Err(PacedError::Source(error)));
                }
                Step::Fault(error) => {
                    self.done = true;
                    return Some(Err(PacedError::Stream(error)));
                }
                Step::Finished => self.done = true,
                _ => {}
            }
        }
        None
    }
}

impl<E> Drop for Paced<E> {
    fn drop(&mut self) {
        self.flow.close();
    }
}

impl<E: fmt::Display> fmt::Display for PacedError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Stream(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Display + fmt::Debug> std::error::Error for PacedError<E> {}

/// `next` looks again after this long; there is no reason to wake up sooner.
const PATIENCE: Duration = Duration::from_hours(1);
