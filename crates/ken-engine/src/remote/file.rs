//! The user's own list of remotes in git's folder, and the tokens beside it.
//!
//! A token lies in a file of its own that only its owner reads, with the machine it was given for.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use ken_ledger::layout::GIT_STATE_DIR;
use ken_remote::token::TOKEN_BYTES_MAX;
use ken_remote::{Address, Plain, Token};
use serde::{Deserialize, Serialize};

use super::{DEFAULT_NAME, RemoteError, RemoteName, known};
use crate::engine::Engine;
use crate::error::Error;

const REMOTES_FILE: &str = "remotes.toml";

/// A hub this clone exchanges events with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub name: RemoteName,
    pub address: Address,
    pub token: TokenPlace,
}

/// Where a remote's token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenPlace {
    /// Whoever calls gives it each time.
    Given,
    /// In a file beside the list.
    Stored,
    /// In a file somebody else keeps.
    File(PathBuf),
}

/// Where a new remote's token comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSource {
    Given,
    Store(Token),
    File(PathBuf),
}

/// What the file says.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RemotesFile {
    /// The clone they were added in: a copy of git's folder is another one.
    node: Option<String>,
    #[serde(default)]
    remotes: BTreeMap<String, RemotePart>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RemotePart {
    url: String,
    /// Whether events and token may travel unencrypted to another machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    insecure: bool,
    /// Whether a token is kept beside this file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stored: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_file: Option<PathBuf>,
}

impl RemotePart {
    fn remote(&self, name: &str) -> Result<Remote, RemoteError> {
        let plain = match self.insecure {
            true => Plain::Anywhere,
            false => Plain::Loopback,
        };
        Ok(Remote {
            name: name.parse()?,
            address: Address::parse(&self.url, plain)?,
            token: match (&self.token_file, self.stored) {
                (Some(path), _) => TokenPlace::File(path.clone()),
                (None, true) => TokenPlace::Stored,
                (None, false) => TokenPlace::Given,
            },
        })
    }
}

impl Engine {
    /// Returns the remotes of this clone, by name.
    pub fn remotes(&self) -> Result<Vec<Remote>, Error> {
        let file = self.load_remotes()?.remotes;
        let remotes = file.iter().map(|(name, part)| part.remote(name));
        Ok(remotes.collect::<Result<_, _>>()?)
    }

    /// Returns the remote called `name`; without a name the default one, or the only one.
    pub fn remote(&self, name: Option<&str>) -> Result<Remote, Error> {
        let mut remotes = self.remotes()?;
        let known = || -> Vec<String> { remotes.iter().map(|it| it.name.to_string()).collect() };
        let wanted = match name {
            Some(name) => name,
            None if remotes.is_empty() => return Err(RemoteError::None.into()),
            None if remotes.len() == 1 => return Ok(remotes.remove(0)),
            None => DEFAULT_NAME,
        };
        let found = remotes.iter().find(|it| it.name.to_string() == wanted);
        Ok(found.cloned().ok_or_else(|| RemoteError::Unknown {
            name: wanted.to_owned(),
            known: known(),
        })?)
    }

    /// Adds a remote, or gives the one at the same address another token.
    pub fn add_remote(
        &mut self,
        name: &RemoteName,
        address: &Address,
        token: &TokenSource,
    ) -> Result<Remote, Error> {
        let folder = self.remotes_folder()?;
        let mut file = match self.load_remotes() {
            // What lies in a copied folder is not taken over.
            Err(Error::Remote(RemoteError::AddedElsewhere)) => RemotesFile::default(),
            other => other?,
        };
        let url = address.to_string();
        if let Some(there) = file.remotes.get(&name.to_string())
            && there.url != url
        {
            let name = name.to_string();
            return Err(RemoteError::Taken { name }.into());
        }
        let part = RemotePart {
            url,
            insecure: address.plain() == Plain::Anywhere,
            stored: matches!(token, TokenSource::Store(_)),
            token_file: match token {
                TokenSource::File(path) => Some(path.clone()),
                TokenSource::Given | TokenSource::Store(_) => None,
            },
        };
        let kept = token_path(&folder, name);
        match token {
            TokenSource::Store(token) => store_token(&kept, address, token)?,
            TokenSource::Given | TokenSource::File(_) => forget_token(&kept)?,
        }
        let remote = part.remote(&name.to_string())?;
        file.remotes.insert(name.to_string(), part);
        self.store_remotes(file)?;
        Ok(remote)
    }

