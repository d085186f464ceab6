/* Hooks that call the library. No lock of it is held while a hook runs, so each kind of call may
   come from each hook, on the same client, the same window and the same list: nothing hangs. An
   alarm ends the test where something does. */
#include <unistd.h>

#include "check.h"

/* In seconds; in qemu on a machine that is busy, one test takes more than 60. */
enum { PATIENCE = 300 };

/* What the hooks have to work on, and from which of them they call. */
static struct {
  tl_client *client;
  tl_window *window;
  tl_list *list;
  int is_inside;
  unsigned opened, sealed, logged, clocked, dropped;
} world;

static int64_t time_ms = 1000;

/* Every call is allowed to fail; none may wait for what its caller holds. */
#define TRY(call) (void)!(call)

static tl_window_config window_config(void) {
  tl_window_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.conversation = view("c");
  config.count = 20;
  return config;
}

static void send_text(tl_client *client, const char *client_id) {
  tl_send send;
  memset(&send, 0, sizeof send);
  send.struct_size = sizeof send;
  send.conversation = view("c");
  send.payload = view("\"mine\"");
  send.client_id = view(client_id);
  TRY(tl_client_send(client, &send, NULL, NULL));
}

static void read_all(tl_client *client) {
  tl_state state = {.struct_size = sizeof state};
  tl_stats stats = {.struct_size = sizeof stats};
  tl_batch *batch = NULL;
  tl_view id = view("m1");
  TRY(tl_client_state(client, &state));
  TRY(tl_client_stats(client, &stats));
  TRY(row_count(client));
  TRY(tl_client_message(client, view("c"), id, &batch));
  tl_batch_free(batch);
  TRY(tl_client_changes(client, 0, 10, &batch));
  tl_batch_free(batch);
  TRY(tl_client_conversations(client, 0, 10, &batch));
  tl_batch_free(batch);
}

static void change_all(tl_client *client) {
  int64_t wait = 0;
  uint64_t count = 0, sync = 0;
  tl_view id = view("m1");
  TRY(tl_client_advance(client, &wait));
  TRY(sync_latest(client, &sync));
  tl_sync_status status = {.struct_size = sizeof status};
  TRY(tl_client_sync_status(client, sync, &status));
  TRY(tl_client_mark_read(client, view("c"), &id, 1));
  TRY(set_draft(client, view("c"), view("draft"), view("")));
  send_text(client, "hook");
  TRY(tl_client_reopen_payloads(client, view("c"), &count));
  TRY(tl_client_cancel(client, sync));
}

static void look_all(tl_window *window, tl_list *list) {
  tl_diff *diff = NULL;
  tl_batch *batch = NULL;
  uint32_t row = 0;
  TRY(tl_window_poll(window, &diff));
  tl_diff_free(diff);
  TRY(tl_window_rows(window, 0, 5, &batch));
  tl_batch_free(batch);
  tl_window_status shown = {.struct_size = sizeof shown};
  TRY(tl_window_state(window, &shown));
  TRY(tl_window_find(window, view("m1"), &row));
  TRY(tl_window_find(window, view("nobody"), &row));
  TRY(tl_window_show(window, 0, 1));
  TRY(tl_window_fill(window, 1));
  TRY(tl_window_trim(window, 0, 50));
  tl_load load = {.struct_size = sizeof load, .kind = TL_LOAD_BEFORE};
  TRY(tl_window_load(window, &load));
  TRY(tl_list_poll(list, &diff));
  tl_diff_free(diff);
  TRY(tl_list_rows(list, 0, 5, &batch));
  tl_batch_free(batch);
  TRY(tl_list_find(list, view("c"), &row));
  tl_list_status listed = {.struct_size = sizeof listed};
  TRY(tl_list_state(list, &listed));
}

/* What a hook does: all of it, once at a time, for what it calls runs hooks as well. */
static void call_back(void) {
  if (world.is_inside || !world.client) return;
  world.is_inside = 1;
  read_all(world.client);
  change_all(world.client);
  if (world.window) look_all(world.window, world.list);
  tl_window_config config = window_config();
  tl_window *window = NULL;
  TRY(tl_window_open(world.client, &config, &window));
  tl_window_close(window);
  tl_window_free(window);
  world.is_inside = 0;
}

static int64_t tick(void *context) {
  (void)context;
  world.clocked++;
  call_back();
  return time_ms += 10;
}

static void take_line(void *context, tl_log_level level, const tl_view *text) {
  (void)context, (void)level;
  CHECK(text != NULL && text->size > 0 && text->data[0] != 0);
  world.logged++;
  call_back();
}

static tl_status open_payload(void *context, const tl_sealed *in, tl_opened *out) {
  (void)context;
  world.opened++;
  call_back();
  out->payload = in->payload;
  return TL_OK;
}

static tl_status seal_payload(void *context, const tl_unsealed *in, tl_opened *out) {
  (void)context;
  world.sealed++;
  call_back();
  out->payload = in->payload;
  return TL_OK;
}

/* The client that it belonged to is gone, or was never there; others are not. */
static void drop(void *context) {
  (void)context;
  world.dropped++;
  tl_client *other = open_memory();
  read_all(other);
  change_all(other);
  tl_client_free(other);
}

enum { CLOCK = 1, LOG = 2, OPEN = 4, SEAL = 8 };

static tl_client_config hooked(int hooks) {
  tl_client_config config = memory_config();
  if (hooks & CLOCK) config.clock = tick;
  if (hooks & LOG) config.log = take_line, config.log_drop = drop;
  if (hooks & OPEN) config.open = open_payload, config.open_drop = drop;
  if (hooks & SEAL) config.seal = seal_payload, config.seal_drop = drop;
  return config;
}

