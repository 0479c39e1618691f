//! Transcripts of coding agents on this machine that belong to one repository.
//!
//! - Claude Code: `projects/FOLDER/SESSION.jsonl`, where FOLDER is the working directory with `-`
//!   for every other character.
//! - Codex: `sessions/YYYY/MM/DD/*.jsonl` and `archived_sessions/*.jsonl`.
//! - Gemini CLI: `tmp/PROJECT/chats/session-*.json` and `.jsonl`. The file `.project_root` beside
//!   `chats` names the directory, or PROJECT is its SHA-256.
//! - opencode: `opencode.db`, or one JSON file per session, message and part below `storage`.
//!
//! A transcript belongs to the repository if its working directory is in one of the repository's
//! work trees, and in no repository inside of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ken_digest::transcript::TranscriptAgent;
use ken_index::conversations::opencode::{OpencodeDatabase, OpencodeSession};
use ken_ledger::LedgerLocation;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::ConversationHome;

/// Maximum number of files listed per agent.
const FILES_MAX: usize = 20_000;

/// Maximum depth of the folders with Codex sessions.
const DEPTH_MAX: usize = 4;

/// Characters of a working directory that Claude Code keeps in the name of a folder.
const CLAUDE_NAME_MAX: usize = 180;

/// A transcript on disk.
#[derive(Clone, Debug)]
pub(super) struct FoundTranscript {
    pub(super) agent: TranscriptAgent,
    /// Identifies the transcript in the index.
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) modified_ns: i64,
    /// The working directory, if it is known without reading the transcript.
    pub(super) folder: Option<String>,
    pub(super) content: TranscriptContent,
}

/// Where the content of a transcript is.
#[derive(Clone, Debug)]
pub(super) enum TranscriptContent {
    /// A file.
    File(PathBuf),
    /// A session in a database of opencode.
    Database(PathBuf, OpencodeSession),
    /// A session of opencode in many files below this folder.
    Storage { folder: PathBuf, session: String },
}

/// The work trees of a repository.
#[derive(Clone, Debug)]
pub(super) struct WorkTrees(Vec<PathBuf>);

impl WorkTrees {
    /// Returns the work trees of the repository, as git lists them in its own folder.
    pub(super) fn of(place: &LedgerLocation) -> Self {
        let mut roots = vec![place.root.clone()];
        if let Some(dirs) = &place.git {
            if dirs.common_dir.file_name().is_some_and(|it| it == ".git") {
                roots.extend(dirs.common_dir.parent().map(Path::to_owned));
            }
            let others = fs::read_dir(dirs.common_dir.join("worktrees"));
            for other in others.into_iter().flatten().flatten() {
                // The file names the `.git` file of the work tree.
                let pointer = fs::read_to_string(other.path().join("gitdir")).ok();
                let root = pointer.and_then(|it| Some(Path::new(it.trim()).parent()?.to_owned()));
                roots.extend(root.filter(|it| it.is_absolute()));
            }
        }
        let real: Vec<PathBuf> = roots.iter().flat_map(fs::canonicalize).collect();
        roots.extend(real);
        roots.sort();
        roots.dedup();
        Self(roots)
    }

    /// Returns whether `folder` is in a work tree, and in no repository inside of it.
    pub(super) fn contain(&self, folder: &str) -> bool {
        let folder = Path::new(folder);
        self.0.iter().any(|root| {
            let inside = folder.ancestors().take_while(|it| it != root);
            folder.starts_with(root) && !inside.into_iter().any(|it| it.join(".git").exists())
        })
    }
}

/// Returns the transcripts that may belong to the repository, newest first.
pub(super) fn find_transcripts(home: &ConversationHome, trees: &WorkTrees) -> Vec<FoundTranscript> {
    let mut found = Vec::new();
    if let Some(claude) = &home.claude {
        find_claude(&claude.join("projects"), trees, &mut found);
    }
    if let Some(codex) = &home.codex {
        for folder in ["sessions", "archived_sessions"] {
            let files = list_files(&codex.join(folder), DEPTH_MAX, &["jsonl"]);
            found.extend(
                files
                    .into_iter()
                    .filter_map(|it| file(TranscriptAgent::Codex, it)),
            );
        }
    }
    if let Some(gemini) = &home.gemini {
        find_gemini(&gemini.join("tmp"), trees, &mut found);
    }
    if let Some(opencode) = &home.opencode {
        find_opencode(opencode, trees, &mut found);
    }
    found.sort_by(|a, b| (b.modified_ns, &a.name).cmp(&(a.modified_ns, &b.name)));
    found
}

