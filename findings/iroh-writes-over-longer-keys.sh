#!/bin/sh
# iroh 0.35.0 (PyPI; the last release that has documents, its store that devices sync). Two nodes,
# in a network namespace that has loopback only.
#
# Guess: an entry of a document is its author and its key. Writing the key `room/1` replaces what
# that author wrote under `room/1`, and nothing else; the text of `set_bytes` names nothing else.
# Guess: an entry under `room` may stand beside entries under `room/1`, as in any store of keys.
# Seen: a write removes all of its author's entries whose keys begin with the key written. An edit
# of message 1 removes messages 10 and 11, and a name that is set under `room` removes the whole
# room. Nothing is raised or returned, and the other device removes them as well, since this is how
# a deletion travels. Another author's entries stay. Numbers in keys need one length, or an end
# mark.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install iroh==0.35.0 2>pip.log
cat >try.py <<'PY'
import asyncio
import fcntl
import socket
import struct

import iroh

IFREQ, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = "16sH14s", 0x8913, 0x8914, 1


def switch_loopback_on():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        got = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack(IFREQ, b"lo", 0, b""))
        flags = struct.unpack(IFREQ, got)[1] | IFF_UP
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack(IFREQ, b"lo", flags, b""))


async def new_node():
    options = iroh.NodeOptions()
    options.enable_docs = True
    options.node_discovery = iroh.NodeDiscoveryConfig.NONE
    return await iroh.Iroh.memory_with_options(options)


async def keys(doc):
    return sorted(entry.key().decode() for entry in await doc.get_many(iroh.Query.all(None)))


async def show(label, doc, other):
    """Prints the keys of one device, and whether the other one gets to the same."""
    here = await keys(doc)
    for _ in range(200):
        there = await keys(other)
        if there == here:
            break
        await asyncio.sleep(0.1)
    print(f"{label}:", *here, "- the other device has the same:", there == here, flush=True)


async def main():
    iroh.iroh_ffi.uniffi_set_event_loop(asyncio.get_running_loop())
    node, other_node = await new_node(), await new_node()
    doc = await node.docs().create()
    alice = await node.authors().create()
    bob = await node.authors().create()
    ticket = await doc.share(iroh.ShareMode.WRITE, iroh.AddrInfoOptions.ADDRESSES)
    other = await other_node.docs().join(ticket)

    async def write(author, *names):
        for name in names:
            await doc.set_bytes(author, name.encode(), b"a text")

    await write(alice, "room/1", "room/2", "room/10", "room/11")
    await write(bob, "room/12")
    await show("written", doc, other)
    await write(alice, "room/1")
    await show("after an edit of 1", doc, other)
    await write(alice, "room/10")
    await show("10 again", doc, other)
    await write(alice, "room")
    await show("after a name of the room", doc, other)
    await node.node().shutdown()
    await other_node.node().shutdown()


switch_loopback_on()
asyncio.run(main())
PY
timeout 90 unshare --map-root-user --net venv/bin/python try.py 2>errors | tee seen
same='- the other device has the same: True'
grep -qx "written: room/1 room/10 room/11 room/12 room/2 $same" seen
grep -qx "after an edit of 1: room/1 room/12 room/2 $same" seen
grep -qx "10 again: room/1 room/10 room/12 room/2 $same" seen
grep -qx "after a name of the room: room room/12 $same" seen
