//! Fingerprint stability: layout, comments and formatters do not change fingerprints.

use crate::samples::{SAMPLES, fingerprints_by_name};

/// Asserts that two spellings of a file have the same symbols and fingerprints.
fn assert_same_fingerprints(path: &str, one: &str, other: &str) {
    let (left, right) = (
        fingerprints_by_name(path, one),
        fingerprints_by_name(path, other),
    );
    assert!(!left.is_empty(), "{path} has no symbols: {one}");
    assert_eq!(left, right, "{path}\n{one}\n---\n{other}");
}

const RUSTFMT: &[(&str, &str)] = &[
    (
        "fn f(a: u8, b: u8) { g(a, b) }",
        "fn f(\n    a: u8,\n    b: u8,\n) {\n    g(\n        a,\n        b,\n    )\n}",
    ),
    (
        "fn f() { match a { 1 => { b }, 2 => { c() } } }",
        "fn f() { match a { 1 => b, 2 => c(), } }",
    ),
    (
        "fn f() { match a { 1 => { return 2 } _ => 3 } }",
        "fn f() { match a { 1 => { return 2; } _ => 3, } }",
    ),
    ("fn f() { g(|x| { x + 1 }) }", "fn f() { g(|x| x + 1) }"),
    (
        "fn f() { match a { | A | B => 1, _ => 2 } }",
        "fn f() { match a { A | B => 1, _ => 2 } }",
    ),
    (
        "fn f() { match a { A => 1, _ => 2 } }",
        "fn f() { match a { | A => 1, | _ => 2 } }",
    ),
    (
        "impl From<Box<dyn A + Send>> for X { fn f() {} }",
        "impl\n    From<\n        Box<\n            dyn A + Send,\n        >,\n    > for X\n{ fn f() {} }",
    ),
    ("fn f() { return 1 }", "fn f() { return 1; }"),
    ("fn f() -> () {}", "fn f() {}"),
    ("extern fn f() {}", "extern \"C\" fn f() {}"),
    ("fn f() { ((a)); }", "fn f() { (a); }"),
    (
        "#[derive(A)]\n#[derive(B)]\nstruct X;",
        "#[derive(A, B,)]\nstruct X;",
    ),
    (
        "mod m { use b::{d, c}; use a; }",
        "mod m { use a;\nuse b::c; use b::d; }",
    ),
    (
        "/// Doc.\nfn f() { /* a */ b() } // c",
        "#[doc = \"Other.\"]\nfn f() { b() }",
    ),
    (
        "struct X { a: u8, b: u8 }",
        "struct X {\n    a: u8,\n    b: u8,\n}",
    ),
    ("fn f() { vec![1, 2,]; }", "fn f() { vec![1, 2]; }"),
    (
        "fn f() where T: A, U: B {}",
        "fn f()\nwhere\n    T: A,\n    U: B,\n{}",
    ),
    ("fn f() { struct A {}; a() }", "fn f() { struct A {} a() }"),
];

#[test]
fn rustfmt_does_not_trip_it() {
    for (one, other) in RUSTFMT {
        assert_same_fingerprints("a.rs", one, other);
    }
}

