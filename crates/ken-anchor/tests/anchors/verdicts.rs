//! What became of an anchor when its file, or another one, changed.

use ken_anchor::{
    Fingerprint, Found, Lost, Outline, Unresolved, Verdict, compare, find_moved, outline, resolve,
};
use ken_core::anchor::Spot;

const OLD: &str = "
fn charge(cents: u64) -> u64 {
    if cents > LIMIT {
        return refuse(cents);
    }
    post(cents)
}
fn get(&self) -> u8 { self.a }
";

fn symbol(name: &str) -> Spot {
    Spot::Symbol(name.to_owned())
}

fn taken(path: &str, source: &str, spot: &Spot) -> Fingerprint {
    resolve(path, source.as_bytes(), spot)
        .expect("it is there")
        .fingerprint
}

fn verdict(old: &str, new: &str, spot: &Spot) -> Verdict {
    compare("a.rs", new.as_bytes(), spot, taken("a.rs", old, spot))
}

#[test]
fn a_symbol_is_intact_changed_or_gone() {
    let charge = symbol("charge");
    let reformatted = OLD.replace('\n', "\n\n  ");
    assert!(matches!(
        verdict(OLD, &reformatted, &charge),
        Verdict::Intact(_)
    ));
    let changed = OLD.replace('>', ">=");
    assert!(matches!(
        verdict(OLD, &changed, &charge),
        Verdict::Changed(_)
    ));
    let renamed = OLD.replace("charge", "charges");
    let expected = Verdict::Gone {
        nearest: vec!["charges".to_owned()],
    };
    assert_eq!(verdict(OLD, &renamed, &charge), expected);
}

#[test]
fn a_namesake_that_came_later_does_not_change_the_first() {
    let old = "struct A; impl From<u8> for A { fn from(a: u8) -> A { A } }";
    let new = format!("{old} impl From<u16> for A {{ fn from(a: u16) -> A {{ A }} }}");
    let from = symbol("A::from");
    assert!(matches!(verdict(old, &new, &from), Verdict::Intact(_)));
    // Both were meant; one of them changed.
    let changed = new.replace("a: u16) -> A { A }", "a: u16) -> A { b() }");
    assert!(matches!(
        verdict(&new, &changed, &from),
        Verdict::Changed(_)
    ));
}

#[test]
fn a_number_follows_its_namesake() {
    let old = "fn f(a: u8) {} fn f(b: u16) {}";
    let new = "fn f(z: u64) {} fn f(a: u8) {} fn f(b: u16) {}";
    let Verdict::Moved { to, .. } = verdict(old, new, &symbol("f[2]")) else {
        panic!("not moved");
    };
    assert_eq!(to, symbol("f[3]"));
}

#[test]
fn lines_are_intact_moved_changed_or_gone() {
    let lines = Spot::Lines { first: 3, last: 5 };
    assert!(matches!(verdict(OLD, OLD, &lines), Verdict::Intact(_)));
    let Verdict::Moved { to, .. } = verdict(OLD, &format!("// one\n\n{OLD}"), &lines) else {
        panic!("not moved");
    };
    assert_eq!(to, Spot::Lines { first: 5, last: 7 });
    let changed = OLD.replace("LIMIT", "MAX");
    assert!(matches!(
        verdict(OLD, &changed, &lines),
        Verdict::Changed(_)
    ));
    assert!(matches!(
        verdict(OLD, "fn f() {}", &lines),
        Verdict::Gone { .. }
    ));
}

#[test]
fn a_file_is_intact_or_changed() {
    assert!(matches!(
        verdict(OLD, &OLD.replace('\n', "\r\n"), &Spot::File),
        Verdict::Intact(_)
    ));
    assert!(matches!(
        verdict(OLD, "fn f() {}", &Spot::File),
        Verdict::Changed(_)
    ));
}

#[test]
fn a_fingerprint_of_something_else_proves_nothing() {
    let of_file = taken("a.rs", OLD, &Spot::File);
    let verdict = compare("a.rs", OLD.as_bytes(), &symbol("charge"), of_file);
    assert_eq!(verdict, Verdict::Unknown(Unresolved::OtherMethod));
    let verdict = compare("a.rs", b"\0", &Spot::File, of_file);
    assert_eq!(verdict, Verdict::Unknown(Unresolved::Binary));
}

fn moved(name: &str, files: &[(&str, &str)]) -> Option<(String, String)> {
    let outlines: Vec<(&str, Outline)> = files
        .iter()
        .map(|(path, source)| (*path, outline(path, source.as_bytes())))
        .collect();
    let lost = Lost {
        path: "a.rs",
        name,
        fingerprint: taken("a.rs", OLD, &symbol(name)),
    };
    let found = find_moved(
        &lost,
        outlines.iter().map(|(path, outline)| (*path, outline)),
    );
    found.map(|Found { path, name, .. }| (path, name))
}

#[test]
fn a_symbol_is_followed_to_the_nearest_place() {
    let renamed = OLD.replace("charge", "bill");
    let place = |path: &str, name: &str| Some((path.to_owned(), name.to_owned()));
    assert_eq!(
        moved("charge", &[("a.rs", &renamed)]),
        place("a.rs", "bill")
    );
    assert_eq!(moved("charge", &[("b.rs", OLD)]), place("b.rs", "charge"));
    assert_eq!(
        moved(
            "charge",
            &[("c.rs", &renamed), ("a.rs", &renamed), ("b.rs", OLD)]
        ),
        place("b.rs", "charge")
    );
    assert_eq!(moved("charge", &[("b.rs", "fn charge() {}")]), None);
}

#[test]
fn two_places_equally_near_are_none() {
    assert_eq!(moved("charge", &[("b.rs", OLD), ("c.rs", OLD)]), None);
}

#[test]
fn those_of_one_name_are_followed_together() {
    let place = |path: &str, name: &str| Some((path.to_owned(), name.to_owned()));
    let old = "fn f(a: u8) -> u8 { a + 1 } fn f(b: u16) -> u16 { b + 2 }";
    let lost = Lost {
        path: "a.rs",
        name: "f",
        fingerprint: taken("a.rs", old, &symbol("f")),
    };
    let find = |source: &str| {
        let now = outline("b.rs", source.as_bytes());
        let found = find_moved(&lost, [("b.rs", &now)]);
        found.map(|Found { path, name, .. }| (path, name))
    };
    assert_eq!(find(old), place("b.rs", "f"));
    assert_eq!(find("fn f(a: u8) -> u8 { a + 1 }"), None);
    assert_eq!(find(&old.replace("b + 2", "b + 3")), None);
}

#[test]
fn namesakes_that_say_the_same_are_one_place() {
    let twice = format!("{OLD} {OLD}");
    let found = moved("charge", &[("b.rs", &twice)]);
    assert_eq!(found, Some(("b.rs".to_owned(), "charge".to_owned())));
}

#[test]
fn what_is_small_is_not_followed_to_another_name() {
    let renamed = OLD.replace("get", "got");
    assert_eq!(moved("get", &[("b.rs", &renamed)]), None);
    assert_eq!(moved("get", &[("b.rs", OLD)]).unwrap().1, "get");
}
