#!/bin/sh
# Starts Redis with these arguments. With a password, users.acl says what the user of each role may do, and nobody does
# anything without a login. `start.sh healthy` says whether Redis replies.
set -eu

# The password of a role: <NAME>_PASSWORD, else what the file <NAME>_PASSWORD_FILE holds, else the one for all.
password_of() {
    eval "text=\${$1_PASSWORD:-} file=\${$1_PASSWORD_FILE:-}"
    if [ -z "$text" ] && [ -n "$file" ]; then
        text=$(cat "$file")
    fi
    printf %s "$text"
}

password=$(password_of REDIS)

if [ "${1:-}" = healthy ]; then
    if [ -n "$password" ]; then
        export REDISCLI_AUTH="$password"
    fi
    [ "$(redis-cli ping)" = PONG ]
    exit
fi

if [ -n "$password" ]; then
    sed -e '/^#/d' -e '/^$/d' /etc/realestate/users.acl > /tmp/users.acl
    for role in DEFAULT WORKER TIMETABLE WEB EXPORTER; do
        own=$(password_of "REDIS_$role")
        # Redis keeps SHA-256 sums only: the password itself is in no file and in no list of processes.
        sum=$(printf %s "${own:-$password}" | sha256sum | cut -d ' ' -f 1)
        sed -i "s/ #$role / #$sum /" /tmp/users.acl
    done
    # For the user to whom the entrypoint changes.
    chmod 0644 /tmp/users.acl
    set -- "$@" --aclfile /tmp/users.acl
fi
# The entrypoint of the image drops root.
exec docker-entrypoint.sh redis-server "$@"
