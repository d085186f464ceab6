/* A storage in memory for the tests: it keeps what tl_storage promises, loses what a crash may
   lose, and breaks one promise where a test asks for it. */
#ifndef MEMORY_STORAGE_H
#define MEMORY_STORAGE_H

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tideline.h"

enum { MEM_NAMES = 160, MEM_OBJECTS = 4 };
enum { MEM_SMALL_ROOM = 1 << 16, MEM_ROOM = 1 << 22, MEM_FAR_ROOM = 1 << 27 };
/* What the faults of the same names count in. */
enum { MEM_LAST = 300, MEM_NAME_CUT = 255, MEM_BLOCK = 4096 };

typedef enum mem_fault {
  MEM_NEVER = -1,
  MEM_GOOD,
  MEM_LOST_SYNC,
  MEM_LATE_LOG_SYNC,
  MEM_TORN_NEIGHBOUR,
  MEM_STALE_READ,
  MEM_LATE_WRITE,
  MEM_LATE_READ,
  MEM_LATE_SYNC,
  MEM_LATE_TRUNCATE,
  MEM_LATE_REMOVE,
  MEM_CHECK_THEN_WRITE,
  MEM_LATE_RELEASE,
  MEM_NO_ZEROS,
  MEM_SHORT_READ,
  MEM_TRUNCATE_BACK,
  MEM_LOST_TRUNCATE,
  MEM_REMOVE_BACK,
  MEM_WHOLE_BLOCKS,
  MEM_SIZE_IN_BLOCKS,
  MEM_SIZE_NOT_SYNCED,
  MEM_SAME_NUMBER,
  MEM_NUMBER_LOST,
  MEM_NAMES_MIXED,
  MEM_OBJECTS_MIXED,
  MEM_NEXT_MIXED,
  MEM_LARGE_CUT,
  MEM_ONE_BUFFER,
  MEM_OTHER_STATUS,
  MEM_HALF_FAILED,
  MEM_WRAP,            /* Offsets wrap at `wrap`. */
  MEM_LAST_WRITES,     /* A sync keeps the last MEM_LAST writes only. */
  MEM_STALE_IN_SYNC,   /* While a sync is under way, reads give what was durable before. */
  MEM_LONG_NAMES,      /* A name is its first MEM_NAME_CUT bytes. */
  MEM_SPACES,          /* Spaces at a name's end do not count. */
  MEM_CASE,            /* Upper and lower case are one. */
  MEM_DOTS,            /* Names are cleaned as paths: "a/./b", "a//b" and "a/x/../b" are "a/b". */
  MEM_HIDDEN,          /* A dot at the beginning of a path's part does not count. */
  MEM_ONE_DIRTY_FLAG,  /* One mark of what is to be synced, for all objects of a name. */
  MEM_DIRTY_BY_OBJECT, /* The same for an object of all names. */
  MEM_OLD_TAIL,        /* Synced bytes behind a cut are back where the object grows again. */
  MEM_GROWN_LOST,      /* A size that only truncate has raised is not synced. */
  MEM_SIZE_CACHED,     /* After a crash `size` says what it said before. */
  MEM_CUT_SHOWS,       /* A read beside a truncate sees an object of no bytes. */
  MEM_BLOCK_CACHE      /* The block that was read last serves all names. */
} mem_fault;

typedef struct mem_object {
  unsigned char *bytes, *durable;
  size_t size, durable_size;
  size_t room, tail, cached_size; /* `tail`: the lowest size that was synced. */
  int grown, dirty, syncing, writes; /* `writes`: since the last sync. */
  struct {
    size_t offset, size;
  } last[MEM_LAST];
} mem_object;

typedef struct mem_name {
  char name[1024];
  size_t length;
  uint64_t fence;
  mem_object objects[MEM_OBJECTS];
} mem_name;

typedef struct mem_storage {
  pthread_mutex_t lock;
  mem_fault fault;
  mem_name names[MEM_NAMES];
  int count;
  int fail_in, calls, drops, held; /* fail_in: calls until one fails, -1 for none. */
  tl_status fail_with;
  unsigned long long chance;
  unsigned char old_block[4096], shared[MEM_ROOM], cached[MEM_BLOCK];
  size_t old_offset, cached_block, wrap; /* `wrap`: a power of two. */
  int cached_object;                     /* -1 for none. */
} mem_storage;

static inline unsigned mem_below(mem_storage *m, unsigned limit) {
  m->chance = m->chance * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(m->chance >> 33) % limit;
}

