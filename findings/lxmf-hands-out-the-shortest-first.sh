#!/bin/sh
# LXMF 1.2.1 with Reticulum 1.5.7 (PyPI: lxmf, rns): messages over a mesh, with a node that keeps
# them for users who are away. Two processes of this machine.
#
# Guess: the node hands messages out in the order in which it got them, or in that of the times in
# them.
# Guess: `request_messages_from_propagation_node` with `max_messages` is a page: the oldest ones
# come first, and the next call goes on behind them. A short answer means that there are no more.
# Seen: the node sorts by size, the shortest first, in the list that a user asks for and so in the
# handing out. Of four messages the first page has the two shortest, which were sent fourth and
# second.
# Seen: the long ones wait as long as there are shorter ones. No number of the node is in a message,
# only the time of its sender's clock. A client cannot take what it has for the beginning of a room,
# nor the newest that it has for the point up to which it has all.
set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install lxmf==1.2.1 rns==1.5.7 2>pip.log
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
for name in node user; do
  mkdir "$name"
  printf '[reticulum]\nenable_transport = no\nshare_instance = no\n[logging]\nloglevel = 2\n' \
    >"$name/config"
done
cat >>node/config <<CONF
[interfaces]
[[link]]
type = TCPServerInterface
enabled = yes
listen_ip = 127.0.0.1
listen_port = $port
CONF
cat >>user/config <<CONF
[interfaces]
[[link]]
type = TCPClientInterface
enabled = yes
target_host = 127.0.0.1
target_port = $port
CONF
cat >node.py <<'PY'
import os
import time

import LXMF
import RNS

# The least work for a stamp, and no pause before an announcement: neither has to do with the order.
LXMF.LXMRouter.PROPAGATION_COST_MIN = 1
LXMF.LXMRouter.NODE_ANNOUNCE_DELAY = 0
RNS.Reticulum("node")
router = LXMF.LXMRouter(RNS.Identity(), "node/store", propagation_cost=1,
                        propagation_cost_flexibility=0)
router.enable_propagation()
with open("node.part", "w") as file:
    file.write(router.propagation_destination.hash.hex())
os.rename("node.part", "node.hash")
while True:
    router.announce_propagation_node()
    time.sleep(2)
PY
cat >user.py <<'PY'
import os
import time

import LXMF
import RNS


def until(holds):
    while not holds():
        time.sleep(0.05)


LXMF.LXMRouter.PROCESSING_INTERVAL = 1
RNS.Reticulum("user")
eva, jan = RNS.Identity(), RNS.Identity()
sender, receiver = LXMF.LXMRouter(eva, "user/eva"), LXMF.LXMRouter(jan, "user/jan")
source = sender.register_delivery_identity(eva)
receiver.register_delivery_identity(jan)
heard = []
receiver.register_delivery_callback(lambda each: heard.append(each.content_as_string().split()[0]))
node = bytes.fromhex(open("node.hash").read())
until(lambda: RNS.Transport.has_path(node))
for router in sender, receiver:
    router.set_outbound_propagation_node(node)
target = RNS.Destination(jan, RNS.Destination.OUT, RNS.Destination.SINGLE, "lxmf", "delivery")
for number, words in enumerate((60, 20, 40, 2), 1):
    message = LXMF.LXMessage(target, source, f"m{number}" + " word" * words,
                             desired_method=LXMF.LXMessage.PROPAGATED)
    sender.handle_outbound(message)
    until(lambda: message.state == LXMF.LXMessage.SENT)
print("sent:", *(f"m{number}" for number in range(1, 5)), flush=True)
for page in 1, 2:
    receiver.request_messages_from_propagation_node(jan, max_messages=2)
    until(lambda: receiver.propagation_transfer_state == LXMF.LXMRouter.PR_COMPLETE)
    until(lambda: len(heard) == 2 * page)
    print(f"page {page}:", *heard[-2:], flush=True)
    receiver.acknowledge_sync_completion()
os._exit(0)
PY
venv/bin/python node.py >node.log 2>&1 &
server=$!
for _ in $(seq 300); do
  if [ -e node.hash ]; then break; fi
  sleep 0.1
done
timeout 85 venv/bin/python user.py 2>user.log | grep -v '^\[' | tee seen
cat >expected <<'END'
sent: m1 m2 m3 m4
page 1: m4 m2
page 2: m3 m1
END
cmp seen expected
