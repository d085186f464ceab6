/* A scripted server for the tests of what the user does: it keeps messages and
   conversations in arrays, answers each request at once, and can be told to
   refuse, to hold its tongue, or to hold back what others wrote. */
#ifndef TURN_H
#define TURN_H

#include "screen.h"

enum { SERVER_ROOM = 64, TEXT_ROOM = 1 << 16 };

static struct {
  char bodies[SERVER_ROOM][2048], stamp_texts[SERVER_ROOM][64];
  const char *messages[SERVER_ROOM], *stamps[SERVER_ROOM];
  size_t count;
  char rooms[8][512]; /* JSON objects of conversations. */
  size_t room_count;
  unsigned seconds;       /* Its clock, after 11:00. */
  unsigned sends, others; /* Requests of each kind that it has answered. */
  const char *error;      /* The members of `error` in its next answers, or NULL. */
  int is_mute;            /* Answers to operations are lost. */
  char last[4096];        /* The last operation it was sent. */
  char room[256];         /* Where the next message stands; empty is "c". */
} server;

static inline void server_reset(void) { memset(&server, 0, sizeof server); }

/* Adds a message; `payload` is JSON, `client_id` may be empty. Gives its text. */
static inline const char *server_message(const char *id, const char *sender, unsigned seconds,
                                         const char *payload, const char *client_id) {
  size_t at = server.count++;
  char stamp[64];
  snprintf(stamp, sizeof stamp, "\"2024-05-01T11:%02u:%02u\"", seconds / 60 % 60, seconds % 60);
  memcpy(server.stamp_texts[at], stamp, sizeof stamp);
  char room[256] = "c";
  if (server.room[0]) memcpy(room, server.room, sizeof room);
  snprintf(server.bodies[at], sizeof *server.bodies,
           "{\"message_id\":\"%s\",\"conversation_id\":\"%s\",\"sender_id\":\"%s\","
           "\"created_at\":%s,\"payload\":%s%s%s%s}", id, room, sender, stamp, payload,
           client_id[0] ? ",\"client_id\":\"" : "", client_id, client_id[0] ? "\"" : "");
  server.messages[at] = server.bodies[at];
  server.stamps[at] = server.stamp_texts[at];
  return server.bodies[at];
}

/* A string member without its quotes. */
static inline void text_member(tl_view frame, const char *name, char *out, size_t room) {
  member(frame, name, out, room);
  size_t length = strlen(out);
  if (length < 2 || out[0] != '"') return;
  memmove(out, out + 1, length - 2);
  out[length - 2] = 0;
}

/* Pushes a message that is on the server. */
static inline tl_status push_message(tl_client *client, const char *body) {
  static _Thread_local char text[4096];
  snprintf(text, sizeof text, "{\"type\":\"message_new\",\"conversation_id\":\"c\","
           "\"message\":%s}", body);
  return receive(client, text);
}

static inline void note(tl_view frame) {
  size_t size = frame.size < sizeof server.last - 1 ? frame.size : sizeof server.last - 1;
  memcpy(server.last, frame.data, size);
  server.last[size] = 0;
}

static inline int last_has(const char *text) { return strstr(server.last, text) != NULL; }

/* Answers one request. 0: nothing is to be handed in. */
static inline int respond(tl_view frame, char *out, size_t room) {
  char type[64], id[256];
  text_member(frame, "type", type, sizeof type);
  member(frame, "request_id", id, sizeof id);
  if (strcmp(type, "typing") == 0) {
    note(frame);
    return 0;
  }
  if (strcmp(type, "get_messages") == 0 || strcmp(type, "get_deleted_since") == 0) {
    answer(frame, server.messages, server.stamps, server.count, out, room);
    return 1;
  }
  char data[6000] = "{}";
  if (strcmp(type, "get_conversations") == 0) {
    size_t used = (size_t)snprintf(data, sizeof data, "{\"total_count\":%zu,\"conversations\":[",
                                   server.room_count);
    for (size_t i = 0; i < server.room_count; i++)
      used += (size_t)snprintf(data + used, sizeof data - used, "%s%s", i ? "," : "",
                               server.rooms[i]);
    snprintf(data + used, sizeof data - used, "]}");
  } else {
    note(frame);
    if (server.is_mute) return 0;
    if (server.error != NULL) {
      snprintf(out, room, "{\"type\":\"%s\",\"request_id\":%s,\"status\":\"error\",\"error\":{%s}}",
               type, id, server.error);
      server.error = NULL;
      return 1;
    }
    if (strcmp(type, "send_message") == 0) {
      char name[32], client[256], payload[512];
      text_member(frame, "client_id", client, sizeof client);
      text_member(frame, "conversation_id", server.room, sizeof server.room);
      member(frame, "payload", payload, sizeof payload);
      snprintf(name, sizeof name, "s%u", ++server.sends);
      snprintf(data, sizeof data, "{\"message\":%s}",
               server_message(name, "me", ++server.seconds, payload, client));
      server.room[0] = 0;
    } else {
      server.others++;
    }
    if (strcmp(type, "create_conversation") == 0) {
      char title[128];
      member(frame, "title", title, sizeof title);
      snprintf(server.rooms[server.room_count], sizeof *server.rooms,
               "{\"conversation_id\":\"k%zu\",\"title\":%s,\"participant_ids\":[\"me\",\"you\"],"
               "\"created_at\":\"2024-05-01T11:00:00\",\"updated_at\":\"2024-05-01T11:00:00\"}",
               server.room_count, title[0] ? title : "null");
      snprintf(data, sizeof data, "{\"conversation\":%s}", server.rooms[server.room_count++]);
    }
  }
  snprintf(out, room, "{\"type\":\"%s\",\"request_id\":%s,\"status\":\"ok\",\"data\":%s}", type, id,
           data);
  return 1;
}