/* Where all bytes of an object below `end` have their place; those that are new are zeros. */
static inline void mem_reach(mem_object *o, size_t end) {
  size_t room = end <= MEM_SMALL_ROOM ? MEM_SMALL_ROOM : end <= MEM_ROOM ? MEM_ROOM : MEM_FAR_ROOM;
  if (end <= o->room) return;
  if (end > MEM_FAR_ROOM) abort();
  unsigned char *bytes = calloc(1, room), *durable = calloc(1, room);
  if (!bytes || !durable) abort();
  if (o->room) {
    memcpy(bytes, o->bytes, o->room);
    memcpy(durable, o->durable, o->room);
  }
  free(o->bytes);
  free(o->durable);
  o->bytes = bytes;
  o->durable = durable;
  o->room = room;
}

/* Cleans a path: without parts that say nothing, and without dots that hide one. */
static inline size_t mem_cleaned(char *name, size_t length, int hidden) {
  size_t at = 0;
  for (size_t from = 0; from < length;) {
    size_t end = from;
    while (end < length && name[end] != '/') end++;
    size_t part = end - from;
    if (hidden && part > 1 && name[from] == '.' && name[from + 1] != '.') from++, part--;
    if (!hidden && part == 2 && memcmp(name + from, "..", 2) == 0) {
      while (at && name[--at] != '/') continue;
    } else if (hidden || (part && !(part == 1 && name[from] == '.'))) {
      if (at) name[at++] = '/';
      memmove(name + at, name + from, part);
      at += part;
    }
    from = end + 1;
  }
  return at;
}

/* The name as the storage compares it. */
static inline size_t mem_folded(mem_storage *m, tl_view name, char *out) {
  size_t length = name.size;
  if (length > sizeof m->names[0].name) abort();
  memcpy(out, name.data, length);
  if (m->fault == MEM_LONG_NAMES && length > MEM_NAME_CUT) length = MEM_NAME_CUT;
  while (m->fault == MEM_SPACES && length > 1 && out[length - 1] == ' ') length--;
  for (size_t i = 0; m->fault == MEM_CASE && i < length; i++)
    if (out[i] >= 'A' && out[i] <= 'Z') out[i] = (char)(out[i] - 'A' + 'a');
  if (m->fault == MEM_DOTS || m->fault == MEM_HIDDEN)
    length = mem_cleaned(out, length, m->fault == MEM_HIDDEN);
  return length;
}

static inline mem_name *mem_find(mem_storage *m, tl_view name) {
  char folded[sizeof m->names[0].name];
  size_t size = mem_folded(m, name, folded);
  for (int i = 0; i < m->count; i++) {
    mem_name *n = &m->names[i];
    size_t compared = size;
    if (m->fault == MEM_NAMES_MIXED && n->length < compared) compared = n->length;
    if ((m->fault == MEM_NAMES_MIXED || n->length == size) &&
        memcmp(n->name, folded, compared) == 0)
      return n;
  }
  if (m->count == MEM_NAMES) abort();
  mem_name *n = &m->names[m->count++];
  memcpy(n->name, folded, size);
  n->length = size;
  for (int i = 0; i < MEM_OBJECTS; i++) {
    mem_reach(&n->objects[i], 1);
    n->objects[i].tail = SIZE_MAX;
  }
  return n;
}

/* Marks an object to be synced, or (0) as synced. Gives whether it was marked. */
static inline int mem_mark(mem_storage *m, mem_name *n, mem_object *o, int dirty) {
  int was = o->dirty;
  for (int i = 0; i < m->count; i++)
    for (int j = 0; j < MEM_OBJECTS; j++) {
      mem_object *other = &m->names[i].objects[j];
      if (other == o || (m->fault == MEM_ONE_DIRTY_FLAG && &m->names[i] == n) ||
          (m->fault == MEM_DIRTY_BY_OBJECT && j == o - n->objects))
        other->dirty = dirty;
    }
  return was;
}

static inline tl_status mem_planned(mem_storage *m) {
  m->calls++;
  if (m->fail_in < 0) return TL_OK;
  if (m->fail_in-- > 0) return TL_OK;
  return m->fail_with ? m->fail_with : TL_E_STORAGE;
}

