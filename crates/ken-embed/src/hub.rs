//! Downloads the folder of a model from a hub: `DEFAULT_HUB/OWNER/NAME/resolve/main/FILE`, as on
//! Hugging Face.
//!
//! Requests only the few files the transformer reads, sends no key and reveals nothing about stored
//! knowledge. The code that opens the folder decides whether it is a valid model.
//!
//! Invariant: a folder under its final name is complete. Files are written to a temporary folder
//! that is then renamed.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ken_http::{EndpointError, EndpointOrigin, build_agent, describe_error};
use ureq::Agent;
use ureq::http::Response;

/// Default model hub.
pub const DEFAULT_HUB: &str = "https://huggingface.co";

/// Maximum length of the owner or name of a model.
const PART_CHARS_MAX: usize = 96;

/// Maximum number of redirects.
const REDIRECTS_MAX: usize = 5;

/// Maximum sizes of the weights and of any other file.
const WEIGHTS_BYTES_MAX: u64 = 2 << 30;
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Size of the read buffer.
const BUFFER_BYTES: usize = 1 << 18;

/// Timeout of one file.
const TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Files the transformer reads, the large one last, so that a mistake shows before it is
/// downloaded.
const MODEL_FILES: &[(&str, FileRequirement)] = &[
    ("config.json", FileRequirement::Always),
    ("modules.json", FileRequirement::Optional),
    ("sentence_bert_config.json", FileRequirement::Optional),
    ("tokenizer_config.json", FileRequirement::Optional),
    ("1_Pooling/config.json", FileRequirement::Optional),
    ("vocab.txt", FileRequirement::Optional),
    ("tokenizer.json", FileRequirement::WithoutVocabulary),
    ("model.safetensors", FileRequirement::Always),
];

/// Requirement of a file in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileRequirement {
    Always,
    Optional,
    WithoutVocabulary,
}

/// Result of a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchOutcome {
    /// Downloaded now.
    New(PathBuf),
    /// Already present; no request was sent.
    Cached(PathBuf),
}

