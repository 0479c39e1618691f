//! Entries of JSON files that belong to somebody else: an MCP server among others, hooks among others.
//!
//! JSON has no comments to mark an entry by. An entry is Ken's if the record has its place and the hash of its value; one of the
//! same name or command that no record knows was written by a person and stays as it is.

use super::block::BOM;
use super::json::{self, At, Document, Item, Json, Node};
use super::record::{Record, Written};
use super::servers::NAME;
use super::{After, Change, Piece, Standing, What, newline_of, sum};

/// What every command of a hook of Ken's begins with.
pub(super) const HOOK: &str = "ken hook ";

/// Entries that should be in a file.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    /// Members of the top a new file needs beside them.
    pub(super) extras: Vec<(&'static str, Json)>,
    pub(super) entries: Vec<Entry>,
}

/// An entry that should be in an object or array.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) what: What,
    /// Names that lead to the object or array.
    pub(super) path: Vec<&'static str>,
    /// Its name in an object; none in an array, where it is known by the command it runs.
    pub(super) key: Option<&'static str>,
    pub(super) value: Json,
}

impl Wish {
    /// Returns the file that holds nothing else.
    pub(super) fn file(&self, newline: &str) -> String {
        let mut root: Vec<(String, Json)> = Vec::new();
        for (key, value) in &self.extras {
            root.push(((*key).to_owned(), value.clone()));
        }
        for entry in &self.entries {
            put(&mut root, &entry.path, entry);
        }
        Json::Object(root).file(newline)
    }
}

/// Puts an entry into a value that holds only Ken's.
fn put(members: &mut Vec<(String, Json)>, path: &[&str], entry: &Entry) {
    let Some((name, rest)) = path.split_first() else {
        let key = entry.key.unwrap_or_default();
        return members.push((key.to_owned(), entry.value.clone()));
    };
    let at = members.iter().position(|(key, _)| key == name);
    let at = at.unwrap_or_else(|| {
        let empty = if rest.is_empty() && entry.key.is_none() {
            Json::List(Vec::new())
        } else {
            Json::Object(Vec::new())
        };
        members.push(((*name).to_owned(), empty));
        members.len() - 1
    });
    match &mut members[at].1 {
        Json::List(items) => items.push(entry.value.clone()),
        Json::Object(inner) => put(inner, rest, entry),
        Json::Text(_) | Json::Number(_) | Json::Bool(_) => {}
    }
}

impl Entry {
    pub(super) fn at(&self) -> String {
        pointer(&self.path)
    }

    fn written(&self) -> Written {
        Written {
            at: self.at(),
            key: self.key.map(str::to_owned),
            sum: sum_of(&self.value.value()),
        }
    }

    fn piece(&self, standing: Standing) -> Piece {
        let key = self.key.map(|key| format!("/{key}")).unwrap_or_default();
        Piece {
            what: self.what,
            at: self.at() + &key,
            standing,
        }
    }

    /// Returns whether an item is this entry, whoever wrote it.
    fn is(&self, item: &Item) -> bool {
        match self.key {
            Some(key) => item.key.as_deref() == Some(key),
            None => runs_hook(&item.node.value),
        }
    }
}

impl Written {
    /// Returns whether an item is this entry, changed or not. A record comes with the repository: whatever it claims, only
    /// what bears Ken's name or runs its hooks is Ken's.
    fn is(&self, item: &Item) -> bool {
        match &self.key {
            Some(key) => key == NAME && item.key.as_ref() == Some(key),
            None => runs_hook(&item.node.value),
        }
    }
}

/// What a new file may need beside Ken's entries; nothing else is taken out as such, whatever a record says.
const EXTRAS: [&str; 2] = ["$schema", "version"];

