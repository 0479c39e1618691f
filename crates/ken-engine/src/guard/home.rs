//! What the guard knows for one user, on this machine: nothing of it ever lies in a repository.
//!
//! | file | says |
//! |---|---|
//! | `guard.toml` | names not to be written, what each signal of a new entry counts for |
//! | `guard.key` | 32 bytes that fingerprints of secrets are made with |
//! | `seen-secrets` | fingerprints of secrets that were replaced before, one a line |

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use ken_core::id::IdSource;
use ken_guard::admission::Weights;
use ken_guard::{Fingerprint, FingerprintKey, Policy};
use serde::Deserialize;

use super::Guard;
use crate::error::Error;

const CONFIG_FILE: &str = "guard.toml";
const KEY_FILE: &str = "guard.key";
const SEEN_FILE: &str = "seen-secrets";

/// Fingerprints kept; beyond them none is added.
const SEEN_MAX: usize = 10_000;

/// Where a user's files lie.
#[derive(Clone, Debug)]
pub struct GuardHome {
    /// The folder of `guard.toml`.
    pub config: PathBuf,
    /// The folder of the key and of what was seen.
    pub data: PathBuf,
}

/// What `guard.toml` may say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ConfigFile {
    names: Vec<String>,
    weights: Option<WeightsPart>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightsPart {
    confidence: f64,
    scanner: f64,
    provenance: f64,
    trust: f64,
    mass: f64,
    prior: f64,
    recency: f64,
}

impl GuardHome {
    /// Reads what this user's guard goes by; a user without files has the default.
    pub fn load(&self) -> Result<Guard, Error> {
        let path = self.config.join(CONFIG_FILE);
        let unreadable =
            |why: String| Error::Usage(format!("cannot read your {CONFIG_FILE}: {why}"));
        let file: ConfigFile = match fs::read_to_string(path) {
            Ok(text) => toml::from_str(&text).map_err(|e| unreadable(e.message().to_owned()))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => ConfigFile::default(),
            Err(e) => return Err(unreadable(e.to_string())),
        };
        let mut policy = Policy::default().with_names(file.names.iter().map(String::as_str));
        if let Some(key) = self.key() {
            policy = policy.with_known(key, self.seen());
        }
        Ok(Guard {
            policy,
            weights: file.weights.map_or_else(Weights::default, Into::into),
            redacts: false,
        })
    }

    /// Makes the key if there is none yet: before somebody asks for secrets to be replaced.
    pub fn ensure_key(&self, dice: &mut dyn IdSource) -> Result<(), Error> {
        if self.key().is_some() {
            return Ok(());
        }
        let (one, other) = (dice.random().to_le_bytes(), dice.random().to_le_bytes());
        let bytes = [one, other].concat();
        let kept = fs::create_dir_all(&self.data)
            .and_then(|()| {
                private(OpenOptions::new().write(true).create_new(true))
                    .open(self.data.join(KEY_FILE))
            })
            .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()));
        match kept {
            Ok(()) => Ok(()),
            // Another process was first.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(e) => Err(Error::Usage(format!("cannot keep your {KEY_FILE}: {e}"))),
        }
    }

    /// Remembers what replaced secrets are recognised by.
    pub fn remember(&self, prints: &BTreeSet<String>) -> Result<(), Error> {
        let seen = self.seen();
        let new: Vec<&String> = prints
            .iter()
            .filter(|print| Fingerprint::parse(print).is_some_and(|it| !seen.contains(&it)))
            .collect();
        if new.is_empty() || SEEN_MAX <= seen.len() {
            return Ok(());
        }
        let lines: String = new.iter().map(|print| format!("{print}\n")).collect();
        private(OpenOptions::new().append(true).create(true))
            .open(self.data.join(SEEN_FILE))
            .and_then(|mut file| file.write_all(lines.as_bytes()))
            .map_err(|e| Error::Usage(format!("cannot remember what was replaced: {e}")))
    }

    fn key(&self) -> Option<FingerprintKey> {
        let bytes = fs::read(self.data.join(KEY_FILE)).ok()?;
        Some(FingerprintKey::new(bytes.try_into().ok()?))
    }

    fn seen(&self) -> BTreeSet<Fingerprint> {
        let text = fs::read_to_string(self.data.join(SEEN_FILE)).unwrap_or_default();
        text.lines()
            .filter_map(Fingerprint::parse)
            .take(SEEN_MAX)
            .collect()
    }
}

impl From<WeightsPart> for Weights {
    fn from(it: WeightsPart) -> Self {
        Self {
            confidence: it.confidence,
            scanner: it.scanner,
            provenance: it.provenance,
            trust: it.trust,
            mass: it.mass,
            prior: it.prior,
            recency: it.recency,
        }
    }
}

/// Nobody else on this machine may read what is opened.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ken_core::time::Timestamp;
    use ken_guard::TextMode;

    use super::*;
    use crate::world::FixedWorld;

    fn home(dir: &Path) -> GuardHome {
        GuardHome {
            config: dir.to_owned(),
            data: dir.join("data"),
        }
    }

    #[test]
    fn a_user_without_files_has_the_default_guard() {
        let dir = tempfile::tempdir().unwrap();
        let guard = home(dir.path()).load().unwrap();
        assert!(guard.policy.key().is_none());
        assert_eq!(guard.weights, Weights::default());
    }

    #[test]
    fn what_was_replaced_once_is_recognised_in_the_next_process() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        let mut dice = FixedWorld::new(Timestamp::from_millis(1), 7);
        home.ensure_key(&mut dice).unwrap();
        home.ensure_key(&mut dice).unwrap();
        let key = home.key().unwrap();
        let print = key.fingerprint("tulips-in-march").as_str().to_owned();
        home.remember(&BTreeSet::from([print.clone()])).unwrap();
        home.remember(&BTreeSet::from([print, "no print".to_owned()]))
            .unwrap();
        assert_eq!(home.seen().len(), 1);
        let guard = home.load().unwrap();
        let text = "say tulips-in-march at the door";
        let redacted = ken_guard::redact(&guard.policy, text, TextMode::Prose);
        assert_eq!(redacted.text, "say [REDACTED:known-secret] at the door");
    }

    #[test]
    fn sec_14_weights_and_names_can_be_configured_and_mistakes_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        let text = "names = [\"ACME\"]\n[weights]\nconfidence = 1\nscanner = 0\nprovenance = 0\ntrust = 0\nmass = 0\nprior = 0\nrecency = 0\n";
        fs::write(dir.path().join(CONFIG_FILE), text).unwrap();
        let guard = home.load().unwrap();
        assert!((guard.weights.confidence - 1.0).abs() < f64::EPSILON);
        fs::write(dir.path().join(CONFIG_FILE), "name = 1\n").unwrap();
        let told = home.load().unwrap_err().to_string();
        assert!(told.starts_with("cannot read your guard.toml"), "{told}");
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_the_key() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        home.ensure_key(&mut FixedWorld::new(Timestamp::from_millis(1), 7))
            .unwrap();
        let mode = fs::metadata(home.data.join(KEY_FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
