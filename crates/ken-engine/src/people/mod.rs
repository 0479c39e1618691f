//! People of a repository: `.ken/people.toml`, the only file that contains their names.
//!
//! Without the file, events name people by the e-mail address that git knows, as before. With it,
//! new events have opaque ids: a listed person is stored under their [`PersonId`], the author of a
//! hand edit who is not listed as [`UNLISTED`], and a command by a person who is not listed is
//! refused. Events that exist keep their author, whatever the file says.
//!
//! Invariant: while the file exists, this clone writes no event with the name of a person as its
//! author. A file that cannot be read counts as an empty one.

mod export;
mod forget;

use std::collections::{BTreeMap, BTreeSet};

use ken_anchor::FileTree;
use ken_core::values::actor::{Actor, ActorRole};
use ken_core::values::person::PersonId;
use ken_ledger::layout::KEN_DIR;
use ken_ledger::{Dir as _, DiskError, LedgerLocation};
use serde::Deserialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::{open_ken_dir, read_text};

pub use export::{PersonExport, PersonExportRecord};
pub use forget::{ForgetPlan, ForgetReport, GitTraces, MentioningEvent};

pub(crate) use export::export_person;
pub(crate) use forget::{forget_person, plan_forgetting};

/// Name of the file below `.ken/`.
pub const PEOPLE_FILE: &str = "people.toml";

/// Name of the actor of a hand edit whose author is not listed.
pub const UNLISTED: &str = "unlisted";

/// Maximum length of a name or address in bytes, that of an actor's name.
const NAME_BYTES_MAX: usize = Actor::NAME_BYTES_MAX;

/// First lines of the file.
const HEADER: &str = "\
# People of this repository: the only file with their names; events contain the ids.
# Change it with `ken ledger person`.
";

/// What is known of a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PersonRecord {
    /// Name that people read.
    pub name: String,
    /// E-mail addresses in git, and user names on machines without git.
    pub known_as: Vec<String>,
}

/// A person in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPerson {
    pub id: PersonId,
    pub record: PersonRecord,
}

/// The people of a repository as the file lists them.
#[derive(Clone, Debug, Default)]
pub(crate) enum PeopleList {
    /// There is no file: events contain names.
    #[default]
    Absent,
    Listed(BTreeMap<PersonId, PersonRecord>),
    /// The file cannot be read, for the reason given.
    Unreadable(String),
}

impl PeopleList {
    /// Loads the file of the work tree.
    pub(crate) fn load(place: &LedgerLocation) -> Self {
        let read = open_ken_dir(place).and_then(|dir| read_text(&dir, PEOPLE_FILE));
        match read {
            Ok(None) => Self::Absent,
            Ok(Some(text)) => Self::parse(&text),
            Err(error) => Self::Unreadable(error.to_string()),
        }
    }

    /// Loads the file of one version of the files.
    pub(crate) fn load_version(tree: &dyn FileTree) -> Self {
        match tree.read(&format!("{KEN_DIR}/{PEOPLE_FILE}")) {
            Ok(None) => Self::Absent,
            Ok(Some(bytes)) => Self::parse(&String::from_utf8_lossy(&bytes)),
            Err(error) => Self::Unreadable(error.to_string()),
        }
    }

