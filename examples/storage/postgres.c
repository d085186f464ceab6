/* A storage in PostgreSQL: any process of a fleet picks an account up, and the database is what
   keeps two of them apart. It holds ciphertext only.

   The lease is a row with a number. Each call that changes something is one transaction that locks
   this row for sharing and compares the number, so an acquire waits for it, and after the acquire
   no older call can take effect. A read compares in the one statement that reads. An advisory lock
   would not do: it ends with its connection, and the server may still work on what came before.

   Calls are committed without waiting for the disk, in order. A sync is a transaction that waits:
   with its record all earlier ones are on the disk. So `kill -9` of the process loses nothing, and
   a crash of the database what came after the last sync. After a connection was lost the database
   may have been down, so numbers that were given on an earlier connection are refused. A pooler may
   hide that a connection was lost, so each call also compares when the server was started. A pooler
   by transaction is of no use here: it gives each call another session, without its settings. */
#include <errno.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres_storage.h"

enum { BLOCK = 4096 };

struct postgres_storage {
  pthread_mutex_t lock;
  char *where;
  PGconn *connection;
  uint64_t first; /* Numbers up to this one were given on earlier connections. */
};

static const char schema[] =
    "SET client_min_messages = warning;"
    "SELECT pg_advisory_lock(7447);"
    "CREATE SEQUENCE IF NOT EXISTS tl_fence;"
    "CREATE TABLE IF NOT EXISTS tl_name(name bytea PRIMARY KEY, fence bigint NOT NULL);"
    "CREATE TABLE IF NOT EXISTS tl_object(name bytea, object int, size bigint NOT NULL,"
    " fence bigint NOT NULL, syncs bigint NOT NULL, PRIMARY KEY(name, object));"
    "CREATE TABLE IF NOT EXISTS tl_block(name bytea, object int, block bigint,"
    " bytes bytea NOT NULL, PRIMARY KEY(name, object, block));"
    "ALTER TABLE tl_name ADD COLUMN IF NOT EXISTS started timestamptz;"
    "ALTER TABLE tl_block ALTER bytes SET STORAGE PLAIN;"
    /* Refuses every number but the newest, and keeps it the newest until the transaction ends. */
    "CREATE OR REPLACE FUNCTION tl_hold(n bytea, f bigint) RETURNS void AS $$ BEGIN"
    " PERFORM 1 FROM tl_name WHERE name = n AND fence = f"
    "  AND started = pg_postmaster_start_time() FOR SHARE;"
    " IF NOT FOUND THEN RAISE EXCEPTION 'lost' USING ERRCODE = 'TL001'; END IF;"
    " END $$ LANGUAGE plpgsql;"
    "CREATE OR REPLACE FUNCTION tl_acquire(n bytea) RETURNS bigint AS $$ DECLARE f bigint; BEGIN"
    " PERFORM set_config('synchronous_commit', 'on', true);"
    " INSERT INTO tl_name(name, fence) VALUES(n, 0) ON CONFLICT DO NOTHING;"
    " PERFORM 1 FROM tl_name WHERE name = n FOR UPDATE;"
    " UPDATE tl_name SET fence = nextval('tl_fence'), started = pg_postmaster_start_time()"
    "  WHERE name = n RETURNING fence INTO f;"
    " RETURN f; END $$ LANGUAGE plpgsql;"
    "CREATE OR REPLACE FUNCTION tl_grow(n bytea, f bigint, o int, s bigint) RETURNS void AS $$"
    " INSERT INTO tl_object VALUES(n, o, s, f, 0) ON CONFLICT (name, object)"
    " DO UPDATE SET size = greatest(tl_object.size, s), fence = f $$ LANGUAGE sql;"
    "CREATE OR REPLACE FUNCTION tl_write(n bytea, f bigint, o int, at bigint, d bytea)"
    " RETURNS void AS $$ DECLARE done bigint := 0; b bigint; inside int; part int; BEGIN"
    " PERFORM tl_hold(n, f);"
    " WHILE done < length(d) LOOP"
    "  b := (at + done) / 4096; inside := (at + done) % 4096;"
    "  part := least(4096 - inside, length(d) - done);"
    "  IF part = 4096 THEN"
    "   INSERT INTO tl_block VALUES(n, o, b, substring(d FROM (done + 1)::int FOR 4096))"
    "    ON CONFLICT (name, object, block) DO UPDATE SET bytes = EXCLUDED.bytes;"
    "  ELSE"
    "   INSERT INTO tl_block VALUES(n, o, b, overlay(decode(repeat('00', 4096), 'hex')"
    "     PLACING substring(d FROM (done + 1)::int FOR part) FROM inside + 1))"
    "    ON CONFLICT (name, object, block) DO UPDATE SET bytes = overlay(tl_block.bytes"
    "     PLACING substring(d FROM (done + 1)::int FOR part) FROM inside + 1);"
    "  END IF;"
    "  done := done + part;"
    " END LOOP;"
    " PERFORM tl_grow(n, f, o, at + length(d)); END $$ LANGUAGE plpgsql;"
    "CREATE OR REPLACE FUNCTION tl_truncate(n bytea, f bigint, o int, s bigint)"
    " RETURNS void AS $$ DECLARE inside int := s % 4096; BEGIN"
    " PERFORM tl_hold(n, f);"
    " DELETE FROM tl_block WHERE name = n AND object = o AND block >= (s + 4095) / 4096;"
    " IF inside > 0 THEN UPDATE tl_block SET bytes = overlay(bytes"
    "   PLACING decode(repeat('00', 4096 - inside), 'hex') FROM inside + 1)"
    "  WHERE name = n AND object = o AND block = s / 4096; END IF;"
    " PERFORM tl_grow(n, f, o, s);"
    " UPDATE tl_object SET size = s WHERE name = n AND object = o; END $$ LANGUAGE plpgsql;"
    "CREATE OR REPLACE FUNCTION tl_synced(n bytea, f bigint, o int) RETURNS void AS $$ BEGIN"
    " PERFORM set_config('synchronous_commit', 'on', true);"
    " PERFORM tl_hold(n, f);"
    " PERFORM tl_grow(n, f, o, 0);"
    " UPDATE tl_object SET syncs = syncs + 1 WHERE name = n AND object = o; END $$"
    " LANGUAGE plpgsql;"
    "SELECT pg_advisory_unlock(7447);";

