/* Does a storage keep what tl_storage promises? Says "pass", or which promise broke and how.

   Compile this file with the storage. The program that it makes wants one function of the host:

       storage_check storage_under_test(int count, char **arguments);

       gcc -Iinclude check.c mine.c -o check && ./check

   With -DSTORAGE_CHECK_LIBRARY there is no main: call storage_check_run. The library is not needed.
   All names that are used begin with `prefix`, and must not have been used before. */
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tideline.h"

typedef struct storage_check {
  const tl_storage *storage;    /* What is checked. */
  const char *prefix;           /* Of all names; NULL is "check". */
  /* Loses what a death of process, machine and database at once may lose, or NULL: then nothing of
     durability is checked. Afterwards the storage is used again, and no number is valid. */
  void (*crash)(void *context);
  /* Makes the call after `calls` more fail with TL_E_STORAGE or TL_E_FULL, or NULL. */
  void (*fail)(void *context, int calls);
  unsigned seed;                /* Of the random part. */
  unsigned steps;               /* Of the random part; 0 is 2,000. */
} storage_check;

/* 0 where all is kept. `why` says "pass", or the promise and what was seen, in one line. */
int storage_check_run(const storage_check *check, char *why, size_t room);

/* The largest write of a client, and the stride of the log's frames. */
enum { BIG = 16 * 4144, STRIDE = 4144, ROOM = 1 << 18, READERS = 3 };

typedef struct run {
  const storage_check *check;
  const tl_storage *s;
  char *why;
  size_t room;
  unsigned long long chance;
  char name[512];
  unsigned char bytes[ROOM], model[ROOM];
} run;

static const char *names[] = {"main", "log", "own"};

/* Says which promise broke, once. */
static int broke(run *r, const char *promise, const char *text, ...) {
  int at = snprintf(r->why, r->room, "%s: ", promise);
  va_list list;
  va_start(list, text);
  if (at >= 0 && (size_t)at < r->room) vsnprintf(r->why + at, r->room - (size_t)at, text, list);
  va_end(list);
  return 1;
}

#define TRY(call)                                                              \
  do {                                                                         \
    if (call) return 1;                                                        \
  } while (0)

static unsigned below(run *r, unsigned limit) {
  r->chance = r->chance * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(r->chance >> 33) % limit;
}

static tl_stored at(run *r, uint64_t fence, tl_object object) {
  tl_stored where;
  memset(&where, 0, sizeof where);
  where.name.data = (const uint8_t *)r->name;
  where.name.size = strlen(r->name);
  where.fence = fence;
  where.object = object;
  return where;
}

static void named(run *r, const char *suffix) {
  const char *prefix = r->check->prefix ? r->check->prefix : "check";
  snprintf(r->name, sizeof r->name, "%s-%s", prefix, suffix);
}

/* A status that a call may have; what else there is was not promised. */
static int known(tl_status status) {
  return status == TL_OK || status == TL_E_LOCKED || status == TL_E_FULL ||
         status == TL_E_STORAGE;
}

static int well(run *r, const char *call, tl_status status) {
  if (status == TL_OK) return 0;
  return broke(r, "status", "%s of the holder gave %d", call, (int)status);
}

static int acquire(run *r, uint64_t *fence) {
  uint64_t before = *fence;
  tl_view name = at(r, 0, 0).name;
  TRY(well(r, "acquire", r->s->acquire(r->s->context, &name, fence)));
  if (*fence > before) return 0;
  return broke(r, "fence", "acquire gave %llu after %llu", (unsigned long long)*fence,
               (unsigned long long)before);
}

static int put(run *r, uint64_t fence, tl_object object, size_t offset, const void *bytes,
               size_t size) {
  tl_stored where = at(r, fence, object);
  tl_view view = {bytes, size};
  return well(r, "write", r->s->write(r->s->context, &where, offset, &view));
}

static int cut(run *r, uint64_t fence, tl_object object, size_t size) {
  tl_stored where = at(r, fence, object);
  return well(r, "truncate", r->s->truncate(r->s->context, &where, size));
}

static int syncs(run *r, uint64_t fence, tl_object object) {
  tl_stored where = at(r, fence, object);
  return well(r, "sync", r->s->sync(r->s->context, &where));
}

static int removes(run *r, uint64_t fence, tl_object object) {
  tl_stored where = at(r, fence, object);
  return well(r, "remove", r->s->remove(r->s->context, &where));
}

