//! Files of a publication: `publication.json`, `head.json`, `orders.jsonl`, `EPOCH/NUMBER.json`,
//! read from a folder or from a web server.
//!
//! The files may come from anywhere, so every read has a limit of bytes and of time. A folder is
//! read without following symbolic links, a server without following redirects. Messages never
//! quote the content.

use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use ken_core::federation::{
    BATCH_BYTES_MAX, ORDERS_MAX, PublicationBatch, PublisherId, SignedManifest,
};
use ken_core::values::text::{Note, Tag};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// File of the card.
pub const CARD_FILE: &str = "publication.json";

/// File of the newest manifest.
pub const HEAD_FILE: &str = "head.json";

/// File of all manifests with orders.
pub const ORDERS_FILE: &str = "orders.jsonl";

/// Suffix of the file of a batch.
pub const BATCH_SUFFIX: &str = ".json";

/// Schema name of the card.
const CARD_SCHEMA: &str = "ken.publication.v1";

/// Maximum bytes of the card.
const CARD_BYTES_MAX: u64 = 16 * 1024;

/// Maximum bytes of the file of orders.
const ORDERS_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What a publication says about itself. Only its key counts, and that was compared by people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicationCard {
    schema: String,
    pub publisher: PublisherId,
    pub publication: Tag,
    /// Public key in OpenSSH format.
    pub key: String,
    pub license: Note,
    pub relay: bool,
}

/// Where the files of a publication are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum PublicationSource {
    Folder(PathBuf),
    /// Base address of a web server, without a trailing slash.
    Web(String),
}

/// Why a file of a publication cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{file}` is not a valid publication file: {why}")]
pub struct PublicationReadError {
    pub file: String,
    pub why: String,
}

/// Reads the files of one publication.
#[derive(Debug)]
pub struct PublicationReader {
    source: PublicationSource,
    #[cfg(feature = "client")]
    web: Option<web::WebReader>,
}

impl PublicationCard {
    /// Creates a card.
    #[must_use]
    pub fn new(
        publisher: PublisherId,
        publication: Tag,
        key: String,
        (license, relay): (Note, bool),
    ) -> Self {
        Self {
            schema: CARD_SCHEMA.to_owned(),
            publisher,
            publication,
            key,
            license,
            relay,
        }
    }
}

impl PublicationSource {
    /// Parses an address that a person typed: a URL, or else a path.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.starts_with("http://") || text.starts_with("https://") {
            Self::Web(text.trim_end_matches('/').to_owned())
        } else {
            Self::Folder(text.into())
        }
    }
}

impl From<String> for PublicationSource {
    fn from(text: String) -> Self {
        Self::parse(&text)
    }
}

impl From<PublicationSource> for String {
    fn from(source: PublicationSource) -> Self {
        source.to_string()
    }
}

impl fmt::Display for PublicationSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Web(url) => f.write_str(url),
        }
    }
}

