#include "support.h"

int tideline_db_config_flag(sqlite3 *db, int option, int on) {
  return sqlite3_db_config(db, option, on, (int *)0);
}

sqlite3_destructor_type tideline_transient(void) {
  return SQLITE_TRANSIENT;
}

/* The static Swift runtime looks for its crash handler through this function and
   installs signal handlers when it finds one. A library has no business with the
   signals of its host, so the linker sends the call here (`--wrap`). */
char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name);
char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name) {
  (void)name;
  return (char *)0;
}