const BLACK: &[(&str, &str)] = &[
    ("X = 'a'", "X = \"a\""),
    ("X = 'it\\'s'", "X = \"it's\""),
    ("X = '\"'", "X = \"\\\"\""),
    (
        "X = U'a' + F'{b}' + Rb'c'",
        "X = \"a\" + f\"{b}\" + rb\"c\"",
    ),
    (
        "X = 0XAB + 1E5 + 2J + 1. + .5",
        "X = 0xab + 1e5 + 2j + 1.0 + 0.5",
    ),
    ("X = '\\xAB'", "X = '\\xab'"),
    ("X = f(a, b)", "X = f(\n    a,\n    b,\n)"),
    ("X = a + \\\n  b", "X = (\n    a\n    + b\n)"),
    (
        "def f():\n    return a, b",
        "def f():\n    return (\n        a,\n        b,\n    )",
    ),
    (
        "def f():\n    for (x, y) in (z):\n        pass",
        "def f():\n    for x, y in z: pass",
    ),
    (
        "def f():\n    for (x) in z:\n        pass",
        "def f():\n    for x in z: pass",
    ),
    ("class A():\n    pass", "class A:\n    pass"),
    ("def f():\n    a(); b()", "def f():\n    a()\n    b()"),
    (
        "def f():\n    '''Doc.'''\n    # why\n    a()",
        "def f():\n    \"\"\"Other.\"\"\"\n    a()",
    ),
    (
        "def f():\n    if (a and b): c()",
        "def f():\n    if a and b:\n        c()",
    ),
    (
        "def f():\n    from a import b, c",
        "def f():\n    from a import (\n        b,\n        c,\n    )",
    ),
    (
        "def f():\n    with a as b, c as d: pass",
        "def f():\n    with (\n        a as b,\n        c as d,\n    ):\n        pass",
    ),
    ("def f():\n    del (a, b)", "def f():\n    del a, b"),
    (
        "def f() -> A[\n    B[C.d], e | None\n]: pass",
        "def f() -> (\n    A[B[C.d], e | None]\n): pass",
    ),
    ("X = a  not  in b", "X = a not in b"),
    ("def f():\n\treturn 1", "def f():\n    return 1"),
];

#[test]
fn black_does_not_trip_it() {
    for (one, other) in BLACK {
        assert_same_fingerprints("a.py", one, other);
    }
}

const PRETTIER: &[(&str, &str)] = &[
    ("const f = x => x + 1", "const f = (x) => x + 1;"),
    (
        "const f = async x => { await x }",
        "const f = async (x) => {\n  await x;\n};",
    ),
    ("const a = 'it\\'s'", "const a = \"it's\";"),
    (
        "const a = { 'b': 1, 'c-d': 2 }",
        "const a = { b: 1, \"c-d\": 2, };",
    ),
    (
        "const a = .5 + 5. + 0XAB + 1.50 + 1E+5",
        "const a = 0.5 + 5 + 0xab + 1.5 + 1e5;",
    ),
    ("const a = (b)", "const a = b;"),
    ("const a = b && (c && d)", "const a = b && c && d;"),
    ("const a = b % c * d", "const a = (b % c) * d;"),
    ("const a = new B", "const a = new B();"),
    ("const a = /x/ig", "const a = /x/gi;"),
    (
        "function f() { /* a */ return 1 } // b",
        "function f() {\n  return 1;\n}",
    ),
    (
        "class A { a = 1; b() {}; }",
        "class A {\n  a = 1\n  b() {}\n}",
    ),
    ("const a = [1, 2,]", "const a = [1, 2]"),
    (
        "class A { [ Symbol.iterator ]() {} }",
        "class A { [Symbol.iterator]() {} }",
    ),
    (
        "function f() { if (a) { b() };; }",
        "function f() { if (a) { b(); } }",
    ),
    (
        "var f = (function () { return 1 })",
        "var f = function () { return 1; };",
    ),
];

const PRETTIER_TYPES: &[(&str, &str)] = &[
    ("type A = | B | C", "type A = B | C;"),
    ("type A = (B)", "type A = B"),
    (
        "interface A { b: string, c(): void }",
        "interface A {\n  b: string;\n  c(): void;\n}",
    ),
    ("enum A { B = 'c', }", "enum A { B = \"c\" }"),
    ("const f = <T,>(x: T) => x", "const f = <T>(x: T) => x"),
];

const PRETTIER_JSX: &[(&str, &str)] = &[
    (
        "const A = () => <a b={'c'}>d  e\n   f</a>",
        "const A = () => (\n  <a b=\"c\">\n    d e f\n  </a>\n);",
    ),
    (
        "const A = () => <a>b <c/></a>",
        "const A = () => (\n  <a>\n    b{' '}\n    <c />\n  </a>\n);",
    ),
    (
        "const A = () => <a>{/* x */}<b/></a>",
        "const A = () => <a><b/></a>",
    ),
];

