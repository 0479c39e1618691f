//! Checks of hosts and paths: reserved names, example users, internal hosts.

use super::MatchClass::{self, Example, Placeholder, Real};
use super::words;

/// Host names that cannot be a real server: reserved by RFC 2606 and RFC 6761, or generic words.
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

/// Text after the `@` of a container image reference, which otherwise reads like
/// `user:password@host`.
const DIGEST_NAMES: &[&str] = &["sha256", "sha512"];

/// Users that exist only in documentation, and accounts that every machine has.
const EXAMPLE_USERS: &[&str] = &[
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

/// First labels of module paths, which look like hosts: `mod.internal` is not one.
const MODULE_LABELS: &[&str] = &["mod", "crate", "super", "self", "pkg", "std", "serde"];

/// Classifies a URL password: an example at a reserved host, a placeholder if it is a variable, a
/// mask or a word for "password".
pub(super) fn classify_url_password(password: &str, user: &str, host: &str) -> MatchClass {
    let host = host.to_ascii_lowercase();
    // Before the host is considered: a variable is harmless on any host.
    if words::is_placeholder(password) || DIGEST_NAMES.contains(&host.as_str()) {
        return Placeholder;
    }
    let example = is_example_host(&host);
    // `postgres:postgres@localhost` is in every tutorial; on a public host it is a finding.
    if password == user && (example || is_local_host(&host)) {
        return Placeholder;
    }
    // `llmproxy:dbpassword9090@localhost` names a password for a database of one's own machine.
    let unnumbered = password.trim_end_matches(|c: char| c.is_ascii_digit());
    if is_local_host(&host) && words::is_placeholder(unnumbered) {
        return Placeholder;
    }
    if example { Example } else { Real }
}

/// Returns whether a path below `/home` or `/Users` names a person.
pub(super) fn is_personal_directory(path: &str) -> bool {
    let mut parts = path.split(['/', '\\']).filter(|part| !part.is_empty());
    let owner = match parts.next() {
        Some("home" | "Users") => parts.next(),
        // Windows: drive, `Users`, owner.
        Some(drive) if drive.ends_with(':') => parts.nth(1),
        Some(other) => Some(other),
        None => None,
    };
    owner.is_some_and(|owner| !EXAMPLE_USERS.contains(&owner.to_ascii_lowercase().as_str()))
}

/// Returns whether a dotted name with the suffix of a private network is a host.
pub(super) fn is_internal_host(host: &str) -> bool {
    // Without port and path.
    let name = host
        .split([':', '/'])
        .next()
        .unwrap_or(host)
        .to_ascii_lowercase();
    let mut labels = name.split('.');
    let first = labels.next().unwrap_or("");
    !MODULE_LABELS.contains(&first)
        && !is_example_host(&name)
        // Well-known names that are the same in every installation reveal nothing.
        && name != "metadata.google.internal"
        && name != "host.docker.internal"
        && !name.starts_with("kubernetes.default")
}

fn is_example_host(host: &str) -> bool {
    EXAMPLE_HOSTS.contains(&host) || EXAMPLE_DOMAINS.iter().any(|domain| host.ends_with(domain))
}

/// Returns whether a host is local; a name without a dot is a container, a service or this machine.
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
        assert_eq!(classify_url_password("hunter2", "app", "db.corp.io"), Real);
        assert_eq!(
            classify_url_password("hunter2", "app", "db.example.com"),
            Example
        );
        assert_eq!(
            classify_url_password("dbpassword9090", "app", "localhost"),
            Placeholder
        );
        assert_eq!(
            classify_url_password("dbpassword9090", "app", "db.corp.io"),
            Real
        );
        assert_eq!(
            classify_url_password("postgres", "postgres", "localhost"),
            Placeholder
        );
        assert_eq!(classify_url_password("1.2", "app", "sha256"), Placeholder);
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
            assert!(!is_personal_directory(&path), "{path}");
        }
        for path in [
            folder("home", "mkessler"),
            folder("Users", "Priya"),
            folder("root", "deploy"),
            r"C:\Users\tomas\x".to_owned(),
        ] {
            assert!(is_personal_directory(&path), "{path}");
        }
    }

    #[test]
    fn reserved_and_container_names_are_no_internal_hosts() {
        for host in [
            "mod.internal",
            "host.docker.internal:80",
            "kubernetes.default.svc.cluster.local",
        ] {
            assert!(!is_internal_host(host), "{host}");
        }
        assert!(is_internal_host("ci7.build.corp:8080/job"));
    }
}
