//! Overlays of people, such as pins, which only their own requests see.

use ken_core::ledger::event::Overlay;
use ken_core::values::actor::Actor;
use ken_core::values::id::EntryId;
use ken_core::values::text::enum_label;

use super::{StoreError, column};
use crate::database::{WorkspaceTx, millis};

impl WorkspaceTx {
    /// Returns the overlays of a person.
    pub async fn overlays(&mut self, actor: &Actor) -> Result<Vec<(EntryId, Overlay)>, StoreError> {
        let key = self.key();
        let query =
            "SELECT entry, overlay FROM ken.overlays WHERE workspace_id = $1 AND actor = $2";
        let rows = sqlx::query(query)
            .bind(key)
            .bind(actor.to_string())
            .fetch_all(self.read_connection())
            .await?;
        let mut overlays = Vec::with_capacity(rows.len());
        for row in &rows {
            let entry = column::<&str>(row, 0)?
                .parse()
                .map_err(StoreError::damaged)?;
            let name = serde_json::Value::from(column::<&str>(row, 1)?);
            overlays.push((
                entry,
                serde_json::from_value(name).map_err(StoreError::damaged)?,
            ));
        }
        Ok(overlays)
    }

    /// Sets an overlay of a person. Returns false if it is set already.
    pub async fn set_overlay(
        &mut self,
        actor: &Actor,
        entry: EntryId,
        overlay: Overlay,
    ) -> Result<bool, StoreError> {
        let (key, now) = (self.key(), self.now());
        let query = "INSERT INTO ken.overlays (workspace_id, actor, entry, overlay, set_at)
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
        let inserted = sqlx::query(query)
            .bind(key)
            .bind(actor.to_string())
            .bind(entry.to_string())
            .bind(enum_label(&overlay))
            .bind(millis(now))
            .execute(self.connection())
            .await?;
        Ok(inserted.rows_affected() == 1)
    }

    /// Removes an overlay of a person. Returns false if it is not set.
    pub async fn remove_overlay(
        &mut self,
        actor: &Actor,
        entry: EntryId,
        overlay: Overlay,
    ) -> Result<bool, StoreError> {
        let key = self.key();
        let query = "DELETE FROM ken.overlays
             WHERE workspace_id = $1 AND actor = $2 AND entry = $3 AND overlay = $4";
        let deleted = sqlx::query(query)
            .bind(key)
            .bind(actor.to_string())
            .bind(entry.to_string())
            .bind(enum_label(&overlay))
            .execute(self.connection())
            .await?;
        Ok(deleted.rows_affected() == 1)
    }
}
