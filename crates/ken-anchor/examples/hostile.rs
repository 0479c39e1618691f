//! How long the worst files take that are still parsed: `cargo run -p ken-anchor --example
//! hostile`.

#![expect(clippy::print_stdout, reason = "a table is its answer")]

use std::time::Instant;

use ken_anchor::{PARSED_BYTES_MAX, outline};

fn main() {
    for (path, piece) in [
        ("a.rs", ";"),
        ("a.rs", "("),
        ("a.py", "a,"),
        ("a.py", "if a:\n"),
        ("a.ts", "a<b,"),
        ("a.ts", "`${"),
        ("a.md", "* "),
        ("a.yaml", "[a, "),
        ("a.json", "["),
        ("a.cpp", "a<b<"),
        ("a.go", "{"),
        ("a.php", "<?php "),
    ] {
        let source = piece.repeat(PARSED_BYTES_MAX / piece.len());
        let started = Instant::now();
        let symbols = outline(path, source.as_bytes()).symbols().len();
        println!("{:>8.1?}  {path:<7} {piece:?} {symbols}", started.elapsed());
    }
}
