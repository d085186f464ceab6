/* What the user does offline: two messages and an edit are written down, survive a
 * restart, and go out in order once there is a server. Each row keeps its number.
 *
 *   outbox PORT USER CONVERSATION FILE
 *
 * The server knows a send by its client id (`--capability idempotent_send`), so that a
 * lost answer is asked for again and no message arrives twice.
 */
#include <tideline.h>

#include "link.h"

static const uint8_t key[TL_KEY_BYTES] = "an example; take random bytes";

static tl_view text(const char *s) { return (tl_view){(const uint8_t *)s, strlen(s)}; }

static void must(tl_status status, const char *what) {
  if (status >= TL_OK) return;
  fprintf(stderr, "%s: %s (%s)\n", what, tl_last_error(), tl_status_name(status));
  exit(1);
}

static tl_client *open_client(const char *user, const char *file) {
  tl_profile profile = {.struct_size = sizeof profile,
                        .capabilities = TL_SERVER_IDEMPOTENT_SEND};
  tl_client_config config = {.struct_size = sizeof config, .path = text(file),
                             .key = {key, sizeof key}, .user_id = text(user),
                             .profile = &profile};
  tl_client *client;
  must(tl_client_open(&config, &client), "open");
  return client;
}

/* Every operation with how far it is. */
static void list_operations(tl_client *client, const char *when) {
  static const char *const states[] = {"?", "queued", "in flight", "unknown", "refused", "sent"};
  static const char *const waits[] = {"", ", waits for a connection", ", waits for its turn",
                                      ", waits to be tried again", ", waits for an upload",
                                      ", waits for a key", ", is being looked for"};
  tl_batch *batch = NULL;
  size_t count;
  must(tl_client_operations(client, NULL, &batch), "operations");
  const tl_operation *rows = tl_batch_operations(batch, &count);
  printf("%s: %zu operations\n", when, count);
  for (size_t i = 0; i < count; i++) {
    const tl_operation *row = &rows[i];
    printf("  operation %llu, row %llu: %.*s %.*s: %s%s\n", (unsigned long long)row->id,
           (unsigned long long)row->number, (int)row->verb.size, row->verb.data,
           (int)row->request.size, row->request.data,
           states[row->state >= 1 && row->state <= 5 ? row->state : 0],
           waits[row->waiting >= 0 && row->waiting <= 6 ? row->waiting : 0]);
  }
  tl_batch_free(batch);
}

/* The newest messages, pending ones behind the others. */
static void show(tl_client *client, const char *conversation) {
  static const char *const states[] = {"", "  (queued)", "  (in flight)", "  (unknown)",
                                       "  (refused)"};
  tl_query query = {.struct_size = sizeof query, .conversation = text(conversation), .limit = 4};
  tl_batch *batch;
  size_t count;
  must(tl_client_messages(client, &query, &batch), "messages");
  const tl_message *rows = tl_batch_rows(batch, &count);
  for (size_t i = 0; i < count; i++) {
    printf("  row %llu  %.*s  %.*s: %.*s%s\n", (unsigned long long)rows[i].number,
           rows[i].stamp.size > 0 ? (int)rows[i].stamp.size : 1,
           rows[i].stamp.size > 0 ? (const char *)rows[i].stamp.data : "-",
           (int)rows[i].sender.size, rows[i].sender.data,
           rows[i].payload.size > 50 ? 50 : (int)rows[i].payload.size, rows[i].payload.data,
           states[rows[i].state >= 0 && rows[i].state <= 4 ? rows[i].state : 0]);
  }
  tl_batch_free(batch);
}

static void die(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

/* Connected until nothing is left to do. */
static void exchange(tl_client *client, int port, const char *user) {
  tl_state state = {.struct_size = sizeof state};
  struct link link;
  link_init(&link, port, user);
  do {
    must(link_turn(&link, client, -1), "turn");
    must(tl_client_state(client, &state), "state");
  } while (link.made == 0 || state.operations_open > 0 || state.syncs_left > 0);
  link_close(&link, client);
}

static uint64_t write_message(tl_client *client, const char *conversation, const char *payload,
                              const char *client_id) {
  tl_send send = {.struct_size = sizeof send, .conversation = text(conversation),
                  .payload = text(payload), .client_id = text(client_id)};
  uint64_t operation, number;
  must(tl_client_send(client, &send, &operation, &number), "send");
  printf("wrote %s: operation %llu, row %llu\n", payload, (unsigned long long)operation,
         (unsigned long long)number);
  return number;
}

/* Anything else is a request of the protocol, addressed by the same client id. */
static void edit_message(tl_client *client, const char *conversation, const char *client_id,
                         const char *payload) {
  char room[1024];
  tl_json_writer request = {room, sizeof room, 0};
  uint64_t operation;
  tl_json_put_raw(&request, "{\"type\":\"edit_message\",\"conversation_id\":");
  tl_json_put_string(&request, text(conversation));
  tl_json_put_raw(&request, ",\"message_id\":");
  tl_json_put_string(&request, text(client_id));
  tl_json_put_raw(&request, ",\"payload\":");
  tl_json_put_raw(&request, payload);
  tl_json_put_raw(&request, "}");
  must(tl_client_perform(client, tl_json_written(&request), 0, &operation, NULL), "perform");
  printf("edited to %s: operation %llu\n", payload, (unsigned long long)operation);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: outbox PORT USER CONVERSATION FILE\n");
    return 2;
  }
  const char *user = argv[2], *room = argv[3], *file = argv[4];
  tl_client *client = open_client(user, file);
  tl_sync_request newest = {.struct_size = sizeof newest, .conversation = text(room),
                            .kind = TL_SYNC_LIVE};
  must(tl_client_sync(client, &newest, NULL), "sync");
  exchange(client, atoi(argv[1]), user);

  uint64_t first = write_message(client, room, "{\"text\":\"ahoj\"}", "outbox-1");
  uint64_t second = write_message(client, room, "{\"text\":\"see you at fife\"}", "outbox-2");
  edit_message(client, room, "outbox-2", "{\"text\":\"see you at five\"}");
  list_operations(client, "offline");
  show(client, room);
  tl_client_free(client);

  client = open_client(user, file);
  list_operations(client, "after a restart");
  exchange(client, atoi(argv[1]), user);
  list_operations(client, "connected");
  show(client, room);

  /* Both rows are still the same ones, and the second was sent once, as edited. */
  const uint64_t numbers[] = {first, second};
  for (int i = 0; i < 2; i++) {
    tl_batch *batch;
    size_t count;
    char id[16];
    snprintf(id, sizeof id, "outbox-%d", i + 1);
    /* What was sent is found by its client id still. */
    must(tl_client_message(client, text(room), text(id), &batch), "message");
    const tl_message *row = tl_batch_rows(batch, &count);
    if (row->number != numbers[i] || row->state != TL_MESSAGE_CONFIRMED) die("another row");
    printf("confirmed: row %llu is message %.*s\n", (unsigned long long)row->number,
           (int)row->id.size, row->id.data);
    tl_batch_free(batch);
  }
  tl_client_free(client);
  return 0;
}
