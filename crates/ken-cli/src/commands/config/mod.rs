//! `ken config`: ranking weights, embedding model and LLM.

pub(super) mod llm;
mod model;
mod weights;

use clap::Subcommand;

use super::Session;
use crate::failure::{CommandExit, CommandFailure};

/// `ken config …`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show or set the weight of each ranking signal
    Weights(weights::WeightsArgs),
    /// Show or select the embedding model of search
    #[command(subcommand)]
    Model(model::ModelCommand),
    /// Show or select the LLM that Ken may call: a program, an endpoint, or none
    Llm(llm::LlmArgs),
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: ConfigCommand,
) -> Result<CommandExit, CommandFailure> {
    match command {
        ConfigCommand::Weights(args) => weights::run(session, args.command),
        ConfigCommand::Model(command) => model::run(session, &command),
        ConfigCommand::Llm(args) => llm::run(session, args.command),
    }
}
