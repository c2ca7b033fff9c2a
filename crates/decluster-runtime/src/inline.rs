//! The engine in one thread, with its clock.

use decluster::guard::{Budget, Clustering, Totals};
use decluster::wire::Answer;
use decluster::{
    Cancel, Config, Nanos, Rewriter, RewriterError, RewriterOptions, Rewritten, Stats,
};
use std::sync::Arc;
use std::time::Instant;

/// A stream whose reader and consumer are one thread, such as an event loop's: what is pushed can be polled, and
/// nothing here waits.
///
/// ```
/// use decluster::{Config, RewriterOptions, Rewritten};
/// use decluster_runtime::{End, Inline};
///
/// let mut stream = Inline::<std::io::Error>::new(&Config::default(), RewriterOptions::default())?;
/// stream.bytes(stream.now(), b"data: [DONE]\n\n");
/// stream.finish(stream.now());
/// assert_eq!(stream.poll(stream.now()), Rewritten::Bytes(b"data: [DONE]\n\n"));
/// assert_eq!(stream.poll(stream.now()), Rewritten::Finished);
/// assert!(matches!(stream.end(), End::Finished));
/// # Ok::<(), decluster::RewriterError>(())
/// ```
#[derive(Debug)]
pub struct Inline<E> {
    rewriter: Rewriter,
    /// No item will come any more.
    ended: bool,
    error: Option<E>,
    started: Instant,
    /// Somebody has asked for what is due.
    asked: bool,
    /// Where it is added when it is over.
    totals: Option<Arc<Totals>>,
}

/// How a stream ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum End<E> {
    /// The source's own error.
    Failed(E),
    /// The stream is not what it should be.
    Fault(RewriterError),
    /// Everything is out, or the stream was closed.
    Finished,
}

impl<E> Inline<E> {
    /// A stream whose clock starts now.
    ///
    /// # Errors
    /// As [`Rewriter::new`].
    pub fn new(config: &Config, options: RewriterOptions) -> Result<Self, RewriterError> {
        let rewriter = Rewriter::new(config, options, Nanos::ZERO)?;
        let started = Instant::now();
        Ok(Self { rewriter, ended: false, error: None, started, asked: false, totals: None })
    }

    /// Adds the stream to these sums once it is over: at [`Inline::end`], when it is closed, or when it is dropped. One that
    /// nobody polled, and of which nothing came, is not added.
    pub fn count_in(&mut self, totals: &Arc<Totals>) {
        self.totals = Some(Arc::clone(totals));
    }

    /// Charges the stream's reasoning to a budget that others may share, as [`Rewriter::share_budget`].
    pub fn share_budget(&mut self, budget: Budget) {
        self.rewriter.share_budget(budget);
    }

    /// The time on the stream's clock.
    pub fn now(&self) -> Nanos {
        Nanos::from(self.started.elapsed())
    }

    /// When the clock started.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Whether the caller should go on reading its source. What is pushed regardless may be refused, and is lost then.
    pub fn wants_input(&self) -> bool {
        !self.ended && self.rewriter.wants_input()
    }

    /// Whether no input is taken any more: the source ended or failed, the stream was closed or is not what it
    /// should be.
    pub fn has_ended(&self) -> bool {
        // It may have ended itself: over its budget, or after too long a silence.
        self.ended || self.rewriter.has_ended()
    }

    /// Takes in bytes of the stream that arrived at `at`.
    pub fn bytes(&mut self, at: Nanos, bytes: &[u8]) {
        // What ends the rewriter comes after what had arrived before it; see `end`.
        self.ended |= self.rewriter.push(at, bytes).is_err();
    }

    /// Takes in a line, with or without its terminator.
    pub fn line(&mut self, at: Nanos, line: &[u8]) {
        // What ends the rewriter comes after what had arrived before it; see `end`.
        self.ended |= self.rewriter.push_line(at, line).is_err();
    }

    /// Takes in an event that was parsed already: its name, empty if it has none, and its data as JSON.
    pub fn event(&mut self, at: Nanos, name: &str, data: &str) {
        // What ends the rewriter comes after what had arrived before it; see `end`.
        self.ended |= self.rewriter.push_event(at, name, data).is_err();
    }

    /// The source ended.
    pub fn finish(&mut self, at: Nanos) {
        if !self.has_ended() {
            self.ended = true;
            self.rewriter.finish(at);
        }
    }

    /// The source failed: what arrived before is due at once, then comes this error.
    pub fn fail(&mut self, error: E) {
        if !self.has_ended() {
            self.ended = true;
            self.error = Some(error);
            self.rewriter.cancel(Cancel::Flush);
        }
    }

    /// Ends the stream; what is queued is dropped.
    pub fn close(&mut self) {
        self.ended = true;
        self.error = None;
        self.count();
        self.rewriter.cancel(Cancel::Drop);
    }

    /// Stops pacing what is queued at present.
    pub fn flush(&mut self) {
        self.rewriter.flush();
    }

    /// Stops pacing for good.
    pub(crate) fn stop_pacing(&mut self) {
        self.rewriter.stop_pacing();
    }

    /// What to do now; after [`Rewritten::Finished`], [`Inline::end`] says how it ended.
    pub fn poll(&mut self, now: Nanos) -> Rewritten<'_> {
        self.asked = true;
        self.rewriter.poll(now)
    }

    /// How the stream ended, once everything is out. An error is given once.
    pub fn end(&mut self) -> End<E> {
        self.count();
        match (self.error.take(), self.rewriter.take_fault()) {
            (Some(error), _) => End::Failed(error),
            (None, Some(fault)) => End::Fault(fault),
            (None, None) => End::Finished,
        }
    }

    /// Counters of the engine.
    pub fn stats(&self) -> Stats {
        self.rewriter.stats()
    }

    /// How clustered the stream came in, and how it left.
    pub fn clusters(&self) -> &Clustering {
        self.rewriter.clusters()
    }

    /// Reads what is known of the answer: usage, verdict, tool calls.
    pub fn with_answer<T>(&self, read: impl FnOnce(&Rewriter, &Answer) -> T) -> T {
        read(&self.rewriter, self.rewriter.answer())
    }

    /// Adds it to the sums, once.
    fn count(&mut self) {
        let was_used = self.asked || self.rewriter.answer().events > 0;
        if let Some(totals) = self.totals.take().filter(|_| was_used) {
            totals.add(&self.rewriter);
        }
    }
}

impl<E> Drop for Inline<E> {
    fn drop(&mut self) {
        self.count();
    }
}