/* How each connection is used: a call has an end of its own, whatever the server does. */
static const char settings[] =
    "SET synchronous_commit = off; SET statement_timeout = '10s'; SET lock_timeout = '8s';"
    "SET client_min_messages = error;";

static uint64_t number(const void *bytes, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; i++) value = value << 8 | ((const unsigned char *)bytes)[i];
  return value;
}

static void spell(unsigned char *out, uint64_t value, int size) {
  for (int i = size; i-- > 0; value >>= 8) out[i] = (unsigned char)value;
}

/* What a result means. A connection that is not well any more is given up. */
static tl_status judge(postgres_storage *s, const PGresult *result) {
  ExecStatusType got = PQresultStatus(result);
  const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (got == PGRES_TUPLES_OK || got == PGRES_COMMAND_OK) return TL_OK;
  if (state && strcmp(state, "TL001") == 0) return TL_E_LOCKED;
  if (PQstatus(s->connection) != CONNECTION_OK) {
    PQfinish(s->connection);
    s->connection = NULL;
  }
  if (state && (strcmp(state, "53100") == 0 || strcmp(state, "53200") == 0)) return TL_E_FULL;
  return TL_E_STORAGE;
}

static int simple(PGconn *connection, const char *text) {
  PGresult *result = PQexec(connection, text);
  ExecStatusType got = PQresultStatus(result);
  PQclear(result);
  return got == PGRES_TUPLES_OK || got == PGRES_COMMAND_OK;
}

/* Makes the tables where they are missing. The last function that is made says whether they are:
   to make them again would wait for everybody who works on them. */
static int prepared(PGconn *connection) {
  PGresult *result = PQexec(connection, "SELECT to_regproc('tl_synced') IS NOT NULL");
  int there = PQresultStatus(result) == PGRES_TUPLES_OK && *PQgetvalue(result, 0, 0) == 't';
  PQclear(result);
  return there || simple(connection, schema);
}

