//! Address, key and package names of releases. Generated from `packaging/release.toml`.

/// Folder of releases.
pub(super) const DOWNLOADS: &str = "https://github.com/ken-dev/ken/releases";

/// Public SSH key that signs releases; empty if the project has none yet.
pub(super) const RELEASE_KEY: &str = "";

pub(super) const CRATE_NAME: &str = "ken-cli";
pub(super) const DEB_PACKAGE: &str = "ken-knowledge";
pub(super) const NPM_PACKAGE: &str = "ken-knowledge";
pub(super) const PYTHON_PACKAGE: &str = "ken-knowledge";
pub(super) const PYTHON_MODULE: &str = "ken_knowledge";
pub(super) const WINGET_PACKAGE: &str = "KenDev.Ken";
