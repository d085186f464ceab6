/* A worker of a fleet: clients on one storage that other processes use, too.

   worker STORAGE WHERE: STORAGE is lmdb or postgres, WHERE its file or what libpq connects to.
   It is told on its input, a line each, what to do, and says on its output what has happened:

       take NAME [online]  opens the name, whoever has it   -> have NAME ROWS | gone NAME STATUS
       say NAME NUMBER   sends a message in it              -> said NAME NUMBER | gone NAME STATUS
       list NAME         the messages in it                 -> list NAME NUMBER NUMBER ...
       leave NAME        closes it                          -> left NAME
       push NAME NUMBER  an update of the chat server's     -> heard NAME NUMBER | gone NAME STATUS
       tell NAME NUMBER  a push of the chat server's, without a reply   -> told NAME NUMBER
       answer NAME NUMBER REQUEST CLIENT   the chat server has taken a message
       fail CALLS        lets one call on the storage fail, after so many more; -1 for none;
                         says how many there were since the last  -> fails CALLS
       end               closes all and ends

   A message is said when the library has reported it, and heard when the reply to its update has
   left: from then on nothing may lose it. A name that is taken online is connected to the chat
   server, for which the worker's owner stands. What it asks for is said, too:

       asks NAME NUMBER REQUEST CLIENT     to send the message with this number
       asks NAME VERB                      anything else */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tideline.h"
#include "tideline_json.h"

#ifdef WITH_LMDB
# include "lmdb_storage.h"
#endif
#ifdef WITH_POSTGRES
# include "postgres_storage.h"
#endif

enum { NAMES = 16384, NAME = 64, TEXT = 200 };

static struct {
  char name[NAME];
  tl_client *client;
} held[NAMES];

/* What clients are given, and the storage behind it: a call may be made to fail on the way. */
static tl_storage storage, behind;
static long fail_in = -1, calls;

static int fails(void) {
  calls++;
  return fail_in >= 0 && fail_in-- == 0;
}

static tl_status acquire(void *context, const tl_view *name, uint64_t *fence) {
  return fails() ? TL_E_STORAGE : behind.acquire(context, name, fence);
}

static tl_status read_bytes(void *context, const tl_stored *at, uint64_t offset, uint8_t *out,
                            size_t size, size_t *got) {
  return fails() ? TL_E_STORAGE : behind.read(context, at, offset, out, size, got);
}

static tl_status write_bytes(void *context, const tl_stored *at, uint64_t offset,
                             const tl_view *bytes) {
  return fails() ? TL_E_STORAGE : behind.write(context, at, offset, bytes);
}

static tl_status truncate_to(void *context, const tl_stored *at, uint64_t size) {
  return fails() ? TL_E_STORAGE : behind.truncate(context, at, size);
}

static tl_status size_of(void *context, const tl_stored *at, uint64_t *size) {
  return fails() ? TL_E_STORAGE : behind.size(context, at, size);
}

static tl_status sync_object(void *context, const tl_stored *at) {
  return fails() ? TL_E_STORAGE : behind.sync(context, at);
}

static tl_status remove_object(void *context, const tl_stored *at) {
  return fails() ? TL_E_STORAGE : behind.remove(context, at);
}

static void stand_before(void) {
  storage = behind;
  storage.acquire = acquire;
  storage.read = read_bytes;
  storage.write = write_bytes;
  storage.truncate = truncate_to;
  storage.size = size_of;
  storage.sync = sync_object;
  storage.remove = remove_object;
}

static tl_view view(const char *text) {
  tl_view made = {(const uint8_t *)text, strlen(text)};
  return made;
}

/* Where a name is held, or a free place for it. */
static int place(const char *name) {
  int free_place = -1;
  for (int i = 0; i < NAMES; i++) {
    if (held[i].client && strcmp(held[i].name, name) == 0) return i;
    if (!held[i].client && free_place < 0) free_place = i;
  }
  return free_place;
}

static void drop(int at) {
  tl_client_free(held[at].client);
  held[at].client = NULL;
}

static void gone(int at, const char *name, tl_status status) {
  if (at >= 0) drop(at);
  printf("gone %s %s\n", name, tl_status_name(status));
}

/* A member that is a text, with an end; 0 where there is none. */
static int text(tl_view object, const char *member, char *out) {
  size_t size = tl_json_text(tl_json_member(object, member), out, TEXT - 1);
  if (size >= TEXT) return 0;
  out[size] = 0;
  return 1;
}

