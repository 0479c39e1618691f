//! What a change asks the database before it can be worked out, in one question.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::event::{Body, Event};
use ken_core::id::{EntryId, EventId};
use ken_core::workspace::concerns_workspace;
use sqlx::Row as _;

use super::settle::{Before, Change, Held};
use super::{StoreError, event_id, uuids};
use crate::database::Tenant;

/// Stands for the workspace among the names of entries.
pub(super) const OF_WORKSPACE: &str = "";

/// The names of entries, or [`OF_WORKSPACE`], with the events each is folded from.
pub(super) type Histories = BTreeMap<String, Vec<(EventId, String)>>;

/// An entry as it is stored.
#[derive(Clone, Debug)]
pub(super) struct StoredEntry {
    pub(super) json: String,
    pub(super) is_global: bool,
}

/// What is asked.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) ids: BTreeSet<EventId>,
    /// Entries the change may touch.
    pub(super) touched: BTreeSet<String>,
    /// Those of them that have to be folded again, by the look of the change, and the workspace.
    pub(super) whole: BTreeSet<String>,
}

/// What the answer is.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The place of the last event.
    pub(super) head: i64,
    pub(super) before: Before,
    pub(super) entries: BTreeMap<EntryId, StoredEntry>,
    pub(super) histories: Histories,
}

impl Asked {
    /// Returns what has to be known for a change.
    pub(super) fn by(change: &Change) -> Self {
        let mut asked = Self {
            ids: change.ids(),
            ..Self::default()
        };
        for copy in &change.incoming {
            let adds_up = only_adds_up(&copy.event);
            for entry in copy.event.entries() {
                let name = entry.to_string();
                if !adds_up {
                    asked.whole.insert(name.clone());
                }
                asked.touched.insert(name);
            }
            if concerns_workspace(&copy.event) {
                asked.whole.insert(OF_WORKSPACE.to_owned());
            }
        }
        asked
    }
}

/// Returns whether an event can be added to an entry without the others it has.
fn only_adds_up(event: &Event) -> bool {
    matches!(
        event.body,
        Body::RunEffects(_) | Body::FeedbackGiven(_) | Body::ConfidenceReset(_)
    )
}

impl Tenant {
    /// Takes the workspace's row, so that nobody appends until this transaction ends, and answers what was asked.
    pub(super) async fn known(&mut self, asked: &Asked) -> Result<Known, StoreError> {
        let (organisation, key) = (self.organisation().0, self.key());
        let query = "SELECT part, event, entry, seq, is_global, line FROM ken.for_append($1, $2, $3, $4, $5)";
        let rows = sqlx::query(query)
            .bind(organisation)
            .bind(key)
            .bind(uuids(&asked.ids))
            .bind(asked.touched.iter().map(String::as_str).collect::<Vec<_>>())
            .bind(asked.whole.iter().map(String::as_str).collect::<Vec<_>>())
            .fetch_all(self.connection())
            .await?;
        let mut known = Known::default();
        for row in rows {
            let part: i16 = row.try_get(0)?;
            match part {
                0 => known.head = row.try_get(3)?,
                1 => {
                    let (seq, line) = (row.try_get(3)?, row.try_get(5)?);
                    let held = &mut known.before.held;
                    held.insert(event_id(row.try_get(1)?), Held { seq, line });
                }
                2 => {
                    known.before.blanked.insert(event_id(row.try_get(1)?));
                }
                3 => {
                    let id: &str = row.try_get(2)?;
                    let id = id.parse().map_err(StoreError::damaged)?;
                    let (json, is_global) = (row.try_get(5)?, row.try_get(4)?);
                    known.entries.insert(id, StoredEntry { json, is_global });
                }
                _ => {
                    let events = known.histories.entry(row.try_get(2)?).or_default();
                    events.push((event_id(row.try_get(1)?), row.try_get(5)?));
                }
            }
        }
        Ok(known)
    }

    /// Returns the events that entries, or the workspace, are folded from.
    pub(super) async fn histories(&mut self, names: &[String]) -> Result<Histories, StoreError> {
        let key = self.key();
        let query = "SELECT s.entry, e.id, e.line
             FROM ken.subjects s JOIN ken.events e ON e.workspace_id = s.workspace_id AND e.seq = s.seq
             WHERE s.workspace_id = $1 AND s.entry = ANY ($2)";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(names)
            .fetch_all(self.reading())
            .await?;
        let mut histories = Histories::new();
        for row in rows {
            let events = histories.entry(row.try_get(0)?).or_default();
            events.push((event_id(row.try_get(1)?), row.try_get(2)?));
        }
        Ok(histories)
    }
}
