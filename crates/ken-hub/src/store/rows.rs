//! Conversion of entries to table rows.

use std::sync::LazyLock;

use ken_core::ledger::entry::Entry;
use ken_core::values::content::Content;
use ken_embed::{Embedder as _, EmbeddingModel, StaticTable, Vector};
use pgvector::HalfVector;

use super::StoreError;
use super::lexemes::{EntryTextPart, TextSearchVector};
use crate::database::without_nul;

/// Separator of an entry's paths in one text value (ASCII unit separator). `unnest` flattens nested
/// arrays, so a list per row has to travel as one text.
pub(super) const BETWEEN_PATHS: &str = "\u{1f}";

/// Separator of an entry's tags in one text value; tags contain no whitespace.
pub(super) const BETWEEN_TAGS: &str = "\n";

/// Embedding model of the hub: the built-in table, which is always available.
static TABLE: LazyLock<StaticTable> = LazyLock::new(StaticTable::new);

/// A row of `ken.entries`.
#[derive(Debug)]
pub(super) struct EntryTableRow {
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

/// A row of `ken.searchable`.
#[derive(Debug)]
pub(super) struct SearchTableRow {
    pub(super) entry: String,
    pub(super) live: bool,
    /// Words of its statement, its tags and its anchors.
    pub(super) words: TextSearchVector,
    pub(super) paths: String,
    pub(super) vector: Option<HalfVector>,
}

impl EntryTableRow {
    /// Returns the row of an entry. Whether it is published depends on its events, so the caller
    /// decides that.
    pub(super) fn from_entry(entry: &Entry, is_for_all: bool) -> Self {
        let created = entry.created.as_ref();
        let content = entry.content.as_ref();
        let tags = content.map_or_else(Vec::new, |content| {
            content.tags.iter().map(|tag| tag.as_str()).collect()
        });
        let alias = created.and_then(|it| it.alias.as_ref());
        let lens = content.and_then(|it| it.lens.as_ref());
        Self {
            id: entry.id.to_string(),
            memory: entry.id.prefix().memory().name(),
            kind: entry.kind().map(ken_core::values::kind::EntryKind::name),
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

impl SearchTableRow {
    /// Returns the search row of an entry; `None` for an entry without content.
    pub(super) fn from_entry(entry: &Entry) -> Result<Option<Self>, StoreError> {
        let Some(content) = &entry.content else {
            return Ok(None);
        };
        let places: Vec<String> = content.anchors.iter().map(|it| it.at.to_string()).collect();
        let paths: Vec<&str> = content.anchors.iter().map(|it| it.at.path()).collect();
        let (statement, tags) = statement_and_tags(content);
        let mut words = TextSearchVector::default();
        if entry.is_live() {
            // A search finds an entry by every part of its content, as in a repository.
            words.add(
                &content.searchable_texts().join(" "),
                EntryTextPart::Statement,
            );
        } else {
            words.add(statement, EntryTextPart::Statement);
        }
        words.add(&tags, EntryTextPart::Tags);
        words.add(&places.join(" "), EntryTextPart::Anchors);
        Ok(Some(Self {
            entry: entry.id.to_string(),
            live: entry.is_live(),
            words,
            // Entries that are not live are only matched by words, to detect repeated claims. They
            // need no vector.
            vector: if entry.is_live() {
                vector_of(&format!("{statement} {tags}"))?
            } else {
                None
            },
            paths: without_nul(&paths.join(BETWEEN_PATHS)),
        }))
    }
}

/// Returns a content's statement and its tags, each as one text.
fn statement_and_tags(content: &Content) -> (&str, String) {
    let tags: Vec<&str> = content.tags.iter().map(|tag| tag.as_str()).collect();
    (content.statement.as_str(), tags.join(" "))
}

/// Serializes an entry like every store.
pub(super) fn to_json(entry: &Entry) -> String {
    serde_json::to_string(entry).expect("an entry has string keys")
}

/// Returns the metadata of the embedding model.
pub(crate) fn embedding_model() -> &'static EmbeddingModel {
    TABLE.model()
}

/// Returns the embedding model.
pub(crate) fn embedding_table() -> &'static StaticTable {
    &TABLE
}

/// Returns the vector of a text; `None` if the model knows none of its words.
pub(super) fn vector_of(text: &str) -> Result<Option<HalfVector>, StoreError> {
    let vector = TABLE.embed(&[text]).map_err(StoreError::damaged)?.pop();
    Ok(vector.filter(|it| !it.is_zero()).map(|it| half(&it)))
}

/// Converts a vector to half precision, without loss: components are integers up to 127, which fit
/// an 11-bit significand.
fn half(vector: &Vector) -> HalfVector {
    let components: Vec<f32> = vector.components().iter().copied().map(f32::from).collect();
    HalfVector::from_f32_slice(&components)
}