static tl_status rows(tl_client *client, tl_batch **batch) {
  tl_query query;
  memset(&query, 0, sizeof query);
  query.struct_size = sizeof query;
  query.conversation = view("room");
  query.limit = 10000;
  return tl_client_messages(client, &query, batch);
}

static void show(const char *name, tl_view frame) {
  char id[TEXT], client[TEXT];
  int64_t number = -1;
  tl_view payload = tl_json_member(frame, "payload");
  if (text(payload, "ref", id)) {
    printf("heard %s %s\n", name, id);
    return;
  }
  if (!text(payload, "type", id)) return;
  if (strcmp(id, "send_message") != 0) {
    printf("asks %s %s\n", name, id);
    return;
  }
  tl_json_integer(tl_json_member(tl_json_member(payload, "payload"), "number"), &number);
  if (text(payload, "request_id", id) && text(payload, "client_id", client))
    printf("asks %s %lld %s %s\n", name, (long long)number, id, client);
}

/* Hands out what the client has for the chat server. */
static tl_status pump(int at) {
  tl_frame *frame;
  tl_status status;
  while ((status = tl_client_next_frame(held[at].client, &frame)) == TL_OK) {
    show(held[at].name, frame->bytes);
    status = tl_client_frame_sent(held[at].client, frame->id);
    tl_frame_free(frame);
    if (status < 0) return status;
  }
  return status == TL_NONE ? TL_OK : status;
}

static void take(const char *name, int online) {
  /* In a fleet each account has a key of its own, from where the host keeps keys. */
  uint8_t key[TL_KEY_BYTES] = {0};
  tl_client_config config;
  tl_profile profile;
  tl_batch *batch = NULL;
  size_t count = 0;
  int at = place(name);
  if (at >= 0 && held[at].client) drop(at);
  for (size_t i = 0; i < sizeof key && name[i]; i++) key[i] = (uint8_t)(name[i] * 7 + 1);
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.path = config.account = config.user_id = view(name);
  config.key.data = key;
  config.key.size = sizeof key;
  config.storage = &storage;
  memset(&profile, 0, sizeof profile);
  profile.struct_size = sizeof profile;
  profile.capabilities = TL_SERVER_ENVELOPE | TL_SERVER_IDEMPOTENT_SEND;
  if (online) config.profile = &profile;
  tl_status status = at < 0 ? TL_E_FULL : tl_client_open(&config, &held[at].client);
  if (status == TL_OK) status = rows(held[at].client, &batch);
  if (status == TL_OK && online) status = tl_client_connected(held[at].client);
  if (status == TL_OK) {
    snprintf(held[at].name, sizeof held[at].name, "%s", name);
    tl_batch_rows(batch, &count);
    printf("have %s %zu\n", name, count);
    if (online) status = pump(at);
  }
  tl_batch_free(batch);
  if (status != TL_OK) gone(at, name, status);
}

static void say(const char *name, const char *number) {
  char payload[200];
  tl_send send;
  int at = place(name);
  tl_status status = TL_E_CLOSED;
  snprintf(payload, sizeof payload, "{\"canary\":\"kanarienvogel\",\"number\":%s}", number);
  memset(&send, 0, sizeof send);
  send.struct_size = sizeof send;
  send.conversation = view("room");
  send.payload = view(payload);
  if (at >= 0 && held[at].client) status = tl_client_send(held[at].client, &send, NULL, NULL);
  if (status == TL_OK) {
    printf("said %s %s\n", name, number);
    status = pump(at);
  }
  if (status != TL_OK) gone(at, name, status);
}

/* Passes a frame of the chat server's. */
static void receive(const char *name, const char *format, ...) {
  char frame[1000];
  va_list arguments;
  int at = place(name);
  tl_status status = TL_E_CLOSED;
  va_start(arguments, format);
  vsnprintf(frame, sizeof frame, format, arguments);
  va_end(arguments);
  if (at >= 0 && held[at].client) status = tl_client_receive(held[at].client, view(frame));
  if (status >= 0) status = pump(at);
  if (status < 0) gone(at, name, status);
}

