//! `ken supersede`: a newer entry takes an older one's place.

use super::Session;
use crate::args::SupersedeArgs;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: &SupersedeArgs) -> Result<Exit, Failure> {
    let (old, entry) = session.write(|engine, by| {
        let (old, new) = (engine.find(&args.old)?.id, engine.find(&args.new)?.id);
        Ok((old, engine.supersede(old, new, by)?))
    })?;
    session.written(
        &entry,
        format_args!("takes the place of {old}, which is kept"),
    )
}