/// Returns the agents with the number of their transcripts; those of Codex may belong to other
/// repositories.
pub(super) fn count_by_agent(
    home: &ConversationHome,
    place: &LedgerLocation,
) -> Vec<(&'static str, usize)> {
    let found = find_transcripts(home, &WorkTrees::of(place));
    let agents = [
        TranscriptAgent::ClaudeCode,
        TranscriptAgent::Codex,
        TranscriptAgent::GeminiCli,
        TranscriptAgent::OpenCode,
    ];
    let count = |agent| found.iter().filter(|it| it.agent == agent).count();
    let counts = agents.map(|agent| (agent.name(), count(agent)));
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Returns a file as a transcript.
fn file(agent: TranscriptAgent, path: PathBuf) -> Option<FoundTranscript> {
    let metadata = fs::metadata(&path).ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(FoundTranscript {
        agent,
        name: path.to_str()?.to_owned(),
        size: metadata.len(),
        modified_ns: i64::try_from(modified.as_nanos()).unwrap_or(i64::MAX),
        folder: None,
        content: TranscriptContent::File(path),
    })
}

fn find_claude(projects: &Path, trees: &WorkTrees, found: &mut Vec<FoundTranscript>) {
    let names: Vec<String> = trees.0.iter().map(|it| claude_name(it)).collect();
    for project in list_folders(projects) {
        let name = project.file_name().and_then(|it| it.to_str());
        // A folder below a work tree has a longer name; the transcripts tell the real folder.
        if name.is_some_and(|name| names.iter().any(|it| name.starts_with(it.as_str()))) {
            let files = list_files(&project, 1, &["jsonl"]);
            let files = files.into_iter();
            found.extend(files.filter_map(|it| file(TranscriptAgent::ClaudeCode, it)));
        }
    }
}

/// Returns the name of Claude Code's folder for a working directory, or its start.
fn claude_name(folder: &Path) -> String {
    let text = folder.to_string_lossy();
    let chars = text.chars().take(CLAUDE_NAME_MAX);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    chars.map(plain).collect()
}

fn find_gemini(projects: &Path, trees: &WorkTrees, found: &mut Vec<FoundTranscript>) {
    for project in list_folders(projects) {
        let named = fs::read_to_string(project.join(".project_root"));
        let named = named.ok().map(|it| it.trim().to_owned());
        let folder = named.or_else(|| {
            let name = project.file_name()?.to_str()?;
            let root = trees.0.iter().find(|it| sha256_hex(it) == name)?;
            Some(root.to_str()?.to_owned())
        });
        let Some(folder) = folder.filter(|it| trees.contain(it)) else {
            continue;
        };
        // Folders below belong to subagents.
        for path in list_files(&project.join("chats"), 1, &["json", "jsonl"]) {
            let transcript = file(TranscriptAgent::GeminiCli, path);
            found.extend(transcript.map(|it| FoundTranscript {
                folder: Some(folder.clone()),
                ..it
            }));
        }
    }
}

fn sha256_hex(path: &Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    digest.iter().map(|it| format!("{it:02x}")).collect()
}

fn find_opencode(data: &Path, trees: &WorkTrees, found: &mut Vec<FoundTranscript>) {
    let databases = list_files(data, 1, &["db"]);
    for path in databases {
        // A database that cannot be read, as that of a newer version, has no transcripts for us.
        let sessions = OpencodeDatabase::open(&path).and_then(|it| it.sessions());
        for session in sessions.into_iter().flatten() {
            if trees.contain(&session.folder) {
                found.push(FoundTranscript {
                    agent: TranscriptAgent::OpenCode,
                    name: format!("{}#{}", path.display(), session.id),
                    size: 0,
                    modified_ns: session.updated.saturating_mul(1_000_000),
                    folder: Some(session.folder.clone()),
                    content: TranscriptContent::Database(path.clone(), session),
                });
            }
        }
    }
    let storage = data.join("storage");
    for path in list_files(&storage.join("session"), 2, &["json"]) {
        let Some(info) = read_json(&path) else {
            continue;
        };
        let (id, folder) = (info["id"].as_str(), info["directory"].as_str());
        let (Some(id), Some(folder)) = (id, folder) else {
            continue;
        };
        // Versions with a database leave the older files behind.
        let known = format!("#{id}");
        if trees.contain(folder)
            && !found.iter().any(|it| it.name.ends_with(&known))
            && let Some(it) = file(TranscriptAgent::OpenCode, path)
        {
            found.push(FoundTranscript {
                folder: Some(folder.to_owned()),
                content: TranscriptContent::Storage {
                    folder: storage.clone(),
                    session: id.to_owned(),
                },
                ..it
            });
        }
    }
}

/// Returns a session of opencode that is stored in many files as one document.
pub(super) fn storage_document(folder: &Path, transcript: &FoundTranscript, id: &str) -> String {
    let mut messages: Vec<Value> = Vec::new();
    for path in list_files(&folder.join("message").join(id), 1, &["json"]) {
        let Some(info) = read_json(&path) else {
            continue;
        };
        let parts = info["id"].as_str().map(|it| folder.join("part").join(it));
        let parts = parts.map(|it| list_files(&it, 1, &["json"]));
        let parts = parts.unwrap_or_default().into_iter();
        let parts: Vec<Value> = parts.filter_map(|it| read_json(&it)).collect();
        messages.push(json!({"info": info, "parts": parts}));
    }
    messages.sort_by_key(|it| it["info"]["time"]["created"].as_u64());
    let info = json!({"id": id, "directory": transcript.folder});
    json!({"info": info, "messages": messages}).to_string()
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn list_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir()));
    folders.map(|it| it.path()).take(FILES_MAX).collect()
}

/// Returns the files with one of `extensions`, down to `depth` folders, in order. Links are not
/// followed.
fn list_files(folder: &Path, depth: usize, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![(folder.to_owned(), depth)];
    while let Some((folder, depth)) = waiting.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            let extension = path.extension().and_then(|it| it.to_str());
            if kind.is_dir() && depth > 1 {
                waiting.push((path, depth - 1));
            } else if kind.is_file() && extension.is_some_and(|it| extensions.contains(&it)) {
                found.push(path);
            }
            if found.len() >= FILES_MAX {
                return found;
            }
        }
    }
    // As bytes: comparing thousands of paths part by part takes longer than listing them.
    found.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    found
}
