//! Ken's entries in shared JSON files, such as one MCP server or hook among others.
//!
//! JSON has no comments to mark an entry. An entry is Ken's if the record holds its location and
//! the hash of its value. An entry of the same name or command without a record was written by a
//! person and is left alone.

use super::block::BOM;
use super::json::{self, JsonDocument, JsonItem, JsonLookup, JsonNode, JsonText};
use super::record::{RecordedEntry, SetupRecord};
use super::servers::SERVER_NAME;
use super::{FileUpdate, PartKind, PartState, PartStatus, SetupChange, detect_newline, short_hash};

/// The prefix of every hook command of Ken.
pub(super) const HOOK_COMMAND_PREFIX: &str = "ken hook ";

/// The entries that should be in a file.
#[derive(Clone, Debug)]
pub(super) struct DesiredEntries {
    /// Additional top-level members that a new file requires.
    pub(super) extras: Vec<(&'static str, JsonText)>,
    pub(super) entries: Vec<DesiredEntry>,
}

/// An entry that should be in an object or array.
#[derive(Clone, Debug)]
pub(super) struct DesiredEntry {
    pub(super) what: PartKind,
    /// The keys that lead to the object or array.
    pub(super) path: Vec<&'static str>,
    /// Its key in an object; `None` in an array, where its command identifies it.
    pub(super) key: Option<&'static str>,
    pub(super) value: JsonText,
}

impl DesiredEntries {
    /// Renders a file that contains only Ken's entries.
    pub(super) fn file(&self, newline: &str) -> String {
        let mut root: Vec<(String, JsonText)> = Vec::new();
        for (key, value) in &self.extras {
            root.push(((*key).to_owned(), value.clone()));
        }
        for entry in &self.entries {
            insert_entry(&mut root, &entry.path, entry);
        }
        JsonText::Object(root).file(newline)
    }
}

/// Inserts an entry into a value that contains only Ken's entries.
fn insert_entry(members: &mut Vec<(String, JsonText)>, path: &[&str], entry: &DesiredEntry) {
    let Some((name, rest)) = path.split_first() else {
        let key = entry.key.unwrap_or_default();
        return members.push((key.to_owned(), entry.value.clone()));
    };
    let existing = members.iter().position(|(key, _)| key == name);
    let index = existing.unwrap_or_else(|| {
        let empty = if rest.is_empty() && entry.key.is_none() {
            JsonText::List(Vec::new())
        } else {
            JsonText::Object(Vec::new())
        };
        members.push(((*name).to_owned(), empty));
        members.len() - 1
    });
    match &mut members[index].1 {
        JsonText::List(items) => items.push(entry.value.clone()),
        JsonText::Object(inner) => insert_entry(inner, rest, entry),
        JsonText::Text(_) | JsonText::Number(_) | JsonText::Bool(_) => {}
    }
}

impl DesiredEntry {
    pub(super) fn at(&self) -> String {
        pointer(&self.path)
    }

    fn written(&self) -> RecordedEntry {
        RecordedEntry {
            at: self.at(),
            key: self.key.map(str::to_owned),
            sum: value_hash(&self.value.value()),
        }
    }

    fn piece(&self, standing: PartState) -> PartStatus {
        let key = self.key.map(|key| format!("/{key}")).unwrap_or_default();
        PartStatus {
            what: self.what,
            at: self.at() + &key,
            standing,
        }
    }

