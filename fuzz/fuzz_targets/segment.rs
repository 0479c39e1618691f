//! See `ken_fuzz::segment`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ken_fuzz::segment(data));

#[cfg(not(fuzzing))]
fn main() {}
