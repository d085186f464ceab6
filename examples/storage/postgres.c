/* A storage in PostgreSQL: any process of a fleet picks an account up, and the database is what
   keeps two of them apart. It holds ciphertext only.

   The lease is a row with a number. Each call that changes something is one transaction that locks
   this row for sharing and compares the number, so an acquire waits for it, and after the acquire
   no older call can take effect. A read compares in the one statement that reads. An advisory lock
   would not do: it ends with its connection, and the server may still work on what came before.

   Calls are committed without waiting for the disk, in order. A sync is a transaction that waits:
   with its record all earlier ones are on the disk, and on the synchronous standby if there is one.
   So `kill -9` of the process loses nothing, and a crash of the database what came after the last
   sync. The changes since then are kept in memory. After a connection was lost, the next one, to
   the same server or to a promoted standby, first makes them again: clients stay open.

   Three rules make that safe:
   - Each connection has a number of its own, and the rows of the lease name it. To join, a
     connection puts its number in the place of the one before, so a call that an earlier connection
     left behind is refused. A pooler that gives a call another session is found by the same number.
   - To join is to wait for a sync. A primary that came back beside its promoted standby has nobody
     to wait for: no worker joins it, and the next server of the list is tried.
   - A server must have the last sync that this process reported. One that lacks it is an old one.

   PostgreSQL only warns when a wait for the standby was cancelled; such a sync has failed.
   A pooler by transaction is of no use here: it gives each call another session. */
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "postgres_schema.h"
#include "postgres_storage.h"

enum { BLOCK = 4096, KEPT_MAX = 1 << 20 };

/* Milliseconds. A failover may take PATIENCE; after that calls fail at once, and a server is looked
   for again after each PAUSE. */
enum { CALL = 10000, JOIN = 5000, RETRY = 200, PAUSE = 2000, PATIENCE = 20000 };

/* A change since the last sync. */
typedef struct kept {
  struct kept *next;
  const char *text;
  tl_stored at;
  uint64_t offset;
  tl_view bytes;
  uint8_t data[]; /* The name, then the bytes. */
} kept;

struct postgres_storage {
  pthread_mutex_t lock;
  char *where;
  PGconn *connection;
  unsigned server;        /* Which one of `where`, in turns. */
  int warned;             /* The server has warned during the last statement. */
  uint64_t holder, tries; /* Number of the last connection that has joined, and tries since. */
  uint64_t syncs;         /* Of that connection. */
  int64_t lost, next;     /* Since when there is no connection, or 0; when to try again. */
  kept *first, **last;
  size_t kept_bytes;
};

static uint64_t number(const void *bytes, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; i++) value = value << 8 | ((const unsigned char *)bytes)[i];
  return value;
}

static void spell(unsigned char *out, uint64_t value, int size) {
  for (int i = size; i-- > 0; value >>= 8) out[i] = (unsigned char)value;
}

static int64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* The parameters that each call has: name, number, object; and up to two more. */
typedef struct call {
  const char *values[5];
  int lengths[5], formats[5], count;
  unsigned char fence[8], object[4], at[2][8];
} call;

static void give(call *c, const void *value, int length) {
  c->values[c->count] = value;
  c->lengths[c->count] = length;
  c->formats[c->count++] = 1;
}

static void begin(call *c, const tl_stored *at) {
  memset(c, 0, sizeof *c);
  give(c, at->name.data, (int)at->name.size);
  spell(c->fence, at->fence, 8);
  give(c, c->fence, 8);
  spell(c->object, (uint64_t)at->object, 4);
  give(c, c->object, 4);
}

static void place(call *c, int which, uint64_t value) {
  spell(c->at[which], value, 8);
  give(c, c->at[which], 8);
}

static void describe(call *c, const kept *k) {
  begin(c, &k->at);
  place(c, 0, k->offset);
  if (k->bytes.data) give(c, k->bytes.data, (int)k->bytes.size);
}