static int releases(run *r, uint64_t fence) {
  tl_stored where = at(r, fence, 0);
  tl_status status = r->s->release(r->s->context, &where);
  return known(status) ? 0 : broke(r, "status", "release gave %d", (int)status);
}

/* An object is `size` bytes long. */
static int sized(run *r, uint64_t fence, tl_object object, size_t size, const char *promise) {
  tl_stored where = at(r, fence, object);
  uint64_t got = 0;
  TRY(well(r, "size", r->s->size(r->s->context, &where, &got)));
  if (got == size) return 0;
  return broke(r, promise, "the size of %s is %llu, not %zu", names[object],
               (unsigned long long)got, size);
}

/* A range reads as `expected`; it may reach behind the end at `size`. */
static int reads(run *r, uint64_t fence, tl_object object, size_t offset, size_t count, size_t size,
                 const unsigned char *expected, const char *promise) {
  tl_stored where = at(r, fence, object);
  size_t got = 0, due = offset >= size ? 0 : size - offset < count ? size - offset : count;
  memset(r->bytes, 0x5A, count);
  TRY(well(r, "read", r->s->read(r->s->context, &where, offset, r->bytes, count, &got)));
  if (got != due)
    return broke(r, got < due ? "short-read" : "size",
                 "%zu bytes at %zu of %s gave %zu, and there are %zu", count, offset,
                 names[object], got, due);
  for (size_t i = 0; i < due; i++)
    if (r->bytes[i] != expected[i])
      return broke(r, promise, "byte %zu of %s is %d, not %d", offset + i, names[object],
                   r->bytes[i], expected[i]);
  for (size_t i = due; i < count; i++)
    if (r->bytes[i] != 0x5A)
      return broke(r, "size", "a read wrote behind what it gave at %zu", offset + i);
  return 0;
}

/* The whole object reads as the first `size` bytes of `expected`. */
static int same(run *r, uint64_t fence, tl_object object, const unsigned char *expected,
                size_t size, const char *promise) {
  TRY(sized(r, fence, object, size, promise));
  for (size_t from = 0; from < size; from += BIG)
    TRY(reads(r, fence, object, from, BIG, size, expected + from, promise));
  return 0;
}

static void pattern(unsigned char *out, size_t size, unsigned seed) {
  for (size_t i = 0; i < size; i++)
    out[i] = (unsigned char)(1 + (i * 7 + seed * 31 + i / 251) % 255);
}

/* ---- What each promise says, one after the other ---- */

static int fences(run *r) {
  uint64_t fence = 0;
  named(r, "fence");
  for (int i = 0; i < 4; i++) {
    TRY(acquire(r, &fence));
    if (i % 2) TRY(releases(r, fence));
  }
  TRY(acquire(r, &fence));
  TRY(put(r, fence, TL_OBJECT_MAIN, 0, "x", 1));
  TRY(sized(r, fence, TL_OBJECT_MAIN, 1, "size"));
  TRY(syncs(r, fence, TL_OBJECT_MAIN));
  TRY(releases(r, fence));
  TRY(acquire(r, &fence));
  return sized(r, fence, TL_OBJECT_MAIN, 1, "hand-over");
}

static int empties(run *r) {
  uint64_t fence = 0;
  named(r, "empty");
  TRY(acquire(r, &fence));
  for (tl_object object = 0; object < 3; object++) {
    TRY(sized(r, fence, object, 0, "empty"));
    TRY(reads(r, fence, object, 0, 100, 0, r->model, "empty"));
    TRY(reads(r, fence, object, 5000, 100, 0, r->model, "empty"));
    TRY(removes(r, fence, object));
    TRY(syncs(r, fence, object));
  }
  return 0;
}

