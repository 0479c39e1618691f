//! Arguments of the commands that write or read one entry.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ken_core::anchor::Target;
use ken_core::citation::Evidence;
use ken_core::content::{DecayClass, Polarity, Scope};
use ken_core::event::{Overlay, Relation, RetractReason};
use ken_core::kind::{Kind, Memory};
use ken_core::status::Status;
use ken_core::text::{Alias, Condition, Tag};
use ken_core::time::Date;

use super::words;

pub(super) const ADD_EXAMPLES: &str = "\
Examples:
  Add a lesson that points at code:
    ken add --kind learning --statement \"Charging twice is safe: the key is idempotent\" \\
        --anchor src/pay.rs#charge --verify \"cargo test pay\" --cite commit:3fce3b5 --tag payments

  Add what somebody found out in a review:
    ken add --kind anti-pattern --statement \"Never log the session cookie\" \\
        --cite pr:142 --lens security --polarity negative

  Add many at once, one JSON object a line:
    ken add --from-jsonl lessons.jsonl

  Add a norm the way knowledge stores spell it:
    ken knowledge add --type procedural --norm-type commit --evidence 3fce3b5 \\
        --content '{\"id\":\"norm.commit.001\",\"rule\":\"Use conventional commits\"}'

A statement is one to three sentences that hold beyond the case at hand. Every entry of the
semantic and procedural memory cites at least one commit, pr, doc, test or transcript.";

/// `ken add`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("input").args(["statement", "content", "from_jsonl"]).required(true))]
pub(crate) struct AddArgs {
    /// What kind of knowledge it is
    #[arg(long, value_name = "KIND", value_parser = words::kind(), conflicts_with = "from_jsonl")]
    pub(crate) kind: Option<Kind>,
    #[command(flatten)]
    pub(crate) wording: WordingArgs,
    /// What it rests on: commit:HASH, pr:NUMBER, doc:PATH, test:NAME or transcript:HASH
    #[arg(long, value_name = "TYPE:REF", conflicts_with = "from_jsonl")]
    pub(crate) cite: Vec<Evidence>,
    /// How far it reaches
    #[arg(long, value_name = "SCOPE", value_parser = words::word::<Scope>(&["thread", "workspace", "global"]))]
    pub(crate) scope: Option<Scope>,
    /// The thread it belongs to
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<Tag>,
    /// A name of your own that finds the entry as its id does
    #[arg(long, value_name = "NAME", conflicts_with = "from_jsonl")]
    pub(crate) alias: Option<Alias>,
    /// A retracted entry this one may repeat; only a person may say so
    #[arg(long = "override", value_name = "ID")]
    pub(crate) overrides: Option<String>,
    /// Add one entry a line from FILE, `-` for standard input; 100 are made durable at a time
    #[arg(long, value_name = "FILE")]
    pub(crate) from_jsonl: Option<PathBuf>,
    /// The memory the content belongs to: semantic or procedural
    #[arg(
        long = "type",
        value_name = "MEMORY",
        help_heading = "The form of knowledge stores"
    )]
    pub(crate) memory: Option<Memory>,
    /// The kind of norm the content is
    #[arg(
        long,
        value_name = "NORM",
        help_heading = "The form of knowledge stores"
    )]
    pub(crate) norm_type: Option<NormType>,
    /// What the content rests on: TYPE:REF, or a commit
    #[arg(
        long,
        value_name = "REF",
        help_heading = "The form of knowledge stores"
    )]
    pub(crate) evidence: Vec<String>,
    /// The entry as JSON: id, type, name, description, rule, provenance, …
    #[arg(
        long,
        value_name = "JSON",
        help_heading = "The form of knowledge stores"
    )]
    pub(crate) content: Option<String>,
}

/// Fields of an entry that people word.
#[derive(Debug, Args)]
pub(crate) struct WordingArgs {
    /// The claim: one to three sentences that hold beyond the case at hand
    #[arg(long, value_name = "TEXT")]
    pub(crate) statement: Option<String>,
    /// The code it is about, from the repository's root: PATH, PATH#SYMBOL or PATH:FIRST-LAST
    #[arg(long, value_name = "ANCHOR")]
    pub(crate) anchor: Vec<Target>,
    /// A step that shows whether it still holds; at most three
    #[arg(long, value_name = "STEP")]
    pub(crate) verify: Vec<String>,
    /// A tag, such as auth/jwt
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<Tag>,
    /// A condition it rests on, such as file:GLOB or `not fact:NAME`
    #[arg(long, value_name = "COND")]
    pub(crate) depends_on: Vec<Condition>,
    /// A reviewer's point of view: security, correctness, performance, …
    #[arg(long, value_name = "LENS")]
    pub(crate) lens: Option<Tag>,
    /// Whether it speaks for or against what it describes
    #[arg(long, value_name = "POLARITY", value_parser = words::word::<Polarity>(&["positive", "negative"]))]
    pub(crate) polarity: Option<Polarity>,
    /// How fast evidence about it loses weight
    #[arg(long, value_name = "CLASS", value_parser = words::word::<DecayClass>(&["ephemeral", "stable", "permanent"]))]
    pub(crate) decay: Option<DecayClass>,
    /// What only this kind has, as JSON: a spike's question, answer and confidence, an entity's
    /// name, a relationship's from, rel and to
    #[arg(long, value_name = "JSON")]
    pub(crate) detail: Option<String>,
}