/* The object that a call is about, with the lock held; NULL with a status where it is refused. */
static inline mem_object *mem_enter(mem_storage *m, const tl_stored *at, mem_fault late,
                                    tl_status *status) {
  pthread_mutex_lock(&m->lock);
  mem_name *n = mem_find(m, at->name);
  *status = mem_planned(m);
  if (at->fence != n->fence && m->fault != late) *status = TL_E_LOCKED;
  if (*status != TL_OK) {
    if (m->fault == MEM_OTHER_STATUS && *status == TL_E_LOCKED) *status = TL_E_CLOSED;
    return NULL;
  }
  if (m->fault == MEM_OBJECTS_MIXED && at->object == TL_OBJECT_OWN)
    return &n->objects[TL_OBJECT_LOG];
  if (m->fault == MEM_NEXT_MIXED && at->object == TL_OBJECT_NEXT)
    return &n->objects[TL_OBJECT_MAIN];
  return &n->objects[at->object];
}

static inline tl_status mem_leave(mem_storage *m, tl_status status) {
  pthread_mutex_unlock(&m->lock);
  return status;
}

static inline tl_status mem_acquire(void *context, const tl_view *name, uint64_t *fence) {
  mem_storage *m = context;
  pthread_mutex_lock(&m->lock);
  tl_status status = mem_planned(m);
  mem_name *n = mem_find(m, *name);
  if (status == TL_OK) {
    if (m->fault != MEM_SAME_NUMBER || n->fence == 0) n->fence++;
    *fence = n->fence;
    m->held++;
  }
  return mem_leave(m, status);
}

static inline tl_status mem_release(void *context, const tl_stored *at) {
  mem_storage *m = context;
  pthread_mutex_lock(&m->lock);
  if (m->fault == MEM_LATE_RELEASE) mem_find(m, at->name)->fence++;
  m->held--;
  return mem_leave(m, TL_OK);
}

/* Reads a part of a block through the cache. */
static inline void mem_from_cache(mem_storage *m, int object, const mem_object *o, size_t offset,
                                  uint8_t *out, size_t size) {
  size_t block = offset / MEM_BLOCK;
  if (m->cached_object != object || m->cached_block != block) {
    memcpy(m->cached, o->bytes + block * MEM_BLOCK, MEM_BLOCK);
    m->cached_object = object;
    m->cached_block = block;
  }
  memcpy(out, m->cached + offset % MEM_BLOCK, size);
}

static inline tl_status mem_read(void *context, const tl_stored *at, uint64_t offset, uint8_t *out,
                                 size_t size, size_t *got) {
  mem_storage *m = context;
  tl_status status;
  mem_object *o = mem_enter(m, at, MEM_LATE_READ, &status);
  if (!o) return mem_leave(m, status);
  size_t there = offset >= o->size ? 0 : o->size - (size_t)offset;
  *got = there < size ? there : size;
  if (m->fault == MEM_SHORT_READ && *got > 4096) *got = 4096;
  if (m->fault == MEM_WRAP) offset %= m->wrap;
  mem_reach(o, (size_t)offset + *got);
  memcpy(out, (o->syncing ? o->durable : o->bytes) + (there ? offset : 0), *got);
  if (m->fault == MEM_BLOCK_CACHE && *got &&
      offset / MEM_BLOCK == (offset + *got - 1) / MEM_BLOCK)
    mem_from_cache(m, at->object, o, (size_t)offset, out, *got);
  if (m->fault == MEM_STALE_READ && m->old_offset >= offset && m->old_offset < offset + *got)
    out[m->old_offset - offset] = m->old_block[0];
  if (m->fault == MEM_ONE_BUFFER && *got) {
    memcpy(m->shared, out, *got);
    mem_leave(m, TL_OK);
    /* The others have their turn here, also on one processor. */
    for (int turn = 0; turn < 3; turn++) sched_yield();
    memcpy(out, m->shared, *got);
    return TL_OK;
  }
  return mem_leave(m, TL_OK);
}

static inline void mem_place(mem_storage *m, mem_object *o, size_t offset, const uint8_t *bytes,
                             size_t size) {
  size_t end = offset + size;
  if (m->fault == MEM_WRAP) offset %= m->wrap;
  mem_reach(o, offset + size + 512);
  if (m->fault == MEM_NO_ZEROS && offset > o->size)
    memset(o->bytes + o->size, 0xAA, offset - o->size);
  m->old_offset = offset;
  m->old_block[0] = o->bytes[offset];
  if (m->fault == MEM_LARGE_CUT && size > 65536) size = 65536;
  memcpy(o->bytes + offset, bytes, size);
  if (end > o->size) o->size = end;
  o->cached_size = o->size;
  o->grown = 0;
  o->last[o->writes % MEM_LAST].offset = offset;
  o->last[o->writes++ % MEM_LAST].size = size;
  if (m->fault == MEM_WHOLE_BLOCKS) {
    end = (offset + size + 511) / 512 * 512;
    if (end > o->size) end = o->size;
    memset(o->bytes + offset + size, 0, end - offset - size);
  }
  if (m->fault == MEM_TORN_NEIGHBOUR && offset % 4096) {
    /* The block is replaced in place: a crash finds what was there before it torn. */
    size_t start = offset / 4096 * 4096;
    if (start < o->durable_size) memset(o->durable + start, 0, offset - start);
  }
}

