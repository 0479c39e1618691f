//! References to files and folders that do not exist.
//!
//! A missing path is reported only with little doubt: git does not ignore it, and either the
//! history deleted it, or the text does not talk about creating it and its folder exists.

use std::collections::{BTreeMap, BTreeSet};

use ken_digest::MentionKind;
use ken_ledger::git::GitRunner;

use super::file_lookup::{FileLookup, join_path, parent_folder};
use super::history::{Deletion, History};
use super::{AuditFinding, AuditedClaim, AuditedReference, FindingKind};

/// Words of texts about files that are gone or made by a program, whatever the history says.
const GONE_WORDS: &[&str] = &[
    "removed",
    "deleted",
    "moved",
    "renamed",
    "formerly",
    "legacy",
    "old",
    "previously",
    "was",
    "were",
    "replaced",
    "replaces",
    "deprecated",
    "obsolete",
    "longer",
    "migrated",
    "create",
    "creates",
    "created",
    "creating",
    "generate",
    "generates",
    "generated",
    "generating",
    "produce",
    "produces",
    "output",
    "outputs",
    "emit",
    "emits",
    "download",
    "downloads",
    "ignored",
    "gitignored",
    "temporary",
    "exist",
    "exists",
];

/// Words of texts about files that need not exist, if the history does not know them.
const ABSENCE_WORDS: &[&str] = &[
    "write",
    "writes",
    "written",
    "save",
    "saves",
    "saved",
    "add",
    "adding",
    "adds",
    "new",
    "example",
    "examples",
    "e.g",
    "eg",
    "like",
    "named",
    "called",
    "name",
    "optional",
    "optionally",
    "if",
    "no",
    "not",
    "never",
    "don't",
    "copy",
    "copies",
    "would",
    "could",
    "might",
    "suppose",
    "imagine",
    "your",
    "their",
    "user's",
    "users",
    "without",
    "missing",
    "lack",
    "instead",
    "will",
];

/// Output directories of build tools.
const BUILD_DIRS: [&str; 16] = [
    "dist",
    "build",
    "out",
    "target",
    "node_modules",
    "coverage",
    ".venv",
    "venv",
    "__pycache__",
    ".next",
    "tmp",
    ".cache",
    "generated",
    "bin",
    "htmlcov",
    "site",
];

/// Parts of link paths that a code host resolves, not the repository.
const HOST_PATH_PARTS: [&str; 9] = [
    "blob",
    "tree",
    "issues",
    "labels",
    "pull",
    "pulls",
    "wiki",
    "discussions",
    "releases",
];

/// Stems of file names that occur in many folders.
const COMMON_STEMS: [&str; 7] = [
    "readme", "index", "mod", "__init__", "main", "lib", "conftest",
];

/// Programs that run a script given by its path.
const INTERPRETERS: [&str; 8] = [
    "python", "python3", "node", "bash", "sh", "ruby", "tsx", "deno",
];

/// Maximum number of paths that are asked for one by one.
const IGNORE_CALLS_MAX: usize = 200;

/// Reference to a path that is not in the repository.
struct MissingPath<'r> {
    reference: &'r AuditedReference,
    path: String,
    /// Whether the path is expected to exist even if the history does not know it.
    is_expected: bool,
}

/// Fills in the files that each claim cites and returns findings for missing files and folders.
pub(super) fn check(
    files: &FileLookup,
    history: &History,
    references: &[AuditedReference],
    claims: &mut [AuditedClaim],
) -> Vec<AuditFinding> {
    for claim in claims.iter_mut() {
        let folder = parent_folder(&claim.document).to_owned();
        let named = claim.found.mentions.iter().filter(|it| it.kind.is_path());
        let cites = named.filter_map(|it| files.resolve(&it.text, &folder));
        claim.cites.extend(cites);
    }
    let mut missing: Vec<MissingPath> = Vec::new();
    for reference in references {
        missing.extend(missing_paths(files, reference));
    }
    // A single `git check-ignore` for all paths: a process per path would be slow.
    let ignored = ignored_paths(history.git(), &missing);
    missing.retain(|it| !ignored.contains(&it.path));
    missing
        .iter()
        .filter_map(|it| {
            let folder = parent_folder(&it.reference.document);
            let deletions = history.find_deletions(files, &it.path, folder);
            (!deletions.is_empty() || it.is_expected).then(|| {
                let message = describe_missing(files, &it.path, &deletions);
                it.reference
                    .finding(FindingKind::DeadCitation, claims, &it.path, message)
            })
        })
        .collect()
}

