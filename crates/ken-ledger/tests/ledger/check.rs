//! Findings of a ledger check, and their completeness.

use std::fs;

use crate::sample;
use crate::support::LedgerSandbox;
use ken_ledger::check::{LedgerFinding, LedgerSeverity};

fn check_findings(sandbox: &LedgerSandbox) -> Vec<LedgerFinding> {
    sandbox.open().init().unwrap();
    sandbox.open().check().unwrap().findings
}

#[test]
fn a_sound_ledger_has_no_findings() {
    for mut sandbox in [LedgerSandbox::in_git(), LedgerSandbox::plain()] {
        sandbox.add();
        assert_eq!(check_findings(&sandbox), []);
        assert_eq!(sandbox.open().check().unwrap().events, 1);
    }
}

#[test]
fn every_damaged_line_is_found_not_only_the_first() {
    let mut sandbox = LedgerSandbox::in_git();
    let (_, appended) = sandbox.add();
    sandbox.add();
    sandbox.add();
    let path = sandbox.segment(&appended);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("secret 1", "secret 9")
            .replace("secret 3", "secret 8"),
    )
    .unwrap();
    let found = check_findings(&sandbox);
    let lines: Vec<_> = found.iter().map(|finding| finding.line).collect();
    assert_eq!(lines, [Some(1), Some(3)]);
    assert!(
        found
            .iter()
            .all(|finding| finding.severity == LedgerSeverity::Damage)
    );
    assert!(found[0].message.contains("checksum"));
}

#[test]
fn converted_line_ends_strange_files_and_torn_tails_are_named() {
    let mut sandbox = LedgerSandbox::in_git();
    let (_, appended) = sandbox.add();
    let path = sandbox.segment(&appended);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{}{{\"torn", text.replace('\n', "\r\n"))).unwrap();
    fs::write(sandbox.path(".ken/semantic/v1/notes.txt"), "x").unwrap();
    let found = check_findings(&sandbox);
    assert!(
        found
            .iter()
            .any(|f| f.message.contains(".gitattributes") && f.line == Some(1))
    );
    assert!(
        found
            .iter()
            .any(|f| f.severity == LedgerSeverity::Note && f.line == Some(2))
    );
    assert!(found.iter().any(|f| f.file == "semantic/v1/notes.txt"));
}

#[test]
fn one_id_with_two_contents_is_found() {
    let mut sandbox = LedgerSandbox::in_git();
    let (event, appended) = sandbox.add();
    let mut other = event.event.clone();
    other.by = "agent:forger/1".parse().unwrap();
    let other = ken_core::ledger::event::RecordedEvent::new(other);
    let copy = sandbox.path(".ken/semantic/v1/2026-11-14t22-51-aaaaaa.jsonl");
    fs::write(
        &copy,
        format!("{}\n{}\n", event.line(), event.redacted().line()),
    )
    .unwrap();
    assert_eq!(
        check_findings(&sandbox),
        [],
        "copies and blanked copies are no damage"
    );
    fs::write(&copy, format!("{}\n", other.line())).unwrap();
    let found = check_findings(&sandbox);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].message.contains("differs from its copy"),
        "{}",
        found[0].message
    );
    assert!([found[0].file.as_str()].contains(&appended.segments()[0].path().as_str()));
}

#[test]
fn a_damaged_pack_and_a_damaged_journal_are_found() {
    let mut sandbox = LedgerSandbox::in_git();
    sandbox.add();
    let pack = sandbox.path(".ken/semantic/v1/2026-11-14t22-51-aaaaaa.pack");
    let line = format!("{}\n", sample::event(7).line());
    let mut bytes = ken_ledger::pack::encode(&line, 3);
    bytes[40] ^= 1;
    fs::write(&pack, bytes).unwrap();
    let journal = sandbox.path(".git/ken/journal/000001.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("no record\n{text}")).unwrap();
    let found = check_findings(&sandbox);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0].file, "semantic/v1/2026-11-14t22-51-aaaaaa.pack");
    assert_eq!(
        (found[1].file.as_str(), found[1].line),
        ("journal/000001.jsonl", Some(1))
    );
}

#[cfg(unix)]
#[test]
fn a_link_is_found_and_the_other_memories_are_still_checked() {
    let mut sandbox = LedgerSandbox::in_git();
    sandbox.add();
    sandbox.open().init().unwrap();
    let link = sandbox.path(".ken/procedural/v1/2026-11-14t22-51-aaaaaa.jsonl");
    std::os::unix::fs::symlink("/etc/passwd", link).unwrap();
    let checked = sandbox.open().check().unwrap();
    assert_eq!(checked.events, 1);
    assert!(
        checked.findings[0].message.contains("symbolic link"),
        "{checked:?}"
    );
}
