#!/bin/sh
# Cyrus IMAP 3.6.1 (Debian bookworm, 3.6.1-4+deb12u5), JMAP.
#
# Guess: mails that answer one mail (`In-Reply-To`, `References`), with its subject, have its
# `threadId`, however many they are: a room of chat over mail is a thread.
# Guess: the list of a mailbox with `collapseThreads` has one entry for it.
# Seen: each thread ends with its hundredth mail. The next one begins another thread, with another
# id, though it answers the same mail, and nothing ties the two: a room falls apart into rooms of a
# hundred, with an entry in the list for each, and the mail that all answer is in the first only.
# `conversations_max_thread` of the server is the bound; no client is told of it.
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

keys = {}
for number in range(1, 106):
    second = f"2026-03-01T12:{number // 60:02}:{number % 60:02}Z"
    answers = {"inReplyTo": ["m1@localhost"], "references": ["m1@localhost"]} if number > 1 else {}
    new = {**mail(box, f"m{number}", receivedAt=second, **answers),
           "subject": "Re: harbour" if answers else "harbour"}
    made = call("rooms", "Email/set", {"create": {"a": new}})["created"]["a"]
    keys[made["id"]] = f"m{number}", made["threadId"]
threads = list(dict.fromkeys(thread for _, thread in keys.values()))
for found in call("rooms", "Thread/get", {"ids": threads})["list"]:
    names = [keys[each][0] for each in found["emailIds"]]
    print(f"a thread of {len(names)}: {names[0]} to {names[-1]}")
listed = call("rooms", "Email/query", {
    "filter": {"inMailbox": box}, "collapseThreads": True})["ids"]
print("entries of the list:", len(listed))
PY
LD_LIBRARY_PATH=$(find "$folder/root" -type d -path '*/lib/*-linux-gnu' | tr '\n' ':') \
  "$bin/master" -D -C "$folder/imapd.conf" -M "$folder/cyrus.conf" -p "$folder/pid" >server.log 2>&1 &
server=$!
python3 -B try.py "$imap" "$http" | tee seen
cat >expected <<'END'
a thread of 100: m1 to m100
a thread of 5: m101 to m105
entries of the list: 2
END
cmp seen expected
