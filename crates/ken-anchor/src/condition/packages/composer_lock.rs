//! `composer.lock`: JSON with packages and development packages.

use serde::Deserialize;

use super::listing::LockfileListing;

/// The parts of `composer.lock` that are read.
#[derive(Deserialize)]
struct ComposerLock {
    #[serde(default)]
    packages: Vec<ComposerPackage>,
    #[serde(default, rename = "packages-dev")]
    packages_dev: Vec<ComposerPackage>,
}

#[derive(Deserialize)]
struct ComposerPackage {
    name: String,
    version: String,
}

pub(super) fn parse(text: &str) -> Result<LockfileListing, String> {
    let file: ComposerLock = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let all = file.packages.into_iter().chain(file.packages_dev);
    Ok(LockfileListing::whole(
        all.map(|it| (it.name, Some(it.version))).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_for_development_count_too() {
        let text = r#"{
    "_readme": ["This file locks the dependencies of your project to a known state"],
    "content-hash": "0123",
    "packages": [
        {"name": "symfony/console", "version": "v6.4.1", "require": {"php": ">=8.1"}},
        {"name": "acme/tool", "version": "dev-main"}
    ],
    "packages-dev": [{"name": "phpunit/phpunit", "version": "10.5.3"}],
    "minimum-stability": "stable"
}"#;
        let lines = parse(text).unwrap().lines();
        assert_eq!(
            lines,
            [
                "acme/tool dev-main",
                "phpunit/phpunit 10.5.3",
                "symfony/console v6.4.1"
            ]
        );
        assert!(parse("[]]").is_err());
    }
}