static void noticed(void *context, const PGresult *result) {
  const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity && strcmp(severity, "WARNING") == 0) ((postgres_storage *)context)->warned = 1;
}

/* Runs a prepared statement, which is one transaction, or without a call some statements. NULL if
   no answer came in time: a commit that waits for its standby has no time limit on the server. */
static PGresult *ask(postgres_storage *s, PGconn *on, const call *c, const char *text, int limit) {
  PGresult *result = NULL;
  int64_t end = now() + limit;
  s->warned = 0;
  int well = c ? PQsendQueryPrepared(on, text, c->count, c->values, c->lengths, c->formats, 1)
               : PQsendQuery(on, text);
  while (well) {
    int unsent = PQflush(on);
    while (unsent == 0 && !PQisBusy(on)) {
      PGresult *another = PQgetResult(on);
      if (!another) return result;
      PQclear(result);
      result = another;
    }
    struct pollfd wait = {PQsocket(on), (short)(unsent > 0 ? POLLIN | POLLOUT : POLLIN), 0};
    int64_t left = end - now();
    well = unsent >= 0 && left > 0 &&
           (poll(&wait, 1, (int)left) >= 0 || errno == EINTR) && PQconsumeInput(on);
  }
  PQclear(result);
  return NULL;
}

static int is_well(const PGresult *result) {
  ExecStatusType got = PQresultStatus(result);
  return got == PGRES_TUPLES_OK || got == PGRES_COMMAND_OK;
}

static int has_state(const PGresult *result, const char *wanted) {
  const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state && strncmp(state, wanted, strlen(wanted)) == 0;
}

static int simple(postgres_storage *s, PGconn *on, const char *text) {
  PGresult *result = ask(s, on, NULL, text, CALL);
  int well = is_well(result);
  PQclear(result);
  return well;
}

/* Makes the tables where functions are missing: to make them again would wait for everybody who
   works on them. */
static int has_tables(postgres_storage *s, PGconn *on) {
  PGresult *result = ask(s, on, NULL, "SELECT to_regprocedure('tl_synced(bytea,bigint)')"
                         " IS NOT NULL"
                         " AND to_regproc('tl_join') IS NOT NULL", CALL);
  int there = is_well(result) && *PQgetvalue(result, 0, 0) == 't';
  PQclear(result);
  return there || (simple(s, on, tl_schema_leases) && simple(s, on, tl_schema_calls));
}

static int joined(postgres_storage *s, PGconn *on) {
  call c;
  memset(&c, 0, sizeof c);
  /* The outcome of a try may stay unknown, so none has the number of another. */
  spell(c.fence, s->holder + ++s->tries, 8);
  place(&c, 0, s->holder);
  place(&c, 1, s->syncs);
  give(&c, c.fence, 8);
  PGresult *result = ask(s, on, &c, "tl_join", JOIN);
  int well = is_well(result) && !s->warned;
  if (well) {
    s->holder = number(PQgetvalue(result, 0, 0), 8);
    s->tries = s->syncs = 0;
  }
  PQclear(result);
  return well;
}

static size_t weight(const kept *k) { return sizeof *k + k->at.name.size + k->bytes.size; }

/* Forgets the changes with a number of a lease, or with 0 all. */
static void forget(postgres_storage *s, uint64_t fence) {
  kept **at = &s->first;
  for (kept *k; (k = *at);) {
    if (fence && k->at.fence != fence) {
      at = &k->next;
      continue;
    }
    *at = k->next;
    s->kept_bytes -= weight(k);
    free(k);
  }
  s->last = at;
}

/* Makes once more what may have been lost. In order this leads to the same bytes, wherever the
   server had come to; in one transaction, for another holder may follow at any time. */
static int made_again(postgres_storage *s, PGconn *on) {
  while (s->first) {
    uint64_t lost = 0;
    int well = simple(s, on, "BEGIN");
    for (kept *k = s->first; k && well; k = k->next) {
      call c;
      describe(&c, k);
      PGresult *result = ask(s, on, &c, k->text, CALL);
      well = is_well(result);
      if (has_state(result, "TL001")) lost = k->at.fence;
      PQclear(result);
    }
    if (!lost) return well && simple(s, on, "COMMIT");
    if (!simple(s, on, "ROLLBACK")) return 0;
    forget(s, lost);
  }
  return 1;
}

