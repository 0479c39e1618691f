//! `ken doctor`: looks the installation over and says what to do.

use ken_engine::upkeep::{Check, Health};
use serde::Serialize;

use super::{Session, remote, setup};
use crate::failure::{Exit, Failure};
use crate::print::{BAD, GOOD, WARN, styled};

#[derive(Serialize)]
struct DoctorObject<'a> {
    schema: &'static str,
    checks: &'a [Check],
}

pub(super) fn run(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let mut checks = session.read(|engine| Ok(engine.doctor()?))?;
    checks.extend(remote::checks(session)?);
    checks.extend(setup::checks(session)?);
    let worst = checks
        .iter()
        .map(|check| check.status)
        .max()
        .unwrap_or(Health::Ok);
    let exit = if worst < Health::Error {
        Exit::Fine
    } else {
        Exit::Refused
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
            Health::Ok => (GOOD, "ok"),
            Health::Warning => (WARN, "warning"),
            Health::Error => (BAD, "error"),
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
