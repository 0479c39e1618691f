//! Ken's part of agents' files: it comes, it is kept current, it goes without a trace.

mod files;
mod published;
mod surroundings;
mod upgrade;

use ken_agents::Agent;
use ken_agents::setup::{After, Change, Record, Standing, Target, install, look, remove, targets};

/// Every file of every agent, each once.
fn every_target() -> Vec<Target> {
    let mut all: Vec<Target> = Vec::new();
    for target in Agent::ALL.into_iter().flat_map(targets) {
        if !all.iter().any(|it| it.path == target.path) {
            all.push(target);
        }
    }
    all
}

/// Returns the text a change leaves, `None` where the file goes.
fn left(change: &Change, before: Option<&str>) -> Option<String> {
    match &change.after {
        After::Same => before.map(str::to_owned),
        After::Text(text) => Some(text.clone()),
        After::Gone => None,
    }
}

/// Installs and returns the text and the record, which goes through its file form as it does on disk.
fn installed(target: &Target, before: Option<&str>) -> (Option<String>, Option<Record>) {
    let change = install(target, before, None, &[Agent::ClaudeCode]);
    let record = change.record.as_ref().map(|it| {
        let read = Record::parse(&it.to_text()).expect("a record reads back");
        assert_eq!(&read, it);
        read
    });
    (left(&change, before), record)
}

fn standings(target: &Target, text: Option<&str>, record: Option<&Record>) -> Vec<Standing> {
    let pieces = look(target, text, record);
    pieces.into_iter().map(|it| it.standing).collect()
}

/// Puts in, looks, puts in again, takes out: what was there comes back.
#[track_caller]
fn there_and_back(target: &Target, before: Option<&str>) {
    let (text, record) = installed(target, before);
    let path = target.path;
    let shown = || format!("{path}\n--- before\n{before:?}\n--- after\n{text:?}\n{record:?}");
    let stands = standings(target, text.as_deref(), record.as_ref());
    let done = stands
        .iter()
        .all(|it| matches!(it, Standing::Current | Standing::Unneeded));
    assert!(done, "{stands:?} {}", shown());
    let again = install(
        target,
        text.as_deref(),
        record.as_ref(),
        &[Agent::ClaudeCode],
    );
    assert_eq!(again.after, After::Same, "twice is once: {}", shown());
    assert_eq!(again.record, record, "{}", shown());
    let gone = remove(target, text.as_deref(), record.as_ref());
    assert_eq!(
        left(&gone, text.as_deref()).as_deref(),
        before,
        "{}",
        shown()
    );
    assert_eq!(gone.record, None, "{}", shown());
}
