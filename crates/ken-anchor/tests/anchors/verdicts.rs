//! Verdicts on an anchor after its file, or another file, changed.

use ken_anchor::{
    AnchorComparison, Fingerprint, LostSymbol, MovedSymbol, Outline, ResolveError, compare_anchor,
    find_moved, outline, resolve,
};
use ken_core::values::anchor::FilePart;

const OLD_SOURCE: &str = "
fn charge(cents: u64) -> u64 {
    if cents > LIMIT {
        return refuse(cents);
    }
    post(cents)
}
fn get(&self) -> u8 { self.a }
";

fn symbol(name: &str) -> FilePart {
    FilePart::Symbol(name.to_owned())
}

fn take_fingerprint(path: &str, source: &str, spot: &FilePart) -> Fingerprint {
    resolve(path, source.as_bytes(), spot)
        .expect("it is there")
        .fingerprint
}

fn compare_sources(old: &str, new: &str, spot: &FilePart) -> AnchorComparison {
    compare_anchor(
        "a.rs",
        new.as_bytes(),
        spot,
        take_fingerprint("a.rs", old, spot),
    )
}

#[test]
fn a_symbol_is_intact_changed_or_gone() {
    let charge = symbol("charge");
    let reformatted = OLD_SOURCE.replace('\n', "\n\n  ");
    assert!(matches!(
        compare_sources(OLD_SOURCE, &reformatted, &charge),
        AnchorComparison::Intact(_)
    ));
    let changed = OLD_SOURCE.replace('>', ">=");
    assert!(matches!(
        compare_sources(OLD_SOURCE, &changed, &charge),
        AnchorComparison::Changed(_)
    ));
    let renamed = OLD_SOURCE.replace("charge", "charges");
    let expected = AnchorComparison::Gone {
        nearest: vec!["charges".to_owned()],
    };
    assert_eq!(compare_sources(OLD_SOURCE, &renamed, &charge), expected);
}

#[test]
fn a_namesake_that_came_later_does_not_change_the_first() {
    let old = "struct A; impl From<u8> for A { fn from(a: u8) -> A { A } }";
    let new = format!("{old} impl From<u16> for A {{ fn from(a: u16) -> A {{ A }} }}");
    let from = symbol("A::from");
    assert!(matches!(
        compare_sources(old, &new, &from),
        AnchorComparison::Intact(_)
    ));
    // The anchor covered both functions; one of them changed.
    let changed = new.replace("a: u16) -> A { A }", "a: u16) -> A { b() }");
    assert!(matches!(
        compare_sources(&new, &changed, &from),
        AnchorComparison::Changed(_)
    ));
}

#[test]
fn a_number_follows_its_namesake() {
    let old = "fn f(a: u8) {} fn f(b: u16) {}";
    let new = "fn f(z: u64) {} fn f(a: u8) {} fn f(b: u16) {}";
    let AnchorComparison::Moved { to, .. } = compare_sources(old, new, &symbol("f[2]")) else {
        panic!("not moved");
    };
    assert_eq!(to, symbol("f[3]"));
}

#[test]
fn lines_are_intact_moved_changed_or_gone() {
    let lines = FilePart::Lines { first: 3, last: 5 };
    assert!(matches!(
        compare_sources(OLD_SOURCE, OLD_SOURCE, &lines),
        AnchorComparison::Intact(_)
    ));
    let AnchorComparison::Moved { to, .. } =
        compare_sources(OLD_SOURCE, &format!("// one\n\n{OLD_SOURCE}"), &lines)
    else {
        panic!("not moved");
    };
    assert_eq!(to, FilePart::Lines { first: 5, last: 7 });
    let changed = OLD_SOURCE.replace("LIMIT", "MAX");
    assert!(matches!(
        compare_sources(OLD_SOURCE, &changed, &lines),
        AnchorComparison::Changed(_)
    ));
    assert!(matches!(
        compare_sources(OLD_SOURCE, "fn f() {}", &lines),
        AnchorComparison::Gone { .. }
    ));
}

