//! `ken contradictions` and `ken resolve`: entries that cannot both be followed, shown side by side.

use ken_core::run::How;
use ken_core::text::Tag;
use ken_engine::contradictions::{Contradiction, Resolution};
use serde::Serialize;

use super::Session;
use crate::args::{ContradictionsArgs, ResolveArgs};
use crate::failure::{Exit, Failure};
use crate::print::{counted, cut};

/// Columns of a claim.
const CLAIM_WIDTH: usize = 84;

#[derive(Serialize)]
struct PairObject<'a> {
    schema: &'static str,
    first: SideObject,
    second: SideObject,
    rule: Option<&'static str>,
    why: &'a str,
    /// Whether the ledger says so already.
    flagged: bool,
    /// Whether both are norms, which fails the gate.
    blocks: bool,
}

#[derive(Serialize)]
struct SideObject {
    id: String,
    kind: String,
    title: String,
}

impl SideObject {
    fn of(entry: &ken_core::entry::Entry) -> Self {
        Self {
            id: entry.id.to_string(),
            kind: entry.kind().map(|it| it.to_string()).unwrap_or_default(),
            title: entry.title(),
        }
    }
}

pub(super) fn run(session: &mut Session<'_>, args: &ContradictionsArgs) -> Result<Exit, Failure> {
    if let [one, other] = &args.dismiss[..] {
        session.write(|engine, by| {
            let (one, other) = (engine.find(one)?.id, engine.find(other)?.id);
            Ok(engine.dismiss_contradiction(one, other, by)?)
        })?;
        session
            .printer
            .talk("they do not contradict each other, and are not listed again")?;
        return Ok(Exit::Fine);
    }
    let shown = |pairs: &Vec<Contradiction>| {
        let ids = pairs.iter().flat_map(|it| [it.first.id, it.second.id]);
        ids.collect()
    };
    let mut new = 0;
    if args.flag {
        new = session
            .write(|engine, by| Ok(engine.flag_contradictions(by)?))?
            .len();
    }
    let found = session.read_shown(How::Pull, |engine| Ok(engine.contradictions()?), shown)?;
    for it in &found {
        print(session, it)?;
    }
    if session.is_json() {
        return Ok(Exit::Fine);
    }
    match found.first() {
        None => session
            .printer
            .talk("no two entries seem to contradict each other")?,
        Some(first) => {
            let (one, other) = (first.first.id, first.second.id);
            let mut said = counted(found.len() as u64, "contradiction", "contradictions");
            if args.flag {
                said = format!("{said}, {new} of them new");
            }
            session.printer.talk(said)?;
            session.printer.hint(format_args!(
                "`ken resolve {one} {other} --keep ID` settles one, `ken contradictions --dismiss {one} {other}` says it is none"
            ))?;
        }
    }
    Ok(Exit::Fine)
}

fn print(session: &mut Session<'_>, it: &Contradiction) -> Result<(), Failure> {
    if session.is_json() {
        return session.printer.json(&PairObject {
            schema: "ken.contradictions.v1",
            first: SideObject::of(&it.first),
            second: SideObject::of(&it.second),
            rule: it.rule,
            why: &it.why,
            flagged: it.flagged,
            blocks: it.blocks(),
        });
    }
    let blocks = if it.blocks() { "  blocks" } else { "" };
    let new = if it.flagged { "" } else { "  new" };
    session.printer.line(format!("{}{blocks}{new}", it.why))?;
    for entry in [&it.first, &it.second] {
        let line = format!("  {}  {}", entry.id, cut(&entry.title(), CLAIM_WIDTH));
        session.printer.line(line)?;
    }
    Ok(())
}

pub(super) fn resolve(session: &mut Session<'_>, args: &ResolveArgs) -> Result<Exit, Failure> {
    let said = session.write(|engine, by| {
        let (one, other) = (engine.find(&args.one)?.id, engine.find(&args.other)?.id);
        let side = |text: &str| {
            let id = engine.find(text)?.id;
            match id == one || id == other {
                true => Ok(id),
                false => Err(Failure::usage(format!("{id} is neither {one} nor {other}"))),
            }
        };
        let (how, said) = match &args.keep {
            Some(kept) => {
                let kept = side(kept)?;
                let left = if kept == one { other } else { one };
                (
                    Resolution::Keep(kept),
                    format!("{kept} stays, {left} gives way to it"),
                )
            }
            None if args.both => (Resolution::Both, "both stay, side by side".to_owned()),
            None => {
                let mut scopes = Vec::new();
                for text in &args.scope {
                    let Some((id, tag)) = text.split_once('=') else {
                        return Err(Failure::usage(format!("`{text}` is not ID=TAG")));
                    };
                    let tag: Tag = tag.parse().map_err(Failure::usage)?;
                    scopes.push((side(id)?, tag));
                }
                (
                    Resolution::Scoped(scopes),
                    "both stay, each for its own".to_owned(),
                )
            }
        };
        engine.resolve_contradiction(one, other, how, by)?;
        Ok(said)
    })?;
    if session.is_json() {
        session.printer.json(&serde_json::json!({
            "schema": "ken.resolved.v1", "first": args.one, "second": args.other, "said": said
        }))?;
    } else {
        session.printer.talk(said)?;
    }
    Ok(Exit::Fine)
}
