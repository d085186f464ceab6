/* A writer is killed with SIGKILL at 200 random points. Each time the file opens
   again and everything the writer was told is committed is there, unchanged. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

/* Under the address sanitizer, where each process starts slowly, fewer. */
static int kills = 200;

static char folder[] = "/tmp/tideline-kill-XXXXXX";
static char path[300];
static const char *self;

/* A message whose every part follows from its number. */
static int message(char *out, size_t room, unsigned n) {
  return snprintf(out, room,
                  "{\"message_id\":\"m%u\",\"conversation_id\":\"c\",\"sender_id\":\"you\","
                  "\"created_at\":\"2024-%02u-%02uT%02u:%02u:%02u\",\"payload\":\"%u:%0*u\"}",
                  n, 1 + n / 2419200 % 12, 1 + n / 86400 % 28, n / 3600 % 24, n / 60 % 60, n % 60,
                  n, (int)(8 + n % 700), n);
}

/* One event to the parent: a letter and a number, in one write. */
static void say(char what, unsigned n) {
  char line[32];
  int size = snprintf(line, sizeof line, "%c%u\n", what, n);
  if (write(1, line, (size_t)size) != size) _exit(3);
}

/* What this user writes, whose every part follows from its number. */
static tl_status write_message(tl_client *client, unsigned n) {
  char id[32], payload[800];
  snprintf(id, sizeof id, "o%u", n);
  snprintf(payload, sizeof payload, "\"%u:%0*u\"", n, (int)(8 + n % 700), n);
  tl_send send;
  memset(&send, 0, sizeof send);
  send.struct_size = sizeof send;
  send.conversation = view("c");
  send.payload = view(payload);
  send.client_id = view(id);
  return tl_client_send(client, &send, NULL, NULL);
}

/* The writer: messages, read marks, removals, sends and drafts until it is killed.
   After each acknowledged step it says so. */
static int writer(const char *file, unsigned from) {
  tl_client_config config = file_config(file);
  tl_client *client = NULL;
  if (tl_client_open(&config, &client) != TL_OK) return 2;
  say('o', 0);
  if (tl_client_connected(client) != TL_OK) return 2;
  static char text[8192], frame[9000];
  for (unsigned n = from;; n++) {
    message(text, sizeof text, n);
    snprintf(frame, sizeof frame,
             "{\"type\":\"message_new\",\"conversation_id\":\"c\",\"message\":%s}", text);
    if (receive(client, frame) != TL_OK) return 2;
    say('m', n);
    char id[32];
    snprintf(id, sizeof id, "m%u", n);
    tl_view one = view(id);
    if (n % 7 == 3) {
      if (tl_client_mark_read(client, view("c"), &one, 1) != TL_OK) return 2;
      say('r', n);
    }
    if (n % 5 == 2) {
      if (write_message(client, n) != TL_OK) return 2;
      say('s', n);
    }
    if (n % 9 == 4) {
      char draft[32];
      snprintf(draft, sizeof draft, "%u", n);
      if (set_draft(client, view("c"), view(draft), one) != TL_OK) return 2;
      say('d', n);
    }
    if (n % 11 == 5) {
      say('F', n); /* Asked: from here on both answers are right. */
      if (tl_client_forget(client, view("c"), one) != TL_OK) return 2;
      say('f', n);
    }
  }
}

enum { KNOWN = 1, READ = 2, MAYBE_FORGOTTEN = 4, FORGOTTEN = 8, SENT = 16, ROOM = 1 << 20 };
static uint8_t acknowledged[ROOM];
static unsigned highest, drafted;

/* Takes in what the writer says, until it has said `events` things or is gone. */
static void listen_to(FILE *pipe, unsigned events, int *opened) {
  char line[64];
  while (events-- > 0 && fgets(line, sizeof line, pipe) != NULL) {
    size_t length = strlen(line);
    if (length < 3 || line[length - 1] != '\n') return;
    unsigned n = (unsigned)strtoul(line + 1, NULL, 10);
    if (line[0] == 'o') *opened = 1;
    if (line[0] == 'o' || n >= ROOM) continue;
    if (n > highest) highest = n;
    if (line[0] == 'm') acknowledged[n] |= KNOWN;
    if (line[0] == 'r') acknowledged[n] |= READ;
    if (line[0] == 's') acknowledged[n] |= SENT;
    if (line[0] == 'd' && n > drafted) drafted = n;
    if (line[0] == 'F') acknowledged[n] |= MAYBE_FORGOTTEN;
    if (line[0] == 'f') acknowledged[n] |= FORGOTTEN;
  }
}

