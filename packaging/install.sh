#!/bin/sh
# Installs ken for the current user, upgrades it in place, or removes it. Needs no root.
#
#   curl -fsSL .../install.sh | sh
#   sh install.sh --version 0.1.0 --prefix "$HOME/.local"
#   sh install.sh --uninstall
#
# The archive must match a checksum in SHA256SUMS, and SHA256SUMS must have a valid SSH signature of
# the release key. Nothing is changed before both are verified. The file share/ken/receipt lists the
# installed files; --uninstall removes exactly those.
set -eu

# Generated from packaging/release.toml. release:begin
KEN_DOWNLOADS='https://github.com/ken-dev/ken/releases'
KEN_RELEASE_KEY=''
# release:end

# Namespace of release signatures; a signature for another purpose does not count.
SIGNATURE_NAMESPACE=ken-release

usage() {
    cat <<USAGE
usage: install.sh [options]

  --version VERSION   install this version; the latest one by default
  --prefix DIR        install to DIR/bin and DIR/share; ~/.local by default
  --mirror URL        folder of releases; \$KEN_INSTALL_MIRROR or the project's by default
  --key FILE          public SSH key that signs releases; \$KEN_INSTALL_KEY or the project's by default
  --checksum SHA256   accept only an archive with this checksum; replaces the signature
  --archive FILE      install this archive without a download; needs --version and --checksum
  --no-signature      verify the checksum in SHA256SUMS only
  --uninstall         remove what this script installed to the prefix
  --quiet             print errors only
USAGE
}

say() {
    if [ "$quiet" = no ]; then printf '%s\n' "$*"; fi
}

fail() {
    printf 'error: %s\n' "$1" >&2
    if [ $# -gt 1 ]; then printf '\nhint: %s\n' "$2" >&2; fi
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# Prints the target of this machine.
detect_target() {
    system=$(uname -s)
    machine=$(uname -m)
    case $machine in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "there is no build for $machine" ;;
    esac
    case $system in
        Linux)
            # Alpine and others without glibc cannot run the program.
            if has ldd && ldd --version 2>&1 | grep -qi musl; then
                fail "there is no build for systems with musl instead of glibc"
            fi
            echo "$machine-unknown-linux-gnu"
            ;;
        Darwin) echo "$machine-apple-darwin" ;;
        *) fail "there is no build for $system" "on Windows, use install.ps1" ;;
    esac
}

# Downloads $1 to the file $2.
download() {
    case $1 in
        https://* | http://127.0.0.1:* | http://localhost:* | file://*) ;;
        *) fail "$1 is not an https address" ;;
    esac
    if has curl; then
        curl --fail --silent --show-error --location --proto-redir '=https' --retry 2 --output "$2" "$1" \
            || fail "cannot download $1"
    elif has wget; then
        wget --quiet --output-document="$2" "$1" || fail "cannot download $1"
    else
        fail "neither curl nor wget is installed"
    fi
}

# Prints the SHA-256 checksum of a file.
checksum_of() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "neither sha256sum nor shasum is installed"
    fi
}

# Verifies the signature of the file $1 with its signature $2.
verify_signature() {
    if [ -z "$key" ]; then
        fail "this installer has no release key" \
            "pass --key FILE, or --no-signature to verify the checksum only"
    fi
    if ! has ssh-keygen; then
        fail "ssh-keygen is not installed, so the signature cannot be verified" \
            "install an OpenSSH client, or pass --checksum or --no-signature"
    fi
    printf 'ken-release namespaces="%s" %s\n' "$SIGNATURE_NAMESPACE" "$key" >"$work/signers"
    ssh-keygen -q -Y verify -f "$work/signers" -I ken-release -n "$SIGNATURE_NAMESPACE" -s "$2" \
        <"$1" >/dev/null 2>&1 || fail "the signature of SHA256SUMS is not valid; nothing was installed"
}

# Prints the checksum of the file $1 in SHA256SUMS.
listed_checksum() {
    awk -v name="$1" '$2 == name { print $1 }' "$work/SHA256SUMS"
}

