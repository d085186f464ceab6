/* What a storage of the host's costs, beside the file: a row of docs/reference/storage.md.
   storages FOLDER WHERE: a folder for the file and for LMDB, and what libpq connects to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../examples/storage/lmdb_storage.h"
#include "../examples/storage/postgres_storage.h"
#include "tideline.h"

enum { SENDS = 300, ROUNDS = 20, MESSAGES = 2000 };

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

static int less(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, less);
  return values[count / 2];
}

static tl_view view(const char *text) {
  tl_view made = {(const uint8_t *)text, strlen(text)};
  return made;
}

static void must(tl_status status, const char *what) {
  if (status == TL_OK) return;
  fprintf(stderr, "storages: %s: %s (%s)\n", what, tl_status_name(status), tl_last_error());
  exit(1);
}

static tl_client *opened(const tl_storage *storage, const char *name) {
  static const uint8_t key[TL_KEY_BYTES] = {1, 2, 3};
  tl_client_config config;
  tl_client *client = NULL;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.path = view(name);
  config.user_id = view("me");
  config.key.data = key;
  config.key.size = sizeof key;
  config.storage = storage;
  must(tl_client_open(&config, &client), "open");
  return client;
}

static void page(tl_client *client) {
  tl_query query;
  tl_batch *batch = NULL;
  memset(&query, 0, sizeof query);
  query.struct_size = sizeof query;
  query.conversation = view("room");
  query.limit = 50;
  must(tl_client_messages(client, &query, &batch), "read");
  tl_batch_free(batch);
}

static void push(tl_client *client, int number) {
  char text[600];
  int size = snprintf(text, sizeof text,
                      "{\"type\":\"message_new\",\"conversation_id\":\"room\",\"message\":{"
                      "\"message_id\":\"m%d\",\"conversation_id\":\"room\",\"sender_id\":\"you\","
                      "\"created_at\":\"2024-05-01T%02d:%02d:%02d\",\"payload\":"
                      "{\"text\":\"%0200d\"},\"read_by\":[]}}",
                      number, number / 3600, number / 60 % 60, number % 60, number);
  tl_view frame = {(const uint8_t *)text, (size_t)size};
  must(tl_client_receive(client, frame), "receive");
}

static void row(const char *label, const tl_storage *storage, const char *first, const char *name) {
  double sends[SENDS], reads[ROUNDS], receives[MESSAGES], at = now();
  tl_client *client = opened(storage, first);
  double made = now() - at;
  tl_client_free(client);
  client = opened(storage, name);
  for (int i = 0; i < MESSAGES; i++) {
    at = now();
    push(client, i);
    receives[i] = now() - at;
  }
  for (int i = 0; i < SENDS; i++) {
    tl_send send;
    memset(&send, 0, sizeof send);
    send.struct_size = sizeof send;
    send.conversation = view("room");
    send.payload = view("{\"text\":\"a message to send\"}");
    at = now();
    must(tl_client_send(client, &send, NULL, NULL), "send");
    sends[i] = now() - at;
  }
  for (int i = 0; i < ROUNDS; i++) {
    at = now();
    page(client);
    reads[i] = now() - at;
  }
  double over = 0;
  if (storage) {
    /* The old client lives, and its log is what the new one reads. */
    at = now();
    tl_client *next = opened(storage, name);
    over = now() - at;
    tl_client_free(client);
    client = next;
  }
  tl_client_free(client);
  at = now();
  client = opened(storage, name);
  page(client);
  double cold = now() - at;
  tl_client_free(client);
  printf("| %s | %.1f | %.0f | %.2f | %.0f | %.1f | ", label, made,
         median(receives, MESSAGES) * 1e3, median(sends, SENDS), median(reads, ROUNDS) * 1e3, cold);
  if (storage) printf("%.1f |\n", over);
  else printf("– |\n");
  fflush(stdout);
}

int main(int count, char **arguments) {
  char paths[3][600];
  if (count != 3) return 2;
  snprintf(paths[0], sizeof paths[0], "%s/made.tideline", arguments[1]);
  snprintf(paths[1], sizeof paths[1], "%s/kept.tideline", arguments[1]);
  snprintf(paths[2], sizeof paths[2], "%s/bench.mdb", arguments[1]);
  lmdb_storage *lmdb = lmdb_storage_new(paths[2], (size_t)1 << 30);
  if (!lmdb) return 1;
  postgres_storage *postgres = postgres_storage_new(arguments[2]);
  tl_storage tables[2] = {lmdb_storage_table(lmdb), postgres_storage_table(postgres)};
  puts("| storage | make, ms | receive, µs | send, ms | page of 50, µs | open and page, ms | take "
       "over, ms |");
  puts("|---|---|---|---|---|---|---|");
  row("the file", NULL, paths[0], paths[1]);
  row("LMDB", &tables[0], "made", "kept");
  row("PostgreSQL", &tables[1], "made", "kept");
  lmdb_storage_free(lmdb);
  postgres_storage_free(postgres);
  return 0;
}
