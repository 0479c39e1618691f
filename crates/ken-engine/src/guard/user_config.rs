//! Per-user configuration and data of the guard, never stored in a repository.
//!
//! | file | content |
//! |---|---|
//! | `guard.toml` | names that must not be written, weights of the admission signals |
//! | `guard.key` | 32-byte key for fingerprints of secrets |
//! | `seen-secrets` | fingerprints of redacted secrets, one per line |

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use ken_core::values::id::IdSource;
use ken_guard::quality::QualityWeights;
use ken_guard::{FingerprintKey, GuardPolicy, SecretFingerprint};
use ken_ledger::restrict_to_owner;
use serde::Deserialize;

use super::Guard;
use crate::error::EngineError;

const CONFIG_FILE: &str = "guard.toml";
const KEY_FILE: &str = "guard.key";
const SEEN_FILE: &str = "seen-secrets";

/// Maximum number of stored fingerprints; later ones are dropped.
const SEEN_MAX: usize = 10_000;

/// Directories of a user's files.
#[derive(Clone, Debug)]
pub struct GuardHome {
    /// Directory of `guard.toml`.
    pub config: PathBuf,
    /// Directory of the key and the fingerprints.
    pub data: PathBuf,
}

/// Contents of `guard.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct GuardConfigFile {
    names: Vec<String>,
    weights: Option<WeightsPart>,
}

/// Table `weights` of `guard.toml`.
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
    /// Loads the guard of this user; the default without files.
    pub fn load(&self) -> Result<Guard, EngineError> {
        let path = self.config.join(CONFIG_FILE);
        let unreadable =
            |why: String| EngineError::Usage(format!("cannot read your {CONFIG_FILE}: {why}"));
        let file: GuardConfigFile = match fs::read_to_string(path) {
            Ok(text) => toml::from_str(&text).map_err(|e| unreadable(e.message().to_owned()))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => GuardConfigFile::default(),
            Err(e) => return Err(unreadable(e.to_string())),
        };
        let mut policy = GuardPolicy::default().with_names(file.names.iter().map(String::as_str));
        if let Some(key) = self.load_key() {
            policy = policy.with_known(key, self.load_fingerprints());
        }
        Ok(Guard {
            policy,
            weights: file
                .weights
                .map_or_else(QualityWeights::default, Into::into),
            redacts: false,
        })
    }

    /// Creates the key if there is none. Must run before secrets are redacted.
    pub fn ensure_key(&self, dice: &mut dyn IdSource) -> Result<(), EngineError> {
        if self.load_key().is_some() {
            return Ok(());
        }
        // Two draws of 128 bits make the 32 bytes of a key.
        let (one, other) = (dice.random().to_le_bytes(), dice.random().to_le_bytes());
        let bytes = [one, other].concat();
        let kept = fs::create_dir_all(&self.data)
            // `create_new` never overwrites a key: old fingerprints would become useless.
            .and_then(|()| {
                restrict_to_owner(OpenOptions::new().write(true).create_new(true))
                    .open(self.data.join(KEY_FILE))
            })
            .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()));
        match kept {
            Ok(()) => Ok(()),
            // Another process created the key first.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(e) => Err(EngineError::Usage(format!(
                "cannot write your {KEY_FILE}: {e}"
            ))),
        }
    }

    /// Stores the fingerprints of redacted secrets.
    pub fn store_fingerprints(&self, prints: &BTreeSet<String>) -> Result<(), EngineError> {
        let seen = self.load_fingerprints();
        let new: Vec<&String> = prints
            .iter()
            .filter(|print| SecretFingerprint::parse(print).is_some_and(|it| !seen.contains(&it)))
            .collect();
        if new.is_empty() || seen.len() >= SEEN_MAX {
            return Ok(());
        }
        let lines: String = new.iter().map(|print| format!("{print}\n")).collect();
        restrict_to_owner(OpenOptions::new().append(true).create(true))
            .open(self.data.join(SEEN_FILE))
            .and_then(|mut file| file.write_all(lines.as_bytes()))
            .map_err(|e| {
                EngineError::Usage(format!(
                    "cannot store the fingerprints of redacted secrets: {e}"
                ))
            })
    }

    /// Reads the key; `None` if it is missing or not 32 bytes long.
    fn load_key(&self) -> Option<FingerprintKey> {
        let bytes = fs::read(self.data.join(KEY_FILE)).ok()?;
        Some(FingerprintKey::new(bytes.try_into().ok()?))
    }

    /// Reads the fingerprints. Invalid lines are ignored.
    fn load_fingerprints(&self) -> BTreeSet<SecretFingerprint> {
        let text = fs::read_to_string(self.data.join(SEEN_FILE)).unwrap_or_default();
        text.lines()
            .filter_map(SecretFingerprint::parse)
            .take(SEEN_MAX)
            .collect()
    }
}

impl From<WeightsPart> for QualityWeights {
    fn from(part: WeightsPart) -> Self {
        Self {
            confidence: part.confidence,
            scanner: part.scanner,
            provenance: part.provenance,
            trust: part.trust,
            mass: part.mass,
            prior: part.prior,
            recency: part.recency,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ken_core::values::time::Timestamp;
    use ken_guard::TextMode;

    use super::*;
    use crate::runtime::FixedRuntime;

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
        assert_eq!(guard.weights, QualityWeights::default());
    }

    #[test]
    fn what_was_replaced_once_is_recognized_in_the_next_process() {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        let mut dice = FixedRuntime::new(Timestamp::from_millis(1), 7);
        home.ensure_key(&mut dice).unwrap();
        home.ensure_key(&mut dice).unwrap();
        let key = home.load_key().unwrap();
        let print = key.fingerprint("tulips-in-march").as_str().to_owned();
        home.store_fingerprints(&BTreeSet::from([print.clone()]))
            .unwrap();
        home.store_fingerprints(&BTreeSet::from([print, "no print".to_owned()]))
            .unwrap();
        assert_eq!(home.load_fingerprints().len(), 1);
        let guard = home.load().unwrap();
        let text = "say tulips-in-march at the door";
        let redacted = ken_guard::redact(&guard.policy, text, TextMode::Prose);
        assert_eq!(redacted.text, "say [REDACTED:known-secret] at the door");
    }

    #[test]
    fn weights_and_names_can_be_configured_and_mistakes_are_told() {
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
        home.ensure_key(&mut FixedRuntime::new(Timestamp::from_millis(1), 7))
            .unwrap();
        let mode = fs::metadata(home.data.join(KEY_FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
