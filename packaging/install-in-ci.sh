#!/usr/bin/env bash
# Installs ken for action.yml: downloads the pinned version and verifies it, or builds it if asked.
#
# The inputs of the action come as VERSION, MIRROR, CHECKSUM, KEY and BUILD.
set -euo pipefail

prefix=$RUNNER_TEMP/ken
if [[ ${BUILD:-false} == true ]]; then
    cargo install --quiet --locked --root "$prefix" --path "$GITHUB_ACTION_PATH/crates/ken-cli"
else
    options=(--quiet --prefix "$prefix" --version "$VERSION" --mirror "$MIRROR")
    if [[ -n ${CHECKSUM:-} ]]; then options+=(--checksum "$CHECKSUM"); fi
    if [[ -n ${KEY:-} ]]; then options+=(--key "$KEY"); fi
    sh "$GITHUB_ACTION_PATH/packaging/install.sh" "${options[@]}"
fi
echo "$prefix/bin" >>"$GITHUB_PATH"
