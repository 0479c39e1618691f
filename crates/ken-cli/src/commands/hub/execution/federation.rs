//! Execution of `ken hub publication` and `ken hub peer`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ken_core::federation::{PublicationSecret, foreign_weight};
use ken_core::values::text::Tag;
use ken_engine::federation::{PublicationSource, PublisherKey, PublisherKeyFile};
use ken_hub::administration::Administration;
use ken_hub::service::federation::{
    AddPeerRequest, ManifestSigner, NewHubPublication, PublicationMemory, PullOptions,
};
use ken_hub::store::{PeerRow, PublicationRow};
use serde::Serialize;

use crate::commands::Session;
use crate::commands::federation::{print_export_review, print_pull, print_update};
use crate::commands::hub::administer::{Done, attempt};
use crate::commands::hub::federation::{
    CreatePublicationArgs, HubAddPeerArgs, HubPeerCommand, HubPublicationArgs,
    HubPublicationCommand, SignedPublicationArgs,
};
use crate::failure::CommandFailure;
use crate::print::{escape_invisible, pluralize};
use crate::world::variable;

/// What did not agree if a new epoch began.
const RESTORED: &str = "the database and the file beside the key";

/// Suffix of the file beside a key with what was signed of a publication.
const MEMORY_SUFFIX: &str = "ken.json";

/// JSON view of a publication of a hub.
#[derive(Serialize)]
struct HubPublicationObject {
    schema: &'static str,
    name: String,
    publisher: String,
    fingerprint: String,
    audience: &'static str,
    /// Path below the address of the hub.
    path: String,
    closed: bool,
    /// Epoch and number of the last batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<(u64, u64)>,
}

/// JSON view of a peer of a hub.
#[derive(Serialize)]
struct HubPeerObject<'a> {
    schema: &'static str,
    name: &'a str,
    source: &'a str,
    publisher: &'a str,
    publication: &'a str,
    hops: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspended: Option<&'a str>,
    trust: f64,
    mean: f64,
    weight: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pulled_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'a str>,
    lines: u64,
    waiting: u64,
}

/// Key of a publication as a file, with a file beside it that remembers what was signed.
struct FileSigner {
    key: PublisherKeyFile,
}

impl FileSigner {
    fn open(path: &Path) -> Result<Self, CommandFailure> {
        let key = PublisherKeyFile::open(path).map_err(ken_engine::EngineError::from)?;
        Ok(Self { key })
    }

    /// Returns the file with what was signed of a publication.
    fn memory_file(&self, publication: &Tag) -> PathBuf {
        let mut name = self.key.path().as_os_str().to_owned();
        name.push(format!(".{publication}.{MEMORY_SUFFIX}"));
        PathBuf::from(name)
    }
}

impl ManifestSigner for FileSigner {
    fn key(&self) -> &PublisherKey {
        self.key.key()
    }

    fn secret(&self, publication: &Tag) -> Result<PublicationSecret, String> {
        let secret = self.key.publication_secret(publication);
        secret.map_err(|e| e.to_string())
    }

    fn sign(&self, bytes: &[u8]) -> Result<String, String> {
        self.key.sign_manifest(bytes).map_err(|e| e.to_string())
    }

    fn memory(&self, publication: &Tag) -> Result<PublicationMemory, String> {
        let path = self.memory_file(publication);
        let shown = path.display();
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|e| format!("`{shown}`: line {}, column {}", e.line(), e.column())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(PublicationMemory::default()),
            Err(error) => Err(format!("`{shown}`: {error}")),
        }
    }

    fn remember(&self, publication: &Tag, memory: &PublicationMemory) -> Result<(), String> {
        let path = self.memory_file(publication);
        let text = serde_json::to_vec(memory).map_err(|e| e.to_string())?;
        let written = ken_engine::federation::write_file(&path, &text);
        written.map_err(|e| format!("`{}`: {e}", path.display()))
    }
}

