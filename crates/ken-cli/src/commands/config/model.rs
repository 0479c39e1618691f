//! `ken config model`: shows and selects the embedding model.

use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};
use ken_engine::Engine;
use ken_engine::model::{Backend, ModelDownload, ModelEndpoint, ModelReport};
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::print::progress::ProgressIndicator;
use crate::world;

/// `ken config model …`.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Show the model in use and how many entries have vectors
    #[command(after_help = "Example:\n  ken config model show")]
    Show,
    /// Add a model and use it: a folder, a name on the model hub, or an endpoint
    Add(AddModelArgs),
    /// Use a built-in or added model: static, none, transformer or http
    #[command(after_help = "Example:\n  ken config model use static")]
    Use {
        /// The type of model
        model: ModelType,
    },
    /// Remove the added models
    #[command(after_help = "Example:\n  ken config model remove")]
    Remove,
}

/// `ken config model add`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ken config model add ./all-MiniLM-L6-v2
  ken config model add --http http://localhost:11434 --dialect ollama --model nomic-embed-text")]
pub(crate) struct AddModelArgs {
    /// Folder of a sentence-transformers model, or a name such as
    /// sentence-transformers/all-MiniLM-L6-v2
    #[arg(
        value_name = "FOLDER|NAME",
        required_unless_present = "http",
        conflicts_with = "http"
    )]
    pub(crate) source: Option<String>,
    /// URL of the model hub [default: $KEN_MODEL_HUB, or the public one]
    #[arg(long, value_name = "URL", conflicts_with = "http")]
    pub(crate) hub: Option<String>,
    /// URL of an embedding endpoint; entries and queries are sent to it
    #[arg(long, value_name = "URL", requires = "dialect", requires = "model")]
    pub(crate) http: Option<String>,
    /// API of the endpoint
    #[arg(long, value_name = "DIALECT", requires = "http")]
    pub(crate) dialect: Option<Dialect>,
    /// Model name at the endpoint
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) model: Option<String>,
    /// Environment variable that holds the API key
    #[arg(long, value_name = "VARIABLE", requires = "http")]
    pub(crate) key_env: Option<String>,
    /// Allow unencrypted HTTP to another machine
    #[arg(long, requires = "http")]
    pub(crate) plain: bool,
}

/// API of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    Openai,
    Ollama,
}

impl Dialect {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Ollama => "ollama",
        }
    }
}

/// Type of embedding model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelType {
    Static,
    None,
    Transformer,
    Http,
}

impl ModelType {
    pub(crate) fn backend(self) -> Backend {
        match self {
            Self::Static => Backend::Static,
            Self::None => Backend::None,
            Self::Transformer => Backend::Transformer,
            Self::Http => Backend::Http,
        }
    }
}

/// JSON view of the model.
#[derive(Serialize)]
struct ModelObject<'a> {
    schema: &'static str,
    chosen: &'a str,
    served_by: &'static str,
    /// Why the selected model is not in use.
    trouble: Option<&'a str>,
    id: Option<&'a str>,
    dimension: Option<usize>,
    /// The added models, in use or not.
    added: AddedObject<'a>,
    entries: u64,
    /// Entries whose vectors the next search computes.
    waiting: u64,
}

#[derive(Serialize)]
struct AddedObject<'a> {
    folder: Option<&'a str>,
    url: Option<&'a str>,
    model: Option<&'a str>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: &ModelCommand,
) -> Result<CommandExit, CommandFailure> {
    let report = match command {
        ModelCommand::Show => session.read(|engine| Ok(engine.model_report()?))?,
        ModelCommand::Add(args) => add(session, args)?,
        ModelCommand::Use { model } => {
            chosen(session, |engine| Ok(engine.select_model(model.backend())?))?
        }
        ModelCommand::Remove => chosen(session, |engine| Ok(engine.remove_models()?))?,
    };
    print(session, &report)?;
    let is_changed = !matches!(command, ModelCommand::Show);
    if is_changed && report.outdated > 0 && !session.is_json() {
        let entries = pluralize(report.outdated, "entry", "entries");
        let hint = format_args!("the next search computes vectors for {entries}");
        session.printer.hint(hint)?;
    }
    Ok(CommandExit::Fine)
}

