//! `ken capture`: a problem somebody solved becomes one sound entry, through the same door as every other.

use serde_json::json;

use super::input::EntryInput;
use crate::args::CaptureArgs;
use crate::commands::Session;
use crate::failure::{Exit, Failure};

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    args: &CaptureArgs,
) -> Result<Exit, Failure> {
    if let Some(file) = &args.file {
        return super::harvest::run(session, args, file);
    }
    let told = |text: &Option<String>| sentence(text.as_deref().unwrap_or_default());
    let statement = format!("{} {}", told(&args.problem)?, told(&args.solution)?);
    let cite: Vec<String> = args
        .cite
        .iter()
        .map(|it| format!("{}:{}", it.evidence_type.name(), it.evidence_ref))
        .collect();
    let input = json!({
        "kind": args.kind.kind().name(),
        "statement": statement,
        "cite": cite,
        "anchors": args.anchor,
        "verify": args.verify,
        "tags": args.tag,
        "lens": args.lens,
    });
    let input = EntryInput::parse(&input.to_string())?;
    let claim = statement.parse().map_err(Failure::usage)?;
    let entry = session.write_as(|engine, reader| {
        if let Some(known) = engine.live_entry_saying(&claim)? {
            let id = known.id;
            return Err(
                Failure::refused("known_already", format!("{id} says so already")).with_hint(
                    format!("`ken cite {id} TYPE:REF` adds what shows it; `ken show {id}` shows the entry"),
                ),
            );
        }
        let proposal = input.proposal(engine, &reader.agent)?;
        let added = engine.add_for(reader, vec![proposal])?;
        Ok(engine.entry(added[0])?)
    })?;
    super::tell_quarantine(session, &entry)?;
    let file = entry.file_name().unwrap_or_default();
    session.written(
        &entry,
        format_args!("captured as {}: .ken/entries/{file}", entry.status.value),
    )
}

/// Returns a text as a sentence: one line that ends as one.
fn sentence(text: &str) -> Result<String, Failure> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return Err(Failure::usage("problem and solution must say something"));
    }
    let is_ended = text.ends_with(['.', '!', '?']);
    Ok(if is_ended { text } else { format!("{text}.") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_a_sentence_and_nothing_is_refused() {
        assert_eq!(sentence(" it\n broke ").unwrap(), "it broke.");
        assert_eq!(sentence("Really?").unwrap(), "Really?");
        assert!(sentence(" \n").is_err());
    }
}