/// Returns the paths of a reference that are neither in the repository nor said to be absent.
fn missing_paths<'r>(files: &FileLookup, reference: &'r AuditedReference) -> Vec<MissingPath<'r>> {
    let folder = parent_folder(&reference.document);
    let (text, context) = (&reference.found.text, &reference.found.context);
    let says = |words: &[&str]| {
        let mut all = prose_words(text).chain(prose_words(context));
        all.any(|word| words.contains(&word.as_str()))
    };
    let gone = says(GONE_WORDS) || names_other_repository(text);
    let absent = says(ABSENCE_WORDS);
    let mut found = Vec::new();
    for mention in &reference.found.mentions {
        let (paths, is_expected, is_link) = match mention.kind {
            MentionKind::Path => {
                let is_expected = !absent
                    && ken_digest::source_kind(&mention.text).is_none()
                    && is_expected(files, &mention.text, folder);
                (vec![mention.text.as_str()], is_expected, false)
            }
            // A link promises that its target exists, whatever the sentence around it says.
            MentionKind::Link => {
                let within = join_path(folder, &mention.text).is_some();
                (vec![mention.text.as_str()], within, true)
            }
            MentionKind::Command => {
                let paths = ken_digest::paths_in_command(&mention.text);
                let runs = |path: &&str| runs_script(&mention.text, path);
                let is_expected = !absent
                    && paths
                        .first()
                        .is_some_and(|path| runs(path) && has_parent_folder(files, path, folder));
                (paths, is_expected, false)
            }
            MentionKind::Symbol => continue,
        };
        for path in paths {
            let is_missing = files.resolve(path, folder).is_none()
                && !is_any(text, path)
                && !is_alternative(files, reference, path)
                && !has_placeholder(files, path, folder)
                && !is_below_file(files, path, folder)
                && !is_outside(path, is_link)
                && (is_link || !gone);
            if is_missing {
                found.push(MissingPath {
                    reference,
                    path: path.to_owned(),
                    is_expected,
                });
            }
        }
    }
    found
}

/// Returns true if a text talks about a repository other than this one.
fn names_other_repository(text: &str) -> bool {
    let words: Vec<String> = prose_words(text).collect();
    let is_repository =
        |word: &str| ["repo", "repository", "repos", "repositories"].contains(&word);
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).map_or("", |at| words[at].as_str());
        let is_own = ["this", "the", "our", "whole", "entire", "main"].contains(&before)
            || words.get(at + 1).is_some_and(|next| next == "root");
        is_repository(word) && !is_own
    })
}

/// Returns true if a text means any file of this name: "a `cmake/` folder in the path".
fn is_any(text: &str, path: &str) -> bool {
    let Some((before, _)) = text.split_once(&format!("`{path}`")) else {
        return false;
    };
    let word = before.trim_end().rsplit(char::is_whitespace).next();
    word.is_some_and(|word| {
        let word = word.trim_matches('*').to_lowercase();
        ["a", "an", "any", "each", "every", "some", "no", "your"].contains(&word.as_str())
    })
}

/// Returns true if a part of a path stands for others: `src/[name]/index.ts`, unless the folder
/// `src/[name]` exists.
fn has_placeholder(files: &FileLookup, path: &str, folder: &str) -> bool {
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let bracketed = parts.iter().rposition(|part| part.contains('['));
    bracketed.is_some_and(|at| files.resolve(&parts[..=at].join("/"), folder).is_none())
        || path.rsplit('/').next().is_some_and(|name| {
            let stem = name.split('.').next().unwrap_or(name);
            ["namespace", "filename", "file_name", "file-name"].contains(&stem)
        })
}

/// Returns true if a text names a path beside another one that exists: "`yarn.lock` or
/// `pnpm-lock.yaml`".
fn is_alternative(files: &FileLookup, reference: &AuditedReference, path: &str) -> bool {
    let text = &reference.found.text;
    let is_beside_or =
        text.contains(&format!("or `{path}`")) || text.contains(&format!("`{path}` or "));
    let folder = parent_folder(&reference.document);
    let mut others = reference.found.mentions.iter();
    is_beside_or && others.any(|it| it.kind.is_path() && files.resolve(&it.text, folder).is_some())
}

/// Returns true if a path leads through a submodule or symbolic link, which git lists as a file.
fn is_below_file(files: &FileLookup, path: &str, folder: &str) -> bool {
    let direct = [join_path(folder, path), join_path("", path)];
    direct.into_iter().flatten().any(|path| {
        let mut above = parent_folder(&path);
        while !above.is_empty() {
            if files.is_file(above) {
                return true;
            }
            above = parent_folder(above);
        }
        false
    })
}

