//! Erasure of a person: the line of the list, every text that mentions a name, local notes, and the
//! keys of the person.
//!
//! Texts are deleted by redaction, the one way in which every clone, index and hub deletes a text.
//! A retraction whose note mentions a name is repeated without the note, because forgetting a
//! person must not revive a claim. A revocation of a name stays whole for the same reason.
//!
//! Events keep their author: an id means nothing once its name is gone, and a name that is the
//! author of an older event stays, which the report says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ken_core::decide;
use ken_core::ledger::event::{BlankReason, EventBlanked, RecordedEvent, RetractReason, Retracted};
use ken_core::values::actor::Actor;
use ken_core::values::id::{EntryId, EventId};
use ken_core::values::mention::PersonNames;
use ken_ledger::git::{GitRunner, operation_in_progress};
use ken_ledger::layout::{KEN_DIR, LOCAL_DIR};
use ken_ledger::replace::{ReplaceError, ReplaceReport};
use ken_ledger::{Dir as _, DiskError, segment};
use serde_json::Value;

use super::export::SelectedPerson;
use super::{ListedPerson, PEOPLE_FILE, PeopleList, write_people};
use crate::conversations::{self, ConversationHome};
use crate::engine::Engine;
use crate::entries;
use crate::error::EngineError;
use crate::files::{self, read_text};
use crate::promotion::SIGNERS_FILE;
use crate::runs::store::RunStore;
use crate::sync;

/// Largest local file that is searched, in bytes; notes of runs are far smaller.
const LOCAL_FILE_BYTES_MAX: u64 = 64 << 20;

/// An event whose data mention a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MentioningEvent {
    pub id: EventId,
    pub type_name: String,
    pub entries: Vec<EntryId>,
}

/// What forgetting a person deletes, and what it cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgetPlan {
    pub listed: Option<ListedPerson>,
    /// Names that are looked for.
    pub names: Vec<String>,
    /// Events that are redacted.
    pub events: Vec<MentioningEvent>,
    /// Local files in which names are replaced.
    pub local_files: Vec<String>,
    /// Lines that are removed from the allowed signers.
    pub signers: usize,
    /// Events that have a name of the person as an actor: author, citing, revoked. They stay.
    pub named_events: u64,
    /// Events whose author is the id. They stay and contain no name.
    pub id_events: u64,
    pub git: Option<GitTraces>,
}

/// What git's history keeps of a person, in commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GitTraces {
    /// Commits with a version of the list.
    pub list_commits: u64,
    /// Commits that name the person as author.
    pub authored_commits: u64,
}

/// What was done.
#[derive(Debug)]
pub struct ForgetReport {
    pub plan: ForgetPlan,
    /// Files of the ledger that were replaced; `None` if no text mentioned the person.
    pub replaced: Option<ReplaceReport>,
    /// Entry files that showed a redacted text, as paths in the work tree.
    pub entry_files: Vec<String>,
    /// Whether the private index of conversations was deleted, to be built again.
    pub conversations_deleted: bool,
}

/// Finds the person whom a command names, and the names to look for.
pub(super) fn select_person(
    engine: &Engine,
    wanted: &str,
    also: &[String],
) -> Result<SelectedPerson, EngineError> {
    if let PeopleList::Unreadable(why) = &engine.people {
        return Err(EngineError::Usage(why.clone()));
    }
    let mut found = engine.people.find(wanted);
    if found.len() > 1 {
        let ids: Vec<String> = found.iter().map(|it| it.id.to_string()).collect();
        let ids = ids.join(", ");
        return Err(EngineError::Usage(format!(
            "this names several people: {ids}"
        )));
    }
    let listed = found.pop();
    let mut texts = also.to_vec();
    match &listed {
        Some(person) => {
            texts.push(person.record.name.clone());
            texts.extend(person.record.known_as.iter().cloned());
        }
        // Not listed, or no list: the name itself may be an author and in texts. An id without a
        // line was forgotten before.
        None => {
            let name = wanted.strip_prefix("human:").unwrap_or(wanted);
            texts.push(name.to_owned());
        }
    }
    if let Some(short) = texts
        .iter()
        .find(|it| it.trim().chars().count() < PersonNames::CHARS_MIN)
    {
        return Err(EngineError::Usage(format!(
            "`{short}` is too short to look for: a name has at least {} characters",
            PersonNames::CHARS_MIN
        )));
    }
    Ok(SelectedPerson { listed, texts })
}

