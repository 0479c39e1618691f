//! Settings of a workspace, which hold for everybody who clones it.

use serde_json::Value;

use crate::actor::Actor;
use crate::event::{Body, ConfigChanged};
use crate::text::Tag;
use crate::workspace::Workspace;

use super::{Draft, Refusal, person_needed};

/// Sets `key` to `value`; only a person may.
pub fn configure(
    workspace: &Workspace,
    key: Tag,
    value: Value,
    by: &Actor,
) -> Result<Draft, Refusal> {
    person_needed("configuring a workspace", by)?;
    let now = workspace.config(key.as_str());
    let unchanged = now.map_or(value.is_null(), |setting| setting.value == value);
    if unchanged {
        return Err(Refusal::NothingChanges);
    }
    let replaces = now.map(|setting| setting.heads.clone());
    let body = Body::ConfigChanged(ConfigChanged {
        key,
        value,
        replaces: replaces.unwrap_or_default(),
    });
    let about = Vec::new();
    Ok(Draft { about, body })
}
