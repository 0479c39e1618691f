//! Fuzz targets: properties that hold for any input bytes. Each function panics if one is violated.
//!
//! `cargo +nightly fuzz run TARGET -- -max_total_time=600` searches for counterexamples; every test
//! run executes the files in `seeds/`.

use ken_anchor::{Outline, outline};
use ken_core::values::condition::{ParsedCondition, parse};
use ken_guard::{GuardPolicy, GuardVerdict, ScannedField, TextMode, admit, redact};
use ken_ledger::segment::{raw_lines, read_segment};

/// Prefixes tried before an input, because a fuzzer rarely guesses a scheme.
const SCHEMES: [&str; 9] = [
    "",
    "not ",
    "file:",
    "symbol:a.rs#",
    "text:a~",
    "code:rust~",
    "config:a.toml#",
    "pkg:npm/",
    "fact:",
];

/// File names an input is parsed as, selected by its first byte.
const FILES: [&str; 17] = [
    "a.rs", "a.py", "a.ts", "a.tsx", "a.js", "a.go", "a.java", "a.c", "a.cpp", "a.cs", "a.rb",
    "a.php", "a.sh", "a.toml", "a.yaml", "a.json", "a.md",
];

/// Parses a condition: it does not panic, and a valid one prints as written and parses back.
pub fn condition(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    // A condition without a valid scheme exercises only the first error path.
    for scheme in SCHEMES {
        let text = format!("{scheme}{text}");
        if let Ok(condition) = parse(&text) {
            let printed = condition.to_string();
            assert_eq!(printed, text.trim(), "printed otherwise");
            assert_eq!(parse(&printed).as_ref(), Ok(&condition), "read otherwise");
            check_paths(&condition);
        }
    }
}

/// Matches paths of a diff to the condition; any path may occur.
fn check_paths(condition: &ParsedCondition) {
    for path in ["a.rs", "a/b/Cargo.lock", "", "é/\u{1}"] {
        let _ = condition.may_depend_on(path);
    }
}

/// Parses a segment: it does not panic, and yields at most one event per line.
pub fn segment(data: &[u8]) {
    let lines = raw_lines(data).count();
    if let Ok(read) = read_segment("semantic/v1/a.jsonl", data) {
        assert!(read.events.len() <= lines, "more events than lines");
    }
}

/// Parses source code: it does not panic, symbols are within the file, and the cache text
/// round-trips.
pub fn source(data: &[u8]) {
    let Some((first, source)) = data.split_first() else {
        return;
    };
    let path = FILES[usize::from(*first) % FILES.len()];
    let found = outline(path, source);
    let lines = source.split(|byte| *byte == b'\n').count();
    for symbol in found.symbols() {
        let last = usize::try_from(symbol.last_line).unwrap_or(usize::MAX);
        assert!(last <= lines, "beyond the end of the file");
        assert!(
            symbol.first_line <= symbol.last_line,
            "ends before it begins"
        );
    }
    // Exact names include ordinals, which the cache must preserve.
    let kept = Outline::from_cache_text(path, &found.to_cache_text());
    let names = |outline: &Outline| -> Vec<String> {
        let symbols = outline.symbols().iter();
        symbols.map(|it| outline.exact_name(it)).collect()
    };
    assert_eq!(
        kept.as_ref().map(names),
        Some(names(&found)),
        "kept otherwise"
    );
}

/// Guard modes, selected by the first byte.
const MODES: [TextMode; 3] = [TextMode::Prose, TextMode::Statement, TextMode::Code];

/// Splits off the first byte, which selects the mode of the rest.
fn as_text(data: &[u8]) -> Option<(TextMode, &str)> {
    let (first, rest) = data.split_first()?;
    let mode = MODES[usize::from(*first) % MODES.len()];
    Some((mode, str::from_utf8(rest).ok()?))
}

/// Scans a text: it does not panic, and every finding is a valid range of the text.
pub fn normalize(data: &[u8]) {
    let Some((mode, text)) = as_text(data) else {
        return;
    };
    let field = ScannedField {
        name: "text",
        text,
        mode,
    };
    let verdict = admit(&GuardPolicy::default(), &[field]);
    for finding in verdict.findings() {
        assert!(!finding.span.is_empty(), "an empty finding");
        assert!(
            text.get(finding.span.clone()).is_some(),
            "a finding inside a character"
        );
    }
    if let GuardVerdict::Admit { findings, .. } = &verdict {
        assert!(
            !findings.iter().any(|it| it.rule.starts_with("hidden-")),
            "hidden and let in"
        );
    }
}

/// Redacts a text: it does not panic, leaves no secret, and is idempotent.
pub fn redact_again(data: &[u8]) {
    let Some((mode, text)) = as_text(data) else {
        return;
    };
    let policy = GuardPolicy::default();
    let redacted = redact(&policy, text, mode);
    let redacted_twice = redact(&policy, &redacted.text, mode);
    assert!(redacted_twice.replaced.is_empty(), "a secret was left");
    assert_eq!(redacted_twice.text, redacted.text, "redacted otherwise");
}
