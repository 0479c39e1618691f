//! See `ken_fuzz::normalize`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ken_fuzz::normalize(data));

#[cfg(not(fuzzing))]
fn main() {}