/* A message as the chat server has it, number by number a second later. */
#define MESSAGE                                                                                  \
  "{\"message_id\":\"%s-%d\",\"conversation_id\":\"room\",\"sender_id\":\"%s\","            \
  "\"created_at\":\"2026-02-15T%02d:%02d:%02d\",\"client_id\":\"%s\","                        \
  "\"payload\":{\"canary\":\"kanarienvogel\",\"%s\":%d}}"
#define OF(number) (number) / 3600 % 24, (number) / 60 % 60, (number) % 60

static void push(const char *name, int number) {
  receive(name,
          "{\"account\":\"%s\",\"type\":\"update\",\"payload\":{\"ref\":\"%d\",\"action\":\"new\","
          "\"payload\":{\"entity\":\"message\",\"items\":[" MESSAGE "]}}}",
          name, number, "pushed", number, "other", OF(number), "", "pushed", number);
}

static void tell(const char *name, int number) {
  receive(name, "{\"type\":\"message_new\",\"conversation_id\":\"room\",\"message\":" MESSAGE "}",
          "told", number, "other", OF(number), "", "pushed", number);
  printf("told %s %d\n", name, number);
}

static void answer(const char *name, int number, const char *request, const char *client) {
  receive(name,
          "{\"account\":\"%s\",\"type\":\"reply\",\"payload\":{\"type\":\"send_message\","
          "\"request_id\":\"%s\",\"status\":\"ok\",\"data\":{\"message\":" MESSAGE "}}}",
          name, request, "sent", number, name, OF(number), client, "number", number);
}

static void list(const char *name) {
  tl_batch *batch = NULL;
  size_t count = 0;
  int at = place(name);
  tl_status status = TL_E_CLOSED;
  if (at >= 0 && held[at].client) status = rows(held[at].client, &batch);
  if (status != TL_OK) {
    gone(at, name, status);
    return;
  }
  const tl_message *messages = tl_batch_rows(batch, &count);
  printf("list %s", name);
  for (size_t i = 0; i < count; i++) {
    int64_t number = -1;
    if (tl_json_integer(tl_json_member(messages[i].payload, "number"), &number))
      printf(" %lld", (long long)number);
    else if (tl_json_integer(tl_json_member(messages[i].payload, "pushed"), &number))
      printf(" p%lld", (long long)number);
  }
  printf("\n");
  tl_batch_free(batch);
}

int main(int count, char **arguments) {
  char line[512], verb[16], name[NAME], number[32], request[TEXT], client[TEXT];
  const char *kind = count == 3 ? arguments[1] : "";
#ifdef WITH_LMDB
  if (strcmp(kind, "lmdb") == 0) {
    lmdb_storage *made = lmdb_storage_new(arguments[2], (size_t)4 << 30);
    if (made) behind = lmdb_storage_table(made);
  }
#endif
#ifdef WITH_POSTGRES
  if (strcmp(kind, "postgres") == 0)
    behind = postgres_storage_table(postgres_storage_new(arguments[2]));
#endif
  if (!behind.acquire) {
    fprintf(stderr, "worker: there is no storage %s\n", kind);
    return 1;
  }
  stand_before();
  /* Each client has a descriptor. */
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin)) {
    number[0] = 0;
    int words = sscanf(line, "%15s %63s %31s %199s %199s", verb, name, number, request, client);
    if (words < 1) continue;
    if (strcmp(verb, "take") == 0) take(name, strcmp(number, "online") == 0);
    else if (strcmp(verb, "say") == 0) say(name, number);
    else if (strcmp(verb, "push") == 0) push(name, (int)strtol(number, NULL, 10));
    else if (strcmp(verb, "tell") == 0) tell(name, (int)strtol(number, NULL, 10));
    else if (strcmp(verb, "answer") == 0 && words == 5)
      answer(name, (int)strtol(number, NULL, 10), request, client);
    else if (strcmp(verb, "list") == 0) list(name);
    else if (strcmp(verb, "end") == 0) break;
    else if (strcmp(verb, "fail") == 0) {
      printf("fails %ld\n", calls);
      fail_in = strtol(name, NULL, 10);
      calls = 0;
    }
    else if (strcmp(verb, "leave") == 0) {
      int at = place(name);
      if (at >= 0 && held[at].client) drop(at);
      printf("left %s\n", name);
    }
  }
  for (int i = 0; i < NAMES; i++)
    if (held[i].client) drop(i);
  return 0;
}
