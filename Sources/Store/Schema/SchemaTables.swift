/// The tables of the first form, in two parts: what is the user's own, and the cache
/// of what the server said, which can be made anew.
///
/// Messages are clustered by their position, so that a window reads neighbouring
/// pages; ids and account text are bytes, compared as bytes.
extension Schema {
  /// What no server could give again.
  static func createOwn(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      CREATE TABLE meta (
        one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
        account BLOB NOT NULL,
        user BLOB NOT NULL,
        position_kind INTEGER NOT NULL,
        cache_form INTEGER NOT NULL,
        opening INTEGER NOT NULL DEFAULT 0,
        lsn INTEGER NOT NULL DEFAULT 0,
        last_number INTEGER NOT NULL DEFAULT 0,
        last_change INTEGER NOT NULL DEFAULT 0,
        trimmed_change INTEGER NOT NULL DEFAULT 0,
        last_operation INTEGER NOT NULL DEFAULT 0,
        last_event INTEGER NOT NULL DEFAULT 0,
        event_count INTEGER NOT NULL DEFAULT 0,
        trimmed_event INTEGER NOT NULL DEFAULT 0,
        server_time INTEGER,
        clock_ahead INTEGER,
        largest_page INTEGER NOT NULL DEFAULT 0,
        overlap_us INTEGER NOT NULL DEFAULT 0,
        epoch BLOB,
        restored_lsn INTEGER NOT NULL DEFAULT 0,
        waiting_dropped INTEGER NOT NULL DEFAULT 0,
        recent_changes BLOB NOT NULL DEFAULT x'',
        recent_refs BLOB NOT NULL DEFAULT x'',
        kept_state BLOB NOT NULL DEFAULT x'',
        owes_list INTEGER NOT NULL DEFAULT 0,
        own_lsn INTEGER NOT NULL DEFAULT 0,
        own_opening INTEGER NOT NULL DEFAULT 0
      ) STRICT;

      CREATE TABLE conversation (
        cid INTEGER NOT NULL PRIMARY KEY,
        id BLOB NOT NULL UNIQUE,
        message_count INTEGER NOT NULL DEFAULT 0,
        fetch_us INTEGER,
        fetch_text BLOB,
        deletions_us INTEGER,
        deletions_text BLOB,
        marks_us INTEGER,
        marks_text BLOB,
        top_time INTEGER,
        top_id BLOB,
        lowest_since_us INTEGER,
        total_count INTEGER,
        restored_lsn INTEGER NOT NULL DEFAULT 0,
        audited_total INTEGER,
        audited_count INTEGER,
        is_pending INTEGER NOT NULL DEFAULT 0,
        deleted_lsn INTEGER NOT NULL DEFAULT 0,
        made_us INTEGER,
        told_lsn INTEGER NOT NULL DEFAULT 0,
        read_time INTEGER,
        read_id BLOB,
        read_named BLOB,
        told_time INTEGER,
        told_id BLOB,
        unread_count INTEGER NOT NULL DEFAULT 0,
        server_unread INTEGER,
        counted_time INTEGER,
        counted_id BLOB,
        counted_lsn INTEGER NOT NULL DEFAULT 0,
        unread_fewer INTEGER NOT NULL DEFAULT 0,
        unread_more INTEGER NOT NULL DEFAULT 0
      ) STRICT;

      CREATE TABLE alias (
        name BLOB NOT NULL PRIMARY KEY,
        cid INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX alias_cid ON alias (cid);

      CREATE TABLE operation (
        seq INTEGER NOT NULL PRIMARY KEY,
        verb INTEGER NOT NULL,
        cid INTEGER NOT NULL,
        target BLOB NOT NULL,
        state INTEGER NOT NULL DEFAULT 0,
        number INTEGER NOT NULL DEFAULT 0,
        flags INTEGER NOT NULL DEFAULT 0,
        client_id BLOB,
        depends INTEGER NOT NULL DEFAULT 0,
        waits INTEGER NOT NULL DEFAULT 0,
        reply_to BLOB,
        body BLOB,
        plain BLOB,
        sealed BLOB,
        attempts INTEGER NOT NULL DEFAULT 0,
        error_code BLOB,
        error_text BLOB,
        result BLOB,
        at_us INTEGER NOT NULL DEFAULT 0,
        told_after INTEGER,
        rewritten INTEGER NOT NULL DEFAULT 0,
        lsn INTEGER NOT NULL,
        told_us INTEGER,
        told_by INTEGER
      ) STRICT;
      CREATE INDEX operation_target ON operation (cid, target) WHERE state != 4;
      CREATE INDEX operation_mark ON operation (verb) WHERE verb < 10;
      CREATE INDEX operation_kept ON operation (cid) WHERE verb >= 10;
      CREATE INDEX operation_open ON operation (seq) WHERE verb >= 10 AND state != 4;
      CREATE INDEX operation_done ON operation (seq) WHERE state = 4;
      CREATE INDEX operation_pending ON operation (cid) WHERE number != 0 AND state != 4;
      CREATE INDEX operation_number ON operation (number) WHERE number != 0 AND state != 4;
      CREATE UNIQUE INDEX operation_client ON operation (client_id)
        WHERE client_id IS NOT NULL;
      CREATE INDEX operation_text ON operation (cid, target) WHERE plain IS NOT NULL;
      CREATE INDEX operation_depends ON operation (depends) WHERE depends != 0;

      CREATE TABLE draft (
        cid INTEGER NOT NULL PRIMARY KEY,
        body BLOB NOT NULL,
        reply_to BLOB,
        lsn INTEGER NOT NULL
      ) STRICT;

      CREATE TABLE offered (
        seq INTEGER NOT NULL PRIMARY KEY,
        cid INTEGER NOT NULL,
        id BLOB NOT NULL,
        flags INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX offered_id ON offered (cid, id);

      CREATE TABLE forgotten (
        cid INTEGER NOT NULL,
        id BLOB NOT NULL,
        PRIMARY KEY (cid, id)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE ref (
        seq INTEGER NOT NULL PRIMARY KEY,
        ref BLOB NOT NULL UNIQUE,
        at_us INTEGER NOT NULL,
        owed INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX ref_owed ON ref (seq) WHERE owed = 1;
      """)
  }

  /// What the server said.
  static func createCache(_ connection: Connection) throws(StoreFailure) {
    try connection.execute(
      """
      CREATE TABLE message (
        cid INTEGER NOT NULL,
        time INTEGER NOT NULL,
        key BLOB NOT NULL,
        number INTEGER NOT NULL,
        flags INTEGER NOT NULL,
        lsn INTEGER NOT NULL,
        issued INTEGER NOT NULL,
        marked INTEGER NOT NULL,
        pin_issued INTEGER,
        version INTEGER,
        reactions_version INTEGER,
        edited_us INTEGER,
        sent_us INTEGER,
        sender BLOB NOT NULL,
        stamp BLOB NOT NULL,
        reply_to BLOB,
        reactions BLOB,
        read_by BLOB,
        delivered_by BLOB,
        listened_by BLOB,
        payload BLOB NOT NULL,
        rest BLOB NOT NULL,
        raw BLOB,
        digest INTEGER,
        client_id BLOB,
        id BLOB GENERATED ALWAYS AS
          (iif(key >= x'01' AND key < x'F8', key, substr(key, 5))) VIRTUAL,
        PRIMARY KEY (cid, time, key)
      ) STRICT, WITHOUT ROWID;
      CREATE UNIQUE INDEX message_number ON message (number);
      CREATE UNIQUE INDEX message_id ON message (cid, id);
      CREATE INDEX message_pinned ON message (cid, time, key) WHERE flags & 8208 != 0;
      CREATE INDEX message_sealed ON message (cid, time, key) WHERE flags & 64 != 0;
      CREATE INDEX message_client ON message (cid, client_id) WHERE client_id IS NOT NULL;

      CREATE TABLE tombstone (
        cid INTEGER NOT NULL,
        id BLOB NOT NULL,
        version INTEGER,
        lsn INTEGER NOT NULL,
        PRIMARY KEY (cid, id)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE span (
        cid INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        low_time INTEGER NOT NULL,
        low_id BLOB NOT NULL,
        high_time INTEGER NOT NULL,
        high_id BLOB NOT NULL,
        PRIMARY KEY (cid, kind, low_time, low_id)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE quarantine (
        seq INTEGER NOT NULL PRIMARY KEY,
        cid INTEGER NOT NULL,
        low_time INTEGER NOT NULL,
        low_id BLOB NOT NULL,
        high_time INTEGER NOT NULL,
        high_id BLOB NOT NULL,
        digest INTEGER NOT NULL,
        size INTEGER NOT NULL,
        reason INTEGER NOT NULL,
        lsn INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        seen INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX quarantine_place ON quarantine
        (cid, low_time, low_id, high_time, high_id, digest, size);

      CREATE TABLE change (
        last INTEGER NOT NULL PRIMARY KEY,
        entries BLOB NOT NULL
      ) STRICT;

      CREATE TABLE waiting (
        seq INTEGER NOT NULL PRIMARY KEY,
        cid INTEGER NOT NULL,
        id BLOB NOT NULL,
        marked INTEGER,
        reactions_version INTEGER,
        reactions BLOB,
        pin_issued INTEGER,
        pinned INTEGER,
        read_by BLOB,
        delivered_by BLOB,
        listened_by BLOB
      ) STRICT;
      CREATE UNIQUE INDEX waiting_id ON waiting (cid, id);

      CREATE TABLE event (
        seq INTEGER NOT NULL PRIMARY KEY,
        kind INTEGER NOT NULL,
        action INTEGER NOT NULL,
        silent INTEGER NOT NULL,
        cid INTEGER NOT NULL,
        entity BLOB NOT NULL,
        body BLOB NOT NULL,
        id BLOB NOT NULL DEFAULT x''
      ) STRICT;
      CREATE INDEX event_typing ON event (seq) WHERE kind = 2;

      CREATE TABLE entity (
        kind INTEGER NOT NULL,
        cid INTEGER NOT NULL,
        id BLOB NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (kind, cid, id)
      ) STRICT, WITHOUT ROWID;
      """)
  }
}
