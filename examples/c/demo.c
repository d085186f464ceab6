/* Plays one day of a chat client twice, side by side, against a live server: a
 * naive client that asks for the newest 50 each time and forgets all when it is
 * offline, and one with Tideline. Prints what each situation cost on its
 * connection and whether what the client then shows equals the server's list,
 * which is read independently. Ends with 0 when every row of Tideline was right.
 *
 *   demo PORT USER CONVERSATION FILE
 */
#include "lines.h"
#include <fcntl.h>
#include <sys/random.h>
#include <tideline.h>

/* An older page shares a few messages with what is known already. */
enum { NOWHERE = 1, PAGE = 50, OLDER = PAGE + 40, AWAY = 130, SHOWN = 3 };

struct message {
  char *id, *stamp, *sender, *payload;
  int hidden; /* a control message, never shown */
};

/* A list of messages, oldest first. */
struct list {
  struct message *rows;
  size_t count;
};

static const char *user, *conversation, *file;
static int port;
static struct line admin;
static unsigned wrong;

static void must(tl_status status, const char *what) {
  if (status >= TL_OK) return;
  fprintf(stderr, "%s: %s (%s)\n", what, tl_last_error(), tl_status_name(status));
  exit(1);
}

static tl_view text(const char *s) { return (tl_view){(const uint8_t *)s, strlen(s)}; }

static char *copy(const void *bytes, size_t size) {
  char *s = malloc(size + 1);
  if (s == NULL) die("no memory");
  if (size > 0) memcpy(s, bytes, size);
  s[size] = 0;
  return s;
}

/* The text of a JSON string; empty where it is none. Unescaped it is no longer than before. */
static char *copy_string(tl_view value) {
  char *s = copy(value.data, value.size);
  size_t size = tl_json_text(value, s, value.size);
  s[size > value.size ? 0 : size] = 0;
  return s;
}

static void clear(struct list *list) {
  for (size_t i = 0; i < list->count; i++) {
    free(list->rows[i].id);
    free(list->rows[i].stamp);
    free(list->rows[i].sender);
    free(list->rows[i].payload);
  }
  free(list->rows);
  *list = (struct list){NULL, 0};
}

static struct message *make_room(struct list *list, size_t count) {
  struct message *rows = realloc(list->rows, (list->count + count + 1) * sizeof *rows);
  if (rows == NULL) die("no memory");
  list->rows = rows;
  return rows;
}

/* ---- What is asked without the library ---- */

/* Sends a request and waits for its answer; gives `data`. */
static tl_view ask(struct line *line, const tl_json_writer *json) {
  tl_view request = tl_json_written(json), frame;
  if (request.data == NULL) die("a request is too long");
  if (put_line(line, request.data, request.size) != 0) die("the server hung up");
  while ((frame = get_line(line)).data != NULL)
    if (tl_json_member(frame, "request_id").data != NULL) {
      tl_view data = tl_json_member(frame, "data");
      if (data.data == NULL) die("the server refused");
      return data;
    }
  die("the server fell silent");
  return frame;
}

/* Asks for one page and puts it before what the list holds. Gives its size. */
static size_t fetch_page(struct line *line, struct list *list, unsigned limit, size_t offset) {
  char request[900];
  tl_json_writer json = {request, sizeof request, 0};
  tl_json_put_raw(&json, "{\"type\":\"get_messages\",\"request_id\":\"n\",\"conversation_id\":");
  tl_json_put_string(&json, text(conversation));
  tl_json_put_raw(&json, ",\"limit\":");
  tl_json_put_integer(&json, limit);
  tl_json_put_raw(&json, ",\"offset\":");
  tl_json_put_integer(&json, (int64_t)offset);
  tl_json_put_raw(&json, "}");
  tl_view messages = tl_json_member(ask(line, &json), "messages"), row = {NULL, 0};
  size_t count = 0, next = 0;
  while (tl_json_next(messages, &row)) count++;
  struct message *rows = make_room(list, count);
  if (list->count > 0) memmove(rows + count, rows, list->count * sizeof *rows);
  for (row = (tl_view){NULL, 0}; tl_json_next(messages, &row); next++) {
    tl_view payload = tl_json_member(row, "payload");
    rows[next] = (struct message){
        copy_string(tl_json_member(row, "message_id")),
        copy_string(tl_json_member(row, "created_at")),
        copy_string(tl_json_member(row, "sender_id")), copy(payload.data, payload.size),
        tl_json_member(payload, "_control").data != NULL};
  }
  list->count += count;
  return count;
}

/* The server's own list, whole. */
static void fetch_all(struct list *list) {
  clear(list);
  while (fetch_page(&admin, list, 500, list->count) > 0) continue;
}

