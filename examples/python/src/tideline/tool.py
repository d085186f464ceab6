"""The command ``tideline``: looks into a file, finds messages in it, writes them out, copies the
file, changes its keys, and erases.

It uses the library as any program does, and needs the file for itself: a program that has the
file open must close it first.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import getpass
import json
import os
import pathlib
import shutil
import sys
import tempfile
import typing
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TextIO

from ._words import moment
from .client import KEY_BYTES, Client, key_file, version
from .errors import DamagedError, TidelineError
from .find import Asked, Checked, Receipt, Work
from .salvage import salvage
from .slots import KeyKind, KeySlot, Secret, keys, recovery_code
from .values import Capabilities, Message, Profile

#: What the command ends with.
DONE, NOTHING, USAGE, FAILED, INTERRUPTED = 0, 1, 2, 3, 130
_HITS_EACH, _HITS_MAX = 50, 1_000
#: ``TL_KEY_LABEL_BYTES``.
_LABEL_BYTES_MAX = 48
#: ``TL_TRACE_MAX``: a trace that is there is not cut.
_TRACE_MAX = 1_000_000
_KINDS = {"raw": KeyKind.RAW, "passphrase": KeyKind.PASSPHRASE, "code": KeyKind.CODE}
_STEP_MS = 50


class Trouble(Exception):
    """Something that the person at the keyboard can mend."""


def _key(named: pathlib.Path) -> bytes:
    try:
        key = named.read_bytes()
    except OSError as error:
        raise Trouble(f"no key can be read from {named}: {error.strerror}") from None
    if len(key) != KEY_BYTES:
        raise Trouble(f"{named} holds {len(key)} bytes, and a key has {KEY_BYTES}")
    return key


@contextlib.contextmanager
def _client(told: argparse.Namespace, file: pathlib.Path | None = None) -> Iterator[Client]:
    """Opens the file that is named, or another one with its key, and never makes one."""
    file = file or told.file
    if not file.exists():
        raise Trouble(f"there is no file {file}")
    # Without it the first commit would drop what `explain` reads.
    with Client(file, _secret(told), existing=True, trace=True,
                trace_max=_TRACE_MAX, **_opening(told)) as client:
        yield client


def _secret(told: argparse.Namespace) -> Secret:
    if _KINDS[told.open_with] is not KeyKind.RAW:
        return _asked(told.open_with.capitalize())
    return _key(told.key or told.file.with_name(told.file.name + ".key"))


def _opening(told: argparse.Namespace) -> dict[str, Any]:
    known = {"time": None, "number": Profile(capabilities=Capabilities.SEQUENCE),
             "log": Profile(capabilities=Capabilities.LOG)}
    return {"key_kind": _KINDS[told.open_with], "user_id": told.user, "account": told.account,
            "profile": known[told.order]}


def _asked(name: str) -> Secret:
    """A secret, typed where nobody sees it, or the next line of what is piped in, byte by byte."""
    # Nil where it was closed, whatever its type says.
    if not sys.stdin:
        raise Trouble(f"{name} is needed, and there is no input")
    if sys.stdin.isatty():
        return getpass.getpass(f"{name}: ")
    return sys.stdin.buffer.readline().rstrip(b"\r\n")


def _work(work: Work, after: Callable[[], None] = lambda: None) -> None:
    """Works to the end, does something after each step, and draws how far it is where a person
    looks."""
    while True:
        progress = work.step(_STEP_MS)
        after()
        if sys.stderr.isatty():
            part = progress.done / progress.total if progress.total else 1.0
            end = "\n" if progress.is_done else ""
            print(f"\r[{'#' * int(part * 40):40}] {part:4.0%}", end=end, file=sys.stderr)
        if progress.is_done:
            return


def _time(time_us: int) -> str:
    time = moment(time_us)
    return time.astimezone(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S") if time else "-"


def _text(message: Message) -> str:
    """What a person reads: the member ``text`` of a payload, or the payload as it is."""
    try:
        payload: Any = message.json
    except ValueError:
        return message.payload.decode(errors="replace")
    if isinstance(payload, dict) and isinstance(payload.get("text"), str):
        payload = payload["text"]
    text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    return _plain(text)


def _plain(text: str) -> str:
    """A terminal is told nothing by a message."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _all(client: Client) -> Iterator[Any]:
    offset = 0
    while rows := client.conversations(offset, 500):
        yield from rows
        offset += len(rows)


