#!/bin/sh
# Kinto 26.5.0 (PyPI, a server that stores and syncs JSON records), storage in memory.
#
# Guess: the ETag of a list can be the `_since` of the next request, always.
# Guess: `_since` lists each record that was written, or deleted, after that list.
# Seen: a record may bring a `last_modified` of its own, of any time. One that is more than a day
# ahead, from a client with a wrong clock, sets the ETag of the collection, and all later records
# are numbered above it. The ETag is then refused as a `_since` ("Invalid value"), for every client,
# until its date is near. A list without it still works.
# Seen: one with a time that is past, as an import has, is in no list of changes: the ETag stays.
# Seen: deleting a collection deletes the marks of its deletions. Made again under its name, it
# answers the old ETag with what is new, and never names what is gone.
set -eu
folder=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server" 2>/dev/null; wait; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install kinto==26.5.0 waitress==3.0.2 requests==2.34.2 2>pip.log
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >server.ini <<INI
[server:main]
use = egg:waitress
host = 127.0.0.1
port = $port
[app:main]
use = egg:kinto
kinto.userid_hmac_secret = a secret of this test
kinto.storage_backend = kinto.core.storage.memory
kinto.cache_backend = kinto.core.cache.memory
kinto.permission_backend = kinto.core.permission.memory
multiauth.policies = basicauth
kinto.bucket_create_principals = system.Authenticated
INI
venv/bin/kinto start --ini server.ini --port "$port" >server.log 2>&1 &
server=$!
cat >try.py <<'PY'
import sys
import time

import requests

BASE = f"http://127.0.0.1:{sys.argv[1]}/v1"
DAY = 86_400_000


def ask(method, path, **more):
    return requests.request(method, BASE + path, auth=("alice", "secret"), timeout=20, **more)


def room(name):
    path = f"/buckets/chat/collections/{name}"
    ask("PUT", path).raise_for_status()
    return path


def write(path, name, days=None):
    data = {"text": name}
    if days is not None:
        data["last_modified"] = int(time.time() * 1000) + days * DAY
    ask("PUT", f"{path}/records/{name}", json={"data": data}).raise_for_status()


def listed(label, path, since=None):
    answer = ask("GET", f"{path}/records", params={"_since": since} if since else {})
    if answer.ok:
        records = answer.json()["data"]
        names = sorted(each["id"] + " deleted" * ("deleted" in each) for each in records)
        print(f"{label}: {answer.status_code}", *names)
    else:
        print(f"{label}: {answer.status_code} {answer.json()['message']}")
    return answer.headers.get("ETag")


for _ in range(100):
    try:
        ask("PUT", "/buckets/chat").raise_for_status()
        break
    except requests.ConnectionError:
        time.sleep(0.3)
path = room("ahead")
write(path, "m1")
write(path, "fast", days=7)
etag = listed("a clock is 7 days ahead", path)
listed("since that ETag", path, etag)
write(path, "m2")
listed("all after one more", path)

path = room("import")
write(path, "m1")
etag = listed("before an import", path)
write(path, "old", days=-7)
listed("since that ETag", path, etag)
listed("all after the import", path)

path = room("again")
write(path, "m1")
write(path, "m2")
etag = listed("before the deletion", path)
ask("DELETE", f"{path}/records/m1").raise_for_status()
listed("a record deleted, since that ETag", path, etag)
ask("DELETE", path).raise_for_status()
path = room("again")
write(path, "m3")
listed("the collection made again, since that ETag", path, etag)
PY
timeout 90 venv/bin/python try.py "$port" | tee seen
grep -qx 'a clock is 7 days ahead: 200 fast m1' seen
grep -qx 'since that ETag: 400 Invalid value for _since' seen
grep -qx 'all after one more: 200 fast m1 m2' seen
grep -qx 'since that ETag: 200' seen
grep -qx 'all after the import: 200 m1 old' seen
grep -qx 'a record deleted, since that ETag: 200 m1 deleted' seen
grep -qx 'the collection made again, since that ETag: 200 m3' seen
