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
  uint64_t reach;               /* The highest offset that is tried; 0 is 64 MiB. */
} storage_check;

/* 0 where all is kept. `why` says "pass", or the promise and what was seen, in one line. */
int storage_check_run(const storage_check *check, char *why, size_t room);

/* The largest write of a client, and the stride of the log's frames. */
enum { BIG = 16 * 4144, STRIDE = 4144, ROOM = 1 << 18, READERS = 3, NAME_MOST = 1024 };

typedef struct run {
  const storage_check *check;
  const tl_storage *s;
  char *why;
  size_t room;
  unsigned long long chance;
  char name[NAME_MOST + 1];
  unsigned char bytes[ROOM], model[ROOM];
} run;

enum { OBJECTS = 4 };
static const char *names[OBJECTS] = {"main", "log", "own", "next"};

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
  for (tl_object object = 0; object < OBJECTS; object++) {
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

/* Names that are alike where a storage folds, cleans, escapes or joins them. */
static const char *const like[] = {
    "n", "n/b", "n%", "n_", "N", "n/B", "n\xC3\xA9", "n\xC3\x89", "ne\xCC\x81", "n'x\"\\",
    "n ", "n  ", "n b", "n/b ", "n.", "n\t", "n\n", "n\\b", "n:b", "n+b", "n%2Fb", "n%20b",
    "n/", "n//b", "n/./b", "n/.b", "n/b/..", "n/../n", "n/../../n",
    "n-main", "n-log", "n-own", "n-wal", "n.log", "n/log",
    "n0", "n1", "n2", "n-1", "n.1", "n/1", "n:1"};
static const size_t lengths[] = {64, 128, 256, 512, NAME_MOST};
enum { LIKE = sizeof like / sizeof like[0], LONG = 2 * sizeof lengths / sizeof lengths[0] };

/* The name with a number: first those that are alike, then two of each length that differ in their
   last byte. */
static void numbered(run *r, unsigned number) {
  if (number < LIKE) {
    named(r, like[number]);
    return;
  }
  named(r, "long-");
  size_t from = strlen(r->name), length = lengths[(number - LIKE) / 2];
  if (from < length) memset(r->name + from, 'l', length - from);
  r->name[length] = 0;
  r->name[length - 1] = number % 2 ? 'x' : 'y';
}

/* The name in one line. */
static const char *shown(const run *r, char out[64]) {
  size_t at = 0;
  for (const char *from = r->name; *from && at < 50; from++)
    at += (size_t)snprintf(out + at, 64 - at, *from < ' ' || *from > '~' ? "<%02X>" : "%c",
                           (unsigned char)*from);
  if (strlen(r->name) > 50) snprintf(out + at, 64 - at, "...");
  return out;
}

/* Of a name the objects are as they were written; `gone` was removed. */
static int kept(run *r, unsigned number, uint64_t fence, int gone, const char *promise) {
  char text[64];
  numbered(r, number);
  for (tl_object object = 0; object < OBJECTS; object++) {
    pattern(r->model, 2000, number * OBJECTS + (unsigned)object);
    if (same(r, fence, object, r->model, object == gone ? 0 : 2000 - (size_t)object, promise)) {
      size_t end = strlen(r->why);
      snprintf(r->why + end, r->room - end, " (of %s)", shown(r, text));
      return 1;
    }
  }
  return 0;
}

/* No name and no object shows or changes another one. */
static int apart(run *r) {
  uint64_t fences[LIKE + LONG] = {0}, size = 0;
  unsigned count = 0;
  char text[64];
  for (; count < LIKE + LONG; count++) {
    numbered(r, count);
    tl_view name = at(r, 0, 0).name;
    /* A storage may refuse a long name; it may not take it for another. */
    if (name.size >= 256 && r->s->acquire(r->s->context, &name, &fences[count]) != TL_OK) break;
    if (name.size < 256) TRY(acquire(r, &fences[count]));
  }
  for (unsigned i = 0; i < count; i++) {
    numbered(r, i);
    tl_stored where = at(r, fences[i], TL_OBJECT_MAIN);
    if (r->s->size(r->s->context, &where, &size) == TL_E_LOCKED)
      return broke(r, "names", "the holder of %s was ended by an acquire of another name",
                   shown(r, text));
    for (tl_object object = 0; object < OBJECTS; object++) {
      pattern(r->model, 2000, i * OBJECTS + (unsigned)object);
      TRY(put(r, fences[i], object, 0, r->model, 2000 - (size_t)object));
    }
    TRY(kept(r, i, fences[i], -1, "objects"));
  }
  numbered(r, 1);
  TRY(removes(r, fences[1], TL_OBJECT_LOG));
  for (unsigned i = 0; i < count; i++)
    TRY(kept(r, i, fences[i], i == 1 ? TL_OBJECT_LOG : -1, i == 1 ? "objects" : "names"));
  /* The same bytes of one object after the other, and of one name after the other. */
  for (tl_object object = 0; object < OBJECTS; object++)
    for (unsigned i = 0; i < count; i++) {
      if (i == 1 && object == TL_OBJECT_LOG) continue;
      numbered(r, i);
      pattern(r->model, 2000, i * OBJECTS + (unsigned)object);
      TRY(reads(r, fences[i], object, 100, 500, 2000, r->model + 100, "names"));
    }
  numbered(r, 1);
  memset(r->model, 0, 5000);
  memcpy(r->model + 4000, "anew", 4);
  TRY(put(r, fences[1], TL_OBJECT_LOG, 4000, "anew", 4));
  return same(r, fences[1], TL_OBJECT_LOG, r->model, 4004, "remove");
}

/* Loses what may be lost; the name is acquired again. */
static int crashed(run *r, uint64_t *fence) {
  r->check->crash(r->s->context);
  uint64_t before = *fence;
  tl_view name = at(r, 0, 0).name;
  TRY(well(r, "acquire", r->s->acquire(r->s->context, &name, fence)));
  if (*fence > before) return 0;
  return broke(r, "fence-crash", "acquire gave %llu after a crash, and had given %llu",
               (unsigned long long)*fence, (unsigned long long)before);
}

enum { FAR_FIRST = 300 };

/* The first bytes, and the marks around each power of two, are there and zeros behind each. */
static int marks(run *r, uint64_t fence, uint64_t reach, size_t size) {
  unsigned char mark[16], zero[64] = {0};
  unsigned seed = 0;
  pattern(r->model, FAR_FIRST, 99);
  TRY(reads(r, fence, TL_OBJECT_MAIN, 0, FAR_FIRST, size, r->model, "far"));
  for (uint64_t power = 4096; power <= reach && power <= (uint64_t)1 << 62; power *= 2) {
    pattern(mark, sizeof mark, seed++);
    TRY(reads(r, fence, TL_OBJECT_MAIN, power - 8, 16, size, mark, "far"));
    pattern(mark, sizeof mark, seed++);
    TRY(reads(r, fence, TL_OBJECT_MAIN, power + 100, 16, size, mark, "far"));
    if (power + 264 < size)
      TRY(reads(r, fence, TL_OBJECT_MAIN, power + 200, 64, size, zero, "far"));
  }
  return 0;
}

/* Offsets are told apart as far as they reach, with few bytes written. */
static int far(run *r) {
  uint64_t fence = 0, reach = r->check->reach ? r->check->reach : (uint64_t)1 << 26, last = 0;
  unsigned char mark[16];
  unsigned seed = 0;
  size_t size = 0;
  named(r, "far");
  TRY(acquire(r, &fence));
  pattern(r->model, FAR_FIRST, 99);
  TRY(put(r, fence, TL_OBJECT_MAIN, 0, r->model, FAR_FIRST));
  for (uint64_t power = 4096; power <= reach && power <= (uint64_t)1 << 62; power *= 2) {
    pattern(mark, sizeof mark, seed++);
    TRY(put(r, fence, TL_OBJECT_MAIN, power - 8, mark, sizeof mark));
    pattern(mark, sizeof mark, seed++);
    TRY(put(r, fence, TL_OBJECT_MAIN, power + 100, mark, sizeof mark));
    size = power + 116;
    last = power;
    TRY(sized(r, fence, TL_OBJECT_MAIN, size, "far"));
  }
  TRY(marks(r, fence, last, size));
  TRY(syncs(r, fence, TL_OBJECT_MAIN));
  if (r->check->crash) TRY(crashed(r, &fence));
  TRY(sized(r, fence, TL_OBJECT_MAIN, size, "far"));
  TRY(marks(r, fence, last, size));
  TRY(cut(r, fence, TL_OBJECT_MAIN, last / 2 + 116));
  TRY(sized(r, fence, TL_OBJECT_MAIN, last / 2 + 116, "far"));
  TRY(marks(r, fence, last / 2, last / 2 + 116));
  TRY(removes(r, fence, TL_OBJECT_MAIN));
  TRY(syncs(r, fence, TL_OBJECT_MAIN));
  return sized(r, fence, TL_OBJECT_MAIN, 0, "far");
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
  unsigned version; /* Of what is written: odd while that is under way. */
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
    if (!failed && i % 25 == 0) failed = syncs(r, fence, object);
    if (!failed && i % 10 == 5) failed = cut(r, fence, TL_OBJECT_MAIN, 60000 + i % 300);
  }
  pthread_mutex_lock(&b.lock);
  b.ended = 1;
  pthread_mutex_unlock(&b.lock);
  while (started) pthread_join(readers[--started], NULL);
  free(kept);
  if (!failed && b.wrong) failed = broke(r, "threads", "a read beside a write gave other bytes");
  return failed;
}

