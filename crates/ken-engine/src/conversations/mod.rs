//! Conversations with coding agents and the commit history: a private lower tier of search.
//!
//! The index stands in the user's own folder, one per clone, never below a work tree. Transcripts
//! are read only after the user allowed it for this clone; the permission is in the same folder, so
//! a repository cannot grant it. Secrets are removed before anything is written, text that
//! addresses a model is left out, and nothing of the tier enters an event, an export or a request
//! to a hub. Commit messages need no permission: they are in the repository already.

mod commits;
mod transcripts;
mod update;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ken_core::retrieval::unrecorded::{
    COMMIT_HITS_MAX, CONVERSATION_HITS_MAX, UnrecordedHit, UnrecordedKind, UnrecordedWeights,
    matching_lines,
};
use ken_core::values::time::Timestamp;
use ken_index::conversations::{
    CommitMatch, ConversationIndex, ConversationMatch, ConversationTotals, UnrecordedQuery,
};
use ken_index::{Backend, Embedder};
use ken_ledger::{DiskError, LedgerLocation, restrict_to_owner};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::git::COMMIT_CHARS;

pub use update::IndexProgress;

/// Time that a search spends on transcripts and commits that are new; the rest follows later.
pub const SEARCH_UPDATE_MS: u64 = 200;

/// Start of an exchange's id; some digits of its digest follow.
pub const EXCHANGE_PREFIX: &str = "x-";

/// Number of digits of an exchange's id.
const EXCHANGE_ID_DIGITS: usize = 10;

/// Number of digits of a commit's id in a hit.
const SHORT_COMMIT_CHARS: usize = 7;

const INDEX_FILE: &str = "conversations.db";
const PERMISSION_FILE: &str = "allowed";

/// Number of hexadecimal digits in the name of a clone's folder.
const CLONE_DIGITS: usize = 32;

/// Folders of the user: Ken's own, and those of the agents.
#[derive(Clone, Debug, Default)]
pub struct ConversationHome {
    /// Folder with one folder per clone.
    pub data: PathBuf,
    /// `~/.claude`.
    pub claude: Option<PathBuf>,
    /// `~/.codex`.
    pub codex: Option<PathBuf>,
    /// `~/.gemini`.
    pub gemini: Option<PathBuf>,
    /// `~/.local/share/opencode`.
    pub opencode: Option<PathBuf>,
}

/// State of the index for one clone.
#[derive(Clone, Debug)]
pub struct ConversationStatus {
    /// When the user allowed Ken to read transcripts; `None` if they did not.
    pub allowed: Option<Timestamp>,
    /// Folder of the index and the permission.
    pub folder: PathBuf,
    pub totals: ConversationTotals,
    /// Agents with the number of their transcripts of this repository that are on disk.
    pub transcripts: Vec<(&'static str, usize)>,
}

impl ConversationHome {
    /// Returns the folder of a clone, shared by its worktrees.
    pub fn folder(&self, place: &LedgerLocation) -> PathBuf {
        let own = place.git.as_ref().map_or(&place.root, |it| &it.common_dir);
        let own = fs::canonicalize(own).unwrap_or_else(|_| own.clone());
        let digest = blake3::hash(own.as_os_str().as_encoded_bytes());
        self.data.join(&digest.to_hex()[..CLONE_DIGITS])
    }
}

/// Returns when the user allowed Ken to read transcripts of this clone.
fn permission(folder: &Path) -> Option<Timestamp> {
    let text = fs::read_to_string(folder.join(PERMISSION_FILE)).ok()?;
    text.lines().next()?.parse().ok()
}

/// Returns the state of the index. Without permission no transcript is looked at.
pub(crate) fn conversation_status(
    engine: &Engine,
    home: &ConversationHome,
) -> Result<ConversationStatus, EngineError> {
    let folder = home.folder(&engine.place);
    let index = ConversationIndex::open_existing(&folder.join(INDEX_FILE))?;
    let totals = index.map(|it| it.totals()).transpose()?.unwrap_or_default();
    let allowed = permission(&folder);
    let transcripts = if allowed.is_some() {
        transcripts::count_by_agent(home, &engine.place)
    } else {
        Vec::new()
    };
    Ok(ConversationStatus {
        allowed,
        folder,
        totals,
        transcripts,
    })
}

/// Allows Ken to read the transcripts of this clone and indexes all of them.
pub(crate) fn allow_conversations(
    engine: &mut Engine,
    home: &ConversationHome,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<IndexProgress, EngineError> {
    let folder = home.folder(&engine.place);
    create_private_folder(&folder)?;
    let path = folder.join(PERMISSION_FILE);
    if permission(&folder).is_none() {
        let text = format!("{}\n{}\n", engine.now(), engine.place.root.display());
        write_private(&path, &text).map_err(|source| on(&path, "write", source))?;
    }
    let mut index = ConversationIndex::open(&folder.join(INDEX_FILE))?;
    update::update_index(engine, home, &mut index, None, progress)
}

/// Withdraws the permission and deletes the index. Returns whether there was anything to delete.
pub(crate) fn delete_conversations(
    engine: &Engine,
    home: &ConversationHome,
) -> Result<bool, EngineError> {
    let folder = home.folder(&engine.place);
    match fs::remove_dir_all(&folder) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(on(&folder, "remove", source)),
    }
}

/// Deletes the index and keeps the permission: the next search builds it again from what the
/// transcripts and commits still contain. Returns whether there was an index.
pub(crate) fn delete_index(engine: &Engine, home: &ConversationHome) -> Result<bool, EngineError> {
    let folder = home.folder(&engine.place);
    let mut is_deleted = false;
    // SQLite keeps recent pages in files of its own beside the database.
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let path = folder.join(format!("{INDEX_FILE}{suffix}"));
        match fs::remove_file(&path) {
            Ok(()) => is_deleted = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(on(&path, "remove", source)),
        }
    }
    Ok(is_deleted)
}

