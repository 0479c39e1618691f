//! Symbols found in each language, and the names that resolve to them.

use ken_anchor::{NESTING_MAX, ResolveError, outline, resolve};
use ken_core::values::anchor::FilePart;

use crate::samples::{SAMPLES, sample_source, symbol_names};

fn assert_names(path: &str, expected: &str) {
    assert_eq!(
        symbol_names(path, sample_source(path)).join(", "),
        expected,
        "{path}"
    );
}

#[test]
fn languages_that_qualify_with_colons() {
    assert_names(
        "ledger.rs",
        "Ledger, Kind, Kind::A, Kind::B, impl Ledger, Ledger::LIMIT, Ledger::charge, \
         impl fmt::Display for Ledger, Ledger::fmt, impl fmt::Debug for Kind, Kind::fmt, \
         impl From<u8> for Kind, Kind::from, impl From<u16> for Kind, Kind::from, Book, \
         Book::Item, Book::open, Book::close, inner, inner::X, inner::m, inner::helper, \
         inner::helper::nested, inner::helper::Q, Alias",
    );
    assert_names(
        "ledger.cpp",
        "pay::inner, pay::inner::Ledger, pay::inner::Ledger::Ledger, \
         pay::inner::Ledger::~Ledger, pay::inner::Ledger::charge, \
         pay::inner::Ledger::refund, pay::inner::Ledger::total_, pay::inner::Ledger::N, \
         pay::inner::Ledger::operator==, pay::inner::Ledger::Kind, \
         pay::inner::Ledger::Inner, pay::inner::Ledger::Inner::z, \
         pay::inner::Ledger::refund, pay::inner::Ledger::other, pay::inner::Alias, \
         pay::inner::C, pay::inner::LIMIT, main",
    );
    assert_names(
        "ledger.php",
        "LIMIT, Book, Book::charge, Logs, Logs::log, Ledger, Ledger::N, Ledger::total, \
         Ledger::__construct, Ledger::charge, Ledger::open, Kind, Kind::A, Kind::Z, Kind::f, \
         helper",
    );
    assert_names(
        "ledger.rb",
        "Pay, Pay::LIMIT, Pay::Ledger, Pay::Ledger::initialize, Pay::Ledger::charge, \
         Pay::Ledger::open, Pay::Ledger::close, Pay::Ledger::total=, Pay::Ledger::add, \
         Pay::A::B, Pay::A::B::x",
    );
}

#[test]
fn languages_that_qualify_with_dots() {
    assert_names(
        "session.py",
        "LIMIT, name, Session, Session.retries, Session.__init__, Session.token, \
         Session.refresh, Session.refresh.inner, Session.Meta, Session.Meta.x, main, OTHER",
    );
    assert_names(
        "session.ts",
        "LIMIT, other, add, Session, Session.retries, Session.#x, Session.constructor, \
         Session.refresh, Session.refresh.inner, Session.token, Session.token, Session.foo, \
         Session.handler, Session.quoted-name, I, I.run, U, Color, NS, NS.f, g, over, over, \
         over, Abs, Abs.m, obj, obj.run, obj.go, obj.nested, obj.nested.deep",
    );
    assert_names("View.tsx", "View, Old, Old.render");
    assert_names(
        "pay.js",
        "f, g, Foo.bar, x, y, y.named, gen, A, A.#p, A.m, A.s, default",
    );
    assert_names(
        "ledger.go",
        "Limit, A, B, C, D, total, other, Ledger, Book, Book.Charge, X, Y, New, \
         Ledger.Charge, Ledger.Close",
    );
    assert_names(
        "Ledger.java",
        "Ledger, Ledger.total, Ledger.other, Ledger.NAME, Ledger.Ledger, Ledger.charge, \
         Ledger.charge, Ledger.Kind, Ledger.Kind.A, Ledger.Kind.B, Ledger.Kind.B.f, \
         Ledger.Kind.g, Ledger.In, Ledger.In.h, Ledger.In.K, Ledger.P, Ledger.P.P, \
         Ledger.Ann, Ledger.Ann.value",
    );
    assert_names(
        "node.c",
        "MAX, SQ, node_t, node, node.v, node.next, point, point.x, point.y, color, u, u.a, \
         u.b, table, add, name_of, callback, counter",
    );
    assert_names(
        "Ledger.cs",
        "Ledger, Ledger.total, Ledger.x, Ledger.N, Ledger.Ledger, Ledger.~Ledger, \
         Ledger.Charge, Ledger.Total, Ledger.Done, Ledger.H, Ledger.operator+, Ledger.this, \
         Ledger.F, Ledger.F.Local, IBook, IBook.Charge, Kind, Kind.A, Kind.B, R, S, S.y",
    );
    assert_names("charge.sh", "LIMIT, NAME, Z, charge, refund");
}

#[test]
fn files_of_keys_and_headings() {
    assert_names(
        "package.toml",
        "title, package, package.name, package.metadata.docs.rs, \
         package.metadata.docs.rs.all, package.metadata.docs.rs.quoted key, bin, bin.name, \
         bin, bin.name, a.b c.d, a.b c.d.e",
    );
    assert_names(
        "ci.yaml",
        "name, on, on.push, on.push.branches, jobs, jobs.build, jobs.build.runs-on, \
         jobs.build.steps, jobs.build.steps.name, jobs.build.steps.run, \
         jobs.build.steps.uses, quoted",
    );
    assert_names(
        "package.json",
        "name, scripts, scripts.build, scripts.a.b, scripts.a.b.c, n",
    );
    assert_names(
        "guide.md",
        "Title, Title > Install, Title > Install > Linux, Title > Install, \
         Title > Install > Setext",
    );
}

