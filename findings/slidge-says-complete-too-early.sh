#!/bin/sh
# slidge 0.4.2 (PyPI, for gateways of XMPP to other networks), slixmpp 1.17.0. The script has a
# gateway of its own, to a network whose messages have times in seconds.
#
# Guess: the pages of a room's archive (XEP-0313, XEP-0059) give each message once; `complete` is
# set on the page beyond which there is none; `count` is the number of all messages.
# Seen: a page behind an id begins with the first later time, so of messages with one time those
# that a page has cut off are in no page. Times in whole seconds are what many networks give.
# Seen: each page that goes back is said to be complete, also where older messages are there: a
# client that believes it never sees them. `count` is the length of the page, so it does not help.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install slidge==0.4.2 slixmpp==1.17.0 2>pip.log
cat >try.py <<'PY'
import datetime
import logging
import unittest

from slidge import BaseGateway, BaseSession, LegacyBookmarks, LegacyMUC
from slidge.util.test import SlidgeTest
from slidge.util.types import MucType

logging.disable(logging.CRITICAL)
USER, ROOM = "romeo@shakespeare.lit", "harbour@aim.shakespeare.lit"
BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


class Gateway(BaseGateway):
    COMPONENT_NAME, GROUPS = "a network", True


class Session(BaseSession):
    async def login(self):
        return "connected"


class Bookmarks(LegacyBookmarks):
    async def fill(self):
        pass


class Room(LegacyMUC):
    async def update_info(self):
        self.name, self.type = "Harbour", MucType.GROUP

    async def backfill(self, after=None, before=None):
        jan = await self.get_participant("jan")
        for number in range(1, 8):
            jan.send_text(f"m{number}", f"id-{number}", archive_only=True,
                          when=BEGIN + datetime.timedelta(seconds=(number + 1) // 2))


class Try(SlidgeTest):
    plugin = globals()

    def answers(self):
        while (stanza := self.next_sent(timeout=1)) is not None:
            yield stanza.xml

    def page(self, name, limits):
        key = name.replace(" ", "-")
        self.recv(f'<iq type="set" id="{key}" from="{USER}/a" to="{ROOM}">'
                  '<query xmlns="urn:xmpp:mam:2"><set xmlns="http://jabber.org/protocol/rsm">'
                  f'<max>3</max>{limits}</set></query></iq>')
        texts, ids = [], []
        for each in self.answers():
            if (found := each.find("{urn:xmpp:mam:2}result")) is not None:
                ids.append(found.get("id"))
                texts.append(found.findtext(".//{*}body"))
            elif each.get("id") == key:
                break
        end = each.find("{*}fin")
        print(f"{name}: {' '.join(texts)} of {end.findtext('.//{*}count')},",
              "complete" if end.get("complete") else "more", flush=True)
        return ids

    def test(self):
        self.db_engine.echo = False
        self._add_slidge_user(USER)
        self.get_joined_muc("harbour", USER, "a")
        first = self.page("first page", "")
        self.page("behind it", f"<after>{first[-1]}</after>")
        last = self.page("last page", "<before/>")
        self.page("before it", f"<before>{last[0]}</before>")


unittest.main(verbosity=0)
PY
timeout 90 venv/bin/python try.py 2>try.log | tee seen
cat >expected <<'EOF'
first page: m1 m2 m3 of 3, more
behind it: m5 m6 m7 of 3, complete
last page: m5 m6 m7 of 3, complete
before it: m2 m3 m4 of 3, complete
EOF
cmp seen expected
