//! `ken hub person`: people under opaque ids, export of what is stored about one, and erasure.

use clap::{Args, Subcommand, ValueEnum};
use ken_core::values::person::PersonId;

/// `ken hub person …`.
#[derive(Debug, Subcommand)]
pub(crate) enum HubPersonCommand {
    /// List a person under an id, which tokens and events then name
    Add(HubPersonAddArgs),
    /// List the people of an organization with their ids
    #[command(after_help = "Example:\n  ken hub person list acme")]
    List {
        /// The organization
        organization: String,
    },
    /// Show or set whether people who sign in are listed under a new id
    #[command(
        after_help = "Examples:\n  ken hub person policy acme\n  ken hub person policy acme --set ids"
    )]
    Policy {
        /// The organization
        organization: String,
        /// `ids` lists each person who signs in through the issuer; `names` lists no one by itself
        #[arg(long, value_name = "POLICY")]
        set: Option<PeoplePolicyArg>,
    },
    /// Export everything stored by or about a person, as JSON lines
    #[command(after_help = "Example:\n  ken hub person export acme ada@example.org > ada.jsonl")]
    Export {
        /// The organization
        organization: String,
        /// The person: id, name at the issuer, or full name
        person: String,
    },
    /// Erase a person's names, sessions and texts that mention them
    Forget(HubForgetArgs),
}

/// Names of people in new events of an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PeoplePolicyArg {
    Ids,
    Names,
}

/// Text below the options of `ken hub person add --help`.
const ADD_HELP: &str = "\
Examples:
  ken hub person add acme --name \"Ada Lovelace\" --subject ada@example.org
  ken hub person add acme --name \"Ada Lovelace\" --id p-7k2f5qm3w9ab
  ken hub token create acme --role curator --actor human:p-7k2f5qm3w9ab

Use the id that `ken ledger person list` shows in the person's repositories: decisions are accepted
from the person whom the event names.";

/// `ken hub person add`.
#[derive(Debug, Args)]
#[command(after_help = ADD_HELP)]
pub(crate) struct HubPersonAddArgs {
    /// The organization
    pub(crate) organization: String,
    /// Name that people read
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Name by which the issuer knows the person, who then signs in under the id
    #[arg(long, value_name = "SUBJECT")]
    pub(crate) subject: Option<String>,
    /// Id that the person has in repositories [default: a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<PersonId>,
}

/// Text below the options of `ken hub person forget --help`.
const FORGET_HELP: &str = "\
Examples:
  ken hub person forget acme p-7k2f5qm3w9ab
  ken hub --by human:p-2m8d4tq1x6cz person forget acme p-7k2f5qm3w9ab --yes

Without --yes, Ken only prints what it would delete and what stays. Texts that mention a name are
redacted in your name, here and in every clone that pulls; that cannot be undone. A legal hold of
the organization or any workspace keeps the names: the command is refused until its release.";

/// `ken hub person forget`.
#[derive(Debug, Args)]
#[command(after_help = FORGET_HELP)]
pub(crate) struct HubForgetArgs {
    /// The organization
    pub(crate) organization: String,
    /// The person: id, name at the issuer, or full name
    pub(crate) person: String,
    /// Another name to look for in texts; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) also: Vec<String>,
    /// Erase; without it, only print what would be erased
    #[arg(long)]
    pub(crate) yes: bool,
}
