//! The list of remotes in the git directory, and the stored tokens.
//!
//! Each token is in a file of its own that only its owner can read, together with the origin it was
//! given for.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use ken_ledger::layout::GIT_STATE_DIR;
use ken_ledger::restrict_to_owner;
use ken_remote::token::TOKEN_BYTES_MAX;
use ken_remote::{HubAddress, HubToken, PlaintextPolicy};
use serde::{Deserialize, Serialize};

use super::{DEFAULT_NAME, RemoteError, RemoteName, state};
use crate::engine::Engine;
use crate::error::EngineError;

const REMOTES_FILE: &str = "remotes.toml";

/// A hub this clone exchanges events with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub name: RemoteName,
    pub address: HubAddress,
    pub token: TokenLocation,
}

/// Location of a remote's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenLocation {
    /// The caller supplies it for each operation.
    PerCall,
    /// In a file next to the list of remotes.
    Stored,
    /// In a file that Ken does not manage.
    File(PathBuf),
}

/// Source of a new remote's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    PerCall,
    Store(HubToken),
    File(PathBuf),
}

/// Content of `remotes.toml`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RemotesFile {
    /// The clone in which the remotes were added; a copied git directory is a different clone.
    node: Option<String>,
    #[serde(default)]
    remotes: BTreeMap<String, RemoteSection>,
}

/// One remote in `remotes.toml`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RemoteSection {
    url: String,
    /// Allows unencrypted connections to other machines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    insecure: bool,
    /// Set if a token is stored next to this file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stored: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_file: Option<PathBuf>,
}

impl RemoteSection {
    fn to_remote(&self, name: &str) -> Result<Remote, RemoteError> {
        let plain = if self.insecure {
            PlaintextPolicy::Anywhere
        } else {
            PlaintextPolicy::Loopback
        };
        Ok(Remote {
            name: name.parse()?,
            address: HubAddress::parse(&self.url, plain)?,
            token: match (&self.token_file, self.stored) {
                (Some(path), _) => TokenLocation::File(path.clone()),
                (None, true) => TokenLocation::Stored,
                (None, false) => TokenLocation::PerCall,
            },
        })
    }
}

/// Returns the remotes of this clone, by name.
pub(crate) fn remotes(engine: &Engine) -> Result<Vec<Remote>, EngineError> {
    let file = load_remotes(engine)?.remotes;
    let remotes = file.iter().map(|(name, part)| part.to_remote(name));
    Ok(remotes.collect::<Result<_, _>>()?)
}

/// Returns the remote called `name`; without a name, the only one or the default one.
pub(crate) fn remote(engine: &Engine, name: Option<&str>) -> Result<Remote, EngineError> {
    let mut remotes = engine.remotes()?;
    let known = || -> Vec<String> { remotes.iter().map(|it| it.name.to_string()).collect() };
    let wanted = match name {
        Some(name) => name,
        None if remotes.is_empty() => return Err(RemoteError::NoRemote.into()),
        None if remotes.len() == 1 => return Ok(remotes.remove(0)),
        None => DEFAULT_NAME,
    };
    let found = remotes.iter().find(|it| it.name.to_string() == wanted);
    Ok(found.cloned().ok_or_else(|| RemoteError::Unknown {
        name: wanted.to_owned(),
        known: known(),
    })?)
}

/// Adds a remote, or replaces the token of an existing one at the same address.
pub(crate) fn add_remote(
    engine: &mut Engine,
    name: &RemoteName,
    address: &HubAddress,
    token: &TokenSource,
) -> Result<Remote, EngineError> {
    let folder = remotes_folder(engine)?;
    let mut file = match load_remotes(engine) {
        // Remotes of another clone, in a copied git directory, are discarded.
        Err(EngineError::Remote(RemoteError::AddedElsewhere)) => RemotesFile::default(),
        other => other?,
    };
    let url = address.to_string();
    // Changing the address silently would send this clone's events and token elsewhere.
    if let Some(existing) = file.remotes.get(&name.to_string())
        && existing.url != url
    {
        let name = name.to_string();
        return Err(RemoteError::NameTaken { name }.into());
    }
    let part = RemoteSection {
        url,
        insecure: address.plain() == PlaintextPolicy::Anywhere,
        stored: matches!(token, TokenSource::Store(_)),
        token_file: match token {
            TokenSource::File(path) => Some(path.clone()),
            TokenSource::PerCall | TokenSource::Store(_) => None,
        },
    };
    // The token is written before the list: a crash in between leaves an unused token file, not
    // a remote without its token.
    let stored_path = token_path(&folder, name);
    match token {
        TokenSource::Store(token) => store_token(&stored_path, address, token)?,
        TokenSource::PerCall | TokenSource::File(_) => delete_token(&stored_path)?,
    }
    let remote = part.to_remote(&name.to_string())?;
    file.remotes.insert(name.to_string(), part);
    store_remotes(engine, file)?;
    Ok(remote)
}