/// Returns whether a value runs a hook of Ken's.
pub(super) fn runs_hook(value: &serde_json::Value) -> bool {
    use serde_json::Value;
    match value {
        Value::String(text) => text.starts_with(HOOK),
        Value::Array(items) => items.iter().any(runs_hook),
        Value::Object(members) => members.values().any(runs_hook),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn pointer(path: &[&str]) -> String {
    path.iter().map(|name| format!("/{name}")).collect()
}

fn names(pointer: &str) -> Vec<&str> {
    pointer.split('/').skip(1).collect()
}

fn sum_of(value: &serde_json::Value) -> String {
    // Members are sorted: how a value is laid out and ordered does not matter.
    sum(&value.to_string())
}

/// Says how the entries stand.
pub(super) fn look(wish: &Wish, text: Option<&str>, record: Option<&Record>) -> Vec<Piece> {
    let bare = text.unwrap_or_default().trim_start_matches(BOM);
    let document = match Document::parse(bare) {
        Ok(document) => document,
        Err(why) => {
            let all = wish.entries.iter();
            return all
                .map(|it| it.piece(Standing::Unreadable(why.clone())))
                .collect();
        }
    };
    let all = wish.entries.iter();
    all.map(|entry| entry.piece(standing(entry, &document, record)))
        .collect()
}

fn standing(entry: &Entry, document: &Document<'_>, record: Option<&Record>) -> Standing {
    if document.root.as_ref().is_some_and(|root| !root.is_object()) {
        return Standing::Unreadable("it holds no object".to_owned());
    }
    if document.root.is_none() && !document.text.trim().is_empty() {
        return Standing::Unreadable("it holds nothing but comments".to_owned());
    }
    // Every object on the way must be one.
    for depth in 1..=entry.path.len() {
        let is_last = depth == entry.path.len();
        let wants_array = is_last && entry.key.is_none();
        match document.at(&entry.path[..depth]) {
            At::Nothing => return Standing::Missing,
            At::Twice(name) => return Standing::Unreadable(format!("`{name}` stands twice")),
            At::Node(node) if wants_array && !node.is_array() => {
                let name = entry.path[depth - 1];
                return Standing::Unreadable(format!("`{name}` is not an array"));
            }
            At::Node(node) if !wants_array && !node.is_object() => {
                let name = entry.path[depth - 1];
                return Standing::Unreadable(format!("`{name}` is not an object"));
            }
            At::Node(_) => {}
        }
    }
    let At::Node(node) = document.at(&entry.path) else {
        return Standing::Missing;
    };
    let found: Vec<&Item> = node.items.iter().filter(|item| entry.is(item)).collect();
    match found.as_slice() {
        [] => Standing::Missing,
        [one] => standing_of(entry, one, record),
        [_, _, ..] => Standing::Doubled,
    }
}

fn standing_of(entry: &Entry, item: &Item, record: Option<&Record>) -> Standing {
    let is_current = item.node.value == entry.value.value();
    match written_at(record, &entry.at(), entry.key) {
        None if is_current => Standing::Present,
        None => Standing::ByHand,
        Some(_) if is_current => Standing::Current,
        Some(written) if written.sum == sum_of(&item.node.value) => Standing::Stale,
        Some(_) => Standing::Edited,
    }
}

fn written_at<'a>(record: Option<&'a Record>, at: &str, key: Option<&str>) -> Option<&'a Written> {
    let mut all = record?.entries.iter();
    all.find(|it| it.at == at && it.key.as_deref() == key)
}

/// Puts entries in or brings them up to date.
pub(super) fn install(wish: &Wish, text: Option<&str>, record: Option<&Record>) -> Change {
    let pieces = look(wish, text, record);
    let whole = text.unwrap_or_default();
    let bare = whole.trim_start_matches(BOM);
    let mark = &whole[..whole.len() - bare.len()];
    let is_readable = !pieces
        .iter()
        .any(|it| matches!(it.standing, Standing::Unreadable(_)));
    if is_readable && bare.trim().is_empty() {
        let after = format!("{mark}{}", wish.file(newline_of(bare)));
        return Change {
            after: After::Text(after),
            record: Some(fresh(wish, text)),
            pieces,
        };
    }
    // A record of entries that are all gone says nothing about the file there is now.
    let record = record.filter(|it| it.entries.iter().any(|entry| is_found(bare, entry)));
    let mut work = Work::new(bare, record);
    work.leave_unwished(wish);
    for (entry, piece) in wish.entries.iter().zip(&pieces) {
        if piece.standing.is_due() {
            work.put(wish, entry);
        }
    }
    let record = Some(work.record).filter(|it| !it.entries.is_empty());
    let after = if work.text == bare {
        After::Same
    } else {
        After::Text(format!("{mark}{}", work.text))
    };
    Change {
        after,
        pieces,
        record,
    }
}