/* An item of a list with commas; its last one where there are fewer. */
static void item(const char *list, unsigned which, char *out, size_t room) {
  const char *comma;
  while ((comma = strchr(list, ',')) && which-- > 0) list = comma + 1;
  snprintf(out, room, "%.*s", (int)strcspn(list, ","), list);
}

/* Connects to one server of `where`; `count` says how many there are. libpq would choose the first
   that takes writes, and that may be an old primary. */
static PGconn *reach(const char *where, unsigned which, unsigned *count) {
  static const char *const keys[] = {"connect_timeout", "dbname", "host", "port", NULL};
  char host[256] = "", port[16] = "";
  const char *hosts = NULL, *ports = NULL;
  PQconninfoOption *options = PQconninfoParse(where, NULL);
  for (PQconninfoOption *o = options; o && o->keyword; o++) {
    if (strcmp(o->keyword, "host") == 0) hosts = o->val;
    if (strcmp(o->keyword, "port") == 0) ports = o->val;
  }
  *count = 1;
  for (const char *at = hosts; at && (at = strchr(at, ',')); at++) ++*count;
  if (hosts) item(hosts, which % *count, host, sizeof host);
  if (ports) item(ports, which % *count, port, sizeof port);
  PQconninfoFree(options);
  const char *const values[] = {"3", where, host, port, NULL};
  return PQconnectdbParams(keys, values, 1);
}

/* A connection that has joined, where there is none. */
static int connected(postgres_storage *s) {
  if (s->connection) return 1;
  if (!s->lost) s->lost = now();
  if (now() < s->next) return 0;
  for (unsigned turn = 0, count = 1; turn < count; turn++) {
    PGconn *made = reach(s->where, s->server, &count);
    PQsetNoticeReceiver(made, noticed, s);
    if (PQstatus(made) == CONNECTION_OK && PQsetnonblocking(made, 1) == 0 &&
        simple(s, made, tl_settings) && has_tables(s, made) && simple(s, made, tl_statements) &&
        joined(s, made) && made_again(s, made)) {
      s->connection = made;
      s->lost = s->next = 0;
      return 1;
    }
    PQfinish(made);
    s->server++;
  }
  if (now() - s->lost > PATIENCE) s->next = now() + PAUSE;
  return 0;
}

/* Whether this is an answer to a call; otherwise the connection is given up. */
static int is_answer(postgres_storage *s, const PGresult *result, tl_status *status) {
  *status = is_well(result)               ? TL_OK
            : has_state(result, "TL001")  ? TL_E_LOCKED
            : has_state(result, "53100")  ? TL_E_FULL
            : has_state(result, "53200")  ? TL_E_FULL
                                          : TL_E_STORAGE;
  if (result && !s->warned && PQstatus(s->connection) == CONNECTION_OK &&
      !has_state(result, "08") && !has_state(result, "57P") && !has_state(result, "25006"))
    return 1;
  PQfinish(s->connection);
  s->connection = NULL;
  s->lost = now();
  s->server++; /* One that does not answer would take its time once more. */
  return 0;
}

/* Runs a call, over a failover too. The lock is held. */
static PGresult *run(postgres_storage *s, const call *c, const char *text, tl_status *status) {
  const struct timespec pause = {0, RETRY * 1000000L};
  for (int64_t began = now();; nanosleep(&pause, NULL)) {
    if (connected(s)) {
      PGresult *result = ask(s, s->connection, c, text, CALL);
      if (is_answer(s, result, status)) return result;
      PQclear(result);
    }
    *status = TL_E_STORAGE;
    if (now() - began > PATIENCE || now() - s->lost > PATIENCE) return NULL;
  }
}

