/* Many accounts in one process, each with 50 messages, connected and up to date: memory and
   descriptors of one, open and at rest; what a turn of one costs that has nothing to do; how long
   the first read after a rest takes. `virtual` lets ten minutes of the host's clock pass between
   two calls of `mark`, and says how often a client wanted to be called.

     accounts FOLDER COUNT
     accounts FOLDER COUNT virtual */
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <tideline.h>

#include "bench.h"

enum { MESSAGES = 50, ROUNDS = 10, MINUTES = 10, KEPT_OPEN = 3000, ANSWER = 64 << 10 };

static tl_client **clients;
static uint32_t count;
static int64_t virtual_ns;

static tl_view text(const char *s) { return (tl_view){(const uint8_t *)s, strlen(s)}; }

static void must(tl_status status, const char *what) {
  if (status < TL_OK) fail(what, tl_last_error());
}

static int64_t clock_of_host(void *context) {
  (void)context;
  return 1000 + virtual_ns / 1000000;
}

static uint32_t descriptors(void) {
  uint32_t found = 0;
  DIR *all = opendir("/proc/self/fd");
  if (all == NULL) return 0;
  while (readdir(all) != NULL) found++;
  closedir(all);
  /* Two are no descriptors, and one is that of the folder. */
  return found - 3;
}

/* What SQLite has allocated, where the library uses the system's. */
static double sqlite_kib(void) {
  int64_t (*used)(void) = NULL;
  void *found = dlsym(RTLD_DEFAULT, "sqlite3_memory_used");
  memcpy(&used, &found, sizeof used);
  return used == NULL ? 0 : (double)used() / 1024;
}