/// Returns every event of this work tree, in a stable order.
pub(super) fn whole_ledger(engine: &Engine) -> Result<Vec<RecordedEvent>, EngineError> {
    let mut events = BTreeMap::new();
    for stat in engine.ledger.list()? {
        let text = engine.ledger.read(&stat.name)?;
        for (_, line, _) in segment::raw_lines(text.text().as_bytes()) {
            // Damaged lines are reported by `ken ledger check`; nothing reads their data.
            if let Ok(recorded) = RecordedEvent::parse(line) {
                events.entry(recorded.event.id).or_insert(recorded);
            }
        }
    }
    Ok(events.into_values().collect())
}

/// Finds what forgetting a person would delete.
pub(crate) fn plan_forgetting(
    engine: &Engine,
    wanted: &str,
    also: &[String],
) -> Result<ForgetPlan, EngineError> {
    let person = select_person(engine, wanted, also)?;
    let names = PersonNames::new(person.texts.iter().map(String::as_str));
    let mut plan = ForgetPlan {
        listed: person.listed.clone(),
        names: person.texts.clone(),
        ..ForgetPlan::default()
    };
    for recorded in whole_ledger(engine)? {
        let event = &recorded.event;
        let line: Value = serde_json::from_str(recorded.line()).unwrap_or_default();
        let data = &line["data"];
        let is_in_text = names.are_in_text_of(data);
        if person.is_named_author(&event.by) || (!is_in_text && names.are_in_json(data)) {
            plan.named_events += 1;
        } else if person.is_author(&event.by) {
            plan.id_events += 1;
        }
        let is_order = event.get::<EventBlanked>().is_some();
        if recorded.is_redacted() || is_order || !is_in_text {
            continue;
        }
        plan.events.push(MentioningEvent {
            id: event.id,
            type_name: event.body.type_name().to_owned(),
            entries: event.entries().collect(),
        });
    }
    let local = local_files_with(engine, &names)?;
    plan.local_files = local.into_iter().map(|(path, _)| path).collect();
    let signers = signer_lines(engine)?;
    plan.signers = signers
        .iter()
        .filter(|it| is_signer_of(it, &person, &names))
        .count();
    plan.git = git_traces(engine, &person);
    Ok(plan)
}

/// Deletes what [`plan_forgetting`] finds. Texts go first: without the list, a second call could
/// not find them.
pub(crate) fn forget_person(
    engine: &mut Engine,
    wanted: &str,
    also: &[String],
    conversations: Option<&ConversationHome>,
    by: &Actor,
) -> Result<ForgetReport, EngineError> {
    sync::sync_before_writing(engine)?;
    let plan = plan_forgetting(engine, wanted, also)?;
    let person = select_person(engine, wanted, also)?;
    let names = PersonNames::new(person.texts.iter().map(String::as_str));
    let touched = plan.events.iter().flat_map(|it| it.entries.iter().copied());
    let entry_files = entry_files(engine, touched.collect())?;
    let retractions = retractions_in_force(engine, &plan.events)?;
    let replaced = redact_all(engine, &plan.events, by)?;
    for (entry, reason) in retractions {
        // Without a proposal there is no claim that could come back.
        let is_back = engine
            .entry(entry)
            .is_ok_and(|it| it.retracted.is_none() && it.content.is_some());
        if is_back {
            entries::retract(engine, entry, reason, None, by)?;
        }
    }
    replace_in_local_files(engine, &person, &names)?;
    remove_signers(engine, &person, &names)?;
    let conversations_deleted = match conversations {
        Some(home) => conversations::delete_index(engine, home)?,
        None => false,
    };
    if let (Some(person), PeopleList::Listed(people)) = (&plan.listed, &engine.people) {
        let mut people = people.clone();
        people.remove(&person.id);
        write_people(engine, people)?;
    }
    // Everything derived is built again, so that no page of a database keeps a former text.
    engine.rebuild_index()?;
    files::render_due(engine)?;
    Ok(ForgetReport {
        plan,
        replaced,
        entry_files,
        conversations_deleted,
    })
}

