//! `ken model`: which model helps a search, and where it is.

use clap::{Args, Subcommand, ValueEnum};
use ken_engine::model::Rung;

/// `ken model …`.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Show which model serves here and how far its vectors have come
    Show,
    /// Add a model and use it: a folder, a name of the model hub, or an endpoint
    Add(AddModelArgs),
    /// Use what is built in or was added: static, none, transformer or http
    Use {
        /// The rung
        rung: Ladder,
    },
    /// Forget the models that were added
    Remove,
}

/// `ken model add`.
#[derive(Debug, Args)]
pub(crate) struct AddModelArgs {
    /// A sentence-transformers folder, or a name such as sentence-transformers/all-MiniLM-L6-v2
    #[arg(
        value_name = "FOLDER|NAME",
        required_unless_present = "http",
        conflicts_with = "http"
    )]
    pub(crate) source: Option<String>,
    /// The hub to fetch from [default: $KEN_MODEL_HUB, or the public one]
    #[arg(long, value_name = "URL", conflicts_with = "http")]
    pub(crate) hub: Option<String>,
    /// An endpoint that embeds: entries and queries are sent there
    #[arg(long, value_name = "URL", requires = "dialect", requires = "model")]
    pub(crate) http: Option<String>,
    /// The language the endpoint speaks
    #[arg(long, value_name = "DIALECT", requires = "http")]
    pub(crate) dialect: Option<Dialect>,
    /// The name of the model at the endpoint
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) model: Option<String>,
    /// The environment variable that holds the endpoint's key
    #[arg(long, value_name = "VARIABLE", requires = "http")]
    pub(crate) key_env: Option<String>,
    /// Let text travel unencrypted to another machine
    #[arg(long, requires = "http")]
    pub(crate) plain: bool,
}

/// The language of an endpoint.
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

/// A rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ladder {
    Static,
    None,
    Transformer,
    Http,
}

impl Ladder {
    pub(crate) fn rung(self) -> Rung {
        match self {
            Self::Static => Rung::Static,
            Self::None => Rung::None,
            Self::Transformer => Rung::Transformer,
            Self::Http => Rung::Http,
        }
    }
}
