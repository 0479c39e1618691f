//! Arguments of `ken run`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use ken_core::ledger::event::Outcome;
use ken_core::trust::rediscovery::RediscoveryMode;
use ken_core::trust::run::{RunMember, RunWitness};
use ken_core::values::actor::Actor;
use ken_core::values::text::{Note, Tag};

use super::bisect::BisectArgs;
use super::blame::BlameArgs;
use super::handoff::HandoffArgs;
use super::observe::ObserveArgs;
use crate::args::values;

/// Names of the outcomes of a run.
const OUTCOMES: [&str; 3] = ["succeeded", "failed", "abandoned"];

/// `ken run …`.
#[derive(Debug, Subcommand)]
pub(crate) enum RunCommand {
    /// Open a run and print its name
    Open(OpenArgs),
    /// Record exposures, messages and used entries of an agent in a run
    Note(NoteRunArgs),
    /// Close a run and write its exposures, findings and outcome to the ledger
    Close(CloseArgs),
    /// Show an open or ended run: its agents, what they were shown, feedback and result
    #[command(after_help = "Example:\n  ken run show r1")]
    Show {
        /// The run [default: --run, $KEN_RUN]
        run: Option<String>,
    },
    /// Record a finding of an agent in a run, to be compared with those of others when it is closed
    Observe(Box<ObserveArgs>),
    /// List open and closed runs
    #[command(after_help = "Example:\n  ken run list")]
    List,
    /// Show what the agents of a run or commit were shown, and what was new; also `ken blame`
    Blame(BlameArgs),
    /// Find the entry that changes what an agent does, by withholding others; also `ken bisect`
    Bisect(BisectArgs),
    /// Show, write or take a handoff: unfinished work for the next session; also `ken handoff`
    Handoff(HandoffArgs),
    /// Show or set when unconfirmed entries are archived, the holdout, and the use of rediscovery
    Policy(PolicyArgs),
}

/// Help of arguments that add an agent to a run.
const AGENT_HELP: &str =
    "Agent that takes part: NAME[,role=R][,lens=L][,session=S][,told-by=NAME]; may be repeated";

/// `ken run open`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ken run open --agent reviewer,role=reviewer --task \"Review the retry change\""
)]
pub(crate) struct OpenArgs {
    /// Name of the run: letters, digits, `-` and `_` [default: generated]
    pub(crate) name: Option<String>,
    #[arg(long, value_name = "AGENT", help = AGENT_HELP)]
    pub(crate) agent: Vec<AgentSpec>,
    /// Witness of all exposures: nobody, or the orchestrator that writes the agents' prompts
    #[arg(
        long,
        value_name = "WITNESS",
        default_value = "nobody",
        value_parser = values::word::<RunWitness>(&["nobody", "orchestrator"]),
    )]
    pub(crate) witness: RunWitness,
    /// Thread of work the run belongs to
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<Tag>,
    /// The task, in one sentence
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<Note>,
}

/// `ken run note`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken run note r1 --agent agent:reviewer --saw L-7k2f")]
#[command(group = clap::ArgGroup::new("what").multiple(true).required(true)
    .args(["saw", "read", "cites", "used", "join", "ended"]))]
pub(crate) struct NoteRunArgs {
    /// The run [default: --run, $KEN_RUN, the run of this agent's session]
    pub(crate) name: Option<String>,
    /// The agent the note is about [default: the actor]
    #[arg(long, value_name = "ACTOR")]
    pub(crate) agent: Option<Actor>,
    /// Entries that the agent was shown
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub(crate) saw: Vec<String>,
    /// Files that the agent read
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) read: Vec<PathBuf>,
    /// Entries that a message of the agent is based on
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub(crate) cites: Vec<String>,
    /// Text of the message
    #[arg(long, value_name = "TEXT", requires = "cites")]
    pub(crate) says: Option<Note>,
    /// Receivers of the message [default: every agent of the run]
    #[arg(long, value_name = "ACTOR", requires = "cites", num_args = 1..)]
    pub(crate) to: Vec<Actor>,
    /// Entries that the agent used
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub(crate) used: Vec<String>,
    #[arg(long, value_name = "AGENT", help = AGENT_HELP)]
    pub(crate) join: Vec<AgentSpec>,
    /// Outcome of the agent's own work
    #[arg(long, value_name = "OUTCOME", value_parser = values::word::<Outcome>(&OUTCOMES))]
    pub(crate) ended: Option<Outcome>,
}

