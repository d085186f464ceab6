#!/bin/sh
# Xandikos 0.4.10 (PyPI), a server of CardDAV and CalDAV, with Radicale 3.9.0 beside it.
#
# Guess: a `sync-collection` with `<limit>` (RFC 6578, 3.6) gives a part of the changes and a token
# that leads to the rest; or the server ignores the limit, or refuses it with 507.
# Seen: Xandikos gives the first of them, with status 207 and the token of the whole, and nothing
# says that there are more. Asked with that token it answers that nothing has changed. What was cut
# off, additions and deletions, comes only if it is changed again: a client that pages, as one on a
# telephone does, lacks it for good. Radicale gives all, whatever the limit says. Ask without a
# limit, or compare the list of all names and ETags once.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install xandikos==0.4.10 radicale==3.9.0 2>pip.log
cat >try.py <<'PY'
import sys
import time
import urllib.request
from xml.etree import ElementTree as ET

NAME, BASE, BOOK = sys.argv[1], f"http://127.0.0.1:{sys.argv[2]}", sys.argv[3]


def ask(method, path, body="", kind="text/xml"):
    request = urllib.request.Request(BASE + path, body.encode() or None, {
        "Content-Type": kind, "Depth": "1", "Authorization": "Basic dXNlcjp4"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def put(name, text):
    ask("PUT", f"{BOOK}{name}.vcf", f"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{name}\r\nFN:{text}\r\n"
        f"N:{text};;;;\r\nEND:VCARD\r\n", "text/vcard")


def sync(what, token, limit=None):
    limit = f"<limit><nresults>{limit}</nresults></limit>" if limit else ""
    found = ET.fromstring(ask("REPORT", BOOK, f"""<sync-collection xmlns="DAV:">
        <sync-token>{token}</sync-token><sync-level>1</sync-level>{limit}
        <prop><getetag/></prop></sync-collection>"""))
    names = sorted(each.findtext("{DAV:}href").rsplit("/", 1)[1].removesuffix(".vcf") +
                   (" gone" if "404" in (each.findtext("{DAV:}status") or "") else "")
                   for each in found.findall("{DAV:}response"))
    print(f"{NAME}, {what}:", ", ".join(names) or "nothing")
    return found.findtext("{DAV:}sync-token")


for _ in range(450):
    try:
        ask("OPTIONS", "/")
        break
    except OSError:
        time.sleep(0.2)
if NAME == "Radicale":
    ask("MKCOL", BOOK, """<mkcol xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav"><set><prop>
        <resourcetype><collection/><C:addressbook/></resourcetype></prop></set></mkcol>""")
for number in range(1, 6):
    put(f"c{number}", "first")
token = sync("first two", "", 2)
token = sync("the next", token, 2)
for number in range(1, 4):
    put(f"c{number}", "second")
ask("DELETE", f"{BOOK}c5.vcf")
then = sync("two changes", token, 2)
sync("the next", then, 2)
sync("all", token)
PY
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir data cards
venv/bin/xandikos --defaults -d "$folder/data" -l 127.0.0.1 -p "$port" \
  --current-user-principal /user/ >xandikos.log 2>&1 &
server=$!
timeout 100 python3 try.py Xandikos "$port" /user/contacts/addressbook/ | tee seen
kill "$server"
wait "$server" 2>/dev/null || true
venv/bin/python -m radicale --storage-filesystem-folder "$folder/cards" --auth-type none \
  --server-hosts "127.0.0.1:$port" >radicale.log 2>&1 &
server=$!
timeout 100 python3 try.py Radicale "$port" /user/book/ | tee -a seen
cat >expected <<'EOF'
Xandikos, first two: c1, c2
Xandikos, the next: nothing
Xandikos, two changes: c1, c2
Xandikos, the next: nothing
Xandikos, all: c1, c2, c3, c5 gone
Radicale, first two: c1, c2, c3, c4, c5
Radicale, the next: nothing
Radicale, two changes: c1, c2, c3, c5 gone
Radicale, the next: nothing
Radicale, all: c1, c2, c3, c5 gone
EOF
cmp seen expected
