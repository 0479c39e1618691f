//! `ken config llm`: the LLM that Ken may ask, and the tokens it used.

use clap::{Args, Subcommand};
use ken_engine::EngineError;
use ken_engine::llm::{
    LlmChoice, LlmClient, LlmEndpoint, LlmUsage, PASSED_VARIABLES, TIMEOUT_SECONDS,
};
use serde::Serialize;

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};
use crate::print::pluralize;
use crate::world;

/// Text below the options of `ken config llm --help`.
const LLM_HELP: &str = "\
Ken calls no LLM unless you configure one. The setting is stored per user in llm.toml (in
KEN_LLM, or ken/ below XDG_CONFIG_HOME); a repository cannot set it. Secrets are removed from
every text before it is sent, and the tokens used are printed.

Examples:
  ken config llm set command -- claude -p
  ken config llm set command --pass OPENAI_API_KEY -- codex exec -
  ken config llm set openai https://api.openai.com MODEL --key-env OPENAI_API_KEY
  ken config llm set anthropic MODEL --key-env ANTHROPIC_API_KEY
  ken config llm test && ken health duplicates --llm";

/// `ken config llm`.
#[derive(Debug, Args)]
#[command(after_help = LLM_HELP)]
pub(crate) struct LlmArgs {
    #[command(subcommand)]
    pub(crate) command: Option<LlmCommand>,
}

/// `ken config llm …`.
#[derive(Debug, Subcommand)]
pub(crate) enum LlmCommand {
    /// Show the configured LLM
    #[command(after_help = "Example:\n  ken config llm show")]
    Show,
    /// Configure an LLM, or none
    #[command(subcommand)]
    Set(SetLlm),
    /// Send a test prompt to the configured LLM
    #[command(after_help = "Example:\n  ken config llm test")]
    Test,
}

/// `ken config llm set …`.
#[derive(Debug, Subcommand)]
pub(crate) enum SetLlm {
    /// Use a program that reads a prompt from standard input and prints JSON
    #[command(after_help = "Example:\n  ken config llm set command -- claude -p")]
    Command {
        /// Environment variable to pass to the program besides PATH and HOME
        #[arg(long, value_name = "VARIABLE")]
        pass: Vec<String>,
        #[command(flatten)]
        timeout: TimeoutArgs,
        /// The program and its arguments; no shell is involved
        #[arg(last = true, required = true, value_name = "PROGRAM")]
        program: Vec<String>,
    },
    /// Use an endpoint with OpenAI's chat completions API
    #[command(after_help = "Example:\n  ken config llm set openai http://localhost:11434 llama3")]
    Openai {
        /// Base URL, such as `https://api.openai.com` or `http://localhost:11434`
        url: String,
        /// Model name
        model: String,
        #[command(flatten)]
        endpoint: EndpointArgs,
    },
    /// Use an endpoint with Anthropic's messages API
    #[command(
        after_help = "Example:\n  ken config llm set anthropic MODEL --key-env ANTHROPIC_API_KEY"
    )]
    Anthropic {
        /// Model name
        model: String,
        /// Base URL
        #[arg(long, value_name = "URL", default_value = "https://api.anthropic.com")]
        url: String,
        #[command(flatten)]
        endpoint: EndpointArgs,
    },
    /// Remove the configured LLM
    #[command(after_help = "Example:\n  ken config llm set none")]
    None,
}

/// Options of every endpoint.
#[derive(Debug, Args)]
pub(crate) struct EndpointArgs {
    /// Environment variable that holds the API key
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) key_env: Option<String>,
    /// Allow unencrypted HTTP to another machine
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) timeout: TimeoutArgs,
}

/// Timeout of calls.
#[derive(Debug, Args)]
pub(crate) struct TimeoutArgs {
    /// Timeout per call in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT_SECONDS)]
    pub(crate) timeout: u64,
}

/// JSON view of the configured LLM.
#[derive(Serialize)]
struct LlmObject<'a> {
    schema: &'static str,
    kind: &'static str,
    program: Option<&'a [String]>,
    pass: Option<&'a [String]>,
    url: Option<&'a str>,
    model: Option<&'a str>,
    key_variable: Option<&'a str>,
    timeout_seconds: Option<u64>,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: Option<LlmCommand>,
) -> Result<CommandExit, CommandFailure> {
    let home = world::llm_home()?;
    match command {
        None | Some(LlmCommand::Show) => show(session, &home.load().map_err(EngineError::from)?),
        Some(LlmCommand::Set(choice)) => {
            let chosen = home.store(chosen(choice)).map_err(EngineError::from)?;
            show(session, &chosen)
        }
        Some(LlmCommand::Test) => test(session),
    }
}

