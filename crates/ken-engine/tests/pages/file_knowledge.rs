//! One file with the entries and norms about it.

use ken_core::ledger::entry::Entry;
use ken_core::trust::facts::Validity;
use ken_core::values::kind::EntryKind;
use ken_engine::validity::{FileKnowledge, FileSource, LineRange};
use ken_engine::{Engine, ErrorKind};

use crate::repository::Repository;

const PAY: &str = "\
struct Ledger;

impl Ledger {
    fn charge(cents: u64) -> bool {
        cents < 1_000
    }

    fn refund(cents: u64) {
        drop(cents);
    }
}
";

fn pay_repository() -> (Repository, Engine) {
    let repository = Repository::new();
    repository.write("src/pay.rs", PAY);
    repository.write("src/other.rs", "fn other() {}\n");
    repository.commit("code");
    let engine = repository.engine();
    (repository, engine)
}

/// A statement, its lines and its verdict.
type PlacedStatement = (String, Vec<(u32, u32)>, Validity);

fn lines(file: &FileKnowledge) -> Vec<PlacedStatement> {
    let range = |it: &LineRange| (it.first, it.last);
    let entries = file.entries.iter();
    entries
        .map(|it| {
            let text = it.check.entry.statement_text().to_owned();
            (
                text,
                it.lines.iter().map(range).collect(),
                it.check.validity,
            )
        })
        .collect()
}

#[test]
fn entries_stand_at_the_lines_of_their_code() {
    let (repository, mut engine) = pay_repository();
    let mut learn = |text: &str, anchors: &[&str]| repository.learn(&mut engine, text, anchors);
    learn("Refunds are never refused.", &["src/pay.rs#Ledger::refund"]);
    learn(
        "Charges of ten euros are refused.",
        &["src/pay.rs#Ledger::charge"],
    );
    learn(
        "Both count cents.",
        &["src/pay.rs:4-6", "src/pay.rs#Ledger::refund"],
    );
    learn("Payments live in one file.", &["src/pay.rs"]);
    learn("All code is below src.", &["src"]);
    learn("This is about another file.", &["src/other.rs#other"]);
    repository.add(
        &mut engine,
        EntryKind::CommitNorm,
        "Count money in cents.",
        |content| {
            content.applies_to = vec!["src/**/*.rs".parse().unwrap()];
        },
    );
    let file = engine.file_knowledge("src/pay.rs", None).unwrap();
    assert_eq!(file.source, FileSource::Text(PAY.to_owned()));
    let holds = Validity::Holds;
    let wanted = [
        ("Charges of ten euros are refused.", vec![(4, 6)], holds),
        ("Both count cents.", vec![(4, 6), (8, 10)], holds),
        ("Refunds are never refused.", vec![(8, 10)], holds),
        ("Payments live in one file.", vec![], holds),
        ("All code is below src.", vec![], holds),
    ];
    assert_eq!(
        lines(&file),
        wanted.map(|(text, at, it)| (text.to_owned(), at, it))
    );
    let norms: Vec<&str> = file.norms.iter().map(Entry::statement_text).collect();
    assert_eq!(norms, ["Count money in cents."]);
    let symbols: Vec<_> = file.symbols.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        symbols,
        ["Ledger", "impl Ledger", "Ledger::charge", "Ledger::refund"]
    );
}

#[test]
fn a_saved_file_changes_its_verdicts_and_is_the_only_one_parsed() {
    let (repository, mut engine) = pay_repository();
    let anchors = ["src/pay.rs#Ledger::charge", "src/other.rs#other"];
    let id = repository.learn(&mut engine, "Charges of ten euros are refused.", &anchors);
    assert_eq!(
        engine
            .file_knowledge("src/pay.rs", None)
            .unwrap()
            .parsed_files,
        0
    );
    let first = engine
        .live_state(&["src/pay.rs".to_owned()].into())
        .unwrap();

    repository.write(
        "src/pay.rs",
        PAY.replace("1_000", "100_000")
            .replace("struct", "\nstruct"),
    );
    let now = engine
        .live_state(&["src/pay.rs".to_owned()].into())
        .unwrap();
    let files: Vec<String> = now.changes_since(&first).files.into_iter().collect();
    assert_eq!(files, ["src/pay.rs"]);
    let file = engine.file_knowledge("src/pay.rs", None).unwrap();
    assert_eq!(file.parsed_files, 1, "only the saved file");
    let [entry] = &file.entries[..] else {
        panic!("{:?}", file.entries)
    };
    assert_eq!(
        (entry.check.entry.id, entry.check.validity),
        (id, Validity::Changed)
    );
    assert_eq!(entry.lines, [LineRange { first: 5, last: 7 }]);
    let diff = entry.check.anchors[0].diff.as_deref().unwrap();
    assert!(diff.contains("-        cents < 1_000"), "{diff}");
    assert!(diff.contains("+        cents < 100_000"), "{diff}");
    assert_eq!(
        engine
            .file_knowledge("src/pay.rs", None)
            .unwrap()
            .parsed_files,
        0,
        "cached"
    );

    repository.write("src/pay.rs", "struct Ledger;\n");
    let file = engine.file_knowledge("src/pay.rs", None).unwrap();
    assert!(file.entries[0].is_lost_from("src/pay.rs") && file.entries[0].lines.is_empty());
}

