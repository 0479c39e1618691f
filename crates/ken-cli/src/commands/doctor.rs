//! `ken doctor`: checks the installation and the repository, and recommends fixes.

use ken_engine::ledger_maintenance::{DoctorCheck, DoctorStatus};
use serde::Serialize;

use super::{Session, remote, setup};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{BAD, GOOD, WARN, styled};

#[derive(Serialize)]
struct DoctorObject<'a> {
    schema: &'static str,
    checks: &'a [DoctorCheck],
}

pub(super) fn run(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let mut checks = session.read(|engine| Ok(engine.doctor()?))?;
    checks.extend(remote::checks(session)?);
    checks.extend(setup::checks(session)?);
    let worst = checks
        .iter()
        .map(|check| check.status)
        .max()
        .unwrap_or(DoctorStatus::Ok);
    let exit = if worst < DoctorStatus::Error {
        CommandExit::Fine
    } else {
        CommandExit::Refused
    };
    if session.is_json() {
        session.printer.json(&DoctorObject {
            schema: "ken.doctor.v1",
            checks: &checks,
        })?;
        return Ok(exit);
    }
    for check in &checks {
        let (style, word) = match check.status {
            DoctorStatus::Ok => (GOOD, "ok"),
            DoctorStatus::Warning => (WARN, "warning"),
            DoctorStatus::Error => (BAD, "error"),
        };
        let word = styled(style, format_args!("{word:<8}"));
        session
            .printer
            .line(format_args!("{word} {:<14} {}", check.name, check.message))?;
        if let Some(fix) = &check.fix {
            session.printer.line(format_args!("{:24}do: {fix}", ""))?;
        }
    }
    Ok(exit)
}
