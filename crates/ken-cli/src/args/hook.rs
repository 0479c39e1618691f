//! `ken hook`: what an agent's hook types.

use clap::Args;

/// `ken hook`.
///
/// Anything may stand behind it: a hook that is typed wrongly must not end with an exit code by which an agent stops.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The agent and the moment, as in `claude-code start`; its JSON comes on standard input
    #[arg(
        value_name = "AGENT EVENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) words: Vec<String>,
}
