//! Fingerprint sensitivity: every change of meaning, however small, changes the fingerprint.

use ken_anchor::{Symbol, outline};

use crate::samples::{SAMPLES, fingerprints_by_name};

/// Asserts that the first symbol of a file has a different fingerprint in each spelling.
fn assert_all_differ(path: &str, spellings: &[&str]) {
    let first = |source: &str| -> Symbol {
        let outline = outline(path, source.as_bytes());
        let found = outline.symbols().first().cloned();
        found.unwrap_or_else(|| panic!("{path} has no symbol: {source}"))
    };
    for (at, one) in spellings.iter().enumerate() {
        for other in &spellings[at + 1..] {
            let (left, right) = (first(one), first(other));
            assert_ne!(
                left.fingerprint, right.fingerprint,
                "{path}\n{one}\n{other}"
            );
        }
    }
}

const RUST: &[&[&str]] = &[
    &[
        "fn f() { a < b }",
        "fn f() { a <= b }",
        "fn f() { b < a }",
        "fn f() { a < c }",
    ],
    &[
        "fn f() { a(); b(); }",
        "fn f() { b(); a(); }",
        "fn f() { a(); b() }",
        "fn f() { a(); }",
    ],
    &[
        "fn f() { (a + b) * c }",
        "fn f() { a + b * c }",
        "fn f() { a + (b * c) }",
    ],
    &["fn f() { (self.a)() }", "fn f() { self.a() }"],
    &[
        "fn f() { \"a b\" }",
        "fn f() { \"a  b\" }",
        "fn f() { \"a\\nb\" }",
        "fn f() { \"\" }",
    ],
    &[
        "fn f() { 1 }",
        "fn f() { 2 }",
        "fn f() { 1u8 }",
        "fn f() { 1.0 }",
    ],
    &["fn f() { (a,) }", "fn f() { (a) }", "fn f() { a }"],
    &["fn f() -> (A,) {}", "fn f() -> (A) {}", "fn f() -> A {}"],
    &[
        "#[a]\nfn f() {}",
        "#[b]\nfn f() {}",
        "fn f() {}",
        "pub fn f() {}",
    ],
    &[
        "fn f() { m!(a, b) }",
        "fn f() { m!(b, a) }",
        "fn f() { m![a, b] }",
        "fn f() { m!(a b) }",
    ],
    &[
        "fn f() { match a { 1 => {} _ => b } }",
        "fn f() { match a { 1 => b, _ => {} } }",
    ],
    &[
        "fn f() { match a { 1 => { b } } }",
        "fn f() { match a { 1 => { b; } } }",
    ],
    &[
        "fn f() { if a { 1 } else { 2 } }",
        "fn f() { if a { 1 } else { 2 }; }",
    ],
    &["fn f() { ; }", "fn f() { a; }"],
    &[
        "use a; fn f() { use b; }",
        "use a; fn f() { use c; }",
        "use a; fn f() { pub use b; }",
    ],
    &[
        "const A: u8 = 1;",
        "const A: u8 = 2;",
        "const A: u16 = 1;",
        "static A: u8 = 1;",
    ],
    &[
        "struct A { b: u8, c: u8 }",
        "struct A { c: u8, b: u8 }",
        "struct A { b: u8 }",
    ],
];

#[test]
fn changes_of_rust_are_seen() {
    for spellings in RUST {
        assert_all_differ("a.rs", spellings);
    }
}

const PYTHON: &[&[&str]] = &[
    &[
        "def f():\n  a()\n  b()",
        "def f():\n  b()\n  a()",
        "def f():\n  a(b())",
    ],
    &[
        "def f():\n  if a:\n    b()\n  c()",
        "def f():\n  if a:\n    b()\n    c()",
    ],
    &["X = (a,)", "X = (a)", "X = [a]", "X = a,b", "X = {a}"],
    &["X = d[1,]", "X = d[1]", "X = d[1, 2]", "X = d[(1, 2), 3]"],
    &[
        "X = 'a  b'",
        "X = 'a b'",
        "X = b'a b'",
        "X = f'a b'",
        "X = '\\na b'",
    ],
    &["X = 'a\\n  \\nb'", "X = 'a\\n \\nb'", "X = r'a\\n  \\nb'"],
    &["X = r'\\''", "X = r'\\\"'"],
    &["X = b'\\uABCD'", "X = b'\\uabcd'"],
    &[
        "X = f'{a=}'",
        "X = f'{a = }'",
        "X = f'{a}'",
        "X = f'{a!r}'",
        "X = f'{a:>3}'",
    ],
    &["X = 1", "X = 1.0", "X = 10", "X = 1j"],
    &["X = (a + b) * c", "X = a + b * c"],
    &["X = (a < b) < c", "X = a < b < c"],
    &[
        "@a\ndef f(): pass",
        "@b\ndef f(): pass",
        "def f(): pass",
        "async def f(): pass",
    ],
    &[
        "def f(a, b=1): pass",
        "def f(a, b=2): pass",
        "def f(b, a=1): pass",
        "def f(a, *, b=1): pass",
    ],
    &[
        "def f():\n  'doc'\n  'more'",
        "def f():\n  'doc'\n  'other'",
    ],
    &["def f():\n  f'doc'", "def f():\n  f'other'"],
    &["X = a not in b", "X = a in b", "X = not a in b"],
    &[
        "def f():\n  return a",
        "def f():\n  yield a",
        "def f():\n  a",
    ],
];

