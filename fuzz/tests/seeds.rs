//! Seed inputs as tests: starting points of the fuzzer and inputs that once failed.

use std::fs;
use std::path::Path;

fn run(target: &str, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    let files = fs::read_dir(folder).expect("seeds");
    let mut seen = 0;
    for file in files {
        let path = file.expect("a seed").path();
        check(&fs::read(&path).expect("a seed"));
        seen += 1;
    }
    assert!(seen > 0, "{target} has no seeds");
}

#[test]
fn conditions() {
    run("condition", ken_fuzz::condition);
}

#[test]
fn segments() {
    run("segment", ken_fuzz::segment);
}

#[test]
fn sources() {
    run("source", ken_fuzz::source);
}

#[test]
fn scans() {
    run("normalize", ken_fuzz::normalize);
}

#[test]
fn redactions() {
    run("redact", ken_fuzz::redact_again);
}
