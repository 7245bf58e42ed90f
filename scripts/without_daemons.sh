#!/usr/bin/env bash
# Runs a command, such as apt-get, while Debian is kept from starting the servers that it brings for our tests: those
# start their own and need the programs alone. Nothing of it stays, and a policy that the machine has is left as it is.
set -euo pipefail

POLICY=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
MARK="made by Quire's scripts/without_daemons.sh"
UNITS=(redis-server.service rabbitmq-server.service epmd.service epmd.socket)
UNIT_DIR=/lib/systemd/system

# The mark tells ours from anybody else's, also one that a killed run left.
release() {
    ! grep -qs "$MARK" "$POLICY" || rm -f "$POLICY"
}

# Whatever else comes along, such as a library with a security fix, may start again what uses it.
hold() {
    # Without clobbering: a file or a link that is there has its own rules.
    (set -o noclobber && cat > "$POLICY") 2>/dev/null <<END || return 0
#!/bin/sh
# $MARK
for word do
    case \$word in
        redis-server*|rabbitmq-server*|epmd*) exit 101 ;;
        # In brackets: what this machine would not run in its present state, for nobody asked it to.
        '('*) exit 101 ;;
    esac
done
exit 0
END
    chmod 755 "$POLICY"
}

absent_units() {
    local unit
    for unit in "${UNITS[@]}"; do
        [ -e "$UNIT_DIR/$unit" ] || echo "$unit"
    done
}

# The next boot would start what the installation did not.
disable_arrived() {
    local unit
    command -v systemctl >/dev/null || return 0
    for unit in "$@"; do
        [ ! -e "$UNIT_DIR/$unit" ] || systemctl --quiet disable "$unit" 2>/dev/null || true
    done
}

# Signals wait for the command to end: it must not go on without the policy.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap release EXIT
release
absent=$(absent_units)
hold
"$@"
# shellcheck disable=SC2086  # a list of words
disable_arrived $absent