/* Writes of every size and place change their bytes and no others. */
static int writes(run *r) {
  static const size_t sizes[] = {1, 8, 72, 512, 4096, STRIDE, 2 * STRIDE, BIG};
  uint64_t fence = 0;
  size_t size = 3 * 4096 + 100 + BIG;
  named(r, "write");
  TRY(acquire(r, &fence));
  pattern(r->model, size, 1);
  for (size_t from = 0; from < size; from += STRIDE) {
    size_t part = size - from < STRIDE ? size - from : STRIDE;
    TRY(put(r, fence, TL_OBJECT_LOG, from, r->model + from, part));
    TRY(sized(r, fence, TL_OBJECT_LOG, from + part, "size"));
    TRY(reads(r, fence, TL_OBJECT_LOG, from, part, from + part, r->model + from, "read"));
  }
  TRY(same(r, fence, TL_OBJECT_LOG, r->model, size, "write"));
  for (unsigned i = 0; i < 40; i++) {
    size_t part = sizes[i % 8], offset = i < 8 ? 72 + i * 500 : below(r, 12000);
    unsigned char *inside = r->model + offset;
    pattern(inside, part, 100 + i);
    TRY(put(r, fence, TL_OBJECT_LOG, offset, inside, part));
    TRY(reads(r, fence, TL_OBJECT_LOG, offset, part, size, inside, "read"));
    TRY(same(r, fence, TL_OBJECT_LOG, r->model, size, "neighbour"));
  }
  TRY(reads(r, fence, TL_OBJECT_LOG, size - 10, 100, size, r->model + size - 10, "read"));
  return reads(r, fence, TL_OBJECT_LOG, size + 10, 100, size, r->model, "size");
}

static int zeros(run *r) {
  uint64_t fence = 0;
  named(r, "zeros");
  TRY(acquire(r, &fence));
  memset(r->model, 0, ROOM);
  memcpy(r->model + 20000, "far", 3);
  TRY(put(r, fence, TL_OBJECT_MAIN, 20000, "far", 3));
  TRY(same(r, fence, TL_OBJECT_MAIN, r->model, 20003, "zeros"));
  TRY(cut(r, fence, TL_OBJECT_MAIN, 50000));
  return same(r, fence, TL_OBJECT_MAIN, r->model, 50000, "zeros");
}

static int truncates(run *r) {
  static const size_t ends[] = {9000, 4096, 4095, 72, 0};
  uint64_t fence = 0;
  named(r, "truncate");
  TRY(acquire(r, &fence));
  for (unsigned i = 0; i < 5; i++) {
    pattern(r->model, 20000, i);
    TRY(put(r, fence, TL_OBJECT_MAIN, 0, r->model, 20000));
    TRY(cut(r, fence, TL_OBJECT_MAIN, ends[i]));
    TRY(same(r, fence, TL_OBJECT_MAIN, r->model, ends[i], "truncate"));
    memset(r->model + ends[i], 0, 20000 - ends[i]);
    memcpy(r->model + 15000, "end", 3);
    if (i % 2) {
      TRY(put(r, fence, TL_OBJECT_MAIN, 15000, "end", 3));
      TRY(same(r, fence, TL_OBJECT_MAIN, r->model, 15003, "truncate"));
    } else {
      TRY(cut(r, fence, TL_OBJECT_MAIN, 14000));
      TRY(same(r, fence, TL_OBJECT_MAIN, r->model, 14000, "truncate"));
    }
  }
  return 0;
}

static int apart(run *r) {
  static const char *const like[] = {"n", "n/b", "n%", "n_", "N", "n-wal", "n\xC3\xA9", "n'x\"\\"};
  uint64_t fences[8] = {0}, size = 0;
  for (unsigned i = 0; i < 8; i++) {
    named(r, like[i]);
    TRY(acquire(r, &fences[i]));
  }
  for (unsigned i = 0; i < 8; i++) {
    named(r, like[i]);
    tl_stored where = at(r, fences[i], TL_OBJECT_MAIN);
    if (r->s->size(r->s->context, &where, &size) == TL_E_LOCKED)
      return broke(r, "names", "the holder of %s was ended by an acquire of another name", like[i]);
    for (tl_object object = 0; object < 3; object++) {
      pattern(r->model, 5000, i * 3 + (unsigned)object);
      TRY(put(r, fences[i], object, 0, r->model, 5000 - (size_t)object));
    }
    for (tl_object object = 0; object < 3; object++) {
      pattern(r->model, 5000, i * 3 + (unsigned)object);
      TRY(same(r, fences[i], object, r->model, 5000 - (size_t)object, "objects"));
    }
  }
  named(r, like[1]);
  TRY(removes(r, fences[1], TL_OBJECT_LOG));
  for (unsigned i = 0; i < 8; i++) {
    named(r, like[i]);
    for (tl_object object = 0; object < 3; object++) {
      size_t size = i == 1 && object == TL_OBJECT_LOG ? 0 : 5000 - (size_t)object;
      pattern(r->model, 5000, i * 3 + (unsigned)object);
      TRY(same(r, fences[i], object, r->model, size, i == 1 ? "objects" : "names"));
    }
  }
  named(r, like[1]);
  memset(r->model, 0, 5000);
  memcpy(r->model + 4000, "anew", 4);
  TRY(put(r, fences[1], TL_OBJECT_LOG, 4000, "anew", 4));
  return same(r, fences[1], TL_OBJECT_LOG, r->model, 4004, "remove");
}

