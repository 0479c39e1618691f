//! What a change asks the database before it can be worked out, in one question.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ken_core::event::{Body, Event, Recorded};
use ken_core::id::{EntryId, EventId};
use ken_core::state::blanks;
use ken_core::workspace::concerns_workspace;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row as _};
use uuid::Uuid;

use super::settle::{Before, Held};
use super::{StoreError, event_id, uuid};
use crate::database::{Asking, Database, DatabaseError, Tenant};
use crate::identity::{OrganisationId, WorkspaceId};

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
    /// Returns what has to be known before `incoming` can be taken in; `others` are events that change, too.
    pub(super) fn by(incoming: &[Recorded], others: &[EventId]) -> Self {
        let mut asked = Self {
            ids: others.iter().copied().collect(),
            ..Self::default()
        };
        for copy in incoming {
            asked.ids.insert(copy.event.id);
            asked.ids.extend(blanks(&copy.event));
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

    /// Writes the question as text, so that it can be asked with the message that begins the transaction.
    ///
    /// Ids are printed from numbers and names are letters, digits and a hyphen: nothing in it can end the quotes it is in.
    fn question(&self, organisation: Uuid, workspace: Uuid) -> String {
        let mut text = format!(
            "SELECT part, event, entry, seq, is_global, line FROM ken.for_append('{}', '{}', '{{",
            organisation.hyphenated(),
            workspace.hyphenated()
        );
        let mut between = "";
        for id in &self.ids {
            let _ = write!(text, "{between}{}", uuid(*id).hyphenated());
            between = ",";
        }
        for names in [&self.touched, &self.whole] {
            text.push_str("}', '{");
            let mut between = "";
            for name in names {
                let _ = write!(text, "{between}\"{name}\"");
                between = ",";
            }
        }
        text.push_str("}')");
        text
    }
}

/// Returns whether an event can be added to an entry without the others it has.
fn only_adds_up(event: &Event) -> bool {
    matches!(
        event.body,
        Body::RunEffects(_) | Body::FeedbackGiven(_) | Body::ConfidenceReset(_)
    )
}

/// What a row of the answer tells, as `ken.for_append` numbers it.
#[derive(Clone, Copy, Debug)]
enum Part {
    Head,
    /// An event that is there.
    Held,
    /// An event that is to be blanked.
    Blanked,
    Entry,
    /// An event that an entry, or the workspace, is folded from.
    History,
}

impl TryFrom<i16> for Part {
    type Error = StoreError;

    fn try_from(number: i16) -> Result<Self, StoreError> {
        match number {
            0 => Ok(Self::Head),
            1 => Ok(Self::Held),
            2 => Ok(Self::Blanked),
            3 => Ok(Self::Entry),
            4 => Ok(Self::History),
            other => Err(StoreError::damaged(format!("part {other} of an answer"))),
        }
    }
}

impl Known {
    fn take(&mut self, row: &PgRow) -> Result<(), StoreError> {
        match Part::try_from(row.try_get::<i16, _>("part")?)? {
            Part::Head => self.head = row.try_get("seq")?,
            Part::Held => {
                let (seq, line) = (row.try_get("seq")?, row.try_get("line")?);
                let id = event_id(row.try_get("event")?);
                self.before.held.insert(id, Held { seq, line });
            }
            Part::Blanked => {
                let id = event_id(row.try_get("event")?);
                self.before.blanked.insert(id);
            }
            Part::Entry => {
                let id: &str = row.try_get("entry")?;
                let id = id.parse().map_err(StoreError::damaged)?;
                let (json, is_global) = (row.try_get("line")?, row.try_get("is_global")?);
                self.entries.insert(id, StoredEntry { json, is_global });
            }
            Part::History => {
                let events = self.histories.entry(row.try_get("entry")?).or_default();
                events.push((event_id(row.try_get("event")?), row.try_get("line")?));
            }
        }
        Ok(())
    }
}

impl Database {
    /// Begins a transaction that is about to append: what has to be known for that is asked with the message that begins it.
    ///
    /// Nobody else appends to the workspace from now until it ends.
    pub async fn appending(
        &self,
        organisation: OrganisationId,
        workspace: WorkspaceId,
        copies: &[Recorded],
    ) -> Result<Tenant, DatabaseError> {
        let question = Asked::by(copies, &[]).question(organisation.0, workspace.0);
        let asking = Asking {
            key: question.clone(),
            sql: question,
            is_ready_made: false,
        };
        Tenant::begin_asking(self, organisation, workspace, asking).await
    }
}

impl Tenant {
    /// Takes the workspace's row, so that nobody appends until this transaction ends, and answers what was asked.
    pub(super) async fn known(&mut self, asked: &Asked) -> Result<Known, StoreError> {
        let question = asked.question(self.organisation().0, self.key());
        let mut known = Known::default();
        let rows = match self.foreseen(&question) {
            Some(rows) => rows,
            None => {
                let question = sqlx::raw_sql(AssertSqlSafe(question));
                question.fetch_all(self.connection()).await?
            }
        };
        for row in rows {
            known.take(&row)?;
        }
        Ok(known)
    }

    /// Returns the events that entries, or the workspace, are folded from.
    pub(super) async fn histories(&mut self, names: &[String]) -> Result<Histories, StoreError> {
        let key = self.key();
        let query = "SELECT s.entry, e.id, e.line
             FROM ken.subjects s CROSS JOIN LATERAL (
                 SELECT l.id, l.line FROM ken.events l WHERE l.workspace_id = $1 AND l.seq = s.seq OFFSET 0
             ) AS e
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
