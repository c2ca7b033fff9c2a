//! What stands behind a handle, and the way in: one thread at a time, and no panic gets out.

use crate::status::{STATUSES, decluster_status, decluster_status::*};
use std::any::Any;
use std::cell::{RefCell, UnsafeCell};
use std::ffi::{CStr, CString, c_char};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};

/// A type whose pointers C holds.
pub(crate) trait Opaque {
    /// Handles may move between threads, and may be looked at by several.
    type Value: Send + Sync;

    fn wrap(handle: Handle<Self::Value>) -> Self;
    fn handle(&self) -> &Handle<Self::Value>;
}

/// Says what is behind an opaque type.
macro_rules! opaque {
    ($name:ident, $value:ty) => {
        impl $crate::handle::Opaque for $name {
            type Value = $value;

            fn wrap(handle: $crate::handle::Handle<$value>) -> Self {
                Self(handle)
            }

            fn handle(&self) -> &$crate::handle::Handle<$value> {
                &self.0
            }
        }
    };
}
pub(crate) use opaque;

/// Makes a value and gives C a handle of it through `out`.
///
/// # Safety
/// `out` is `NULL` or may be written.
pub(crate) unsafe fn give<H: Opaque>(
    out: *mut *mut H,
    make: impl FnOnce() -> Outcome<H::Value>,
) -> decluster_status {
    if out.is_null() {
        return DECLUSTER_ERROR_NULL;
    }
    match answer(make) {
        Ok(value) => {
            let handle = Box::new(H::wrap(Handle::new(value)));
            // SAFETY: it is not NULL, and the caller says that it may be written.
            unsafe { out.write_unaligned(Box::into_raw(handle)) };
            DECLUSTER_OK
        }
        Err(status) => status,
    }
}

/// A call without a handle.
pub(crate) fn answer<R>(act: impl FnOnce() -> Outcome<R>) -> Result<R, decluster_status> {
    match catch(act) {
        Ok(answered) => answered.map_err(|refusal| refusal.status),
        Err(_) => Err(DECLUSTER_ERROR_PANIC),
    }
}

/// A call that may change the value. What it refuses with can be read afterwards.
///
/// # Safety
/// `handle` is `NULL` or was given and not freed.
pub(crate) unsafe fn call<H: Opaque>(
    handle: *mut H,
    act: impl FnOnce(&mut H::Value) -> Outcome,
) -> decluster_status {
    // SAFETY: the caller says so.
    let handle = unsafe { handle.as_ref() };
    handle.map_or(DECLUSTER_ERROR_NULL, |handle| handle.handle().call(act))
}

/// A call that changes nothing: not what was given out, nor what the last call that failed said. Several may go on at once.
///
/// # Safety
/// As [`call`].
pub(crate) unsafe fn look<H: Opaque, R>(
    handle: *const H,
    read: impl FnOnce(&H::Value) -> R,
) -> Result<R, decluster_status> {
    // SAFETY: the caller says so.
    let handle = unsafe { handle.as_ref() }.ok_or(DECLUSTER_ERROR_NULL)?;
    handle.handle().look(read)
}

/// The same, for an answer that is written where the caller wants it.
///
/// # Safety
/// As [`call`]; `out` is `NULL` or may be written.
pub(crate) unsafe fn tell<H: Opaque, R>(
    handle: *const H,
    out: *mut R,
    read: impl FnOnce(&H::Value) -> Outcome<R>,
) -> decluster_status {
    if out.is_null() {
        return DECLUSTER_ERROR_NULL;
    }
    // SAFETY: the caller says so.
    match unsafe { look(handle, read) } {
        Ok(Ok(found)) => {
            // SAFETY: it is not NULL, and the caller says that it may be written.
            unsafe { out.write_unaligned(found) };
            DECLUSTER_OK
        }
        Ok(Err(refusal)) => refusal.status,
        Err(status) => status,
    }
}

/// What the last call that failed said.
///
/// # Safety
/// As [`call`].
pub(crate) unsafe fn message<H: Opaque>(handle: *const H) -> *const c_char {
    // SAFETY: the caller says so.
    let handle = unsafe { handle.as_ref() };
    handle.map_or(text(DECLUSTER_ERROR_NULL).as_ptr(), |handle| handle.handle().message())
}

/// Frees what [`give`] gave; a panic on the way is the end of it. What another thread is using is leaked: that is misuse,
/// but not worth a crash.
///
/// # Safety
/// `handle` is `NULL` or was given and not freed.
pub(crate) unsafe fn free<H: Opaque>(handle: *mut H) {
    // SAFETY: the caller says so.
    let used = unsafe { handle.as_ref() };
    if used.is_some_and(|handle| handle.handle().close()) {
        // SAFETY: the caller says so, and nobody is in it or gets in any more.
        let handle = unsafe { Box::from_raw(handle) };
        let _ = catch(|| drop(handle));
    }
}

/// A value that C holds a pointer to.
pub(crate) struct Handle<T> {
    /// How many calls look at it; or [`ALONE`]; and [`POISONED`].
    state: AtomicU32,
    value: UnsafeCell<T>,
    /// What the last call that failed said.
    message: UnsafeCell<CString>,
    /// What the call that panicked said.
    panicked: OnceLock<CString>,
}

const FREE: u32 = 0;
/// A call that may change it is going on.
const ALONE: u32 = 0x7fff_ffff;
/// A call has panicked.
const POISONED: u32 = 0x8000_0000;