#[test]
fn prettier_does_not_trip_it() {
    for (one, other) in PRETTIER {
        assert_same_fingerprints("a.js", one, other);
        assert_same_fingerprints("a.ts", one, other);
    }
    for (one, other) in PRETTIER_TYPES {
        assert_same_fingerprints("a.ts", one, other);
    }
    for (one, other) in PRETTIER_JSX {
        assert_same_fingerprints("a.tsx", one, other);
        assert_same_fingerprints("a.jsx", one, other);
    }
}

const OTHER_FORMATTERS: &[(&str, &str, &str)] = &[
    (
        "a.go",
        "package a\nfunc f() { a(); b() }",
        "package a\n\n// f does.\nfunc f() {\n\ta()\n\tb()\n}",
    ),
    (
        "a.go",
        "package a\nvar x = f(1, 0XA)",
        "package a\nvar x = f(\n\t1,\n\t0xa,\n)",
    ),
    (
        "a.java",
        "class A { int f() { return 1; } }",
        "class A {\n  /** Doc. */\n  int f() {\n    return 1; // one\n  }\n}",
    ),
    (
        "a.c",
        "#define A(x) (x + \\\n  1)",
        "#define A(x)   (x + 1)",
    ),
    (
        "a.c",
        "int f(int a){return a;}",
        "int\nf (int a)\n{\n  /* a */\n  return a;\n}",
    ),
    (
        "a.cpp",
        "struct A { int f() { return 1; } };",
        "struct A\n{\n  int f()\n  {\n    return 1; // one\n  }\n};",
    ),
    (
        "a.cs",
        "class A { int F() { return 1; } }",
        "class A\n{\n    // F\n    int F()\n    {\n        return 1;\n    }\n}",
    ),
    (
        "a.rb",
        "def f(a)\n a + 1\nend",
        "# f\ndef f(a)\n  a + 1 # one\nend",
    ),
    (
        "a.php",
        "<?php function f($a) { return [$a, 1]; }",
        "<?php\n// f\nfunction f($a)\n{\n    return [\n        $a,\n        1,\n    ];\n}",
    ),
    (
        "a.sh",
        "f() { if a; then b; fi; }",
        "f() {\n  # b\n  if a\n  then\n    b\n  fi\n}",
    ),
    (
        "a.toml",
        "[a]\nb = 'c' # d\ne = [1, 2]",
        "[a]\nb = \"c\"\ne = [\n  1,\n  2,\n]",
    ),
    (
        "a.yaml",
        "a:\n  b: 'c' # d\n  e: |\n    f\n      g",
        "a:\n    b: \"c\"\n    e: |\n        f\n          g",
    ),
    (
        "a.json",
        "{\"a\":{\"b\":[1,2]}}",
        "{\n  \"a\": {\n    \"b\": [1, 2]\n  }\n}\n",
    ),
    (
        "a.md",
        "# A\n\nb\nc\n\n* d\n* e\n",
        "# A\n\nb c\n\n- d\n- e\n",
    ),
];

#[test]
fn other_formatters_do_not_trip_it() {
    for (path, one, other) in OTHER_FORMATTERS {
        assert_same_fingerprints(path, one, other);
    }
}

/// Sources with line breaks. Inside strings, other languages distinguish `\r\n` from `\n`.
const LINE_BREAK_SOURCES: &[(&str, &str)] = &[
    ("a.rs", "fn f() {\n    g(\"a\n\", r#\"b\nc\"#)\n}\n"),
    (
        "a.py",
        "def f():\n    return \"\"\"a\nb\"\"\" + f\"\"\"{c}\n\"\"\"\n",
    ),
    ("a.js", "function f() {\n  return `a\n${b}\n`\n}\n"),
    ("a.tsx", "const a = () => <b>c\n  d</b>\n"),
];

#[test]
fn line_breaks_of_another_system_do_not_trip_it() {
    for (path, source) in LINE_BREAK_SOURCES {
        assert_same_fingerprints(path, source, &source.replace('\n', "\r\n"));
    }
}

#[test]
fn blank_lines_at_the_end_do_not_trip_it() {
    for (path, source) in SAMPLES {
        assert_same_fingerprints(path, source, &format!("{source}\n\n"));
    }
}
