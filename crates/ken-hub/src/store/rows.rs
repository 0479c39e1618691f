//! What stands in which column: entries to rows.

use std::sync::LazyLock;

use ken_core::content::Content;
use ken_core::entry::Entry;
use ken_embed::{Embedder as _, Model, StaticTable, Vector};
use pgvector::HalfVector;

use super::StoreError;
use super::lexemes::{Lexemes, Part};
use crate::database::without_nul;

/// Stands between the paths of one entry where they travel as one text.
pub(super) const BETWEEN_PATHS: &str = "\u{1f}";

/// Stands between the tags of one entry; no tag has a space.
pub(super) const BETWEEN_TAGS: &str = "\n";

/// The model whose vectors the hub keeps: the one that is always there.
static TABLE: LazyLock<StaticTable> = LazyLock::new(StaticTable::new);

/// An entry made ready to be written.
#[derive(Debug)]
pub(super) struct EntryRow {
    pub(super) id: String,
    pub(super) memory: &'static str,
    pub(super) kind: Option<&'static str>,
    pub(super) status: &'static str,
    pub(super) lens: Option<String>,
    pub(super) alias: Option<String>,
    pub(super) created: String,
    pub(super) updated: String,
    pub(super) worded: bool,
    pub(super) live: bool,
    pub(super) archived: bool,
    pub(super) retracted: bool,
    pub(super) tombstone: bool,
    pub(super) global: bool,
    pub(super) tags: String,
    pub(super) json: String,
}

/// What a search reads of an entry.
#[derive(Debug)]
pub(super) struct SearchRow {
    pub(super) entry: String,
    pub(super) live: bool,
    /// Its words, those of its tags and those of the places it is about.
    pub(super) words: Lexemes,
    pub(super) paths: String,
    pub(super) vector: Option<HalfVector>,
}

impl EntryRow {
    /// Returns the row of an entry; whether the whole organisation is shown it follows from its events.
    pub(super) fn of(entry: &Entry, is_for_all: bool) -> Self {
        let created = entry.created.as_ref();
        let content = entry.content.as_ref();
        let tags = content.map_or_else(Vec::new, |it| {
            it.tags.iter().map(|tag| tag.as_str()).collect()
        });
        let alias = created.and_then(|it| it.alias.as_ref());
        let lens = content.and_then(|it| it.lens.as_ref());
        Self {
            id: entry.id.to_string(),
            memory: entry.id.prefix().memory().name(),
            kind: entry.kind().map(ken_core::kind::Kind::name),
            status: entry.status.value.name(),
            lens: lens.map(|it| without_nul(it.as_str())),
            alias: alias.map(|it| without_nul(it.as_str())),
            created: created.map_or_else(String::new, |it| it.at.to_string()),
            updated: entry.history.last.to_string(),
            worded: content.is_some(),
            live: entry.is_live(),
            archived: entry.archived.is_some(),
            retracted: entry.retracted.is_some(),
            tombstone: entry.is_tombstone(),
            global: is_for_all,
            tags: without_nul(&tags.join(BETWEEN_TAGS)),
            json: to_json(entry),
        }
    }
}

impl SearchRow {
    /// Returns what a search reads of an entry; nothing of one without a wording.
    pub(super) fn of(entry: &Entry) -> Result<Option<Self>, StoreError> {
        let Some(content) = &entry.content else {
            return Ok(None);
        };
        let places: Vec<String> = content
            .evidence
            .iter()
            .map(|it| it.at.to_string())
            .collect();
        let paths: Vec<&str> = content.evidence.iter().map(|it| it.at.path()).collect();
        let (said, filed) = said_and_filed(content);
        let mut words = Lexemes::default();
        words.add(said, Part::Statement);
        words.add(&filed, Part::Tags);
        words.add(&places.join(" "), Part::Places);
        Ok(Some(Self {
            entry: entry.id.to_string(),
            live: entry.is_live(),
            words,
            // What is laid aside is only recognised when somebody says it again.
            vector: match entry.is_live() {
                true => vector_of(&format!("{said} {filed}"))?,
                false => None,
            },
            paths: without_nul(&paths.join(BETWEEN_PATHS)),
        }))
    }
}

/// Returns what a content says and the tags it is filed under, each as a text.
fn said_and_filed(content: &Content) -> (&str, String) {
    let tags: Vec<&str> = content.tags.iter().map(|tag| tag.as_str()).collect();
    (content.statement.as_str(), tags.join(" "))
}

/// Writes an entry exactly as every store does.
pub(super) fn to_json(entry: &Entry) -> String {
    serde_json::to_string(entry).expect("an entry has string keys")
}

/// Returns what is known about the model of the vectors.
pub(crate) fn model() -> &'static Model {
    TABLE.model()
}

/// Returns the model itself.
pub(crate) fn table() -> &'static StaticTable {
    &TABLE
}

/// Returns the vector of a text; nothing where it says nothing the model knows.
pub(super) fn vector_of(text: &str) -> Result<Option<HalfVector>, StoreError> {
    let vector = TABLE.embed(&[text]).map_err(StoreError::damaged)?.pop();
    Ok(vector.filter(|it| !it.is_zero()).map(|it| half(&it)))
}

/// Every component is a whole number up to 127, which eleven bits hold exactly.
fn half(vector: &Vector) -> HalfVector {
    let components: Vec<f32> = vector.components().iter().copied().map(f32::from).collect();
    HalfVector::from_f32_slice(&components)
}
