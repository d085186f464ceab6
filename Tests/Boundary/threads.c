/* Sixteen threads call everything at once on clients they share, one in memory and
   three on files, while others read batches, close and wipe. Whatever they are told
   must be a documented status, each error text its own thread's, and nothing may
   leak or crash. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

enum { THREADS = 16, ROUNDS = 400, CLIENTS = 4 };

static tl_client *clients[CLIENTS];
static atomic_int wrong;

#define MESSAGE                                                                \
  "{\"type\":\"message_new\",\"conversation_id\":\"c\",\"message\":{"           \
  "\"message_id\":\"m%u\",\"conversation_id\":\"c\",\"sender_id\":\"you\","     \
  "\"created_at\":\"2024-05-01T10:%02u:%02u\",\"payload\":\"p%u\"}}"

/* What any call may say here; anything else is a defect. */
static void allow(tl_status status) {
  switch (status) {
  case TL_OK: case TL_NONE: case TL_IGNORED: case TL_RESYNC: case TL_QUARANTINED:
  case TL_E_CLOSED: case TL_E_NOT_FOUND: case TL_E_OFFLINE: case TL_E_FULL:
    return;
  default:
    if (atomic_fetch_add(&wrong, 1) < 10) {
      printf("threads: %s (%s)\n", tl_status_name(status), tl_last_error());
    }
  }
}

static uint64_t next(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Walks over every byte of a batch, so that the address sanitizer sees it. */
static void walk(tl_batch *batch) {
  size_t count = 0;
  volatile uint8_t sum = 0;
  const tl_message *rows = tl_batch_rows(batch, &count);
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < rows[i].id.size; k++) sum ^= rows[i].id.data[k];
    for (size_t k = 0; k < rows[i].payload.size; k++) sum ^= rows[i].payload.data[k];
  }
  (void)sum;
  tl_coverage coverage;
  memset(&coverage, 0, sizeof coverage);
  coverage.struct_size = sizeof coverage;
  if (batch != NULL) allow(tl_batch_coverage(batch, &coverage));
  for (uint32_t i = 0; i < coverage.gap_count; i++) {
    if (coverage.gaps[i].before_row > count) atomic_fetch_add(&wrong, 1);
  }
}

static void walk_view(tl_view view) {
  volatile uint8_t sum = 0;
  for (size_t i = 0; i < view.size; i++) sum ^= view.data[i];
  (void)sum;
}

static void walk_operations(tl_batch *batch) {
  size_t count = 0;
  const tl_operation *rows = tl_batch_operations(batch, &count);
  for (size_t i = 0; i < count; i++) {
    walk_view(rows[i].request);
    walk_view(rows[i].client_id);
    walk_view(rows[i].result);
    if (rows[i].id == 0 || rows[i].verb.size == 0) atomic_fetch_add(&wrong, 1);
  }
}

static void walk_conversations(tl_batch *batch) {
  size_t count = 0;
  const tl_conversation *rows = tl_batch_conversations(batch, &count);
  for (size_t i = 0; i < count; i++) {
    walk_view(rows[i].id);
    walk_view(rows[i].draft);
    walk_view(rows[i].typing);
    if (rows[i].last != NULL) walk_view(rows[i].last->payload);
    if (rows[i].number == 0) atomic_fetch_add(&wrong, 1);
  }
}