    /// Returns true if an item is this entry, regardless of its author.
    fn is(&self, item: &JsonItem) -> bool {
        match self.key {
            Some(key) => item.key.as_deref() == Some(key),
            None => runs_hook(&item.node.value),
        }
    }
}

impl RecordedEntry {
    /// Returns true if an item is this entry, changed or not.
    ///
    /// A record comes with the repository and may be forged. Regardless of its claims, only an
    /// item under Ken's name or one that runs Ken's hooks is treated as Ken's.
    fn is(&self, item: &JsonItem) -> bool {
        match &self.key {
            Some(key) => key == SERVER_NAME && item.key.as_ref() == Some(key),
            None => runs_hook(&item.node.value),
        }
    }
}

/// Top-level members a removal may delete. A record cannot extend this list.
const REMOVABLE_EXTRAS: [&str; 2] = ["$schema", "version"];

/// Returns true if a value runs a hook of Ken.
pub(super) fn runs_hook(value: &serde_json::Value) -> bool {
    use serde_json::Value;
    match value {
        Value::String(text) => text.starts_with(HOOK_COMMAND_PREFIX),
        Value::Array(items) => items.iter().any(runs_hook),
        Value::Object(members) => members.values().any(runs_hook),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn pointer(path: &[&str]) -> String {
    path.iter().map(|name| format!("/{name}")).collect()
}

fn parse_pointer(pointer: &str) -> Vec<&str> {
    pointer.split('/').skip(1).collect()
}

fn value_hash(value: &serde_json::Value) -> String {
    // `serde_json` sorts members, so formatting and order do not affect the hash.
    short_hash(&value.to_string())
}

/// Reports the states of the entries.
pub(super) fn inspect(
    desired: &DesiredEntries,
    text: Option<&str>,
    record: Option<&SetupRecord>,
) -> Vec<PartStatus> {
    let bare = text.unwrap_or_default().trim_start_matches(BOM);
    let document = match JsonDocument::parse(bare) {
        Ok(document) => document,
        Err(why) => {
            let all = desired.entries.iter();
            return all
                .map(|it| it.piece(PartState::Unreadable(why.clone())))
                .collect();
        }
    };
    let all = desired.entries.iter();
    all.map(|entry| entry.piece(entry_state(entry, &document, record)))
        .collect()
}

fn entry_state(
    entry: &DesiredEntry,
    document: &JsonDocument<'_>,
    record: Option<&SetupRecord>,
) -> PartState {
    if document.root.as_ref().is_some_and(|root| !root.is_object()) {
        return PartState::Unreadable("it is not a JSON object".to_owned());
    }
    if document.root.is_none() && !document.text.trim().is_empty() {
        return PartState::Unreadable("it contains only comments".to_owned());
    }
    // Every container on the path must have the right type, or an insertion would fail.
    for depth in 1..=entry.path.len() {
        let is_last = depth == entry.path.len();
        let wants_array = is_last && entry.key.is_none();
        match document.at(&entry.path[..depth]) {
            JsonLookup::Nothing => return PartState::Missing,
            JsonLookup::Twice(name) => {
                return PartState::Unreadable(format!("`{name}` occurs twice"));
            }
            JsonLookup::Node(node) if wants_array && !node.is_array() => {
                let name = entry.path[depth - 1];
                return PartState::Unreadable(format!("`{name}` is not an array"));
            }
            JsonLookup::Node(node) if !wants_array && !node.is_object() => {
                let name = entry.path[depth - 1];
                return PartState::Unreadable(format!("`{name}` is not an object"));
            }
            JsonLookup::Node(_) => {}
        }
    }
    let JsonLookup::Node(node) = document.at(&entry.path) else {
        return PartState::Missing;
    };
    let found: Vec<&JsonItem> = node.items.iter().filter(|item| entry.is(item)).collect();
    match found.as_slice() {
        [] => PartState::Missing,
        [one] => item_state(entry, one, record),
        [_, _, ..] => PartState::Duplicated,
    }
}

fn item_state(entry: &DesiredEntry, item: &JsonItem, record: Option<&SetupRecord>) -> PartState {
    let is_current = item.node.value == entry.value.value();
    match find_recorded(record, &entry.at(), entry.key) {
        None if is_current => PartState::Present,
        None => PartState::Handwritten,
        Some(_) if is_current => PartState::Current,
        Some(written) if written.sum == value_hash(&item.node.value) => PartState::Stale,
        Some(_) => PartState::Edited,
    }
}

fn find_recorded<'a>(
    record: Option<&'a SetupRecord>,
    at: &str,
    key: Option<&str>,
) -> Option<&'a RecordedEntry> {
    let mut all = record?.entries.iter();
    all.find(|it| it.at == at && it.key.as_deref() == key)
}

/// Adds the entries or updates them.
pub(super) fn install(
    desired: &DesiredEntries,
    text: Option<&str>,
    record: Option<&SetupRecord>,
) -> SetupChange {
    let parts = inspect(desired, text, record);
    let whole = text.unwrap_or_default();
    let bare = whole.trim_start_matches(BOM);
    let bom = &whole[..whole.len() - bare.len()];
    let is_readable = !parts
        .iter()
        .any(|it| matches!(it.standing, PartState::Unreadable(_)));
    // An empty file has no style to preserve, so it is written like a new one.
    if is_readable && bare.trim().is_empty() {
        let after = format!("{bom}{}", desired.file(detect_newline(bare)));
        return SetupChange {
            after: FileUpdate::Text(after),
            record: Some(new_file_record(desired, text)),
            pieces: parts,
        };
    }
    // If none of its entries is in the file, the record describes an earlier file. Following it
    // could remove containers that a person wrote since.
    let record = record.filter(|it| it.entries.iter().any(|entry| contains_entry(bare, entry)));
    let mut edit = JsonFileEdit::new(bare, record);
    edit.remove_obsolete(desired);
    for (entry, part) in desired.entries.iter().zip(&parts) {
        if part.standing.is_due() {
            edit.put(desired, entry);
        }
    }
    let record = Some(edit.record).filter(|it| !it.entries.is_empty());
    let after = if edit.text == bare {
        FileUpdate::Same
    } else {
        FileUpdate::Text(format!("{bom}{}", edit.text))
    };
    SetupChange {
        after,
        pieces: parts,
        record,
    }
}

/// Returns true if the text contains an entry, changed or not.
fn contains_entry(text: &str, written: &RecordedEntry) -> bool {
    let Ok(document) = JsonDocument::parse(text) else {
        return false;
    };
    match document.at(&parse_pointer(&written.at)) {
        JsonLookup::Node(node) => node.items.iter().any(|item| written.is(item)),
        JsonLookup::Nothing | JsonLookup::Twice(_) => false,
    }
}

/// Returns the record of a file that contains only Ken's entries.
fn new_file_record(desired: &DesiredEntries, text: Option<&str>) -> SetupRecord {
    let mut record = SetupRecord {
        created: text.is_none(),
        blank: text.map(str::to_owned),
        extras: desired
            .extras
            .iter()
            .map(|(key, _)| (*key).to_owned())
            .collect(),
        entries: desired.entries.iter().map(DesiredEntry::written).collect(),
        ..SetupRecord::default()
    };
    for entry in &desired.entries {
        for depth in 1..=entry.path.len() {
            let made = pointer(&entry.path[..depth]);
            if !record.made.contains(&made) {
                record.made.push(made);
            }
        }
    }
    record
}

/// Removes the entries that are unchanged since they were written.
pub(super) fn remove(
    desired: &DesiredEntries,
    text: Option<&str>,
    record: Option<&SetupRecord>,
) -> SetupChange {
    let parts = inspect(desired, text, record);
    let (Some(whole), Some(record)) = (text, record) else {
        return SetupChange::none(parts, None);
    };
    let bare = whole.trim_start_matches(BOM);
    let bom = &whole[..whole.len() - bare.len()];
    // The record is kept: once a person repaired the file, the removal can be repeated.
    if JsonDocument::parse(bare).is_err() {
        return SetupChange::none(parts, Some(record.clone()));
    }
    let mut edit = JsonFileEdit::new(bare, Some(record));
    for written in record.entries.clone() {
        edit.take(&written);
    }
    edit.remove_required_members();
    let kept = Some(edit.record.clone()).filter(|it| !it.entries.is_empty());
    let after = match edit.left() {
        RemainingContent::Text if edit.text == bare => FileUpdate::Same,
        RemainingContent::Text => FileUpdate::Text(format!("{bom}{}", edit.text)),
        RemainingContent::Blank(blank) => FileUpdate::Text(blank),
        RemainingContent::Nothing => FileUpdate::Gone,
    };
    SetupChange {
        after,
        pieces: parts,
        record: kept,
    }
}

/// The content that remains in a file after a removal.
enum RemainingContent {
    Text,
    Blank(String),
    Nothing,
}

/// A text being edited and its record.
struct JsonFileEdit {
    text: String,
    record: SetupRecord,
}

impl JsonFileEdit {
    fn new(text: &str, record: Option<&SetupRecord>) -> Self {
        Self {
            text: text.to_owned(),
            record: record.cloned().unwrap_or_default(),
        }
    }

