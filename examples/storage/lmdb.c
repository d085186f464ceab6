/* A storage in LMDB: one file for all names, shared by the processes of a machine.

   Writes are kept in memory until their object's sync, which is one transaction of LMDB and on the
   disk when it returns; so the storage says TL_STORAGE_BUFFERS. The number is compared in each
   transaction. Those of a sync alone change what others see, and they run one after the other.

   Keys begin with a letter: N and a name give its number; S, name and object the size; B, name,
   object and block 4,080 bytes, which fill a page of LMDB beside its own 16: a block of 4,096 would
   take two. Keys of LMDB have 511 bytes, so a name of over 480 is refused. */
#include <lmdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lmdb_storage.h"

enum { BLOCK = 4080, NAME_MAX_BYTES = 480, OBJECTS = 4 };

typedef struct block {
  uint64_t number;
  unsigned char bytes[BLOCK];
} block;

/* What a holder has changed in an object since its last sync. */
typedef struct object {
  block **blocks; /* By number. */
  size_t count, room;
  uint64_t size, cut; /* What LMDB has at `cut` and behind is gone. */
  int known;          /* `size` was read, or changed. */
} object;

typedef struct holder {
  struct holder *next;
  unsigned char name[NAME_MAX_BYTES];
  size_t length;
  uint64_t fence;
  object objects[OBJECTS];
} holder;

struct lmdb_storage {
  pthread_mutex_t lock;
  MDB_env *env;
  MDB_dbi table;
  holder *holders;
};

typedef struct key {
  unsigned char bytes[1 + NAME_MAX_BYTES + 1 + 8];
  MDB_val val;
} key;

static MDB_val *spell(key *k, char kind, const holder *h, int which, uint64_t number) {
  size_t at = 0;
  k->bytes[at++] = (unsigned char)kind;
  memcpy(k->bytes + at, h->name, h->length);
  at += h->length;
  if (which >= 0) {
    /* A name has no NUL, so no key of one is the beginning of another's. */
    k->bytes[at++] = 0;
    k->bytes[at++] = (unsigned char)which;
  }
  if (kind == 'B') {
    for (int shift = 56; shift >= 0; shift -= 8) k->bytes[at++] = (unsigned char)(number >> shift);
  }
  k->val.mv_data = k->bytes;
  k->val.mv_size = at;
  return &k->val;
}

static tl_status judge(int code) {
  if (code == MDB_SUCCESS) return TL_OK;
  return code == MDB_MAP_FULL || code == 28 /* ENOSPC */ ? TL_E_FULL : TL_E_STORAGE;
}

/* Begins a transaction. Another process may have opened the file for a larger map, and filled it:
   then this one takes that size up. The lock is held, so no other transaction of this process is
   under way. */
static int start(lmdb_storage *s, unsigned flags, MDB_txn **out) {
  int code = mdb_txn_begin(s->env, NULL, flags, out);
  if (code != MDB_MAP_RESIZED) return code;
  code = mdb_env_set_mapsize(s->env, 0);
  return code == MDB_SUCCESS ? mdb_txn_begin(s->env, NULL, flags, out) : code;
}

/* A number that is stored; 0 where there is none. */
static int stored(MDB_txn *txn, MDB_dbi table, MDB_val *at, uint64_t *out) {
  MDB_val found;
  int code = mdb_get(txn, table, at, &found);
  *out = 0;
  if (code == MDB_NOTFOUND) return MDB_SUCCESS;
  if (code == MDB_SUCCESS && found.mv_size == sizeof *out) memcpy(out, found.mv_data, sizeof *out);
  return code;
}

static void forget(object *o) {
  for (size_t i = 0; i < o->count; i++) free(o->blocks[i]);
  free(o->blocks);
  memset(o, 0, sizeof *o);
  o->cut = UINT64_MAX;
}