#[test]
fn a_commit_has_its_own_verdicts() {
    let (repository, mut engine) = pay_repository();
    repository.learn(
        &mut engine,
        "Charges are refused.",
        &["src/pay.rs#Ledger::charge"],
    );
    let old = repository.git(&["rev-parse", "HEAD"]);
    repository.write("src/pay.rs", PAY.replace("1_000", "2_000"));
    let new = repository.commit("raise the limit");
    let mut validity = |revision: &str| {
        let file = engine.file_knowledge("src/pay.rs", Some(revision)).unwrap();
        (
            file.entries[0].check.validity,
            file.entries[0].check.anchors[0].diff.is_some(),
        )
    };
    assert_eq!(validity(&old), (Validity::Holds, false));
    assert_eq!(validity(&new), (Validity::Changed, true));
    let error = engine
        .file_knowledge("src/pay.rs", Some("nowhere"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
}

#[test]
fn only_files_that_git_lists_are_shown() {
    let (repository, mut engine) = pay_repository();
    repository.write(".gitignore", ".env\nbuild/\n");
    repository.write(".env", "SECRET=1\n");
    repository.write("build/out.rs", "fn out() {}\n");
    repository.write("notes.txt", "not committed\n");
    repository.write("data.bin", [1, 0, 2]);
    repository.write("large.txt", "x".repeat(3 << 20));
    repository.write("a b/ü*.rs", "fn glob() {}\n");
    repository.write("tracked.env", "A=1\n");
    repository.commit("more");
    repository.write(".gitignore", ".env\nbuild/\n*.env\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/hostname", repository.root().join("link.txt")).unwrap();
    let cases = [
        ("src/pay.rs", true, "text"),
        ("notes.txt", true, "text"),
        ("a b/ü*.rs", true, "text"),
        ("tracked.env", true, "text"),
        ("data.bin", true, "binary"),
        ("large.txt", true, "large"),
        (".env", false, "absent"),
        ("build/out.rs", false, "absent"),
        ("src", false, "absent"),
        ("src/*.rs", false, "absent"),
        ("link.txt", false, "absent"),
        (".ken/VERSION", false, "absent"),
        (".git/config", false, "absent"),
        ("missing.rs", false, "absent"),
    ];
    for (path, listed, source) in cases {
        assert_eq!(engine.is_listed_file(path).unwrap(), listed, "{path}");
        let found = match engine.file_knowledge(path, None).unwrap().source {
            FileSource::Text(_) => "text",
            FileSource::Binary => "binary",
            FileSource::TooLarge { .. } => "large",
            FileSource::Absent => "absent",
        };
        assert_eq!(found, source, "{path}");
    }
    for path in [
        "../x",
        "/etc/passwd",
        "src/../../x",
        "",
        "a//b",
        "src/pay.rs#Ledger",
        "a:1-2",
    ] {
        let error = engine.file_knowledge(path, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::User, "{path}");
        assert!(engine.is_listed_file(path).is_err(), "{path}");
    }
}

#[test]
fn an_entry_that_depends_on_the_file_by_a_condition_has_no_line() {
    let (repository, mut engine) = pay_repository();
    repository.add(
        &mut engine,
        EntryKind::Learning,
        "Charging exists.",
        |content| {
            content.depends_on = vec!["symbol:src/pay.rs#Ledger::charge".parse().unwrap()];
        },
    );
    let file = engine.file_knowledge("src/pay.rs", None).unwrap();
    assert_eq!(
        lines(&file),
        [("Charging exists.".to_owned(), vec![], Validity::Holds)]
    );
    assert!(
        engine
            .file_knowledge("src/other.rs", None)
            .unwrap()
            .entries
            .is_empty()
    );
}