/* ---- The lease ---- */

static int late(run *r, const char *call, const char *promise, tl_status status) {
  if (status == TL_E_LOCKED) return 0;
  return broke(r, promise, "%s with an old number gave %d", call, (int)status);
}

static int losses(run *r) {
  uint64_t old = 0, fence;
  uint64_t size = 0;
  size_t got = 0;
  tl_view bytes = {(const uint8_t *)"late", 4};
  tl_stored where;
  named(r, "lost");
  TRY(acquire(r, &old));
  pattern(r->model, 9000, 9);
  TRY(put(r, old, TL_OBJECT_MAIN, 0, r->model, 9000));
  TRY(syncs(r, old, TL_OBJECT_MAIN));
  TRY(put(r, old, TL_OBJECT_LOG, 0, r->model, 100));
  TRY(syncs(r, old, TL_OBJECT_LOG));
  fence = old;
  TRY(acquire(r, &fence));
  where = at(r, old, TL_OBJECT_MAIN);
  TRY(late(r, "write", "lost-write", r->s->write(r->s->context, &where, 0, &bytes)));
  TRY(late(r, "truncate", "lost-truncate", r->s->truncate(r->s->context, &where, 10)));
  TRY(late(r, "remove", "lost-remove", r->s->remove(r->s->context, &where)));
  TRY(late(r, "read", "lost-read", r->s->read(r->s->context, &where, 0, r->bytes, 10, &got)));
  TRY(late(r, "size", "lost-size", r->s->size(r->s->context, &where, &size)));
  TRY(late(r, "sync", "lost-sync", r->s->sync(r->s->context, &where)));
  TRY(same(r, fence, TL_OBJECT_MAIN, r->model, 9000, "lost-write"));
  TRY(releases(r, old));
  where = at(r, fence, TL_OBJECT_MAIN);
  if (r->s->write(r->s->context, &where, 0, &bytes) != TL_OK)
    return broke(r, "late-release", "a release with an old number ended the new holder");
  memcpy(r->model, "late", 4);
  TRY(same(r, fence, TL_OBJECT_MAIN, r->model, 9000, "hand-over"));
  where = at(r, old, TL_OBJECT_LOG);
  return late(r, "write", "lost-write", r->s->write(r->s->context, &where, 0, &bytes));
}

typedef struct beside {
  run *r;
  tl_stored where;
  size_t size;
  const unsigned char *expected;
  int ended, wrong, calls;
  pthread_mutex_t lock;
} beside;

/* Whether a thread is to end; it has made a call. */
static int over(beside *b) {
  pthread_mutex_lock(&b->lock);
  int ended = b->ended;
  b->calls++;
  pthread_mutex_unlock(&b->lock);
  return ended;
}

static int calls_of(beside *b) {
  pthread_mutex_lock(&b->lock);
  int calls = b->calls;
  pthread_mutex_unlock(&b->lock);
  return calls;
}

/* Writes until it is told that the name is lost. */
static void *writing(void *argument) {
  beside *b = argument;
  const tl_storage *s = b->r->s;
  unsigned char bytes[STRIDE];
  for (unsigned i = 0; !over(b); i++) {
    memset(bytes, (int)(1 + i % 250), sizeof bytes);
    tl_view view = {bytes, sizeof bytes};
    if (s->write(s->context, &b->where, 100, &view) != TL_OK) break;
  }
  (void)over(b);
  (void)over(b);
  return NULL;
}

