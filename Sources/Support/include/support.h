/** What only C can say: variadic functions of SQLite, and a linker wrap. */
#ifndef TIDELINE_SUPPORT_H
#define TIDELINE_SUPPORT_H

#include <sqlite3.h>

/** `sqlite3_db_config` with an on/off option. Returns its result code. */
int tideline_db_config_flag(sqlite3 *db, int option, int on);

/** `SQLITE_TRANSIENT`, which Swift cannot import. */
sqlite3_destructor_type tideline_transient(void);

#endif