#[cfg(feature = "more-languages")]
#[test]
fn languages_behind_the_feature() {
    assert_names(
        "Ledger.kt",
        "LIMIT, Ledger, Ledger.name, Ledger.charge, Ledger.open, Registry, Registry.all, \
         helper",
    );
    assert_names(
        "Ledger.swift",
        "limit, Book, Book.charge, Ledger, Ledger.total, Ledger.init, Ledger.charge, helper",
    );
}

#[test]
fn every_symbol_is_found_by_its_names() {
    for (path, source) in SAMPLES {
        let outline = outline(path, source.as_bytes());
        for symbol in outline.symbols() {
            let exact = outline.exact_name(symbol);
            assert_eq!(outline.find(&exact), [symbol], "{path}#{exact}");
            assert!(
                outline.find(&symbol.name).contains(&symbol),
                "{path}#{}",
                symbol.name
            );
            for also in &symbol.also {
                assert!(outline.find(also).contains(&symbol), "{path}#{also}");
            }
        }
    }
}

#[test]
fn the_end_of_a_name_is_enough_where_it_is_the_only_one() {
    let found = |path: &str, name: &str| {
        let outline = outline(path, sample_source(path).as_bytes());
        let names: Vec<String> = outline
            .find(name)
            .iter()
            .map(|it| it.name.clone())
            .collect();
        names
    };
    assert_eq!(found("ledger.rs", "charge"), ["Ledger::charge"]);
    assert_eq!(
        found("ledger.rs", "helper::nested"),
        ["inner::helper::nested"]
    );
    assert_eq!(found("ledger.rs", "arge"), Vec::<String>::new());
    // `Ledger::fmt` and `Kind::fmt`.
    assert_eq!(found("ledger.rs", "fmt"), Vec::<String>::new());
    assert_eq!(found("ledger.rs", "<Kind as Debug>::fmt"), ["Kind::fmt"]);
    assert_eq!(
        found("ledger.rs", "<Kind as From<u16>>::from"),
        ["Kind::from"]
    );
    assert_eq!(found("ledger.rs", "Kind::from").len(), 2);
    assert_eq!(found("ledger.rs", "Kind::from[2]"), ["Kind::from"]);
    assert_eq!(found("ledger.rs", "Kind::from[3]"), Vec::<String>::new());
    assert_eq!(found("session.py", "refresh"), ["Session.refresh"]);
    assert_eq!(found("guide.md", "Linux"), ["Title > Install > Linux"]);
    assert_eq!(found("ci.yaml", "runs-on"), ["jobs.build.runs-on"]);
}

#[test]
fn a_symbol_has_its_attributes_and_lines() {
    let resolved = |path: &str, name: &str| {
        let spot = FilePart::Symbol(name.to_owned());
        let found = resolve(path, sample_source(path).as_bytes(), &spot).unwrap();
        (found.first_line, found.last_line)
    };
    assert_eq!(resolved("ledger.rs", "Ledger"), (3, 5));
    assert_eq!(resolved("ledger.rs", "Ledger::charge"), (10, 15));
    assert_eq!(resolved("session.py", "main"), (18, 19));
}

#[test]
fn what_is_not_found_is_refused_with_a_reason() {
    let refused =
        |path: &str, source: &[u8], spot: FilePart| resolve(path, source, &spot).unwrap_err();
    let symbol = |name: &str| FilePart::Symbol(name.to_owned());
    let source = sample_source("ledger.rs").as_bytes();
    assert_eq!(
        refused("ledger.rs", source, symbol("Ledger::chrage")).to_string(),
        "no symbol `Ledger::chrage`; nearest: `Ledger::charge`"
    );
    assert_eq!(
        refused("ledger.rs", source, symbol("fmt")),
        ResolveError::SymbolNotFound {
            name: "fmt".to_owned(),
            nearest: vec!["Ledger::fmt".to_owned(), "Kind::fmt".to_owned()],
        }
    );
    assert_eq!(
        refused("Makefile", b"all:", symbol("all")).to_string(),
        "`Makefile` cannot be parsed: only its lines or the whole file can be anchored"
    );
    assert_eq!(refused("a.rs", b"\0", FilePart::File), ResolveError::Binary);
    let lines = FilePart::Lines { first: 2, last: 3 };
    assert_eq!(
        refused("a", b"x\ny\n", lines),
        ResolveError::LinesOutOfRange { lines: 2 }
    );
    let large = vec![b'\n'; ken_anchor::FILE_BYTES_MAX + 1];
    assert!(matches!(
        refused("a", &large, FilePart::File),
        ResolveError::TooLarge { .. }
    ));
}

#[test]
fn any_text_has_lines() {
    let spot = FilePart::Lines { first: 2, last: 2 };
    let found = resolve("Makefile", b"all:\n\tmake  x\n", &spot).unwrap();
    assert_eq!(found.text(b"all:\n\tmake  x\n"), "\tmake  x");
    assert_eq!(found.weight, 2);
    assert!(resolve("Makefile", b"", &FilePart::File).is_ok());
}

#[test]
fn deep_nesting_is_survived() {
    for (path, open) in [
        ("a.json", "{\"a\":"),
        ("a.rs", "mod a { "),
        ("a.js", "(() => { function f() { "),
        ("a.py", "(["),
        ("a.cpp", "namespace a { "),
        ("a.md", "> "),
        ("a.yaml", "{a: "),
        ("b.yaml", "- "),
    ] {
        let source = open.repeat(20_000);
        let found = outline(path, source.as_bytes());
        let separator = found
            .language()
            .map_or(".", ken_anchor::Language::separator);
        for symbol in found.symbols() {
            assert!(
                symbol.name.split(separator).count() <= NESTING_MAX,
                "{path}"
            );
        }
    }
}
