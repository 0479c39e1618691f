//! `ken remote peer`: publications of other organizations that this user reads.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use ken_core::federation::{Freshness, PublisherId, RejectReason};
use ken_core::values::content::Content;
use ken_core::values::id::EntryId;
use ken_core::values::text::enum_label;
use ken_engine::EngineError;
use ken_engine::federation::{NewPeer, Peer, PeerHome, PeerLedger, PeerState, PublicationSource};
use serde::Serialize;

use crate::commands::Session;
use crate::commands::federation::{print_pull, print_wording};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::{escape_invisible, pluralize};

/// `ken remote peer …`.
#[derive(Debug, Subcommand)]
pub(crate) enum PeerCommand {
    /// Add a publication after you compared its key with the publisher
    Add(AddPeerArgs),
    /// List peers with trust, weight and what waits
    #[command(after_help = "Example:\n  ken remote peer list")]
    List,
    /// Receive what peers published, withdrew and redacted
    #[command(after_help = "Example:\n  ken remote peer pull acme")]
    Pull {
        /// Name of the peer [default: all]
        name: Option<String>,
    },
    /// List the wordings that wait for you; people only
    #[command(after_help = "Example:\n  ken remote peer review acme")]
    Review {
        /// Name of the peer [default: all]
        name: Option<String>,
    },
    /// Approve wordings: searches and agents may show them; people only
    #[command(after_help = "Example:\n  ken remote peer approve acme L-7k2f5qm3")]
    Approve(DecideArgs),
    /// Reject wordings; the peer loses trust; people only
    #[command(after_help = "Example:\n  ken remote peer reject acme L-7k2f5qm3 --reason false")]
    Reject {
        #[command(flatten)]
        which: DecideArgs,
        /// Why
        #[arg(long, value_name = "REASON")]
        reason: RejectReasonArg,
    },
    /// Limit the weight of a peer's entries; people only
    #[command(after_help = "Example:\n  ken remote peer limit acme 0.2")]
    Limit {
        /// Name of the peer
        name: String,
        /// Maximum weight from 0 to 0.5 [default: 0.5]
        max: Option<f64>,
    },
    /// Stop showing a peer's entries at once; orders are still applied
    #[command(after_help = "Example:\n  ken remote peer suspend acme")]
    Suspend {
        /// Name of the peer
        name: String,
    },
    /// End the suspension of a peer; people only
    #[command(after_help = "Example:\n  ken remote peer resume acme")]
    Resume {
        /// Name of the peer
        name: String,
    },
    /// Remove a peer with everything it sent
    #[command(after_help = "Example:\n  ken remote peer remove acme")]
    Remove {
        /// Name of the peer
        name: String,
    },
}

/// `ken remote peer add`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken remote peer add acme ../acme-published --key SHA256:6mPZ3q0Qw8Jc0D8nQe8Hh2jvYc1bQeVfUoS2f0mJr9k"
)]
pub(crate) struct AddPeerArgs {
    /// Your name for the peer: lowercase letters, digits and dashes
    name: String,
    /// Folder or `https` address of the published files
    #[arg(value_name = "FOLDER|URL")]
    source: String,
    /// Fingerprint of the publisher's key, which you got by another way than the folder
    #[arg(long, value_name = "SHA256:…")]
    key: String,
    /// Environment variable with the token for the address; the token itself is not stored
    #[arg(long, value_name = "NAME")]
    token_variable: Option<String>,
    /// Hops from the publisher: 1 for its own folder, 2 or 3 for a copy that others pass on
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    hops: u8,
    /// Maximum weight of its entries, from 0 to 0.5
    #[arg(long, value_name = "NUMBER")]
    limit: Option<f64>,
}

/// Entries of a peer.
#[derive(Debug, Args)]
pub(crate) struct DecideArgs {
    /// Name of the peer
    name: String,
    /// Ids of the entries
    #[arg(required = true, value_name = "ID")]
    ids: Vec<EntryId>,
}

/// Why a wording is rejected.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum RejectReasonArg {
    /// The claim is wrong
    False,
    /// The claim is of no use here
    Unwanted,
}

/// JSON view of a peer.
#[derive(Serialize)]
struct PeerObject {
    schema: &'static str,
    name: String,
    folder: String,
    publisher: String,
    publication: String,
    hops: u8,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    freshness: Freshness,
    trust: f64,
    mean: f64,
    weight: f64,
    lines: usize,
    waiting: usize,
}