def _info(told: argparse.Namespace) -> int:
    with _client(told) as client:
        stats, state = client.stats(), client.state()
        rows = [{"id": one.id, "title": one.title, "newest": _time(one.activity_us),
                 "unread": one.unread, "draft": bool(one.draft)} for one in _all(client)]
        own = _own(told.file)
        own_bytes = own.stat().st_size if own.exists() else 0
    facts = {
        "library": version(), "bytes": stats.file_bytes, "bytes of its -own file": own_bytes,
        "conversations": stats.conversations,
        "messages": stats.messages, "deleted": stats.tombstones,
        "unreadable": stats.quarantined, "operations open": state.operations_open,
        "operations stuck": state.operations_stuck, "newest change": state.change_seq,
        "rejected frames of the log": stats.wal_frames_rejected}
    if told.json:
        print(json.dumps({**facts, "rooms": rows}, ensure_ascii=False))
        return DONE
    for name, value in facts.items():
        print(f"{name:28}{value}")
    for row in rows:
        draft = "  draft" if row["draft"] else ""
        print(f"{row['newest']}  {row['unread']:>5} unread  {row['title'] or row['id']}{draft}")
    return DONE


def _search(told: argparse.Namespace) -> int:
    with _client(told) as client, contextlib.ExitStack() as ends:
        if client.search_switch(True):
            # As its program has it.
            ends.callback(client.search_switch, False)
        _work(client.search_build())
        found = client.search(" ".join(told.words), told.conversation, limit=told.limit,
                              marks=False)
        if found.asked is not Asked.YES:
            raise Trouble("nothing to look for: name a word that is not excluded")
        for hit in found.hits:
            one = hit.message
            if told.json:
                print(json.dumps({
                    "conversation": one.conversation, "id": one.id, "sender": one.sender,
                    "time_us": one.time_us, "text": _text(one)}, ensure_ascii=False))
            else:
                print(f"{_time(one.time_us)}  {one.conversation}  {one.sender}: {_text(one)}")
        if found.has_more:
            print(f"there are more than {told.limit}: see --limit", file=sys.stderr)
        if found.sealed:
            print(f"{found.sealed} messages are sealed and were not searched", file=sys.stderr)
        return DONE if found.hits else NOTHING


def _export(told: argparse.Namespace) -> int:
    with _client(told) as client, contextlib.ExitStack() as ends:
        file: BinaryIO = sys.stdout.buffer
        if told.output is not None:
            if told.output.exists():
                raise Trouble(f"{told.output} is there already: move it away first")
            # Under its own name only when it is whole.
            part = pathlib.Path(ends.enter_context(_workplace(told.output))) / "part"
            file = ends.enter_context(part.open("wb"))
        rooms = [told.conversation] if told.conversation else [row.id for row in _all(client)]
        lines: list[bytes] = []

        def write() -> None:
            # Not from inside of the work, which would hide what the disk says.
            file.write(b"".join(lines))
            lines.clear()

        for one in rooms:
            _work(client.export(one, lines.append), write)
        file.flush()
        if told.output is not None:
            os.fsync(file.fileno())
            part.replace(told.output)
    return DONE


def _explain(told: argparse.Namespace) -> int:
    with _client(told) as client:
        found = client.explain(told.conversation, told.id, told.limit)
    if told.json:
        print(json.dumps(found, ensure_ascii=False))
        return DONE
    print(f"{'shown' if found['shown'] else 'not shown'}: {found['reason']}; "
          f"next: {found['next']}")
    for gap in found.get("gaps", ()):
        low = _time(gap["low_us"]) if "low_us" in gap else "the start"
        high = _time(gap["high_us"]) if "high_us" in gap else "the present"
        print(f"it may be between {low} and {high}")
    if not found["traced"]:
        print("the file has no trace of changes")
    for one in found["trace"]:
        words = [_time(one["at_us"]), one["effect"], "by", one["cause"]]
        words += [f"{name} {one[name]}" for name in ("verb", "request", "operation", "connection")
                  if name in one]
        print(_plain("  ".join(words)))
    return DONE