/// Removes a remote, its token and its recorded state. The hub is not contacted.
pub(crate) fn remove_remote(engine: &mut Engine, name: &RemoteName) -> Result<(), EngineError> {
    let folder = remotes_folder(engine)?;
    let mut file = load_remotes(engine)?;
    if file.remotes.remove(&name.to_string()).is_none() {
        return Err(RemoteError::Unknown {
            name: name.to_string(),
            known: file.remotes.into_keys().collect(),
        }
        .into());
    }
    // The list is written last, so that a failed removal can be repeated.
    delete_token(&token_path(&folder, name))?;
    state::delete_state(&engine.place, name)?;
    store_remotes(engine, file)
}

/// Returns the stored token of a remote, or `None` if the caller must supply it.
pub(crate) fn remote_token(
    engine: &Engine,
    remote: &Remote,
) -> Result<Option<HubToken>, EngineError> {
    let text = match &remote.token {
        TokenLocation::PerCall => return Ok(None),
        TokenLocation::File(path) => read_token_file(path).map_err(|source| {
            let path = path.clone();
            RemoteError::TokenFile { path, source }
        })?,
        TokenLocation::Stored => {
            let path = token_path(&remotes_folder(engine)?, &remote.name);
            let text = read_token_file(&path).map_err(|source| {
                let path = path.clone();
                RemoteError::TokenFile { path, source }
            })?;
            // An edited URL in `remotes.toml` must not send the token to another machine.
            let (origin, token) = text.split_once('\n').unwrap_or_default();
            if origin != remote.address.origin() {
                let name = remote.name.to_string();
                return Err(RemoteError::OtherMachine { name }.into());
            }
            token.to_owned()
        }
    };
    Ok(Some(HubToken::parse(&text).map_err(RemoteError::from)?))
}

/// Returns the token file of a remote if other users of the machine can read or change it.
#[must_use]
pub fn exposed_token_file(remote: &Remote) -> Option<&Path> {
    match &remote.token {
        TokenLocation::File(path) if is_exposed(path) => Some(path),
        TokenLocation::File(_) | TokenLocation::Stored | TokenLocation::PerCall => None,
    }
}

/// Returns whether users other than the owner and the group can read or write a file.
#[cfg(unix)]
fn is_exposed(path: &Path) -> bool {
    /// Permission of all others to read or write.
    const OTHERS: u32 = 0o006;
    let mode =
        fs::metadata(path).map(|it| std::os::unix::fs::PermissionsExt::mode(&it.permissions()));
    mode.is_ok_and(|mode| mode & OTHERS != 0)
}

#[cfg(not(unix))]
fn is_exposed(_path: &Path) -> bool {
    false
}

fn load_remotes(engine: &Engine) -> Result<RemotesFile, EngineError> {
    if engine.place.git.is_none() {
        return Ok(RemotesFile::default());
    }
    let Some(bytes) = engine.ledger.local_file(REMOTES_FILE)? else {
        return Ok(RemotesFile::default());
    };
    let file: RemotesFile = match toml::from_slice(&bytes) {
        Ok(file) => file,
        Err(source) => {
            let (path, source) = (remotes_folder(engine)?.join(REMOTES_FILE), source.into());
            return Err(RemoteError::Unreadable { path, source }.into());
        }
    };
    // A copy of the git directory must not push in the name of the original clone.
    let here = engine.ledger.load_node_id()?.map(|node| node.to_string());
    if here.is_none() || here != file.node {
        return Err(RemoteError::AddedElsewhere.into());
    }
    Ok(file)
}

fn store_remotes(engine: &mut Engine, mut file: RemotesFile) -> Result<(), EngineError> {
    file.node = Some(engine.ledger.node(&mut *engine.runtime)?.to_string());
    let text = toml::to_string(&file).map_err(|source| RemoteError::Unwritable(source.into()))?;
    Ok(engine
        .ledger
        .write_local_file(REMOTES_FILE, text.as_bytes())?)
}

/// Returns the folder of the tokens, which is outside every work tree.
fn remotes_folder(engine: &Engine) -> Result<PathBuf, RemoteError> {
    let dirs = engine.place.git.as_ref().ok_or(RemoteError::OutsideGit)?;
    Ok(dirs.common_dir.join(GIT_STATE_DIR))
}

fn token_path(folder: &Path, name: &RemoteName) -> PathBuf {
    folder.join(format!("remote-{name}.token"))
}

/// Writes a token to a file that at no time is readable for other users.
fn store_token(path: &Path, address: &HubAddress, token: &HubToken) -> Result<(), RemoteError> {
    let write = || -> io::Result<()> {
        let draft = path.with_extension("tmp");
        fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        // `create_new` does not follow a symbolic link and sets the mode at creation; an existing
        // file would keep its own mode.
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        let mut file = restrict_to_owner(&mut options).open(&draft)?;
        writeln!(file, "{}\n{}", address.origin(), token.secret())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(|source| RemoteError::TokenStorage {
        path: path.to_owned(),
        source,
    })
}

fn delete_token(path: &Path) -> Result<(), RemoteError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            let path = path.to_owned();
            Err(RemoteError::TokenStorage { path, source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Reads a token file, up to a maximum size.
fn read_token_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(path)?;
    // Twice the maximum token length: room for the origin line, and a token that is too long is
    // rejected instead of truncated.
    file.take(2 * TOKEN_BYTES_MAX as u64)
        .read_to_string(&mut text)?;
    Ok(text)
}
