//! Federation: knowledge that organizations publish to each other without trusting each other.
//!
//! A *publication* is a log with one writer: batches of event lines and orders, each signed and
//! chained to the batch before. A receiver keeps it apart from its own ledger, in a replica.
//!
//! Invariants, each a property test in `tests/federation`:
//!
//! - Only the publisher's own bytes are accepted, and nobody else's under its name.
//! - An order (redaction or withdrawal) is applied before any line, in every state of a peer, and
//!   is never forgotten.
//! - A wording is an entry of its own, so an approval cannot cover a later wording.
//! - Trust only lowers the score of a hit. It admits nothing.
//!
//! Nothing here signs or verifies: the caller passes the result of a verification in.

mod accepted_lines;
pub mod competing;
pub mod decision;
pub mod export;
pub mod foreign_source;
pub mod line;
pub mod manifest;
pub mod publisher;
pub mod replica;
pub mod standing;
pub mod trust;

pub use accepted_lines::LineRecord;
pub use competing::{CompetingHypotheses, HypothesisGrounds, Preference, compare_hypotheses};
pub use decision::{DECISIONS_MAX, RejectReason};
pub use export::{
    BlockedExport, ExportArtifact, ExportBarrier, ExportPolicy, export_barrier, exported_content,
};
pub use foreign_source::ForeignSource;
pub use line::{LineRefusal, check_published_line};
pub use manifest::{
    LogPlace, ManifestRow, PublicationBatch, PublicationManifest, PublisherId, SignedManifest,
};
pub use publisher::{
    ExportedWording, PlannedBatch, PublicationInput, PublicationPlan, PublicationSecret,
    PublicationUpdate, plan_batches,
};
pub use replica::{
    BatchEffects, BatchRejection, Freshness, PublicationFork, PublicationReplica, SignatureCheck,
};
pub use standing::{PeerPullReport, PullVerdict, Strikes};
pub use trust::{PeerTrust, WEIGHT_MAX, foreign_weight};

/// Maximum number of rows per batch.
pub const BATCH_ROWS_MAX: usize = 500;

/// Maximum bytes of a batch, with its lines and signature.
pub const BATCH_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Maximum bytes of a published line.
pub const PUBLISHED_LINE_BYTES_MAX: usize = 8 * 1024;

/// Maximum number of lines accepted from one publication per day. Orders are exempt.
pub const LINES_PER_DAY_MAX: u32 = 5_000;

/// Maximum number of lines of a publication at a receiver.
pub const PUBLISHED_LINES_MAX: usize = 50_000;

/// Maximum number of orders remembered per publication. Beyond it, the publication is suspended.
pub const ORDERS_MAX: usize = 100_000;

/// Maximum time in milliseconds that a batch may be ahead of the receiver's clock.
pub const CLOCK_AHEAD_MAX_MS: u64 = 10 * 60 * 1000;

/// Maximum validity of a head in days.
pub const EXPIRY_DAYS_MAX: u16 = 30;

/// Days after its expiry in which an unrenewed publication is still shown.
pub const GRACE_DAYS: u16 = 30;

/// Maximum number of hops between a publisher and a receiver.
pub const HOPS_MAX: u8 = 3;