/* A connection, where there is none. Earlier numbers are void then. */
static tl_status connected(postgres_storage *s) {
  if (s->connection) return TL_OK;
  PGconn *made = PQconnectdb(s->where);
  PGresult *result = NULL;
  int well = PQstatus(made) == CONNECTION_OK && simple(made, settings) && prepared(made);
  if (well) {
    result = PQexec(made, "SELECT nextval('tl_fence')");
    well = PQresultStatus(result) == PGRES_TUPLES_OK;
  }
  if (well) s->first = strtoull(PQgetvalue(result, 0, 0), NULL, 10);
  PQclear(result);
  if (!well) {
    PQfinish(made);
    return TL_E_STORAGE;
  }
  s->connection = made;
  return TL_OK;
}

enum { TYPE_BYTEA = 17, TYPE_INT8 = 20, TYPE_INT4 = 23 };

/* The parameters that each call has: name, number, object; and up to two more. */
typedef struct call {
  const char *values[5];
  int lengths[5], formats[5], count;
  Oid types[5];
  unsigned char fence[8], object[4], at[2][8];
} call;

static void give(call *c, const void *value, int length, Oid type) {
  c->values[c->count] = value;
  c->lengths[c->count] = length;
  c->formats[c->count] = 1;
  c->types[c->count++] = type;
}

static void begin(call *c, const tl_stored *at) {
  memset(c, 0, sizeof *c);
  give(c, at->name.data, (int)at->name.size, TYPE_BYTEA);
  spell(c->fence, at->fence, 8);
  give(c, c->fence, 8, TYPE_INT8);
  spell(c->object, (uint64_t)at->object, 4);
  give(c, c->object, 4, TYPE_INT4);
}

static void place(call *c, int which, uint64_t value) {
  spell(c->at[which], value, 8);
  give(c, c->at[which], 8, TYPE_INT8);
}

/* Runs one statement, which is one transaction. The lock is held. */
static PGresult *run(postgres_storage *s, const call *c, const char *text, tl_status *status) {
  *status = TL_E_STORAGE;
  if (!s->connection || number(c->fence, 8) <= s->first) return NULL;
  PGresult *result = PQexecParams(s->connection, text, c->count, c->types, c->values, c->lengths,
                                  c->formats, 1);
  *status = judge(s, result);
  return result;
}

static tl_status change(postgres_storage *s, const call *c, const char *text) {
  tl_status status;
  pthread_mutex_lock(&s->lock);
  PQclear(run(s, c, text, &status));
  pthread_mutex_unlock(&s->lock);
  return status;
}

static tl_status acquire(void *context, const tl_view *name, uint64_t *fence) {
  postgres_storage *s = context;
  tl_stored at = {*name, 0, 0, 0};
  call c;
  begin(&c, &at);
  c.count = 1;
  pthread_mutex_lock(&s->lock);
  tl_status status = TL_E_STORAGE;
  /* A connection that has died since the last call is found by using it: once more then. */
  for (int turn = 0; turn < 2 && status == TL_E_STORAGE; turn++) {
    status = connected(s);
    if (status != TL_OK) break;
    PGresult *result = PQexecParams(s->connection, "SELECT tl_acquire($1)", 1, c.types, c.values,
                                    c.lengths, c.formats, 1);
    status = judge(s, result);
    if (status == TL_OK) *fence = number(PQgetvalue(result, 0, 0), 8);
    PQclear(result);
    if (s->connection) break;
  }
  pthread_mutex_unlock(&s->lock);
  return status;
}

/* The row stays: whoever acquires next has a greater number. */
static tl_status release(void *context, const tl_stored *at) {
  (void)context, (void)at;
  return TL_OK;
}