static holder *find(lmdb_storage *s, const tl_view *name, int make) {
  holder *h = s->holders;
  if (name->size == 0 || name->size > NAME_MAX_BYTES) return NULL;
  while (h && (h->length != name->size || memcmp(h->name, name->data, name->size) != 0))
    h = h->next;
  if (h || !make || !(h = calloc(1, sizeof *h))) return h;
  memcpy(h->name, name->data, name->size);
  h->length = name->size;
  h->next = s->holders;
  s->holders = h;
  for (int i = 0; i < OBJECTS; i++) forget(&h->objects[i]);
  return h;
}

/* One call: the holder, with its number compared in the transaction that the call uses. */
typedef struct call {
  lmdb_storage *s;
  holder *h;
  object *o;
  int which;
  MDB_txn *txn;
} call;

static tl_status begin(call *c, void *context, const tl_stored *at, unsigned flags) {
  uint64_t fence;
  key k;
  memset(c, 0, sizeof *c);
  c->s = context;
  c->which = at->object;
  pthread_mutex_lock(&c->s->lock);
  c->h = find(c->s, &at->name, 1);
  if (!c->h || at->object < 0 || at->object >= OBJECTS) return TL_E_STORAGE;
  c->o = &c->h->objects[at->object];
  int code = start(c->s, flags, &c->txn);
  if (code == MDB_SUCCESS)
    code = stored(c->txn, c->s->table, spell(&k, 'N', c->h, -1, 0), &fence);
  if (code != MDB_SUCCESS) return judge(code);
  /* Of this process another client may be the holder: what is kept here is of its number. */
  if (fence != at->fence || c->h->fence != at->fence) return TL_E_LOCKED;
  if (!c->o->known) {
    code = stored(c->txn, c->s->table, spell(&k, 'S', c->h, c->which, 0), &c->o->size);
    c->o->known = code == MDB_SUCCESS;
  }
  return judge(code);
}

static tl_status end(call *c, tl_status status) {
  if (c->txn) mdb_txn_abort(c->txn);
  pthread_mutex_unlock(&c->s->lock);
  return status;
}

