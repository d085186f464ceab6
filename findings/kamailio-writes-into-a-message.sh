#!/bin/sh
# Kamailio 5.6.3 (Debian bookworm, 5.6.3-2), SIP, with its store for users who are away (msilo).
#
# Guess: a MESSAGE that was stored is delivered as it was sent: with its body and its content type,
# and with its Call-ID, by which a phone knows a repetition.
# Guess: a delivery whose answer was lost is tried again, and is the same as before.
# Seen: a line with the time of the store, in the server's zone, is put in front of a text. A text
# that was encrypted is none any more, and a sender who looks for his own text does not find it.
# `message/cpim` becomes a text as well, with that line before its headers; JSON comes as it was.
# Seen: each try has a new Call-ID: a message that the phone stored comes again as another one, with
# the same Date. `add_date` set to 0 ends the line. An id has to be in the body, or in a header of
# its own, which is kept.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download kamailio=5.6.3-2 >apt.log 2>&1
dpkg-deb -x ./*.deb root
library=$(echo "$folder"/root/usr/lib/*/kamailio)
cp -r root/usr/share/kamailio/dbtext/kamailio store
# The table of this release lets two columns be empty that the module leaves empty.
sed -i 's/callid(string)/callid(string,null)/; s/status(int)/status(int,null)/' store/silo
cat >try.py <<'PY'
import re
import socket
import sys
import threading
import time

SERVER = "127.0.0.1", int(sys.argv[1])


class Phone:
    def __init__(self, name):
        self.name, self.turn, self.heard, self.codes = name, 0, {}, []
        self.loses = () # The texts whose answer is lost on its way.
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            head, _, body = self.socket.recv(65535).decode().partition("\r\n\r\n")
            if head.startswith("SIP/2.0"):
                self.codes.append(head[8:11])
                continue
            fields = dict(re.findall(r"(Call-ID|Content-Type|Date|Id): (.*?)\r?$", head, re.M))
            self.heard.setdefault(fields["Call-ID"], (body, fields))
            if not body.endswith(self.loses or ("none of them",)):
                lines = [each for each in head.split("\r\n")
                         if re.match("(Via|From|To|Call-ID|CSeq):", each)]
                answer = "\r\n".join(["SIP/2.0 200 OK", *lines, "Content-Length: 0", "", ""])
                self.socket.sendto(answer.encode(), SERVER)

    def ask(self, method, whom, *fields, body=""):
        """Sends a request until it is answered, and gives the code."""
        self.turn += 1
        to, before = ("" if method == "REGISTER" else whom + "@") + "localhost", len(self.codes)
        port = self.socket.getsockname()[1]
        text = "\r\n".join([
            f"{method} sip:{to} SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{port};branch=z9hG4bK{self.name}{self.turn}",
            f"From: <sip:{self.name}@localhost>;tag={self.turn}", f"To: <sip:{whom}@localhost>",
            f"Call-ID: {self.name}{self.turn}", f"CSeq: {self.turn} {method}", "Max-Forwards: 70",
            f"Contact: <sip:{self.name}@127.0.0.1:{port}>", *fields,
            f"Content-Length: {len(body)}", "", body])
        for _ in range(100):
            self.socket.sendto(text.encode(), SERVER)
            for _ in range(10):
                if len(self.codes) > before:
                    return self.codes[before]
                time.sleep(0.05)

    def wait(self, number):
        """Waits until so many calls came, and gives what came."""
        for _ in range(200):
            if len(self.heard) >= number:
                break
            time.sleep(0.1)
        return list(self.heard.values())


eva, jan = Phone("eva"), Phone("jan")
eva.ask("REGISTER", "eva", "Expires: 600")
codes = [eva.ask("MESSAGE", "jan", f"Id: {text}", f"Content-Type: {kind}", body=body)
         for text, kind, body in (("m1", "text/plain", "hello"), ("m2", "application/json", "{}"),
                                  ("m3", "message/cpim", "To: <im:jan@localhost>\r\n\r\nhello"))]
print("answers:", *codes)
jan.loses = "hello",
jan.ask("REGISTER", "jan", "Expires: 600")
calls = jan.wait(3)
for body, fields in sorted(calls, key=lambda call: call[1]["Id"]):
    first = re.sub(r" - \w.* 20\d\d\]", " - TIME]", body.split("\r\n")[0])
    print(f"{fields['Id']}: {fields['Content-Type']}: {first}")
print("Call-IDs of the sender:", sum(each["Call-ID"].startswith("eva") for _, each in calls))
while len(calls := jan.wait(0)) < 5: # Until the server tried both again.
    jan.ask("REGISTER", "jan", "Expires: 600")
    time.sleep(0.5)
for name in "m1", "m3":
    tries = [fields for _, fields in calls if fields["Id"] == name]
    print(f"{name}: {len(tries)} tries, {len({each['Call-ID'] for each in tries})} Call-IDs,",
          f"{len({each['Date'] for each in tries})} Date")
PY
port=$(python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
cat >server.cfg <<CFG
#!KAMAILIO
log_stderror=yes
children=1
disable_tcp=yes
listen=udp:127.0.0.1:$port
auto_aliases=no
alias="localhost"
mpath="$library/modules/"
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "pv.so"
loadmodule "db_text.so"
loadmodule "usrloc.so"
loadmodule "registrar.so"
loadmodule "msilo.so"
modparam("usrloc", "db_mode", 0)
modparam("tm", "fr_timer", 2000)
modparam("msilo", "db_url", "text://$folder/store")
modparam("msilo", "check_time", 2)
modparam("msilo", "outbound_proxy", "sip:127.0.0.1:$port")
request_route {
  if (\$rm == "REGISTER") {
    save("location");
    m_dump();
    exit;
  }
  if (!t_newtran()) exit;
  if (lookup("location")) {
    t_relay();
    exit;
  }
  if (m_store("\$ru")) t_reply("202", "Accepted");
  else t_reply("503", "Not stored");
}
CFG
LD_LIBRARY_PATH=$library root/usr/sbin/kamailio -DD -E -f server.cfg -L "$library/modules/" \
  -w "$folder" -Y "$folder" -P "$folder/pid" -m 64 -M 8 >server.log 2>&1 &
server=$!
timeout 60 python3 try.py "$port" | tee seen
cat >expected <<'END'
answers: 202 202 202
m1: text/plain: [Offline message - TIME] hello
m2: application/json: {}
m3: text/plain: [Offline message - TIME] To: <im:jan@localhost>
Call-IDs of the sender: 0
m1: 2 tries, 2 Call-IDs, 1 Date
m3: 2 tries, 2 Call-IDs, 1 Date
END
cmp seen expected