impl PublicationReader {
    /// Opens a folder; reads nothing yet.
    #[must_use]
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self {
            source: PublicationSource::Folder(path.into()),
            #[cfg(feature = "client")]
            web: None,
        }
    }

    /// Opens a source; connects to nothing yet. `token` is sent to a web server only.
    pub fn open(
        source: &PublicationSource,
        token: Option<&str>,
    ) -> Result<Self, PublicationReadError> {
        match source {
            PublicationSource::Folder(path) => Ok(Self::folder(path)),
            PublicationSource::Web(url) => Self::open_web(source, url, token),
        }
    }

    #[cfg(feature = "client")]
    fn open_web(
        source: &PublicationSource,
        url: &str,
        token: Option<&str>,
    ) -> Result<Self, PublicationReadError> {
        let web = Some(web::WebReader::open(url, token)?);
        let source = source.clone();
        Ok(Self { source, web })
    }

    #[cfg(not(feature = "client"))]
    fn open_web(
        _: &PublicationSource,
        url: &str,
        _: Option<&str>,
    ) -> Result<Self, PublicationReadError> {
        let why = "this build of Ken reads folders only".to_owned();
        let file = url.to_owned();
        Err(PublicationReadError { file, why })
    }

    /// Returns the card; `None` if there is no publication.
    pub fn card(&self) -> Result<Option<PublicationCard>, PublicationReadError> {
        let card: Option<PublicationCard> = self.read_json(CARD_FILE, CARD_BYTES_MAX)?;
        if let Some(card) = &card
            && card.schema != CARD_SCHEMA
        {
            let why = "it has a schema that this version of Ken does not know";
            return Err(self.file_error(CARD_FILE, why));
        }
        Ok(card)
    }

    /// Returns the newest manifest.
    pub fn head(&self) -> Result<Option<SignedManifest>, PublicationReadError> {
        self.read_json(HEAD_FILE, BATCH_BYTES_MAX as u64)
    }

    /// Returns one batch.
    pub fn batch(
        &self,
        epoch: u64,
        number: u64,
    ) -> Result<Option<PublicationBatch>, PublicationReadError> {
        self.read_json(&batch_file(epoch, number), BATCH_BYTES_MAX as u64)
    }

    /// Returns the manifests with orders of every epoch. A line that cannot be parsed is skipped,
    /// so that damage at one place does not hide the orders after it.
    pub fn orders(&self) -> Result<Vec<SignedManifest>, PublicationReadError> {
        let Some(text) = self.read_text(ORDERS_FILE, ORDERS_BYTES_MAX)? else {
            return Ok(Vec::new());
        };
        let lines = text.lines().take(ORDERS_MAX);
        Ok(lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect())
    }

    fn read_json<T: DeserializeOwned>(
        &self,
        name: &str,
        max: u64,
    ) -> Result<Option<T>, PublicationReadError> {
        let Some(text) = self.read_text(name, max)? else {
            return Ok(None);
        };
        let parsed = serde_json::from_str(&text);
        // The position only: a message of serde quotes the value it did not expect.
        let why = |e: &serde_json::Error| format!("line {}, column {}", e.line(), e.column());
        parsed.map_err(|e| self.file_error(name, why(&e)))
    }

    fn read_text(&self, name: &str, max: u64) -> Result<Option<String>, PublicationReadError> {
        let Some(bytes) = self.read_bytes(name, max)? else {
            return Ok(None);
        };
        if bytes.len() as u64 > max {
            return Err(self.file_error(name, format!("it has more than {max} bytes")));
        }
        let text = String::from_utf8(bytes);
        text.map(Some)
            .map_err(|_| self.file_error(name, "it is not UTF-8"))
    }

    /// Returns at most one byte more than `max`, which tells a file that is too long from one that
    /// fits.
    fn read_bytes(&self, name: &str, max: u64) -> Result<Option<Vec<u8>>, PublicationReadError> {
        #[cfg(feature = "client")]
        if let Some(web) = &self.web {
            return web
                .read(name, max + 1)
                .map_err(|why| self.file_error(name, why));
        }
        let PublicationSource::Folder(root) = &self.source else {
            return Ok(None);
        };
        let path = root.join(name);
        let metadata = |path: &Path| match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other
                .map(Some)
                .map_err(|e| self.file_error(name, e.to_string())),
        };
        // The folder of an epoch may be a link, too; `root` is the person's own choice.
        if let Some((epoch, _)) = name.split_once('/')
            && metadata(&root.join(epoch))?.is_some_and(|it| !it.is_dir())
        {
            return Err(self.file_error(epoch, "it is not a folder"));
        }
        let Some(metadata) = metadata(&path)? else {
            return Ok(None);
        };
        // Opening a pipe would wait for a writer, and a link leads out of the folder.
        if !metadata.is_file() {
            return Err(self.file_error(name, "it is not a regular file"));
        }
        // Bounded while reading: the file may have grown since its metadata was read.
        let mut bytes = Vec::new();
        let read =
            fs::File::open(&path).and_then(|file| file.take(max + 1).read_to_end(&mut bytes));
        read.map_err(|e| self.file_error(name, e.to_string()))?;
        Ok(Some(bytes))
    }

    fn file_error(&self, name: &str, why: impl Into<String>) -> PublicationReadError {
        let file = match &self.source {
            PublicationSource::Folder(root) => root.join(name).display().to_string(),
            PublicationSource::Web(url) => format!("{url}/{name}"),
        };
        let why = why.into();
        PublicationReadError { file, why }
    }
}

