//! Where a URL or a path points, as far as it says whether it is real.

use super::Likeness::{self, Example, Placeholder, Real};
use super::words;

/// Names that cannot be a real server: RFC 2606 and RFC 6761 reserve them, or they are the word itself.
const EXAMPLE_HOSTS: &[&str] = &[
    "example.com",
    "example.net",
    "example.org",
    "host",
    "hostname",
    "server",
];

const EXAMPLE_DOMAINS: &[&str] = &[
    ".example",
    ".example.com",
    ".example.net",
    ".example.org",
    ".invalid",
    ".test",
];

/// What follows the `@` of a container image reference, which otherwise reads like `user:password@host`.
const DIGEST_NAMES: &[&str] = &["sha256", "sha512"];

/// People that exist in documentation only, and accounts that every machine has.
const NOBODY: &[&str] = &[
    "user",
    "username",
    "me",
    "you",
    "yourname",
    "your-name",
    "foo",
    "bar",
    "alice",
    "bob",
    "john",
    "jane",
    "runner",
    "vscode",
    "app",
    "node",
    "git",
    "ubuntu",
    "linuxbrew",
    "name",
    "dev",
    "docker",
];

/// Last labels that end file names more often than hosts: `Cargo.lan` is none, `mod.internal` may be.
const FILE_LIKE: &[&str] = &["mod", "crate", "super", "self", "pkg", "std", "serde"];

/// Lowers what points at a reserved host; refuses variables, masks and words for "password".
pub(super) fn url_password(password: &str, user: &str, host: &str) -> Likeness {
    let host = host.to_ascii_lowercase();
    if words::is_placeholder(password) || DIGEST_NAMES.contains(&host.as_str()) {
        return Placeholder;
    }
    let example = is_example_host(&host);
    // `postgres:postgres@localhost` is what every tutorial has; on a public host it is a finding.
    if password == user && (example || is_local_host(&host)) {
        return Placeholder;
    }
    if example { Example } else { Real }
}

/// Returns whether a path below `/home` or `/Users` names somebody.
pub(super) fn is_own_folder(path: &str) -> bool {
    let mut parts = path.split(['/', '\\']).filter(|part| !part.is_empty());
    let owner = match parts.next() {
        Some("home" | "Users") => parts.next(),
        Some(drive) if drive.ends_with(':') => parts.nth(1),
        Some(other) => Some(other),
        None => None,
    };
    owner.is_some_and(|owner| !NOBODY.contains(&owner.to_ascii_lowercase().as_str()))
}

/// Returns whether a dotted name that ends like a private network is a host.
pub(super) fn is_internal(host: &str) -> bool {
    let name = host
        .split([':', '/'])
        .next()
        .unwrap_or(host)
        .to_ascii_lowercase();
    let mut labels = name.split('.');
    let first = labels.next().unwrap_or("");
    !FILE_LIKE.contains(&first)
        && !is_example_host(&name)
        && name != "metadata.google.internal"
        && name != "host.docker.internal"
        && !name.starts_with("kubernetes.default")
}

fn is_example_host(host: &str) -> bool {
    EXAMPLE_HOSTS.contains(&host) || EXAMPLE_DOMAINS.iter().any(|domain| host.ends_with(domain))
}

/// A name without a dot is a container, a service or this machine.
fn is_local_host(host: &str) -> bool {
    !host.contains('.')
        || host.starts_with("127.")
        || host == "0.0.0.0"
        || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_at_a_reserved_host_is_an_example() {
        assert_eq!(url_password("hunter2", "app", "db.corp.io"), Real);
        assert_eq!(url_password("hunter2", "app", "db.example.com"), Example);
        assert_eq!(
            url_password("postgres", "postgres", "localhost"),
            Placeholder
        );
        assert_eq!(url_password("1.2", "app", "sha256"), Placeholder);
    }

    #[test]
    fn folders_of_nobody_are_nobodys() {
        let folder = |top: &str, owner: &str| format!("/{top}/{owner}/x");
        for path in [
            folder("home", "user"),
            folder("home", "runner"),
            folder("Users", "me"),
            r"C:\Users\username\x".to_owned(),
        ] {
            assert!(!is_own_folder(&path), "{path}");
        }
        for path in [
            folder("home", "mkessler"),
            folder("Users", "Priya"),
            folder("root", "deploy"),
            r"C:\Users\tomas\x".to_owned(),
        ] {
            assert!(is_own_folder(&path), "{path}");
        }
    }

    #[test]
    fn reserved_and_container_names_are_no_internal_hosts() {
        for host in [
            "mod.internal",
            "host.docker.internal:80",
            "kubernetes.default.svc.cluster.local",
        ] {
            assert!(!is_internal(host), "{host}");
        }
        assert!(is_internal("ci7.build.corp:8080/job"));
    }
}