#[test]
fn changes_of_python_are_seen() {
    for spellings in PYTHON {
        assert_all_differ("a.py", spellings);
    }
}

const JAVASCRIPT: &[&[&str]] = &[
    &[
        "const f = () => { a(); b() }",
        "const f = () => { b(); a() }",
        "const f = () => { a(b()) }",
    ],
    &[
        "const f = () => ({})",
        "const f = () => {}",
        "const f = () => []",
    ],
    &["const a = (b?.c).d", "const a = b?.c.d", "const a = b.c.d"],
    &["const a = (b + c) * d", "const a = b + c * d"],
    &["const a = b - (c - d)", "const a = b - c - d"],
    &["const a = b && c || d", "const a = b && (c || d)"],
    &["const a = b === c", "const a = b == c", "const a = b !== c"],
    &[
        "const a = 'x  y'",
        "const a = 'x y'",
        "const a = `x y`",
        "const a = 'x\\ty'",
    ],
    &[
        "const a = `x  ${b}`",
        "const a = `x ${b}`",
        "const a = `x  ${c}`",
    ],
    &["const a = [b,,]", "const a = [b,]", "const a = [,b]"],
    &[
        "const f = (x) => x",
        "const f = ([x]) => x",
        "const f = (x = 1) => x",
        "const f = (...x) => x",
    ],
    &[
        "const f = () => { for (;a;) b }",
        "const f = () => { for (a;;) b }",
        "const f = () => { for (;;a) b }",
    ],
    &[
        "const a = { b: 1 }",
        "const a = { [b]: 1 }",
        "const a = { b }",
        "const a = { 'b c': 1 }",
    ],
    &[
        "const a = 1",
        "const a = 10",
        "const a = 1n",
        "let a = 1",
        "export const a = 1",
    ],
    &["const a = /x/g", "const a = /x/i", "const a = /y/g"],
    &["const a = new (b())", "const a = new b()", "const a = b()"],
    &[
        "function f() { 'use strict' }",
        "function f() { ('use strict') }",
    ],
    &["const a = b(c, d)", "const a = b((c, d))"],
];

const JSX: &[&[&str]] = &[
    &[
        "const A = () => <a>b c</a>",
        "const A = () => <a>b d</a>",
        "const A = () => <a>b c </a>",
    ],
    &[
        "const A = () => <a b=\"c\" />",
        "const A = () => <a b={c} />",
        "const A = () => <a b=\"d\" />",
    ],
    &[
        "const A = () => <a b=\"\\'\" />",
        "const A = () => <a b=\"'\" />",
    ],
];

#[test]
fn changes_of_javascript_are_seen() {
    for spellings in JAVASCRIPT {
        assert_all_differ("a.js", spellings);
        assert_all_differ("a.ts", spellings);
    }
    for spellings in JSX {
        assert_all_differ("a.tsx", spellings);
        assert_all_differ("a.jsx", spellings);
    }
    assert_all_differ(
        "a.ts",
        &[
            "type A = B | C",
            "type A = C | B",
            "type A = B & C",
            "type A = B",
        ],
    );
    assert_all_differ("a.ts", &["type A = (B | C)[]", "type A = B | C[]"]);
}