/// JSON view of a waiting wording.
#[derive(Serialize)]
struct WaitingObject<'a> {
    schema: &'static str,
    peer: &'a str,
    id: String,
    kind: &'static str,
    /// Everything that an approval covers.
    content: &'a Content,
    first_seen: String,
    artifact: &'a str,
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: PeerCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        PeerCommand::Add(args) => add(session, args),
        PeerCommand::List => list(session),
        PeerCommand::Pull { name } => pull(session, name.as_deref()),
        PeerCommand::Review { name } => review(session, name.as_deref()),
        PeerCommand::Approve(args) => approve(session, &args),
        PeerCommand::Reject { which, reason } => reject(session, &which, reason),
        PeerCommand::Limit { name, max } => limit(session, &name, max),
        PeerCommand::Suspend { name } => {
            set_state(session, &name, PeerState::suspended_by_person())
        }
        PeerCommand::Resume { name } => set_state(session, &name, PeerState::Active),
        PeerCommand::Remove { name } => {
            let by = session.surroundings.person()?;
            session.surroundings.peer_home()?.remove(&name, &by)?;
            let message = format_args!("removed `{name}` with everything it sent");
            session.printer.talk(message)?;
            Ok(CommandExit::Fine)
        }
    }
}

/// Opens the ledger of one peer, or of all.
fn open(
    session: &Session<'_>,
    home: &PeerHome,
    name: Option<&str>,
) -> Result<Vec<PeerLedger>, CommandFailure> {
    let peers = match name {
        Some(name) => vec![home.peer(name)?],
        None => home.peers()?,
    };
    let actor = session.surroundings.person().ok();
    let opened = peers.into_iter().map(|it| home.open(it, actor.clone()));
    Ok(opened.collect::<Result<Vec<_>, EngineError>>()?)
}

fn add(session: &mut Session<'_>, args: AddPeerArgs) -> Result<CommandExit, CommandFailure> {
    let by = session.surroundings.person()?;
    let new = NewPeer {
        name: args.name,
        source: match PublicationSource::parse(&args.source) {
            PublicationSource::Folder(path) => {
                PublicationSource::Folder(session.surroundings.start.join(path))
            }
            web @ PublicationSource::Web(_) => web,
        },
        token_variable: args.token_variable,
        fingerprint: args.key,
        hops: args.hops,
        limit: args.limit,
    };
    let peer = session.surroundings.peer_home()?.add(new, &by)?;
    session.printer.line(&peer.name)?;
    session.printer.talk(format_args!(
        "added the publication `{}` of {}; nothing was read yet",
        peer.replica.publication, peer.replica.publisher
    ))?;
    session.printer.hint(format_args!(
        "`ken remote peer pull {}` receives its entries, which then wait for you",
        peer.name
    ))?;
    Ok(CommandExit::Fine)
}

fn list(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let home = session.surroundings.peer_home()?;
    let ledgers = open(session, &home, None)?;
    for ledger in &ledgers {
        let object = peer_object(ledger)?;
        if session.is_json() {
            session.printer.json(&object)?;
            continue;
        }
        session.printer.line(format_args!(
            "{:<12} {}, {}  trust {:.2} (mean {:.2})  weight {:.2}  {}, {} waiting",
            object.name,
            object.state,
            enum_label(&object.freshness),
            object.trust,
            object.mean,
            object.weight,
            pluralize(object.lines as u64, "entry", "entries"),
            object.waiting,
        ))?;
        if let Some(why) = &object.why {
            let why = escape_invisible(why);
            session.printer.line(format_args!("  {why}"))?;
        }
    }
    if ledgers.is_empty() && !session.is_json() {
        session.printer.talk("you have no peers")?;
    }
    Ok(CommandExit::Fine)
}

fn peer_object(ledger: &PeerLedger) -> Result<PeerObject, CommandFailure> {
    let status = ledger.status()?;
    let peer: &Peer = &ledger.peer;
    let (state, why) = match &peer.state {
        PeerState::Active => ("active", None),
        PeerState::Suspended { why } => ("suspended", Some(why.clone())),
    };
    Ok(PeerObject {
        schema: "ken.peer.v1",
        name: peer.name.clone(),
        folder: peer.source.to_string(),
        publisher: peer.replica.publisher.to_string(),
        publication: peer.replica.publication.to_string(),
        hops: peer.hops,
        state,
        why,
        freshness: status.freshness,
        trust: status.trust.score(),
        mean: status.trust.mean(),
        weight: status.weight,
        lines: status.lines,
        waiting: status.waiting,
    })
}