/// Opens the LLM that the user configured.
pub(in crate::commands) fn open(session: &Session<'_>) -> Result<LlmClient, CommandFailure> {
    let guard = session.surroundings.guard()?;
    Ok(world::llm_home()?.open(&guard).map_err(EngineError::from)?)
}

/// Prints the tokens of the last call and of all calls.
pub(in crate::commands) fn tell_tokens(
    session: &mut Session<'_>,
    llm: &LlmClient,
) -> Result<(), CommandFailure> {
    let (last, total) = llm.usage();
    let name = llm.name();
    let calls = pluralize(total.calls, "call", "calls");
    session.printer.talk(format_args!(
        "LLM {name}: {}; {calls}, {} in total",
        tokens(last),
        tokens(total)
    ))
}

fn tokens(spent: LlmUsage) -> String {
    let (sent, received) = (spent.sent, spent.received);
    let estimated = if spent.estimated { ", estimated" } else { "" };
    format!("{sent} tokens sent, {received} received{estimated}")
}

fn test(session: &mut Session<'_>) -> Result<CommandExit, CommandFailure> {
    let mut llm = open(session)?;
    let answer = llm.probe();
    tell_tokens(session, &llm)?;
    answer.map_err(EngineError::from)?;
    session.printer.line("the LLM returned a valid answer")?;
    Ok(CommandExit::Fine)
}

fn chosen(choice: SetLlm) -> LlmChoice {
    match choice {
        SetLlm::None => LlmChoice::None,
        SetLlm::Command {
            pass,
            timeout,
            program,
        } => LlmChoice::Command {
            program,
            pass,
            timeout_seconds: timeout.timeout,
        },
        SetLlm::Openai {
            url,
            model,
            endpoint,
        } => LlmChoice::OpenAi(at(url, model, endpoint)),
        SetLlm::Anthropic {
            model,
            url,
            endpoint,
        } => LlmChoice::Anthropic(at(url, model, endpoint)),
    }
}

fn at(url: String, model: String, args: EndpointArgs) -> LlmEndpoint {
    LlmEndpoint {
        url,
        model,
        key_variable: args.key_env,
        plain: args.plain,
        timeout_seconds: args.timeout.timeout,
    }
}

fn show(session: &mut Session<'_>, choice: &LlmChoice) -> Result<CommandExit, CommandFailure> {
    if session.is_json() {
        session.printer.json(&object(choice))?;
        return Ok(CommandExit::Fine);
    }
    let mut line = |name: &str, value: &str| {
        let line = format!("{name:<11}{value}");
        session.printer.line(line)
    };
    line("llm", choice.kind())?;
    match choice {
        LlmChoice::None => session.printer.hint(
            "without an LLM, people decide about the pairs of `ken health duplicates`; `ken config llm set --help` shows how to configure one",
        )?,
        LlmChoice::Command {
            program,
            pass,
            timeout_seconds,
        } => {
            line("program", &program.join(" "))?;
            let passed = PASSED_VARIABLES.iter().copied();
            let passed: Vec<&str> = passed.chain(pass.iter().map(String::as_str)).collect();
            line("variables", &passed.join(", "))?;
            line("timeout", &format!("{timeout_seconds} s"))?;
        }
        LlmChoice::OpenAi(it) | LlmChoice::Anthropic(it) => {
            line("model", &format!("{} at {}", it.model, it.url))?;
            if let Some(variable) = &it.key_variable {
                line("key", &format!("from the variable {variable}"))?;
            }
            line("timeout", &format!("{} s", it.timeout_seconds))?;
        }
    }
    Ok(CommandExit::Fine)
}

fn object(choice: &LlmChoice) -> LlmObject<'_> {
    let mut object = LlmObject {
        schema: "ken.llm.v1",
        kind: choice.kind(),
        program: None,
        pass: None,
        url: None,
        model: None,
        key_variable: None,
        timeout_seconds: None,
    };
    match choice {
        LlmChoice::None => {}
        LlmChoice::Command {
            program,
            pass,
            timeout_seconds,
        } => {
            object.program = Some(program);
            object.pass = Some(pass);
            object.timeout_seconds = Some(*timeout_seconds);
        }
        LlmChoice::OpenAi(it) | LlmChoice::Anthropic(it) => {
            object.url = Some(&it.url);
            object.model = Some(&it.model);
            object.key_variable = it.key_variable.as_deref();
            object.timeout_seconds = Some(it.timeout_seconds);
        }
    }
    object
}