/* A commit that waits: with it all earlier ones are on the disk. */
static tl_status flush(postgres_storage *s, const call *c, const char *text) {
  tl_status status;
  PGresult *result = run(s, c, text, &status);
  /* Somebody has removed the row of this holder: nothing was waited for. */
  if (status == TL_OK && PQgetlength(result, 0, 0) != 8) status = TL_E_STORAGE;
  if (status == TL_OK) {
    s->syncs = number(PQgetvalue(result, 0, 0), 8);
    forget(s, 0);
  }
  PQclear(result);
  return status;
}

static tl_status change(postgres_storage *s, const tl_stored *at, const char *text,
                        uint64_t offset, const tl_view *bytes) {
  kept *k = malloc(sizeof *k + at->name.size + (bytes ? bytes->size : 0));
  tl_status status;
  call c;
  if (!k) return TL_E_STORAGE;
  memset(k, 0, sizeof *k);
  k->text = text;
  k->at = *at;
  k->offset = offset;
  memcpy(k->data, at->name.data, at->name.size);
  k->at.name.data = k->data;
  if (bytes) {
    k->bytes.data = k->data + at->name.size;
    k->bytes.size = bytes->size;
    memcpy(k->data + at->name.size, bytes->data, bytes->size);
  }
  describe(&c, k);
  pthread_mutex_lock(&s->lock);
  PQclear(run(s, &c, text, &status));
  if (status == TL_OK) {
    *s->last = k;
    s->last = &k->next;
    s->kept_bytes += weight(k);
    c.count = 0;
    /* If it fails, a later one takes its place. */
    if (s->kept_bytes > KEPT_MAX) (void)flush(s, &c, "tl_flush");
  } else {
    free(k);
  }
  pthread_mutex_unlock(&s->lock);
  return status;
}

static tl_status acquire(void *context, const tl_view *name, uint64_t *fence) {
  postgres_storage *s = context;
  tl_stored at = {*name, 0, 0, 0};
  tl_status status;
  call c;
  begin(&c, &at);
  c.count = 1;
  pthread_mutex_lock(&s->lock);
  PGresult *result = run(s, &c, "tl_acquire", &status);
  if (status == TL_OK) {
    *fence = number(PQgetvalue(result, 0, 0), 8);
  }
  PQclear(result);
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
  PGresult *result = run(s, &c, "tl_read", &status);
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
  return change(context, at, "tl_write", offset, bytes);
}

static tl_status truncate_to(void *context, const tl_stored *at, uint64_t size) {
  return change(context, at, "tl_truncate", size, NULL);
}

static tl_status size_of(void *context, const tl_stored *at, uint64_t *size) {
  postgres_storage *s = context;
  call c;
  tl_status status;
  begin(&c, at);
  pthread_mutex_lock(&s->lock);
  PGresult *result = run(s, &c, "tl_size", &status);
  pthread_mutex_unlock(&s->lock);
  if (status == TL_OK && PQntuples(result) == 0) status = TL_E_LOCKED;
  if (status == TL_OK)
    *size = PQgetisnull(result, 0, 0) ? 0 : number(PQgetvalue(result, 0, 0), 8);
  PQclear(result);
  return status;
}

static tl_status sync_object(void *context, const tl_stored *at) {
  postgres_storage *s = context;
  call c;
  begin(&c, at);
  c.count = 2;
  pthread_mutex_lock(&s->lock);
  tl_status status = flush(s, &c, "tl_synced");
  pthread_mutex_unlock(&s->lock);
  return status;
}

static tl_status remove_object(void *context, const tl_stored *at) {
  return truncate_to(context, at, 0);
}

postgres_storage *postgres_storage_new(const char *where) {
  postgres_storage *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  pthread_mutex_init(&s->lock, NULL);
  s->where = strdup(where);
  s->last = &s->first;
  return s;
}

void postgres_storage_free(postgres_storage *s) {
  if (!s) return;
  if (s->connection) PQfinish(s->connection);
  forget(s, 0);
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