/// Why a call was refused.
pub(crate) struct Refusal {
    pub(crate) status: decluster_status,
    message: String,
}

pub(crate) type Outcome<T = ()> = Result<T, Refusal>;

impl Refusal {
    pub(crate) fn new(status: decluster_status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// With this name for the pointer that is `NULL`.
    pub(crate) fn null(name: &str) -> Self {
        Self::new(DECLUSTER_ERROR_NULL, format!("{name} is NULL"))
    }

    /// Another handle than the one that is called, of this name, says so.
    pub(crate) fn of_other(status: decluster_status, name: &str) -> Self {
        let why = text(status).to_string_lossy();
        match status {
            DECLUSTER_ERROR_NULL => Self::null(name),
            status => Self::new(status, format!("{name}: {why}")),
        }
    }
}

impl<T> Handle<T> {
    fn new(value: T) -> Self {
        Self {
            state: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
            message: UnsafeCell::default(),
            panicked: OnceLock::new(),
        }
    }

    fn call(&self, act: impl FnOnce(&mut T) -> Outcome) -> decluster_status {
        if let Err(state) = self.move_from(FREE, ALONE) {
            return refused(state);
        }
        // SAFETY: whoever moves the state from FREE to ALONE is alone until it is moved back.
        let (value, message) = unsafe { (&mut *self.value.get(), &mut *self.message.get()) };
        let (state, status) = match catch(|| act(value)) {
            Ok(Ok(())) => (FREE, DECLUSTER_OK),
            Ok(Err(refusal)) => {
                *message = c_string(&refusal.message);
                (FREE, refusal.status)
            }
            Err(panicked) => {
                let _ = self.panicked.set(c_string(&panicked));
                (POISONED, DECLUSTER_ERROR_PANIC)
            }
        };
        self.state.store(state, Ordering::Release);
        status
    }

    fn look<R>(&self, read: impl FnOnce(&T) -> R) -> Result<R, decluster_status> {
        self.enter().map_err(refused)?;
        // SAFETY: nobody changes it while somebody looks.
        let read = catch(|| read(unsafe { &*self.value.get() })).map_err(|panicked| {
            let _ = self.panicked.set(c_string(&panicked));
            self.state.fetch_or(POISONED, Ordering::Release);
            DECLUSTER_ERROR_PANIC
        });
        self.state.fetch_sub(1, Ordering::Release);
        read
    }

    fn message(&self) -> *const c_char {
        match self.enter() {
            Ok(()) => {
                // SAFETY: nobody changes it while somebody looks.
                let message = unsafe { (*self.message.get()).as_ptr() };
                self.state.fetch_sub(1, Ordering::Release);
                message
            }
            Err(state) => {
                let panicked = self.panicked.get().map(|panicked| panicked.as_ptr());
                panicked.unwrap_or(text(refused(state)).as_ptr())
            }
        }
    }

    /// One more looks at it; or gives the state that forbids it.
    fn enter(&self) -> Result<(), u32> {
        let mut state = self.state.load(Ordering::Acquire);
        while state < ALONE - 1 {
            match self.move_from(state, state + 1) {
                Ok(()) => return Ok(()),
                Err(now) => state = now,
            }
        }
        Err(state)
    }

    /// Lets nobody in any more, unless somebody is in it.
    fn close(&self) -> bool {
        self.move_from(FREE, ALONE).or_else(|_| self.move_from(POISONED, ALONE)).is_ok()
    }

    fn move_from(&self, from: u32, to: u32) -> Result<(), u32> {
        let moved = self.state.compare_exchange(from, to, Ordering::Acquire, Ordering::Acquire);
        moved.map(|_| ())
    }
}

fn refused(state: u32) -> decluster_status {
    if state >= POISONED { DECLUSTER_ERROR_POISONED } else { DECLUSTER_ERROR_BUSY }
}

/// What a status means.
fn text(status: decluster_status) -> &'static CStr {
    STATUSES.iter().find(|(known, _)| *known == status).map_or(c"", |(_, text)| text)
}

/// Runs it; of a panic gives what it said and where.
fn catch<R>(act: impl FnOnce() -> R) -> Result<R, String> {
    // The tests of this crate are to see theirs.
    if !cfg!(test) {
        QUIET.call_once(keep_quiet);
    }
    // What a panic leaves behind is looked at by nobody: its handle is poisoned.
    let done = panic::catch_unwind(AssertUnwindSafe(|| {
        #[cfg(feature = "test-hook")]
        crate::test_hook::panic_if_asked();
        act()
    }));
    done.map_err(|payload| {
        let noted = NOTED.try_with(RefCell::take).ok().flatten();
        noted.unwrap_or_else(|| said(&*payload))
    })
}

/// The library prints nothing, not even its own panics. The hook is that of its own copy of Rust's runtime, and captures
/// nothing, so that unloading the library loses nothing.
fn keep_quiet() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
        let note = format!("panicked{}: {}", place.unwrap_or_default(), said(panic.payload()));
        // A thread that ends has none of it left.
        let _ = NOTED.try_with(|noted| noted.replace(Some(note)));
    }));
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("for no reason that can be told").to_owned()
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

static QUIET: Once = Once::new();

thread_local! {
    /// What the last panic said.
    static NOTED: RefCell<Option<String>> = const { RefCell::new(None) };
}
