//! `ken hub account` and `ken hub session`.

use clap::{Args, Subcommand};
use ken_core::values::actor::Actor;

/// `ken hub account …`.
#[derive(Debug, Subcommand)]
pub(crate) enum AccountCommand {
    /// List every actor with a valid token, a session, an owner or a block
    #[command(after_help = "Example:\n  ken hub account list acme")]
    List {
        /// The organization
        organization: String,
    },
    /// Set who is responsible for a service account, and what it is for
    #[command(
        after_help = "Example:\n  ken hub account describe acme ci:main --owner human:ada@example.org --text \"nightly build\""
    )]
    Describe(DescribeAccountArgs),
    /// End the tokens and sessions of an actor now, and refuse new ones and an issuer's tokens
    #[command(after_help = "Example:\n  ken hub account block acme human:ada@example.org")]
    Block(AccountArgs),
    /// Let a blocked actor get tokens and sign in again
    #[command(after_help = "Example:\n  ken hub account unblock acme human:ada@example.org")]
    Unblock(AccountArgs),
}

/// Arguments that name an account.
#[derive(Debug, Args)]
pub(crate) struct AccountArgs {
    /// The organization
    pub(crate) organization: String,
    /// The actor: human:NAME, agent:NAME, ci:NAME, import:NAME or peer:NAME
    pub(crate) actor: Actor,
}

/// `ken hub account describe`.
#[derive(Debug, Args)]
pub(crate) struct DescribeAccountArgs {
    #[command(flatten)]
    pub(crate) account: AccountArgs,
    /// The person responsible for it
    #[arg(long, value_name = "ACTOR")]
    pub(crate) owner: Option<Actor>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
}

/// `ken hub session …`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List the sign-ins of people in browsers, newest first
    #[command(
        after_help = "Examples:\n  ken hub session list acme\n  ken hub session list acme --actor human:ada@example.org"
    )]
    List {
        /// The organization
        organization: String,
        /// Only sessions of this actor
        #[arg(long, value_name = "ACTOR")]
        actor: Option<Actor>,
    },
    /// End a session now
    #[command(after_help = "Example:\n  ken hub session end acme ID")]
    End {
        /// The organization
        organization: String,
        /// Id of the session, as listed by `ken hub session list`
        id: String,
    },
}
