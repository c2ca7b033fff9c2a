//! The consuming end.

use crate::feed::{Feed, Item, What};
use crate::inline::{End, Inline};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select};
use decluster::guard::{Budget, Clustering, Totals};
use decluster::wire::Answer;
use decluster::{
    Boundary, Config, Event, Kind, Nanos, Piece, Rewriter, RewriterError, RewriterOptions,
    Rewritten, Stats,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The two ends of one stream.
///
/// # Errors
/// As [`Rewriter::new`].
pub fn pair<E>(
    config: &Config,
    options: RewriterOptions,
) -> Result<(Feed<E>, Flow<E>), RewriterError> {
    let (items_in, items) = bounded(IN_FLIGHT);
    let (open, closed) = bounded(0);
    let (took, taken) = bounded(1);
    let (waker, woken) = bounded(1);
    let in_flight = Arc::new(AtomicUsize::new(0));
    let failed = Arc::new(AtomicBool::new(false));
    let inline = Inline::new(config, options)?;
    let started = inline.started();
    let flow = Flow {
        turn: Mutex::new(()),
        core: Mutex::new(inline),
        items,
        in_flight: Arc::clone(&in_flight),
        took,
        failed: Arc::clone(&failed),
        waker: waker.clone(),
        woken,
        closed: closed.clone(),
        open: Mutex::new(Some(open)),
        started,
    };
    Ok((Feed { items: items_in, closed, in_flight, taken, failed, waker, started }, flow))
}

/// The consuming end of a stream. All methods may be called from several threads; each piece goes to one
/// of them.
#[derive(Debug)]
pub struct Flow<E> {
    /// Held by the one caller that waits: items must enter the engine in the order they were read.
    turn: Mutex<()>,
    core: Mutex<Inline<E>>,
    items: Receiver<Item<E>>,
    in_flight: Arc<AtomicUsize>,
    took: Sender<()>,
    failed: Arc<AtomicBool>,
    /// A word to whoever waits that things have changed.
    waker: Sender<()>,
    woken: Receiver<()>,
    closed: Receiver<()>,
    /// Dropped to close.
    open: Mutex<Option<Sender<()>>>,
    started: Instant,
}

/// What [`Flow::next`] gives.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step<E> {
    /// Bytes of a valid stream of the same dialect: one event, or a stretch that was not re-cut.
    Bytes(Vec<u8>),
    /// An event of a stream that came as events; as [`Rewritten::Object`].
    Object(OwnedObject),
    /// A piece, in piece mode.
    Piece(OwnedPiece),
    /// An event that is not text, in piece mode: its name and its data.
    Other(String, String),
    /// In piece mode with events: the answer began anew, output was reasoning, or more reasoning came than may.
    Event(Event),
    /// Nothing was due within the time given.
    Pending,
    /// The source's own error, after all that had arrived before it.
    Failed(E),
    /// The stream is not what it should be, after all that was readable of it.
    Fault(RewriterError),
    /// Everything is out, or the stream was closed.
    Finished,
}

/// A [`Piece`] with its own text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in `decluster::Piece`")]
pub struct OwnedPiece {
    pub text: String,
    pub kind: Kind,
    pub index: u32,
    pub seq: u64,
    pub block: u64,
    pub part: u32,
    pub boundary: Boundary,
    pub ends_block: bool,
    pub tokens: u32,
    pub origin: u64,
    pub arrived: Nanos,
}

/// A [`Rewritten::Object`] with its own text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in `decluster::Rewritten`")]
pub struct OwnedObject {
    pub number: u64,
    pub name: String,
    pub data: String,
    pub changed: bool,
    pub done: u64,
}

impl<E> Flow<E> {
    /// Charges the stream's reasoning to a budget that others may share, as [`Rewriter::share_budget`]. For use before the
    /// first [`Flow::next`].
    pub fn share_budget(&self, budget: Budget) {
        self.core.lock().share_budget(budget);
    }

    /// Waits for the next step, `patience` at the most. Bytes come as events of the same dialect, or as
    /// pieces where [`RewriterOptions::pieces`] says so.
    pub fn next(&self, patience: Duration) -> Step<E> {
        let until = Instant::now() + patience.min(PATIENCE_MAX);
        let Some(_turn) = self.turn.try_lock_until(until) else { return Step::Pending };
        loop {
            if self.open.lock().is_none() {
                return Step::Finished;
            }
            let (wanted, wake) = {
                let mut core = self.core.lock();
                if self.failed.load(Ordering::Acquire) {
                    core.stop_pacing();
                }
                while core.wants_input() {
                    match self.items.try_recv() {
                        Ok(item) => self.take(&mut core, item),
                        Err(error) => {
                            if error.is_disconnected() {
                                core.finish(self.now());
                            }
                            break;
                        }
                    }
                }
                match polled(&mut core) {
                    Polled::Step(step) => {
                        drop(core);
                        if matches!(step, Step::Failed(_) | Step::Fault(_) | Step::Finished) {
                            // The source may go on: who reads it is told with the next item.
                            *self.open.lock() = None;
                        }
                        return step;
                    }
                    Polled::Wait(at) => {
                        let wake = self.started.checked_add(Duration::from(at)).unwrap_or(until);
                        (core.wants_input(), wake.min(until))
                    }
                    Polled::NeedInput => (core.wants_input(), until),
                }
            };
            if self.wait(wanted, wake).is_err() && Instant::now() >= until {
                return Step::Pending;
            }
        }
    }

