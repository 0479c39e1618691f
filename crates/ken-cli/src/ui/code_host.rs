//! The repository's page at its code host, from the URL of git's remote.

use std::path::Path;
use std::process::{Command, Stdio};

use ken_ui::source::{CodeHost, CodeHostKind};

/// Returns the page of the remote `origin`, if its host is known.
pub(super) fn find(root: &Path, commit: Option<String>) -> Option<CodeHost> {
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["config", "--get", "remote.origin.url"])
        .stdin(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    let remote = String::from_utf8(output.stdout).ok()?;
    let (url, kind) = parse_remote(remote.trim())?;
    Some(CodeHost {
        url,
        kind,
        commit: commit?,
    })
}

/// Returns the web page of a remote's URL. Only hosts whose addresses are known have one.
fn parse_remote(remote: &str) -> Option<(String, CodeHostKind)> {
    let rest = match remote.split_once("://") {
        Some(("https" | "ssh" | "git", rest)) => rest.to_owned(),
        Some(_) => return None,
        // `git@host:owner/repository`
        None => remote.replacen(':', "/", 1),
    };
    // Credentials must not reach a page.
    let rest = rest
        .rsplit_once('@')
        .map_or(rest.as_str(), |(_, rest)| rest);
    let (host, path) = rest.split_once('/')?;
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let path = path.trim_matches('/').trim_end_matches(".git");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.~/".contains(c);
    if path.is_empty() || !path.chars().all(is_plain) || !host.chars().all(is_plain) {
        return None;
    }
    let kind = match host {
        "github.com" => CodeHostKind::GitHub,
        "bitbucket.org" => CodeHostKind::Bitbucket,
        "codeberg.org" | "gitea.com" => CodeHostKind::Gitea,
        "git.sr.ht" => CodeHostKind::Sourcehut,
        it if it.starts_with("gitlab.") => CodeHostKind::GitLab,
        _ => return None,
    };
    Some((format!("https://{host}/{path}"), kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_of_known_hosts_have_a_page() {
        for (remote, page) in [
            ("https://github.com/o/r.git", Some("https://github.com/o/r")),
            ("git@github.com:o/r.git", Some("https://github.com/o/r")),
            (
                "ssh://git@gitlab.com:22/g/s/r",
                Some("https://gitlab.com/g/s/r"),
            ),
            (
                "https://user:secret@codeberg.org/o/r",
                Some("https://codeberg.org/o/r"),
            ),
            ("git@git.sr.ht:~u/r", Some("https://git.sr.ht/~u/r")),
            ("/srv/git/r.git", None),
            ("file:///srv/r", None),
            ("https://example.org/o/r", None),
            ("https://github.com/o/\"onclick", None),
        ] {
            assert_eq!(
                parse_remote(remote).map(|it| it.0).as_deref(),
                page,
                "{remote}"
            );
        }
    }
}
