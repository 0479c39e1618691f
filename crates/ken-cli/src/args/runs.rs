//! `ken run`, `ken observe` and their relatives: work, what was seen in it and what came of it.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use ken_core::actor::Actor;
use ken_core::anchor::Target;
use ken_core::event::Outcome;
use ken_core::run::{Member, Witness};
use ken_core::text::{Note, Statement, Step, Tag};

use super::words;

/// How work may end.
const OUTCOMES: [&str; 3] = ["succeeded", "failed", "abandoned"];

/// `ken run …`.
#[derive(Debug, Subcommand)]
pub(crate) enum RunCommand {
    /// Begin a run and print its name
    Open(OpenArgs),
    /// Write down what happened in a run: what an agent saw, said, used
    Note(NoteRunArgs),
    /// End a run: what it showed, found and came to is written to the ledger
    Close(CloseArgs),
    /// Show an open run: who takes part and what each of them saw
    Show {
        /// The run [default: --run, $KEN_RUN]
        run: Option<String>,
    },
    /// List open runs and those that ended
    List,
    /// Show or set when silence lays an entry aside, and whether some agents are kept from entries
    Policy(PolicyArgs),
}

const AGENT_HELP: &str = "An agent that takes part, with what is known of it: NAME[,role=R][,lens=L][,session=S][,told-by=NAME]";

/// `ken run open`.
#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Its name: letters, digits, `-` and `_` [default: made up]
    pub(crate) name: Option<String>,
    #[arg(long, value_name = "AGENT", help = AGENT_HELP)]
    pub(crate) agent: Vec<AgentSpec>,
    /// Who knows everything the agents are shown: whoever opens the run and writes their prompts, or nobody
    #[arg(
        long,
        value_name = "WITNESS",
        default_value = "nobody",
        value_parser = words::word::<Witness>(&["nobody", "orchestrator"]),
    )]
    pub(crate) witness: Witness,
    /// The thread of work it belongs to
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<Tag>,
    /// What is to be done, in a sentence
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<Note>,
}

/// `ken run note`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").multiple(true).required(true)
    .args(["saw", "read", "cites", "used", "join", "ended"]))]
pub(crate) struct NoteRunArgs {
    /// The run [default: --run, $KEN_RUN, the one Ken keeps for this agent]
    pub(crate) name: Option<String>,
    /// The agent it is about [default: who acts]
    #[arg(long, value_name = "ACTOR")]
    pub(crate) agent: Option<Actor>,
    /// It was shown these entries
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub(crate) saw: Vec<String>,
    /// It read these files
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) read: Vec<PathBuf>,
    /// It concluded something from these entries and said so
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub(crate) cites: Vec<String>,
    /// What it said
    #[arg(long, value_name = "TEXT", requires = "cites")]
    pub(crate) says: Option<Note>,
    /// To whom [default: everybody in the run]
    #[arg(long, value_name = "ACTOR", requires = "cites", num_args = 1..)]
    pub(crate) to: Vec<Actor>,
    /// It worked with these entries
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub(crate) used: Vec<String>,
    #[arg(long, value_name = "AGENT", help = AGENT_HELP)]
    pub(crate) join: Vec<AgentSpec>,
    /// Its own work ended
    #[arg(long, value_name = "OUTCOME", value_parser = words::word::<Outcome>(&OUTCOMES))]
    pub(crate) ended: Option<Outcome>,
}

/// `ken run close`.
#[derive(Debug, Args)]
pub(crate) struct CloseArgs {
    /// The run [default: --run, $KEN_RUN, the one Ken keeps for this agent]
    pub(crate) name: Option<String>,
    /// How it ended
    #[arg(long, value_name = "OUTCOME", value_parser = words::word::<Outcome>(&OUTCOMES))]
    pub(crate) outcome: Outcome,
    /// How good the result is, from 0 to 1
    #[arg(long, value_name = "QUALITY", value_parser = share_milli)]
    pub(crate) quality: Option<u16>,
    /// How many rounds it took
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) rounds: u32,
    /// What it cost, in whatever currency is used here
    #[arg(long, value_name = "AMOUNT", value_parser = micros, default_value = "0")]
    pub(crate) cost: u64,
    /// How it was gone about
    #[arg(long, value_name = "STRATEGY")]
    pub(crate) strategy: Option<Tag>,
}

