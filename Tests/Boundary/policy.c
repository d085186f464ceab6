/* Policies from C: where an answer may come from, what it says of that, and what is refused. */
#include "check.h"

static const char *messages[] = {
    "{\"message_id\":\"m1\",\"sender_id\":\"you\",\"payload\":{\"text\":\"a\"},"
    "\"created_at\":\"2024-05-01T10:00:01\"}"};
static const char *stamps[] = {"\"2024-05-01T10:00:01\""};

static tl_policy next_policy;
static uint32_t next_limit, asked_flags;
static int asked, dropped;

static void choose(void *context, const tl_policy_question *question, tl_policy_choice *out) {
  CHECK(context == &asked && is(question->conversation, "c"));
  CHECK(out->policy == TL_POLICY_CACHE_THEN_NETWORK && out->limit_ms == 0 && out->age_us == 0);
  asked++;
  asked_flags = question->flags;
  out->policy = next_policy;
  out->limit_ms = next_limit;
}

static void drop(void *context) { dropped += context == &asked; }

static tl_client *opened(void) {
  tl_client_config config = memory_config();
  tl_client *client = NULL;
  config.choose = choose;
  config.choose_context = &asked;
  config.choose_drop = drop;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  return client;
}

static tl_sync_request request(tl_policy policy) {
  tl_sync_request out;
  memset(&out, 0, sizeof out);
  out.struct_size = sizeof out;
  out.conversation = view("c");
  out.policy = policy;
  return out;
}

static tl_sync_status status_of(tl_client *client, uint64_t sync) {
  tl_sync_status out = {.struct_size = sizeof out};
  EXPECT(tl_client_sync_status(client, sync, &out), TL_OK);
  return out;
}

static void each_says_what_it_stands_on(void) {
  tl_client *client = opened();
  uint64_t sync = 0;
  tl_sync_request asks = request(TL_POLICY_NETWORK_ONLY);
  EXPECT(tl_client_sync(client, &asks, &sync), TL_OK);
  CHECK(status_of(client, sync).phase == TL_SYNC_ENDED);
  CHECK(status_of(client, sync).result == TL_E_OFFLINE);
  asks.policy = TL_POLICY_NETWORK_FIRST;
  EXPECT(tl_client_sync(client, &asks, &sync), TL_OK);
  CHECK(status_of(client, sync).result == TL_OK && status_of(client, sync).reason == TL_E_OFFLINE);
  CHECK(status_of(client, sync).basis == TL_BASIS_CACHE && status_of(client, sync).as_of_us == 0);
  asks.limit_ms = 60000;
  EXPECT(tl_client_sync(client, &asks, &sync), TL_OK);
  CHECK(status_of(client, sync).phase == TL_SYNC_WAITING);
  EXPECT(tl_client_connected(client), TL_OK);
  serve(client, messages, stamps, 1, NULL);
  tl_sync_status done = status_of(client, sync);
  CHECK(done.phase == TL_SYNC_ENDED && done.result == TL_OK && done.basis == TL_BASIS_NETWORK);
  CHECK(done.reason == TL_OK && done.as_of_us > 0);
  asks = request(TL_POLICY_MAX_AGE);
  asks.age_us = 3600000000;
  EXPECT(tl_client_sync(client, &asks, &sync), TL_OK);
  CHECK(status_of(client, sync).phase == TL_SYNC_ENDED);
  CHECK(status_of(client, sync).as_of_us == done.as_of_us);
  CHECK(status_of(client, sync).basis == TL_BASIS_CACHE);
  tl_client_free(client);
}

static void the_host_chooses(void) {
  asked = dropped = 0;
  tl_client *client = opened();
  uint64_t sync = 0;
  tl_sync_request asks = request(TL_POLICY_HOST);
  next_policy = TL_POLICY_CACHE_ONLY;
  EXPECT(tl_client_sync(client, &asks, &sync), TL_OK);
  CHECK(status_of(client, sync).phase == TL_SYNC_ENDED && asked == 1 && asked_flags == 0);
  /* What is no policy is the usual one. */
  next_policy = 99;
  EXPECT(tl_client_sync(client, &asks, &sync), TL_OK);
  CHECK(status_of(client, sync).phase == TL_SYNC_WAITING && asked == 2);
  tl_window_config config = {.struct_size = sizeof config, .conversation = view("c"),
                             .policy = TL_POLICY_HOST};
  tl_window *window = NULL;
  next_policy = TL_POLICY_NETWORK_ONLY;
  EXPECT(tl_window_open(client, &config, &window), TL_OK);
  tl_diff *diff = NULL;
  EXPECT(tl_window_poll(window, &diff), TL_NONE);
  CHECK(asked == 4 && asked_flags == TL_POLICY_WINDOW);
  tl_window_status state = {.struct_size = sizeof state};
  EXPECT(tl_window_state(window, &state), TL_OK);
  CHECK(state.trouble == TL_E_OFFLINE && state.basis == TL_BASIS_CACHE);
  /* What is no longer forbidden is shown. */
  next_policy = TL_POLICY_CACHE_ONLY;
  EXPECT(tl_window_poll(window, &diff), TL_NONE);
  EXPECT(tl_window_state(window, &state), TL_OK);
  CHECK(state.trouble == TL_OK);
  tl_window_free(window);
  /* A limit that is too long counts as the longest. */
  next_policy = TL_POLICY_NETWORK_FIRST;
  next_limit = 3600001;
  EXPECT(tl_client_sync(client, &asks, &sync), TL_OK);
  int64_t wait = 0;
  EXPECT(tl_client_advance(client, &wait), TL_OK);
  CHECK(wait > 0 && wait <= 3600000);
  CHECK(status_of(client, sync).phase == TL_SYNC_WAITING);
  EXPECT(tl_client_cancel(client, sync), TL_OK);
  next_limit = 0;
  tl_client_free(client);
  CHECK(dropped == 1);
}

static void misuse(void) {
  tl_client *client = open_memory();
  uint64_t sync = 0;
  tl_sync_request asks = request(TL_POLICY_HOST);
  EXPECT(tl_client_sync(client, &asks, &sync), TL_E_INVALID);
  asks.policy = 6;
  EXPECT(tl_client_sync(client, &asks, &sync), TL_E_INVALID);
  asks = request(TL_POLICY_NETWORK_FIRST);
  asks.limit_ms = 3600001;
  EXPECT(tl_client_sync(client, &asks, &sync), TL_E_INVALID);
  asks = request(TL_POLICY_MAX_AGE);
  asks.age_us = -1;
  EXPECT(tl_client_sync(client, &asks, &sync), TL_E_INVALID);
  asks = request(TL_POLICY_MAX_AGE);
  asks.reserved = 1;
  EXPECT(tl_client_sync(client, &asks, &sync), TL_E_INVALID);
  CHECK(sync == 0);
  tl_window_config config = {.struct_size = sizeof config, .conversation = view("c"),
                             .policy = TL_POLICY_HOST};
  tl_window *window = NULL;
  EXPECT(tl_window_open(client, &config, &window), TL_E_INVALID);
  config.policy = 77;
  EXPECT(tl_window_open(client, &config, &window), TL_E_INVALID);
  tl_client_free(client);
}

int main(void) {
  RUN(each_says_what_it_stands_on);
  RUN(the_host_chooses);
  RUN(misuse);
  return report("policy");
}
