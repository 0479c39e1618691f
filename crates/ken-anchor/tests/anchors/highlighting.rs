//! Classes of tokens: a table of languages, laws on any text, and hostile files.

use std::time::{Duration, Instant};

use ken_anchor::{HIGHLIGHT_MS_MAX, PARSED_BYTES_MAX, TokenClass, highlight};
use proptest::prelude::*;

/// Returns the class of the first token with this text.
fn class_of(path: &str, source: &str, token: &str) -> Option<TokenClass> {
    let at = source.find(token).expect("the source has the token");
    let found = highlight(path, source);
    let mut ranges = found.ranges.into_iter();
    ranges.find(|it| it.bytes.contains(&at)).map(|it| it.class)
}

#[test]
fn tokens_have_the_class_of_their_language() {
    use TokenClass::{
        Attribute, Comment, Function, Heading, Keyword, Number, Property, String, Type,
    };
    let cases = [
        ("a.rs", "// why\nfn charge() -> u64 { 7 }", "fn", Keyword),
        ("a.rs", "// why\nfn charge() -> u64 { 7 }", "why", Comment),
        (
            "a.rs",
            "// why\nfn charge() -> u64 { 7 }",
            "charge",
            Function,
        ),
        ("a.rs", "// why\nfn charge() -> u64 { 7 }", "u64", Type),
        ("a.py", "def charge():\n    return 'x'\n", "def", Keyword),
        ("a.py", "def charge():\n    return 'x'\n", "'x'", String),
        ("a.ts", "interface A { b: number }", "interface", Keyword),
        ("a.ts", "const a: number = 12;", "12", Number),
        ("a.tsx", "const a = <b>c</b>;", "const", Keyword),
        ("a.js", "function a() {}", "function", Keyword),
        ("a.jsx", "const a = <Box wide={1} />;", "wide", Attribute),
        ("a.tsx", "const a = <Box wide={1} />;", "wide", Attribute),
        ("a.go", "package a\nfunc b() {}\n", "func", Keyword),
        ("A.java", "class A { int b = 1; }", "class", Keyword),
        ("a.c", "int a(void) { return 1; }", "return", Keyword),
        ("a.cpp", "namespace a { class B {}; }", "class", Keyword),
        (
            "a.cs",
            "class A { int B() { return 1; } }",
            "return",
            Keyword,
        ),
        ("a.rb", "def a\n  'x'\nend\n", "def", Keyword),
        (
            "a.php",
            "<?php function a() { return 1; }",
            "function",
            Keyword,
        ),
        ("a.sh", "if true; then echo 'x'; fi\n", "'x'", String),
        ("a.toml", "[a]\nb = 1\n", "b", Property),
        ("a.yaml", "a: 'x'\n", "'x'", String),
        ("a.json", "{\"a\": 12}", "12", Number),
        ("a.md", "# Title\n\ntext\n", "Title", Heading),
    ];
    for (path, source, token, class) in cases {
        assert_eq!(class_of(path, source, token), Some(class), "{path} {token}");
    }
}

#[test]
fn a_file_without_a_grammar_or_too_large_has_no_classes() {
    let large = "fn a() {}\n".repeat(PARSED_BYTES_MAX / 10 + 1);
    for (path, source) in [
        ("a.txt", "fn a() {}"),
        ("a.rs", &large),
        ("a.rs", "fn a()\0 {}"),
    ] {
        let found = highlight(path, source);
        assert!(found.ranges.is_empty() && !found.is_cut, "{path}");
    }
}

#[test]
fn hostile_files_end_in_time() {
    // Twice the limit, and room for a slow machine: the flag is looked at between steps.
    let limit = Duration::from_millis(HIGHLIGHT_MS_MAX) * 20;
    let pieces = [
        ("a.rs", "("),
        ("a.rs", "/*"),
        ("a.rs", "r#\""),
        ("a.py", "if a:\n"),
        ("a.py", "f'{"),
        ("a.ts", "a<b,"),
        ("a.ts", "`${"),
        ("a.tsx", "<a "),
        ("a.js", "x=>("),
        ("a.go", "{"),
        ("A.java", "a<"),
        ("a.c", "#if\n"),
        ("a.cpp", "a<b<"),
        ("a.cs", "$\"{"),
        ("a.rb", "#{"),
        ("a.php", "<?php "),
        ("a.sh", "$("),
        ("a.toml", "a.b."),
        ("a.yaml", "[a, "),
        ("a.yaml", "- - "),
        ("a.json", "["),
        ("a.md", "* "),
        ("a.md", "> "),
    ];
    for (path, piece) in pieces {
        let source = piece.repeat(PARSED_BYTES_MAX / piece.len());
        let started = Instant::now();
        let found = highlight(path, &source);
        let took = started.elapsed();
        assert!(took < limit, "{path} {piece:?} took {took:?}");
        check_laws(
            &source,
            &found
                .ranges
                .iter()
                .map(|it| it.bytes.clone())
                .collect::<Vec<_>>(),
        );
    }
}

/// Ranges are in order, disjoint, not empty and on character boundaries.
fn check_laws(source: &str, ranges: &[std::ops::Range<usize>]) {
    let mut end = 0;
    for range in ranges {
        assert!(range.start >= end && range.start < range.end, "{ranges:?}");
        assert!(
            source.get(range.clone()).is_some(),
            "{range:?} splits a character"
        );
        end = range.end;
    }
}

proptest! {
    #[test]
    fn ranges_cover_whole_characters_in_order(
        path in prop::sample::select(vec![
            "a.rs", "a.py", "a.ts", "a.tsx", "a.js", "a.go", "A.java", "a.c", "a.cpp", "a.cs",
            "a.rb", "a.php", "a.sh", "a.toml", "a.yaml", "a.json", "a.md",
        ]),
        source in "([a-z ]{0,6}|[(){}<>\\[\\]\"'`#/*=;:,.\n\\\\$&-]|[\u{e4}\u{4e2d}\u{1f600}\u{202e}\u{200d}]){0,40}",
    ) {
        let found = highlight(path, &source);
        check_laws(&source, &found.ranges.iter().map(|it| it.bytes.clone()).collect::<Vec<_>>());
    }
}
