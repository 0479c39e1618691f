//! `ken hub publication` and `ken hub peer`: what an organization publishes to others, and what it
//! receives from them.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ken_core::values::id::EntryId;

use crate::commands::remote::PolicyArgs;

/// `ken hub publication …`.
#[derive(Debug, Subcommand)]
pub(crate) enum HubPublicationCommand {
    /// Create a publication: its key, its audience and what may leave; people only
    Create(Box<CreatePublicationArgs>),
    /// List the publications of an organization
    #[command(after_help = "Example:\n  ken hub publication list acme")]
    List {
        /// The organization
        organization: String,
    },
    /// Show what would leave, word for word, and what the policy keeps
    #[command(after_help = "Example:\n  ken hub publication review acme partners")]
    Review(HubPublicationArgs),
    /// Approve the words of entries for a publication; people only
    #[command(
        after_help = "Example:\n  KEN_ACTOR=human:ada@example.org ken hub publication allow acme partners L-7k2f5qm3"
    )]
    Allow {
        #[command(flatten)]
        which: HubPublicationArgs,
        /// Ids of the entries
        #[arg(required = true, value_name = "ID")]
        ids: Vec<EntryId>,
    },
    /// Sign and publish what is new, withdrawn or redacted; run it daily, such as from a timer
    #[command(
        after_help = "Example:\n  ken hub publication update acme partners --key ~/.ssh/ken-publisher"
    )]
    Update(SignedPublicationArgs),
    /// Take back everything, and publish nothing anymore; people only
    #[command(
        after_help = "Example:\n  ken hub publication close acme partners --key ~/.ssh/ken-publisher"
    )]
    Close(SignedPublicationArgs),
}

/// Arguments that name a publication.
#[derive(Debug, Args)]
pub(crate) struct HubPublicationArgs {
    /// The organization
    pub(crate) organization: String,
    /// Name of the publication
    pub(crate) publication: String,
}

/// Arguments of a command that signs.
#[derive(Debug, Args)]
pub(crate) struct SignedPublicationArgs {
    #[command(flatten)]
    pub(crate) which: HubPublicationArgs,
    /// Ed25519 key of the publication; Ken remembers the last signed batch in a file beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
}

/// `ken hub publication create`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ssh-keygen -t ed25519 -f ~/.ssh/ken-publisher -C \"\" -N \"\"\n  KEN_ACTOR=human:ada@example.org ken hub publication create acme partners --key ~/.ssh/ken-publisher --topic rust --license CC-BY-4.0"
)]
pub(crate) struct CreatePublicationArgs {
    #[command(flatten)]
    pub(crate) which: HubPublicationArgs,
    /// Ed25519 key that signs; `ssh-keygen` uses it, and Ken never reads the private part
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// Who may read it: everybody (public), or tokens with the role peer (peers)
    #[arg(long, value_name = "AUDIENCE", value_parser = ["public", "peers"], default_value = "peers")]
    pub(crate) audience: String,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
}

/// `ken hub peer …`.
#[derive(Debug, Subcommand)]
pub(crate) enum HubPeerCommand {
    /// Add a publication after you compared its key with the publisher; people only
    Add(HubAddPeerArgs),
    /// List peers with trust, weight and what waits
    #[command(after_help = "Example:\n  ken hub peer list acme")]
    List {
        /// The organization
        organization: String,
    },
    /// Show a peer
    #[command(after_help = "Example:\n  ken hub peer show acme beta")]
    Show(HubPeerArgs),
    /// Receive what peers published; new entries wait for a curator
    #[command(after_help = "Example:\n  ken hub peer pull acme")]
    Pull {
        /// The organization
        organization: String,
        /// Name of the peer [default: all]
        peer: Option<String>,
    },
    /// Limit the weight of a peer's entries; people only
    #[command(after_help = "Example:\n  ken hub peer limit acme beta 0.2")]
    Limit {
        #[command(flatten)]
        which: HubPeerArgs,
        /// Maximum weight from 0 to 0.5 [default: 0.5]
        max: Option<f64>,
    },
    /// Stop showing a peer's entries at once; orders are still applied
    #[command(after_help = "Example:\n  ken hub peer suspend acme beta")]
    Suspend(HubPeerArgs),
    /// End the suspension of a peer; people only
    #[command(after_help = "Example:\n  ken hub peer resume acme beta")]
    Resume(HubPeerArgs),
    /// Remove a peer with everything it sent
    #[command(after_help = "Example:\n  ken hub peer remove acme beta")]
    Remove(HubPeerArgs),
}

/// Arguments that name a peer.
#[derive(Debug, Args)]
pub(crate) struct HubPeerArgs {
    /// The organization
    pub(crate) organization: String,
    /// Name of the peer
    pub(crate) peer: String,
}

/// `ken hub peer add`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  KEN_ACTOR=human:ada@example.org ken hub peer add acme beta https://hub.beta.example/federation/v1/PUBLISHER/partners --key SHA256:6mPZ3q0Qw8Jc0D8nQe8Hh2jvYc1bQeVfUoS2f0mJr9k"
)]
pub(crate) struct HubAddPeerArgs {
    #[command(flatten)]
    pub(crate) which: HubPeerArgs,
    /// Folder or `https` address of the published files
    #[arg(value_name = "FOLDER|URL")]
    pub(crate) source: String,
    /// Fingerprint of the publisher's key, which you got by another way than the address
    #[arg(long, value_name = "SHA256:…")]
    pub(crate) key: String,
    /// Environment variable with the token for the address; its name begins with KEN_PEER_
    #[arg(long, value_name = "NAME")]
    pub(crate) token_variable: Option<String>,
    /// Hops from the publisher: 1 for its own files, 2 or 3 for a copy that others pass on
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) hops: u8,
    /// Maximum weight of its entries, from 0 to 0.5
    #[arg(long, value_name = "NUMBER")]
    pub(crate) limit: Option<f64>,
}
