//! What a whole organisation is shown of its workspaces' entries.
//!
//! A copy carries the claim and how it is filed. What it rests on (anchors, steps, conditions, citations) is about one
//! repository and stays there, and so does what came of using it: trust does not rise by copying.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::content::Scope;
use ken_core::entry::{Created, Entry, Tallies};
use ken_core::event::Event;
use ken_core::id::EntryId;
use ken_core::promotion::{exported, is_approved, origin_of_copy};
use ken_core::workspace::Workspace;
use pgvector::HalfVector;

use super::project::Projection;
use super::rows::{SearchRow, model, to_json};
use super::{StoreError, read::entry_of};
use crate::database::Tenant;

/// Returns whether an entry is meant for the whole organisation: promoted that far, in use, and as it reads now approved
/// by a person who did not word it.
pub(super) fn is_for_all<'a>(entry: &Entry, history: impl Iterator<Item = &'a Event>) -> bool {
    entry.scope.value == Scope::Global && entry.is_live() && is_approved(entry, history)
}

/// Returns what of an entry may leave its workspace, each field by name: what is added to entries later stays.
fn copy_of(entry: &Entry) -> Entry {
    let created = entry.created.as_ref().map(|it| Created {
        event: it.event,
        at: it.at,
        by: it.by.clone(),
        kind: it.kind,
        origin: origin_of_copy(it.origin),
        schema_version: it.schema_version.clone(),
        slug: it.slug.clone(),
        alias: None,
        thread: None,
        run: None,
        promoted_from: Vec::new(),
        copied_from: None,
    });
    Entry {
        id: entry.id,
        created,
        content: entry.content.as_ref().map(exported),
        revision: entry.revision.clone(),
        concurrent: Vec::new(),
        status: entry.status.clone(),
        scope: entry.scope.clone(),
        citations: Vec::new(),
        confirmation: entry.confirmation.clone(),
        archived: None,
        retracted: None,
        quarantine: Vec::new(),
        links: Vec::new(),
        overlays: BTreeMap::new(),
        merged_from: BTreeSet::new(),
        merged_into: None,
        superseded_by: None,
        approvals: Vec::new(),
        tallies: Tallies::default(),
        history: entry.history.clone(),
    }
}

impl Tenant {
    /// Brings what the organisation sees in step with a projection.
    pub(super) async fn write_global(&mut self, projection: &Projection) -> Result<(), StoreError> {
        if let Some(workspace) = &projection.workspace {
            // Whoever was revoked, or is not any more, takes all of their entries along.
            let rows =
                sqlx::query("SELECT json FROM ken.entries WHERE workspace_id = $1 AND global")
                    .bind(self.key())
                    .fetch_all(self.connection())
                    .await?;
            let all: Vec<Entry> = rows.iter().map(entry_of).collect::<Result<_, _>>()?;
            self.show(&all, workspace).await?;
        } else if !projection.global.is_empty() {
            let workspace = self.workspace().await?;
            self.show(&projection.global, &workspace).await?;
        }
        self.hide(&projection.local).await
    }

    /// Shows the organisation those of `entries` nobody revoked, and hides the others.
    async fn show(&mut self, entries: &[Entry], workspace: &Workspace) -> Result<(), StoreError> {
        let (revoked, shown): (Vec<&Entry>, Vec<&Entry>) = entries
            .iter()
            .partition(|entry| workspace.is_revoked(entry));
        let revoked: Vec<EntryId> = revoked.iter().map(|entry| entry.id).collect();
        self.hide(&revoked).await?;
        if shown.is_empty() {
            return Ok(());
        }
        let copies: Vec<Entry> = shown.into_iter().map(copy_of).collect();
        let mut rows = Vec::with_capacity(copies.len());
        for copy in &copies {
            rows.extend(SearchRow::of(copy)?.map(|row| (row, to_json(copy))));
        }
        let texts = |read: fn(&(SearchRow, String)) -> &str| -> Vec<&str> {
            rows.iter().map(read).collect()
        };
        let vectors: Vec<Option<HalfVector>> =
            rows.iter().map(|(row, _)| row.vector.clone()).collect();
        let (organisation, key) = (self.organisation().0, self.key());
        sqlx::query(
            "INSERT INTO ken.global_entries (organisation_id, workspace_id, entry, json, words, length, model, vector)
             SELECT $1, $2, entry, json, words, length, $7, vector
             FROM unnest($3::text[], $4::text[], $5::tsvector[], $6::integer[], $8::halfvec[])
                 AS u (entry, json, words, length, vector)
             ON CONFLICT (organisation_id, workspace_id, entry) DO UPDATE SET json = excluded.json,
                 words = excluded.words, length = excluded.length, model = excluded.model, vector = excluded.vector",
        )
        .bind(organisation)
        .bind(key)
        .bind(texts(|(row, _)| &row.entry))
        .bind(texts(|(_, json)| json))
        .bind(rows.iter().map(|(row, _)| &row.words).collect::<Vec<_>>())
        .bind(rows.iter().map(|(row, _)| row.words.count()).collect::<Vec<_>>())
        .bind(model().id.as_ref())
        .bind(vectors)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn hide(&mut self, ids: &[EntryId]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let (organisation, key) = (self.organisation().0, self.key());
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        sqlx::query(
            "DELETE FROM ken.global_entries
             WHERE organisation_id = $1 AND workspace_id = $2 AND entry = ANY ($3)",
        )
        .bind(organisation)
        .bind(key)
        .bind(names)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Hides everything of this workspace.
    pub(super) async fn hide_all(&mut self) -> Result<(), StoreError> {
        let (organisation, key) = (self.organisation().0, self.key());
        let delete =
            "DELETE FROM ken.global_entries WHERE organisation_id = $1 AND workspace_id = $2";
        sqlx::query(delete)
            .bind(organisation)
            .bind(key)
            .execute(self.connection())
            .await?;
        Ok(())
    }
}