/// Brings the index up to date within a bounded time, and searches it.
pub(crate) fn search_unrecorded(
    engine: &Engine,
    home: &ConversationHome,
    query: &str,
) -> Result<Vec<UnrecordedHit>, EngineError> {
    if query.trim().is_empty() {
        return Ok(Vec::new());
    }
    let folder = home.folder(&engine.place);
    create_private_folder(&folder)?;
    let mut index = ConversationIndex::open(&folder.join(INDEX_FILE))?;
    let deadline = Instant::now() + Duration::from_millis(SEARCH_UPDATE_MS);
    update::update_index(engine, home, &mut index, Some(deadline), &mut |_, _| ())?;
    let embedder = Backend::Static.built_in();
    find_hits(&index, query, embedder.as_deref())
}

fn find_hits(
    index: &ConversationIndex,
    query: &str,
    embedder: Option<&dyn Embedder>,
) -> Result<Vec<UnrecordedHit>, EngineError> {
    let within = |limit| UnrecordedQuery {
        text: query,
        embedder,
        limit,
        weights: UnrecordedWeights::default(),
    };
    let said = index.find_conversations(&within(CONVERSATION_HITS_MAX))?;
    let committed = index.find_commits(&within(COMMIT_HITS_MAX))?;
    let said = said.into_iter().map(|it| conversation_hit(it, query));
    let committed = committed.iter().map(|it| commit_hit(it, query));
    Ok(said.chain(committed).collect())
}

fn conversation_hit(found: ConversationMatch, query: &str) -> UnrecordedHit {
    let label = |name: &str, text: &str| -> String {
        let lines = text.lines().filter(|it| !it.trim().is_empty());
        lines.map(|it| format!("{name}: {}\n", it.trim())).collect()
    };
    let text = label("person", &found.asked) + &label("agent", &found.answered);
    UnrecordedHit {
        kind: UnrecordedKind::Conversation,
        reference: format!("{EXCHANGE_PREFIX}{}", &found.digest[..EXCHANGE_ID_DIGITS]),
        agent: Some(found.agent),
        date: found.at.date(),
        cite: format!("transcript:{}", found.digest),
        lines: matching_lines(&text, query),
        score: found.score,
        coverage: found.coverage,
    }
}

fn commit_hit(found: &CommitMatch, query: &str) -> UnrecordedHit {
    let start = |chars: usize| found.id.chars().take(chars).collect::<String>();
    // The subject says what the commit did, whatever the query asks for.
    let subject = found.message.lines().next().unwrap_or_default().to_owned();
    let mut lines = matching_lines(&found.message, query);
    if lines.first() != Some(&subject) {
        lines.insert(0, subject);
        lines.truncate(lines.len().saturating_sub(1).max(1));
    }
    UnrecordedHit {
        kind: found.kind,
        reference: start(SHORT_COMMIT_CHARS),
        agent: None,
        date: found.at.date(),
        cite: format!("commit:{}", start(COMMIT_CHARS)),
        lines,
        score: found.score,
        coverage: found.coverage,
    }
}

/// Returns the citation of the exchange whose id starts with `name`.
pub(crate) fn cite_exchange(
    engine: &Engine,
    home: &ConversationHome,
    name: &str,
) -> Result<String, EngineError> {
    let digits = name.strip_prefix(EXCHANGE_PREFIX).unwrap_or(name);
    let path = home.folder(&engine.place).join(INDEX_FILE);
    let is_name = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
    let index = ConversationIndex::open_existing(&path)?.filter(|_| is_name);
    let found = match index {
        Some(index) => index.exchanges_named(&digits.to_ascii_lowercase())?,
        None => Vec::new(),
    };
    match found.as_slice() {
        [digest] => Ok(format!("transcript:{digest}")),
        [] => Err(EngineError::Usage(format!(
            "no exchange has an id that starts with `{name}`; `ken search` shows the ids"
        ))),
        [_, ..] => Err(EngineError::Usage(format!(
            "`{name}` is ambiguous: several exchanges start with it"
        ))),
    }
}

fn on(path: &Path, action: &'static str, source: io::Error) -> EngineError {
    DiskError::on(action, &path.display().to_string())(source).into()
}

/// Creates a folder that only its owner can read.
fn create_private_folder(folder: &Path) -> Result<(), EngineError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let created = builder.create(folder);
    created.map_err(|source| on(folder, "create", source))
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    restrict_to_owner(&mut options)
        .open(path)?
        .write_all(text.as_bytes())
}