fn pull(session: &mut Session<'_>, name: Option<&str>) -> Result<CommandExit, CommandFailure> {
    // Read before the peers: a repository that publishes must not read itself.
    let own = own_publishers(session);
    let home = session.surroundings.peer_home()?;
    let mut exit = CommandExit::Fine;
    for mut ledger in open(session, &home, name)? {
        let done = home.pull(&mut ledger, &own)?;
        if done.stopped.is_some() || !done.refused.is_empty() {
            exit = CommandExit::Refused;
        }
        let name = &ledger.peer.name;
        print_pull(session, name, &done)?;
        if done.new > 0 && !session.is_json() {
            session.printer.hint(format_args!(
                "`ken remote peer review {name}` lists what waits for you"
            ))?;
        }
    }
    Ok(exit)
}

/// Returns the publishers of this clone; outside a repository there are none.
fn own_publishers(session: &mut Session<'_>) -> BTreeSet<PublisherId> {
    let all = session.read(|engine| Ok(engine.publications()?));
    let keys = all.unwrap_or_default().into_iter();
    let keys = keys.filter_map(|it| it.publisher_key().ok());
    keys.map(|it| it.publisher()).collect()
}

fn review(session: &mut Session<'_>, name: Option<&str>) -> Result<CommandExit, CommandFailure> {
    // Nobody has read these words yet, so no agent may.
    session.surroundings.person()?;
    let home = session.surroundings.peer_home()?;
    let mut count = 0;
    for ledger in open(session, &home, name)? {
        for it in ledger.waiting()? {
            count += 1;
            let Some(content) = &it.entry.content else {
                continue;
            };
            let object = WaitingObject {
                schema: "ken.peer_waiting.v1",
                peer: &ledger.peer.name,
                id: it.entry.id.to_string(),
                kind: it.entry.kind().map_or("", |it| it.name()),
                content,
                first_seen: it.first_seen.to_string(),
                artifact: &it.artifact,
            };
            if session.is_json() {
                session.printer.json(&object)?;
                continue;
            }
            session.printer.line(format_args!(
                "{}  {}  {}",
                object.id, object.peer, object.kind
            ))?;
            print_wording(session, content)?;
        }
    }
    if !session.is_json() {
        let waits = pluralize(count, "wording waits", "wordings wait");
        session.printer.talk(format_args!("{waits} for you"))?;
    }
    Ok(CommandExit::Fine)
}

fn approve(session: &mut Session<'_>, args: &DecideArgs) -> Result<CommandExit, CommandFailure> {
    let by = session.surroundings.person()?;
    let home = session.surroundings.peer_home()?;
    let mut ledger = home.open(home.peer(&args.name)?, Some(by.clone()))?;
    ledger.approve(&args.ids, &by)?;
    for id in &args.ids {
        session.printer.line(id)?;
    }
    session.printer.talk(format_args!(
        "approved; shown below the entries of a repository, labeled and discounted"
    ))?;
    Ok(CommandExit::Fine)
}

fn reject(
    session: &mut Session<'_>,
    args: &DecideArgs,
    reason: RejectReasonArg,
) -> Result<CommandExit, CommandFailure> {
    let by = session.surroundings.person()?;
    let home = session.surroundings.peer_home()?;
    let mut ledger = home.open(home.peer(&args.name)?, Some(by.clone()))?;
    let reason = match reason {
        RejectReasonArg::False => RejectReason::False,
        RejectReasonArg::Unwanted => RejectReason::Unwanted,
    };
    ledger.reject(&args.ids, reason, &by)?;
    for id in &args.ids {
        session.printer.line(id)?;
    }
    let trust = ledger.trust()?.score();
    session.printer.talk(format_args!(
        "rejected; the trust in {} is now {trust:.2}",
        args.name
    ))?;
    Ok(CommandExit::Fine)
}

fn limit(
    session: &mut Session<'_>,
    name: &str,
    max: Option<f64>,
) -> Result<CommandExit, CommandFailure> {
    let by = session.surroundings.person()?;
    let peer = session
        .surroundings
        .peer_home()?
        .set_limit(name, max, &by)?;
    let message = match peer.limit {
        Some(max) => format!("entries of {name} weigh at most {max:.2}"),
        None => format!("entries of {name} weigh what its trust says"),
    };
    session.printer.talk(message)?;
    Ok(CommandExit::Fine)
}

fn set_state(
    session: &mut Session<'_>,
    name: &str,
    state: PeerState,
) -> Result<CommandExit, CommandFailure> {
    let by = session.surroundings.person()?;
    // `state` is moved below.
    let is_active = state == PeerState::Active;
    session
        .surroundings
        .peer_home()?
        .set_state(name, state, &by)?;
    let message = if is_active {
        format!("resumed {name}")
    } else {
        format!("suspended {name}: none of its entries is shown")
    };
    session.printer.talk(message)?;
    Ok(CommandExit::Fine)
}
