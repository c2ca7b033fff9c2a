//! Which library this is.

use std::ffi::c_char;

/// The version of the binary interface. A change that could break a program that was compiled before raises it, and the
/// SONAME with it.
pub const DECLUSTER_ABI_VERSION: u32 = 0;

/// The version of the binary interface that the library has: compare it with `DECLUSTER_ABI_VERSION` where the linker does not,
/// as after `dlopen()`.
#[unsafe(no_mangle)]
pub extern "C" fn decluster_abi_version() -> u32 {
    DECLUSTER_ABI_VERSION
}

/// The version of the library, such as `0.1.0`: a static string that ends with a NUL.
#[unsafe(no_mangle)]
pub extern "C" fn decluster_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
