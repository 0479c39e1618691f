//! Workspace settings, shared by all clones.

use serde_json::Value;

use crate::ledger::event::{ConfigChanged, EventBody};
use crate::ledger::workspace::WorkspaceState;
use crate::values::actor::Actor;
use crate::values::text::Tag;

use super::{Draft, Refusal, ensure_human};

/// Sets `key` to `value`; only a person may.
pub fn configure(
    workspace: &WorkspaceState,
    key: Tag,
    value: Value,
    by: &Actor,
) -> Result<Draft, Refusal> {
    ensure_human("configuring a workspace", by)?;
    let now = workspace.config(key.as_str());
    // `null` removes a setting, so `null` for a missing setting changes nothing.
    let unchanged = now.map_or(value.is_null(), |setting| setting.value == value);
    if unchanged {
        return Err(Refusal::NothingChanges);
    }
    let replaces = now.map(|setting| setting.heads.clone());
    let body = EventBody::ConfigChanged(ConfigChanged {
        key,
        value,
        replaces: replaces.unwrap_or_default(),
    });
    let about = Vec::new();
    Ok(Draft { about, body })
}
