/* Does the storage in LMDB keep the contract? check_lmdb FILE */
#include "check.c"
#include "lmdb_storage.h"

storage_check storage_under_test(int count, char **arguments) {
  static tl_storage table;
  storage_check check = {0};
  lmdb_storage *storage = count == 2 ? lmdb_storage_new(arguments[1], (size_t)1 << 30) : NULL;
  if (!storage) return check;
  table = lmdb_storage_table(storage);
  check.storage = &table;
  check.crash = lmdb_storage_crash;
  return check;
}
