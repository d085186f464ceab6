/* examples/c/link.h: a connection is made again after each error that passes by itself.
   The server is a socket of this thread, and time is a number. */
#include "../../examples/c/link.h"

#include "check.h"
#include "memory_storage.h"

static int64_t now = 1000;
static int64_t clock_ms(void) { return now; }
static int64_t client_clock(void *context) {
  (void)context;
  return now;
}
static unsigned none(void) { return 0; }

static int listener, port, peer = -1;

static void listening(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
  CHECK(listen(listener, 8) == 0);
  CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
  port = ntohs(address.sin_port);
}

static void say(const char *line) {
  CHECK(send(peer, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line));
}

/* What the other end has sent; empty for nothing. */
static const char *heard(void) {
  static char text[1 << 16];
  ssize_t n = recv(peer, text, sizeof text - 1, MSG_DONTWAIT);
  text[n > 0 ? n : 0] = 0;
  return text;
}

static void hang_up(void) {
  if (peer >= 0) close(peer);
  peer = -1;
}

/* Takes a connection that was dialled; 0 where there is none. */
static int accepted(void) {
  hang_up();
  peer = accept(listener, NULL, NULL);
  /* Each part is there when it was sent. */
  (void)!setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  return peer >= 0;
}

static tl_client *opened(const tl_storage *storage) {
  tl_client_config config = storage ? file_config("eva") : memory_config();
  tl_client *client = NULL;
  config.storage = storage;
  config.clock = client_clock;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  return client;
}

static struct link linked(int to) {
  struct link link;
  link_init(&link, to, "eva");
  link.now_ms = clock_ms;
  link.draw = none;
  return link;
}

static void turns(struct link *link, tl_client *client) {
  for (int i = 0; i < 6; i++) EXPECT(link_turn(link, client, 0), TL_OK);
}

/* Dials, and answers the greeting. */
static void greet(struct link *link, tl_client *client) {
  now = link->due_ms > now ? link->due_ms : now;
  turns(link, client);
  CHECK(accepted());
  CHECK(strcmp(heard(), "{\"type\":\"hello\",\"user\":\"eva\"}\n") == 0);
  say("{\"type\":\"hello\",\"status\":\"ok\"}\n");
  turns(link, client);
  CHECK(link->is_greeted && link->trouble == NULL);
}

static const char push[] =
    "{\"type\":\"message_new\",\"message\":{\"message_id\":\"m1\",\"conversation_id\":\"c\","
    "\"sender_id\":\"you\",\"payload\":\"hi\",\"created_at\":\"2026-02-15T22:15:45\"}}\n";

static void end(struct link *link, tl_client *client) {
  link_close(link, client);
  tl_client_free(client);
  hang_up();
}

static void test_frames_go_both_ways(void) {
  tl_client *client = opened(NULL);
  struct link link = linked(port);
  EXPECT(sync_latest(client, NULL), TL_OK);
  greet(&link, client);
  CHECK(strstr(heard(), "\"get_messages\"") != NULL);
  /* In parts, and two lines at once. */
  say("{\"type\":");
  turns(&link, client);
  say("\"unknown\"}\nno JSON\n");
  turns(&link, client);
  say(push);
  turns(&link, client);
  CHECK(row_count(client) == 1 && link.made == 1 && link.is_greeted);
  end(&link, client);
}

/* Nobody listens: each pause is twice as long, up to half a minute. */
static void test_pauses(void) {
  static const int64_t shortest[] = {250, 500, 1000, 2000, 4000, 8000, 15000, 15000};
  tl_client *client = opened(NULL);
  struct link link = linked(1);
  for (size_t i = 0; i < sizeof shortest / sizeof *shortest; i++) {
    EXPECT(link_turn(&link, client, 0), TL_OK);
    CHECK(link.fd < 0 && link.trouble != NULL);
    CHECK(link.due_ms - now == shortest[i]);
    now = link.due_ms - 1;
    EXPECT(link_turn(&link, client, 0), TL_OK);
    CHECK(link.due_ms == now + 1);
    now++;
  }
  link.failures = 0;
  for (int i = 0; i < 100; i++) {
    link.draw = link_draw;
    link.failures = 2;
    int64_t pause = link_pause(&link);
    CHECK(pause >= 1000 && pause <= 2000);
  }
  link.failures = 4000000000u;
  CHECK(link_pause(&link) <= LINK_PAUSE_MAX_MS);
  end(&link, client);
}

static void test_a_lost_connection(void) {
  tl_client *client = opened(NULL);
  struct link link = linked(port);
  EXPECT(sync_latest(client, NULL), TL_OK);
  greet(&link, client);
  CHECK(strstr(heard(), "\"get_messages\"") != NULL);
  hang_up();
  turns(&link, client);
  CHECK(link.fd < 0 && link.trouble != NULL);
  tl_state state = {.struct_size = sizeof state};
  EXPECT(tl_client_state(client, &state), TL_OK);
  CHECK(state.phase == TL_PHASE_OFFLINE);
  CHECK(!accepted());
  greet(&link, client);
  turns(&link, client);
  /* What was asked is asked again. */
  CHECK(strstr(heard(), "\"get_messages\"") != NULL);
  CHECK(link.made == 2 && link.failures == 1);
  say(push);
  turns(&link, client);
  CHECK(link.failures == 0);
  end(&link, client);
}

