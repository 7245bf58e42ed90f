#!/usr/bin/env bash
# Makes .venv ready: system packages, a virtual environment on the system's Python, locked dependencies.
# Safe to run any time; does nothing when nothing changed. `--dev` adds what tests and checks need.
set -euo pipefail
cd "$(dirname "$0")/.."

UV_VERSION=0.13.7
OLDEST_PYTHON=3.11
STAMP=.venv/.quire-setup

say() { printf 'setup: %s\n' "$*"; }

die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

fingerprint() {
    { cat uv.lock pyproject.toml scripts/setup.sh; pwd; } | sha256sum | cut -d' ' -f1
}

# The stamp says which lock was installed, and whether with the development tools.
up_to_date() {
    [ -x .venv/bin/quire ] && .venv/bin/python -c '' 2>/dev/null || return 1
    local installed
    installed=$(cat "$STAMP" 2>/dev/null) || return 1
    [ "$installed" = "$(fingerprint) dev" ] || [ "$installed" = "$(fingerprint) $FLAVOUR" ]
}

is_new_enough() {
    "$1" -c "import sys; sys.exit(sys.version_info[:2] < tuple(map(int, '$OLDEST_PYTHON'.split('.'))))" 2>/dev/null
}

# The system's own interpreter first: one that a version manager put in a home directory may vanish with it.
find_python() {
    local candidate
    for candidate in /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11; do
        candidate=$(command -v "$candidate" 2>/dev/null) || continue
        if is_new_enough "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

missing_packages() {
    local python
    [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
    command -v setpriv >/dev/null || echo util-linux
    # The tour of the README asks over HTTP with it.
    command -v curl >/dev/null || echo curl
    # The browser's driver is linked with it, and a minimal system has no compiler that would bring it along.
    compgen -G '/usr/lib*/libatomic.so.1' >/dev/null || compgen -G '/usr/lib/*/libatomic.so.1' >/dev/null || echo libatomic1
    if [ "$FLAVOUR" = dev ]; then
        command -v qpdf >/dev/null || echo qpdf
        command -v pdftotext >/dev/null || echo poppler-utils
        command -v redis-server >/dev/null || echo redis-server
        # Its program is not on the PATH of an ordinary user.
        [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || echo rabbitmq-server
        command -v ip >/dev/null || echo iproute2
    fi
    if ! python=$(find_python); then
        echo python3 python3-venv
    elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        # Debian and Ubuntu keep venv apart from the interpreter, one package a version.
        "$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
    fi
}

install_packages() {
    local packages
    packages=$(missing_packages | tr '\n' ' ')
    packages=${packages% }
    [ -n "$packages" ] || return 0
    command -v apt-get >/dev/null || die "please install: $packages"
    if [ "$(id -u)" -ne 0 ]; then
        die "some system packages are missing. Run this, then try again:

    sudo apt-get update && sudo $(installer) install -y --no-install-recommends $packages
"
    fi
    say "installing system packages: $packages"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2046,SC2086  # lists of words
    $(installer) install -y -qq --no-install-recommends $packages >/dev/null
}

# Tests need servers' programs, not the servers that Debian would start with them.
installer() {
    [ "$FLAVOUR" = run ] || printf 'scripts/without_daemons.sh '
    echo apt-get
}

# Printing needs Debian's headless shell. Where there is none, everything else still works.
install_browser() {
    local packages="chromium chromium-sandbox chromium-headless-shell"
    [ ! -x /usr/lib/chromium/chromium-headless-shell ] || return 0
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        say "to print PDFs, install: $packages"
        return 0
    fi
    say "installing the browser that prints: $packages"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086  # a list of words
    apt-get install -y -qq --no-install-recommends $packages >/dev/null || say "no browser here: PDFs cannot be printed"
}

make_environment() {
    local python
    if [ -x .venv/bin/python ] && is_new_enough .venv/bin/python; then
        return
    fi
    python=$(find_python) || die "no Python >= $OLDEST_PYTHON found: this needs Debian 12, Ubuntu 24.04 or newer"
    say "creating .venv with $python ($("$python" -V))"
    rm -rf .venv
    "$python" -m venv .venv
}

install_dependencies() {
    if [ "$(.venv/bin/uv --version 2>/dev/null | cut -d' ' -f2)" != "$UV_VERSION" ]; then
        say "installing uv $UV_VERSION into .venv"
        .venv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION"
    fi
    say "installing locked dependencies ($FLAVOUR)"
    local options=(--frozen --inexact --quiet)
    [ "$FLAVOUR" = dev ] || options+=(--no-dev)
    # Inexact, for uv itself lives in .venv and is not in the lock. The system's certificates: a private authority is
    # among them, and not on uv's own list.
    UV_PROJECT_ENVIRONMENT=.venv UV_PYTHON_DOWNLOADS=never UV_SYSTEM_CERTS=true \
        .venv/bin/uv sync "${options[@]}" --python .venv/bin/python
}

FLAVOUR=run
[ "${1:-}" != --dev ] || FLAVOUR=dev
if up_to_date; then
    say "up to date"
    exit 0
fi
install_packages
install_browser
make_environment
install_dependencies
echo "$(fingerprint) $FLAVOUR" > "$STAMP"
say "done"
