/* The least that a library over SQLite and sodium can be: what `load.c` compares with. */
#include <sodium.h>
#include <sqlite3.h>

unsigned trivial_version(void);

unsigned trivial_version(void) {
  return (unsigned)sqlite3_libversion_number() + (unsigned)sodium_library_version_major();
}
