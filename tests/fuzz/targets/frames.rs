#![no_main]

use decluster_tests::{alloc::Counting, checks};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::frames::check(input));
