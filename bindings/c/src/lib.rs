//! libdecluster: the engine, the rewriter, the segmenter and the event stream decoder for C.
//!
//! `include/decluster.h` is generated from the comments here, so they are written for C readers. This crate owns
//! what is unsafe: every pointer that comes from C is checked in `argument`, and every call goes through
//! `handle`, where panics stop.

#![allow(non_camel_case_types, reason = "these are names in C")]
#![allow(clippy::missing_safety_doc, reason = "the header says it once for all functions")]
#![allow(
    clippy::missing_errors_doc,
    reason = "the functions name their errors in the header's form"
)]
#![allow(clippy::enum_glob_use, reason = "the names of C's enumerators hold that of their enum")]
#![allow(missing_debug_implementations, reason = "handles are opaque")]

#[cfg(test)]
mod abi_tests;
mod answer;
mod argument;
mod handle;
#[cfg(feature = "test-hook")]
mod test_hook;
mod words;

// In the order of the header.
pub mod version;

pub mod status;

pub mod copy;

pub mod config;

pub mod output;

pub mod engine;

pub mod rewriter;

pub mod segmenter;

pub mod sse;

pub mod budget;

pub mod totals;

pub mod ledger;

pub mod body;