/* Hands out the frames and answers them; the server refuses marks, which is logged. */
static void turn(tl_client *client) {
  static const char *const messages[] = {
      "{\"message_id\":\"m1\",\"conversation_id\":\"c\",\"sender_id\":\"you\","
      "\"created_at\":\"2024-05-01T10:00:00\",\"payload\":\"one\"}"};
  static const char *const stamps[] = {"\"2024-05-01T10:00:00\""};
  for (int frames = 0; frames < 40; frames++) {
    tl_frame *frame = NULL;
    char text[8192], type[64], id[256];
    if (tl_client_next_frame(client, &frame) != TL_OK) return;
    member(frame->bytes, "type", type, sizeof type);
    member(frame->bytes, "request_id", id, sizeof id);
    if (strcmp(type, "\"mark_read\"") == 0)
      snprintf(text, sizeof text,
               "{\"type\":%s,\"request_id\":%s,\"status\":\"error\",\"error\":"
               "{\"code\":\"forbidden\",\"message\":\"no\"}}", type, id);
    else
      answer(frame->bytes, messages, stamps, 1, text, sizeof text);
    TRY(tl_client_frame_sent(client, frame->id));
    tl_frame_free(frame);
    TRY(receive(client, text));
  }
}

/* Each kind of call of a host, with hooks that call back from each. */
static void host(int hooks) {
  memset(&world, 0, sizeof world);
  tl_client_config config = hooked(hooks);
  tl_client *client = NULL;
  alarm(PATIENCE);
  EXPECT(tl_client_open(&config, &client), TL_OK);
  world.client = client;
  tl_window_config shown = window_config();
  EXPECT(tl_window_open(client, &shown, &world.window), TL_OK);
  EXPECT(tl_list_open(client, NULL, &world.list), TL_OK);
  for (int connection = 0; connection < 3; connection++) {
    EXPECT(tl_client_connected(client), TL_OK);
    look_all(world.window, world.list);
    turn(client);
    TRY(receive(client, "{\"type\":\"new_message\",\"data\":{\"message_id\":\"m2\","
                        "\"conversation_id\":\"c\",\"sender_id\":\"you\",\"created_at\":"
                        "\"2024-05-01T10:00:01\",\"payload\":\"two\"}}"));
    TRY(receive(client, "no frame"));
    look_all(world.window, world.list);
    read_all(client);
    change_all(client);
    TRY(tl_client_forget(client, view("c"), view("m2")));
    turn(client);
    EXPECT(tl_client_disconnected(client), TL_OK);
    look_all(world.window, world.list);
  }
  TRY(tl_client_clear(client));
  look_all(world.window, world.list);
  tl_window_close(world.window);
  // A hook may run while they are freed, and uses no handle that is.
  tl_window *window = world.window;
  tl_list *list = world.list;
  world.window = NULL, world.list = NULL;
  tl_window_free(window);
  tl_list_free(list);
  tl_client_close(client);
  world.client = NULL;
  tl_client_free(client);
  alarm(0);
}

/* header: "Hooks run inside calls of the host, on its thread, with no lock of the library held." */
static void the_clock_calls(void) {
  host(CLOCK);
  CHECK(world.clocked > 100 && world.dropped == 0);
}

static void the_log_calls(void) {
  host(LOG);
  CHECK(world.logged > 0 && world.dropped == 1);
}

static void the_opener_calls(void) {
  host(OPEN);
  CHECK(world.opened > 0 && world.dropped == 1);
}

static void the_sealer_calls(void) {
  host(SEAL);
  CHECK(world.sealed > 0 && world.dropped == 1);
}

static void all_of_them_call(void) {
  host(CLOCK | LOG | OPEN | SEAL);
  CHECK(world.clocked > 0 && world.opened > 0 && world.sealed > 0 && world.dropped == 3);
}

static void a_failed_opening_drops_them(void) {
  memset(&world, 0, sizeof world);
  tl_client_config config = hooked(CLOCK | LOG | OPEN | SEAL);
  tl_client *client = NULL;
  config.flags = 0;
  config.path = view("/nowhere/at/all");
  config.key.data = test_key;
  config.key.size = sizeof test_key;
  alarm(PATIENCE);
  CHECK(tl_client_open(&config, &client) < TL_OK);
  CHECK(world.dropped == 3);
  alarm(0);
}

/* A hook that ends the client it is called for. */
static int64_t ending(void *context) {
  (void)context;
  world.clocked++;
  if (world.clocked == 3) tl_client_close(world.client);
  return time_ms += 10;
}

static void the_clock_closes(void) {
  memset(&world, 0, sizeof world);
  tl_client_config config = memory_config();
  tl_window_config shown = window_config();
  config.clock = ending;
  alarm(PATIENCE);
  EXPECT(tl_client_open(&config, &world.client), TL_OK);
  EXPECT(tl_window_open(world.client, &shown, &world.window), TL_OK);
  EXPECT(tl_client_connected(world.client), TL_OK);
  for (int i = 0; i < 10; i++) look_all(world.window, NULL);
  tl_diff *diff = NULL;
  EXPECT(tl_window_poll(world.window, &diff), TL_E_CLOSED);
  tl_window *window = world.window;
  tl_client *client = world.client;
  world.window = NULL, world.client = NULL;
  tl_window_free(window);
  tl_client_free(client);
  alarm(0);
}

int main(void) {
  RUN(the_log_calls);
  RUN(the_opener_calls);
  RUN(the_sealer_calls);
  RUN(a_failed_opening_drops_them);
  RUN(the_clock_closes);
  RUN(the_clock_calls);
  RUN(all_of_them_call);
  return report("hooks");
}