static inline tl_status mem_write(void *context, const tl_stored *at, uint64_t offset,
                                  const tl_view *bytes) {
  mem_storage *m = context;
  tl_status status;
  mem_object *o = mem_enter(m, at, MEM_LATE_WRITE, &status);
  if (!o) {
    if (m->fault == MEM_HALF_FAILED && status == TL_E_STORAGE)
      memset(mem_find(m, at->name)->objects[at->object].bytes, 0, 60);
    return mem_leave(m, status);
  }
  if (m->fault == MEM_CHECK_THEN_WRITE) {
    mem_leave(m, TL_OK);
    for (int turn = 0; turn < 30; turn++) sched_yield();
    pthread_mutex_lock(&m->lock);
  }
  mem_place(m, o, (size_t)offset, bytes->data, bytes->size);
  mem_mark(m, mem_find(m, at->name), o, 1);
  m->cached_object = -1;
  return mem_leave(m, TL_OK);
}

static inline void mem_cut(mem_storage *m, mem_object *o, size_t size) {
  if (m->fault != MEM_WRAP) mem_reach(o, size);
  size_t end = o->size < o->room ? o->size : o->room;
  if (m->fault != MEM_TRUNCATE_BACK && size < end) memset(o->bytes + size, 0, end - size);
  o->grown = size > o->size;
  o->size = o->cached_size = size;
  m->cached_object = -1;
}

static inline tl_status mem_truncate(void *context, const tl_stored *at, uint64_t size) {
  mem_storage *m = context;
  tl_status status;
  mem_object *o = mem_enter(m, at, MEM_LATE_TRUNCATE, &status);
  if (!o) return mem_leave(m, status);
  if (m->fault == MEM_CUT_SHOWS && size) {
    size_t before = o->size;
    o->size = 0;
    mem_leave(m, TL_OK);
    usleep(300);
    pthread_mutex_lock(&m->lock);
    o->size = before;
  }
  mem_cut(m, o, (size_t)size);
  mem_mark(m, mem_find(m, at->name), o, 1);
  return mem_leave(m, status);
}

static inline tl_status mem_size(void *context, const tl_stored *at, uint64_t *size) {
  mem_storage *m = context;
  tl_status status;
  mem_object *o = mem_enter(m, at, MEM_NEVER, &status);
  if (o) *size = m->fault == MEM_SIZE_CACHED ? o->cached_size : o->size;
  if (o && m->fault == MEM_SIZE_IN_BLOCKS) *size = (o->size + 4095) / 4096 * 4096;
  return mem_leave(m, status);
}

static inline void mem_keep(mem_storage *m, mem_object *o) {
  int shrinks = o->size < o->durable_size;
  if (m->fault == MEM_LOST_SYNC) return;
  if (m->fault == MEM_REMOVE_BACK && o->size == 0) return;
  if (m->fault == MEM_LOST_TRUNCATE && shrinks && o->size) return;
  size_t most = o->size > o->durable_size ? o->size : o->durable_size;
  if (m->fault == MEM_WRAP && most > m->wrap) most = m->wrap;
  mem_reach(o, most);
  size_t tail = m->fault == MEM_OLD_TAIL && most > o->tail ? o->tail : most;
  if (m->fault == MEM_LAST_WRITES && o->writes > MEM_LAST) {
    for (int i = 0; i < MEM_LAST; i++)
      memcpy(o->durable + o->last[i].offset, o->bytes + o->last[i].offset, o->last[i].size);
  } else {
    memcpy(o->durable, o->bytes, tail);
    /* Of the rest those bytes are kept that were written since the cut: not those of zeros. */
    for (size_t i = tail; i < most; i++)
      if (o->bytes[i]) o->durable[i] = o->bytes[i];
  }
  o->writes = 0;
  if (o->size < o->tail) o->tail = o->size;
  if (m->fault == MEM_GROWN_LOST && o->grown) return;
  if (m->fault == MEM_SIZE_NOT_SYNCED && o->size > o->durable_size && o->durable_size) return;
  o->durable_size = o->size;
}

