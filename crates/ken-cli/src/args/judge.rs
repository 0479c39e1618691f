//! `ken judge` and `ken extract`: a language model that is asked where Ken cannot tell.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ken_engine::judge::TIMEOUT_SECONDS;

/// What `ken judge --help` says below its options.
pub(super) const JUDGE_HELP: &str = "\
The judge is kept in judge.toml in your own folder (KEN_JUDGE, or ken/ below XDG_CONFIG_HOME); no repository can name one.
Texts are sent without their secrets, and tokens are counted and printed.

Examples:
  ken judge set command -- claude -p
  ken judge set command --pass OPENAI_API_KEY -- codex exec -
  ken judge set openai https://api.openai.com MODEL --key-env OPENAI_API_KEY
  ken judge set anthropic MODEL --key-env ANTHROPIC_API_KEY
  ken judge test && ken duplicates --judge";

/// `ken judge`.
#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    #[command(subcommand)]
    pub(crate) command: Option<JudgeCommand>,
}

/// `ken judge …`.
#[derive(Debug, Subcommand)]
pub(crate) enum JudgeCommand {
    /// Show which judge you have
    Show,
    /// Choose a judge, or none
    #[command(subcommand)]
    Set(SetJudge),
    /// Ask it one question
    Test,
}

/// `ken judge set …`.
#[derive(Debug, Subcommand)]
pub(crate) enum SetJudge {
    /// A program that reads a question on standard input and prints JSON
    Command {
        /// An environment variable the program gets beside PATH and HOME
        #[arg(long, value_name = "VARIABLE")]
        pass: Vec<String>,
        #[command(flatten)]
        patience: Patience,
        /// The program and its arguments; no shell reads them
        #[arg(last = true, required = true, value_name = "PROGRAM")]
        program: Vec<String>,
    },
    /// An endpoint that speaks OpenAI's chat completions
    Openai {
        /// Where it is, such as `https://api.openai.com` or `http://localhost:11434`
        url: String,
        /// The name of the model there
        model: String,
        #[command(flatten)]
        endpoint: EndpointArgs,
    },
    /// An endpoint that speaks Anthropic's messages
    Anthropic {
        /// The name of the model
        model: String,
        /// Where it is
        #[arg(long, value_name = "URL", default_value = "https://api.anthropic.com")]
        url: String,
        #[command(flatten)]
        endpoint: EndpointArgs,
    },
    /// People decide
    None,
}

/// What every endpoint takes.
#[derive(Debug, Args)]
pub(crate) struct EndpointArgs {
    /// The environment variable that holds the key
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) key_env: Option<String>,
    /// Let text travel unencrypted to another machine
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) patience: Patience,
}

/// How long a call may take.
#[derive(Debug, Args)]
pub(crate) struct Patience {
    /// Seconds a call may take
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT_SECONDS)]
    pub(crate) timeout: u64,
}

/// `ken extract`.
#[derive(Debug, Args)]
pub(crate) struct ExtractArgs {
    /// The transcript; `-` reads standard input
    pub(crate) file: PathBuf,
    /// Show what would be added, and add nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
