//! Names of the published packages. Generated from `packaging/release.toml`.

/// Names of Ken in the MCP registry, on PyPI and on npm.
pub(super) const MCP_NAME: &str = "io.github.ken-dev/ken";
pub(super) const PYTHON_PACKAGE: &str = "ken-knowledge";
pub(super) const NPM_PACKAGE: &str = "ken-knowledge";