/* A write that was begun before the name was lost, and ends after, changes nothing. */
static int races(run *r) {
  named(r, "race");
  for (int round = 0; round < 40; round++) {
    beside b = {.r = r, .lock = PTHREAD_MUTEX_INITIALIZER};
    uint64_t old = 0, fence;
    unsigned char first[STRIDE];
    pthread_t thread;
    TRY(acquire(r, &old));
    TRY(put(r, old, TL_OBJECT_LOG, 0, r->model, 100 + STRIDE));
    TRY(syncs(r, old, TL_OBJECT_LOG));
    b.where = at(r, old, TL_OBJECT_LOG);
    if (pthread_create(&thread, NULL, writing, &b) != 0) return broke(r, "status", "no thread");
    tl_stored where = at(r, old, TL_OBJECT_LOG);
    uint64_t size = 0;
    while (calls_of(&b) < 2) sched_yield();
    for (unsigned i = below(r, 20); i > 0; i--) (void)r->s->size(r->s->context, &where, &size);
    fence = old;
    int failed = acquire(r, &fence);
    size_t got = 0;
    where = at(r, fence, TL_OBJECT_LOG);
    if (!failed)
      failed = well(r, "read", r->s->read(r->s->context, &where, 100, first, STRIDE, &got));
    /* The old holder's thread ends at its next call. */
    if (failed) {
      pthread_mutex_lock(&b.lock);
      b.ended = 1;
      pthread_mutex_unlock(&b.lock);
    }
    pthread_join(thread, NULL);
    TRY(failed);
    TRY(reads(r, fence, TL_OBJECT_LOG, 100, STRIDE, 100 + STRIDE, first, "late-write"));
  }
  return 0;
}

static void *reading(void *argument) {
  beside *b = argument;
  const tl_storage *s = b->r->s;
  unsigned char bytes[5000];
  for (unsigned i = 0; !over(b); i++) {
    size_t offset = (i * 977) % (b->size - sizeof bytes), got = 0;
    tl_status status = s->read(s->context, &b->where, offset, bytes, sizeof bytes, &got);
    if (status != TL_OK || got != sizeof bytes ||
        memcmp(bytes, b->expected + offset, sizeof bytes) != 0) {
      pthread_mutex_lock(&b->lock);
      b->wrong = 1;
      pthread_mutex_unlock(&b->lock);
    }
  }
  return NULL;
}

/* Reads of several threads beside the writes of one. */
static int threads(run *r) {
  uint64_t fence = 0;
  pthread_t readers[READERS];
  unsigned char *kept = malloc(60000);
  int started = 0, failed = 0;
  if (!kept) return broke(r, "status", "no memory");
  beside b = {.r = r, .size = 60000, .expected = kept, .lock = PTHREAD_MUTEX_INITIALIZER};
  named(r, "threads");
  pattern(kept, 60000, 77);
  if (acquire(r, &fence) || put(r, fence, TL_OBJECT_MAIN, 0, kept, 60000)) {
    free(kept);
    return 1;
  }
  b.where = at(r, fence, TL_OBJECT_MAIN);
  while (started < READERS && pthread_create(&readers[started], NULL, reading, &b) == 0) started++;
  pattern(r->model, STRIDE, 3);
  for (unsigned i = 0; !failed && (i < 300 || calls_of(&b) < 300); i++) {
    tl_object object = i % 2 ? TL_OBJECT_LOG : TL_OBJECT_MAIN;
    failed = put(r, fence, object, 60000 + i % 300 * 100, r->model, STRIDE);
    if (!failed && i % 50 == 0) failed = syncs(r, fence, TL_OBJECT_LOG);
  }
  pthread_mutex_lock(&b.lock);
  b.ended = 1;
  pthread_mutex_unlock(&b.lock);
  while (started) pthread_join(readers[--started], NULL);
  free(kept);
  if (!failed && b.wrong) failed = broke(r, "threads", "a read beside a write gave other bytes");
  return failed;
}

/* ---- Durability: needs `crash` ---- */

static int crashed(run *r, uint64_t *fence) {
  r->check->crash(r->s->context);
  uint64_t before = *fence;
  tl_view name = at(r, 0, 0).name;
  TRY(well(r, "acquire", r->s->acquire(r->s->context, &name, fence)));
  if (*fence > before) return 0;
  return broke(r, "fence-crash", "acquire gave %llu after a crash, and had given %llu",
               (unsigned long long)*fence, (unsigned long long)before);
}