    /// Ends the stream: [`Flow::next`] gives [`Step::Finished`] from now on, the feed is told on its next item.
    /// Returns at once, also while another thread waits.
    pub fn close(&self) {
        *self.open.lock() = None;
        self.core.lock().close();
    }

    /// Stops pacing what is queued at present.
    pub fn flush(&self) {
        self.core.lock().flush();
        // If a word is waiting already, nobody has to be told twice.
        let _ = self.waker.try_send(());
    }

    /// Adds the stream to these sums once it is over: when it has ended, is closed or is dropped. One that nobody read is
    /// not added.
    pub fn count_in(&self, totals: &Arc<Totals>) {
        self.core.lock().count_in(totals);
    }

    /// Counters of the engine.
    pub fn stats(&self) -> Stats {
        self.core.lock().stats()
    }

    /// How clustered the stream came in, and how it left.
    pub fn clusters(&self) -> Clustering {
        self.core.lock().clusters().clone()
    }

    /// Reads what is known of the answer: usage, verdict, tool calls.
    pub fn with_answer<T>(&self, read: impl FnOnce(&Rewriter, &Answer) -> T) -> T {
        self.core.lock().with_answer(read)
    }

    fn now(&self) -> Nanos {
        Nanos::from(self.started.elapsed())
    }

    fn take(&self, core: &mut Inline<E>, item: Item<E>) {
        self.in_flight.fetch_sub(item.what.bytes(), Ordering::AcqRel);
        let _ = self.took.try_send(());
        match item.what {
            What::Bytes(bytes) => core.bytes(item.at, &bytes),
            What::Line(line) => core.line(item.at, &line),
            What::Event(name, data) => core.event(item.at, &name, &data),
            What::Finished => core.finish(item.at),
            What::Failed(error) => core.fail(error),
        }
    }

    /// Waits for an item, a word, the close, or the time; `Err` when the time came.
    fn wait(&self, wanted: bool, until: Instant) -> Result<(), RecvTimeoutError> {
        let timeout = crossbeam_channel::at(until);
        let nothing = crossbeam_channel::never();
        select! {
            recv(if wanted { &self.items } else { &nothing }) -> item => {
                let mut core = self.core.lock();
                match item {
                    Ok(item) => self.take(&mut core, item),
                    Err(_) => core.finish(self.now()),
                }
                Ok(())
            }
            recv(self.woken) -> _ => Ok(()),
            recv(self.closed) -> _ => Ok(()),
            recv(timeout) -> _ => Err(RecvTimeoutError::Timeout),
        }
    }
}

enum Polled<E> {
    Step(Step<E>),
    Wait(Nanos),
    NeedInput,
}

fn polled<E>(core: &mut Inline<E>) -> Polled<E> {
    let step = match core.poll(core.now()) {
        Rewritten::Bytes(bytes) => Step::Bytes(bytes.to_vec()),
        Rewritten::Object { number, name, data, changed, done } => Step::Object(OwnedObject {
            number,
            name: name.to_owned(),
            data: data.to_owned(),
            changed,
            done,
        }),
        Rewritten::Piece(piece) => Step::Piece(piece.into()),
        Rewritten::Other { name, data } => Step::Other(name.to_owned(), data.to_owned()),
        Rewritten::Event(event) => Step::Event(event),
        Rewritten::Wait(at) => return Polled::Wait(at),
        Rewritten::NeedInput => return Polled::NeedInput,
        Rewritten::Finished => match core.end() {
            End::Failed(error) => Step::Failed(error),
            End::Fault(fault) => Step::Fault(fault),
            End::Finished => Step::Finished,
        },
    };
    Polled::Step(step)
}

impl From<Piece<'_>> for OwnedPiece {
    fn from(p: Piece<'_>) -> Self {
        Self {
            text: p.text.to_owned(),
            kind: p.kind,
            index: p.index,
            seq: p.seq,
            block: p.block,
            part: p.part,
            boundary: p.boundary,
            ends_block: p.ends_block,
            tokens: p.tokens,
            origin: p.origin,
            arrived: p.arrived,
        }
    }
}

/// Nobody means to wait longer, and no clock overflows by it.
const PATIENCE_MAX: Duration = Duration::from_hours(24 * 365);
/// Items that may wait between reader and consumer: enough for a burst of small chunks while the consumer
/// is busy, few enough to stop reading soon after it has left.
const IN_FLIGHT: usize = 256;
