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
               tideline.ChangeKind.REMOVED, tideline.ChangeKind.OPERATIONS}


def rows(client, conversation):
    """All that the cache has of a conversation, in pages."""
    at = {"from_": tideline.From.OLDEST}
    while page := client.messages(conversation, limit=500, **at).messages:
        yield from page
        at = {"from_": tideline.From.AFTER, "number": page[-1].number}


def mirror(client, tables):
    """Brings the tables to what the client has. False where they were there already."""
    tables.executescript(TABLES)
    seq = (tables.execute("SELECT seq FROM feed").fetchone() or (0,))[0]
    newest = client.state().change_seq
    changes = client.changes(after=seq)
    if changes.resync or newest < seq:
        # Older entries are gone, or the client has lost what it had not synced: all anew.
        known = {name for name, in tables.execute("SELECT DISTINCT conversation FROM messages")}
        stale = known | {found.id for found in client.conversations(limit=10_000)}
    else:
        if not changes.entries:
            return False
        stale = {entry.conversation for entry in changes.entries if entry.kind in OF_MESSAGES}
        newest = changes.entries[-1].seq
    with tables:
        for conversation in filter(None, stale):
            tables.execute("DELETE FROM messages WHERE conversation = ?", (conversation,))
            tables.executemany(
                "INSERT INTO messages VALUES(?, ?, ?, ?, ?, ?)",
                ((conversation, row.number, row.id, row.sender, row.time_us, row.payload)
                 for row in rows(client, conversation)))
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