/* Where a block stands among those that were changed, or would. */
static size_t rank(const object *o, uint64_t number) {
  size_t low = 0, high = o->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (o->blocks[middle]->number < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

static tl_status load(call *c, uint64_t number, unsigned char *out) {
  object *o = c->o;
  size_t at = rank(o, number);
  MDB_val found;
  key k;
  if (at < o->count && o->blocks[at]->number == number) {
    memcpy(out, o->blocks[at]->bytes, BLOCK);
    return TL_OK;
  }
  memset(out, 0, BLOCK);
  if (number >= o->cut) return TL_OK;
  int code = mdb_get(c->txn, c->s->table, spell(&k, 'B', c->h, c->which, number), &found);
  if (code == MDB_NOTFOUND) return TL_OK;
  if (code == MDB_SUCCESS && found.mv_size != BLOCK) return TL_E_STORAGE;
  if (code == MDB_SUCCESS) memcpy(out, found.mv_data, BLOCK);
  return judge(code);
}

/* A block to be changed; NULL with a status where it cannot be had. */
static block *change(call *c, uint64_t number, tl_status *status) {
  object *o = c->o;
  size_t at = rank(o, number);
  if (at < o->count && o->blocks[at]->number == number) return o->blocks[at];
  if (o->count == o->room) {
    size_t room = o->room ? o->room * 2 : 16;
    block **more = realloc(o->blocks, room * sizeof *more);
    if (!more) return *status = TL_E_STORAGE, NULL;
    o->blocks = more;
    o->room = room;
  }
  block *made = malloc(sizeof *made);
  if (!made) return *status = TL_E_STORAGE, NULL;
  made->number = number;
  *status = load(c, number, made->bytes);
  if (*status != TL_OK) return free(made), NULL;
  memmove(o->blocks + at + 1, o->blocks + at, (o->count - at) * sizeof *o->blocks);
  o->blocks[at] = made;
  o->count++;
  return made;
}

static tl_status acquire(void *context, const tl_view *name, uint64_t *fence) {
  lmdb_storage *s = context;
  MDB_txn *txn = NULL;
  key k;
  pthread_mutex_lock(&s->lock);
  holder *h = find(s, name, 1);
  int code = h ? start(s, 0, &txn) : MDB_BAD_VALSIZE;
  uint64_t next = 0;
  if (code == MDB_SUCCESS) code = stored(txn, s->table, spell(&k, 'N', h, -1, 0), &next);
  if (code == MDB_SUCCESS) {
    next++;
    MDB_val value = {sizeof next, &next};
    code = mdb_put(txn, s->table, spell(&k, 'N', h, -1, 0), &value, 0);
  }
  if (code == MDB_SUCCESS) {
    code = mdb_txn_commit(txn);
    txn = NULL;
  }
  if (txn) mdb_txn_abort(txn);
  if (code == MDB_SUCCESS) {
    for (int i = 0; i < OBJECTS; i++) forget(&h->objects[i]);
    *fence = h->fence = next;
  }
  pthread_mutex_unlock(&s->lock);
  return judge(code);
}

static tl_status release(void *context, const tl_stored *at) {
  lmdb_storage *s = context;
  pthread_mutex_lock(&s->lock);
  for (holder **link = &s->holders; *link; link = &(*link)->next) {
    holder *h = *link;
    if (h != find(s, &at->name, 0) || h->fence != at->fence) continue;
    for (int i = 0; i < OBJECTS; i++) forget(&h->objects[i]);
    *link = h->next;
    free(h);
    break;
  }
  pthread_mutex_unlock(&s->lock);
  return TL_OK;
}

static tl_status read_bytes(void *context, const tl_stored *at, uint64_t offset, uint8_t *out,
                            size_t size, size_t *got) {
  unsigned char bytes[BLOCK];
  call c;
  tl_status status = begin(&c, context, at, MDB_RDONLY);
  if (status != TL_OK) return end(&c, status);
  uint64_t there = offset >= c.o->size ? 0 : c.o->size - offset;
  *got = there < size ? (size_t)there : size;
  for (size_t done = 0; done < *got && status == TL_OK;) {
    size_t inside = (size_t)((offset + done) % BLOCK), part = BLOCK - inside;
    if (part > *got - done) part = *got - done;
    status = load(&c, (offset + done) / BLOCK, bytes);
    memcpy(out + done, bytes + inside, part);
    done += part;
  }
  return end(&c, status);
}

static tl_status write_bytes(void *context, const tl_stored *at, uint64_t offset,
                             const tl_view *bytes) {
  call c;
  tl_status status = begin(&c, context, at, MDB_RDONLY);
  for (size_t done = 0; status == TL_OK && done < bytes->size;) {
    size_t inside = (size_t)((offset + done) % BLOCK), part = BLOCK - inside;
    if (part > bytes->size - done) part = bytes->size - done;
    block *changed = change(&c, (offset + done) / BLOCK, &status);
    if (!changed) break;
    memcpy(changed->bytes + inside, bytes->data + done, part);
    done += part;
    if (offset + done > c.o->size) c.o->size = offset + done;
  }
  return end(&c, status);
}

static tl_status truncate_to(void *context, const tl_stored *at, uint64_t size) {
  call c;
  tl_status status = begin(&c, context, at, MDB_RDONLY);
  if (status != TL_OK) return end(&c, status);
  object *o = c.o;
  uint64_t whole = (size + BLOCK - 1) / BLOCK;
  if (size < o->size && size % BLOCK) {
    block *last = change(&c, size / BLOCK, &status);
    if (!last) return end(&c, status);
    memset(last->bytes + size % BLOCK, 0, BLOCK - size % BLOCK);
  }
  while (o->count && o->blocks[o->count - 1]->number >= whole) free(o->blocks[--o->count]);
  if (whole < o->cut) o->cut = whole;
  o->size = size;
  return end(&c, TL_OK);
}

static tl_status size_of(void *context, const tl_stored *at, uint64_t *size) {
  call c;
  tl_status status = begin(&c, context, at, MDB_RDONLY);
  if (status == TL_OK) *size = c.o->size;
  return end(&c, status);
}

/* Takes out what LMDB has behind the cut. */
static int cut(call *c) {
  MDB_cursor *cursor;
  MDB_val at, value;
  key k;
  if (c->o->cut == UINT64_MAX) return MDB_SUCCESS;
  int code = mdb_cursor_open(c->txn, c->s->table, &cursor);
  if (code != MDB_SUCCESS) return code;
  at = *spell(&k, 'B', c->h, c->which, c->o->cut);
  size_t prefix = at.mv_size - 8, length = at.mv_size;
  code = mdb_cursor_get(cursor, &at, &value, MDB_SET_RANGE);
  while (code == MDB_SUCCESS && at.mv_size == length && memcmp(at.mv_data, k.bytes, prefix) == 0) {
    code = mdb_cursor_del(cursor, 0);
    if (code == MDB_SUCCESS) code = mdb_cursor_get(cursor, &at, &value, MDB_GET_CURRENT);
  }
  mdb_cursor_close(cursor);
  return code == MDB_NOTFOUND || code == 22 /* EINVAL: behind the last */ ? MDB_SUCCESS : code;
}

static tl_status sync_object(void *context, const tl_stored *at) {
  call c;
  key k;
  tl_status status = begin(&c, context, at, 0);
  if (status != TL_OK) return end(&c, status);
  int code = cut(&c);
  for (size_t i = 0; i < c.o->count && code == MDB_SUCCESS; i++) {
    MDB_val value = {BLOCK, c.o->blocks[i]->bytes};
    MDB_val *where = spell(&k, 'B', c.h, c.which, c.o->blocks[i]->number);
    code = mdb_put(c.txn, c.s->table, where, &value, 0);
  }
  MDB_val size = {sizeof c.o->size, &c.o->size};
  if (code == MDB_SUCCESS)
    code = mdb_put(c.txn, c.s->table, spell(&k, 'S', c.h, c.which, 0), &size, 0);
  if (code == MDB_SUCCESS) {
    code = mdb_txn_commit(c.txn);
    c.txn = NULL;
  }
  if (code == MDB_SUCCESS) forget(c.o);
  return end(&c, judge(code));
}

static tl_status remove_object(void *context, const tl_stored *at) {
  return truncate_to(context, at, 0);
}

lmdb_storage *lmdb_storage_new(const char *path, size_t bytes) {
  lmdb_storage *s = calloc(1, sizeof *s);
  MDB_txn *txn = NULL;
  int dead;
  if (!s) return NULL;
  pthread_mutex_init(&s->lock, NULL);
  int code = mdb_env_create(&s->env);
  if (code == MDB_SUCCESS) code = mdb_env_set_mapsize(s->env, bytes);
  if (code == MDB_SUCCESS) code = mdb_env_open(s->env, path, MDB_NOSUBDIR | MDB_NOTLS, 0600);
  /* Readers that were killed hold on to old pages. */
  if (code == MDB_SUCCESS) code = mdb_reader_check(s->env, &dead);
  if (code == MDB_SUCCESS) code = start(s, 0, &txn);
  if (code == MDB_SUCCESS) code = mdb_dbi_open(txn, NULL, 0, &s->table);
  if (code == MDB_SUCCESS) code = mdb_txn_commit(txn);
  if (code == MDB_SUCCESS) return s;
  lmdb_storage_free(s);
  return NULL;
}

void lmdb_storage_crash(void *storage) {
  lmdb_storage *s = storage;
  pthread_mutex_lock(&s->lock);
  while (s->holders) {
    holder *h = s->holders;
    s->holders = h->next;
    for (int i = 0; i < OBJECTS; i++) forget(&h->objects[i]);
    free(h);
  }
  pthread_mutex_unlock(&s->lock);
}

void lmdb_storage_free(lmdb_storage *s) {
  if (!s) return;
  lmdb_storage_crash(s);
  if (s->env) mdb_env_close(s->env);
  pthread_mutex_destroy(&s->lock);
  free(s);
}

tl_storage lmdb_storage_table(lmdb_storage *s) {
  tl_storage table;
  memset(&table, 0, sizeof table);
  table.struct_size = sizeof table;
  table.flags = TL_STORAGE_BUFFERS;
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