static tl_status read_bytes(void *context, const tl_stored *at, uint64_t offset, uint8_t *out,
                            size_t size, size_t *got) {
  postgres_storage *s = context;
  call c;
  tl_status status;
  begin(&c, at);
  place(&c, 0, offset / BLOCK);
  place(&c, 1, (offset + size) / BLOCK);
  pthread_mutex_lock(&s->lock);
  PGresult *result =
      run(s, &c,
          "SELECT o.size, b.block, b.bytes FROM tl_name n"
          " LEFT JOIN tl_object o ON o.name = n.name AND o.object = $3"
          " LEFT JOIN tl_block b ON b.name = n.name AND b.object = $3 AND b.block BETWEEN $4 AND $5"
          " WHERE n.name = $1 AND n.fence = $2 AND n.started = pg_postmaster_start_time()",
          &status);
  pthread_mutex_unlock(&s->lock);
  if (status == TL_OK && PQntuples(result) == 0) status = TL_E_LOCKED;
  if (status == TL_OK) {
    uint64_t end = PQgetisnull(result, 0, 0) ? 0 : number(PQgetvalue(result, 0, 0), 8);
    *got = offset >= end ? 0 : end - offset < size ? (size_t)(end - offset) : size;
    memset(out, 0, *got);
    for (int row = 0; row < PQntuples(result) && !PQgetisnull(result, row, 1); row++) {
      uint64_t start = number(PQgetvalue(result, row, 1), 8) * BLOCK;
      uint64_t from = start > offset ? start : offset, to = start + BLOCK;
      if (to > offset + *got) to = offset + *got;
      if (from < to && PQgetlength(result, row, 2) == BLOCK)
        memcpy(out + (from - offset), PQgetvalue(result, row, 2) + (from - start), to - from);
    }
  }
  PQclear(result);
  return status;
}

static tl_status write_bytes(void *context, const tl_stored *at, uint64_t offset,
                             const tl_view *bytes) {
  call c;
  begin(&c, at);
  place(&c, 0, offset);
  give(&c, bytes->data, (int)bytes->size, TYPE_BYTEA);
  return change(context, &c, "SELECT tl_write($1, $2, $3, $4, $5)");
}

static tl_status truncate_to(void *context, const tl_stored *at, uint64_t size) {
  call c;
  begin(&c, at);
  place(&c, 0, size);
  return change(context, &c, "SELECT tl_truncate($1, $2, $3, $4)");
}

static tl_status size_of(void *context, const tl_stored *at, uint64_t *size) {
  postgres_storage *s = context;
  call c;
  tl_status status;
  begin(&c, at);
  pthread_mutex_lock(&s->lock);
  PGresult *result =
      run(s, &c,
          "SELECT o.size FROM tl_name n LEFT JOIN tl_object o ON o.name = n.name"
          " AND o.object = $3 WHERE n.name = $1 AND n.fence = $2"
          " AND n.started = pg_postmaster_start_time()",
          &status);
  pthread_mutex_unlock(&s->lock);
  if (status == TL_OK && PQntuples(result) == 0) status = TL_E_LOCKED;
  if (status == TL_OK)
    *size = PQgetisnull(result, 0, 0) ? 0 : number(PQgetvalue(result, 0, 0), 8);
  PQclear(result);
  return status;
}

static tl_status sync_object(void *context, const tl_stored *at) {
  call c;
  begin(&c, at);
  return change(context, &c, "SELECT tl_synced($1, $2, $3)");
}

static tl_status remove_object(void *context, const tl_stored *at) {
  return truncate_to(context, at, 0);
}

postgres_storage *postgres_storage_new(const char *where) {
  postgres_storage *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  pthread_mutex_init(&s->lock, NULL);
  s->where = strdup(where);
  return s;
}

void postgres_storage_free(postgres_storage *s) {
  if (!s) return;
  if (s->connection) PQfinish(s->connection);
  pthread_mutex_destroy(&s->lock);
  free(s->where);
  free(s);
}

tl_storage postgres_storage_table(postgres_storage *s) {
  tl_storage table;
  memset(&table, 0, sizeof table);
  table.struct_size = sizeof table;
  table.context = s;
  table.acquire = acquire;
  table.release = release;
  table.read = read_bytes;
  table.write = write_bytes;
  table.truncate = truncate_to;
  table.size = size_of;
  table.sync = sync_object;
  table.remove = remove_object;
  return table;
}