/// Returns true for build outputs, local configuration, and links that a code host resolves.
fn is_outside(path: &str, is_link: bool) -> bool {
    let is_output =
        |part: &str| BUILD_DIRS.contains(&part) || is_link && HOST_PATH_PARTS.contains(&part);
    // `.vscode/settings.json`, `.env`: every clone has its own, and git need not ignore it.
    let is_hidden = |part: &str| part.starts_with('.') && part != ".github" && !part.ends_with('.');
    let ending = path.rsplit_once('.').map_or("", |(_, it)| it);
    let is_config = !is_link
        && path.split('/').any(is_hidden)
        && !["md", "mdc", "mdx"].contains(&ending)
        && path.contains('.');
    path.split('/').any(is_output) || is_config
}

/// Returns true if a repository with these folders should contain `name`.
fn is_expected(files: &FileLookup, name: &str, folder: &str) -> bool {
    let parts: Vec<&str> = name.trim_end_matches('/').split('/').collect();
    let (Some(first), true) = (parts.first(), parts.len() > 1) else {
        return false;
    };
    let from_here = join_path(folder, first).is_some_and(|path| files.is_folder(&path));
    from_here || files.is_folder(first)
}

/// Returns true if a command runs the file at `path`.
fn runs_script(command: &str, path: &str) -> bool {
    let mut words = command.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_path = |word: &str| word.strip_prefix("./").unwrap_or(word) == path;
    is_path(first) || INTERPRETERS.contains(&first) && words.next().is_some_and(is_path)
}

/// Returns true if the folder of a script exists; otherwise the path may mean another repository.
fn has_parent_folder(files: &FileLookup, script: &str, folder: &str) -> bool {
    let within = parent_folder(script);
    // A bare name is too ambiguous: `./install.sh` may have been downloaded one line before.
    if within.is_empty() {
        return false;
    }
    files.is_folder(within) || join_path(folder, within).is_some_and(|path| files.is_folder(&path))
}

/// Describes a missing path: when it was deleted, and the only file with the same name.
fn describe_missing(files: &FileLookup, path: &str, deletions: &[&Deletion]) -> String {
    let mut message = format!("`{path}` does not exist");
    match deletions {
        [] => {}
        [Deletion { commit, date }] => {
            message.push_str(&format!("; deleted in {commit} ({date})"));
        }
        // Several files had this name; the commit of one could be that of another.
        _ => message.push_str("; it was deleted"),
    }
    let mut parts = path.trim_end_matches('/').rsplit('/');
    let name = parts.next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let folder = parts.next();
    if let ([same], false) = (files.namesakes(path), COMMON_STEMS.contains(&stem.as_str()))
        // A file of the same name in an unrelated folder, or one of many `README.md` files, would
        // be a guess.
        && folder.is_none_or(|folder| parent_folder(same).split('/').any(|it| it == folder))
    {
        message.push_str(&format!("; did you mean `{same}`?"));
    }
    message
}

/// Returns the paths that git ignores, each as the document writes it.
fn ignored_paths(git: Option<&GitRunner>, missing: &[MissingPath]) -> BTreeSet<String> {
    let Some(git) = git else {
        return BTreeSet::new();
    };
    let mut written: BTreeMap<String, &str> = BTreeMap::new();
    for it in missing {
        // The path may start at the root or at the document.
        let folder = parent_folder(&it.reference.document);
        for path in [join_path("", &it.path), join_path(folder, &it.path)]
            .into_iter()
            .flatten()
        {
            // A pattern for a folder matches only with the slash, as the folder does not exist.
            written.insert(format!("{path}/"), &it.path);
            written.insert(path, &it.path);
        }
    }
    let paths: Vec<&str> = written.keys().map(String::as_str).collect();
    let ask = |paths: &[&str]| git.output(&[&["check-ignore", "--no-index", "--"], paths].concat());
    let out = match ask(&paths) {
        Ok(out) => out,
        // One path below a symbolic link fails the whole call.
        Err(_) if paths.len() <= IGNORE_CALLS_MAX => {
            let each = paths.iter().filter_map(|path| ask(&[path]).ok());
            each.flatten().collect()
        }
        Err(_) => Vec::new(),
    };
    let names = String::from_utf8_lossy(&out).into_owned();
    names
        .lines()
        .filter_map(|name| written.get(name).map(|it| (*it).to_owned()))
        .collect()
}

/// Returns the lower-case words of a text outside backticks.
pub(super) fn prose_words(text: &str) -> impl Iterator<Item = String> {
    let outside = text.split('`').step_by(2);
    let words =
        outside.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && !"'.".contains(c)));
    words
        .map(|word| word.trim_matches('.').to_lowercase())
        .filter(|word| !word.is_empty())
}
