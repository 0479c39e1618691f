//! Installing, upgrading and removing Ken's part of agent configuration files.

mod files;
mod published;
mod surroundings;
mod upgrade;

use ken_agents::CodingAgent;
use ken_agents::setup::{
    FileUpdate, PartState, SetupChange, SetupRecord, SetupTarget, inspect, install, remove, targets,
};

/// Returns every file of every agent, without duplicates.
fn all_targets() -> Vec<SetupTarget> {
    let mut all: Vec<SetupTarget> = Vec::new();
    for target in CodingAgent::ALL.into_iter().flat_map(targets) {
        if !all.iter().any(|it| it.path == target.path) {
            all.push(target);
        }
    }
    all
}

/// Returns the text a change leaves, or `None` if the file is removed.
fn text_after(change: &SetupChange, before: Option<&str>) -> Option<String> {
    match &change.after {
        FileUpdate::Same => before.map(str::to_owned),
        FileUpdate::Text(text) => Some(text.clone()),
        FileUpdate::Gone => None,
    }
}

/// Installs and returns the text and the record. The record round-trips through its file form, as
/// on disk.
fn install_and_record(
    target: &SetupTarget,
    before: Option<&str>,
) -> (Option<String>, Option<SetupRecord>) {
    let change = install(target, before, None, &[CodingAgent::ClaudeCode]);
    let record = change.record.as_ref().map(|it| {
        let read = SetupRecord::parse(&it.to_text()).expect("a record reads back");
        assert_eq!(&read, it);
        read
    });
    (text_after(&change, before), record)
}

fn part_states(
    target: &SetupTarget,
    text: Option<&str>,
    record: Option<&SetupRecord>,
) -> Vec<PartState> {
    let pieces = inspect(target, text, record);
    pieces.into_iter().map(|it| it.standing).collect()
}

/// Installs twice, then removes, and asserts that the original text is back.
#[track_caller]
fn check_round_trip(target: &SetupTarget, before: Option<&str>) {
    let (text, record) = install_and_record(target, before);
    let path = target.path;
    let shown = || format!("{path}\n--- before\n{before:?}\n--- after\n{text:?}\n{record:?}");
    let stands = part_states(target, text.as_deref(), record.as_ref());
    let done = stands
        .iter()
        .all(|it| matches!(it, PartState::Current | PartState::Unneeded));
    assert!(done, "{stands:?} {}", shown());
    let again = install(
        target,
        text.as_deref(),
        record.as_ref(),
        &[CodingAgent::ClaudeCode],
    );
    assert_eq!(again.after, FileUpdate::Same, "twice is once: {}", shown());
    assert_eq!(again.record, record, "{}", shown());
    let gone = remove(target, text.as_deref(), record.as_ref());
    assert_eq!(
        text_after(&gone, text.as_deref()).as_deref(),
        before,
        "{}",
        shown()
    );
    assert_eq!(gone.record, None, "{}", shown());
}
