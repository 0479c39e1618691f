//! `ken confirm`: somebody says that an entry holds.

use super::Session;
use crate::args::ConfirmArgs;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: &ConfirmArgs) -> Result<Exit, Failure> {
    let (entry, is_person) = session.write(|engine, by| {
        let id = engine.find(&args.id)?.id;
        Ok((engine.confirm(id, args.on, by)?, by.is_human()))
    })?;
    let last = entry
        .confirmation
        .last
        .map(|date| date.to_string())
        .unwrap_or_default();
    if is_person {
        return session.written(&entry, format_args!("confirmed; last confirmed {last}"));
    }
    let did = format_args!(
        "recorded as primed: an agent that has seen an entry does not renew it; last confirmed {last}"
    );
    session.written(&entry, did)
}