    fn parse(text: &str) -> Self {
        // The error's own text quotes the line, and with it a name.
        match toml::from_str(text) {
            Ok(people) => Self::Listed(people),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start.min(text.len()));
                let line = text.as_bytes()[..start].iter();
                let line = 1 + line.filter(|it| **it == b'\n').count();
                Self::Unreadable(format!(
                    "`{KEN_DIR}/{PEOPLE_FILE}` line {line} is not valid"
                ))
            }
        }
    }

    /// Returns the id of the person that git or the machine knows by this name.
    pub(crate) fn id_of(&self, known_as: &str) -> Option<PersonId> {
        let Self::Listed(people) = self else {
            return None;
        };
        let wanted = human(known_as);
        let is_wanted = |it: &String| human(it).is_same_person(&wanted);
        let mut found = people
            .iter()
            .filter(|(_, it)| it.known_as.iter().any(is_wanted));
        found.next().map(|(id, _)| *id)
    }

    /// Returns the actor as new events name it, or why there is none.
    pub(crate) fn stored_actor(&self, actor: &Actor) -> Result<Actor, EngineError> {
        let people = match self {
            _ if !actor.acts_for_person() => return Ok(actor.clone()),
            Self::Absent => return Ok(actor.clone()),
            Self::Unreadable(why) => return Err(EngineError::Usage(why.clone())),
            Self::Listed(people) => people,
        };
        if actor.is_human() {
            let is_stored = PersonId::of(actor).is_some() || actor.name() == UNLISTED;
            let stored = match self.id_of(actor.name()) {
                _ if is_stored => Some(actor.clone()),
                id => id.map(PersonId::actor),
            };
            return stored.ok_or_else(|| {
                EngineError::Usage(format!(
                    "{actor} is not listed in {KEN_DIR}/{PEOPLE_FILE}; add yourself with `ken ledger person add`"
                ))
            });
        }
        // The client of a person: `agent:human:ada@example.org/claude-code`.
        for (id, record) in people {
            let names = record.known_as.iter().map(|it| human(it));
            for person in names.chain([id.actor()]) {
                let rest = actor.name().strip_prefix(&person.to_string());
                if let Some(client) = rest.and_then(|rest| rest.strip_prefix('/')) {
                    return Ok(id.actor().client(client));
                }
            }
        }
        Ok(human(UNLISTED).client("client"))
    }

    /// Like [`Self::stored_actor`] for an author whom git names, who cannot be asked.
    pub(crate) fn stored_author(&self, author: &Actor) -> Actor {
        self.stored_actor(author)
            .unwrap_or_else(|_| human(UNLISTED))
    }

    /// Returns the name of a listed person whom an event names by id.
    pub(crate) fn name_of(&self, actor: &Actor) -> Option<String> {
        let Self::Listed(people) = self else {
            return None;
        };
        let id = PersonId::of(actor)?;
        people.get(&id).map(|it| it.name.clone())
    }

    /// Returns the people whom `wanted` names: an id, an actor, an address or a full name.
    fn find(&self, wanted: &str) -> Vec<ListedPerson> {
        let Self::Listed(people) = self else {
            return Vec::new();
        };
        let plain = wanted.strip_prefix("human:").unwrap_or(wanted);
        let as_actor = human(plain);
        let is_wanted = |id: &PersonId, record: &PersonRecord| {
            id.actor() == as_actor
                || record.name.to_lowercase() == plain.to_lowercase()
                || record
                    .known_as
                    .iter()
                    .any(|it| human(it).is_same_person(&as_actor))
        };
        let found = people.iter().filter(|(id, record)| is_wanted(id, record));
        found
            .map(|(id, record)| ListedPerson {
                id: *id,
                record: record.clone(),
            })
            .collect()
    }
}

/// Returns the person of this name as an actor.
fn human(name: &str) -> Actor {
    Actor::from_claim(ActorRole::Human, name)
}

/// Renders the file: one line per person, so that git merges additions of two branches.
fn render(people: &BTreeMap<PersonId, PersonRecord>) -> String {
    let mut text = HEADER.to_owned();
    for (id, record) in people {
        let quoted = |it: &String| toml::Value::String(it.clone()).to_string();
        let known_as: Vec<String> = record.known_as.iter().map(quoted).collect();
        let (name, known_as) = (quoted(&record.name), known_as.join(", "));
        text.push_str(&format!(
            "{id} = {{ name = {name}, known_as = [{known_as}] }}\n"
        ));
    }
    text
}

/// Returns the people of the repository, or an empty list if events contain names.
pub(crate) fn list_people(engine: &Engine) -> Result<Vec<ListedPerson>, EngineError> {
    let people = match &engine.people {
        PeopleList::Absent => return Ok(Vec::new()),
        PeopleList::Unreadable(why) => return Err(EngineError::Usage(why.clone())),
        PeopleList::Listed(people) => people,
    };
    let listed = people.iter().map(|(id, record)| ListedPerson {
        id: *id,
        record: record.clone(),
    });
    Ok(listed.collect())
}