/// `ken run policy`.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// Runs that must have shown an entry
    #[arg(long, value_name = "N")]
    pub(crate) reviews: Option<u32>,
    /// Runs in which somebody must have been able to find it unseen
    #[arg(long, value_name = "N")]
    pub(crate) chances: Option<u32>,
    /// Whether entries are kept from some agents, so that they can find them unseen
    #[arg(long, value_name = "ON", value_parser = ["on", "off"])]
    pub(crate) blind: Option<String>,
    /// Go back to the default
    #[arg(long, conflicts_with_all = ["reviews", "chances", "blind"])]
    pub(crate) reset: bool,
}

/// `ken observe`.
#[derive(Debug, Args)]
pub(crate) struct ObserveArgs {
    /// What was found: one to three sentences that hold beyond the case at hand
    #[arg(long, value_name = "TEXT")]
    pub(crate) statement: Statement,
    /// The code it is about: PATH, PATH#SYMBOL or PATH:FIRST-LAST
    #[arg(long, value_name = "ANCHOR")]
    pub(crate) anchor: Vec<Target>,
    /// A step that shows whether it holds
    #[arg(long, value_name = "STEP")]
    pub(crate) verify: Vec<Step>,
    /// How bad it is, from 0 to 10
    #[arg(long, value_name = "0-10", value_parser = ten_milli, default_value = "0")]
    pub(crate) severity: u16,
    /// How sure the agent is, from 0 to 10
    #[arg(long, value_name = "0-10", value_parser = ten_milli, default_value = "0")]
    pub(crate) confidence: u16,
    /// Somebody looked and found that it is nothing
    #[arg(long)]
    pub(crate) dismissed: bool,
}

/// `ken feedback`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("verdict").args(["helpful", "unhelpful"]).required(true))]
pub(crate) struct FeedbackArgs {
    /// The entry
    pub(crate) id: String,
    /// It helped
    #[arg(long)]
    pub(crate) helpful: bool,
    /// It did not help, or led astray
    #[arg(long)]
    pub(crate) unhelpful: bool,
}

/// `ken lift`.
#[derive(Debug, Args)]
pub(crate) struct LiftArgs {
    /// The entry [default: all of them together, and each that has been tried]
    pub(crate) id: Option<String>,
}

/// `ken confidence …`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfidenceCommand {
    /// Put an entry that is stuck in the middle back to where it began; only a person may
    Reset {
        /// The entry
        id: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Note,
    },
}

/// An agent and its part in a run.
#[derive(Clone, Debug)]
pub(crate) struct AgentSpec {
    pub(crate) agent: Actor,
    pub(crate) member: Member,
}

impl FromStr for AgentSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let agent = named(parts.next().unwrap_or_default())?;
        let mut member = Member::default();
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
                _ => return Err(format!("`{key}` is none of role, lens, session, told-by")),
            }
        }
        Ok(Self { agent, member })
    }
}

/// Reads an agent's name; the word `agent:` may be left out.
fn named(text: &str) -> Result<Actor, String> {
    let full = match text.contains(':') {
        true => text.to_owned(),
        false => format!("agent:{text}"),
    };
    full.parse().map_err(|error| format!("{error}"))
}

fn tag(text: &str) -> Result<Tag, String> {
    text.parse().map_err(|error| format!("{error}"))
}

fn share_milli(text: &str) -> Result<u16, String> {
    thousandths(text, 1.0)
}

fn ten_milli(text: &str) -> Result<u16, String> {
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