/// Returns the relative path of a batch.
#[must_use]
pub fn batch_file(epoch: u64, number: u64) -> String {
    format!("{epoch}/{number}{BATCH_SUFFIX}")
}

#[cfg(feature = "client")]
mod web {
    //! Publication files of a web server.

    use std::cell::Cell;
    use std::io::Read as _;
    use std::time::{Duration, Instant};

    use ken_http::{EndpointOrigin, build_agent, describe_error};
    use ureq::Agent;

    use super::PublicationReadError;
    use crate::token::HubToken;

    /// Maximum bytes of an address.
    const ADDRESS_BYTES_MAX: usize = 2 * 1024;

    /// Time limit for one file.
    const FILE_TIMEOUT: Duration = Duration::from_secs(30);

    /// Time limit for all files of one reader: a server that sends slowly must not keep it busy.
    const READ_TIMEOUT: Duration = Duration::from_secs(10 * 60);

    /// Maximum bytes that one reader reads.
    const READ_BYTES_MAX: u64 = 512 * 1024 * 1024;

    /// Reads files below one address, within limits for all of them together.
    #[derive(Debug)]
    pub(super) struct WebReader {
        url: String,
        token: Option<HubToken>,
        agent: Agent,
        began: Instant,
        bytes_left: Cell<u64>,
    }

    impl WebReader {
        pub(super) fn open(url: &str, token: Option<&str>) -> Result<Self, PublicationReadError> {
            let error = |why: String| PublicationReadError {
                file: url.to_owned(),
                why,
            };
            if url.len() > ADDRESS_BYTES_MAX || url.contains(['?', '#']) {
                return Err(error(
                    "the address must have the form `https://host[:port][/path]`".to_owned(),
                ));
            }
            let origin = EndpointOrigin::of(url).map_err(|e| error(e.to_string()))?;
            // Signatures protect the words, but not the token, nor what is read by whom.
            if !origin.is_encrypted && !origin.is_loopback {
                return Err(error("another machine needs an `https` address".to_owned()));
            }
            let token = token.map(HubToken::parse).transpose();
            let token = token.map_err(|e| error(e.to_string()))?;
            let agent = build_agent(&origin, Some(FILE_TIMEOUT));
            Ok(Self {
                url: url.to_owned(),
                token,
                agent: agent.map_err(|e| error(e.to_string()))?,
                began: Instant::now(),
                bytes_left: Cell::new(READ_BYTES_MAX),
            })
        }

        /// Returns at most `max` bytes of a file; `None` if the server does not have it.
        pub(super) fn read(&self, name: &str, max: u64) -> Result<Option<Vec<u8>>, String> {
            if self.began.elapsed() > READ_TIMEOUT {
                return Err("the server is too slow; the next pull goes on".to_owned());
            }
            let mut get = self.agent.get(format!("{}/{name}", self.url));
            if let Some(token) = &self.token {
                get = get.header("authorization", format!("Bearer {}", token.secret()));
            }
            let mut answer = get.call().map_err(|e| describe_error(&e).to_owned())?;
            match answer.status().as_u16() {
                200 => {}
                404 => return Ok(None),
                // Redirects end here, too: following one could send the token to another machine.
                status => return Err(format!("the server answered with status {status}")),
            }
            let left = self.bytes_left.get();
            let body = answer.body_mut().with_config().limit(u64::MAX);
            let mut bytes = Vec::new();
            let read = body.reader().take(max.min(left)).read_to_end(&mut bytes);
            read.map_err(|e| describe_error(&e.into()).to_owned())?;
            let read = bytes.len() as u64;
            if read >= left {
                return Err("the server sends too much at once; the next pull goes on".to_owned());
            }
            self.bytes_left.set(left - read);
            Ok(Some(bytes))
        }
    }
}