# Removes the files of a receipt ($1) that are not in another one ($2), and emptied folders.
remove_files() {
    grep -v '^#' "$1" | while IFS= read -r file; do
        if [ -n "$2" ] && grep -qxF "$file" "$2"; then continue; fi
        # A receipt names files below the prefix only.
        case $file in
            /* | *..*) continue ;;
        esac
        rm -f "$prefix/$file"
        folder=$(dirname "$file")
        while [ "$folder" != . ] && rmdir "$prefix/$folder" 2>/dev/null; do
            folder=$(dirname "$folder")
        done
    done
}

uninstall() {
    if [ ! -f "$receipt" ]; then
        fail "there is no $receipt, so this script installed nothing to $prefix"
    fi
    cp "$receipt" "$work/receipt"
    rm "$receipt"
    rmdir "$prefix/share/ken" 2>/dev/null || true
    remove_files "$work/receipt" ""
    say "removed ken from $prefix; knowledge in your repositories stays"
}

# Copies and verifies an archive that is already on this machine.
fetch_local() {
    if [ -z "$version" ] || [ -z "$checksum" ]; then
        fail "--archive needs --version and --checksum"
    fi
    archive=ken-$version-$target.tar.gz
    cp "$archive_file" "$work/$archive" || fail "cannot read $archive_file"
    expect_checksum "$checksum"
}

# Compares the checksum of the archive with the given one.
expect_checksum() {
    found=$(checksum_of "$work/$archive")
    [ "$found" = "$1" ] || fail "$archive has the checksum $found instead of $1; nothing was installed"
}

# Downloads and verifies the archive; sets `archive` and `version`.
fetch() {
    if [ -n "$version" ]; then
        from=$mirror/download/v$version
    else
        from=$mirror/latest/download
    fi
    if [ -z "$checksum" ] || [ -z "$version" ]; then
        download "$from/SHA256SUMS" "$work/SHA256SUMS"
        if [ "$signature" = yes ] && [ -z "$checksum" ]; then
            download "$from/SHA256SUMS.sig" "$work/SHA256SUMS.sig"
            verify_signature "$work/SHA256SUMS" "$work/SHA256SUMS.sig"
        fi
    fi
    if [ -z "$version" ]; then
        version=$(sed -n "s/^[0-9a-f]*  ken-\(.*\)-$target\.tar\.gz\$/\1/p" "$work/SHA256SUMS")
        [ -n "$version" ] || fail "the latest release has no build for $target"
    fi
    archive=ken-$version-$target.tar.gz
    wanted=${checksum:-$(listed_checksum "$archive")}
    [ -n "$wanted" ] || fail "SHA256SUMS does not list $archive"
    download "$from/$archive" "$work/$archive"
    expect_checksum "$wanted"
}

install() {
    if [ -e "$prefix/bin/ken" ] && [ ! -f "$receipt" ]; then
        fail "$prefix/bin/ken exists and was not installed by this script" \
            "remove it, or choose another folder with --prefix"
    fi
    target=$(detect_target)
    if [ -n "$archive_file" ]; then fetch_local; else fetch; fi
    mkdir "$work/unpacked"
    tar -xzf "$work/$archive" -C "$work/unpacked" || fail "cannot unpack $archive"
    tree=$work/unpacked/ken-$version-$target
    # A program that does not start here must not replace one that does.
    "$tree/bin/ken" --version >/dev/null || fail "this build of ken does not start on this machine"
    (cd "$tree" && find . -type f | sed 's|^\./||' | sort) >"$work/files"
    while IFS= read -r file; do
        mkdir -p "$prefix/$(dirname "$file")"
        # Copied next to its place and renamed: a running ken keeps its old file.
        cp "$tree/$file" "$prefix/$file.new"
        mv -f "$prefix/$file.new" "$prefix/$file"
    done <"$work/files"
    {
        echo "# Files of ken, written by install.sh. Remove them with: install.sh --uninstall"
        echo "# version $version"
        cat "$work/files"
    } >"$work/receipt"
    if [ -f "$receipt" ]; then remove_files "$receipt" "$work/receipt"; fi
    mkdir -p "$prefix/share/ken"
    cp "$work/receipt" "$receipt.new"
    mv -f "$receipt.new" "$receipt"
    say "installed ken $version to $prefix/bin/ken"
    case :$PATH: in
        *:"$prefix/bin":*) ;;
        *) say "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
    esac
}

main() {
    quiet=no
    action=install
    signature=yes
    checksum=
    archive_file=
    version=${KEN_INSTALL_VERSION:-}
    prefix=${KEN_INSTALL_PREFIX:-${HOME:-}/.local}
    mirror=${KEN_INSTALL_MIRROR:-$KEN_DOWNLOADS}
    key_file=${KEN_INSTALL_KEY:-}
    while [ $# -gt 0 ]; do
        case $1 in
            --version | --prefix | --mirror | --key | --checksum | --archive)
                [ $# -ge 2 ] || fail "$1 needs a value"
                case $1 in
                    --version) version=${2#v} ;;
                    --prefix) prefix=$2 ;;
                    --mirror) mirror=$2 ;;
                    --key) key_file=$2 ;;
                    --checksum) checksum=$2 ;;
                    --archive) archive_file=$2 ;;
                esac
                shift
                ;;
            --no-signature) signature=no ;;
            --uninstall) action=uninstall ;;
            --quiet) quiet=yes ;;
            -h | --help)
                usage
                exit 0
                ;;
            *) fail "unknown option $1" "sh install.sh --help" ;;
        esac
        shift
    done
    key=$KEN_RELEASE_KEY
    if [ -n "$key_file" ]; then key=$(cat "$key_file"); fi
    mirror=${mirror%/}
    receipt=$prefix/share/ken/receipt
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    "$action"
}

# The last line: a download that broke off runs nothing.
main "$@"
