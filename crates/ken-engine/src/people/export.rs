//! Export of everything that this clone holds by or about one person.

use ken_core::values::actor::Actor;
use ken_core::values::mention::PersonNames;
use serde_json::Value;

use super::ListedPerson;
use super::forget::{local_files_with, select_person, signer_lines, whole_ledger};
use crate::engine::Engine;
use crate::error::EngineError;

/// One record of an export.
#[derive(Clone, Debug, PartialEq)]
pub enum PersonExportRecord {
    /// The person's line in the list.
    Listed(ListedPerson),
    /// An event that the person, or a client of theirs, is the author of.
    Authored(Value),
    /// An event by another author whose data mention the person.
    Mentioned(Value),
    /// A line of a local file, such as the notes of a run, that mentions the person.
    Local { path: String, line: String },
    /// A line of the allowed signers that mentions the person.
    Signer(String),
}

/// Everything that this clone holds of a person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PersonExport {
    pub records: Vec<PersonExportRecord>,
}

/// Collects everything by or about a person: events of this branch, local notes, names.
pub(crate) fn export_person(engine: &Engine, wanted: &str) -> Result<PersonExport, EngineError> {
    let person = select_person(engine, wanted, &[])?;
    let mut records: Vec<PersonExportRecord> = person
        .listed
        .iter()
        .cloned()
        .map(PersonExportRecord::Listed)
        .collect();
    // Here the id is a name, too: an event about the person may have nothing else.
    let ids: Vec<String> = person.listed.iter().map(|it| it.id.to_string()).collect();
    let names = PersonNames::new(ids.iter().chain(&person.texts).map(String::as_str));
    for recorded in whole_ledger(engine)? {
        let line: Value = serde_json::from_str(recorded.line()).unwrap_or_default();
        if person.is_author(&recorded.event.by) {
            records.push(PersonExportRecord::Authored(line));
        } else if names.are_in_json(&line) {
            records.push(PersonExportRecord::Mentioned(line));
        }
    }
    for (path, text) in local_files_with(engine, &names)? {
        let lines = text.lines().filter(|it| names.are_in(it));
        records.extend(lines.map(|line| PersonExportRecord::Local {
            path: path.clone(),
            line: line.to_owned(),
        }));
    }
    let signers = signer_lines(engine)?.into_iter();
    let signers = signers.filter(|it| names.are_in(it));
    records.extend(signers.map(PersonExportRecord::Signer));
    Ok(PersonExport { records })
}

/// A person whom a command names.
#[derive(Clone, Debug, Default)]
pub(super) struct SelectedPerson {
    pub(super) listed: Option<ListedPerson>,
    /// Names and addresses, without the id.
    pub(super) texts: Vec<String>,
}

impl SelectedPerson {
    /// Returns the actors that stand for the person: the id, and each name.
    fn actors(&self) -> impl Iterator<Item = Actor> {
        let id = self.listed.iter().map(|it| it.id.actor());
        id.chain(self.texts.iter().map(|it| super::human(it)))
    }

    /// Returns whether an event is by the person or a client of theirs.
    pub(super) fn is_author(&self, by: &Actor) -> bool {
        self.actors()
            .any(|it| it.is_same_person(by) || by.is_client_of(&it))
    }

    /// Returns whether the author of an event contains a name of the person, not the id.
    pub(super) fn is_named_author(&self, by: &Actor) -> bool {
        PersonNames::new(self.texts.iter().map(String::as_str)).are_in(by.name())
    }
}