    /// Parses the text and calls `act`; returns `None` if the text is not valid.
    fn with<T>(&self, act: impl FnOnce(&JsonDocument<'_>) -> Option<T>) -> Option<T> {
        // Parsed again for every edit, because an edit moves all later positions. The files are
        // small.
        let document = JsonDocument::parse(&self.text).ok()?;
        act(&document)
    }

    /// Removes entries that an older build wrote and this build does not.
    fn remove_obsolete(&mut self, desired: &DesiredEntries) {
        let is_desired = |written: &RecordedEntry| {
            let mut all = desired.entries.iter();
            all.any(|entry| entry.at() == written.at && entry.key == written.key.as_deref())
        };
        for written in self.record.entries.clone() {
            if !is_desired(&written) {
                self.take(&written);
            }
        }
    }

    /// Adds one entry or replaces its value.
    fn put(&mut self, desired: &DesiredEntries, entry: &DesiredEntry) {
        self.add_required_members(desired);
        for depth in 1..=entry.path.len() {
            let is_array = depth == entry.path.len() && entry.key.is_none();
            self.make(&entry.path[..depth], is_array);
        }
        let replaced = self.with(|document| {
            let JsonLookup::Node(node) = document.at(&entry.path) else {
                return None;
            };
            let item = node.items.iter().find(|item| entry.is(item))?;
            Some(json::replace_value(document, node, item, &entry.value))
        });
        match replaced {
            Some(text) => self.text = text,
            None => self.add(&entry.path, entry.key, &entry.value),
        }
        let written = entry.written();
        let is_same = |it: &RecordedEntry| it.at == written.at && it.key == written.key;
        self.record.entries.retain(|it| !is_same(it));
        self.record.entries.push(written);
    }

    /// Adds the members a new file requires, if the top level is empty.
    fn add_required_members(&mut self, desired: &DesiredEntries) {
        let is_empty = self.with(|it| it.root.as_ref().map(|root| root.items.is_empty()));
        if is_empty != Some(true) {
            return;
        }
        for (key, value) in &desired.extras {
            self.add(&[], Some(key), value);
            self.record.extras.push((*key).to_owned());
        }
    }

    /// Creates the object or array at `path` unless it exists.
    fn make(&mut self, path: &[&str], is_array: bool) {
        let is_there = self.with(|document| match document.at(path) {
            JsonLookup::Node(_) | JsonLookup::Twice(_) => Some(()),
            JsonLookup::Nothing => None,
        });
        if is_there.is_some() {
            return;
        }
        let empty = if is_array {
            JsonText::List(Vec::new())
        } else {
            JsonText::Object(Vec::new())
        };
        if let Some((name, above)) = path.split_last() {
            self.add(above, Some(name), &empty);
            let created = pointer(path);
            // Its whitespace is Ken's own, so nothing has to be restored inside it.
            self.record.inner.remove(&created);
            self.record.made.retain(|it| *it != created);
            self.record.made.push(created);
        }
    }

    fn add(&mut self, path: &[&str], key: Option<&str>, value: &JsonText) {
        let added = self.with(|document| match document.at(path) {
            JsonLookup::Node(node) => Some(json::append_item(document, node, key, value)),
            JsonLookup::Nothing | JsonLookup::Twice(_) => None,
        });
        let Some((text, blanks)) = added else { return };
        self.text = text;
        if let Some(blanks) = blanks {
            let at = pointer(path);
            if !self.record.made.contains(&at) {
                self.record.inner.insert(at, blanks);
            }
        }
    }

    /// Removes an entry if it is unchanged; forgets it if it is already gone.
    fn take(&mut self, written: &RecordedEntry) {
        // `state` is `Some(Some(text))` if removed, `Some(None)` if edited, `None` if gone.
        let path = parse_pointer(&written.at);
        let state = self.with(|document| {
            let JsonLookup::Node(node) = document.at(&path) else {
                return None;
            };
            let is_it = |item: &JsonItem| written.is(item);
            let same = |item: &JsonItem| value_hash(&item.node.value) == written.sum;
            let found = node.items.iter().position(|it| is_it(it) && same(it));
            match found {
                Some(index) => Some(Some(json::remove_item(document, node, index))),
                None if node.items.iter().any(is_it) => Some(None),
                None => None,
            }
        });
        match state {
            // A person changed it: the entry and its record stay.
            Some(None) => return,
            Some(Some(text)) => self.text = text,
            None => {}
        }
        self.record.entries.retain(|it| it != written);
        self.tidy(&path);
    }

    /// Removes containers that Ken created and that are now empty; restores the whitespace of the
    /// others.
    fn tidy(&mut self, path: &[&str]) {
        // Innermost first: a container can only become empty after its children are gone.
        for depth in (0..=path.len()).rev() {
            let at = pointer(&path[..depth]);
            let is_made = self.record.made.contains(&at);
            let blanks = self.record.inner.get(&at).cloned();
            let tidied = self.with(|document| {
                let JsonLookup::Node(node) = document.at(&path[..depth]) else {
                    return None;
                };
                let is_bare = node.items.is_empty() && !document.has_comment(&node.inside());
                // A comment in an otherwise empty container was written by a person.
                match path[..depth].split_last() {
                    Some((name, above)) if is_bare && is_made => {
                        remove_member(document, above, name)
                    }
                    Some(_) | None => {
                        let blanks = blanks.filter(|_| is_bare)?;
                        Some(json::fill_empty(document, node, &blanks))
                    }
                }
            });
            match tidied {
                Some(text) => self.text = text,
                None => return,
            }
            self.record.made.retain(|it| *it != at);
            self.record.inner.remove(&at);
        }
    }

    /// Removes the members a new file required, if nothing else is left.
    fn remove_required_members(&mut self) {
        let mut extras = self.record.extras.clone();
        extras.retain(|it| REMOVABLE_EXTRAS.contains(&it.as_str()));
        let has_only_extras = self.with(|document| {
            let root = document.root.as_ref()?;
            let is_extra = |it: &JsonItem| it.key.as_ref().is_some_and(|key| extras.contains(key));
            Some(root.items.iter().all(is_extra))
        });
        if has_only_extras != Some(true) || !self.record.entries.is_empty() {
            return;
        }
        for key in &extras {
            let cut = self.with(|document| remove_member(document, &[], key));
            if let Some(text) = cut {
                self.text = text;
            }
        }
        self.tidy(&[]);
    }

    /// Returns the content that remains after every entry was removed.
    fn left(&self) -> RemainingContent {
        let is_bare = self.with(|document| {
            let root = document.root.as_ref()?;
            Some(root.items.is_empty() && !document.has_comment(&(0..self.text.len())))
        });
        if is_bare != Some(true) || !self.record.entries.is_empty() {
            return RemainingContent::Text;
        }
        match (&self.record.blank, self.record.created) {
            (Some(blank), _) => RemainingContent::Blank(blank.clone()),
            (None, true) => RemainingContent::Nothing,
            // An empty object that existed before the installation stays.
            (None, false) => RemainingContent::Text,
        }
    }
}

/// Removes a member from the object at `path`.
fn remove_member(document: &JsonDocument<'_>, path: &[&str], name: &str) -> Option<String> {
    let JsonLookup::Node(node) = document.at(path) else {
        return None;
    };
    let node: &JsonNode = node;
    let index = node
        .items
        .iter()
        .position(|it| it.key.as_deref() == Some(name))?;
    Some(json::remove_item(document, node, index))
}
