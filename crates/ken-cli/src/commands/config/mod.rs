//! `ken config`: ranking weights, embedding model, LLM and conversations.

mod conversations;
pub(super) mod llm;
mod model;
mod weights;

use clap::Subcommand;

use super::{GroupArgs, Session};
use crate::failure::{CommandExit, CommandFailure};

/// `ken config …`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show or set the weight of each ranking signal
    Weights(weights::WeightsArgs),
    /// Show or select the embedding model of search
    Model(GroupArgs<model::ModelCommand>),
    /// Show or select the LLM that Ken may call: a program, an endpoint, or none
    Llm(llm::LlmArgs),
    /// Show, allow or delete the private index of your conversations with coding agents
    Conversations(conversations::ConversationsArgs),
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: Option<ConfigCommand>,
) -> Result<CommandExit, CommandFailure> {
    match command {
        None => {
            weights::run(session, None)?;
            model::run(session, &model::ModelCommand::Show)?;
            llm::run(session, None)?;
            conversations::run(session, None)
        }
        Some(ConfigCommand::Weights(args)) => weights::run(session, args.command),
        Some(ConfigCommand::Model(args)) => {
            model::run(session, &args.command.unwrap_or(model::ModelCommand::Show))
        }
        Some(ConfigCommand::Llm(args)) => llm::run(session, args.command),
        Some(ConfigCommand::Conversations(args)) => conversations::run(session, args.command),
    }
}
