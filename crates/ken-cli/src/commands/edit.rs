//! `ken edit`: changes fields of an entry.

use clap::{Args, ValueEnum};
use ken_core::values::content::ContentChanges;
use ken_core::values::kind::EntryKind;
use serde_json::{Map, Value};

use super::query_input::resolve_anchors;
use super::{Session, note};
use crate::args::fields::EntryFieldArgs;
use crate::failure::{CommandExit, CommandFailure};

/// `ken edit`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken edit L-7k2f --statement \"Charging twice is safe within 24 hours.\"\n  ken edit L-7k2f --clear tag"
)]
pub(crate) struct EditArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
    /// A list (anchor, verify, tag, depends-on, applies-to) replaces the old list.
    #[command(flatten)]
    pub(crate) fields: EntryFieldArgs,
    /// Field to clear; may be repeated
    #[arg(long, value_name = "FIELD")]
    pub(crate) clear: Vec<Field>,
    /// Reason, for the history
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

/// Fields that can be cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Field {
    Anchor,
    Verify,
    Tag,
    DependsOn,
    AppliesTo,
    Lens,
    Polarity,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: EditArgs,
) -> Result<CommandExit, CommandFailure> {
    let reason = note(args.note)?;
    let mut changes = changes(&args.fields)?;
    for field in &args.clear {
        clear(&mut changes, *field);
    }
    if changes.is_empty() && args.fields.detail.is_none() {
        return Err(CommandFailure::usage("no change was given")
            .with_hint("add --statement, --tag or another field; `ken edit --help` lists them"));
    }
    let mut fields = Vec::new();
    let start = session.surroundings.start.clone();
    let entry = session.write(|engine, by| {
        if !args.fields.anchor.is_empty() {
            let mut anchors = args.fields.anchor.clone();
            resolve_anchors(engine, &start, &mut anchors);
            changes.anchors = Some(anchors.into_iter().map(Into::into).collect());
        }
        let entry = engine.find(&args.id)?;
        if let (Some(json), Some(kind)) = (&args.fields.detail, entry.kind()) {
            changes.detail = Some(Some(detail(json, kind)?));
        }
        fields = changes.fields();
        Ok(engine.edit(entry.id, changes, reason, by)?)
    })?;
    session.written(&entry, format_args!("edited {}", fields.join(", ")))
}

fn changes(fields: &EntryFieldArgs) -> Result<ContentChanges, CommandFailure> {
    let mut changes = ContentChanges::default();
    if let Some(text) = &fields.statement {
        changes.statement = Some(text.parse().map_err(CommandFailure::usage)?);
    }
    // Resolved later, but an edit of the anchors alone is an edit.
    if !fields.anchor.is_empty() {
        changes.anchors = Some(Vec::new());
    }
    if !fields.verify.is_empty() {
        let steps: Result<_, _> = fields.verify.iter().map(|step| step.parse()).collect();
        changes.verify = Some(steps.map_err(CommandFailure::usage)?);
    }
    if !fields.tag.is_empty() {
        changes.tags = Some(fields.tag.iter().cloned().collect());
    }
    if !fields.depends_on.is_empty() {
        changes.depends_on = Some(fields.depends_on.clone());
    }
    if !fields.applies_to.is_empty() {
        changes.applies_to = Some(fields.applies_to.clone());
    }
    changes.lens = fields.lens.clone().map(Some);
    changes.polarity = fields.polarity.map(Some);
    changes.decay = fields.decay;
    Ok(changes)
}

fn clear(changes: &mut ContentChanges, field: Field) {
    match field {
        Field::Anchor => changes.anchors = Some(Vec::new()),
        Field::Verify => changes.verify = Some(Vec::new()),
        Field::Tag => changes.tags = Some(std::collections::BTreeSet::new()),
        Field::DependsOn => changes.depends_on = Some(Vec::new()),
        Field::AppliesTo => changes.applies_to = Some(Vec::new()),
        Field::Lens => changes.lens = Some(None),
        Field::Polarity => changes.polarity = Some(None),
    }
}

fn detail(
    json: &str,
    kind: EntryKind,
) -> Result<ken_core::values::content::KindDetail, CommandFailure> {
    let failed = |error: serde_json::Error| CommandFailure::json(&error).at("--detail");
    let mut members: Map<String, Value> = serde_json::from_str(json).map_err(failed)?;
    members.entry("of").or_insert_with(|| kind.name().into());
    serde_json::from_value(Value::Object(members)).map_err(failed)
}