/// The norms of the procedural memory, as knowledge stores name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NormType {
    Commit,
    Pr,
    Expectation,
    Risk,
}

impl NormType {
    /// Returns the kind of such a norm.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Commit => Kind::CommitNorm,
            Self::Pr => Kind::PrExpectation,
            Self::Expectation => Kind::UserExpectation,
            Self::Risk => Kind::RiskTier,
        }
    }
}

/// `ken show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) which: IdArgs,
    /// Show also what is believed of it and why: confirmations, outcomes, what it is worth
    #[arg(long)]
    pub(crate) explain: bool,
}

/// A command about one entry.
#[derive(Debug, Args)]
pub(crate) struct IdArgs {
    /// The entry: any unambiguous beginning of its id, or its alias
    pub(crate) id: String,
}

/// A command about one entry that may say why.
#[derive(Debug, Args)]
pub(crate) struct NoteArgs {
    /// The entry: any unambiguous beginning of its id, or its alias
    pub(crate) id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

/// `ken revise`.
#[derive(Debug, Args)]
pub(crate) struct ReviseArgs {
    /// The entry: any unambiguous beginning of its id, or its alias
    pub(crate) id: String,
    /// Lists (anchor, verify, tag, depends-on) replace the old list.
    #[command(flatten)]
    pub(crate) wording: WordingArgs,
    /// A field to empty
    #[arg(long, value_name = "FIELD")]
    pub(crate) clear: Vec<Field>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

/// Fields that may be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Field {
    Anchor,
    Verify,
    Tag,
    DependsOn,
    Lens,
    Polarity,
}

/// `ken cite`.
#[derive(Debug, Args)]
pub(crate) struct CiteArgs {
    /// The entry: any unambiguous beginning of its id, or its alias
    pub(crate) id: String,
    /// commit:HASH, pr:NUMBER, doc:PATH, test:NAME or transcript:HASH
    #[arg(value_name = "TYPE:REF", required = true)]
    pub(crate) evidence: Vec<Evidence>,
}

/// `ken confirm`.
#[derive(Debug, Args)]
pub(crate) struct ConfirmArgs {
    /// The entry: any unambiguous beginning of its id, or its alias
    pub(crate) id: String,
    /// The day it was found to hold [default: today]
    #[arg(long, value_name = "DATE")]
    pub(crate) on: Option<Date>,
}

/// `ken retract`.
#[derive(Debug, Args)]
pub(crate) struct RetractArgs {
    /// The entry: any unambiguous beginning of its id, or its alias
    pub(crate) id: String,
    /// Why; after `false` and `unwanted` the same claim is refused when it comes again
    #[arg(
        long,
        value_name = "REASON",
        default_value = "unwanted",
        value_parser = words::word::<RetractReason>(&["false", "unwanted", "duplicate", "obsolete", "withdrawn"]),
    )]
    pub(crate) reason: RetractReason,
    /// A word to whoever reads the history
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

/// `ken archive`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").args(["id", "older_than", "thread"]).required(true))]
pub(crate) struct ArchiveArgs {
    /// The entry: any unambiguous beginning of its id, or its alias
    pub(crate) id: Option<String>,
    /// Every entry that nobody confirmed for more than this many days
    #[arg(long, value_name = "DAYS")]
    pub(crate) older_than: Option<u32>,
    /// Every entry of this thread that reaches no further than it
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<Tag>,
}

/// `ken link`.
#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// The entry that links
    pub(crate) from: String,
    /// The entry it links to
    pub(crate) to: String,
    /// How the first stands to the second
    #[arg(
        long,
        value_name = "RELATION",
        default_value = "relates-to",
        value_parser = words::word::<Relation>(
            &["relates-to", "depends-on", "derived-from", "contradicts", "refines", "supersedes"]
        ),
    )]
    pub(crate) rel: Relation,
}

/// `ken mark`.
#[derive(Debug, Args)]
pub(crate) struct MarkArgs {
    /// The entry: any unambiguous beginning of its id, or its alias
    pub(crate) id: String,
    /// pin raises it, mute and invalidate keep it out of answers, annotate adds a note
    #[arg(value_name = "MARK", value_parser = words::word::<Overlay>(&["pin", "mute", "invalidate", "annotate"]))]
    pub(crate) mark: Overlay,
    /// Take the mark away
    #[arg(long)]
    pub(crate) off: bool,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

/// `ken status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The entry: any unambiguous beginning of its id, or its alias
    pub(crate) id: String,
    /// Where it goes; only a person may call something verified
    #[arg(value_name = "TO", value_parser = words::status())]
    pub(crate) to: Status,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}
