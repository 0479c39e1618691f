//! What must hold for any bytes at all. Each function panics where it does not.
//!
//! `cargo +nightly fuzz run TARGET -- -max_total_time=600` looks for such bytes; the files in `seeds/` are run by
//! every test run.

use ken_anchor::{Outline, outline};
use ken_core::condition::{Condition, parse};
use ken_guard::{Field, Policy, TextMode, Verdict, admit, redact};
use ken_ledger::segment::{raw_lines, read_segment};

/// The conditions a fuzz input is tried as: as it is, and behind each scheme, which a fuzzer rarely guesses.
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

/// Files a fuzz input is read as; the first byte picks one.
const FILES: [&str; 17] = [
    "a.rs", "a.py", "a.ts", "a.tsx", "a.js", "a.go", "a.java", "a.c", "a.cpp", "a.cs", "a.rb",
    "a.php", "a.sh", "a.toml", "a.yaml", "a.json", "a.md",
];

/// Reads a condition: no panic, and what is understood prints as it was written and reads back the same.
pub fn condition(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    for scheme in SCHEMES {
        let text = format!("{scheme}{text}");
        if let Ok(understood) = parse(&text) {
            let printed = understood.to_string();
            assert_eq!(printed, text.trim(), "printed otherwise");
            assert_eq!(parse(&printed).as_ref(), Ok(&understood), "read otherwise");
            reaches(&understood);
        }
    }
}

/// A diff is matched to conditions by paths alone; any path may come.
fn reaches(condition: &Condition) {
    for path in ["a.rs", "a/b/Cargo.lock", "", "é/\u{1}"] {
        let _ = condition.may_depend_on(path);
    }
}

/// Reads a segment: no panic, and a segment that is whole has only lines that are events.
pub fn segment(data: &[u8]) {
    let lines = raw_lines(data).count();
    if let Ok(read) = read_segment("semantic/v1/a.jsonl", data) {
        assert!(read.events.len() <= lines, "more events than lines");
    }
}

/// Parses source code: no panic, every symbol lies within the file, and what is kept reads back the same.
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
    let kept = Outline::from_kept(path, &found.to_kept());
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

/// How a fuzz input is read by the guard; the first byte picks one.
const MODES: [TextMode; 3] = [TextMode::Prose, TextMode::Statement, TextMode::Code];

/// Takes the first byte as the way to read the rest.
fn as_text(data: &[u8]) -> Option<(TextMode, &str)> {
    let (first, rest) = data.split_first()?;
    let mode = MODES[usize::from(*first) % MODES.len()];
    Some((mode, str::from_utf8(rest).ok()?))
}

/// Scans a text, in its raw and its normalised form and behind encodings: no panic, and every finding lies in the text.
pub fn normalise(data: &[u8]) {
    let Some((mode, text)) = as_text(data) else {
        return;
    };
    let field = Field {
        name: "text",
        text,
        mode,
    };
    let verdict = admit(&Policy::default(), &[field]);
    for finding in verdict.findings() {
        assert!(!finding.span.is_empty(), "an empty finding");
        assert!(
            text.get(finding.span.clone()).is_some(),
            "a finding inside a character"
        );
    }
    if let Verdict::Admit { findings, .. } = &verdict {
        assert!(
            !findings.iter().any(|it| it.rule.starts_with("hidden-")),
            "hidden and let in"
        );
    }
}

/// Redacts a text: no panic, no secret is left, and redacting again changes nothing.
pub fn redact_again(data: &[u8]) {
    let Some((mode, text)) = as_text(data) else {
        return;
    };
    let policy = Policy::default();
    let once = redact(&policy, text, mode);
    let twice = redact(&policy, &once.text, mode);
    assert!(twice.replaced.is_empty(), "a secret was left");
    assert_eq!(twice.text, once.text, "redacted otherwise");
}