/* `rest` is the JSON of further members. */
static void tell(const char *type, const char *rest) {
  char request[900];
  tl_json_writer json = {request, sizeof request, 0};
  tl_json_put_raw(&json, "{\"request_id\":\"a\",\"type\":");
  tl_json_put_string(&json, text(type));
  tl_json_put_raw(&json, ",\"conversation_id\":");
  tl_json_put_string(&json, text(conversation));
  tl_json_put_raw(&json, rest);
  tl_json_put_raw(&json, "}");
  ask(&admin, &json);
}

/* ---- The naive client ---- */

static struct line naive;
static struct list view;

static void naive_open(int to) {
  clear(&view);
  if (dial(&naive, to, user) == 0) fetch_page(&naive, &view, PAGE, 0);
}

/* ---- The client with the library ---- */

static struct line wire;
static tl_client *client;
static uint8_t key[TL_KEY_BYTES];

static void make_key(void) {
  char path[1100];
  snprintf(path, sizeof path, "%s.key", file);
  /* Nobody else can read it, not for a moment. */
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
  if (f == NULL || getrandom(key, sizeof key, 0) != sizeof key ||
      fwrite(key, 1, sizeof key, f) != sizeof key || fclose(f) != 0)
    die("the key cannot be kept");
}

/* What this host knows of its server: it keeps the newest rows of a cut page. */
static void open_client(void) {
  tl_profile profile = {.struct_size = sizeof profile, .page_limit = PAGE,
                        .truncates = TL_TRUNCATES_NEWEST, .ties = TL_TIES_ID};
  tl_client_config config = {.struct_size = sizeof config, .path = text(file),
                             .key = {key, sizeof key}, .user_id = text(user),
                             .profile = &profile};
  must(tl_client_open(&config, &client), "open");
}

static void close_client(void) {
  tl_client_free(client);
  client = NULL;
  hang_up(&wire);
}

static void connect_client(int to) {
  if (dial(&wire, to, user) == 0) must(tl_client_connected(client), "connected");
}

static void lose_connection(void) {
  hang_up(&wire);
  must(tl_client_disconnected(client), "disconnected");
}

/* Carries frames until the sync has ended. Offline it only asks the cache. */
static void sync_client(tl_sync_kind kind) {
  tl_sync_request request = {.struct_size = sizeof request, .conversation = text(conversation),
                             .kind = kind};
  tl_sync_status status = {.struct_size = sizeof status};
  uint64_t sync;
  if (wire.in == NULL) request.policy = TL_POLICY_CACHE_ONLY;
  must(tl_client_sync(client, &request, &sync), "sync");
  for (;;) {
    tl_frame *frame;
    while (tl_client_next_frame(client, &frame) == TL_OK) {
      if (put_line(&wire, frame->bytes.data, frame->bytes.size) != 0) die("the line is dead");
      must(tl_client_frame_sent(client, frame->id), "frame_sent");
      tl_frame_free(frame);
    }
    must(tl_client_sync_status(client, sync, &status), "sync_status");
    if (status.phase == TL_SYNC_ENDED) break;
    tl_view answer = get_line(&wire);
    if (answer.data == NULL) die("the line is dead");
    must(tl_client_receive(client, answer), "receive");
  }
  must(status.result, "the sync");
}

/* Everything that is known without a gap, up to the newest message. */
static void read_client(struct list *list, tl_coverage *coverage) {
  tl_query query = {.struct_size = sizeof query, .conversation = text(conversation),
                    .limit = 10000};
  tl_batch *batch;
  size_t count;
  clear(list);
  *coverage = (tl_coverage){.struct_size = sizeof *coverage};
  must(tl_client_messages(client, &query, &batch), "messages");
  must(tl_batch_coverage(batch, coverage), "coverage");
  const tl_message *rows = tl_batch_rows(batch, &count);
  for (size_t i = 0; i < count; i++)
    make_room(list, 1)[list->count++] = (struct message){
        copy(rows[i].id.data, rows[i].id.size), copy(rows[i].stamp.data, rows[i].stamp.size),
        copy(rows[i].sender.data, rows[i].sender.size),
        copy(rows[i].payload.data, rows[i].payload.size), 0};
  coverage->gaps = NULL;
  tl_batch_free(batch);
}

/* ---- The comparison ---- */

/* How many of the newest `want` messages of the server a client does not show,
 * and whether what it shows is, from the newest one on, exactly the server's. */
