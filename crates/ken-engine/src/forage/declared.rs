//! Hosts that the manifest of a package names.

use ken_core::values::condition::Ecosystem;
use serde_json::Value;

/// Returns the hosts that the manifest of a package names, besides those where anybody can publish.
pub(super) fn declared_hosts(ecosystem: Ecosystem, manifest: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for url in manifest_urls(ecosystem, manifest) {
        let host = url
            .trim_start_matches("git+")
            .strip_prefix("https://")
            .and_then(|it| it.split(['/', '?', '#', ':', '@']).next())
            .map(str::to_lowercase);
        let Some(host) = host.filter(|it| it.contains('.')) else {
            continue;
        };
        let is_shared = SHARED_HOSTS.iter().any(|shared| host.ends_with(shared));
        if !is_shared && !found.contains(&host) {
            found.push(host);
        }
    }
    found.truncate(DECLARED_MAX);
    found
}

/// Maximum number of hosts that one package declares.
const DECLARED_MAX: usize = 3;

/// Hosts on which anybody can publish. Allowing them for one project would allow every other.
const SHARED_HOSTS: [&str; 8] = [
    "bitbucket.org",
    "codeberg.org",
    "docs.rs",
    "github.com",
    "githubusercontent.com",
    "gitlab.com",
    "pypi.org",
    "sr.ht",
];

fn manifest_urls(ecosystem: Ecosystem, manifest: &str) -> Vec<String> {
    let texts = |values: Vec<Option<&str>>| -> Vec<String> {
        values.into_iter().flatten().map(str::to_owned).collect()
    };
    match ecosystem {
        Ecosystem::Cargo => {
            let parsed: toml::Table = toml::from_str(manifest).unwrap_or_default();
            let package = parsed.get("package").and_then(toml::Value::as_table);
            let key = |key: &str| package.and_then(|it| it.get(key)?.as_str());
            texts(vec![
                key("documentation"),
                key("homepage"),
                key("repository"),
            ])
        }
        Ecosystem::Npm => {
            let parsed: Value = serde_json::from_str(manifest).unwrap_or_default();
            let repository = parsed.get("repository");
            let url = repository.and_then(|it| it.get("url").or(Some(it))?.as_str());
            let homepage = parsed.get("homepage").and_then(Value::as_str);
            texts(vec![homepage, url])
        }
        Ecosystem::Pypi => {
            let head = manifest.split("\n\n").next().unwrap_or_default();
            let url = |line: &str| {
                let value = line.strip_prefix("Home-page: ").or_else(|| {
                    // `Project-URL: Documentation, https://…`
                    Some(line.strip_prefix("Project-URL: ")?.split_once(", ")?.1)
                });
                value.map(|it| it.trim().to_owned())
            };
            head.lines().filter_map(url).collect()
        }
        Ecosystem::Composer | Ecosystem::Gem | Ecosystem::Golang | Ecosystem::Maven => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_declares_hosts_but_none_where_anybody_publishes() {
        let cargo = "[package]\nname = \"a\"\ndocumentation = \"https://docs.Site.org/a\"\n\
            homepage = \"https://site.org\"\nrepository = \"https://github.com/a/a\"\n";
        assert_eq!(
            declared_hosts(Ecosystem::Cargo, cargo),
            ["docs.site.org", "site.org"]
        );
        let npm = r#"{"homepage": "http://plain.org", "repository": {"url": "git+https://code.site.org/a.git"}}"#;
        assert_eq!(declared_hosts(Ecosystem::Npm, npm), ["code.site.org"]);
        let python = "Name: a\nHome-page: https://a.readthedocs.io\n\
            Project-URL: Source, https://github.com/a/a\n\nhttps://body.org";
        assert_eq!(
            declared_hosts(Ecosystem::Pypi, python),
            ["a.readthedocs.io"]
        );
        for bad in [
            "https://user@evil.org/",
            "file:///etc",
            "https://localhost/",
        ] {
            let cargo = format!("[package]\nhomepage = \"{bad}\"\n");
            let found = declared_hosts(Ecosystem::Cargo, &cargo);
            assert!(
                !found.iter().any(|it| it == "localhost" || it == "evil.org"),
                "{found:?}"
            );
        }
    }
}
