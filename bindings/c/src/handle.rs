//! What stands behind a handle, and the way in: one thread at a time, and no panic gets out.

use crate::status::{STATUSES, decluster_status, decluster_status::*};
use std::any::Any;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::{CStr, CString, c_char};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering};

/// A type whose pointers C holds.
pub(crate) trait Opaque {
    /// Handles may move between threads.
    type Value: Send;

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
    match catch(make) {
        Ok(Ok(value)) => {
            let handle = Box::new(H::wrap(Handle::new(value)));
            // SAFETY: it is not NULL, and the caller says that it may be written.
            unsafe { out.write_unaligned(Box::into_raw(handle)) };
            DECLUSTER_OK
        }
        Ok(Err(refusal)) => refusal.status,
        Err(_) => DECLUSTER_ERROR_PANIC,
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

/// A call that changes nothing: not what was given out, nor what the last call that failed said.
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
    if used.is_some_and(|handle| handle.handle().enter() != Err(DECLUSTER_ERROR_BUSY)) {
        // SAFETY: the caller says so, and nobody gets in any more.
        let handle = unsafe { Box::from_raw(handle) };
        let _ = catch(|| drop(handle));
    }
}

/// A value that C holds a pointer to.
pub(crate) struct Handle<T> {
    state: AtomicU8,
    value: UnsafeCell<T>,
    /// What the last call that failed said.
    message: UnsafeCell<CString>,
}

const FREE: u8 = 0;
const BUSY: u8 = 1;
const POISONED: u8 = 2;

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
}

impl<T> Handle<T> {
    fn new(value: T) -> Self {
        Self {
            state: AtomicU8::new(FREE),
            value: UnsafeCell::new(value),
            message: UnsafeCell::default(),
        }
    }

    fn call(&self, act: impl FnOnce(&mut T) -> Outcome) -> decluster_status {
        let done = self.alone(|value| {
            // SAFETY: nobody else has it meanwhile.
            act(unsafe { &mut *value }).map_err(|refusal| {
                // SAFETY: as before.
                unsafe { *self.message.get() = c_string(&refusal.message) };
                refusal.status
            })
        });
        done.and_then(|done| done).err().unwrap_or(DECLUSTER_OK)
    }

    fn look<R>(&self, read: impl FnOnce(&T) -> R) -> Result<R, decluster_status> {
        // SAFETY: nobody else has it meanwhile.
        self.alone(|value| read(unsafe { &*value }))
    }

    fn message(&self) -> *const c_char {
        let entered = self.enter();
        if entered == Err(DECLUSTER_ERROR_BUSY) {
            return text(DECLUSTER_ERROR_BUSY).as_ptr();
        }
        // SAFETY: nobody else has it meanwhile; nobody writes to a poisoned one any more.
        let message = unsafe { (*self.message.get()).as_ptr() };
        if entered.is_ok() {
            self.state.store(FREE, Ordering::Release);
        }
        message
    }

    /// Does it while nobody else has value or message: whoever moves the state from FREE to BUSY is alone until it is
    /// moved back.
    fn alone<R>(&self, act: impl FnOnce(*mut T) -> R) -> Result<R, decluster_status> {
        self.enter()?;
        let done = catch(|| act(self.value.get()));
        let (state, done) = match done {
            Ok(done) => (FREE, Ok(done)),
            Err(panicked) => {
                // SAFETY: as said above.
                unsafe { *self.message.get() = c_string(&panicked) };
                (POISONED, Err(DECLUSTER_ERROR_PANIC))
            }
        };
        self.state.store(state, Ordering::Release);
        done
    }

    fn enter(&self) -> Result<(), decluster_status> {
        match self.state.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => Ok(()),
            Err(POISONED) => Err(DECLUSTER_ERROR_POISONED),
            Err(_) => Err(DECLUSTER_ERROR_BUSY),
        }
    }
}

/// What a status means.
fn text(status: decluster_status) -> &'static CStr {
    STATUSES.iter().find(|(known, _)| *known == status).map_or(c"", |(_, text)| text)
}

/// Runs it; of a panic gives what it said and where.
fn catch<R>(act: impl FnOnce() -> R) -> Result<R, String> {
    QUIET.call_once(keep_quiet);
    // A call within a call, as for the config of a new engine, leaves the outer one inside.
    let nested = INSIDE.replace(true);
    // What a panic leaves behind is looked at by nobody: its handle is poisoned.
    let done = panic::catch_unwind(AssertUnwindSafe(|| {
        #[cfg(feature = "test-hook")]
        crate::test_hook::panic_if_asked();
        act()
    }));
    INSIDE.set(nested);
    done.map_err(|payload| {
        let noted = NOTED.try_with(RefCell::take).ok().flatten();
        noted.unwrap_or_else(|| said(&*payload))
    })
}

/// The library prints nothing, not even its own panics. The hook is that of its own copy of Rust's runtime.
fn keep_quiet() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !INSIDE.get() {
            return usual(panic);
        }
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
    /// This thread is in a call of the library.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// What its last panic said.
    static NOTED: RefCell<Option<String>> = const { RefCell::new(None) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_within_a_call_leaves_the_outer_one_quiet() {
        let within = catch(|| {
            let inner: Result<(), _> = catch(|| panic!("first"));
            assert!(inner.is_err_and(|told| told.ends_with("first")));
            INSIDE.get()
        });
        assert_eq!(within, Ok(true));
        assert!(!INSIDE.get());
    }
}
