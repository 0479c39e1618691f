//! See `ken_fuzz::normalise`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ken_fuzz::normalise(data));

#[cfg(not(fuzzing))]
fn main() {}
