//! See `ken_fuzz::redact_again`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ken_fuzz::redact_again(data));

#[cfg(not(fuzzing))]
fn main() {}
