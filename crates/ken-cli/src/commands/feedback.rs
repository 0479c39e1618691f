//! `ken feedback`: records whether an entry helped.

use clap::Args;
use ken_core::ledger::event::Feedback;
use ken_core::values::id::EntryId;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken feedback`.
#[derive(Debug, Args)]
#[command(
    after_help = "The same feedback of a person counts once per day, and once per run. An agent can only rate an entry it was shown.\n\nExample:\n  ken feedback L-7k2f --helpful"
)]
#[command(group = clap::ArgGroup::new("verdict").args(["helpful", "unhelpful"]).required(true))]
pub(crate) struct FeedbackArgs {
    /// The entry: its id, an unambiguous prefix of it, or its alias
    pub(crate) id: String,
    /// The entry helped
    #[arg(long)]
    pub(crate) helpful: bool,
    /// The entry did not help, or was misleading
    #[arg(long)]
    pub(crate) unhelpful: bool,
}

pub(super) fn run(
    session: &mut Session<'_>,
    args: &FeedbackArgs,
) -> Result<CommandExit, CommandFailure> {
    let verdict = if args.helpful {
        Feedback::Helpful
    } else {
        Feedback::Unhelpful
    };
    let recorded = session.write_as(|engine, reader| {
        let id = engine.find(&args.id)?.id;
        let is_new = engine.record_feedback(reader, id, verdict)?;
        Ok((engine.entry(id)?, is_new))
    });
    let (entry, is_new) = match recorded {
        // Not an entry of this repository: perhaps one that a peer published.
        Err(failure) if failure.code == "not_found" => {
            let recorded = rate_foreign(session, &args.id, verdict)?;
            return recorded.ok_or(failure);
        }
        recorded => recorded?,
    };
    let said = if is_new {
        "recorded; feedback changes the confidence in the entry and confirms nothing"
    } else {
        "already recorded: the same feedback counts once per day and once per run"
    };
    session.written(&entry, said)
}

/// Records whether an entry of a peer helped, which changes the trust in the peer.
///
/// People only: an agent's session could otherwise decide how much the next one hears of a peer.
fn rate_foreign(
    session: &mut Session<'_>,
    id: &str,
    verdict: Feedback,
) -> Result<Option<CommandExit>, CommandFailure> {
    let Ok(id) = id.parse::<EntryId>() else {
        return Ok(None);
    };
    for mut ledger in session.surroundings.open_peers()? {
        let Ok(entry) = ledger.shown_entry(id) else {
            continue;
        };
        let by = session.surroundings.person()?;
        let is_new = ledger.observe(id, verdict, &by)?;
        let trust = ledger.trust()?.score();
        let peer = &ledger.peer.name;
        let said = if is_new {
            format!("recorded; the trust in the peer {peer} is now {trust:.2}")
        } else {
            format!("already recorded today; the trust in the peer {peer} is {trust:.2}")
        };
        return session.written(&entry, said).map(Some);
    }
    Ok(None)
}