static int durable(run *r) {
  uint64_t fence = 0;
  named(r, "sync");
  TRY(acquire(r, &fence));
  for (unsigned i = 0; i < 6; i++) {
    size_t size = 10000 + 777 * i;
    pattern(r->model, size, i);
    TRY(put(r, fence, TL_OBJECT_MAIN, 0, r->model, size));
    TRY(syncs(r, fence, TL_OBJECT_MAIN));
    TRY(crashed(r, &fence));
    TRY(sized(r, fence, TL_OBJECT_MAIN, size, "sync-size"));
    TRY(same(r, fence, TL_OBJECT_MAIN, r->model, size, "sync"));
  }
  TRY(cut(r, fence, TL_OBJECT_MAIN, 5000));
  TRY(syncs(r, fence, TL_OBJECT_MAIN));
  TRY(crashed(r, &fence));
  TRY(same(r, fence, TL_OBJECT_MAIN, r->model, 5000, "sync-truncate"));
  TRY(put(r, fence, TL_OBJECT_LOG, 0, r->model, 5000));
  TRY(syncs(r, fence, TL_OBJECT_LOG));
  TRY(removes(r, fence, TL_OBJECT_LOG));
  TRY(syncs(r, fence, TL_OBJECT_LOG));
  TRY(crashed(r, &fence));
  TRY(sized(r, fence, TL_OBJECT_LOG, 0, "sync-remove"));
  return same(r, fence, TL_OBJECT_MAIN, r->model, 5000, "sync-remove");
}

/* Order is made by syncs: the log is durable before main is written, main before the log begins
   anew. */
static int ordered(run *r) {
  uint64_t fence = 0;
  named(r, "order");
  TRY(acquire(r, &fence));
  for (unsigned i = 0; i < 8; i++) {
    pattern(r->model, 3 * STRIDE, i);
    TRY(put(r, fence, TL_OBJECT_LOG, 0, r->model, 3 * STRIDE));
    TRY(syncs(r, fence, TL_OBJECT_LOG));
    if (i % 2) TRY(put(r, fence, TL_OBJECT_MAIN, 0, r->model, STRIDE));
    TRY(crashed(r, &fence));
    TRY(same(r, fence, TL_OBJECT_LOG, r->model, 3 * STRIDE, "order"));
    TRY(put(r, fence, TL_OBJECT_MAIN, 0, r->model, 3 * STRIDE));
    TRY(syncs(r, fence, TL_OBJECT_MAIN));
    TRY(removes(r, fence, TL_OBJECT_LOG));
    TRY(crashed(r, &fence));
    TRY(same(r, fence, TL_OBJECT_MAIN, r->model, 3 * STRIDE, "order"));
    TRY(removes(r, fence, TL_OBJECT_LOG));
    TRY(syncs(r, fence, TL_OBJECT_LOG));
  }
  return 0;
}

/* What was synced stays, whatever is written beside it or cut off behind it and not synced. */
static int taken_back(run *r) {
  uint64_t fence = 0;
  named(r, "kept");
  TRY(acquire(r, &fence));
  size_t size = 72;
  pattern(r->model, 60 * STRIDE, 5);
  TRY(put(r, fence, TL_OBJECT_LOG, 0, r->model, size));
  for (unsigned i = 0; i < 24; i++) {
    TRY(put(r, fence, TL_OBJECT_LOG, size, r->model + size, STRIDE));
    TRY(syncs(r, fence, TL_OBJECT_LOG));
    size += STRIDE;
    /* The next frame shares a block with the last one, and is not synced. */
    TRY(put(r, fence, TL_OBJECT_LOG, size, r->model, 2 * STRIDE));
    if (i % 3 == 2) TRY(cut(r, fence, TL_OBJECT_LOG, size + 10));
    TRY(crashed(r, &fence));
    TRY(reads(r, fence, TL_OBJECT_LOG, 0, size, size, r->model, "torn-neighbour"));
    TRY(cut(r, fence, TL_OBJECT_LOG, size));
  }
  return 0;
}

/* ---- Errors: needs `fail` ---- */

/* A write that failed has changed nothing but its own range, and the next one works. */
static int errors(run *r) {
  uint64_t fence = 0;
  named(r, "errors");
  TRY(acquire(r, &fence));
  pattern(r->model, 20000, 2);
  TRY(put(r, fence, TL_OBJECT_LOG, 0, r->model, 20000));
  for (int calls = 0; calls < 40; calls++) {
    unsigned char bytes[STRIDE];
    size_t offset = 72 + (size_t)(calls % 4) * STRIDE;
    tl_stored where = at(r, fence, TL_OBJECT_LOG);
    tl_view view = {bytes, sizeof bytes};
    pattern(bytes, sizeof bytes, 50 + (unsigned)calls);
    r->check->fail(r->s->context, calls % 3);
    for (int i = 0; i < 4; i++) {
      tl_status status = r->s->write(r->s->context, &where, offset, &view);
      if (!known(status)) return broke(r, "status", "a write that failed gave %d", (int)status);
    }
    r->check->fail(r->s->context, -1);
    memcpy(r->model + offset, bytes, sizeof bytes);
    TRY(put(r, fence, TL_OBJECT_LOG, offset, bytes, sizeof bytes));
    TRY(same(r, fence, TL_OBJECT_LOG, r->model, 20000, "errors"));
  }
  return 0;
}

