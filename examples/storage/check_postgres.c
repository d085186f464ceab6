/* Does the storage in PostgreSQL keep the contract? check_postgres WHERE [COMMAND]
   COMMAND takes the server down as a loss of power would, and starts it again. */
#include "check.c"
#include "postgres_storage.h"

static const char *command;

static void crash(void *context) {
  (void)context;
  if (system(command) != 0) fputs("the server could not be started again\n", stderr);
}

storage_check storage_under_test(int count, char **arguments) {
  static tl_storage table;
  storage_check check = {0};
  if (count < 2) return check;
  table = postgres_storage_table(postgres_storage_new(arguments[1]));
  command = count > 2 ? arguments[2] : NULL;
  check.storage = &table;
  check.crash = command ? crash : NULL;
  check.steps = 600;
  return check;
}