    /// Forgets a remote, its token and what it was known to hold; the hub keeps what it has.
    pub fn remove_remote(&mut self, name: &RemoteName) -> Result<(), Error> {
        let folder = self.remotes_folder()?;
        let mut file = self.load_remotes()?;
        if file.remotes.remove(&name.to_string()).is_none() {
            return Err(RemoteError::Unknown {
                name: name.to_string(),
                known: file.remotes.into_keys().collect(),
            }
            .into());
        }
        forget_token(&token_path(&folder, name))?;
        known::forget(&self.place, name)?;
        self.store_remotes(file)
    }

    /// Returns the token kept for a remote, if one is.
    pub fn remote_token(&self, remote: &Remote) -> Result<Option<Token>, Error> {
        let text = match &remote.token {
            TokenPlace::Given => return Ok(None),
            TokenPlace::File(path) => read_short(path).map_err(|source| {
                let path = path.clone();
                RemoteError::TokenFile { path, source }
            })?,
            TokenPlace::Stored => {
                let path = token_path(&self.remotes_folder()?, &remote.name);
                let text = read_short(&path).map_err(|source| {
                    let path = path.clone();
                    RemoteError::TokenFile { path, source }
                })?;
                let (origin, token) = text.split_once('\n').unwrap_or_default();
                if origin != remote.address.origin() {
                    let name = remote.name.to_string();
                    return Err(RemoteError::OtherMachine { name }.into());
                }
                token.to_owned()
            }
        };
        Ok(Some(Token::parse(&text).map_err(RemoteError::from)?))
    }

    fn load_remotes(&self) -> Result<RemotesFile, Error> {
        if self.place.git.is_none() {
            return Ok(RemotesFile::default());
        }
        let Some(bytes) = self.ledger.local_file(REMOTES_FILE)? else {
            return Ok(RemotesFile::default());
        };
        let file: RemotesFile = match toml::from_slice(&bytes) {
            Ok(file) => file,
            Err(source) => {
                let (path, source) = (self.remotes_folder()?.join(REMOTES_FILE), source.into());
                return Err(RemoteError::Unreadable { path, source }.into());
            }
        };
        let here = self.ledger.known_node()?.map(|node| node.to_string());
        if here.is_none() || here != file.node {
            return Err(RemoteError::AddedElsewhere.into());
        }
        Ok(file)
    }

    fn store_remotes(&mut self, mut file: RemotesFile) -> Result<(), Error> {
        file.node = Some(self.ledger.node(&mut *self.world)?.to_string());
        let text = toml::to_string(&file);
        let text = text.map_err(|source| RemoteError::Unwritable(source.into()))?;
        Ok(self
            .ledger
            .write_local_file(REMOTES_FILE, text.as_bytes())?)
    }

    /// Returns the folder tokens lie in, which no work tree holds.
    fn remotes_folder(&self) -> Result<PathBuf, RemoteError> {
        let dirs = self.place.git.as_ref().ok_or(RemoteError::OutsideGit)?;
        Ok(dirs.common_dir.join(GIT_STATE_DIR))
    }
}

fn token_path(folder: &Path, name: &RemoteName) -> PathBuf {
    folder.join(format!("remote-{name}.token"))
}

/// Writes a token so that nobody else can read it at any instant.
fn store_token(path: &Path, address: &Address, token: &Token) -> Result<(), RemoteError> {
    let write = || -> io::Result<()> {
        let draft = path.with_extension("tmp");
        fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&draft)?;
        writeln!(file, "{}\n{}", address.origin(), token.secret())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(|source| RemoteError::TokenKept {
        path: path.to_owned(),
        source,
    })
}

fn forget_token(path: &Path) -> Result<(), RemoteError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            let path = path.to_owned();
            Err(RemoteError::TokenKept { path, source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Reads a file that holds a token and little else.
fn read_short(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(path)?;
    // Twice what a token may have, for the line before it and so that a longer one is refused and not cut.
    file.take(2 * TOKEN_BYTES_MAX as u64)
        .read_to_string(&mut text)?;
    Ok(text)
}
