//! `Cargo.lock`, `poetry.lock` and `uv.lock`: TOML with a list of `[[package]]` tables.

use serde::Deserialize;

use super::listing::LockfileListing;

/// The parts of the file that are read.
#[derive(Deserialize)]
struct PackageTables {
    #[serde(default)]
    package: Vec<PackageTable>,
}

#[derive(Deserialize)]
struct PackageTable {
    name: String,
    /// Missing in `uv.lock` if the project computes its version.
    version: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<LockfileListing, String> {
    let file: PackageTables = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    Ok(LockfileListing::whole(
        file.package
            .into_iter()
            .map(|it| (it.name, it.version))
            .collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_lock_may_have_a_package_in_two_versions() {
        let text = r#"
version = 4

[[package]]
name = "app"
version = "0.1.0"
dependencies = ["hashbrown 0.14.5", "tokio"]

[[package]]
name = "hashbrown"
version = "0.14.5"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "e5274423"

[[package]]
name = "hashbrown"
version = "0.15.2"

[[package]]
name = "tokio"
version = "1.40.0"
"#;
        let lines = parse(text).unwrap().lines();
        assert_eq!(
            lines,
            [
                "app 0.1.0",
                "hashbrown 0.14.5",
                "hashbrown 0.15.2",
                "tokio 1.40.0"
            ]
        );
    }

    #[test]
    fn poetry_lock_is_read() {
        let text = r#"
[[package]]
name = "django"
version = "4.2.11"
description = "A high-level Python web framework."
optional = false
python-versions = ">=3.8"
files = [{file = "Django-4.2.11-py3-none-any.whl", hash = "sha256:ddc2"}]

[package.dependencies]
asgiref = ">=3.6.0,<4"

[[package]]
name = "asgiref"
version = "3.8.1"

[metadata]
lock-version = "2.0"
content-hash = "0011"
"#;
        assert_eq!(
            parse(text).unwrap().lines(),
            ["asgiref 3.8.1", "django 4.2.11"]
        );
    }

    #[test]
    fn uv_lock_may_leave_out_the_version_of_the_project() {
        let text = r#"
version = 1
requires-python = ">=3.12"

[[package]]
name = "anyio"
version = "4.4.0"
source = { registry = "https://registry.example/simple" }
wheels = [{ url = "https://files.registry.example/x.whl", size = 86780 }]

[[package]]
name = "app"
source = { editable = "." }
"#;
        assert_eq!(parse(text).unwrap().lines(), ["anyio 4.4.0", "app ?"]);
        assert!(parse("package = 3").is_err());
    }
}
