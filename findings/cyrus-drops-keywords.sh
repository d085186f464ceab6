#!/bin/sh
# Cyrus IMAP 3.6.1 (Debian bookworm, 3.6.1-4+deb12u5), JMAP.
#
# Guess: who may insert mails into a mailbox, and may not set keywords there, is refused when a new
# mail has keywords, as he is when he sets them later.
# Guess: who may put a mail by `Email/set` may put it by `Email/import`.
# Seen: the mail is created, and answered as a success, without the keywords. `Email/import` is
# refused, with the mailbox as the invalid property: it needs the right to set keywords as well.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get -o APT::Sandbox::User=root download cyrus-common=3.6.1-4+deb12u5 \
  cyrus-imapd=3.6.1-4+deb12u5 cyrus-caldav=3.6.1-4+deb12u5 libclamav12 libical3 libicu72 \
  libjansson4 libldap-2.5-0 libmspack0 libpcre3 libpq5 libsasl2-2 libshp2 libwrap0 libxapian30 \
  libxml2 libzephyr4 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
user=$(id -un)
[ "$user" != root ] || user=mail # Cyrus refuses to run as root.
ports=$(python3 -c 'import socket
free = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*[each.getsockname()[1] for each in free])')
imap=${ports% *} http=${ports#* } bin=$folder/root/usr/lib/cyrus/bin
cat >imapd.conf <<CONF
configdirectory: $folder/conf
partition-default: $folder/mail
defaultpartition: default
cyrus_user: $user
admins: admin
servername: localhost
allowplaintext: yes
sasl_pwcheck_method: alwaystrue
unixhierarchysep: yes
conversations: yes
search_engine: none
httpmodules: jmap
CONF
cat >cyrus.conf <<CONF
START {
  recover cmd="$bin/ctl_cyrusdb -C $folder/imapd.conf -r"
}
SERVICES {
  imap cmd="$bin/imapd -C $folder/imapd.conf" listen="127.0.0.1:$imap" prefork=0
  http cmd="$bin/httpd -C $folder/imapd.conf" listen="127.0.0.1:$http" prefork=0
}
EVENTS { }
CONF
mkdir -p conf/db mail
[ "$(id -u)" != 0 ] || chown -R "$user" "$folder"
cat >jmap.py <<'PY'
import base64
import imaplib
import json
import sys
import time
import urllib.request

IMAP, HTTP = int(sys.argv[1]), int(sys.argv[2])
for _ in range(100):
    try:
        admin = imaplib.IMAP4("127.0.0.1", IMAP)
        break
    except OSError:
        time.sleep(0.1)
admin.login("admin", "any")


def call(user, verb, want, account="rooms"):
    login = base64.b64encode(f"{user}:any".encode()).decode()
    body = {"using": ["urn:ietf:params:jmap:core", "urn:ietf:params:jmap:mail"],
            "methodCalls": [[verb, {"accountId": account, **want}, "0"]]}
    request = urllib.request.Request(
        f"http://127.0.0.1:{HTTP}/jmap/", json.dumps(body).encode(),
        {"Authorization": f"Basic {login}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["methodResponses"][0][1]


def mail(box, text, **more):
    return {"mailboxIds": {box: True}, "from": [{"email": "eva@localhost"}], "subject": text,
            "sentAt": "2026-01-01T00:00:00Z", "messageId": [f"{text}@localhost"],
            "bodyValues": {"1": {"value": text}},
            "textBody": [{"partId": "1", "type": "text/plain"}], **more}


admin.create("user/rooms")
admin.create("user/eva")
admin.create("user/rooms/Harbour")
admin.setacl("user/rooms/Harbour", "eva", "lri")
box = next(each["id"] for each in call("rooms", "Mailbox/get", {})["list"]
           if each["name"] == "Harbour")
PY
cat >try.py <<'PY'
from jmap import box, call, mail

key = call("eva", "Email/set", {"create": {"a": mail(
    box, "one", keywords={"reaction": True})}})["created"]["a"]["id"]
found = call("rooms", "Email/get", {"ids": [key], "properties": ["keywords"]})["list"]
print("created with keywords:", found[0]["keywords"])
late = call("eva", "Email/set", {"update": {key: {"keywords/reaction": True}}})
print("set later:", late["notUpdated"][key]["type"])
blob = call("rooms", "Email/get", {"ids": [key], "properties": ["blobId"]})["list"][0]["blobId"]
for user in "eva", "rooms":
    made = call(user, "Email/import", {"emails": {"a": {
        "blobId": blob, "mailboxIds": {box: True}}}})["notCreated"]["a"]
    print("imported by", user, made["type"], made.get("properties"))
PY
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':') \
  "$bin/master" -D -C "$folder/imapd.conf" -M "$folder/cyrus.conf" -p "$folder/pid" >server.log 2>&1 &
server=$!
python3 -B try.py "$imap" "$http" | tee seen
grep -qx 'created with keywords: {}' seen
grep -qx 'set later: forbidden' seen
grep -qx "imported by eva invalidProperties \['mailboxIds'\]" seen
grep -qx 'imported by rooms alreadyExists None' seen