pub(in crate::commands::hub) async fn publication(
    session: &mut Session<'_>,
    hub: &Administration,
    command: &HubPublicationCommand,
) -> Done {
    match command {
        HubPublicationCommand::Create(args) => create(session, hub, args).await,
        HubPublicationCommand::List { organization } => {
            let all = attempt!(hub.publications(organization).await);
            for row in &all {
                print_publication(session, row)?;
            }
            if all.is_empty() && !session.is_json() {
                session
                    .printer
                    .talk("the organization has no publications")?;
            }
            Ok(Ok(()))
        }
        HubPublicationCommand::Review(which) => review(session, hub, which).await,
        HubPublicationCommand::Allow { which, ids } => {
            ensure_no_agent(session)?;
            let place = (which.organization.as_str(), which.publication.as_str());
            let allowed = attempt!(hub.allow_exports(place, ids).await);
            for id in &allowed {
                session.printer.line(id)?;
            }
            let count = pluralize(allowed.len() as u64, "wording", "wordings");
            session.printer.talk(format_args!("approved {count}"))?;
            session.printer.hint(format_args!(
                "`ken hub publication update {} {} --key FILE` publishes what is approved",
                which.organization, which.publication
            ))?;
            Ok(Ok(()))
        }
        HubPublicationCommand::Update(args) => {
            let signer = signer(session, args)?;
            let place = place(args);
            let done = attempt!(hub.update_publication(place, &signer).await);
            print_update(session, &done, RESTORED)?;
            Ok(Ok(()))
        }
        HubPublicationCommand::Close(args) => {
            ensure_no_agent(session)?;
            let signer = signer(session, args)?;
            let place = place(args);
            let done = attempt!(hub.close_publication(place, &signer).await);
            print_update(session, &done, RESTORED)?;
            Ok(Ok(()))
        }
    }
}

fn place(args: &SignedPublicationArgs) -> (&str, &str) {
    (&args.which.organization, &args.which.publication)
}

fn signer(
    session: &Session<'_>,
    args: &SignedPublicationArgs,
) -> Result<FileSigner, CommandFailure> {
    FileSigner::open(&session.surroundings.start.join(&args.key))
}

async fn create(
    session: &mut Session<'_>,
    hub: &Administration,
    args: &CreatePublicationArgs,
) -> Done {
    ensure_no_agent(session)?;
    let signer = FileSigner::open(&session.surroundings.start.join(&args.key))?;
    let new = NewHubPublication {
        name: args.which.publication.clone(),
        audience: args.audience.parse().map_err(CommandFailure::usage)?,
        policy: args.policy.policy()?,
    };
    let creating = hub.create_publication(&args.which.organization, new, signer.key());
    let made = attempt!(creating.await);
    print_publication(session, &made)?;
    session
        .printer
        .talk("created; nothing is published yet. Receivers compare this fingerprint with you")?;
    session.printer.hint(format_args!(
        "`ken hub publication review {} {}` lists what may leave",
        args.which.organization, made.name
    ))?;
    Ok(Ok(()))
}

fn print_publication(
    session: &mut Session<'_>,
    row: &PublicationRow,
) -> Result<(), CommandFailure> {
    let key = PublisherKey::parse(&row.key);
    let object = HubPublicationObject {
        schema: "ken.hub.publication.v1",
        name: row.name.to_string(),
        publisher: row.publisher.clone(),
        fingerprint: key.map(|it| it.fingerprint()).unwrap_or_default(),
        audience: row.audience.name(),
        path: format!("/federation/v1/{}/{}", row.publisher, row.name),
        closed: row.closed_at.is_some(),
        place: row.head,
    };
    if session.is_json() {
        return session.printer.json(&object);
    }
    let state = if object.closed { ", closed" } else { "" };
    session.printer.line(format_args!(
        "{:<12} {}{state}  {}  {}",
        object.name, object.audience, object.fingerprint, object.path
    ))
}

async fn review(
    session: &mut Session<'_>,
    hub: &Administration,
    which: &HubPublicationArgs,
) -> Done {
    // Before anything is printed: an agent must not read what waits for a person.
    ensure_no_agent(session)?;
    let reviewing = hub.review_publication(&which.organization, &which.publication);
    let review = attempt!(reviewing.await);
    let waiting: Vec<_> = review.waiting.iter().map(|it| &it.artifact).collect();
    let approved: Vec<_> = review.approved.iter().map(|it| &it.artifact).collect();
    print_export_review(session, &waiting, &approved, &review.blocked)?;
    if !session.is_json() && !waiting.is_empty() {
        session.printer.hint(format_args!(
            "`ken hub publication allow {} {} ID…` approves exactly these words",
            which.organization, which.publication
        ))?;
    }
    Ok(Ok(()))
}

