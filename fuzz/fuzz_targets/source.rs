//! See `ken_fuzz::source`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ken_fuzz::source(data));

#[cfg(not(fuzzing))]
fn main() {}
