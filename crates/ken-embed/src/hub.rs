//! Downloads the folder of a model from a hub: `DEFAULT_HUB/OWNER/NAME/resolve/main/FILE`, as on
//! Hugging Face.
//!
//! Requests only the few files the transformer reads, sends no key and reveals nothing about stored
//! knowledge. The code that opens the folder decides whether it is a valid model.
//!
//! Invariant: a folder under its final name is complete. Files are written to a temporary folder
//! that is then renamed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ken_http::{DownloadError, EndpointError, EndpointOrigin, FileHost};

/// Default model hub.
pub const DEFAULT_HUB: &str = "https://huggingface.co";

/// Maximum length of the owner or name of a model.
const PART_CHARS_MAX: usize = 96;

/// Maximum sizes of the weights and of any other file.
const WEIGHTS_BYTES_MAX: u64 = 2 << 30;
const TEXT_BYTES_MAX: u64 = 64 << 20;

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
    #[error("`{host}` does not have `{file}` of this model")]
    Missing { host: String, file: &'static str },
    #[error("cannot download `{file}` of the model")]
    Download {
        file: &'static str,
        source: DownloadError,
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
    let source = ModelSource {
        base: format!("{}/{name}/resolve/main", hub.trim_end_matches('/')),
        files: FileHost::open(hub, TIMEOUT).map_err(FetchError::Hub)?,
        host: reach.host,
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
    files: FileHost,
    host: String,
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
                let host = self.host.clone();
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
        let most = match file {
            "model.safetensors" => WEIGHTS_BYTES_MAX,
            _ => TEXT_BYTES_MAX,
        };
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(write_error(parent))?;
        let mut to = File::create(&path).map_err(write_error(&path))?;
        let url = format!("{}/{file}", self.base);
        let got = self.files.download(&url, most, &mut to, progress);
        let got = got.map_err(|source| FetchError::Download { file, source })?;
        if !got {
            fs::remove_file(&path).map_err(write_error(&path))?;
            return Ok(false);
        }
        // Durable before the rename makes the folder visible.
        to.sync_all().map_err(write_error(&path))?;
        Ok(true)
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
}