/* Runs a writer and kills it so long after it has said `events` things. */
static void run_and_kill(unsigned from, unsigned events, unsigned wait_us, int *opened) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    char number[32];
    snprintf(number, sizeof number, "%u", from);
    execl(self, self, path, number, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  FILE *pipe = fdopen(ends[0], "r");
  listen_to(pipe, events, opened);
  struct timespec time = {wait_us / 1000000, (long)(wait_us % 1000000) * 1000};
  nanosleep(&time, NULL);
  kill(child, SIGKILL);
  listen_to(pipe, UINT32_MAX, opened);
  fclose(pipe);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Whatever this user wrote waits, under its client id, and the draft is not an old one. */
static void verify_own(tl_client *client) {
  char id[32], payload[800];
  tl_batch *batch = NULL;
  size_t count = 0;
  unsigned sends = 0;
  for (unsigned n = 0; n <= highest && !broken; n++) {
    if (!(acknowledged[n] & SENT)) continue;
    sends++;
    snprintf(id, sizeof id, "o%u", n);
    snprintf(payload, sizeof payload, "\"%u:%0*u\"", n, (int)(8 + n % 700), n);
    EXPECT(tl_client_message(client, view("c"), view(id), &batch), TL_OK);
    const tl_message *row = tl_batch_rows(batch, &count);
    CHECK(count == 1 && is(row->payload, payload) && row->state == TL_MESSAGE_QUEUED);
    tl_batch_free(batch);
    batch = NULL;
    if (broken) printf("kill: send %u is wrong\n", n);
  }
  tl_state state;
  memset(&state, 0, sizeof state);
  state.struct_size = sizeof state;
  EXPECT(tl_client_state(client, &state), TL_OK);
  CHECK(state.operations_open >= sends && state.operations_stuck == 0);
  if (drafted == 0) return;
  EXPECT(tl_client_conversation(client, view("c"), &batch), TL_OK);
  const tl_conversation *row = tl_batch_conversations(batch, &count);
  char draft[32] = "";
  CHECK(count == 1 && row->draft.size > 0 && row->draft.size < sizeof draft);
  if (count == 1 && row->draft.size < sizeof draft)
    memcpy(draft, row->draft.data, row->draft.size);
  CHECK(strtoul(draft, NULL, 10) >= drafted);
  tl_batch_free(batch);
}

/* Compares every message that was acknowledged with what the file holds. */
static void verify(tl_client *client) {
  char text[8192], id[32];
  unsigned reads = 0;
  verify_own(client);
  for (unsigned n = 0; n <= highest; n++) {
    if (!(acknowledged[n] & KNOWN)) continue;
    snprintf(id, sizeof id, "m%u", n);
    tl_batch *batch = NULL;
    tl_status status = tl_client_message(client, view("c"), view(id), &batch);
    if (acknowledged[n] & FORGOTTEN) {
      CHECK(status == TL_E_NOT_FOUND);
    } else if (!(status == TL_E_NOT_FOUND && acknowledged[n] & MAYBE_FORGOTTEN)) {
      CHECK(status == TL_OK);
      size_t count = 0;
      const tl_message *row = tl_batch_rows(batch, &count);
      CHECK(count == 1);
      if (count == 1) {
        message(text, sizeof text, n);
        const char *payload = strstr(text, "\"payload\":") + strlen("\"payload\":");
        CHECK(row->payload.size + 1 == strlen(payload) &&
              memcmp(row->payload.data, payload, row->payload.size) == 0);
        if (acknowledged[n] & READ) reads++;
      }
    }
    tl_batch_free(batch);
    if (broken) {
      printf("kill: message %u is wrong\n", n);
      return;
    }
  }
  /* No server ever confirmed a read mark, so each is still owed. */
  tl_state state;
  memset(&state, 0, sizeof state);
  state.struct_size = sizeof state;
  EXPECT(tl_client_state(client, &state), TL_OK);
  CHECK(state.reads_pending >= reads);
}

static void reopen(int check_all) {
  tl_client_config config = file_config(path);
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  if (client != NULL && check_all) verify(client);
  tl_client_free(client);
}

static void killed_at_random(void) {
  unsigned state = 12345;
  unsigned while_opening = 0;
  for (int turn = 0; turn < kills && !broken; turn++) {
    state = state * 1664525u + 1013904223u;
    int opened = 0;
    /* A third of the kills fall near the opening, the rest while it writes. */
    unsigned events = turn % 3 ? 1 + (state >> 20) % 50 : 0;
    unsigned wait_us = (state >> 8) % (events ? 1500 : 12000);
    run_and_kill(highest + 1, events, wait_us, &opened);
    while_opening += !opened;
    reopen(turn % 10 == 9 || turn == kills - 1);
    if (broken) printf("kill: turn %d, %u events, %u us\n", turn, events, wait_us);
  }
  CHECK(highest > (unsigned)kills);
  printf("kill: %d kills, %u of them while opening, %u messages acknowledged\n", kills,
         while_opening, highest);
}

static void two_writers(void) {
  tl_client_config config = file_config(path);
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    int devnull = open("/dev/null", O_WRONLY);
    dup2(devnull, 1);
    execl(self, self, path, "locked", (char *)NULL);
    _exit(127);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  tl_client_free(client);
}

/* In another process: the file must be refused as being in use. */
static int try_locked(const char *file) {
  tl_client_config config = file_config(file);
  tl_client *client = NULL;
  return tl_client_open(&config, &client) == TL_E_LOCKED && client == NULL ? 42 : 1;
}

static int stat_equal(const struct stat *a, const struct stat *b) {
  return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* header: "A failed opening changes nothing in an existing file." */
static void wrong_openings(void) {
  struct stat before, after;
  tl_client *client = NULL;
  CHECK(stat(path, &before) == 0);
  static const uint8_t other_key[TL_KEY_BYTES] = {9};
  tl_client_config config = file_config(path);
  config.key.data = other_key;
  EXPECT(tl_client_open(&config, &client), TL_E_KEY);
  config = file_config(path);
  config.user_id = view("somebody");
  EXPECT(tl_client_open(&config, &client), TL_E_MISMATCH);
  config = file_config(path);
  config.account = view("work");
  EXPECT(tl_client_open(&config, &client), TL_E_MISMATCH);
  CHECK(stat(path, &after) == 0 && stat_equal(&before, &after));

  char other[400];
  snprintf(other, sizeof other, "%s/absent.tideline", folder);
  config = file_config(other);
  config.flags = TL_OPEN_EXISTING;
  EXPECT(tl_client_open(&config, &client), TL_E_NOT_FOUND);
  CHECK(stat(other, &after) != 0);
  snprintf(other, sizeof other, "%s/foreign.txt", folder);
  FILE *file = fopen(other, "w");
  for (int i = 0; i < 1000; i++) fprintf(file, "This is a letter, not a database.\n");
  fclose(file);
  CHECK(stat(other, &before) == 0);
  config = file_config(other);
  EXPECT(tl_client_open(&config, &client), TL_E_NOT_OURS);
  CHECK(stat(other, &after) == 0 && stat_equal(&before, &after));
  unlink(other);
}

/* header: "Destroys a client's data for good and closes it: for log-out." */
static void wiped(void) {
  struct stat gone;
  tl_client_config config = file_config(path);
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  EXPECT(tl_client_wipe(client), TL_OK);
  EXPECT(tl_client_connected(client), TL_E_CLOSED);
  tl_client_free(client);
  CHECK(stat(path, &gone) != 0);
  CHECK(rmdir(folder) == 0); /* Nothing was left behind. */
}

int main(int count, char **arguments) {
  self = arguments[0];
  if (count > 2 && strcmp(arguments[2], "locked") == 0) return try_locked(arguments[1]);
  if (count > 2) return writer(arguments[1], (unsigned)strtoul(arguments[2], NULL, 10));
  const char *mode = getenv("TL_TEST_MODE");
  if (mode != NULL && strcmp(mode, "address") == 0) kills = 20;
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(path, sizeof path, "%s/a.tideline", folder);
  RUN(killed_at_random);
  RUN(two_writers);
  RUN(wrong_openings);
  RUN(wiped);
  return report("kill");
}
