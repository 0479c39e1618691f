//! `ken revise`: words fields of an entry anew.

use ken_core::content::Changes;
use ken_core::kind::Kind;
use serde_json::{Map, Value};

use super::{Session, note};
use crate::args::{Field, ReviseArgs, WordingArgs};
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: ReviseArgs) -> Result<Exit, Failure> {
    let reason = note(args.note)?;
    let mut changes = changes(&args.wording)?;
    for field in &args.clear {
        clear(&mut changes, *field);
    }
    if changes.is_empty() && args.wording.detail.is_none() {
        return Err(Failure::usage("nothing to change was given")
            .with_hint("add --statement, --tag or another field; `ken revise --help` lists them"));
    }
    let mut fields = Vec::new();
    let entry = session.write(|engine, by| {
        let entry = engine.find(&args.id)?;
        if let (Some(json), Some(kind)) = (&args.wording.detail, entry.kind()) {
            changes.detail = Some(Some(detail(json, kind)?));
        }
        fields = changes.fields();
        Ok(engine.revise(entry.id, changes, reason, by)?)
    })?;
    session.written(&entry, format_args!("revised {}", fields.join(", ")))
}

fn changes(wording: &WordingArgs) -> Result<Changes, Failure> {
    let mut changes = Changes::default();
    if let Some(text) = &wording.statement {
        changes.statement = Some(text.parse().map_err(Failure::usage)?);
    }
    if !wording.anchor.is_empty() {
        changes.evidence = Some(wording.anchor.iter().cloned().map(Into::into).collect());
    }
    if !wording.verify.is_empty() {
        let steps: Result<_, _> = wording.verify.iter().map(|step| step.parse()).collect();
        changes.verify = Some(steps.map_err(Failure::usage)?);
    }
    if !wording.tag.is_empty() {
        changes.tags = Some(wording.tag.iter().cloned().collect());
    }
    if !wording.depends_on.is_empty() {
        changes.depends_on = Some(wording.depends_on.clone());
    }
    changes.lens = wording.lens.clone().map(Some);
    changes.polarity = wording.polarity.map(Some);
    changes.decay = wording.decay;
    Ok(changes)
}

fn clear(changes: &mut Changes, field: Field) {
    match field {
        Field::Anchor => changes.evidence = Some(Vec::new()),
        Field::Verify => changes.verify = Some(Vec::new()),
        Field::Tag => changes.tags = Some(std::collections::BTreeSet::new()),
        Field::DependsOn => changes.depends_on = Some(Vec::new()),
        Field::Lens => changes.lens = Some(None),
        Field::Polarity => changes.polarity = Some(None),
    }
}

fn detail(json: &str, kind: Kind) -> Result<ken_core::content::Detail, Failure> {
    let failed = |error: serde_json::Error| Failure::json(&error).at("--detail");
    let mut members: Map<String, Value> = serde_json::from_str(json).map_err(failed)?;
    members.entry("of").or_insert_with(|| kind.name().into());
    serde_json::from_value(Value::Object(members)).map_err(failed)
}