const OTHER_LANGUAGES: &[(&str, &[&str])] = &[
    (
        "a.go",
        &[
            "package a\nfunc f() { a(); b() }",
            "package a\nfunc f() { b(); a() }",
            "package a\nfunc f() { go a(); b() }",
        ],
    ),
    (
        "a.go",
        &[
            "package a\nfunc f() { for ;a; {} }",
            "package a\nfunc f() { for a;; {} }",
        ],
    ),
    (
        "a.go",
        &[
            "package a\nvar x = `a  b`",
            "package a\nvar x = `a b`",
            "package a\nvar x = \"a b\"",
        ],
    ),
    (
        "a.java",
        &[
            "class A { int f() { return 1; } }",
            "class A { int f() { return 2; } }",
            "class A { long f() { return 1; } }",
        ],
    ),
    (
        "a.c",
        &[
            "int f(void) { return a & b; }",
            "int f(void) { return a && b; }",
            "int f(void) { return (a) & b; }",
        ],
    ),
    (
        "a.c",
        &["#define A \"x  y\"", "#define A \"x y\"", "#define A x"],
    ),
    (
        "a.cpp",
        &[
            "struct A { int f() const; };",
            "struct A { int f(); };",
            "struct A { virtual int f(); };",
        ],
    ),
    (
        "a.cs",
        &[
            "class A { string F() => $\"a  {b}\"; }",
            "class A { string F() => $\"a {b}\"; }",
            "class A { string F() => @\"a {b}\"; }",
        ],
    ),
    (
        "a.rb",
        &[
            "def f\n  \"a  #{b}\"\nend",
            "def f\n  \"a #{b}\"\nend",
            "def f\n  'a #{b}'\nend",
        ],
    ),
    (
        "a.rb",
        &[
            "def f\n  <<~X\n    a  b\n  X\nend",
            "def f\n  <<~X\n    a b\n  X\nend",
        ],
    ),
    (
        "a.php",
        &[
            "<?php function f() { return \"a  $b\"; }",
            "<?php function f() { return \"a $b\"; }",
            "<?php function f() { return 'a $b'; }",
        ],
    ),
    (
        "a.sh",
        &[
            "f() { a && b; }",
            "f() { a || b; }",
            "f() { a; b; }",
            "f() { a b; }",
            "f() { a & b; }",
        ],
    ),
    (
        "a.sh",
        &[
            "f() { echo \"a  b\"; }",
            "f() { echo \"a b\"; }",
            "f() { echo a b; }",
            "f() { echo 'a b'; }",
        ],
    ),
    (
        "a.sh",
        &["f() { cat <<X\na  b\nX\n}", "f() { cat <<X\na b\nX\n}"],
    ),
    (
        "a.toml",
        &[
            "a = 1",
            "a = 2",
            "a = '1'",
            "a = [1]",
            "a = [[1]]",
            "a = 1.0",
        ],
    ),
    (
        "a.yaml",
        &[
            "a: b",
            "a: 'b'",
            "a: [b]",
            "a: c",
            "a: !x b",
            "a:\n  - b",
            "a: {b: c}",
        ],
    ),
    (
        "a.yaml",
        &[
            "a: |\n  b\n   c",
            "a: |\n  b\n  c",
            "a: >\n  b\n  c",
            "a: |-\n  b\n  c",
        ],
    ),
    (
        "a.json",
        &[
            "{\"a\": 1}",
            "{\"a\": 2}",
            "{\"a\": \"1\"}",
            "{\"a\": [1]}",
            "{\"a\": {\"b\": 1}}",
        ],
    ),
    (
        "a.md",
        &[
            "# A\n\nb c",
            "# A\n\nb d",
            "# A\n\n- b c",
            "# A\n\n```\nb c\n```",
            "# A\n\n```\nb  c\n```",
        ],
    ),
];

#[test]
fn changes_of_other_languages_are_seen() {
    for (path, spellings) in OTHER_LANGUAGES {
        assert_all_differ(path, spellings);
    }
}

/// Replaces every word of every sample in turn and asserts that a name or a fingerprint changes.
#[test]
fn no_word_is_overlooked() {
    for (path, source) in SAMPLES {
        let before = fingerprints_by_name(path, source);
        let outline = outline(path, source.as_bytes());
        for (start, word) in split_words(source) {
            let end = start + word.len();
            let holds = |it: &&Symbol| it.bytes.start <= start && end <= it.bytes.end;
            if !outline.symbols().iter().any(|it| holds(&it)) || is_comment(source, start) {
                continue;
            }
            let other = if word.bytes().all(|b| b.is_ascii_digit()) {
                "77"
            } else {
                "zebra"
            };
            let edited = format!("{}{other}{}", &source[..start], &source[end..]);
            assert_ne!(
                before,
                fingerprints_by_name(path, &edited),
                "{path}: `{word}` at byte {start}"
            );
        }
    }
}

fn split_words(source: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut at = 0;
    for part in source.split(|c| !is_word(c)) {
        if !part.is_empty() {
            found.push((at, part));
        }
        at += part.len() + 1;
    }
    found
}

/// Returns true if the line at `at` is a comment; in the samples, comments occupy whole lines.
fn is_comment(source: &str, at: usize) -> bool {
    let start = source[..at].rfind('\n').map_or(0, |at| at + 1);
    let line = source[start..].trim_start();
    line.starts_with("//") || line.starts_with("\"\"\"")
}