static unsigned version_of(beside *b, unsigned add) {
  pthread_mutex_lock(&b->lock);
  unsigned version = b->version += add;
  pthread_mutex_unlock(&b->lock);
  return version;
}

/* Reads what was written last, and its size. */
static void *following(void *argument) {
  beside *b = argument;
  const tl_storage *s = b->r->s;
  unsigned char bytes[600];
  while (!over(b)) {
    unsigned version = version_of(b, 0), write = version / 2;
    size_t got = 0;
    uint64_t size = 0;
    int right = s->read(s->context, &b->where, 100, bytes, sizeof bytes, &got) == TL_OK &&
                s->size(s->context, &b->where, &size) == TL_OK && size == b->size + write;
    for (size_t i = 0; i < sizeof bytes; i++)
      right = right && got == sizeof bytes && bytes[i] == 1 + write % 250;
    if (right || version % 2 || version_of(b, 0) != version) continue;
    pthread_mutex_lock(&b->lock);
    b->wrong = 1;
    pthread_mutex_unlock(&b->lock);
  }
  return NULL;
}

/* A read that begins after a write has ended sees it, also while a sync is under way. */
static int fresh(run *r) {
  enum { SYNCS = 60, START = 2000 };
  uint64_t fence = 0;
  pthread_t readers[READERS];
  unsigned char bytes[START + SYNCS];
  int started = 0, failed = 0;
  beside b = {.r = r, .size = START, .lock = PTHREAD_MUTEX_INITIALIZER};
  named(r, "fresh");
  memset(bytes, 1, sizeof bytes);
  TRY(acquire(r, &fence));
  TRY(put(r, fence, TL_OBJECT_MAIN, 0, bytes, START));
  b.where = at(r, fence, TL_OBJECT_MAIN);
  while (started < READERS && pthread_create(&readers[started], NULL, following, &b) == 0)
    started++;
  for (unsigned i = 1; !failed && i <= SYNCS; i++) {
    (void)version_of(&b, 1);
    memset(bytes, (int)(1 + i % 250), sizeof bytes);
    failed = put(r, fence, TL_OBJECT_MAIN, 0, bytes, START + i);
    (void)version_of(&b, 1);
    if (!failed) failed = syncs(r, fence, i % 5 ? TL_OBJECT_MAIN : TL_OBJECT_LOG);
  }
  pthread_mutex_lock(&b.lock);
  b.ended = 1;
  pthread_mutex_unlock(&b.lock);
  while (started) pthread_join(readers[--started], NULL);
  if (!failed && b.wrong)
    failed = broke(r, "stale", "a read while a sync was under way missed an earlier write");
  return failed;
}