/* ---- Anything, in any order, beside a model ---- */

typedef struct object_model {
  unsigned char bytes[ROOM];
  size_t size;
} object_model;

static int step(run *r, uint64_t *fence, object_model *models) {
  tl_object object = (tl_object)below(r, 3);
  object_model *m = &models[object];
  size_t offset = below(r, 90000), part = 1 + below(r, below(r, 2) ? 300 : BIG);
  switch (below(r, 10)) {
  case 0:
    offset = below(r, 4) ? m->size * below(r, 100) / 100 : offset;
    TRY(cut(r, *fence, object, offset));
    if (offset > m->size) memset(m->bytes + m->size, 0, offset - m->size);
    m->size = offset;
    return 0;
  case 1:
    if (below(r, 4)) return syncs(r, *fence, object);
    m->size = 0;
    return removes(r, *fence, object);
  case 2:
    if (below(r, 8)) return sized(r, *fence, object, m->size, "model");
    /* What was not synced may go with its holder. */
    for (object = 0; object < 3; object++) TRY(syncs(r, *fence, object));
    return acquire(r, fence);
  case 3: case 4: case 5:
    return reads(r, *fence, object, offset, part, m->size, m->bytes + offset, "model");
  default:
    if (below(r, 2)) offset = m->size;
    if (offset + part > ROOM) return 0;
    if (offset > m->size) memset(m->bytes + m->size, 0, offset - m->size);
    for (size_t i = 0; i < part; i++) m->bytes[offset + i] = (unsigned char)(1 + below(r, 255));
    if (offset + part > m->size) m->size = offset + part;
    return put(r, *fence, object, offset, m->bytes + offset, part);
  }
}

static int anything(run *r) {
  uint64_t fence = 0;
  unsigned steps = r->check->steps ? r->check->steps : 2000;
  object_model *models = calloc(3, sizeof *models);
  int failed = !models ? broke(r, "status", "no memory") : 0;
  named(r, "model");
  if (!failed) failed = acquire(r, &fence);
  for (unsigned i = 0; i < steps && !failed; i++) failed = step(r, &fence, models);
  for (tl_object object = 0; object < 3 && !failed; object++)
    failed = same(r, fence, object, models[object].bytes, models[object].size, "model");
  free(models);
  return failed;
}

static int all(run *r) {
  TRY(fences(r));
  TRY(empties(r));
  TRY(writes(r));
  TRY(zeros(r));
  TRY(truncates(r));
  TRY(apart(r));
  TRY(losses(r));
  TRY(races(r));
  TRY(threads(r));
  if (r->check->crash) {
    TRY(durable(r));
    TRY(ordered(r));
    TRY(taken_back(r));
  }
  if (r->check->fail) TRY(errors(r));
  return anything(r);
}

int storage_check_run(const storage_check *check, char *why, size_t room) {
  run *r = calloc(1, sizeof *r);
  if (!r || room == 0) {
    free(r);
    return 1;
  }
  r->check = check;
  r->s = check->storage;
  r->why = why;
  r->room = room;
  r->chance = check->seed + 1;
  snprintf(why, room, "pass");
  int failed = all(r);
  free(r);
  return failed;
}

#ifndef STORAGE_CHECK_LIBRARY
storage_check storage_under_test(int count, char **arguments);

int main(int count, char **arguments) {
  storage_check check = storage_under_test(count, arguments);
  char why[400];
  int failed;
  if (!check.storage) {
    puts("there is no storage to check");
    return 2;
  }
  failed = storage_check_run(&check, why, sizeof why);
  printf("storage: %s%s\n", why, failed || check.crash ? "" : " (no crash was tried)");
  if (check.storage->drop) check.storage->drop(check.storage->context);
  return failed;
}
#endif