static void take_frames(tl_client *client) {
  tl_frame *frame = NULL;
  while (tl_client_next_frame(client, &frame) == TL_OK) {
    char text[1024], type[64], id[128], room[128], client_id[128];
    member(frame->bytes, "type", type, sizeof type);
    member(frame->bytes, "request_id", id, sizeof id);
    member(frame->bytes, "conversation_id", room, sizeof room);
    member(frame->bytes, "client_id", client_id, sizeof client_id);
    if (strcmp(type, "\"send_message\"") == 0) {
      snprintf(text, sizeof text, "{\"type\":%s,\"request_id\":%s,\"status\":\"ok\",\"data\":{"
               "\"message\":{\"message_id\":%s,\"conversation_id\":%s,\"sender_id\":\"me\","
               "\"created_at\":\"2024-05-01T11:00:00\",\"payload\":0,\"client_id\":%s}}}",
               type, id, client_id, room, client_id);
    } else if (strcmp(type, "\"get_conversations\"") == 0) {
      snprintf(text, sizeof text, "{\"type\":%s,\"request_id\":%s,\"status\":\"ok\",\"data\":{"
               "\"conversations\":[],\"total_count\":0}}", type, id);
    } else {
      answer(frame->bytes, NULL, NULL, 0, text, sizeof text);
    }
    allow(tl_client_frame_sent(client, frame->id));
    /* What has no number, such as typing, has no answer. */
    if (id[0]) allow(receive(client, text));
    tl_frame_free(frame);
  }
}

static void one_call(tl_client *client, uint64_t *state) {
  char text[512];
  unsigned n = (unsigned)(next(state) % 500);
  tl_batch *batch = NULL;
  tl_state overall;
  tl_stats stats;
  tl_sync_status sync;
  memset(&overall, 0, sizeof overall);
  memset(&stats, 0, sizeof stats);
  memset(&sync, 0, sizeof sync);
  overall.struct_size = sizeof overall;
  stats.struct_size = sizeof stats;
  sync.struct_size = sizeof sync;
  uint64_t number = 0;
  int64_t wait = 0;
  switch (next(state) % 22) {
  case 0: allow(tl_client_connected(client)); break;
  case 1: if (n % 8 == 0) allow(tl_client_disconnected(client)); break;
  case 2: case 3: case 4:
    snprintf(text, sizeof text, MESSAGE, n, n / 60 % 60, n % 60, n);
    allow(receive(client, text));
    break;
  case 5: take_frames(client); break;
  case 6: allow(tl_client_advance(client, &wait)); break;
  case 7: allow(tl_client_state(client, &overall)); break;
  case 8: allow(tl_client_stats(client, &stats)); break;
  case 9:
    allow(sync_latest(client, &number));
    allow(tl_client_sync_status(client, number, &sync));
    if (n % 4 == 0) allow(tl_client_cancel(client, number));
    break;
  case 10: case 11:
    allow(read_page(client, &batch));
    walk(batch);
    tl_batch_free(batch);
    break;
  case 12:
    snprintf(text, sizeof text, "m%u", n);
    allow(tl_client_message(client, view("c"), view(text), &batch));
    tl_batch_free(batch);
    break;
  case 13:
    allow(tl_client_changes(client, n, 100, &batch));
    tl_batch_free(batch);
    break;
  case 14: {
    snprintf(text, sizeof text, "m%u", n);
    tl_view id = view(text);
    allow(tl_client_mark_read(client, view("c"), &id, 1));
    break;
  }
  case 16: case 17:
    snprintf(text, sizeof text, "{\"type\":\"send_message\",\"conversation_id\":\"c%u\","
             "\"payload\":%u}", n % 5, n);
    allow(tl_client_perform(client, view(text), 0, &number, NULL));
    if (n % 3 == 0) allow(tl_operation_cancel(client, number));
    if (n % 3 == 1) allow(tl_operation_edit(client, number, view("{\"payload\":0}")));
    break;
  case 18:
    allow(tl_client_operations(client, NULL, &batch));
    walk_operations(batch);
    tl_batch_free(batch);
    break;
  case 19:
    allow(tl_client_conversations(client, 0, 0, &batch));
    walk_conversations(batch);
    tl_batch_free(batch);
    break;
  case 20:
    allow(set_draft(client, view("c"), view(n % 3 ? "half a wor" : ""), view("")));
    allow(tl_client_typing(client, view("c"), TL_TYPING_BEGIN));
    break;
  case 21: {
    tl_list *list = NULL;
    tl_diff *diff = NULL;
    tl_status opened = tl_list_open(client, NULL, &list);
    allow(opened);
    if (opened != TL_OK) break;
    allow(tl_list_poll(list, &diff));
    tl_diff_free(diff);
    allow(tl_list_rows(list, 0, 10, &batch));
    walk_conversations(batch);
    tl_batch_free(batch);
    tl_list_free(list);
    break;
  }
  case 15:
    snprintf(text, sizeof text, "m%u", n);
    if (n % 4 == 0) allow(tl_client_forget(client, view("c"), view(text)));
    /* header: "Describes the last failure on the calling thread" */
    if (tl_client_cancel(NULL, 1) != TL_E_INVALID ||
        strcmp(tl_last_error(), "client is not a client") != 0) {
      atomic_fetch_add(&wrong, 1);
    }
    break;
  }
}

