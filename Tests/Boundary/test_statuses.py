"""Each status that a function lists has a call that gives it, and a failure leaves a reason.

docs/reference/statuses.md is made here, anew by `python3 Tests/Boundary/test_statuses.py write`.
"""

import contextlib
import functools
import re
import sys
import threading
import unittest

import tideline
from tideline import _library as c

import faults
import statuses
import statuses_find  # Adds its cases to those of statuses, as the next ones do.
import statuses_import
import statuses_keep
import statuses_free
import statuses_keys
import statuses_release
import statuses_rest
import statuses_storage
from status_world import MARK, World
from support import ROOT

PAGE = ROOT / "docs" / "reference" / "statuses.md"
# Which comes with any function that lists what stands before it, as the header says.
DAMAGED = "TL_E_DAMAGED"
# Which come with any call on a client on a storage of the host's, or whose file was given up.
MORE = {("TL_E_LOCKED", statuses_storage.WORDS), ("TL_E_RELEASED", statuses_release.WORDS)}
HEAD = """# Statuses

For each status that a function lists in [the header](../../Include/tideline.h), a call that gives
it and the reason that `tl_last_error` has then. [errors.md](errors.md) says what the host does.

This page is made by `make statuses` and is not edited. `Tests/Boundary/test_statuses.py` makes all
of the calls in each `make py`, and fails where a listed status has no call, where a call gives a
status that is not listed, where a failure, `TL_IGNORED` or `TL_QUARANTINED` leaves no reason, and
where this page says otherwise. The calls are in `Tests/Boundary/statuses.py`, `statuses_find.py`,
`statuses_import.py`, `statuses_keep.py`, `statuses_keys.py`, `statuses_free.py`,
`statuses_release.py`, `statuses_rest.py` and `statuses_storage.py` beside it.
Ids, texts and paths in them have a mark that no reason may have. The disk fails, is full, or gives
other bytes through the system calls of SQLite, which lets tests replace them. Codes are SQLite's.

An ordinary call is one that succeeds on a file where something of everything is stored.

| function | status | call | reason |
|---|---|---|---|
"""
TAIL = """
## Not reached from outside

`TL_E_INTERNAL` is a defect of the library, so no call gives it on purpose; any function may.
`TL_E_TIMEOUT`, `TL_E_UNAVAILABLE`, `TL_E_CANCELLED` and `TL_E_INCOMPLETE` are results of syncs, and
no function returns them. Running out of memory ends the process.

| function | status | why |
|---|---|---|
"""
COMMENT = re.compile(r"(?:/\*\*((?:(?!\*/).)*)\*/|///[^\n]*)\s*TL_API TL_CHECK tl_status\s+(tl_\w+)"
                     r"\(([^)]*)\)", re.S)
# What the header says once of any function, of one on such a handle, and of one with such a struct.
ANY = {"TL_OK", "TL_E_INVALID"}
CLOSING = re.compile(r"\s*tl_(?:client|window|list|items|work) \*")
SIZED = re.compile(r"typedef struct (\w+) \{\s*uint32_t struct_size")


@functools.cache
def listed():
    """The statuses that the header lists, by function."""
    text = (ROOT / "Include" / "tideline.h").read_text()
    known = set(re.findall(r"^  (TL_\w+) = -?\d+,? ", text.split("typedef int32_t tl_status")[1]
                           .split("};")[0], re.M))
    own, others, sized = {}, {}, set(SIZED.findall(text))
    for comment, name, parameters in COMMENT.findall(text):
        result = re.sub(r"\s+", " ", comment.partition("@return")[2])
        own[name] = ANY.union(known.intersection(re.findall(r"#(TL_\w+)", result)))
        if CLOSING.match(parameters) and name != "tl_client_event_fd":
            own[name].add("TL_E_CLOSED")
        if sized.intersection(re.findall(r"tl_\w+", parameters)):
            own[name].add("TL_E_TOO_NEW")
        # `(as #tl_window_open)` in brackets is about one status.
        others[name] = re.findall(r"\b[Aa]s #(tl_\w+)", re.sub(r"\([^)]*\)", "", result))

    def of(name):
        return own[name].union(*map(of, others[name]))
    return {name: of(name) for name in own}


def outcome(case):
    """Makes the call of a case: its status by name, and the reason that it leaves."""
    world, found = World(), []

    def make():
        with contextlib.ExitStack() as stack:
            for client in world.kept:
                if isinstance(client, tideline.Client):
                    # What a hook gives stays until the call has returned.
                    stack.enter_context(client._kept())
            stack.enter_context(faults.planted(case.fault))
            code = getattr(c.library, case.function)(*arguments)
            reason = c.library.tl_last_error().decode()
        found.append((c.library.tl_status_name(code).decode(), reason))
    try:
        arguments = case.setup(world)
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
    finally:
        world.close()
    return found[0]


