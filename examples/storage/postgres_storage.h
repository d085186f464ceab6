/* A storage in PostgreSQL. One may serve many clients of a process; it outlives them. */
#ifndef TIDELINE_POSTGRES_H
#define TIDELINE_POSTGRES_H

#include "tideline.h"

typedef struct postgres_storage postgres_storage;

/* `where` is what libpq connects to, such as "host=127.0.0.1 port=5432 dbname=bots". */
postgres_storage *postgres_storage_new(const char *where);
void postgres_storage_free(postgres_storage *storage);
tl_storage postgres_storage_table(postgres_storage *storage);

#endif