/// Returns whether an entry is there, changed or not.
fn is_found(text: &str, written: &Written) -> bool {
    let Ok(document) = Document::parse(text) else {
        return false;
    };
    match document.at(&names(&written.at)) {
        At::Node(node) => node.items.iter().any(|item| written.is(item)),
        At::Nothing | At::Twice(_) => false,
    }
}

/// Returns the record of a file that holds nothing but Ken's entries.
fn fresh(wish: &Wish, text: Option<&str>) -> Record {
    let mut record = Record {
        created: text.is_none(),
        blank: text.map(str::to_owned),
        extras: wish
            .extras
            .iter()
            .map(|(key, _)| (*key).to_owned())
            .collect(),
        entries: wish.entries.iter().map(Entry::written).collect(),
        ..Record::default()
    };
    for entry in &wish.entries {
        for depth in 1..=entry.path.len() {
            let made = pointer(&entry.path[..depth]);
            if !record.made.contains(&made) {
                record.made.push(made);
            }
        }
    }
    record
}

/// Takes entries out that are as they were written.
pub(super) fn remove(wish: &Wish, text: Option<&str>, record: Option<&Record>) -> Change {
    let pieces = look(wish, text, record);
    let (Some(whole), Some(record)) = (text, record) else {
        return Change::none(pieces, None);
    };
    let bare = whole.trim_start_matches(BOM);
    let mark = &whole[..whole.len() - bare.len()];
    if Document::parse(bare).is_err() {
        return Change::none(pieces, Some(record.clone()));
    }
    let mut work = Work::new(bare, Some(record));
    for written in record.entries.clone() {
        work.take(&written);
    }
    work.take_extras();
    let kept = Some(work.record.clone()).filter(|it| !it.entries.is_empty());
    let after = match work.left() {
        Left::Text if work.text == bare => After::Same,
        Left::Text => After::Text(format!("{mark}{}", work.text)),
        Left::Blank(blank) => After::Text(blank),
        Left::Nothing => After::Gone,
    };
    Change {
        after,
        pieces,
        record: kept,
    }
}

/// What is left of a file.
enum Left {
    Text,
    Blank(String),
    Nothing,
}

/// A text under work, with what is known of it.
struct Work {
    text: String,
    record: Record,
}

impl Work {
    fn new(text: &str, record: Option<&Record>) -> Self {
        Self {
            text: text.to_owned(),
            record: record.cloned().unwrap_or_default(),
        }
    }