def _backup(told: argparse.Namespace) -> int:
    with _client(told) as client:
        _work(client.backup(told.target))
    return DONE


def _check(told: argparse.Namespace) -> int:
    try:
        with _client(told) as client:
            work = client.check(told.heal)
            _work(work)
            found = typing.cast(Checked, work.checked())
    except DamagedError as error:
        raise Trouble("the file does not open, or cannot be healed: read what is left of it into a "
                      "new one with salvage") from error
    wrong = f"{found.damaged} of them damaged"
    if found.contradictions:
        wrong += f", {found.contradictions} rows or tables that contradict others"
    if (found.damaged or found.contradictions) and not found.is_healed:
        raise Trouble(f"{found.pages} pages, {wrong}: --heal writes what it can read over the "
                      "file, and the server fills the rest")
    healed = f", {wrong}, healed" if found.is_healed else ", all sound"
    print(f"{found.pages} pages{healed}")
    return DONE


def _salvage(told: argparse.Namespace) -> int:
    if not told.file.exists():
        raise Trouble(f"there is no file {told.file}")
    _work(salvage(told.file, _secret(told), told.target, **_opening(told)))
    return DONE


def _workplace(file: pathlib.Path) -> tempfile.TemporaryDirectory[str]:
    """A new folder beside a file that is made, for what is not whole yet."""
    return tempfile.TemporaryDirectory(prefix=".tideline-", dir=file.absolute().parent)


