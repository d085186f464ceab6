#!/bin/sh
# A private PostgreSQL for the examples, on the loopback and gone with its folder:
#   server.sh start FOLDER    makes it where there is none; prints what libpq connects to
#   server.sh crash FOLDER    kills every process of it with -9, and starts it again
#   server.sh stop FOLDER     ends it
set -eu
action=$1 folder=$2
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
if [ -z "$bin" ]; then
  echo "server: PostgreSQL is missing; sh Scripts/setup.sh storage installs it" >&2
  exit 1
fi
# It does not run as root.
as() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }

start() {
  turn=0
  # After a kill the memory of the old one may be in use for a moment.
  until as "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 30 start >/dev/null 2>&1; do
    turn=$((turn + 1))
    [ "$turn" -lt 20 ] || { tail -n 20 "$folder/log" >&2; exit 1; }
    sleep 0.2
  done
}

case $action in
start)
  if [ ! -d "$folder/data" ]; then
    mkdir -p "$folder"
    [ "$(id -u)" != 0 ] || chown postgres "$folder"
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
    as "$bin/initdb" -D "$folder/data" -U tideline -A trust --no-sync >"$folder/initdb.log" 2>&1 ||
      { tail -n 20 "$folder/initdb.log" >&2; exit 1; }
    cat >>"$folder/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
max_connections = 60
shared_buffers = 64MB
log_min_messages = fatal
CONF
  fi
  start
  port=$(sed -n 's/^port = //p' "$folder/data/postgresql.conf" | tail -n 1)
  echo "host=127.0.0.1 port=$port user=tideline dbname=postgres connect_timeout=10"
  ;;
crash)
  main=$(head -n 1 "$folder/data/postmaster.pid")
  children=$(ps -o pid= --ppid "$main" || true)
  # shellcheck disable=SC2086
  kill -9 "$main" $children 2>/dev/null || true
  rm -f "$folder/data/postmaster.pid"
  start
  ;;
stop)
  as "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true
  ;;
*)
  echo "server: start, crash or stop, and a folder" >&2
  exit 2
  ;;
esac