#[test]
fn a_file_is_intact_or_changed() {
    assert!(matches!(
        compare_sources(
            OLD_SOURCE,
            &OLD_SOURCE.replace('\n', "\r\n"),
            &FilePart::File
        ),
        AnchorComparison::Intact(_)
    ));
    assert!(matches!(
        compare_sources(OLD_SOURCE, "fn f() {}", &FilePart::File),
        AnchorComparison::Changed(_)
    ));
}

#[test]
fn a_fingerprint_of_something_else_proves_nothing() {
    let of_file = take_fingerprint("a.rs", OLD_SOURCE, &FilePart::File);
    let verdict = compare_anchor("a.rs", OLD_SOURCE.as_bytes(), &symbol("charge"), of_file);
    assert_eq!(
        verdict,
        AnchorComparison::Unknown(ResolveError::MethodMismatch)
    );
    let verdict = compare_anchor("a.rs", b"\0", &FilePart::File, of_file);
    assert_eq!(verdict, AnchorComparison::Unknown(ResolveError::Binary));
}

fn find_moved_symbol(name: &str, files: &[(&str, &str)]) -> Option<(String, String)> {
    let outlines: Vec<(&str, Outline)> = files
        .iter()
        .map(|(path, source)| (*path, outline(path, source.as_bytes())))
        .collect();
    let lost = LostSymbol {
        path: "a.rs",
        name,
        fingerprint: take_fingerprint("a.rs", OLD_SOURCE, &symbol(name)),
    };
    let found = find_moved(
        &lost,
        outlines.iter().map(|(path, outline)| (*path, outline)),
    );
    found.map(|MovedSymbol { path, name, .. }| (path, name))
}

#[test]
fn a_symbol_is_followed_to_the_nearest_place() {
    let renamed = OLD_SOURCE.replace("charge", "bill");
    let place = |path: &str, name: &str| Some((path.to_owned(), name.to_owned()));
    assert_eq!(
        find_moved_symbol("charge", &[("a.rs", &renamed)]),
        place("a.rs", "bill")
    );
    assert_eq!(
        find_moved_symbol("charge", &[("b.rs", OLD_SOURCE)]),
        place("b.rs", "charge")
    );
    assert_eq!(
        find_moved_symbol(
            "charge",
            &[("c.rs", &renamed), ("a.rs", &renamed), ("b.rs", OLD_SOURCE)]
        ),
        place("b.rs", "charge")
    );
    assert_eq!(
        find_moved_symbol("charge", &[("b.rs", "fn charge() {}")]),
        None
    );
}

#[test]
fn two_places_equally_near_are_none() {
    assert_eq!(
        find_moved_symbol("charge", &[("b.rs", OLD_SOURCE), ("c.rs", OLD_SOURCE)]),
        None
    );
}

#[test]
fn those_of_one_name_are_followed_together() {
    let place = |path: &str, name: &str| Some((path.to_owned(), name.to_owned()));
    let old = "fn f(a: u8) -> u8 { a + 1 } fn f(b: u16) -> u16 { b + 2 }";
    let lost = LostSymbol {
        path: "a.rs",
        name: "f",
        fingerprint: take_fingerprint("a.rs", old, &symbol("f")),
    };
    let find = |source: &str| {
        let now = outline("b.rs", source.as_bytes());
        let found = find_moved(&lost, [("b.rs", &now)]);
        found.map(|MovedSymbol { path, name, .. }| (path, name))
    };
    assert_eq!(find(old), place("b.rs", "f"));
    assert_eq!(find("fn f(a: u8) -> u8 { a + 1 }"), None);
    assert_eq!(find(&old.replace("b + 2", "b + 3")), None);
}

#[test]
fn namesakes_that_say_the_same_are_one_place() {
    let twice = format!("{OLD_SOURCE} {OLD_SOURCE}");
    let found = find_moved_symbol("charge", &[("b.rs", &twice)]);
    assert_eq!(found, Some(("b.rs".to_owned(), "charge".to_owned())));
}

#[test]
fn what_is_small_is_not_followed_to_another_name() {
    let renamed = OLD_SOURCE.replace("get", "got");
    assert_eq!(find_moved_symbol("get", &[("b.rs", &renamed)]), None);
    assert_eq!(
        find_moved_symbol("get", &[("b.rs", OLD_SOURCE)]).unwrap().1,
        "get"
    );
}