/// `ken run close`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ken run close r1 --outcome succeeded --quality 0.9")]
pub(crate) struct CloseArgs {
    /// The run [default: --run, $KEN_RUN, the run of this agent's session]
    pub(crate) name: Option<String>,
    /// Outcome of the run
    #[arg(long, value_name = "OUTCOME", value_parser = values::word::<Outcome>(&OUTCOMES))]
    pub(crate) outcome: Outcome,
    /// Quality of the result, from 0 to 1
    #[arg(long, value_name = "QUALITY", value_parser = share_milli)]
    pub(crate) quality: Option<u16>,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) rounds: u32,
    /// Cost, in any currency
    #[arg(long, value_name = "AMOUNT", value_parser = micros, default_value = "0")]
    pub(crate) cost: u64,
    /// Strategy of the run
    #[arg(long, value_name = "STRATEGY")]
    pub(crate) strategy: Option<Tag>,
}

/// `ken run policy`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ken run policy\n  ken run policy --reviews 10 --chances 18 --blind on\n  ken run policy --rediscovery gate"
)]
pub(crate) struct PolicyArgs {
    /// Runs that must have shown an entry before it can be archived
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) reviews: Option<u32>,
    /// Runs in which an agent that was not shown the entry could have found it
    #[arg(long, value_name = "N")]
    pub(crate) chances: Option<u32>,
    /// Whether entries are withheld from some agents (holdout), so that they can confirm them
    #[arg(long, value_name = "ON", value_parser = ["on", "off"])]
    pub(crate) blind: Option<String>,
    /// Use of the belief that follows from independent finds: show it, also rank by it, or also
    /// keep entries that are not believed out of hooks and briefings
    #[arg(
        long,
        value_name = "MODE",
        value_parser = values::word::<RediscoveryMode>(&["observe", "rank", "gate"]),
    )]
    pub(crate) rediscovery: Option<RediscoveryMode>,
    /// Fit the model behind the belief to how often agents report in this workspace
    #[arg(long)]
    pub(crate) fit: bool,
    /// Restore the default
    #[arg(long, conflicts_with_all = ["reviews", "chances", "blind", "rediscovery", "fit"])]
    pub(crate) reset: bool,
}

/// An agent and its role in a run.
#[derive(Clone, Debug)]
pub(crate) struct AgentSpec {
    pub(crate) agent: Actor,
    pub(crate) member: RunMember,
}

impl FromStr for AgentSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let agent = named(parts.next().unwrap_or_default())?;
        let mut member = RunMember::default();
        for part in parts {
            let (key, value) = part
                .split_once('=')
                .ok_or("write KEY=VALUE after the name")?;
            match key {
                "role" => member.role = Some(tag(value)?),
                "lens" => member.lens = Some(tag(value)?),
                "session" => member.session = Some(value.to_owned()),
                "told-by" => {
                    member.told_by.insert(named(value)?);
                }
                _ => {
                    return Err(format!(
                        "`{key}` is not a valid key; use role, lens, session or told-by"
                    ));
                }
            }
        }
        Ok(Self { agent, member })
    }
}

/// Parses an agent's name; the prefix `agent:` is optional.
fn named(text: &str) -> Result<Actor, String> {
    let full = if text.contains(':') {
        text.to_owned()
    } else {
        format!("agent:{text}")
    };
    full.parse().map_err(|error| format!("{error}"))
}

fn tag(text: &str) -> Result<Tag, String> {
    text.parse().map_err(|error| format!("{error}"))
}

fn share_milli(text: &str) -> Result<u16, String> {
    thousandths(text, 1.0)
}

pub(super) fn ten_milli(text: &str) -> Result<u16, String> {
    thousandths(text, 10.0)
}

fn thousandths(text: &str, most: f64) -> Result<u16, String> {
    let number: Option<f64> = text.parse().ok();
    let number = number.filter(|it| (0.0..=most).contains(it));
    let number = number.ok_or_else(|| format!("write a number from 0 to {most}"))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most ten thousand"
    )]
    Ok((number * 1000.0).round() as u16)
}

fn micros(text: &str) -> Result<u64, String> {
    let number: Option<f64> = text.parse().ok();
    let number = number.filter(|it| (0.0..=1e12).contains(it));
    let number = number.ok_or("write an amount, such as 0.25")?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked just above"
    )]
    Ok((number * 1e6).round() as u64)
}