/// Returns the retractions among events that a person's redaction would end, with their reasons.
fn retractions_in_force(
    engine: &Engine,
    events: &[MentioningEvent],
) -> Result<Vec<(EntryId, RetractReason)>, EngineError> {
    let mut found = Vec::new();
    for mention in events {
        let recorded = engine.event(&mention.id.to_string())?;
        let Some(data) = recorded.event.get::<Retracted>() else {
            continue;
        };
        let is_retracted = |it: &EntryId| engine.entry(*it).is_ok_and(|it| it.retracted.is_some());
        let entries = mention.entries.iter().copied().filter(is_retracted);
        found.extend(entries.map(|entry| (entry, data.reason)));
    }
    Ok(found)
}

/// Redacts events in one step and one replacement of files.
fn redact_all(
    engine: &mut Engine,
    events: &[MentioningEvent],
    by: &Actor,
) -> Result<Option<ReplaceReport>, EngineError> {
    if events.is_empty() {
        return Ok(None);
    }
    let mut drafts = Vec::with_capacity(events.len());
    for event in events {
        let target = engine.event(&event.id.to_string())?;
        drafts.push(decide::redact(&target, by, BlankReason::Personal)?);
    }
    // Checked before the redactions are recorded: they would exist while the data stays.
    let git = engine.place.git.as_ref();
    if let Some(operation) = git.and_then(|dirs| operation_in_progress(&dirs.git_dir)) {
        return Err(ReplaceError::Busy(operation).into());
    }
    engine.record(drafts, by)?;
    let (now, ids) = (engine.now(), events.iter().map(|it| it.id).collect());
    let replaced = engine.ledger.blank(&ids, now, &mut *engine.runtime)?;
    engine.refresh()?;
    files::render_due(engine)?;
    Ok(Some(replaced))
}

fn entry_files(engine: &Engine, ids: BTreeSet<EntryId>) -> Result<Vec<String>, EngineError> {
    let mut files = Vec::new();
    for id in ids {
        // An entry of which this branch lacks the proposal has no file.
        let name = engine.entry(id).ok().and_then(|it| it.file_name());
        files.extend(name.map(|it| format!("{KEN_DIR}/{}/{it}", files::ENTRIES_DIR)));
    }
    Ok(files)
}

