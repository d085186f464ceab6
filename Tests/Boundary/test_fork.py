"""A child that is forked from Python harms nothing of its parent, however it ends."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

import tideline
from tideline import _library as c

from support import KEY

# The parent: it sends, lets a child end, sends more, says what it was told, and is killed.
PARENT = """
import contextlib, gc, multiprocessing, os, signal, sys
import tideline

client = tideline.Client(sys.argv[1], bytes(range(32)), user_id="me")
window = client.window("c")
places = client.conversation_list()

def send(count):
    for _ in range(count):
        print(client.send("c", "text").number, flush=True)

def forked(body):
    child = os.fork()
    if child == 0:
        body()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0

def let_go():
    global client, window, places
    client = window = places = None
    gc.collect()

def leave_the_block():
    with client, window:
        pass

def refused():
    for call in (client.connected, client.state, client.fileno, client.wipe, window.poll,
                 places.poll, lambda: client.send("c", "of the child"),
                 lambda: list(client.frames())):
        try:
            call()
        except tideline.InvalidError as error:
            assert "before a fork" in str(error), error
        else:
            raise AssertionError("not refused")

def in_a_process():
    child = multiprocessing.get_context("fork").Process(target=let_go)
    child.start()
    child.join()
    assert child.exitcode == 0

def in_a_pool():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(abs, range(-8, 0)) == list(range(8, 0, -1))

send(3)
%s
send(40)
os.kill(os.getpid(), signal.SIGKILL)
"""

ENDS = {
    "nothing": "forked(lambda: None)", "let go": "forked(let_go)",
    "blocks": "forked(leave_the_block)", "closed": "forked(client.close)",
    "refused": "forked(refused)", "a process": "in_a_process()", "a pool": "in_a_pool()"}

# Called without a handle of a client.
NOT_ON_A_HANDLE = ("tl_client_open", "tl_viewport_new", "tl_key_code")
KINDS = ("window", "items", "list", "work", "viewport")


def default(kind):
    """An argument without a meaning."""
    return kind() if issubclass(kind, (ctypes.Structure, ctypes._SimpleCData)) else None


class Fork(unittest.TestCase):
    def test_what_was_sent_is_there_whatever_a_child_did(self):
        for name, end in ENDS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "a.tideline")
                parent = subprocess.run(
                    [sys.executable, "-c", PARENT % textwrap.dedent(end), path],
                    capture_output=True, text=True)
                self.assertEqual((parent.returncode, parent.stderr), (-signal.SIGKILL, ""))
                numbers = [int(line) for line in parent.stdout.split()]
                self.assertEqual(len(numbers), 43)
                with tideline.Client(path, KEY, user_id="me", existing=True) as client:
                    page = client.messages("c", limit=1000)
                    self.assertEqual([row.number for row in page.messages], numbers)

    def test_each_function_of_a_handle_is_refused_in_a_child(self):
        """Also those that take what is no argument: the handle is looked at first."""
        with tideline.Client(user_id="me") as client:
            window, places = client.window("c"), client.conversation_list()
            items, viewport = tideline.Items(window), tideline.Viewport(100)
            client.search_switch(True)
            work = client.search_build()
            handles = {"window": window._handle, "items": items._handle, "list": places._handle,
                       "work": work._handle, "viewport": viewport._handle}
            calls = []
            for name, (result, arguments) in c.FUNCTIONS.items():
                if name in NOT_ON_A_HANDLE or not arguments or arguments[0] is not ctypes.c_void_p:
                    continue
                kind = name.split("_")[1]
                if kind == "batch":
                    continue
                handle = handles[kind] if kind in KINDS else client._handle
                rest = [default(one) for one in arguments[1:]]
                if name in ("tl_window_open", "tl_list_open"):
                    handle = client._handle
                if name == "tl_items_open":
                    # What it has to release is in its configuration, which is read before.
                    config = c.ItemsConfig(struct_size=ctypes.sizeof(c.ItemsConfig))
                    handle, rest = window._handle, [ctypes.byref(config), None]
                calls.append((name, result, handle, rest))
            self.assertGreater(len(calls), 90)
            # What frees comes last.
            calls.sort(key=lambda call: call[0].endswith("_free"))
            child = os.fork()
            if child == 0:
                wrong = 0
                for name, result, handle, rest in calls:
                    status = getattr(c.library, name)(handle, *rest)
                    if result is None:
                        continue
                    reason = c.library.tl_last_error()
                    if status != tideline.Status.INVALID or b"before a fork" not in reason:
                        print(name, status, reason, file=sys.stderr, flush=True)
                        wrong = 1
                os._exit(wrong)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertIsNotNone(client.send("c", "text"))


if __name__ == "__main__":
    unittest.main()