static size_t missing(const struct list *truth, const struct list *shown, size_t want, int *same) {
  size_t low = truth->count > want ? truth->count - want : 0, missed = 0, s = shown->count;
  *same = 1;
  for (size_t t = truth->count; t > 0; t--) {
    const struct message *a = &truth->rows[t - 1];
    if (a->hidden) continue;
    while (s > 0 && shown->rows[s - 1].hidden) s--;
    const struct message *b = s > 0 ? &shown->rows[s - 1] : NULL;
    if (b != NULL && strcmp(a->id, b->id) == 0 && strcmp(a->stamp, b->stamp) == 0 &&
        strcmp(a->sender, b->sender) == 0 && strcmp(a->payload, b->payload) == 0) {
      s--;
    } else if (t > low) {
      missed++;
    } else {
      break;
    }
  }
  while (s > 0 && shown->rows[s - 1].hidden) s--;
  *same = s == 0;
  return missed;
}

static void print_side(struct traffic t, size_t missed, int same, int width) {
  char verdict[40];
  if (missed > 0) snprintf(verdict, sizeof verdict, "%zu missed", missed);
  printf(" | %4u %4u %6llu %6llu  %-*s", t.messages, t.requests, (unsigned long long)t.sent,
         (unsigned long long)t.received, width, missed > 0 ? verdict : same ? "right" : "WRONG");
}

/* Ends a situation: reads the truth, judges both and prints their row. */
static void judge(const char *name, size_t want) {
  static struct list truth, shown;
  tl_coverage coverage;
  int naive_same, same;
  fetch_all(&truth);
  read_client(&shown, &coverage);
  size_t naive_missed = missing(&truth, &view, want, &naive_same);
  size_t missed = missing(&truth, &shown, want, &same);
  /* An answer that is right and does not know it would be no answer. */
  same = same && coverage.whole == 1;
  wrong += missed > 0 || !same;
  printf("%-30s", name);
  print_side(naive.traffic, naive_missed, naive_same, 10);
  print_side(wire.traffic, missed, same, 0);
  printf("\n");
  naive.traffic = wire.traffic = (struct traffic){0};
}

static void close_both(void) {
  hang_up(&naive);
  close_client();
}

static void open_both(int to) {
  naive_open(to);
  open_client();
  connect_client(to);
  sync_client(TL_SYNC_LATEST);
}

static void play(void) {
  char rest[100];
  tell("admin_post", ",\"count\":20,\"over_s\":1200");
  open_both(port);
  judge("first open", PAGE);

  close_both();
  tell("admin_post", ",\"count\":2,\"over_s\":300");
  open_both(port);
  judge("again after 5 min, 2 new", PAGE);

  close_both();
  tell("admin_advance", ",\"over_s\":300");
  open_both(port);
  judge("again after 5 min, none new", PAGE);

  fetch_page(&naive, &view, PAGE, view.count);
  sync_client(TL_SYNC_OLDER);
  judge("older page", OLDER);

  hang_up(&naive);
  lose_connection();
  snprintf(rest, sizeof rest, ",\"count\":%d,\"over_s\":7200", AWAY);
  tell("admin_post", rest);
  naive_open(port);
  connect_client(port);
  sync_client(TL_SYNC_LATEST);
  snprintf(rest, sizeof rest, "reconnect, %d new meanwhile", AWAY);
  judge(rest, AWAY);

  close_both();
  open_both(NOWHERE);
  judge("opened offline", PAGE);

  close_both();
  tell("admin_post", ",\"count\":3,\"over_s\":60");
  tell("admin_delete", ",\"count\":7");
  open_both(port);
  judge("7 deleted, 4 of them cached", PAGE);
}

static void print_newest(void) {
  static struct list shown;
  tl_coverage coverage;
  read_client(&shown, &coverage);
  printf("\nThe newest %d of %zu messages, read from C:\n", SHOWN, shown.count);
  for (size_t i = shown.count < SHOWN ? 0 : shown.count - SHOWN; i < shown.count; i++)
    printf("%s %s %s\n", shown.rows[i].stamp, shown.rows[i].sender, shown.rows[i].payload);
  clear(&shown);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: demo PORT USER CONVERSATION FILE\n");
    return 2;
  }
  port = atoi(argv[1]);
  user = argv[2];
  conversation = argv[3];
  file = argv[4];
  make_key();
  if (dial(&admin, port, user) != 0) die("nobody listens on that port");
  printf("%-30s | %-35s | %s\n", "", "naive client", "Tideline");
  printf("%-30s | msgs reqs   sent   recv  answer     | msgs reqs   sent   recv  answer\n",
         "situation");
  play();
  print_newest();
  /* Nothing is closed, as when a process is killed: the log stays beside the file. */
  return wrong > 0;
}
