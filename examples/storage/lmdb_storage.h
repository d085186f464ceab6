/* A storage in LMDB, for the processes of one machine. One may serve many clients of a process; it
   outlives them. */
#ifndef TIDELINE_LMDB_H
#define TIDELINE_LMDB_H

#include "tideline.h"

typedef struct lmdb_storage lmdb_storage;

/* The file at `path` grows up to `bytes`, or up to what another process has opened it with, once
   that is in use. NULL where it cannot be opened. */
lmdb_storage *lmdb_storage_new(const char *path, size_t bytes);
void lmdb_storage_free(lmdb_storage *storage);
tl_storage lmdb_storage_table(lmdb_storage *storage);

/* Forgets what was not synced, as the death of the process does. */
void lmdb_storage_crash(void *storage);

#endif
