#include "support.h"

#include <stdint.h>

int tideline_db_config_flag(sqlite3 *db, int option, int on) {
  return sqlite3_db_config(db, option, on, (int *)0);
}

int tideline_config_flag(int option, int on) {
  return sqlite3_config(option, on);
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

/* Unicode's names of characters are half a megabyte of tables behind this one
   function, and nothing here asks for the name of a character. */
uint16_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *buffer, uint16_t capacity);
uint16_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *buffer, uint16_t capacity) {
  (void)scalar;
  (void)buffer;
  (void)capacity;
  return 0;
}
