//! The reading end.

use crossbeam_channel::{Receiver, Sender, TryRecvError, select};
use decluster::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The reading end of a stream: hands over what the source gave, with the time.
///
/// Dropping it without [`Feed::finish`] or [`Feed::fail`] means that the source ended.
#[derive(Debug)]
pub struct Feed<E> {
    pub(crate) items: Sender<Item<E>>,
    /// Never carries anything: its other end goes away when the stream is closed.
    pub(crate) closed: Receiver<()>,
    /// Bytes on their way to the consumer, and a word from it when they become fewer.
    pub(crate) in_flight: Arc<AtomicUsize>,
    pub(crate) taken: Receiver<()>,
    /// The source has failed: what is on its way should not be paced.
    pub(crate) failed: Arc<AtomicBool>,
    pub(crate) waker: Sender<()>,
    pub(crate) started: Instant,
}

/// The stream was closed: the source should be closed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// What travels from the reader to the consumer.
#[derive(Debug)]
pub(crate) struct Item<E> {
    pub at: Nanos,
    pub what: What<E>,
}

#[derive(Debug)]
pub(crate) enum What<E> {
    Bytes(Vec<u8>),
    Line(Vec<u8>),
    Event(String, String),
    Finished,
    Failed(E),
}

impl<E> Feed<E> {
    /// Hands over bytes of the stream. Blocks while the consumer is too far behind.
    ///
    /// # Errors
    /// [`Closed`] if nobody will take them.
    pub fn bytes(&self, bytes: Vec<u8>) -> Result<(), Closed> {
        self.send(What::Bytes(bytes))
    }

    /// Hands over a line, with or without its terminator. Blocks while the consumer is too far behind.
    ///
    /// # Errors
    /// [`Closed`] if nobody will take it.
    pub fn line(&self, line: Vec<u8>) -> Result<(), Closed> {
        self.send(What::Line(line))
    }

    /// Hands over an event that was parsed already: its name, empty if it has none, and its data as JSON. Blocks
    /// while the consumer is too far behind.
    ///
    /// # Errors
    /// [`Closed`] if nobody will take it.
    pub fn event(&self, name: String, data: String) -> Result<(), Closed> {
        self.send(What::Event(name, data))
    }

    /// The source ended.
    ///
    /// # Errors
    /// [`Closed`] if nobody wants to know.
    pub fn finish(self) -> Result<(), Closed> {
        self.send(What::Finished)
    }

    /// The source failed: the consumer gets what arrived before, then this error.
    ///
    /// # Errors
    /// [`Closed`] if nobody wants to know.
    pub fn fail(self, error: E) -> Result<(), Closed> {
        self.failed.store(true, Ordering::Release);
        let _ = self.waker.try_send(());
        self.send(What::Failed(error))
    }

    /// Whether nobody will take anything any more. It costs no wait.
    pub fn is_closed(&self) -> bool {
        self.closed.try_recv() == Err(TryRecvError::Disconnected)
    }

    fn send(&self, what: What<E>) -> Result<(), Closed> {
        let item = Item { at: Nanos::from(self.started.elapsed()), what };
        while self.in_flight.load(Ordering::Acquire) > BYTES_IN_FLIGHT {
            select! {
                recv(self.taken) -> _ => {}
                recv(self.closed) -> _ => return Err(Closed),
                // A feed may be shared by threads, and one may take the word meant for another.
                default(LOOK_AGAIN) => {}
            }
        }
        self.in_flight.fetch_add(item.what.bytes(), Ordering::AcqRel);
        select! {
            send(self.items, item) -> sent => sent.map_err(|_| Closed),
            recv(self.closed) -> _ => Err(Closed),
        }
    }
}

impl<E> What<E> {
    /// How much it weighs on its way.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) | Self::Line(bytes) => bytes.len(),
            Self::Event(name, data) => name.len() + data.len(),
            Self::Finished | Self::Failed(_) => 0,
        }
    }
}

/// Beyond this the reader waits until the consumer has taken some: one more item may be on its way.
const BYTES_IN_FLIGHT: usize = 1 << 20;
const LOOK_AGAIN: Duration = Duration::from_millis(100);
