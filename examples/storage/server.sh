#!/bin/sh
# A private PostgreSQL for the examples, on the loopback and gone with its folder:
#   server.sh start FOLDER    makes it where there is none; prints what libpq connects to
#   server.sh signal FOLDER NAME  sends every process of it a signal, such as KILL
#   server.sh crash FOLDER    kills every process of it with -9, and starts it again
#   server.sh standby FOLDER OF   makes a synchronous standby of another; prints what start prints
#   server.sh promote FOLDER  makes a standby a primary, which waits for no standby
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

signal() {
  main=$(head -n 1 "$folder/data/postmaster.pid")
  children=$(ps -o pid= --ppid "$main" || true)
  # shellcheck disable=SC2086
  kill -s "$1" "$main" $children 2>/dev/null || true
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

where() { # where FOLDER: what libpq connects to
  port=$(sed -n 's/^port = //p' "$1/data/postgresql.conf" | tail -n 1)
  echo "host=127.0.0.1 port=$port user=tideline dbname=postgres connect_timeout=10"
}

start() {
  turn=0
  # After a kill the memory of the old one may be in use for a moment. Redo may take minutes.
  until as "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 900 start >/dev/null 2>&1; do
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
    as "$bin/initdb" -D "$folder/data" -U tideline -A trust --no-sync >"$folder/initdb.log" 2>&1 ||
      { tail -n 20 "$folder/initdb.log" >&2; exit 1; }
    cat >>"$folder/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $(free_port)
unix_socket_directories = ''
max_connections = 60
shared_buffers = 64MB
max_wal_size = 2GB
wal_writer_delay = 10s
log_min_messages = fatal
CONF
  fi
  start
  where "$folder"
  ;;
signal)
  signal "$3"
  ;;
crash)
  signal KILL
  rm -f "$folder/data/postmaster.pid"
  start
  ;;
standby)
  mkdir -p "$folder"
  [ "$(id -u)" != 0 ] || chown postgres "$folder"
  of=$(where "$3")
  as "$bin/pg_basebackup" -D "$folder/data" -R -c fast --no-sync -d "$of application_name=standby"
  echo "port = $(free_port)" >>"$folder/data/postgresql.conf"
  start
  # The copy was made before, so a promoted standby waits for nobody.
  psql -X -q -c "ALTER SYSTEM SET synchronous_standby_names = 'standby'" "$of"
  psql -X -q -c "SELECT pg_reload_conf()" "$of" >/dev/null
  where "$folder"
  ;;
promote)
  as "$bin/pg_ctl" -D "$folder/data" -w promote >/dev/null
  ;;
stop)
  as "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true
  ;;
*)
  echo "server: start, signal, crash, standby, promote or stop, and a folder" >&2
  exit 2
  ;;
esac
