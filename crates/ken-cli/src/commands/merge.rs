//! `ken merge`: entries that say the same become one.

use super::Session;
use crate::args::MergeArgs;
use crate::failure::{Exit, Failure};

pub(super) fn run(session: &mut Session<'_>, args: MergeArgs) -> Result<Exit, Failure> {
    let entry = session.write(|engine, by| {
        let into = engine.find(&args.into)?.id;
        let sources = args.sources.iter().map(|it| Ok(engine.find(it)?.id));
        let sources: Vec<_> = sources.collect::<Result<_, Failure>>()?;
        Ok(engine.merge(into, &sources, args.statement, by)?)
    })?;
    let from: Vec<String> = entry.merged_from.iter().map(ToString::to_string).collect();
    session.written(&entry, format_args!("is now one with {}", from.join(", ")))
}