/// Lists a person under a new id, or adds names to a listed one. The first person of a repository
/// creates the file: from then on new events contain ids.
/// `id` is that of the same person in another repository or at a hub.
pub(crate) fn add_person(
    engine: &mut Engine,
    record: PersonRecord,
    id: Option<PersonId>,
) -> Result<ListedPerson, EngineError> {
    let mut people: BTreeMap<PersonId, PersonRecord> = list_people(engine)?
        .into_iter()
        .map(|it| (it.id, it.record))
        .collect();
    check_record(&record)?;
    let known = record
        .known_as
        .iter()
        .filter_map(|it| engine.people.id_of(it));
    let known: BTreeSet<PersonId> = known.chain(id).collect();
    // Two people must not become one because a command named both.
    if known.len() > 1 {
        return Err(EngineError::Usage(
            "these names belong to two people of the list".to_owned(),
        ));
    }
    let known = known.first().copied();
    let id = known.unwrap_or_else(|| PersonId::new(engine.runtime.random()));
    let listed = people.entry(id).or_default();
    listed.name = record.name;
    for name in record.known_as {
        if !listed.known_as.contains(&name) {
            listed.known_as.push(name);
        }
    }
    let record = listed.clone();
    write_people(engine, people)?;
    Ok(ListedPerson { id, record })
}

fn check_record(record: &PersonRecord) -> Result<(), EngineError> {
    let is_valid = |it: &str| {
        let it = it.trim();
        !it.is_empty() && it.len() <= NAME_BYTES_MAX && !it.chars().any(char::is_control)
    };
    let names = record.known_as.iter().map(String::as_str);
    if record.known_as.is_empty() || !names.chain([record.name.as_str()]).all(is_valid) {
        return Err(EngineError::Usage(format!(
            "a person has a name and at least one address, each of 1 to {NAME_BYTES_MAX} visible characters"
        )));
    }
    Ok(())
}

/// Writes the list and makes it the one in force.
fn write_people(
    engine: &mut Engine,
    people: BTreeMap<PersonId, PersonRecord>,
) -> Result<(), EngineError> {
    let written = engine.ken.replace(PEOPLE_FILE, render(&people).as_bytes());
    written.map_err(DiskError::on("write", PEOPLE_FILE))?;
    engine.people = PeopleList::Listed(people);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: &str =
        "p-000000000001 = { name = \"Ada Lovelace\", known_as = [\"ada@example.org\", \"ada\"] }\n";

    fn actor(text: &str) -> Actor {
        text.parse().unwrap()
    }

    #[test]
    fn without_a_file_actors_stay_as_they_are() {
        let people = PeopleList::Absent;
        for text in ["human:ada@example.org", "agent:x", "ci:main"] {
            assert_eq!(people.stored_actor(&actor(text)).unwrap(), actor(text));
        }
    }

    #[test]
    fn a_listed_person_is_stored_under_the_id() {
        let people = PeopleList::parse(ADA);
        for (given, stored) in [
            ("human:ada@example.org", "human:p-000000000001"),
            ("human:Ada@Example.org", "human:p-000000000001"),
            ("human:ada", "human:p-000000000001"),
            ("human:p-000000000001", "human:p-000000000001"),
            (
                "agent:human:ada@example.org/claude-code",
                "agent:human:p-000000000001/claude-code",
            ),
            (
                "agent:human:eve@example.org/x",
                "agent:human:unlisted/client",
            ),
            ("agent:claude-code/7", "agent:claude-code/7"),
            ("ci:main", "ci:main"),
        ] {
            let result = people.stored_actor(&actor(given)).unwrap();
            assert_eq!(result, actor(stored), "{given}");
        }
    }

    #[test]
    fn a_person_who_is_not_listed_writes_nothing_and_edits_without_a_name() {
        let people = PeopleList::parse(ADA);
        let eve = actor("human:eve@example.org");
        assert!(people.stored_actor(&eve).is_err());
        assert_eq!(people.stored_author(&eve), actor("human:unlisted"));
    }

    #[test]
    fn a_broken_file_lets_no_name_through_and_its_error_has_none() {
        let people = PeopleList::parse("p-000000000001 = { name = \"Ada Lovelace }\n");
        let ada = actor("human:ada@example.org");
        let error = people.stored_actor(&ada).unwrap_err().to_string();
        assert!(
            error.contains("line 1") && !error.contains("Lovelace"),
            "{error}"
        );
        assert_eq!(people.stored_author(&ada), actor("human:unlisted"));
        assert!(people.stored_actor(&actor("agent:bot")).is_ok());
    }

    #[test]
    fn the_file_reads_back_as_it_was_written() {
        let odd = PersonRecord {
            name: "Zoë \"Z\" O'Neill\\".to_owned(),
            known_as: vec!["zoë@example.org".to_owned(), "z\"o".to_owned()],
        };
        let people = BTreeMap::from([(PersonId::new(7), odd)]);
        let PeopleList::Listed(read) = PeopleList::parse(&render(&people)) else {
            panic!("the file is valid");
        };
        assert_eq!(read, people);
    }
}
