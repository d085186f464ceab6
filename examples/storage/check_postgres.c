/* Does the storage in PostgreSQL keep the contract? check_postgres WHERE [COMMAND]
   COMMAND takes the server down as a loss of power would, and starts it again. */
#include <libpq-fe.h>

#include "check.c"
#include "postgres_storage.h"

static const char *command, *where;

/* A pooler may give a call another session, with the numbers of before. None of them may count. */
static void try_old_numbers(void) {
  PGconn *pooled = PQconnectdb(where);
  PGresult *result = PQexec(pooled, "SELECT tl_hold(name, fence) FROM tl_name LIMIT 1");
  const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  int refused = state && strcmp(state, "08003") == 0;
  PQclear(result);
  PQfinish(pooled);
  if (refused) return;
  puts("WRONG: a number counts on another session");
  exit(1);
}

static void crash(void *context) {
  (void)context;
  if (system(command) != 0) fputs("the server could not be started again\n", stderr);
  try_old_numbers();
}

storage_check storage_under_test(int count, char **arguments) {
  static tl_storage table;
  storage_check check = {0};
  if (count < 2) return check;
  where = arguments[1];
  table = postgres_storage_table(postgres_storage_new(where));
  command = count > 2 ? arguments[2] : NULL;
  check.storage = &table;
  check.crash = command ? crash : NULL;
  check.steps = 600;
  return check;
}
