# Sourced by the scripts beside it: Chromium as a Debian package, npm packages by their lock file.

install_chromium() {
    if [[ -z ${CHROMIUM:-} ]] && ! command -v chromium >/dev/null; then
        apt-get update --quiet && apt-get install --quiet --yes --no-install-recommends chromium fonts-dejavu-core
    fi
    export CHROMIUM=${CHROMIUM:-$(command -v chromium)}
}

install_packages() { # FROM TO
    mkdir -p "$2"
    # npm writes the inner lock file last.
    if ! cmp -s "$1/package-lock.json" "$2/package-lock.json" || [[ ! -f $2/node_modules/.package-lock.json ]]; then
        cp "$1/package.json" "$1/package-lock.json" "$2/"
        (cd "$2" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    fi
}
