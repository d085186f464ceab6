#include "support.h"

int tideline_db_config_flag(sqlite3 *db, int option, int on) {
  return sqlite3_db_config(db, option, on, (int *)0);
}

int tideline_config_flag(int option, int on) {
  return sqlite3_config(option, on);
}

sqlite3_destructor_type tideline_transient(void) {
  return SQLITE_TRANSIENT;
}
