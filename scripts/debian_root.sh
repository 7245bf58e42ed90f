# shellcheck shell=bash
# For scripts/fresh-machine-check and scripts/image-check to source: a minimal Debian in a directory, made from the sources
# that this machine's apt uses, and what it needs to reach the same registries as this machine.

CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/quire
DEBIAN=bookworm
WORK=
CHILD=
PROGRAM=

# Makes WORK, a directory that goes when the script ends, however it does.
make_work() {
    trap clean EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    mkdir -p "$CACHE"
    WORK=$(mktemp -d "$CACHE/work-XXXXXX")
}

# The first process of the namespaces is killed, and all others go with it; its parent ignores signals, and ends after it.
clean() {
    if [ -n "$CHILD" ]; then
        # shellcheck disable=SC2046  # a list of words
        kill -KILL $(cat "/proc/$CHILD/task/$CHILD/children") 2>/dev/null || kill -KILL "$CHILD" 2>/dev/null || true
        wait "$CHILD" 2>/dev/null || true
    fi
    if [ -n "$PROGRAM" ]; then
        kill "$PROGRAM" 2>/dev/null || true
        wait "$PROGRAM" 2>/dev/null || true
    fi
    [ -z "$WORK" ] || rm -rf --one-file-system "$WORK"
}

# Runs a command in namespaces of its own: without its parent it is killed, and every process and mount that it made goes
# with it. In the background, so that a signal is acted on at once; such a job ignores Ctrl-C unless it is told otherwise.
alone() {
    local code=0
    env --default-signal unshare --mount --pid --fork --kill-child -- "$@" &
    CHILD=$!
    wait "$CHILD" || code=$?
    CHILD=
    return "$code"
}

# Runs a program that takes away what it started when it is told to end, and waits for that.
attended() {
    local code=0
    env --default-signal "$@" &
    PROGRAM=$!
    wait "$PROGRAM" || code=$?
    PROGRAM=
    return "$code"
}

# The words of a list that are no programs here.
missing_programs() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] || echo "$program"
    done
}

# Makes a minimal system in WORK/root. It is kept as an archive for a month, and made anew after that.
make_debian() {
    local archive=$CACHE/debian-$DEBIAN.tar
    mkdir "$WORK/root"
    if [ -n "$(find "$archive" -mtime -30 2>/dev/null)" ]; then
        tar --extract --directory "$WORK/root" --file "$archive"
        return
    fi
    alone debootstrap --variant=minbase --include=ca-certificates "$DEBIAN" "$WORK/root" "$(debian_mirror)" \
        >"$WORK/debootstrap.log" 2>&1 || { tail -5 "$WORK/debootstrap.log" >&2; return 1; }
    rm -rf "$WORK"/root/var/cache/apt/archives/*.deb "$WORK"/root/var/lib/apt/lists/*
    tar --create --directory "$WORK/root" --one-file-system --file "$WORK/archive.tar" .
    # Whole or not at all.
    mv "$WORK/archive.tar" "$archive"
}

# Where this machine gets the same release from; nothing on a machine that is no Debian: debootstrap knows one then.
debian_mirror() {
    # shellcheck disable=SC2016  # apt's own names
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $DEBIAN" 2>/dev/null | head -1 || true
}

# Sources and proxies of apt, settings of pip, uv and npm, and whose certificates are believed.
carry_settings() {
    local root=$1 path
    carry "$root" /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/uv /etc/npmrc
    for path in pip uv; do
        carry_as "$root" "${XDG_CONFIG_HOME:-$HOME/.config}/$path" "/root/.config/$path"
    done
    carry_as "$root" "$HOME/.pip" /root/.pip
    carry_as "$root" "$HOME/.npmrc" /root/.npmrc
    if [ -n "$(debian_mirror)" ]; then
        rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d"
        carry "$root" /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/auth.conf /etc/apt/auth.conf.d \
            /etc/apt/keyrings /etc/apt/trusted.gpg.d /usr/share/keyrings
        apt-config dump Acquire > "$root/etc/apt/apt.conf.d/90machine"
    fi
    carry "$root" /usr/local/share/ca-certificates
    chroot "$root" update-ca-certificates >/dev/null 2>&1
}

carry() {
    local root=$1 path
    shift
    for path in "$@"; do
        carry_as "$root" "$path" "$path"
    done
}

carry_as() {
    [ -e "$2" ] || return 0
    rm -rf "${1:?}$3"
    mkdir -p "$(dirname "$1$3")"
    cp -rL --preserve=mode,timestamps "$2" "$1$3"
}
