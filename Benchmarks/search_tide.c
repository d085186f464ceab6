/* Search through Tideline's C interface: the same messages as tide.c brings them, asked as
   search_plain.c asks. */
#define bench_run tide_run
#include "tide.c"
#undef bench_run
#include "search_text.h"

static void build(const char *figure) {
  stopwatch watch = {0};
  tl_progress progress = {.struct_size = sizeof progress};
  tl_work *work = NULL;
  int64_t worst = 0;
  uint64_t steps = 0;
  must(tl_search_build(client, &work), "build");
  for (;; steps++) {
    int64_t before = watch.total;
    start(&watch);
    tl_status status = tl_work_step(work, 8, &progress);
    stop(&watch);
    must(status, "step");
    if (watch.total - before > worst) worst = watch.total - before;
    if (status == TL_NONE) break;
  }
  tl_work_free(work);
  told(figure, server.total, watch.total);
  printf("{\"figure\":\"%s_worst_step\",\"count\":1,\"ns\":%lld}\n", figure, (long long)worst);
  said("steps", (double)steps);
}

static tl_hit_order order;
static uint32_t flags;

static void ask(const char *figure, const char *asked, uint32_t conversation, uint32_t times) {
  stopwatch watch = {0};
  size_t rows = 0;
  char name[32];
  snprintf(name, sizeof name, "room-%05u", conversation);
  tl_search search = {.struct_size = sizeof search, .text = text(asked), .limit = 50,
                      .order = order, .flags = flags};
  if (conversation != UINT32_MAX) search.conversation = text(name);
  for (uint32_t i = 0; i <= times; i++) {
    if (i == 1) watch.total = 0;
    tl_batch *batch = NULL;
    start(&watch);
    must(tl_client_search(client, &search, &batch), figure);
    (void)tl_batch_hits(batch, &rows);
    tl_batch_free(batch);
    stop(&watch);
  }
  told(figure, times, watch.total);
  printf("{\"figure\":\"%s_rows\",\"value\":%zu}\n", figure, rows);
}

static void queries(void) {
  ask("common", "\"hojny\"", UINT32_MAX, 200);
  flags = TL_SEARCH_NO_MARKS;
  ask("unmarked", "\"hojny\"", UINT32_MAX, 200);
  flags = 0;
  ask("rare", "\"vzacny\"", UINT32_MAX, 200);
  ask("pair", SEARCH_PAIR, UINT32_MAX, 200);
  ask("prefix2", "ho", UINT32_MAX, 200);
  ask("prefix3", "hoj", UINT32_MAX, 200);
  ask("prefix4", "hojn", UINT32_MAX, 200);
  ask("prefix8", "hojnosti", UINT32_MAX, 200);
  ask("filtered", "\"hojny\"", server.conversations / 2, 200);
  ask("prefix1", "h", UINT32_MAX, 3);
  order = TL_HIT_ORDER_RELEVANCE;
  ask("ranked", "\"hojny\"", UINT32_MAX, 5);
}

static int later(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Pushes, one message and one commit each; time acts after each, aside. */
static void pushes(uint32_t count) {
  int64_t *took = calloc(count, sizeof *took);
  stopwatch aside = {0};
  int64_t worst = 0;
  must(tl_client_connected(client), "connected");
  sync_room(0, TL_SYNC_LATEST, &aside, NULL);
  aside.total = 0;
  for (uint32_t i = 0; i < count; i++) {
    char head[256];
    data_make(0, length(0), &made);
    server.more++;
    server.size = 0;
    int size = snprintf(head, sizeof head,
                        "{\"account\":\"bench\",\"type\":\"update\",\"payload\":{\"ref\":\"%u\","
                        "\"silent\":false,\"action\":\"new\",\"payload\":{\"entity\":\"message\","
                        "\"items\":[", 1000000000u + i);
    put(head, (size_t)size);
    put(made.json, made.size);
    say("]}}}");
    int64_t before = now_ns();
    tl_status status =
        tl_client_receive(client, (tl_view){(uint8_t *)server.answer, server.size});
    took[i] = now_ns() - before;
    if (status != TL_OK) fail("push", tl_status_name(status));
    int64_t wait, began = aside.total;
    start(&aside);
    must(tl_client_advance(client, &wait), "advance");
    stop(&aside);
    if (aside.total - began > worst) worst = aside.total - began;
    if (i % BURST == BURST - 1) {
      stopwatch replies = {0};
      serve(&replies, NULL);
    }
  }
  qsort(took, count, sizeof *took, later);
  told("push_median", 1, took[count / 2]);
  told("push_p99", 1, took[count - count / 100]);
  told("push_worst", 1, took[count - 1]);
  told("advance", count, aside.total);
  told("advance_worst", 1, worst);
  free(took);
}

/* argv: path, total, conversations, cache in KiB, command. */
EXPORT int bench_run(int argc, const char *const *argv) {
  if (argc < 5) return 2;
  server.total = strtoull(argv[1], NULL, 10);
  server.conversations = (uint32_t)strtoul(argv[2], NULL, 10);
  open_client(argv[0], atol(argv[3]));
  if (strcmp(argv[4], "ingest") == 0) ingest();
  else if (strcmp(argv[4], "ingest_on") == 0) {
    must(tl_search_switch(client, 1), "switch");
    ingest();
  } else if (strcmp(argv[4], "build") == 0) {
    must(tl_search_switch(client, 1), "switch");
    build("build");
  } else if (strcmp(argv[4], "merge") == 0) build("merge");
  else if (strcmp(argv[4], "queries") == 0) queries();
  else if (strcmp(argv[4], "pushes") == 0) pushes(20000);
  else return 2;
  tl_client_free(client);
  return 0;
}