/// Failure of a download.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("`{name}` is not a valid model name such as `sentence-transformers/all-MiniLM-L6-v2`")]
    Name { name: String },
    #[error("cannot use the model hub")]
    Hub(#[source] EndpointError),
    #[error("the model hub is a remote host, so its URL must use `https`")]
    Plain,
    #[error("cannot reach `{host}`: {why}")]
    Unreachable { host: String, why: &'static str },
    #[error("`{host}` does not have `{file}` of this model")]
    Missing { host: String, file: &'static str },
    #[error("`{host}` refused to send `{file}` with status {status}")]
    Refused {
        host: String,
        file: &'static str,
        status: u16,
    },
    #[error("`{host}` redirected `{file}` to a URL that Ken does not follow")]
    Redirected { host: String, file: &'static str },
    #[error("`{file}` has more than {most} bytes")]
    TooLarge { file: &'static str, most: u64 },
    #[error("`{file}` is incomplete: {found} of {wanted} bytes")]
    CutOff {
        file: &'static str,
        found: u64,
        wanted: u64,
    },
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Downloads the model `name` from `hub` into a folder below `cache`, unless it exists.
///
/// `progress` receives the bytes read and the total of the current file.
pub fn fetch_model(
    hub: &str,
    name: &str,
    cache: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<FetchOutcome, FetchError> {
    let reach = EndpointOrigin::of(hub).map_err(FetchError::Hub)?;
    // Another hub may have another model of that name.
    let cache_name = if hub == DEFAULT_HUB {
        folder_name(name)?
    } else {
        format!(
            "{}--{}",
            reach.authority.replace(':', "-"),
            folder_name(name)?
        )
    };
    let folder = cache.join(&cache_name);
    // Before the transport check, because a cached model needs no network.
    if folder.is_dir() {
        return Ok(FetchOutcome::Cached(folder));
    }
    if !reach.is_encrypted && !reach.is_loopback {
        return Err(FetchError::Plain);
    }
    let source = ModelSource {
        base: format!("{}/{name}/resolve/main", hub.trim_end_matches('/')),
        agent: build_agent(&reach, Some(TIMEOUT)).map_err(FetchError::Hub)?,
        reach,
    };
    // A separate name per process, so that two downloads at once do not write the same file.
    let draft = cache.join(format!(".{cache_name}-{}", std::process::id()));
    let got = source
        .files(&draft, progress)
        .and_then(|()| match fs::rename(&draft, &folder) {
            // Another process finished first; its folder is as good.
            Err(_) if folder.is_dir() => Ok(FetchOutcome::Cached(folder.clone())),
            done => done
                .map(|()| FetchOutcome::New(folder.clone()))
                .map_err(write_error(&folder)),
        });
    // After a successful rename it no longer exists; otherwise it is incomplete.
    let _ = fs::remove_dir_all(&draft);
    got
}

/// Base URL and client of a download.
struct ModelSource {
    base: String,
    agent: Agent,
    reach: EndpointOrigin,
}

impl ModelSource {
    fn files(&self, folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), FetchError> {
        let mut has_vocabulary = false;
        for (file, need) in MODEL_FILES {
            if *need == FileRequirement::WithoutVocabulary && has_vocabulary {
                continue;
            }
            let got = self.file(file, folder, progress)?;
            if !got && *need != FileRequirement::Optional {
                let host = self.reach.host.clone();
                return Err(FetchError::Missing { host, file });
            }
            // `tokenizer.json` is large and redundant next to `vocab.txt`.
            has_vocabulary |= got && *file == "vocab.txt";
        }
        Ok(())
    }

    /// Downloads one file; returns whether it exists.
    fn file(
        &self,
        file: &'static str,
        folder: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<bool, FetchError> {
        let mut answer = self.ask(file)?;
        match answer.status().as_u16() {
            200 => {}
            // The caller knows whether the file is required.
            404 => return Ok(false),
            status => {
                let host = self.reach.host.clone();
                return Err(FetchError::Refused { host, file, status });
            }
        }
        let most = match file {
            "model.safetensors" => WEIGHTS_BYTES_MAX,
            _ => TEXT_BYTES_MAX,
        };
        let header = answer.headers().get("content-length");
        let length: Option<u64> = header.and_then(|value| value.to_str().ok()?.parse().ok());
        if length.is_some_and(|length| length > most) {
            return Err(FetchError::TooLarge { file, most });
        }
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(write_error(parent))?;
        let mut to = File::create(&path).map_err(write_error(&path))?;
        let body = answer.body_mut().with_config().limit(u64::MAX);
        // The header may be missing or wrong, so the body is limited as well.
        let mut body = body.reader().take(most + 1);
        let mut piece = vec![0; BUFFER_BYTES];
        let mut found = 0;
        loop {
            let count = body
                .read(&mut piece)
                .map_err(|error| self.failed(&error.into()))?;
            if count == 0 {
                break;
            }
            to.write_all(&piece[..count]).map_err(write_error(&path))?;
            found += count as u64;
            progress(found, length.unwrap_or(found));
        }
        // Durable before the rename makes the folder visible.
        to.sync_all().map_err(write_error(&path))?;
        match length {
            _ if found > most => Err(FetchError::TooLarge { file, most }),
            Some(wanted) if wanted != found => Err(FetchError::CutOff {
                file,
                found,
                wanted,
            }),
            _ => Ok(true),
        }
    }

    /// Requests a file and follows redirects, because hubs store large files on other hosts.
    fn ask(&self, file: &'static str) -> Result<Response<ureq::Body>, FetchError> {
        let mut url = format!("{}/{file}", self.base);
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.agent.get(&url).call();
            let answer = answer.map_err(|error| self.failed(&error))?;
            if !answer.status().is_redirection() {
                return Ok(answer);
            }
            let location = answer.headers().get("location");
            let target = location.and_then(|value| value.to_str().ok());
            let next = target.and_then(|target| self.follow(&url, target));
            url = next.ok_or_else(|| self.redirect_error(file))?;
        }
        Err(self.redirect_error(file))
    }

    /// Returns the target of a redirect if it is as secure as the hub itself.
    fn follow(&self, from: &str, to: &str) -> Option<String> {
        // `//host/path` keeps the scheme but names another host, so it is not a relative path.
        let url = if to.starts_with('/') && !to.starts_with("//") {
            let from = EndpointOrigin::of(from).ok()?;
            let scheme = if from.is_encrypted { "https" } else { "http" };
            format!("{scheme}://{}{to}", from.authority)
        } else {
            to.to_owned()
        };
        let reach = EndpointOrigin::of(&url).ok()?;
        // The client of a plaintext hub has no TLS configuration, so it must stay on plaintext.
        let is_as_safe = if self.reach.is_encrypted {
            reach.is_encrypted
        } else {
            reach.is_loopback && !reach.is_encrypted
        };
        is_as_safe.then_some(url)
    }

    fn redirect_error(&self, file: &'static str) -> FetchError {
        let host = self.reach.host.clone();
        FetchError::Redirected { host, file }
    }

    fn failed(&self, error: &ureq::Error) -> FetchError {
        FetchError::Unreachable {
            host: self.reach.host.clone(),
            why: describe_error(error),
        }
    }
}

/// Returns the folder name of a model. The characters are restricted, because the name becomes part
/// of a path and a URL.
fn folder_name(name: &str) -> Result<String, FetchError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_part = |part: &str| {
        (1..=PART_CHARS_MAX).contains(&part.len())
            && part.chars().all(is_plain)
            && part.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    match name.split_once('/') {
        Some((owner, own)) if is_part(owner) && is_part(own) => Ok(format!("{owner}--{own}")),
        _ => Err(FetchError::Name {
            name: name.to_owned(),
        }),
    }
}

fn write_error(path: &Path) -> impl Fn(io::Error) -> FetchError {
    let path = path.to_owned();
    move |source| FetchError::Write {
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_an_owner_and_a_name_and_cannot_leave_the_folder() {
        assert_eq!(folder_name("o/all-x_1.0").unwrap(), "o--all-x_1.0");
        let long = format!("o/{}", "x".repeat(PART_CHARS_MAX + 1));
        for name in [
            "", "x", "o/", "/x", "o/x/y", "../x", "o/..", "o/.x", "o/x?y", "o/x y", &long,
        ] {
            assert!(folder_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn redirects_stay_as_safe_as_the_hub() {
        let source = |base: &str| {
            let reach = EndpointOrigin::of(base).unwrap();
            ModelSource {
                base: base.to_owned(),
                agent: Agent::new_with_defaults(),
                reach,
            }
        };
        let safe = source("https://hub.example");
        let from = "https://hub.example:8/a/b";
        assert_eq!(
            safe.follow(from, "/c?d=e").unwrap(),
            "https://hub.example:8/c?d=e"
        );
        assert!(safe.follow(from, "https://cdn.example/x?sig=1").is_some());
        for to in [
            "http://cdn.example/x",
            "http://localhost/x",
            "//cdn.example/x",
            "file:///x",
            "x",
        ] {
            assert!(safe.follow(from, to).is_none(), "{to}");
        }
        let near = source("http://127.0.0.1:9");
        assert!(near.follow("http://127.0.0.1:9/a", "/b").is_some());
        for to in ["http://cdn.example/x", "https://cdn.example/x"] {
            assert!(near.follow("http://127.0.0.1:9/a", to).is_none(), "{to}");
        }
    }
}