/* ---- Durability: needs `crash` ---- */

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

/* A sync makes all changes before it durable, however many there are, in both objects. */
static int many(run *r) {
  enum { CHANGES = 3000, PART = 20 };
  uint64_t fence = 0;
  size_t size = CHANGES * PART;
  named(r, "many");
  TRY(acquire(r, &fence));
  pattern(r->model, size, 4);
  /* Each part once, in an order that neither begins at the start nor at the end. */
  for (unsigned i = 0; i < CHANGES; i++) {
    size_t offset = (i * 1237u + 700) % CHANGES * PART;
    TRY(put(r, fence, TL_OBJECT_MAIN, offset, r->model + offset, PART));
    if (i % 10 == 0) TRY(put(r, fence, TL_OBJECT_LOG, i, r->model + i, 10));
  }
  TRY(same(r, fence, TL_OBJECT_MAIN, r->model, size, "write"));
  TRY(syncs(r, fence, TL_OBJECT_LOG));
  TRY(syncs(r, fence, TL_OBJECT_MAIN));
  TRY(crashed(r, &fence));
  TRY(same(r, fence, TL_OBJECT_MAIN, r->model, size, "sync"));
  TRY(sized(r, fence, TL_OBJECT_LOG, CHANGES, "sync-size"));
  for (size_t from = 0; from < CHANGES; from += 10)
    TRY(reads(r, fence, TL_OBJECT_LOG, from, 10, CHANGES, r->model + from, "sync"));
  return 0;
}

