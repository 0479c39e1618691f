//! Address and key of releases. Generated from `packaging/release.toml`.

/// Folder of releases.
pub(super) const DOWNLOADS: &str = "https://github.com/ken-dev/ken/releases";

/// Public SSH key that signs releases; empty if the project has none yet.
pub(super) const RELEASE_KEY: &str = "";
