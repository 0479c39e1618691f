//! `ken verify`: the gate; fails where something must not be relied on.

use ken_core::run::How;
use ken_engine::notice::Notice;
use ken_engine::validity::{From, Stroke, is_bare, verify_bare};
use ken_engine::verify::{Finding, Scope, Verified};
use serde::Serialize;

use super::Session;
use crate::args::{Format, VerifyArgs};
use crate::failure::{Exit, Failure};
use crate::print::gate;
use crate::print::progress::Progress;
use crate::print::sarif::sarif;

#[derive(Serialize)]
struct VerifyObject<'a> {
    schema: &'static str,
    passes: bool,
    entries: usize,
    events: u64,
    findings: &'a [Finding],
    /// Entries held against the code, and files that had to be parsed for it.
    checked: usize,
    parsed: usize,
    invalid: Vec<gate::CheckedObject<'a>>,
    invalid_before: Vec<gate::CheckedObject<'a>>,
    moved: Vec<gate::CheckedObject<'a>>,
    unverifiable: Vec<gate::CheckedObject<'a>>,
    norms: Vec<String>,
    brings: &'a [Stroke],
}

pub(super) fn run(session: &mut Session<'_>, args: &VerifyArgs) -> Result<Exit, Failure> {
    let scope = match &args.base {
        None => Scope::Everything,
        Some(base) => Scope::Change {
            base,
            head: args.head.as_deref(),
            from: match args.from_fork {
                true => From::Stranger,
                false => From::Member,
            },
        },
    };
    if let (
        Scope::Change {
            base,
            head: Some(head),
            from,
        },
        true,
    ) = (scope, is_bare(&session.surroundings.start))
    {
        let now = crate::world::world()?.now();
        let start = &session.surroundings.start;
        let verified = verify_bare(start, (base, head), from, now, &mut |_, _| ())?;
        return finish(session, &verified);
    }
    let progress = Progress::start(session.printer, "verifying", None);
    let surroundings = session.surroundings.clone();
    let (verified, mut notices) = session.write_quietly(|engine, by| {
        let check = |it: &Progress| engine.verify(scope, by, &mut |at, all| it.come_to(at, all));
        let verified = progress.during(check)?;
        let reader = surroundings.as_reader(by);
        engine.note_shown(&reader, &verified.impact.entries_told(), How::Pull)?;
        Ok(verified)
    })?;
    // An edit that was left alone is a finding here.
    notices.retain(|notice| !matches!(notice, Notice::LeftAlone { .. }));
    session.printer.notices(&notices)?;
    finish(session, &verified)
}

fn finish(session: &mut Session<'_>, verified: &Verified) -> Result<Exit, Failure> {
    print(session, verified)?;
    Ok(match verified.passes() {
        true => Exit::Fine,
        false => Exit::Refused,
    })
}

fn print(session: &mut Session<'_>, verified: &Verified) -> Result<(), Failure> {
    match session.printer.format() {
        Format::Text => {
            let width = session.printer.width();
            session.printer.text(gate::text(verified, width))
        }
        Format::Json => session.printer.json(&object(verified)),
        Format::Sarif => session.printer.json(&sarif(&verified.findings)),
        Format::Github => session.printer.text(gate::github(&verified.findings)),
        Format::Markdown => session.printer.text(gate::markdown(verified)),
    }
}

fn object(verified: &Verified) -> VerifyObject<'_> {
    let impact = &verified.impact;
    let objects = |all| gate::CheckedObject::all(all);
    VerifyObject {
        schema: "ken.verify.v1",
        passes: verified.passes(),
        entries: verified.entries,
        events: verified.events,
        findings: &verified.findings,
        checked: impact.checked,
        parsed: impact.parsed,
        invalid: objects(&impact.invalid),
        invalid_before: objects(&impact.before),
        moved: objects(&impact.moved),
        unverifiable: objects(&impact.unverifiable),
        norms: impact.norms.iter().map(|it| it.id.to_string()).collect(),
        brings: &impact.strokes,
    }
}