/* After a cut an object that grows has zeros, also where bytes were durable before. */
static int regrown(run *r) {
  uint64_t fence = 0;
  named(r, "grow");
  TRY(acquire(r, &fence));
  for (unsigned i = 0; i < 3; i++) {
    pattern(r->model, 40000, i);
    TRY(put(r, fence, TL_OBJECT_MAIN, 0, r->model, 40000));
    TRY(syncs(r, fence, TL_OBJECT_MAIN));
    TRY(cut(r, fence, TL_OBJECT_MAIN, 5000));
    /* Without a sync between, the cut and the growth are one change of what is durable. */
    if (i < 2) TRY(syncs(r, fence, TL_OBJECT_MAIN));
    if (i == 1) TRY(put(r, fence, TL_OBJECT_MAIN, 30000, r->model + 5000, 100));
    else TRY(cut(r, fence, TL_OBJECT_MAIN, 30100));
    TRY(syncs(r, fence, TL_OBJECT_MAIN));
    TRY(crashed(r, &fence));
    memset(r->model + 5000 + (i == 1 ? 100 : 0), 0, 25000);
    if (i == 1) {
      memmove(r->model + 30000, r->model + 5000, 100);
      memset(r->model + 5000, 0, 100);
    } else {
      memset(r->model + 30000, 0, 100);
    }
    TRY(same(r, fence, TL_OBJECT_MAIN, r->model, 30100, "sync-truncate"));
    TRY(removes(r, fence, TL_OBJECT_MAIN));
    TRY(put(r, fence, TL_OBJECT_MAIN, 20000, "anew", 4));
    TRY(syncs(r, fence, TL_OBJECT_MAIN));
    TRY(crashed(r, &fence));
    memset(r->model, 0, 20000);
    memcpy(r->model + 20000, "anew", 4);
    TRY(same(r, fence, TL_OBJECT_MAIN, r->model, 20004, "sync-remove"));
  }
  return 0;
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

/* ---- Anything, in any order, of two names beside a model ---- */

enum { CHANGES_MOST = 64, NAMES = 2 };

/* A write since the last sync; its bytes follow from its number. */
typedef struct change {
  size_t offset, size;
  unsigned number;
} change;

typedef struct object_model {
  unsigned char bytes[ROOM], durable[ROOM]; /* As the holder sees it; as it was synced. */
  size_t size, durable_size, lowest, highest; /* Of the sizes since the sync, both. */
  change changes[CHANGES_MOST];
  int count;
} object_model;

typedef struct name_model {
  char suffix[16];
  uint64_t fence;
  object_model objects[OBJECTS];
} name_model;

static unsigned char byte_of(unsigned number, size_t i) {
  uint32_t mixed = ((uint32_t)i * 2654435761u) ^ (number * 2246822519u);
  return (unsigned char)(1 + ((mixed ^ mixed >> 15) * 2654435761u >> 8) % 255);
}

static void resized(object_model *m, size_t size) {
  if (size > m->size) memset(m->bytes + m->size, 0, size - m->size);
  m->size = size;
  if (size < m->lowest) m->lowest = size;
  if (size > m->highest) m->highest = size;
}

static int model_sync(run *r, name_model *n, tl_object object) {
  object_model *m = &n->objects[object];
  TRY(syncs(r, n->fence, object));
  memcpy(m->durable, m->bytes, m->size);
  m->durable_size = m->lowest = m->highest = m->size;
  m->count = 0;
  return 0;
}

static int model_cut(run *r, name_model *n, tl_object object, size_t size, int remove) {
  resized(&n->objects[object], size);
  return remove ? removes(r, n->fence, object) : cut(r, n->fence, object, size);
}

static int model_write(run *r, name_model *n, tl_object object, size_t offset, size_t size) {
  object_model *m = &n->objects[object];
  if (offset + size > ROOM) return 0;
  if (m->count == CHANGES_MOST) TRY(model_sync(r, n, object));
  change made = {offset, size, below(r, 1u << 30)};
  m->changes[m->count++] = made;
  resized(m, offset + size > m->size ? offset + size : m->size);
  for (size_t i = 0; i < size; i++) m->bytes[offset + i] = byte_of(made.number, i);
  return put(r, n->fence, object, offset, m->bytes + offset, size);
}

/* Whether a crash may leave this byte: it was durable, or a change since has made it. */
static int possible(const object_model *m, size_t i, unsigned char byte) {
  if (i < m->size && byte == m->bytes[i]) return 1;
  if (i < m->durable_size && byte == m->durable[i]) return 1;
  if (byte == 0 && i >= m->lowest) return 1;
  for (int k = 0; k < m->count; k++) {
    const change *c = &m->changes[k];
    if (i >= c->offset && i - c->offset < c->size && byte == byte_of(c->number, i - c->offset))
      return 1;
  }
  return 0;
}

/* Looks at what a crash or a holder before has left, and goes on from there. Unsynced changes stay
   unsynced: the next crash may bring or take any part of them. */
static int left(run *r, name_model *n, tl_object object) {
  object_model *m = &n->objects[object];
  tl_stored where = at(r, n->fence, object);
  uint64_t size = 0;
  TRY(well(r, "size", r->s->size(r->s->context, &where, &size)));
  if (size < m->lowest || size > m->highest)
    return broke(r, "crash", "the size of %s is %llu, and was %zu to %zu since the sync",
                 names[object], (unsigned long long)size, m->lowest, m->highest);
  for (size_t from = 0; from < size; from += BIG) {
    size_t got = 0, due = (size_t)size - from < BIG ? (size_t)size - from : BIG;
    TRY(well(r, "read", r->s->read(r->s->context, &where, from, r->bytes + from, BIG, &got)));
    if (got != due)
      return broke(r, "crash", "%s has %llu bytes, and a read at %zu gave %zu", names[object],
                   (unsigned long long)size, from, got);
  }
  for (size_t i = 0; i < size; i++)
    if (!possible(m, i, r->bytes[i]))
      return broke(r, "crash", "byte %zu of %s is %d: neither synced nor written since", i,
                   names[object], r->bytes[i]);
  m->size = (size_t)size;
  memcpy(m->bytes, r->bytes, m->size);
  return 0;
}

static int taken(run *r, name_model *n) {
  named(r, n->suffix);
  TRY(acquire(r, &n->fence));
  for (tl_object object = 0; object < OBJECTS; object++) TRY(left(r, n, object));
  return 0;
}

static int all_crashed(run *r, name_model *models) {
  r->check->crash(r->s->context);
  for (int i = 0; i < NAMES; i++) TRY(taken(r, &models[i]));
  return 0;
}

static int step(run *r, name_model *models) {
  name_model *n = &models[below(r, NAMES)], *other = n == models ? models + 1 : models;
  tl_object object = (tl_object)below(r, OBJECTS);
  object_model *m = &n->objects[object];
  size_t offset = below(r, 90000), part = 1 + below(r, below(r, 2) ? 300 : BIG);
  named(r, n->suffix);
  switch (below(r, 10)) {
  case 0:
    offset = below(r, 4) ? m->size * below(r, 100) / 100 : offset;
    TRY(model_cut(r, n, object, offset, 0));
    break;
  case 1:
    if (below(r, 4)) TRY(model_sync(r, n, object));
    else TRY(model_cut(r, n, object, 0, 1));
    break;
  case 2:
    if (below(r, 8)) {
      TRY(sized(r, n->fence, object, m->size, "model"));
      break;
    }
    /* What was not synced may go with its holder. */
    for (tl_object i = 0; i < OBJECTS && below(r, 4); i++) TRY(model_sync(r, n, i));
    TRY(taken(r, n));
    break;
  case 3: case 4: case 5:
    TRY(reads(r, n->fence, object, offset, part, m->size, m->bytes + offset, "model"));
    break;
  default:
    TRY(model_write(r, n, object, below(r, 2) ? m->size : offset, part));
  }
  named(r, other->suffix);
  m = &other->objects[object];
  TRY(sized(r, other->fence, object, m->size, "names"));
  return reads(r, other->fence, object, offset, part, m->size, m->bytes + offset, "names");
}

static int anything(run *r) {
  unsigned steps = r->check->steps ? r->check->steps : 2000, crash_at = 0;
  /* So many steps have one crash among them. */
  unsigned stretch = steps / (2 + steps / 200) + 1;
  name_model *models = calloc(NAMES, sizeof *models);
  int failed = !models ? broke(r, "status", "no memory") : 0;
  for (int n = 0; n < NAMES && !failed; n++) {
    snprintf(models[n].suffix, sizeof models[n].suffix, "model%.*s", n, "-2");
    failed = taken(r, &models[n]);
  }
  for (unsigned i = 0; i < steps && !failed; i++) {
    if (i % stretch == 0) crash_at = i + below(r, stretch);
    failed = step(r, models);
    if (!failed && r->check->crash && i == crash_at) failed = all_crashed(r, models);
  }
  for (int n = 0; n < NAMES && !failed; n++)
    for (tl_object object = 0; object < OBJECTS && !failed; object++) {
      object_model *m = &models[n].objects[object];
      named(r, models[n].suffix);
      failed = same(r, models[n].fence, object, m->bytes, m->size, "model");
    }
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
  TRY(fresh(r));
  TRY(threads(r));
  if (r->check->crash) {
    TRY(durable(r));
    TRY(many(r));
    TRY(regrown(r));
    TRY(ordered(r));
    TRY(taken_back(r));
  }
  if (r->check->fail) TRY(errors(r));
  TRY(far(r));
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