/* Hands in the answer to a frame that was taken, and frees it. */
static inline void respond_to(tl_client *client, tl_frame *frame) {
  static _Thread_local char text[TEXT_ROOM];
  /* What is never answered is not waited for, and so not known by its number. */
  CHECK(tl_client_frame_sent(client, frame->id) >= TL_OK);
  if (respond(frame->bytes, text, sizeof text)) EXPECT(receive(client, text), TL_OK);
  tl_frame_free(frame);
}

/* Answers until there is nothing more to send. */
static inline void turn(tl_client *client) {
  for (int turns = 0; turns < 200; turns++) {
    tl_frame *frame = NULL;
    if (tl_client_next_frame(client, &frame) != TL_OK) return;
    respond_to(client, frame);
  }
  CHECK(!"a turn comes to its end");
}

static inline tl_window *open_screen(tl_client *client) {
  tl_window_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.conversation = view("c");
  tl_window *window = NULL;
  EXPECT(tl_window_open(client, &config, &window), TL_OK);
  return window;
}

/* The only operation with a number, as a batch that the caller frees. */
static inline const tl_operation *operation(tl_client *client, uint64_t number, tl_batch **batch) {
  static const tl_operation none;
  size_t count = 0;
  *batch = NULL;
  EXPECT(tl_client_operation(client, number, batch), TL_OK);
  const tl_operation *found = tl_batch_operations(*batch, &count);
  CHECK(count == 1);
  return count == 1 ? found : &none;
}

static inline tl_operation_state state_of(tl_client *client, uint64_t number) {
  tl_batch *batch;
  tl_operation_state state = operation(client, number, &batch)->state;
  tl_batch_free(batch);
  return state;
}

static inline tl_operation_wait wait_of(tl_client *client, uint64_t number) {
  tl_batch *batch;
  tl_operation_wait wait = operation(client, number, &batch)->waiting;
  tl_batch_free(batch);
  return wait;
}

static inline tl_send send_of(const char *payload) {
  tl_send send;
  memset(&send, 0, sizeof send);
  send.struct_size = sizeof send;
  send.conversation = view("c");
  send.payload = view(payload);
  return send;
}

/* Sends a message and gives its operation. */
static inline uint64_t send_text(tl_client *client, const char *payload, uint64_t *number) {
  tl_send send = send_of(payload);
  uint64_t made = 0;
  EXPECT(tl_client_send(client, &send, &made, number), TL_OK);
  CHECK(made != 0);
  return made;
}

static inline uint64_t perform(tl_client *client, const char *request) {
  uint64_t made = 0;
  EXPECT(tl_client_perform(client, view(request), 0, &made, NULL), TL_OK);
  return made;
}

static int64_t now_ms; /* What the clock of a test says. */

static inline int64_t now(void *unused) {
  (void)unused;
  return now_ms;
}

static inline tl_profile idempotent_profile(void) {
  tl_profile profile;
  memset(&profile, 0, sizeof profile);
  profile.struct_size = sizeof profile;
  profile.capabilities = TL_SERVER_IDEMPOTENT_SEND;
  return profile;
}

/* In a file with the system's clock, in memory with the test's. */
static inline tl_client *open_idempotent(const char *path) {
  static tl_profile profile;
  profile = idempotent_profile();
  tl_client_config config = path == NULL ? memory_config() : file_config(path);
  config.profile = &profile;
  if (path == NULL) config.clock = now;
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  return client;
}

static inline tl_state state_now(tl_client *client) {
  tl_state state;
  memset(&state, 0, sizeof state);
  state.struct_size = sizeof state;
  EXPECT(tl_client_state(client, &state), TL_OK);
  return state;
}

#endif
