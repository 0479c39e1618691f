//! `ken hub backup`, `restore` and `drill`.

use std::path::PathBuf;

use clap::Args;

/// Text below the options of `ken hub backup --help`.
const BACKUP_HELP: &str = "\
Examples:
  ken hub backup /backup/ken-2026-11-18.backup
  ken hub backup - | age -r RECIPIENT > ken.backup.age

The backup is one snapshot; hubs keep serving. The role must see every row: a superuser, or a role
with BYPASSRLS that is a member of pg_read_all_data. The file contains everything that was stored,
also hashes of tokens: protect it as you protect the database.";

/// `ken hub backup`.
#[derive(Debug, Args)]
#[command(after_help = BACKUP_HELP)]
pub(crate) struct BackupArgs {
    /// New file, or `-` for standard output
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Text below the options of `ken hub restore --help`.
const RESTORE_HELP: &str = "\
Example:
  ken hub restore ken.backup --verify

The database must be new and empty. A restore that fails changes nothing in it. Checksums of the file
are always verified. `--verify` also folds every workspace and compares events and entries with those
of the backup; without it, each workspace is folded at its first read. Run `ken hub accept-restore`
before you start a hub.";

/// `ken hub restore`.
#[derive(Debug, Args)]
#[command(after_help = RESTORE_HELP)]
pub(crate) struct RestoreArgs {
    /// File that `ken hub backup` wrote, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Fold every workspace, and compare the number of events, their checksum and the folded state
    #[arg(long)]
    pub(crate) verify: bool,
}

/// Text below the options of `ken hub drill --help`.
const DRILL_HELP: &str = "\
Example:
  ken hub drill ken.backup --database postgres://postgres@drill.example.org/postgres

Creates a database on the server of the URL, restores and verifies the backup there, prints the
recovery time and the last acknowledged event, and deletes the database. Exit code 1 if the restored
data differs from the backup.";

/// `ken hub drill`.
#[derive(Debug, Args)]
#[command(after_help = DRILL_HELP)]
pub(crate) struct DrillArgs {
    /// File that `ken hub backup` wrote, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
