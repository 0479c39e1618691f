//! Signatures of decisions, made with the SSH key that the user's git signs commits with.
//!
//! A signed decision counts at a hub whoever pushes it. The setting comes from git's configuration
//! of the user or the clone, which no commit can change. Ken holds no key: `ssh-keygen` signs.

use std::io::Write as _;
use std::process::{Command, Stdio};

use ken_core::ledger::event::Event;
use ken_core::trust::authority::event_authority;
use ken_ledger::LedgerLocation;
use ken_ledger::git::GitRunner;
use ken_sign::NAMESPACE;

/// Settings of git that decide whether decisions are signed.
const SETTINGS: &str = r"^(ken\.sign|gpg\.format|commit\.gpgsign)$";

/// Program that makes SSH signatures, part of every OpenSSH client.
const PROGRAM: &str = "ssh-keygen";

/// Returns whether an event is a decision of a person, which a signature can back.
pub(crate) fn is_signable(event: &Event) -> bool {
    event.by.is_human() && event_authority(event).decides()
}

/// Returns the path of the key to sign with; `None` if decisions are not signed.
///
/// `ken.sign` decides. Without it, decisions are signed if git signs commits with an SSH key.
pub(crate) fn signing_key(place: &LedgerLocation) -> Option<String> {
    let git = GitRunner::new(&place.root, place.git.as_ref()?);
    let settings = git.output(&["config", "--get-regexp", SETTINGS]).ok()?;
    let settings = String::from_utf8_lossy(&settings).into_owned();
    // Of several values the last one counts.
    let value = |name: &str| {
        let lines = settings.lines().rev();
        let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        values.next()
    };
    let signs = value("ken.sign").map_or_else(
        || value("gpg.format") == Some("ssh") && value("commit.gpgsign") == Some("true"),
        |it| it == "true",
    );
    if !signs {
        return None;
    }
    // As a path, so that git expands `~`.
    let key = git.output(&["config", "--type=path", "--get", "user.signingkey"]);
    let key = String::from_utf8_lossy(&key.ok()?).trim().to_owned();
    (!key.is_empty()).then_some(key)
}

/// Signs an event with the key at `key`; returns the reason if that fails.
pub(crate) fn sign(event: &Event, key: &str) -> Result<String, String> {
    let bytes = event.decision_bytes().unwrap_or_default();
    sign_bytes(&bytes, NAMESPACE, key)
}

/// Signs bytes for the purpose `namespace` with the key at `key`.
pub(crate) fn sign_bytes(bytes: &[u8], namespace: &str, key: &str) -> Result<String, String> {
    let mut signing = Command::new(PROGRAM)
        .args(["-Y", "sign", "-q", "-n", namespace, "-f", key])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot run {PROGRAM}: {error}"))?;
    // Dropped at the end of the statement, which ends the input.
    let wrote = signing.stdin.take().map(|mut input| input.write_all(bytes));
    let output = signing
        .wait_with_output()
        .map_err(|error| format!("cannot run {PROGRAM}: {error}"))?;
    if !output.status.success() || !matches!(wrote, Some(Ok(()))) {
        return Err(format!("{PROGRAM} did not sign with `{key}`"));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.trim_end().to_owned())
}
