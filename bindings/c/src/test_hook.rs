//! Makes the library panic, for the tests alone.

use std::cell::Cell;

/// The next call of this thread panics.
#[unsafe(no_mangle)]
#[expect(unreachable_pub, reason = "C reaches it")]
pub extern "C" fn decluster_test_panic() {
    ASKED.set(true);
}

pub(crate) fn panic_if_asked() {
    assert!(!ASKED.take(), "as the test asked for");
}

thread_local! {
    static ASKED: Cell<bool> = const { Cell::new(false) };
}