pub(in crate::commands::hub) async fn peer(
    session: &mut Session<'_>,
    hub: &Administration,
    command: &HubPeerCommand,
) -> Done {
    match command {
        HubPeerCommand::Add(args) => return add(session, hub, args).await,
        HubPeerCommand::List { organization } => {
            let all = attempt!(hub.peers(organization).await);
            for row in &all {
                print_peer(session, row)?;
            }
            if all.is_empty() && !session.is_json() {
                session.printer.talk("the organization has no peers")?;
            }
        }
        HubPeerCommand::Show(which) => {
            let row = attempt!(hub.peer(&which.organization, &which.peer).await);
            print_peer(session, &row)?;
        }
        HubPeerCommand::Pull { organization, peer } => {
            let names = match peer {
                Some(name) => vec![name.clone()],
                None => {
                    let all = attempt!(hub.peers(organization).await);
                    all.into_iter().map(|it| it.name).collect()
                }
            };
            for name in names {
                let options = PullOptions::new(variable);
                let pulling = hub.pull_peer((organization, &name), options);
                let report = attempt!(pulling.await);
                print_pull(session, &name, &report)?;
            }
        }
        HubPeerCommand::Limit { which, max } => {
            ensure_no_agent(session)?;
            let place = (which.organization.as_str(), which.peer.as_str());
            attempt!(hub.limit_peer(place, *max).await);
            session
                .printer
                .talk(format_args!("limited `{}`", which.peer))?;
        }
        HubPeerCommand::Suspend(which) => {
            let place = (which.organization.as_str(), which.peer.as_str());
            attempt!(hub.set_peer_suspended(place, true).await);
            let name = &which.peer;
            session.printer.talk(format_args!(
                "suspended `{name}`: none of its entries is shown"
            ))?;
        }
        HubPeerCommand::Resume(which) => {
            ensure_no_agent(session)?;
            let place = (which.organization.as_str(), which.peer.as_str());
            attempt!(hub.set_peer_suspended(place, false).await);
            session
                .printer
                .talk(format_args!("resumed `{}`", which.peer))?;
        }
        HubPeerCommand::Remove(which) => {
            ensure_no_agent(session)?;
            attempt!(hub.remove_peer(&which.organization, &which.peer).await);
            let name = &which.peer;
            session
                .printer
                .talk(format_args!("removed `{name}` with everything it sent"))?;
        }
    }
    Ok(Ok(()))
}

async fn add(session: &mut Session<'_>, hub: &Administration, args: &HubAddPeerArgs) -> Done {
    ensure_no_agent(session)?;
    let source = match PublicationSource::parse(&args.source) {
        PublicationSource::Folder(path) => {
            PublicationSource::Folder(session.surroundings.start.join(path))
        }
        web @ PublicationSource::Web(_) => web,
    };
    let request = AddPeerRequest {
        name: args.which.peer.clone(),
        source,
        fingerprint: args.key.clone(),
        token_variable: args.token_variable.clone(),
        hops: args.hops,
        weight_max: args.limit,
    };
    let organization = &args.which.organization;
    let adding = hub.add_peer(organization, request, variable);
    let row = attempt!(adding.await);
    print_peer(session, &row)?;
    session.printer.hint(format_args!(
        "`ken hub peer pull {organization} {}` receives its entries, which then wait for a curator",
        row.name
    ))?;
    Ok(Ok(()))
}

fn print_peer(session: &mut Session<'_>, row: &PeerRow) -> Result<(), CommandFailure> {
    let weight = foreign_weight(row.trust, row.hops, row.weight_max);
    if session.is_json() {
        return session.printer.json(&HubPeerObject {
            schema: "ken.hub.peer.v1",
            name: &row.name,
            source: &row.source,
            publisher: &row.publisher,
            publication: &row.publication,
            hops: row.hops,
            suspended: row.suspended.as_deref(),
            trust: row.trust,
            mean: row.mean,
            weight,
            expires_at: row.expires_at.map(|it| it.to_string()),
            pulled_at: row.pulled_at.map(|it| it.to_string()),
            stopped: row.stopped.as_deref(),
            lines: row.lines,
            waiting: row.waiting,
        });
    }
    let state = if row.suspended.is_some() {
        "suspended"
    } else {
        "active"
    };
    session.printer.line(format_args!(
        "{:<12} {state}  trust {:.2} (mean {:.2})  weight {weight:.2}  {}, {} waiting  {}",
        row.name,
        row.trust,
        row.mean,
        pluralize(row.lines, "entry", "entries"),
        row.waiting,
        escape_invisible(&row.source),
    ))?;
    for why in [&row.suspended, &row.stopped].into_iter().flatten() {
        let why = escape_invisible(why);
        session.printer.line(format_args!("  {why}"))?;
    }
    Ok(())
}

/// Refuses agents: only people decide what leaves and what comes in.
fn ensure_no_agent(session: &Session<'_>) -> Result<(), CommandFailure> {
    match session.surroundings.impersonating_agent() {
        None => Ok(()),
        Some(agent) => {
            let message = format!("{agent} runs this command and cannot decide for a person");
            Err(CommandFailure::refused("person_needed", message))
        }
    }
}
