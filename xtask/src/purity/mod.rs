//! Checks that `ken-core` stays pure and that crates and modules use each other as agreed.
//!
//! `layers` checks the direction of imports inside a crate, `graph` the crate graph that
//! `ARCHITECTURE.md` shows.
//!
//! What a crate *reaches* is asked of cargo, never read from a manifest: features and indirect
//! dependencies decide it. The calls that need no dependency (clock, environment, files) are banned
//! by `crates/ken-core/clippy.toml`; this chore makes sure those bans are still there.

mod graph;
mod layers;

use std::collections::BTreeSet;

use serde::Deserialize;

use xtask::repository::{Finding, Repository};

const CORE_MANIFEST: &str = "crates/ken-core/Cargo.toml";
const CORE_CLIPPY: &str = "crates/ken-core/clippy.toml";

/// Packages that bring a clock, randomness, I/O, a runtime or a database.
const IMPURE: &[&str] = &[
    "async-std",
    "cap-fs-ext",
    "cap-primitives",
    "cap-std",
    "chrono",
    "diesel",
    "fastrand",
    "futures",
    "getrandom",
    "hyper",
    "jiff",
    "libsqlite3-sys",
    "mio",
    "postgres",
    "rand",
    "rand_core",
    "reqwest",
    "rusqlite",
    "rustix",
    "smol",
    "socket2",
    "sqlx",
    "tempfile",
    "time",
    "tokio",
    "tokio-postgres",
    "ureq",
    "uuid",
    "walkdir",
];

/// What the core's clippy configuration must ban at the least.
const BANNED_METHODS: &[&str] = &[
    "std::time::SystemTime::now",
    "std::time::Instant::now",
    "std::env::var",
    "std::env::var_os",
    "std::fs::read",
    "std::fs::read_to_string",
    "std::fs::write",
];
const BANNED_TYPES: &[&str] = &[
    "std::fs::File",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::net::TcpStream",
];

/// Which of our crates each of our crates may use outside its tests.
///
/// A new arrow is a design change: it comes with `ARCHITECTURE.md` in the same commit.
const ARROWS: &[(&str, &[&str])] = &[
    ("ken-core", &[]),
    ("ken-agents", &[]),
    ("ken-anchor", &["ken-core"]),
    ("ken-digest", &["ken-core"]),
    ("ken-embed", &["ken-http"]),
    ("ken-fetch", &["ken-http"]),
    ("ken-forage", &["ken-core", "ken-digest"]),
    ("ken-guard", &["ken-core"]),
    ("ken-http", &[]),
    ("ken-index", &["ken-core", "ken-embed"]),
    ("ken-ledger", &["ken-core"]),
    ("ken-mcp", &["ken-core"]),
    ("ken-remote", &["ken-core", "ken-http"]),
    ("ken-sign", &["ken-core"]),
    ("ken-ui", &["ken-core"]),
    (
        "ken-hub",
        &[
            "ken-core",
            "ken-embed",
            "ken-guard",
            "ken-http",
            "ken-mcp",
            "ken-remote",
            "ken-sign",
            "ken-ui",
        ],
    ),
    (
        "ken-engine",
        &[
            "ken-anchor",
            "ken-core",
            "ken-digest",
            "ken-fetch",
            "ken-forage",
            "ken-guard",
            "ken-http",
            "ken-index",
            "ken-ledger",
            "ken-remote",
            "ken-sign",
        ],
    ),
    (
        "ken-cli",
        &[
            "ken-agents",
            "ken-core",
            "ken-engine",
            "ken-http",
            "ken-hub",
            "ken-mcp",
            "ken-remote",
            "ken-sign",
            "ken-ui",
        ],
    ),
    // These five never ship.
    (
        "ken-fuzz",
        &["ken-anchor", "ken-core", "ken-guard", "ken-ledger"],
    ),
    ("ken-lab", &["ken-core"]),
    ("ken-testkit", &["ken-core", "ken-remote"]),
    (
        "ken-bench",
        &[
            "ken-anchor",
            "ken-core",
            "ken-digest",
            "ken-engine",
            "ken-guard",
            "ken-hub",
            "ken-index",
            "ken-ledger",
            "ken-testkit",
            "xtask",
        ],
    ),
    ("xtask", &[]),
];

/// The part of `cargo metadata` we read.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    kind: Option<String>,
}

impl Metadata {
    fn parse(json: &str) -> Result<Self, String> {
        serde_json::from_str(json)
            .map_err(|error| format!("cannot parse the output of cargo metadata: {error}"))
    }

    /// Returns which of our crates `package` uses by dependencies of a counted kind.
    fn own_dependencies<'a>(
        &'a self,
        package: &'a Package,
        is_counted: impl Fn(Option<&str>) -> bool,
    ) -> BTreeSet<&'a str> {
        let is_ours = |name: &str| self.packages.iter().any(|it| it.name == name);
        let used = package.dependencies.iter();
        used.filter(|it| is_counted(it.kind.as_deref()) && is_ours(&it.name))
            .map(|it| it.name.as_str())
            .collect()
    }
}

/// The part of a clippy configuration we read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Clippy {
    #[serde(default)]
    disallowed_methods: Vec<Ban>,
    #[serde(default)]
    disallowed_types: Vec<Ban>,
}

/// Clippy takes a bare path or a table.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Ban {
    Path(String),
    Table { path: String },
}

impl Ban {
    fn path(&self) -> &str {
        match self {
            Self::Path(path) | Self::Table { path } => path,
        }
    }
}

