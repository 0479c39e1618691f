//! See `ken_fuzz::condition`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ken_fuzz::condition(data));

#[cfg(not(fuzzing))]
fn main() {}