static double heap_kib(void) {
  struct mallinfo2 heap = mallinfo2();
  return (double)(heap.uordblks + heap.hblkhd) / 1024;
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void times(const char *figure, int64_t *all, uint32_t size) {
  char name[64];
  qsort(all, size, sizeof *all, by_size);
  snprintf(name, sizeof name, "%s_median_us", figure);
  said(name, (double)all[size / 2] / 1000);
  snprintf(name, sizeof name, "%s_p99_us", figure);
  said(name, (double)all[(uint64_t)size * 99 / 100] / 1000);
}

/* Memory and descriptors of one client, less what the process had before the first. */
static void weigh(const char *when, double rss, double heap, double sqlite, uint32_t before) {
  char name[64];
  const char *what[] = {"rss_kib", "heap_kib", "sqlite_kib", "descriptors"};
  double values[] = {(double)memory_kib("VmRSS") - rss, heap_kib() - heap, sqlite_kib() - sqlite,
                     (double)descriptors() - before};
  for (int i = 0; i < 4; i++) {
    snprintf(name, sizeof name, "%s_%s", when, what[i]);
    said(name, values[i] / count);
  }
}

/* Answers what a client asks until it asks nothing more. */
static void serve(tl_client *client, uint32_t account) {
  static char answer[ANSWER];
  for (;;) {
    tl_frame *frame = NULL;
    tl_status status = tl_client_next_frame(client, &frame);
    must(status, "next_frame");
    if (status != TL_OK) return;
    must(tl_client_frame_sent(client, frame->id), "frame_sent");
    char request[4096] = "";
    size_t size = frame->bytes.size < sizeof request ? frame->bytes.size : sizeof request - 1;
    memcpy(request, frame->bytes.data, size);
    request[size] = 0;
    const char *id = strstr(request, "\"request_id\":\"");
    const char *type = strstr(request, "\"type\":\"");
    if (id == NULL || type == NULL) fail("server", request);
    id += 14, type += 8;
    int used = snprintf(answer, sizeof answer,
                        "{\"type\":\"%.*s\",\"request_id\":\"%.*s\",\"status\":\"ok\",\"data\":{",
                        (int)strcspn(type, "\""), type, (int)strcspn(id, "\""), id);
    if (strncmp(type, "get_messages\"", 13) == 0) {
      int isMore = strstr(request, "after_ts") != NULL;
      used += snprintf(answer + used, sizeof answer - (size_t)used,
                       "\"total_count\":%d,\"has_more\":false,\"messages\":[", MESSAGES);
      for (int i = isMore ? MESSAGES - 1 : 0; i < MESSAGES; i++)
        used += snprintf(answer + used, sizeof answer - (size_t)used,
                         "%s{\"message_id\":\"%u-%d\",\"sender_id\":\"user-%d\",\"created_at\":"
                         "\"2026-01-01T00:%02d:00\",\"payload\":{\"text\":\"message %d of account "
                         "%u, about as long as most of them are\"}}",
                         answer[used - 1] == '[' ? "" : ",", account, i, i % 5, i, i, account);
      used += snprintf(answer + used, sizeof answer - (size_t)used, "]");
    } else {
      used += snprintf(answer + used, sizeof answer - (size_t)used, "\"message_ids\":[]");
    }
    snprintf(answer + used, sizeof answer - (size_t)used, "}}");
    must(tl_client_receive(client, text(answer)), "receive");
    tl_frame_free(frame);
  }
}

static size_t read_screen(tl_client *client) {
  tl_query query;
  memset(&query, 0, sizeof query);
  query.struct_size = sizeof query;
  query.conversation = text("room");
  query.limit = MESSAGES;
  tl_batch *batch = NULL;
  must(tl_client_messages(client, &query, &batch), "messages");
  size_t rows = 0;
  (void)tl_batch_rows(batch, &rows);
  tl_batch_free(batch);
  return rows;
}

static void open_one(const char *folder, uint32_t at) {
  static const uint8_t key[TL_KEY_BYTES] = {7};
  char path[4096];
  snprintf(path, sizeof path, "%s/%05u.tideline", folder, at);
  tl_client_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.path = text(path);
  config.key = (tl_view){key, sizeof key};
  config.user_id = text("me");
  config.clock = clock_of_host;
  must(tl_client_open(&config, &clients[at]), "open");
  must(tl_client_connected(clients[at]), "connected");
  tl_sync_request sync;
  memset(&sync, 0, sizeof sync);
  sync.struct_size = sizeof sync;
  sync.kind = TL_SYNC_LATEST;
  sync.conversation = text("room");
  must(tl_client_sync(clients[at], &sync, NULL), "sync");
  serve(clients[at], at);
  if (read_screen(clients[at]) != MESSAGES) fail("fill", "messages are missing");
}

/* Turns with nothing to do, until the client asks for no other call. */
static void settle(tl_client *client, uint32_t account) {
  int64_t wait_ms = 0;
  for (int turn = 0; wait_ms >= 0; turn++) {
    if (turn == 100) fail("settle", "it never waits");
    must(tl_client_advance(client, &wait_ms), "advance");
    serve(client, account);
    virtual_ns += wait_ms > 0 ? wait_ms * 1000000 : 0;
  }
}

static void idle(const char *figure) {
  int64_t began = now_ns();
  for (int round = 0; round < ROUNDS; round++)
    for (uint32_t i = 0; i < count; i++) must(tl_client_advance(clients[i], NULL), "advance");
  told(figure, (uint64_t)ROUNDS * count, now_ns() - began);
}

/* The loop of a host that calls a client when its descriptor is readable or its deadline is due,
   over ten minutes of its own clock. */
static void pass_minutes(void) {
  int64_t *due = malloc(count * sizeof *due), end = virtual_ns + MINUTES * 60000000000;
  struct pollfd *events = calloc(count, sizeof *events);
  uint64_t turns = 0, wakes = 0, frames = 0;
  if (due == NULL || events == NULL) fail("virtual", "no memory");
  for (uint32_t i = 0; i < count; i++) {
    due[i] = virtual_ns;
    events[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    must(tl_client_event_fd(clients[i], &events[i].fd), "event_fd");
  }
  mark();
  for (int64_t begin = virtual_ns; virtual_ns <= end;) {
    int64_t next = end + 1;
    if (poll(events, count, 0) < 0) fail("poll", "refused");
    for (uint32_t i = 0; i < count; i++) {
      int isDue = due[i] <= virtual_ns, isWoken = events[i].revents != 0;
      if (isDue || isWoken) {
        int64_t wait_ms = -1;
        /* The first turn of each is the one that lets it wait. */
        if (virtual_ns > begin) wakes++;
        turns++;
        must(tl_client_advance(clients[i], &wait_ms), "advance");
        tl_frame *frame = NULL;
        if (tl_client_next_frame(clients[i], &frame) == TL_OK) frames++;
        tl_frame_free(frame);
        due[i] = wait_ms < 0 ? INT64_MAX : virtual_ns + wait_ms * 1000000;
      }
      if (due[i] < next) next = due[i];
    }
    virtual_ns = next > virtual_ns ? next : virtual_ns + 1000000;
  }
  mark();
  said("turns", (double)turns);
  said("wakes", (double)wakes);
  said("frames", (double)frames);
  free(due);
  free(events);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  int isVirtual = argc > 3;
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  count = (uint32_t)strtoul(argv[2], NULL, 10);
  clients = calloc(count, sizeof *clients);
  int64_t *all = calloc(count, sizeof *all);
  if (clients == NULL || all == NULL || count == 0) return 2;
  memset(all, 1, count * sizeof *all);
  double rss = (double)memory_kib("VmRSS"), heap = heap_kib(), sqlite = sqlite_kib();
  uint32_t before = descriptors();
  int64_t began = now_ns();
  for (uint32_t i = 0; i < count; i++) {
    open_one(argv[1], i);
    settle(clients[i], i);
    /* More would have more descriptors than a process may have. */
    if (count > KEPT_OPEN) must(tl_client_rest(clients[i]), "rest");
  }
  told("open_and_fill", count, now_ns() - began);
  if (isVirtual) {
    for (uint32_t i = 0; i < count; i += 2) must(tl_client_rest(clients[i]), "rest");
    pass_minutes();
    return 0;
  }
  weigh(count > KEPT_OPEN ? "filled" : "open", rss, heap, sqlite, before);
  idle("idle_advance");
  for (uint32_t i = 0; i < count; i++) {
    int64_t start = now_ns();
    must(tl_client_rest(clients[i]), "rest");
    all[i] = now_ns() - start;
  }
  times("rest", all, count);
  weigh("rest", rss, heap, sqlite, before);
  malloc_trim(0);
  weigh("trimmed", rss, heap, sqlite, before);
  idle("rest_advance");
  weigh("turned", rss, heap, sqlite, before);
  for (uint32_t i = 0; i < count; i++) {
    int64_t start = now_ns();
    if (read_screen(clients[i]) != MESSAGES) fail("read", "messages are missing");
    all[i] = now_ns() - start;
    must(tl_client_rest(clients[i]), "rest");
  }
  times("first_read", all, count);
  malloc_trim(0);
  weigh("again", rss, heap, sqlite, before);
  for (uint32_t i = 0; i < count; i++) tl_client_free(clients[i]);
  weigh("closed", rss, heap, sqlite, before);
  return 0;
}