pub(crate) fn check(repository: &Repository) -> Result<Vec<Finding>, String> {
    let tree = repository.run(
        "cargo",
        &[
            "tree", "-p", "ken-core", "-e", "normal", "--prefix", "none", "--target", "all",
        ],
    )?;
    let mut findings = check_tree(&tree);
    findings.extend(check_clippy(&repository.read(CORE_CLIPPY)?)?);
    let metadata = repository.run("cargo", &["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata = Metadata::parse(&metadata)?;
    findings.extend(check_arrows(&metadata));
    findings.extend(graph::check(&repository.read(graph::DOCUMENT)?, &metadata));
    findings.extend(layers::check(repository)?);
    Ok(findings)
}

fn check_tree(tree: &str) -> Vec<Finding> {
    let reached: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let mut findings: Vec<Finding> = IMPURE
        .iter()
        .filter(|package| reached.contains(*package))
        .map(|package| Finding::new(CORE_MANIFEST, 1, format!("ken-core reaches `{package}`")))
        .collect();
    if !reached.contains("ken-core") {
        findings.push(Finding::new(
            CORE_MANIFEST,
            1,
            "cargo tree did not show ken-core itself",
        ));
    }
    findings
}

fn check_clippy(text: &str) -> Result<Vec<Finding>, String> {
    let clippy: Clippy =
        toml::from_str(text).map_err(|error| format!("cannot parse `{CORE_CLIPPY}`: {error}"))?;
    let pairs = [
        (BANNED_METHODS, &clippy.disallowed_methods),
        (BANNED_TYPES, &clippy.disallowed_types),
    ];
    Ok(pairs
        .into_iter()
        .flat_map(|(wanted, bans)| {
            wanted
                .iter()
                .filter(|path| !bans.iter().any(|ban| ban.path() == **path))
        })
        .map(|path| Finding::new(CORE_CLIPPY, 1, format!("no longer bans `{path}`")))
        .collect())
}

fn check_arrows(metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &metadata.packages {
        let name = &package.name;
        let manifest = manifest_of(name);
        let Some((_, targets)) = ARROWS.iter().find(|(from, _)| from == name) else {
            let message = format!("`{name}` has no line in ARROWS of xtask/src/purity/mod.rs");
            findings.push(Finding::new(&manifest, 1, message));
            continue;
        };
        for target in metadata.own_dependencies(package, |kind| kind != Some("dev")) {
            if !targets.contains(&target) {
                let message = format!("`{name}` may not depend on `{target}`");
                findings.push(Finding::new(&manifest, 1, message));
            }
        }
    }
    findings
}

fn manifest_of(package: &str) -> String {
    match package {
        "xtask" => "xtask/Cargo.toml".to_owned(),
        "ken-bench" => "bench/Cargo.toml".to_owned(),
        "ken-fuzz" => "fuzz/Cargo.toml".to_owned(),
        _ => format!("crates/{package}/Cargo.toml"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(from: &str, to: &str, kind: &str) -> Vec<Finding> {
        let metadata = format!(
            r#"{{"packages":[
                {{"name":"{from}","dependencies":[{{"name":"{to}","kind":{kind}}}]}},
                {{"name":"{to}","dependencies":[]}}]}}"#
        );
        check_arrows(&Metadata::parse(&metadata).unwrap())
    }

    #[test]
    fn a_tree_of_pure_packages_passes() {
        let tree = "ken-core v0.1.0 (path)\nserde v1.0.1\nrandomize v3.0.0\nserde v1.0.1 (*)\n";
        assert_eq!(check_tree(tree), vec![]);
    }

    #[test]
    fn an_impure_package_anywhere_in_the_tree_is_found() {
        for package in IMPURE {
            let tree = format!("ken-core v0.1.0\nserde v1.0.1\n{package} v1.0.0\n");
            assert_eq!(check_tree(&tree).len(), 1, "{package}");
        }
    }

    #[test]
    fn a_tree_without_the_core_proves_nothing() {
        assert_eq!(check_tree("").len(), 1);
    }

    #[test]
    fn a_lost_ban_is_found() {
        let all = format!(
            "disallowed-methods = {BANNED_METHODS:?}\n\
             disallowed-types = [{{ path = \"std::fs::File\", reason = \"r\" }}]\n"
        );
        let found = check_clippy(&all).unwrap();
        assert_eq!(found.len(), BANNED_TYPES.len() - 1);
        assert_eq!(
            check_clippy("").unwrap().len(),
            BANNED_TYPES.len() + BANNED_METHODS.len()
        );
    }

    #[test]
    fn leaves_do_not_know_each_other() {
        let leaves = ["ken-guard", "ken-index", "ken-ledger"];
        for from in leaves {
            assert_eq!(arrows(from, "ken-core", "null"), vec![]);
            for to in leaves.into_iter().filter(|to| *to != from) {
                assert_eq!(arrows(from, to, "null").len(), 1, "{from} -> {to}");
                assert_eq!(arrows(from, to, "\"build\"").len(), 1, "{from} -> {to}");
                assert_eq!(arrows(from, to, "\"dev\""), vec![], "{from} -> {to}");
            }
        }
    }

    #[test]
    fn the_command_line_sees_only_the_engine_and_the_core() {
        assert_eq!(arrows("ken-cli", "ken-engine", "null"), vec![]);
        assert_eq!(arrows("ken-cli", "ken-ledger", "null").len(), 1);
        assert_eq!(arrows("ken-core", "ken-guard", "null").len(), 1);
    }

    #[test]
    fn a_crate_without_declared_arrows_is_found() {
        assert_eq!(arrows("ken-new", "ken-core", "null").len(), 1);
    }
}
