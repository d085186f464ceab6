"""Messages in tables of the host's own: a mirror of a client, by its change feed.

    python examples/storage/mirror.py           # a client in memory, mirrored into SQLite

The number up to which the feed was taken lies in the same database as the rows, and both change in
one transaction: so each change takes effect once, whenever the process dies. Call ``mirror`` once
right after an opening, before the client is given anything: what was not synced may have gone with
a crash, and its numbers are given again. Then call it whenever ``client.fileno()`` is readable.
"""

import sqlite3

import tideline

TABLES = """
CREATE TABLE IF NOT EXISTS feed(seq INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS messages(conversation TEXT, number INTEGER, id TEXT, sender TEXT,
  time_us INTEGER, payload BLOB, PRIMARY KEY(conversation, number));
"""
OF_MESSAGES = {tideline.ChangeKind.INSERTED, tideline.ChangeKind.UPDATED,
               tideline.ChangeKind.REMOVED}
LAST = (1 << 63) - 1


def replace(client, tables, conversation, first=0, last=LAST):
    """Brings the rows of a conversation with these numbers to what the client has."""
    tables.execute("DELETE FROM messages WHERE conversation = ? AND number BETWEEN ? AND ?",
                   (conversation, first, last))
    while first <= last and (page := client.numbered(conversation, first, last, 500)):
        tables.executemany(
            "INSERT INTO messages VALUES(?, ?, ?, ?, ?, ?)",
            ((conversation, row.number, row.id, row.sender, row.time_us, row.payload)
             for row in page))
        first = page[-1].number + 1


def mirror(client, tables):
    """Brings the tables to what the client has. False where they were there already."""
    tables.executescript(TABLES)
    seq = (tables.execute("SELECT seq FROM feed").fetchone() or (0,))[0]
    newest = client.state().change_seq
    changes = client.changes(after=seq)
    with tables:
        if changes.resync or newest < seq:
            # Older entries are gone, or the client has lost what it had not synced: all anew.
            known = {name for name, in tables.execute("SELECT DISTINCT conversation FROM messages")}
            for name in known | {found.id for found in client.conversations(limit=10_000)}:
                replace(client, tables, name)
        elif not changes.entries:
            return False
        else:
            newest = changes.entries[-1].seq
            for entry in changes.entries:
                if entry.kind in OF_MESSAGES and entry.last:
                    replace(client, tables, entry.conversation, entry.first, entry.last)
        tables.execute("DELETE FROM feed")
        tables.execute("INSERT INTO feed VALUES(?)", (newest,))
    return True


if __name__ == "__main__":
    with tideline.Client(user_id="eva") as client, sqlite3.connect(":memory:") as database:
        for text in ("ahoj", "how are you"):
            client.send("general", {"text": text})
        while mirror(client, database):
            continue
        for line in database.execute("SELECT conversation, sender, payload FROM messages"):
            print(*line)