    /// Does something to the text where it is as it should be.
    fn with<T>(&self, act: impl FnOnce(&Document<'_>) -> Option<T>) -> Option<T> {
        let document = Document::parse(&self.text).ok()?;
        act(&document)
    }

    /// Takes out what an older build wrote and this one does not.
    fn leave_unwished(&mut self, wish: &Wish) {
        let is_wished = |it: &Written| {
            let mut all = wish.entries.iter();
            all.any(|entry| entry.at() == it.at && entry.key == it.key.as_deref())
        };
        for written in self.record.entries.clone() {
            if !is_wished(&written) {
                self.take(&written);
            }
        }
    }

    /// Puts one entry in, or gives it its new value.
    fn put(&mut self, wish: &Wish, entry: &Entry) {
        self.put_extras(wish);
        for depth in 1..=entry.path.len() {
            let is_array = depth == entry.path.len() && entry.key.is_none();
            self.make(&entry.path[..depth], is_array);
        }
        let known = self.with(|document| {
            let At::Node(node) = document.at(&entry.path) else {
                return None;
            };
            let item = node.items.iter().find(|item| entry.is(item))?;
            Some(json::set(document, node, item, &entry.value))
        });
        match known {
            Some(text) => self.text = text,
            None => self.add(&entry.path, entry.key, &entry.value),
        }
        let written = entry.written();
        let is_same = |it: &Written| it.at == written.at && it.key == written.key;
        self.record.entries.retain(|it| !is_same(it));
        self.record.entries.push(written);
    }

    /// Writes what a new file needs, where the top has no members at all.
    fn put_extras(&mut self, wish: &Wish) {
        let is_empty = self.with(|it| it.root.as_ref().map(|root| root.items.is_empty()));
        if is_empty != Some(true) {
            return;
        }
        for (key, value) in &wish.extras {
            self.add(&[], Some(key), value);
            self.record.extras.push((*key).to_owned());
        }
    }

    /// Makes the object or array at `path` unless it is there.
    fn make(&mut self, path: &[&str], is_array: bool) {
        let is_there = self.with(|document| match document.at(path) {
            At::Node(_) | At::Twice(_) => Some(()),
            At::Nothing => None,
        });
        if is_there.is_some() {
            return;
        }
        let empty = if is_array {
            Json::List(Vec::new())
        } else {
            Json::Object(Vec::new())
        };
        if let Some((name, above)) = path.split_last() {
            self.add(above, Some(name), &empty);
            let made = pointer(path);
            self.record.inner.remove(&made);
            self.record.made.retain(|it| *it != made);
            self.record.made.push(made);
        }
    }

    fn add(&mut self, path: &[&str], key: Option<&str>, value: &Json) {
        let added = self.with(|document| match document.at(path) {
            At::Node(node) => Some(json::add(document, node, key, value)),
            At::Nothing | At::Twice(_) => None,
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

    /// Takes an entry out if it is as it was written; forgets it if it is gone.
    fn take(&mut self, written: &Written) {
        let path = names(&written.at);
        let state = self.with(|document| {
            let At::Node(node) = document.at(&path) else {
                return None;
            };
            let is_it = |item: &Item| written.is(item);
            let same = |item: &Item| sum_of(&item.node.value) == written.sum;
            let found = node.items.iter().position(|it| is_it(it) && same(it));
            match found {
                Some(index) => Some(Some(json::cut(document, node, index))),
                None if node.items.iter().any(is_it) => Some(None),
                None => None,
            }
        });
        match state {
            // Somebody changed it: it stays, and stays known.
            Some(None) => return,
            Some(Some(text)) => self.text = text,
            None => {}
        }
        self.record.entries.retain(|it| it != written);
        self.tidy(&path);
    }

    /// Takes out objects and arrays that were made and are empty, and gives others their blanks back.
    fn tidy(&mut self, path: &[&str]) {
        for depth in (0..=path.len()).rev() {
            let at = pointer(&path[..depth]);
            let is_made = self.record.made.contains(&at);
            let blanks = self.record.inner.get(&at).cloned();
            let tidied = self.with(|document| {
                let At::Node(node) = document.at(&path[..depth]) else {
                    return None;
                };
                let is_bare = node.items.is_empty() && !document.has_comment(&node.inside());
                match path[..depth].split_last() {
                    Some((name, above)) if is_bare && is_made => cut_named(document, above, name),
                    Some(_) | None => {
                        let blanks = blanks.filter(|_| is_bare)?;
                        Some(json::fill(document, node, &blanks))
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

    /// Takes out what a new file needed, where nothing else is left.
    fn take_extras(&mut self) {
        let mut extras = self.record.extras.clone();
        extras.retain(|it| EXTRAS.contains(&it.as_str()));
        let is_all = self.with(|document| {
            let root = document.root.as_ref()?;
            let is_extra = |it: &Item| it.key.as_ref().is_some_and(|key| extras.contains(key));
            Some(root.items.iter().all(is_extra))
        });
        if is_all != Some(true) || !self.record.entries.is_empty() {
            return;
        }
        for key in &extras {
            let cut = self.with(|document| cut_named(document, &[], key));
            if let Some(text) = cut {
                self.text = text;
            }
        }
        self.tidy(&[]);
    }

    /// Says what is left when all is out.
    fn left(&self) -> Left {
        let is_bare = self.with(|document| {
            let root = document.root.as_ref()?;
            Some(root.items.is_empty() && !document.has_comment(&(0..self.text.len())))
        });
        if is_bare != Some(true) || !self.record.entries.is_empty() {
            return Left::Text;
        }
        match (&self.record.blank, self.record.created) {
            (Some(blank), _) => Left::Blank(blank.clone()),
            (None, true) => Left::Nothing,
            (None, false) => Left::Text,
        }
    }
}

/// Cuts a member out of the object at `path`.
fn cut_named(document: &Document<'_>, path: &[&str], name: &str) -> Option<String> {
    let At::Node(node) = document.at(path) else {
        return None;
    };
    let node: &Node = node;
    let index = node
        .items
        .iter()
        .position(|it| it.key.as_deref() == Some(name))?;
    Some(json::cut(document, node, index))
}
