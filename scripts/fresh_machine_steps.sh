#!/usr/bin/env bash
# Inside the machine of scripts/fresh-machine-check: `steps.sh COMMIT STEP...` clones the commit, runs the steps and says how
# long each took.
set -euo pipefail

LOGS=/srv/logs
CLONE=/root/quire
READY=/root/ready.json
READY_SECONDS=900

# All that has to be there before: who clones has git, and who says `make` has make.
clone() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends git make
    git clone --quiet /srv/quire.git "$CLONE"
    git -C "$CLONE" checkout --quiet --detach "$1"
}

# Another Quire may hold the usual port of the same host. A job in the background would ignore Ctrl-C.
up() {
    env --default-signal make up ARGS="--port 0 --ready-file $READY" &
    local make=$! deadline=$((SECONDS + READY_SECONDS))
    until [ -e "$READY" ]; do
        kill -0 "$make" 2>/dev/null || { wait "$make"; return 1; }
        [ "$SECONDS" -lt "$deadline" ] || { echo "not ready in $READY_SECONDS s"; return 1; }
        sleep 0.2
    done
    echo "ready after $SECONDS s"
    curl --silent --show-error --fail "$(cat data/api.url)/readyz"
    # As Ctrl-C, without make, which would not wait for Quire's own end.
    kill -INT "$(cat data/up.lock)"
    wait "$make"
}

# Runs one step as a program of its own, with its output in a log, and prints how it ended.
run() {
    local name=$1 begun=$SECONDS code=0
    bash "$0" --one "$@" >"$LOGS/$name.log" 2>&1 || code=$?
    printf '  %-6s %5d s  exit code %d  %s\n' "$name" "$((SECONDS - begun))" "$code" "$(closing_line "$name")"
    if [ "$code" -ne 0 ]; then
        tail -25 "$LOGS/$name.log" | sed 's/^/    | /'
        return 1
    fi
}

closing_line() {
    grep -E '^(ready after|demo: |=+ .* in .* =+$)' "$LOGS/$1.log" | tail -1 || true
}

if [ "$1" = --one ]; then
    case $2 in
        clone) clone "$3" ;;
        up) cd "$CLONE" && up ;;
        test) cd "$CLONE" && make test ARGS="${TEST_ARGS:-}" ;;
        *) cd "$CLONE" && make "$2" ;;
    esac
    exit
fi
COMMIT=$1
shift
printf '  %s, %s cores\n' "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)" "$(nproc)"
run clone "$COMMIT"
failed=0
for name in "$@"; do
    run "$name" || failed=1
done
exit "$failed"
