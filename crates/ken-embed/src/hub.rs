//! Gets the folder of a model from a hub: `HUB/OWNER/NAME/resolve/main/FILE`, as Hugging Face has it.
//!
//! Asks for the few files the transformer reads and for nothing else, sends no key, and tells nobody what
//! is stored here. Whether the folder is a model is for who opens it to say.
//!
//! Invariant: a folder under its final name is whole. Files are written beside it and moved there together.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::Agent;
use ureq::http::Response;

use crate::http::{EndpointError, Reach, agent, reason};

/// Where models are unless somebody says otherwise.
pub const HUB: &str = "https://huggingface.co";

/// Characters the owner or the name of a model may have.
const PART_CHARS_MAX: usize = 96;

/// Addresses a request may be sent on to.
const REDIRECTS_MAX: usize = 5;

/// Bytes of the weights and of any other file.
const WEIGHTS_BYTES_MAX: u64 = 2 << 30;
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Bytes read at once.
const PIECE_BYTES: usize = 1 << 18;

/// Time all of a file may take.
const TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// What the transformer reads, the large one last: a mistake shows before it is fetched.
const FILES: &[(&str, Need)] = &[
    ("config.json", Need::Always),
    ("modules.json", Need::Perhaps),
    ("sentence_bert_config.json", Need::Perhaps),
    ("tokenizer_config.json", Need::Perhaps),
    ("1_Pooling/config.json", Need::Perhaps),
    ("vocab.txt", Need::Perhaps),
    ("tokenizer.json", Need::WithoutVocabulary),
    ("model.safetensors", Need::Always),
];

/// Whether a model may lack a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Always,
    Perhaps,
    WithoutVocabulary,
}