static inline tl_status mem_sync(void *context, const tl_stored *at) {
  mem_storage *m = context;
  tl_status status;
  mem_object *o = mem_enter(m, at, MEM_LATE_SYNC, &status);
  if (o) {
    mem_name *n = mem_find(m, at->name);
    /* The log's sync is put off until that of main. */
    int put_off = m->fault == MEM_LATE_LOG_SYNC && at->object == TL_OBJECT_LOG && o->size;
    if (m->fault == MEM_STALE_IN_SYNC) {
      o->syncing = 1;
      mem_leave(m, TL_OK);
      usleep(300);
      pthread_mutex_lock(&m->lock);
      o->syncing = 0;
    }
    if (mem_mark(m, n, o, 0) && !put_off) mem_keep(m, o);
    if (m->fault == MEM_LATE_LOG_SYNC && at->object == TL_OBJECT_MAIN)
      mem_keep(m, &n->objects[TL_OBJECT_LOG]);
  }
  return mem_leave(m, status);
}

static inline tl_status mem_remove(void *context, const tl_stored *at) {
  mem_storage *m = context;
  tl_status status;
  mem_object *o = mem_enter(m, at, MEM_LATE_REMOVE, &status);
  if (o) mem_cut(m, o, 0);
  if (o) mem_mark(m, mem_find(m, at->name), o, 1);
  return mem_leave(m, status);
}

/* Of what was not synced each part of 512 bytes has arrived or not, and the size of either. */
static inline void mem_crash(void *context) {
  mem_storage *m = context;
  pthread_mutex_lock(&m->lock);
  for (int i = 0; i < m->count; i++)
    for (int j = 0; j < MEM_OBJECTS; j++) {
      mem_object *o = &m->names[i].objects[j];
      size_t most = o->size > o->durable_size ? o->size : o->durable_size;
      int whole = m->fault == MEM_GOOD && mem_below(m, 3) == 0;
      for (size_t from = 0; from < most && !whole && m->fault == MEM_GOOD; from += 512)
        if (mem_below(m, 2)) memcpy(o->durable + from, o->bytes + from, 512);
      if (whole) memcpy(o->durable, o->bytes, most);
      if (m->fault == MEM_GOOD && mem_below(m, 2)) o->durable_size = o->size;
      most += 512;
      if (m->fault == MEM_WRAP && most > m->wrap) most = m->wrap;
      mem_reach(o, most);
      if (m->fault != MEM_OLD_TAIL && o->durable_size < most)
        memset(o->durable + o->durable_size, 0, most - o->durable_size);
      memcpy(o->bytes, o->durable, most);
      if (m->fault == MEM_OLD_TAIL) memset(o->bytes + o->durable_size, 0, most - o->durable_size);
      o->size = o->durable_size;
      o->writes = o->grown = o->dirty = 0;
    }
  m->cached_object = -1;
  if (m->fault == MEM_NUMBER_LOST)
    for (int i = 0; i < m->count; i++) m->names[i].fence = 0;
  pthread_mutex_unlock(&m->lock);
}

static inline void mem_fail(void *context, int calls) {
  mem_storage *m = context;
  pthread_mutex_lock(&m->lock);
  m->fail_in = calls;
  pthread_mutex_unlock(&m->lock);
}

static inline void mem_drop(void *context) {
  mem_storage *m = context;
  m->drops++;
}

static inline mem_storage *mem_new(mem_fault fault) {
  mem_storage *m = calloc(1, sizeof *m);
  if (!m) abort();
  pthread_mutex_init(&m->lock, NULL);
  m->fault = fault;
  m->fail_in = m->cached_object = -1;
  m->chance = 7;
  return m;
}

static inline void mem_free(mem_storage *m) {
  for (int i = 0; i < m->count; i++)
    for (int j = 0; j < MEM_OBJECTS; j++) {
      free(m->names[i].objects[j].bytes);
      free(m->names[i].objects[j].durable);
    }
  pthread_mutex_destroy(&m->lock);
  free(m);
}

static inline tl_storage mem_table(mem_storage *m) {
  tl_storage table;
  memset(&table, 0, sizeof table);
  table.struct_size = sizeof table;
  table.context = m;
  table.drop = mem_drop;
  table.acquire = mem_acquire;
  table.release = mem_release;
  table.read = mem_read;
  table.write = mem_write;
  table.truncate = mem_truncate;
  table.size = mem_size;
  table.sync = mem_sync;
  table.remove = mem_remove;
  return table;
}

#endif
