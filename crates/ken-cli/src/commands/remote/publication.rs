//! `ken remote publication`: what this repository publishes to other organizations.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ken_core::federation::ExportPolicy;
use ken_core::values::id::EntryId;
use ken_core::values::kind::EntryKind;
use ken_core::values::text::Tag;
use ken_engine::federation::{NewPublication, Publication};
use serde::Serialize;

use crate::commands::Session;
use crate::commands::federation::{print_export_review, print_update};
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;

/// `ken remote publication …`.
#[derive(Debug, Subcommand)]
pub(crate) enum PublicationCommand {
    /// Create a publication: its folder, its key and what may leave
    Create(Box<CreateArgs>),
    /// List the publications of this clone
    #[command(after_help = "Example:\n  ken remote publication list")]
    List,
    /// Show what would leave, word for word, and what the policy keeps
    #[command(after_help = "Example:\n  ken remote publication review partners")]
    Review(PublicationArgs),
    /// Approve the words of entries for a publication; people only
    #[command(after_help = "Example:\n  ken remote publication allow partners L-7k2f5qm3")]
    Allow {
        /// Name of the publication
        name: String,
        /// Ids of the entries
        #[arg(required = true, value_name = "ID")]
        ids: Vec<EntryId>,
    },
    /// Sign and write what is new, withdrawn or redacted into the folder
    #[command(after_help = "Example:\n  ken remote publication update partners")]
    Update(PublicationArgs),
    /// Forget a publication; its folder stays
    #[command(after_help = "Example:\n  ken remote publication remove partners")]
    Remove {
        /// Name of the publication
        name: String,
    },
}

/// Argument that names a publication.
#[derive(Debug, Args)]
pub(crate) struct PublicationArgs {
    /// Name of the publication [default: the only one]
    name: Option<String>,
}

/// `ken remote publication create`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ssh-keygen -t ed25519 -f ~/.ssh/ken-publisher -C \"\" -N \"\"\n  ken remote publication create partners ../published --key ~/.ssh/ken-publisher --topic rust --license CC-BY-4.0"
)]
pub(crate) struct CreateArgs {
    /// Name: lowercase letters, digits and dashes
    name: String,
    /// Folder of the published files; a web server or another git repository can carry it
    folder: PathBuf,
    /// Ed25519 key that signs; `ssh-keygen` uses it, and Ken never reads the private part
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    policy: PolicyArgs,
}

/// What may leave in a publication.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// Tag whose entries may leave, with everything below it; repeatable
    #[arg(long = "topic", value_name = "TAG", required = true)]
    topics: Vec<Tag>,
    /// SPDX expression of the license
    #[arg(long, value_name = "SPDX")]
    license: String,
    /// Kind that may leave; repeatable [default: every publishable kind]
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<EntryKind>,
    /// Minimum confidence of unconfirmed entries
    #[arg(long, value_name = "NUMBER", default_value_t = ExportPolicy::CONFIDENCE_MIN)]
    min_confidence: f64,
    /// Thread whose entries stay here; repeatable
    #[arg(long = "exclude-thread", value_name = "THREAD")]
    exclude_threads: Vec<Tag>,
    /// Word that must not occur in any published text; repeatable
    #[arg(long = "never", value_name = "TEXT")]
    never: Vec<String>,
    /// Allow receivers to pass copies on
    #[arg(long)]
    relay: bool,
    /// Days until receivers consider the publication stale if you do not update it
    #[arg(long, value_name = "DAYS", default_value_t = ExportPolicy::EXPIRES_DAYS)]
    expires_days: u16,
}

impl PolicyArgs {
    /// Returns the export policy.
    pub(crate) fn policy(&self) -> Result<ExportPolicy, CommandFailure> {
        let kinds = if self.kinds.is_empty() {
            ExportPolicy::KINDS.to_vec()
        } else {
            self.kinds.clone()
        };
        // Compared in lower case, so that a capital letter hides no name.
        let never = self.never.iter().map(|it| it.to_lowercase());
        Ok(ExportPolicy {
            topics: self.topics.clone(),
            kinds,
            confidence_min: self.min_confidence,
            exclude_threads: self.exclude_threads.clone(),
            never: never.collect(),
            license: self.license.parse().map_err(CommandFailure::usage)?,
            relay: self.relay,
            expires_days: self.expires_days,
        })
    }
}