static void *work(void *argument) {
  uint64_t state = (uint64_t)(uintptr_t)argument + 1;
  for (int round = 0; round < ROUNDS; round++) {
    one_call(clients[next(&state) % CLIENTS], &state);
    /* Half way, two of the clients are closed under everybody's hands. */
    if (round == ROUNDS / 2 && (uintptr_t)argument == 3) tl_client_close(clients[1]);
    if (round == ROUNDS / 2 && (uintptr_t)argument == 5) allow(tl_client_wipe(clients[2]));
  }
  return NULL;
}

/* header: "The event descriptor becomes readable so that a waiter wakes." */
static void *wait_for_close(void *argument) {
  struct pollfd poller = {*(int32_t *)argument, POLLIN, 0};
  return poll(&poller, 1, 60000) == 1 ? argument : NULL;
}

static void sixteen_threads(void) {
  pthread_t threads[THREADS];
  char folder[] = "/tmp/tideline-threads-XXXXXX", path[CLIENTS][300];
  CHECK(mkdtemp(folder) != NULL);
  clients[0] = open_memory();
  for (int i = 1; i < CLIENTS; i++) {
    snprintf(path[i], sizeof path[i], "%s/%d.tideline", folder, i);
    tl_client_config config = file_config(path[i]);
    EXPECT(tl_client_open(&config, &clients[i]), TL_OK);
  }
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK(atomic_load(&wrong) == 0);
  EXPECT(tl_client_connected(clients[0]), TL_OK);
  CHECK(row_count(clients[0]) > 0);
  CHECK(row_count(clients[3]) > 0);
  EXPECT(tl_client_connected(clients[1]), TL_E_CLOSED);
  EXPECT(tl_client_connected(clients[2]), TL_E_CLOSED);
  for (int i = 0; i < CLIENTS; i++) tl_client_free(clients[i]);
  /* What was closed half way and at the end opens again. */
  for (int i = 1; i < CLIENTS; i += 2) {
    tl_client_config config = file_config(path[i]);
    tl_client *client = NULL;
    EXPECT(tl_client_open(&config, &client), TL_OK);
    CHECK(row_count(client) > 0);
    EXPECT(tl_client_wipe(client), TL_OK);
    tl_client_free(client);
  }
  CHECK(rmdir(folder) == 0);
}

static void waiter_wakes(void) {
  tl_client *client = open_memory();
  int32_t descriptor = -1;
  EXPECT(tl_client_event_fd(client, &descriptor), TL_OK);
  tl_frame *frame = NULL;
  EXPECT(tl_client_next_frame(client, &frame), TL_NONE);
  struct pollfd poller = {descriptor, POLLIN, 0};
  CHECK(poll(&poller, 1, 0) == 0);
  pthread_t waiter;
  pthread_create(&waiter, NULL, wait_for_close, &descriptor);
  tl_client_close(client);
  void *woken = NULL;
  pthread_join(waiter, &woken);
  CHECK(woken != NULL);
  tl_client_free(client);
}

int main(void) {
  RUN(sixteen_threads);
  RUN(waiter_wakes);
  return report("threads");
}