/// Applies the command and returns the model in use.
fn chosen(
    session: &mut Session<'_>,
    choose: impl FnOnce(&mut Engine) -> Result<(), CommandFailure>,
) -> Result<ModelReport, CommandFailure> {
    session.read(|engine| {
        choose(engine)?;
        Ok(engine.model_report()?)
    })
}

fn add(session: &mut Session<'_>, args: &AddModelArgs) -> Result<ModelReport, CommandFailure> {
    if let (Some(url), Some(dialect), Some(model)) = (&args.http, args.dialect, &args.model) {
        let endpoint = ModelEndpoint {
            dialect: dialect.name().to_owned(),
            url: url.clone(),
            model: model.clone(),
            key_variable: args.key_env.clone(),
            allow_plaintext: args.plain,
        };
        return chosen(session, |engine| Ok(engine.add_model_endpoint(&endpoint)?));
    }
    let source = args.source.as_deref().unwrap_or_default();
    let folder = session.surroundings.start.join(source);
    if folder.is_dir() || !is_name(source) {
        return chosen(session, |engine| Ok(engine.add_model_folder(&folder)?));
    }
    let wanted = ModelDownload {
        name: source.to_owned(),
        hub: args.hub.clone().or_else(world::model_hub),
        cache: world::models_folder()?,
    };
    let progress = ProgressIndicator::start(session.printer, "downloading the model", None);
    chosen(session, |engine| {
        let folder = progress.during(|it| {
            let count = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
            engine.fetch_model(&wanted, &mut |at, all| {
                it.set_progress(count(at), count(all));
            })
        })?;
        Ok(engine.add_model_folder(&folder)?)
    })
}

/// Returns whether the source can be a model name and not only a path.
fn is_name(source: &str) -> bool {
    let is_plain = Path::new(source).is_relative() && !source.starts_with('.');
    is_plain && source.matches('/').count() == 1 && !source.ends_with('/')
}

fn print(session: &mut Session<'_>, report: &ModelReport) -> Result<(), CommandFailure> {
    if session.is_json() {
        return session.printer.json(&object(report));
    }
    let mut line = |name: &str, value: &str| {
        let line = format!("{name:<11}{value}");
        session.printer.line(line)
    };
    let served_by = report.served_by.name();
    match report.fallback_reason {
        None => line("type", served_by)?,
        Some(_) => line(
            "type",
            &format!("{served_by}, instead of {}", report.configured),
        )?,
    }
    if let Some(why) = &report.fallback_reason {
        line("problem", why)?;
    }
    if let Some(id) = &report.id {
        line("model", id)?;
    }
    if let Some(dimension) = report.dimension {
        line("dimension", &dimension.to_string())?;
        let (with, all) = (
            report.entries.saturating_sub(report.outdated),
            report.entries,
        );
        let vectors = match report.outdated {
            0 => format!("for {}", pluralize(all, "entry", "entries")),
            outdated => format!(
                "for {with} of {}; the next search computes {outdated}",
                pluralize(all, "entry", "entries")
            ),
        };
        line("vectors", &vectors)?;
    }
    if let Some(folder) = &report.folder {
        line("folder", folder)?;
    }
    if let Some((url, model)) = &report.endpoint {
        line("endpoint", &format!("{model} at {url}"))?;
    }
    Ok(())
}

fn object(report: &ModelReport) -> ModelObject<'_> {
    let endpoint = report.endpoint.as_ref();
    ModelObject {
        schema: "ken.model.v1",
        chosen: &report.configured,
        served_by: report.served_by.name(),
        trouble: report.fallback_reason.as_deref(),
        id: report.id.as_deref(),
        dimension: report.dimension,
        added: AddedObject {
            folder: report.folder.as_deref(),
            url: endpoint.map(|(url, _)| url.as_str()),
            model: endpoint.map(|(_, model)| model.as_str()),
        },
        entries: report.entries,
        waiting: report.outdated,
    }
}