/// Returns the text files below `.ken/.local` that mention a person, by path below `.ken`.
pub(super) fn local_files_with(
    engine: &Engine,
    names: &PersonNames,
) -> Result<Vec<(String, String)>, EngineError> {
    let mut found = Vec::new();
    let root = engine.place.root.join(KEN_DIR);
    let mut folders = vec![root.join(LOCAL_DIR)];
    while let Some(folder) = folders.pop() {
        let shown = folder.display().to_string();
        let listed = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(DiskError::on("list", &shown))?,
        };
        for file in listed {
            let file = file.map_err(DiskError::on("list", &shown))?;
            let kind = file.file_type().map_err(DiskError::on("list", &shown))?;
            // A link is not followed: it may lead to files that are not Ken's.
            if kind.is_dir() {
                folders.push(file.path());
            } else if kind.is_file()
                && let Some(text) = read_local_text(&file.path())?
                && names.are_in(&text)
                && let Some(path) = path_below(&root, &file.path())
            {
                found.push((path, text));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a file that is text and not too large.
fn read_local_text(path: &Path) -> Result<Option<String>, EngineError> {
    let shown = path.display().to_string();
    match fs::metadata(path) {
        Ok(stat) if stat.len() <= LOCAL_FILE_BYTES_MAX => {}
        // Ended by another process meanwhile, or no notes.
        Ok(_) | Err(_) => return Ok(None),
    }
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DiskError::on("read", &shown)(error).into()),
    }
}

fn path_below(root: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path
        .strip_prefix(root)
        .ok()?
        .iter()
        .map(|part| part.to_str())
        .collect();
    Some(parts?.join("/"))
}

/// Replaces names in local files by the id, so that notes of runs stay valid.
fn replace_in_local_files(
    engine: &Engine,
    person: &SelectedPerson,
    names: &PersonNames,
) -> Result<(), EngineError> {
    let id = person.listed.as_ref().map(|it| it.id.to_string());
    let with = id.unwrap_or_else(|| super::UNLISTED.to_owned());
    // Notes are appended under this lock, and none may be lost.
    let _lock = RunStore::new(&engine.place)?.lock()?;
    for (path, text) in local_files_with(engine, names)? {
        let Some(text) = names.replace(&text, &with) else {
            continue;
        };
        let replaced = engine.ken.replace(&path, text.as_bytes());
        replaced.map_err(DiskError::on("write", &path))?;
    }
    Ok(())
}

/// Returns the lines of the work tree's allowed signers.
pub(super) fn signer_lines(engine: &Engine) -> Result<Vec<String>, EngineError> {
    let text = read_text(&*engine.ken, SIGNERS_FILE)?.unwrap_or_default();
    Ok(text.lines().map(str::to_owned).collect())
}

/// Returns whether a line is a key of the person, or mentions them in its comment.
fn is_signer_of(line: &str, person: &SelectedPerson, names: &PersonNames) -> bool {
    let id = person.listed.as_ref().map(|it| it.id.to_string());
    names.are_in(line) || id.is_some_and(|id| line.contains(&id))
}

fn remove_signers(
    engine: &Engine,
    person: &SelectedPerson,
    names: &PersonNames,
) -> Result<(), EngineError> {
    let lines = signer_lines(engine)?;
    let kept: Vec<&String> = lines
        .iter()
        .filter(|it| !is_signer_of(it, person, names))
        .collect();
    if kept.len() == lines.len() {
        return Ok(());
    }
    let text: String = kept.iter().map(|it| format!("{it}\n")).collect();
    let written = engine.ken.replace(SIGNERS_FILE, text.as_bytes());
    Ok(written.map_err(DiskError::on("write", SIGNERS_FILE))?)
}

/// Counts what git's history keeps; `None` outside git or if git cannot tell.
fn git_traces(engine: &Engine, person: &SelectedPerson) -> Option<GitTraces> {
    let dirs = engine.place.git.as_ref()?;
    let git = GitRunner::new(&engine.place.root, dirs);
    let count = |args: &[&str]| -> Option<u64> {
        let out = git.output(args).ok()?;
        String::from_utf8_lossy(&out).trim().parse().ok()
    };
    let list: PathBuf = [KEN_DIR, PEOPLE_FILE].iter().collect();
    let list = list.to_str()?;
    let list_commits = count(&["rev-list", "--count", "--all", "--", list])?;
    let authors: Vec<String> = person
        .texts
        .iter()
        .flat_map(|it| [format!("--author={it}"), format!("--committer={it}")])
        .collect();
    // Git combines authors and committers with "and"; each name is asked for on its own.
    let mut commits = BTreeSet::new();
    for author in &authors {
        let args = ["rev-list", "--all", "-i", "--fixed-strings", author];
        let out = git.output(&args).ok()?;
        commits.extend(String::from_utf8_lossy(&out).lines().map(str::to_owned));
    }
    Some(GitTraces {
        list_commits,
        authored_commits: commits.len() as u64,
    })
}