/// JSON view of a publication.
#[derive(Serialize)]
struct PublicationObject {
    schema: &'static str,
    name: String,
    folder: String,
    publisher: String,
    fingerprint: String,
    /// Epoch and number of the last batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<(u64, u64)>,
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: PublicationCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        PublicationCommand::Create(args) => create(session, *args),
        PublicationCommand::List => list(session),
        PublicationCommand::Review(args) => review(session, args.name.as_deref()),
        PublicationCommand::Allow { name, ids } => allow(session, &name, &ids),
        PublicationCommand::Update(args) => update(session, args.name.as_deref()),
        PublicationCommand::Remove { name } => {
            session.write(|engine, by| Ok(engine.remove_publication(&name, by)?))?;
            let message = format_args!(
                "forgot `{name}`; receivers hide its entries once the folder is stale"
            );
            session.printer.talk(message)?;
            Ok(CommandExit::Fine)
        }
    }
}

fn create(session: &mut Session<'_>, args: CreateArgs) -> Result<CommandExit, CommandFailure> {
    let start = session.surroundings.start.clone();
    let new = NewPublication {
        name: args.name,
        folder: start.join(args.folder),
        key: start.join(args.key),
        policy: args.policy.policy()?,
    };
    let made = session.write(|engine, by| Ok(engine.create_publication(new, by)?))?;
    print_publication(session, &made)?;
    session.printer.talk(format_args!(
        "created; nothing is published yet. Receivers compare this fingerprint with you"
    ))?;
    session.printer.hint(format_args!(
        "`ken remote publication review {}` lists what may leave",
        made.name
    ))?;
    Ok(CommandExit::Fine)
}

fn list(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let all = session.read(|engine| Ok(engine.publications()?))?;
    for it in &all {
        print_publication(session, it)?;
    }
    if all.is_empty() && !session.is_json() {
        session.printer.talk("this clone has no publications")?;
    }
    Ok(CommandExit::Fine)
}

fn print_publication(session: &mut Session<'_>, it: &Publication) -> Result<(), CommandFailure> {
    let key = it.publisher_key().map_err(ken_engine::EngineError::from)?;
    let object = PublicationObject {
        schema: "ken.publication_status.v1",
        name: it.name.to_string(),
        folder: it.folder.display().to_string(),
        publisher: key.publisher().to_string(),
        fingerprint: key.fingerprint(),
        place: it.last.as_ref().map(|it| (it.epoch, it.number)),
    };
    if session.is_json() {
        return session.printer.json(&object);
    }
    session.printer.line(format_args!(
        "{:<12} {}  {}",
        object.name, object.fingerprint, object.folder
    ))
}

fn review(session: &mut Session<'_>, name: Option<&str>) -> Result<CommandExit, CommandFailure> {
    // Before anything is printed: an agent must not read what waits for a person.
    session.surroundings.person()?;
    let (publication, review) = session.write(|engine, _| {
        let publication = engine.publication(name)?;
        let review = engine.review_publication(&publication)?;
        Ok((publication, review))
    })?;
    let waiting: Vec<_> = review.waiting.iter().map(|it| &it.artifact).collect();
    let approved: Vec<_> = review.approved.iter().map(|it| &it.artifact).collect();
    print_export_review(session, &waiting, &approved, &review.blocked)?;
    if !session.is_json() && !waiting.is_empty() {
        session.printer.hint(format_args!(
            "`ken remote publication allow {} ID…` approves exactly these words",
            publication.name
        ))?;
    }
    Ok(CommandExit::Fine)
}

fn allow(
    session: &mut Session<'_>,
    name: &str,
    ids: &[EntryId],
) -> Result<CommandExit, CommandFailure> {
    let allowed = session.write(|engine, by| {
        let publication = engine.publication(Some(name))?;
        Ok(engine.allow_exports(&publication, ids, by)?)
    })?;
    for id in &allowed {
        session.printer.line(id)?;
    }
    let count = pluralize(allowed.len() as u64, "wording", "wordings");
    session
        .printer
        .talk(format_args!("approved {count} for `{name}`"))?;
    session.printer.hint(format_args!(
        "`ken remote publication update {name}` publishes what is approved"
    ))?;
    Ok(CommandExit::Fine)
}

fn update(session: &mut Session<'_>, name: Option<&str>) -> Result<CommandExit, CommandFailure> {
    let done = session.write(|engine, by| Ok(engine.update_publication(name, by)?))?;
    print_update(session, &done, "the folder and this clone")?;
    Ok(CommandExit::Fine)
}