/* It takes requests and says nothing; or it does not even greet. */
static void test_a_silent_server(void) {
  tl_client *client = opened(NULL);
  struct link link = linked(port);
  EXPECT(sync_latest(client, NULL), TL_OK);
  turns(&link, client);
  CHECK(accepted());
  now += LINK_PATIENCE_MS - 1;
  turns(&link, client);
  CHECK(link.fd >= 0);
  now++;
  turns(&link, client);
  CHECK(link.fd < 0 && !link.is_greeted);
  greet(&link, client);
  for (int i = 0; i < 600 && link.is_greeted; i++) {
    now += 1000;
    turns(&link, client);
  }
  CHECK(!link.is_greeted && strcmp(link.trouble, "the server is silent") == 0);
  greet(&link, client);
  say(push);
  turns(&link, client);
  CHECK(row_count(client) == 1);
  end(&link, client);
}

static void test_a_greeting_that_is_refused(void) {
  tl_client *client = opened(NULL);
  struct link link = linked(port);
  turns(&link, client);
  CHECK(accepted());
  say("{\"type\":\"hello\",\"status\":\"error\"}\n");
  turns(&link, client);
  CHECK(link.fd < 0 && !link.is_greeted && link.made == 0);
  end(&link, client);
}

static int is_full;
static tl_status full_write(void *context, const tl_stored *at, uint64_t offset,
                            const tl_view *in) {
  return is_full ? TL_E_FULL : mem_write(context, at, offset, in);
}

static void test_a_full_disk(void) {
  mem_storage *memory = mem_new(MEM_GOOD);
  tl_storage table = mem_table(memory);
  table.write = full_write;
  tl_client *client = opened(&table);
  struct link link = linked(port);
  greet(&link, client);
  is_full = 1;
  for (unsigned i = 1; i <= 3; i++) {
    say(push);
    turns(&link, client);
    CHECK(link.fd < 0 && strcmp(link.trouble, "TL_E_FULL") == 0);
    CHECK(row_count(client) == 0 && link.failures == i);
    greet(&link, client);
  }
  is_full = 0;
  say(push);
  turns(&link, client);
  CHECK(row_count(client) == 1 && link.is_greeted && link.failures == 0);
  end(&link, client);
  mem_free(memory);
}

/* Another holder has the storage, or the client was closed: this is said, and ends the loop. */
static void test_what_no_pause_mends(void) {
  mem_storage *memory = mem_new(MEM_GOOD);
  tl_storage table = mem_table(memory);
  tl_client *client = opened(&table), *other;
  struct link link = linked(port);
  greet(&link, client);
  other = opened(&table);
  say(push);
  tl_status status = TL_OK;
  for (int i = 0; i < 6 && status >= 0; i++) status = link_turn(&link, client, 0);
  CHECK(status == TL_E_LOCKED);
  tl_client_free(other);
  tl_client_close(client);
  EXPECT(link_turn(&link, client, 0), TL_E_CLOSED);
  end(&link, client);
  mem_free(memory);
}

/* A line that never ends is not kept for ever. */
static void test_a_line_without_an_end(void) {
  static char part[1 << 16];
  tl_client *client = opened(NULL);
  struct link link = linked(port);
  greet(&link, client);
  memset(part, 'x', sizeof part);
  for (int i = 0; i < 400 && link.fd >= 0; i++) {
    (void)!send(peer, part, sizeof part, MSG_NOSIGNAL | MSG_DONTWAIT);
    turns(&link, client);
  }
  CHECK(link.fd < 0 && strcmp(link.trouble, "a line is too long") == 0);
  CHECK(link.room < 2 * LINK_LINE_MAX);
  end(&link, client);
}

/* A descriptor of the host's ends a wait that would have no end. */
static void test_a_descriptor_of_the_hosts(void) {
  tl_client *client = opened(NULL);
  struct link link = linked(port);
  int ends[2];
  CHECK(pipe(ends) == 0);
  greet(&link, client);
  link.other = ends[0];
  turns(&link, client);
  CHECK(!link.is_other_ready);
  CHECK(write(ends[1], "u", 1) == 1);
  EXPECT(link_turn(&link, client, -1), TL_OK);
  CHECK(link.is_other_ready);
  close(ends[0]);
  close(ends[1]);
  end(&link, client);
}

int main(void) {
  listening();
  RUN(test_frames_go_both_ways);
  RUN(test_pauses);
  RUN(test_a_lost_connection);
  RUN(test_a_silent_server);
  RUN(test_a_greeting_that_is_refused);
  RUN(test_a_full_disk);
  RUN(test_what_no_pause_mends);
  RUN(test_a_line_without_an_end);
  RUN(test_a_descriptor_of_the_hosts);
  close(listener);
  return report("link");
}
