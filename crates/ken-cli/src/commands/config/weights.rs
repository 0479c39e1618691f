//! `ken config weights`: the weight of each ranking signal.

use clap::{Args, Subcommand};
use ken_core::retrieval::score::RankingWeights;
use ken_engine::scoring::WorkspaceWeights;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::commands::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken config weights`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ken config weights\n  ken config weights reset")]
pub(crate) struct WeightsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<WeightsCommand>,
}

/// `ken config weights …`.
#[derive(Debug, Subcommand)]
pub(crate) enum WeightsCommand {
    /// Show the weights of this workspace
    #[command(after_help = "Example:\n  ken config weights show")]
    Show,
    /// Set all six weights of this workspace, shared by all clones
    #[command(
        after_help = "Example:\n  ken config weights set semantic=0.38 thompson=0.25 freshness=0.15 status=0.10 thread=0.07 cooccurrence=0.05"
    )]
    Set {
        /// Signals and their weights, which sum to 1
        #[arg(value_name = "SIGNAL=WEIGHT", required = true, value_parser = share)]
        shares: Vec<Share>,
    },
    /// Restore the default weights
    #[command(after_help = "Example:\n  ken config weights reset")]
    Reset,
}

/// A ranking signal and its weight.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) weight: f64,
}

fn share(text: &str) -> Result<Share, String> {
    let parts = text.split_once('=');
    let parsed = parts.and_then(|(name, weight)| Some((name, weight.parse::<f64>().ok()?)));
    let (name, weight) = parsed.ok_or("write SIGNAL=WEIGHT, such as semantic=0.4")?;
    let name = name.to_owned();
    Ok(Share { name, weight })
}

#[derive(Serialize)]
struct ScoringObject {
    schema: &'static str,
    /// Whether the workspace set its own weights.
    own: bool,
    weights: RankingWeights,
}

pub(in crate::commands) fn run(
    session: &mut Session<'_>,
    command: Option<WeightsCommand>,
) -> Result<CommandExit, CommandFailure> {
    let scoring = match command {
        None | Some(WeightsCommand::Show) => {
            session.read(|engine| Ok(engine.workspace_weights()?))?
        }
        Some(WeightsCommand::Set { shares }) => {
            let weights = weights(&shares)?;
            session.write(|engine, by| Ok(engine.set_workspace_weights(Some(weights), by)?))?
        }
        Some(WeightsCommand::Reset) => {
            session.write(|engine, by| Ok(engine.set_workspace_weights(None, by)?))?
        }
    };
    print(session, scoring)?;
    Ok(CommandExit::Fine)
}

fn weights(shares: &[Share]) -> Result<RankingWeights, CommandFailure> {
    let mut members = Map::new();
    for Share { name, weight } in shares {
        members.insert(name.clone(), Value::from(*weight));
    }
    RankingWeights::from_json(&Value::Object(members)).map_err(|e| {
        let defaults = RankingWeights::default().named();
        let all = defaults.map(|(name, weight)| format!("{name}={weight:.2}"));
        let hint = format!("set all six weights, such as {}", all.join(" "));
        CommandFailure::usage(e).with_hint(hint)
    })
}

fn print(session: &mut Session<'_>, scoring: WorkspaceWeights) -> Result<(), CommandFailure> {
    let WorkspaceWeights {
        weights,
        is_custom: own,
    } = scoring;
    if session.is_json() {
        return session.printer.json(&ScoringObject {
            schema: "ken.weights.v1",
            own,
            weights,
        });
    }
    for (name, weight) in weights.named() {
        session
            .printer
            .line(format_args!("{name:<14}{weight:>5.2}"))?;
    }
    let whose = if own {
        "set for this workspace"
    } else {
        "default weights"
    };
    session.printer.talk(whose)
}
