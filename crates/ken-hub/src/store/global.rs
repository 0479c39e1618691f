//! Published entries: copies of a workspace's entries that the whole organization sees.
//!
//! A copy contains the claim and its classification. Anchors, steps, conditions and citations
//! concern one repository and are omitted. Usage statistics are omitted as well: copying must not
//! increase trust.

use std::collections::{BTreeMap, BTreeSet};

use ken_core::ledger::entry::{Entry, EntryCreation, EntryTallies};
use ken_core::ledger::event::Event;
use ken_core::ledger::workspace::WorkspaceState;
use ken_core::trust::promotion::{exportable_content, is_approved, origin_of_copy};
use ken_core::values::content::EntryScope;
use ken_core::values::id::EntryId;
use pgvector::HalfVector;

use super::project::{ProjectionUpdate, WorkspaceUpdate};
use super::rows::{SearchTableRow, embedding_model, to_json};
use super::{StoreError, read::entry_from_row};
use crate::database::WorkspaceTx;

/// Returns whether an entry is published: it has organization scope, is live, and a person who is
/// not its author approved its current text.
pub(super) fn is_published<'a>(entry: &Entry, history: impl Iterator<Item = &'a Event>) -> bool {
    entry.scope.value == EntryScope::Global && entry.is_live() && is_approved(entry, history)
}

/// Returns the published copy of an entry. Every field is listed, so a field added to `Entry` later
/// is a compile error here and is not published by accident.
fn published_copy(entry: &Entry) -> Entry {
    let created = entry.created.as_ref().map(|created| EntryCreation {
        event: created.event,
        at: created.at,
        by: created.by.clone(),
        kind: created.kind,
        origin: origin_of_copy(created.origin),
        schema_version: created.schema_version.clone(),
        slug: created.slug.clone(),
        alias: None,
        thread: None,
        run: None,
        promoted_from: Vec::new(),
        copied_from: None,
        foraged: None,
    });
    Entry {
        id: entry.id,
        created,
        content: entry.content.as_ref().map(exportable_content),
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
        tallies: EntryTallies::default(),
        history: entry.history.clone(),
    }
}

impl WorkspaceTx {
    /// Updates the published entries after a projection update.
    pub(super) async fn write_published(
        &mut self,
        projection: &ProjectionUpdate,
    ) -> Result<(), StoreError> {
        let empty = WorkspaceState::default();
        let changed = match &projection.workspace {
            WorkspaceUpdate::Unchanged => None,
            WorkspaceUpdate::Folded(workspace) => Some(workspace),
            WorkspaceUpdate::Gone => Some(&empty),
        };
        if let Some(workspace) = changed {
            // A changed workspace state may revoke or reinstate an author, which affects all of the
            // author's entries.
            let rows =
                sqlx::query("SELECT json FROM ken.entries WHERE workspace_id = $1 AND global")
                    .bind(self.key())
                    .fetch_all(self.connection())
                    .await?;
            let all: Vec<Entry> = rows.iter().map(entry_from_row).collect::<Result<_, _>>()?;
            self.publish_entries(&all, workspace).await?;
        } else if !projection.published.is_empty() {
            let workspace = self.workspace_state().await?;
            self.publish_entries(&projection.published, &workspace)
                .await?;
        }
        self.unpublish_entries(&projection.unpublished).await
    }

    /// Publishes those of `entries` whose authors are not revoked, and unpublishes the others.
    async fn publish_entries(
        &mut self,
        entries: &[Entry],
        workspace: &WorkspaceState,
    ) -> Result<(), StoreError> {
        let (revoked, shown): (Vec<&Entry>, Vec<&Entry>) = entries
            .iter()
            .partition(|entry| workspace.is_revoked(entry));
        let revoked: Vec<EntryId> = revoked.iter().map(|entry| entry.id).collect();
        self.unpublish_entries(&revoked).await?;
        if shown.is_empty() {
            return Ok(());
        }
        // The search row is built from the copy, so that words of omitted anchors cannot be
        // searched either.
        let copies: Vec<Entry> = shown.into_iter().map(published_copy).collect();
        let mut rows = Vec::with_capacity(copies.len());
        for copy in &copies {
            rows.extend(SearchTableRow::from_entry(copy)?.map(|row| (row, to_json(copy))));
        }
        let texts = |read: fn(&(SearchTableRow, String)) -> &str| -> Vec<&str> {
            rows.iter().map(read).collect()
        };
        let vectors: Vec<Option<HalfVector>> =
            rows.iter().map(|(row, _)| row.vector.clone()).collect();
        let (organization, key) = (self.organization().0, self.key());
        sqlx::query(
            "INSERT INTO ken.global_entries (organization_id, workspace_id, entry, json, words, length, model, vector)
             SELECT $1, $2, entry, json, words, length, $7, vector
             FROM unnest($3::text[], $4::text[], $5::tsvector[], $6::integer[], $8::halfvec[])
                 AS u (entry, json, words, length, vector)
             ON CONFLICT (organization_id, workspace_id, entry) DO UPDATE SET json = excluded.json,
                 words = excluded.words, length = excluded.length, model = excluded.model, vector = excluded.vector",
        )
        .bind(organization)
        .bind(key)
        .bind(texts(|(row, _)| &row.entry))
        .bind(texts(|(_, json)| json))
        .bind(rows.iter().map(|(row, _)| &row.words).collect::<Vec<_>>())
        .bind(rows.iter().map(|(row, _)| row.words.count()).collect::<Vec<_>>())
        .bind(embedding_model().id.as_ref())
        .bind(vectors)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn unpublish_entries(&mut self, ids: &[EntryId]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let (organization, key) = (self.organization().0, self.key());
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        sqlx::query(
            "DELETE FROM ken.global_entries
             WHERE organization_id = $1 AND workspace_id = $2 AND entry = ANY ($3)",
        )
        .bind(organization)
        .bind(key)
        .bind(names)
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Unpublishes all entries of this workspace.
    pub(super) async fn unpublish_all(&mut self) -> Result<(), StoreError> {
        let (organization, key) = (self.organization().0, self.key());
        let delete =
            "DELETE FROM ken.global_entries WHERE organization_id = $1 AND workspace_id = $2";
        sqlx::query(delete)
            .bind(organization)
            .bind(key)
            .execute(self.connection())
            .await?;
        Ok(())
    }
}