/// A model's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// Got now.
    New(PathBuf),
    /// It was there; nobody was asked.
    There(PathBuf),
}

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("`{name}` is not the name of a model such as `sentence-transformers/all-MiniLM-L6-v2`")]
    Name { name: String },
    #[error("cannot use the model hub")]
    Hub(#[source] EndpointError),
    #[error("the model hub is another machine and its address is not `https`")]
    Plain,
    #[error("cannot reach `{host}`: {why}")]
    Unreachable { host: String, why: &'static str },
    #[error("`{host}` has no `{file}` of this model")]
    Missing { host: String, file: &'static str },
    #[error("`{host}` refused to send `{file}`, with status {status}")]
    Refused {
        host: String,
        file: &'static str,
        status: u16,
    },
    #[error("`{host}` sent the request for `{file}` to where Ken does not follow")]
    Redirected { host: String, file: &'static str },
    #[error("`{file}` has more than {most} bytes")]
    TooLarge { file: &'static str, most: u64 },
    #[error("`{file}` came with {found} bytes instead of {wanted}")]
    CutOff {
        file: &'static str,
        found: u64,
        wanted: u64,
    },
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Gets the model `name` from `hub` into a folder below `cache`, unless it is there.
///
/// `progress` is told how many bytes of how many came of the file that is being read.
pub fn fetch(
    hub: &str,
    name: &str,
    cache: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Fetched, FetchError> {
    let reach = Reach::of(hub).map_err(FetchError::Hub)?;
    // Another hub may have another model of that name.
    let kept_as = match hub == HUB {
        true => folder_name(name)?,
        false => format!(
            "{}--{}",
            reach.authority.replace(':', "-"),
            folder_name(name)?
        ),
    };
    let folder = cache.join(&kept_as);
    if folder.is_dir() {
        return Ok(Fetched::There(folder));
    }
    if !reach.is_encrypted && !reach.is_loopback {
        return Err(FetchError::Plain);
    }
    let source = Source {
        base: format!("{}/{name}/resolve/main", hub.trim_end_matches('/')),
        agent: agent(&reach, Some(TIMEOUT)).map_err(FetchError::Hub)?,
        reach,
    };
    // A name of its own, so that two who fetch at once do not write the same file.
    let draft = cache.join(format!(".{kept_as}-{}", std::process::id()));
    let got = source
        .files(&draft, progress)
        .and_then(|()| match fs::rename(&draft, &folder) {
            Err(_) if folder.is_dir() => Ok(Fetched::There(folder.clone())),
            done => done
                .map(|()| Fetched::New(folder.clone()))
                .map_err(on(&folder)),
        });
    // Only what is not whole is still there.
    let _ = fs::remove_dir_all(&draft);
    got
}

/// Where a model comes from.
struct Source {
    base: String,
    agent: Agent,
    reach: Reach,
}

impl Source {
    fn files(&self, folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), FetchError> {
        let mut has_vocabulary = false;
        for (file, need) in FILES {
            if *need == Need::WithoutVocabulary && has_vocabulary {
                continue;
            }
            let got = self.file(file, folder, progress)?;
            if !got && *need != Need::Perhaps {
                let host = self.reach.host.clone();
                return Err(FetchError::Missing { host, file });
            }
            has_vocabulary |= got && *file == "vocab.txt";
        }
        Ok(())
    }

    /// Gets one file; returns whether there is one.
    fn file(
        &self,
        file: &'static str,
        folder: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<bool, FetchError> {
        let mut answer = self.ask(file)?;
        match answer.status().as_u16() {
            200 => {}
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
        let length = answer.headers().get("content-length");
        let length = length.and_then(|it| it.to_str().ok()?.parse().ok());
        if length.is_some_and(|it| most < it) {
            return Err(FetchError::TooLarge { file, most });
        }
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(on(parent))?;
        let mut to = File::create(&path).map_err(on(&path))?;
        let body = answer.body_mut().with_config().limit(u64::MAX);
        let mut body = body.reader().take(most + 1);
        let mut piece = vec![0; PIECE_BYTES];
        let mut found = 0;
        loop {
            let count = body
                .read(&mut piece)
                .map_err(|error| self.failed(&error.into()))?;
            if count == 0 {
                break;
            }
            to.write_all(&piece[..count]).map_err(on(&path))?;
            found += count as u64;
            progress(found, length.unwrap_or(found));
        }
        to.sync_all().map_err(on(&path))?;
        match length {
            _ if most < found => Err(FetchError::TooLarge { file, most }),
            Some(wanted) if wanted != found => Err(FetchError::CutOff {
                file,
                found,
                wanted,
            }),
            _ => Ok(true),
        }
    }

    /// Asks for a file, wherever the hub keeps it: large files lie on other machines.
    fn ask(&self, file: &'static str) -> Result<Response<ureq::Body>, FetchError> {
        let mut url = format!("{}/{file}", self.base);
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.agent.get(&url).call();
            let answer = answer.map_err(|error| self.failed(&error))?;
            if !answer.status().is_redirection() {
                return Ok(answer);
            }
            let to = answer.headers().get("location");
            let to = to.and_then(|it| it.to_str().ok());
            let next = to.and_then(|to| self.follow(&url, to));
            url = next.ok_or_else(|| self.redirected(file))?;
        }
        Err(self.redirected(file))
    }

    /// Returns where a redirect leads, if it is as safe there as at the hub itself.
    fn follow(&self, from: &str, to: &str) -> Option<String> {
        let url = match to.starts_with('/') && !to.starts_with("//") {
            true => {
                let from = Reach::of(from).ok()?;
                let scheme = if from.is_encrypted { "https" } else { "http" };
                format!("{scheme}://{}{to}", from.authority)
            }
            false => to.to_owned(),
        };
        let reach = Reach::of(&url).ok()?;
        let is_as_safe = match self.reach.is_encrypted {
            true => reach.is_encrypted,
            false => reach.is_loopback && !reach.is_encrypted,
        };
        is_as_safe.then_some(url)
    }

    fn redirected(&self, file: &'static str) -> FetchError {
        let host = self.reach.host.clone();
        FetchError::Redirected { host, file }
    }

    fn failed(&self, error: &ureq::Error) -> FetchError {
        FetchError::Unreachable {
            host: self.reach.host.clone(),
            why: reason(error),
        }
    }
}

/// Returns the name of a model's folder; the name comes into a path and an address.
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

fn on(path: &Path) -> impl Fn(io::Error) -> FetchError {
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
            let reach = Reach::of(base).unwrap();
            Source {
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