def _log(file: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(f"{file}-wal")


def _own(file: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(f"{file}-own")


def _state(file: pathlib.Path) -> tuple[tuple[int, ...] | None, ...]:
    """What differs once a file or its log was written to."""
    states: list[tuple[int, ...] | None] = []
    for one in (file, _log(file)):
        try:
            now = one.stat()
            states.append((now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns))
        except FileNotFoundError:
            states.append(None)
    return tuple(states)


def _restore(told: argparse.Namespace) -> int:
    """Opens a plain copy, so that the backup stays as it is, and copies that page by page: each one
    is decrypted, and nothing is written over."""
    if not told.backup.exists():
        raise Trouble(f"there is no file {told.backup}")
    for file in (told.file, _log(told.file), _own(told.file)):
        if file.exists():
            raise Trouble(f"{file} is there already: move it away first")
    # The library makes a file under that name first, and removes what has it.
    new = pathlib.Path(f"{told.file}-new")
    if new.exists():
        raise Trouble(f"{new} is in the way: move it away first")
    with _workplace(told.file) as folder:
        part = pathlib.Path(folder) / "part"
        before = _state(told.backup)
        for source, copy in ((told.backup, part), (_log(told.backup), _log(part))):
            if source.exists():
                copy.touch(mode=0o600, exist_ok=False)
                shutil.copyfile(source, copy)
        if _state(told.backup) != before:
            raise Trouble(f"{told.backup} was written to meanwhile: close it, then try again")
        with _client(told, part) as client:
            _work(client.backup(told.file))
    return DONE


def _print_slots(slots: tuple[KeySlot, ...]) -> None:
    names = {kind: name for name, kind in _KINDS.items()}
    for one in slots:
        name = names[one.kind] if isinstance(one.kind, KeyKind) else "of a later version"
        label = "".join(sign if sign.isprintable() else " " for sign in one.label)
        print(f"{one.slot}  {name:12}{label}")


def _slots(told: argparse.Namespace) -> int:
    slots = keys(told.file)
    _print_slots(slots)
    return DONE if slots else NOTHING


def _add(told: argparse.Namespace) -> int:
    with _client(told) as client:
        kind = _KINDS[told.kind]
        slots = client.keys()
        if told.slot is not None and told.slot not in [one.slot for one in slots]:
            raise Trouble(f"there is no key {told.slot}")
        if kind is KeyKind.RAW:
            if told.into is None:
                raise Trouble("name the file that the new key goes into: --into PATH")
            if told.into.exists():
                raise Trouble(f"{told.into} is there already")
            # On the disk before the file knows it.
            new: Secret = key_file(told.into)
        elif kind is KeyKind.CODE:
            new = recovery_code()
            # Before the file knows it: where it cannot be printed nothing is changed.
            print(f"Print this and keep it apart from the device: {new}", flush=True)
        else:
            new = _asked("New passphrase")
            if new != _asked("Again"):
                raise Trouble("the two are not the same; nothing was changed")
            if not new:
                raise Trouble("the passphrase is empty")
        if told.slot is None:
            client.key_add(new, kind, label=told.label)
        else:
            client.key_change(told.slot, new, kind, label=told.label)
        _print_slots(client.keys())
    return DONE


def _remove(told: argparse.Namespace) -> int:
    with _client(told) as client:
        client.key_remove(told.slot)
        _print_slots(client.keys())
    return DONE


def _rekey(told: argparse.Namespace) -> int:
    with _client(told) as client:
        _work(client.rekey())
    return DONE


def _erase(told: argparse.Namespace) -> int:
    if not told.all and not told.conversation:
        raise Trouble("name a conversation; nothing was changed")
    with _client(told) as client:
        if told.all:
            stats = client.stats()
            receipt = {"files": 1, "conversations": stats.conversations,
                       "messages": stats.messages, "file_bytes": stats.file_bytes}
            client.wipe()
        else:
            work = client.rekey(told.conversation)
            _work(work)
            receipt = dataclasses.asdict(typing.cast(Receipt, work.receipt()))
        print(json.dumps(receipt))
    return DONE


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _HITS_MAX:
        raise argparse.ArgumentTypeError(f"a number from 1 to {_HITS_MAX:,} is needed")
    return int(text)


def _label(text: str) -> str:
    if len(os.fsencode(text)) > _LABEL_BYTES_MAX:
        raise argparse.ArgumentTypeError(f"it has more than {_LABEL_BYTES_MAX} bytes")
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tideline",
        description="Looks into an encrypted file of Tideline, copies it, and changes its keys.")
    parser.add_argument("--version", action="version", version=f"tideline {version()}")
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("file", type=pathlib.Path, help="the encrypted file")
    opened = argparse.ArgumentParser(add_help=False)
    opened.add_argument("--user", required=True, help="the user whose file it is")
    opened.add_argument("--account", default="", help="the account, where the file has one")
    opened.add_argument("--key", type=pathlib.Path, metavar="KEYFILE",
                      help="where its 32 bytes are (FILE.key)")
    opened.add_argument("--open-with", choices=_KINDS, default="raw",
                      help="a passphrase or code is asked for (raw)")
    opened.add_argument("--order", choices=("time", "number", "log"), default="time",
                      help="how the server orders messages (time)")
    each = argparse.ArgumentParser(add_help=False, parents=[named, opened])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    one = commands.add_parser("info", parents=[each], help="says what is in it")
    one.add_argument("--json", action="store_true", help="one JSON object")
    one.set_defaults(run=_info)
    one = commands.add_parser("search", parents=[each], help="finds messages by their words")
    one.add_argument("words", nargs="+", metavar="WORD", help="as in the query language")
    one.add_argument("--conversation", default="", help="only there")
    one.add_argument("--limit", type=_limit, default=_HITS_EACH, metavar="NUMBER",
                     help="at most so many, up to 1,000 (50)")
    one.add_argument("--json", action="store_true", help="one JSON object a line")
    one.set_defaults(run=_search)
    one = commands.add_parser("export", parents=[each], help="writes messages as JSON lines")
    one.add_argument("--conversation", default="", help="only of it")
    one.add_argument("--output", "-o", type=pathlib.Path, metavar="PATH",
                     help="into this file, and not to the terminal")
    one.set_defaults(run=_export)
    one = commands.add_parser("explain", parents=[each],
                              help="says why a message is shown or is not")
    one.add_argument("conversation", metavar="CONVERSATION")
    one.add_argument("id", metavar="ID", help="of the message, or the client id of a send")
    one.add_argument("--limit", type=_limit, default=_HITS_EACH, metavar="NUMBER",
                     help="changes at most, up to 1,000 (50)")
    one.add_argument("--json", action="store_true", help="one JSON object")
    one.set_defaults(run=_explain)
    one = commands.add_parser("backup", parents=[each], help="copies the file to a new one")
    one.add_argument("target", type=pathlib.Path, help="where the copy goes; nothing may be there")
    one.set_defaults(run=_backup)
    one = commands.add_parser("check", parents=[each],
                              help="decrypts each page, and says how many are damaged")
    one.add_argument("--heal", action="store_true", help="writes what it can read over the file")
    one.set_defaults(run=_check)
    one = commands.add_parser("salvage", parents=[each],
                              help="reads what it can of a damaged file into a new one")
    one.add_argument("target", type=pathlib.Path, help="the new file; nothing may be there")
    one.set_defaults(run=_salvage)
    one = commands.add_parser("restore", parents=[opened], help="makes a file of a backup")
    one.add_argument("backup", type=pathlib.Path, help="the backup; it stays as it is")
    one.add_argument("file", type=pathlib.Path, help="the new file; nothing may be there")
    one.set_defaults(run=_restore)
    one = commands.add_parser("slots", parents=[named],
                              help="lists its keys, also while it is open")
    one.set_defaults(run=_slots)
    one = commands.add_parser("add-key", parents=[each], help="adds a key, or replaces one")
    one.add_argument("kind", choices=_KINDS)
    one.add_argument("--label", type=_label, default="", help="anybody with the file can read it")
    one.add_argument("--slot", type=int, metavar="NUMBER", help="replaces this key")
    one.add_argument("--into", type=pathlib.Path, metavar="PATH", help="where a raw key goes")
    one.set_defaults(run=_add)
    one = commands.add_parser("remove-key", parents=[each], help="removes a key")
    one.add_argument("slot", type=int, metavar="NUMBER", help="as slots lists it")
    one.set_defaults(run=_remove)
    one = commands.add_parser("rekey", parents=[each],
                              help="seals the file anew; removed keys open nothing of it")
    one.set_defaults(run=_rekey)
    one = commands.add_parser("erase", parents=[each], help="erases so that no key reads it")
    what = one.add_mutually_exclusive_group(required=True)
    what.add_argument("--conversation", help="with the user's own work in it")
    what.add_argument("--all", action="store_true", help="the file")
    one.set_defaults(run=_erase)
    return parser


def main(words: list[str] | None = None) -> int:
    """0 when done, 1 where a search finds nothing, 2 for wrong words, 3 where the file or the disk
    refuses, 130 where a person ended it (ctrl-C). Reasons go to the error stream."""
    told = _parser().parse_args(words)
    code: int | None = None
    try:
        if not sys.stdout:
            raise Trouble("there is no output")
        code = int(told.run(told))
        # The interpreter flushes at its end, where an error has no reason and the code 120.
        print(end="", flush=True)
        return code
    except BrokenPipeError:
        # Who reads has enough; but a key that nobody reads was not added.
        _drop(sys.stdout)
        return FAILED if told.run is _add and code is None else DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (Trouble, TidelineError, OSError, ValueError) as error:
        for text, file in ((f"tideline: {error}\n", sys.stderr), ("", sys.stdout)):
            try:
                if file:
                    print(text, end="", file=file, flush=True)
            except OSError:
                _drop(file)
        return FAILED


def _drop(file: TextIO) -> None:
    """Lets the interpreter throw away what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())


if __name__ == "__main__":
    sys.exit(main())
