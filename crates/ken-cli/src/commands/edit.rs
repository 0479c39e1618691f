//! `ken edit`: changes fields of an entry.

use clap::{Args, ValueEnum};
use ken_core::values::content::ContentChanges;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::{ClaimText, Tag};
use ken_engine::notice::EngineNotice;
use ken_engine::sync::BulkDeletion;
use serde_json::{Map, Value};

use super::query_input::resolve_anchors;
use super::{Session, note};
use crate::args::fields::EntryFieldArgs;
use crate::args::values;
use crate::editor;
use crate::failure::{CommandExit, CommandFailure};

/// `ken edit`.
#[derive(Debug, Args)]
#[command(
    after_help = "--tag adds a tag and --untag removes one; --anchor, --verify and --depends-on replace the whole list.\n\nExamples:\n  ken edit L-7k2f\n  ken edit L-7k2f --statement \"Charging twice is safe within 24 hours.\"\n  ken edit L-7k2f --tag payments --untag billing\n  ken edit L-7k2f --clear tag --tag payments"
)]
pub(crate) struct EditArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) fields: EntryFieldArgs,
    /// Tag to remove; may be repeated
    #[arg(long, value_name = "TAG")]
    pub(crate) untag: Vec<Tag>,
    /// Field to clear; may be repeated
    #[arg(long, value_name = "FIELD")]
    pub(crate) clear: Vec<Field>,
    /// Reason, for the history
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Edit the entry's file in $VISUAL or $EDITOR, the default without other options
    #[arg(short, long)]
    pub(crate) editor: bool,
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
    Body,
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
    let changes_tags = !args.fields.tag.is_empty() || !args.untag.is_empty();
    let is_empty = changes.is_empty() && args.fields.detail.is_none() && !changes_tags;
    if args.editor || (is_empty && editor::is_interactive()) {
        if !is_empty {
            return Err(CommandFailure::usage("--editor takes no other changes"));
        }
        return edit_file(session, &args.id);
    }
    if is_empty {
        return Err(CommandFailure::usage("no change was given").with_hint(
            "add --statement, --tag or another field, or --editor; `ken edit --help` lists them",
        ));
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
        if changes_tags {
            let content = entry.content.as_ref();
            changes.change_tags(content, &args.fields.tag, &args.untag);
        }
        if let (Some(json), Some(kind)) = (&args.fields.detail, entry.kind()) {
            changes.detail = Some(Some(detail(json, kind)?));
        }
        fields = changes.fields();
        Ok(engine.edit(entry.id, changes, reason, by)?)
    })?;
    session.written(&entry, format_args!("edited {}", fields.join(", ")))
}

/// Opens the entry's file in the editor and records the edit.
fn edit_file(session: &mut Session<'_>, wanted: &str) -> Result<CommandExit, CommandFailure> {
    let (before, path) = session.read(|engine| {
        let entry = engine.find(wanted)?;
        let name = entry.file_name().unwrap_or_default();
        let path = engine.root().join(".ken/entries").join(name);
        Ok((entry, path))
    })?;
    if !path.exists() {
        let message = format!("{} has no file", before.id);
        return Err(CommandFailure::usage(message)
            .with_hint("`ken ledger render` writes the files of entries"));
    }
    editor::edit(&path)?;
    let opened = session.surroundings.open_to_write()?;
    let (entry, notices) = session.write_quietly(opened, |engine, _| {
        engine.sync(BulkDeletion::Refuse)?;
        Ok(engine.entry(before.id)?)
    })?;
    session.printer.notices(&notices)?;
    if notices
        .iter()
        .any(|it| matches!(it, EngineNotice::FileIgnored { .. }))
    {
        return Ok(CommandExit::Refused);
    }
    let did = if entry.revision == before.revision {
        "nothing changed"
    } else {
        "edited in its file"
    };
    session.written(&entry, did)
}

/// Returns the changes that do not depend on the entry; tags are added to those of the entry.
fn changes(fields: &EntryFieldArgs) -> Result<ContentChanges, CommandFailure> {
    let mut changes = ContentChanges::default();
    if let Some(text) = &fields.statement {
        let text: ClaimText = text.parse().map_err(CommandFailure::usage)?;
        changes.statement = Some(text.statement);
        changes.body = text.body.map(Some);
    }
    if let Some(body) = &fields.body {
        changes.body = Some(Some(body.clone()));
    }
    // Resolved later, but an edit of the anchors alone is an edit.
    if !fields.anchor.is_empty() {
        changes.anchors = Some(Vec::new());
    }
    if !fields.verify.is_empty() {
        let steps: Result<_, _> = fields.verify.iter().map(|step| step.parse()).collect();
        changes.verify = Some(steps.map_err(CommandFailure::usage)?);
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
        Field::Body => changes.body = Some(None),
    }
}

fn detail(
    json: &str,
    kind: EntryKind,
) -> Result<ken_core::values::content::KindDetail, CommandFailure> {
    let failed = |error: serde_json::Error| {
        let failure = CommandFailure::json(&error).at("--detail");
        match values::detail_example(kind) {
            Some(example) => failure.with_hint(format!("a {kind} takes {example}")),
            None => failure,
        }
    };
    let mut members: Map<String, Value> = serde_json::from_str(json).map_err(failed)?;
    members.entry("of").or_insert_with(|| kind.name().into());
    serde_json::from_value(Value::Object(members)).map_err(failed)
}
