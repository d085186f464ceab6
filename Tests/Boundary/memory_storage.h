/* A storage in memory for the tests: it keeps what tl_storage promises, loses what a crash may
   lose, and breaks one promise where a test asks for it. */
#ifndef MEMORY_STORAGE_H
#define MEMORY_STORAGE_H

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tideline.h"

enum { MEM_NAMES = 64, MEM_OBJECTS = 3, MEM_ROOM = 1 << 22 };

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
  MEM_LARGE_CUT,
  MEM_ONE_BUFFER,
  MEM_OTHER_STATUS,
  MEM_HALF_FAILED
} mem_fault;

typedef struct mem_object {
  unsigned char *bytes, *durable;
  size_t size, durable_size;
  size_t removed_size; /* Before the last remove. */
} mem_object;

typedef struct mem_name {
  char name[600];
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
  unsigned char old_block[4096], shared[MEM_ROOM];
  size_t old_offset;
} mem_storage;

static inline unsigned mem_below(mem_storage *m, unsigned limit) {
  m->chance = m->chance * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(m->chance >> 33) % limit;
}

static inline mem_name *mem_find(mem_storage *m, tl_view name) {
  size_t compared = name.size;
  for (int i = 0; i < m->count; i++) {
    mem_name *n = &m->names[i];
    if (m->fault == MEM_NAMES_MIXED && n->length < compared) compared = n->length;
    if ((m->fault == MEM_NAMES_MIXED || n->length == name.size) &&
        memcmp(n->name, name.data, compared) == 0)
      return n;
    compared = name.size;
  }
  if (m->count == MEM_NAMES || name.size > sizeof m->names[0].name) abort();
  mem_name *n = &m->names[m->count++];
  memcpy(n->name, name.data, name.size);
  n->length = name.size;
  for (int i = 0; i < MEM_OBJECTS; i++) {
    n->objects[i].bytes = calloc(1, MEM_ROOM);
    n->objects[i].durable = calloc(1, MEM_ROOM);
  }
  return n;
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
  int mixed = m->fault == MEM_OBJECTS_MIXED && at->object == TL_OBJECT_OWN;
  return &n->objects[mixed ? TL_OBJECT_LOG : at->object];
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

static inline tl_status mem_read(void *context, const tl_stored *at, uint64_t offset, uint8_t *out,
                                 size_t size, size_t *got) {
  mem_storage *m = context;
  tl_status status;
  mem_object *o = mem_enter(m, at, MEM_LATE_READ, &status);
  if (!o) return mem_leave(m, status);
  size_t there = offset >= o->size ? 0 : o->size - (size_t)offset;
  *got = there < size ? there : size;
  if (m->fault == MEM_SHORT_READ && *got > 4096) *got = 4096;
  memcpy(out, o->bytes + (there ? offset : 0), *got);
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
  if (offset + size > MEM_ROOM) abort();
  if (m->fault == MEM_NO_ZEROS && offset > o->size)
    memset(o->bytes + o->size, 0xAA, offset - o->size);
  m->old_offset = offset;
  m->old_block[0] = o->bytes[offset];
  if (m->fault == MEM_LARGE_CUT && size > 65536) size = 65536;
  memcpy(o->bytes + offset, bytes, size);
  if (offset + size > o->size) o->size = offset + size;
  if (m->fault == MEM_WHOLE_BLOCKS) {
    size_t end = (offset + size + 511) / 512 * 512;
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
  return mem_leave(m, TL_OK);
}

static inline void mem_cut(mem_storage *m, mem_object *o, size_t size) {
  if (size > MEM_ROOM) abort();
  if (m->fault != MEM_TRUNCATE_BACK && size < o->size)
    memset(o->bytes + size, 0, o->size - size);
  o->size = size;
}

static inline tl_status mem_truncate(void *context, const tl_stored *at, uint64_t size) {
  mem_storage *m = context;
  tl_status status;
  mem_object *o = mem_enter(m, at, MEM_LATE_TRUNCATE, &status);
  if (o) mem_cut(m, o, (size_t)size);
  return mem_leave(m, status);
}

static inline tl_status mem_size(void *context, const tl_stored *at, uint64_t *size) {
  mem_storage *m = context;
  tl_status status;
  mem_object *o = mem_enter(m, at, MEM_NEVER, &status);
  if (o) *size = m->fault == MEM_SIZE_IN_BLOCKS ? (o->size + 4095) / 4096 * 4096 : o->size;
  return mem_leave(m, status);
}

static inline void mem_keep(mem_storage *m, mem_object *o) {
  int shrinks = o->size < o->durable_size;
  if (m->fault == MEM_LOST_SYNC) return;
  if (m->fault == MEM_REMOVE_BACK && o->size == 0) return;
  if (m->fault == MEM_LOST_TRUNCATE && shrinks && o->size) return;
  memcpy(o->durable, o->bytes, o->size > o->durable_size ? o->size : o->durable_size);
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
    if (!put_off) mem_keep(m, o);
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
      memset(o->durable + o->durable_size, 0, most - o->durable_size);
      memcpy(o->bytes, o->durable, most);
      o->size = o->durable_size;
    }
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
  m->fail_in = -1;
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