@functools.cache
def outcomes():
    return [(case, *outcome(case)) for case in statuses.CASES]


def page():
    """The lines of docs/reference/statuses.md, in the order of the header and of its statuses."""
    order = {name: at for at, name in enumerate(listed())}
    rank = {f"TL_{'E_' * (status < 0)}{status.name}": at
            for at, status in enumerate(tideline.Status)}
    rows = sorted(outcomes(), key=lambda row: (order[row[0].function], rank[row[0].status]))
    lines = [f"| `{case.function}` | `{status}` | {case.words} | {reason} |".replace("|  |", "| |")
             for case, status, reason in rows]
    unreached = sorted(statuses.UNREACHED.items(), key=lambda item: order[item[0][0]])
    left = [f"| `{name}` | `{status}` | {why} |" for (name, status), why in unreached]
    return HEAD + "\n".join(lines) + "\n" + TAIL + "\n".join(left) + "\n"


# What is fine and says why all the same.
TOLD = ("TL_IGNORED", "TL_QUARANTINED")


class Statuses(unittest.TestCase):
    maxDiff = None

    def test_each_listed_status_has_a_call(self):
        """A function that is added, or a status that is, needs a case here."""
        reached = {(case.function, status) for case, status, _ in outcomes()}
        wanted = {(name, status) for name, found in listed().items() for status in found}
        self.assertEqual(sorted(wanted - reached - set(statuses.UNREACHED)), [])
        self.assertEqual(sorted(reached & set(statuses.UNREACHED)), [])
        self.assertEqual(sorted(set(statuses.UNREACHED) - wanted), [])

    def test_each_call_gives_the_status_that_it_is_for(self):
        wrong = [(case.function, case.words, case.status, status)
                 for case, status, _ in outcomes() if case.status != status]
        self.assertEqual(wrong, [])

    def test_no_call_gives_what_is_not_listed(self):
        """header: "TL_E_DAMAGED where TL_E_STORAGE is listed"
        header: "TL_E_RELEASED after tl_client_release, but for tl_client_event_fd"
        header: "on a client with a tl_storage TL_E_LOCKED" """
        known = listed()
        wrong = []
        for case, status, _ in outcomes():
            allowed = known[case.function]
            if (status, case.words) in MORE and case.function in statuses.ORDINARY:
                continue
            if status not in allowed and not (status == DAMAGED and "TL_E_STORAGE" in allowed):
                wrong.append((case.function, case.words, status))
        self.assertEqual(wrong, [])

    def test_each_failure_says_why_and_a_success_nothing(self):
        """header: "It holds no key, path, id or message text." """
        for case, status, reason in outcomes():
            with self.subTest(case.function, call=case.words):
                if not status.startswith("TL_E_") and status not in TOLD:
                    self.assertEqual(reason, "")
                    continue
                self.assertGreaterEqual(len(reason.split()), 3)
                self.assertNotIn(MARK, reason)
                self.assertNotIn("/", reason)
                self.assertRegex(reason.replace("KiB", "").replace("MiB", "").replace("UTF-8", ""),
                                 r"^[A-Za-z0-9 _,;.`()]+$")

    def test_a_reason_names_what_was_wrong(self):
        """header: "It names the member of a frame, of a request or of an item that was wrong" """
        said = {(case.function, case.words): reason for case, _, reason in outcomes()}
        self.assertEqual(said["tl_client_receive", "a message without a time"],
                         "created_at is not a time")
        self.assertEqual(said["tl_client_receive", "half a frame"], "the frame is not JSON")
        self.assertEqual(said["tl_merge_messages", "an item that is no object"],
                         "an item is not a JSON object")

    def test_a_reason_is_about_the_call_that_failed(self):
        said = {(case.function, status): reason for case, status, reason in outcomes()}
        self.assertIn("account", said["tl_client_receive", "TL_E_MISMATCH"])
        self.assertIn("frame", said["tl_client_receive", "TL_E_TOO_LARGE"])
        self.assertIn("seal", said["tl_client_perform", "TL_E_REFUSED"])
        self.assertIn("window", said["tl_window_poll", "TL_E_CLOSED"])
        self.assertIn("list", said["tl_list_poll", "TL_E_CLOSED"])

    def test_the_page_says_what_happens(self):
        self.assertEqual(PAGE.read_text().splitlines(), page().splitlines())


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit("test_statuses.py write")
    PAGE.write_text(page())
