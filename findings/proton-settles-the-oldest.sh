#!/bin/sh
# Qpid Proton 0.37.0 (Debian bookworm, 0.37.0-2+b1), AMQP 1.0 between two of its containers.
#
# Guess: `BlockingReceiver.reject()` rejects the message that `receive()` gave last, or, as the text
# of `settle` says, all that are not settled.
# Guess: of a sender whose connection is lost, and made anew by Proton itself, what was under way is
# sent again, or reported by `on_released`, so that the program can send it again.
# Seen: `reject()` and `accept()` settle the oldest that is not settled. Who receives two and
# rejects the second has rejected the first, and the next `accept()` is for the second.
# Seen: Proton opens the link again and goes on with what is sent next. What was under way is
# neither sent again nor reported. An outbox has to look by itself, in `on_disconnected`, which of
# its deliveries have no outcome.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download python3-qpid-proton=0.37.0-2+b1 \
  libqpid-proton11=0.37.0-2+b1 >apt.log 2>&1
for package in ./*.deb; do dpkg-deb -x "$package" root; done
cat >peer.py <<'PY'
import socket
import threading

from proton.handlers import MessagingHandler
from proton.reactor import Container


class Peer(MessagingHandler):
    """A container that listens, and takes any address that a link names."""

    def __init__(self, **options):
        super().__init__(**options)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.listening = threading.Event()
        threading.Thread(target=Container(self).run, daemon=True).start()
        self.listening.wait(10)

    def on_start(self, event):
        event.container.listen(f"127.0.0.1:{self.port}")
        self.listening.set()

    def on_link_opening(self, event):
        event.link.source.address = event.link.remote_source.address
        event.link.target.address = event.link.remote_target.address


class Relay:
    """A way to a port that can be cut."""

    def __init__(self, port):
        self.to, self.links = port, []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            near, far = self.server.accept()[0], socket.create_connection(("127.0.0.1", self.to))
            self.links += [near, far]
            for pair in (near, far), (far, near):
                threading.Thread(target=self.copy, args=pair, daemon=True).start()

    def copy(self, source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass

    def cut(self):
        links, self.links = self.links, []
        for each in links:
            each.shutdown(socket.SHUT_RDWR)
PY
cat >receive.py <<'PY'
import queue

from peer import Peer
from proton import Message
from proton.utils import BlockingConnection


class Queue(Peer):
    def __init__(self):
        self.waiting, self.names, self.outcomes = ["m1", "m2"], {}, queue.Queue()
        super().__init__()

    def on_sendable(self, event):
        while self.waiting and event.link.credit:
            name = self.waiting.pop(0)
            self.names[event.sender.send(Message(body=name)).tag] = name

    def on_accepted(self, event):
        self.outcomes.put(f"{self.names[event.delivery.tag]} accepted")

    def on_rejected(self, event):
        self.outcomes.put(f"{self.names[event.delivery.tag]} rejected")


peer = Queue()
connection = BlockingConnection(f"127.0.0.1:{peer.port}", timeout=10)
receiver = connection.create_receiver("room", credit=2)
print("received:", receiver.receive().body, receiver.receive().body)
receiver.reject()
receiver.accept()
connection.close()
print("reject, accept:", peer.outcomes.get(timeout=10), peer.outcomes.get(timeout=10))
PY
cat >send.py <<'PY'
import queue
import threading
import time

from peer import Peer, Relay
from proton import Message
from proton.handlers import MessagingHandler
from proton.reactor import Container


class Store(Peer):
    """Keeps what comes, and accepts only what comes with the second connection."""

    def __init__(self):
        self.seen, self.links = queue.Queue(), 0
        super().__init__(prefetch=10, auto_accept=False)

    def on_link_opened(self, event):
        self.links += 1

    def on_message(self, event):
        if self.links > 1:
            self.accept(event.delivery)
        self.seen.put(event.message.body)


class Outbox(MessagingHandler):
    def __init__(self, port):
        super().__init__()
        self.port, self.waiting, self.names, self.said = port, [["m1", "m2"], ["m3"]], {}, []
        self.last = threading.Event()

    def on_start(self, event):
        self.sender = event.container.create_sender(
            event.container.connect(f"127.0.0.1:{self.port}"), "room")

    def on_link_opened(self, event):
        for name in self.waiting.pop(0):
            self.names[self.sender.send(Message(body=name)).tag] = name

    def outcome(self, event):
        self.said.append(f"{self.names[event.delivery.tag]} {event.delivery.remote_state}")
        self.last.set()

    on_accepted = on_rejected = on_released = outcome


peer = Store()
relay = Relay(peer.port)
outbox = Outbox(relay.port)
threading.Thread(target=Container(outbox).run, daemon=True).start()
peer.seen.get(timeout=10), peer.seen.get(timeout=10)
relay.cut()
print("after the reconnect came:", peer.seen.get(timeout=20))
outbox.last.wait(10)
time.sleep(2)  # For what may come behind it.
print("sent: m1 m2 m3, outcomes:", *outbox.said)
PY
export PYTHONPATH="$folder/root/usr/lib/python3/dist-packages" PYTHONDONTWRITEBYTECODE=1
LD_LIBRARY_PATH=$(echo "$folder"/root/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH
for each in receive send; do timeout 40 /usr/bin/python3 $each.py 2>$each.log; done | tee seen
grep -qx 'received: m1 m2' seen
grep -qx 'reject, accept: m1 rejected m2 accepted' seen
grep -qx 'after the reconnect came: m3' seen
grep -qx 'sent: m1 m2 m3, outcomes: m3 ACCEPTED' seen
