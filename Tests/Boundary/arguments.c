/* What a host may get wrong: NULL in each pointer, structs of other versions,
   values that are not in the header, foreign and closed handles. */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static const uint8_t byte = 1;

/* Opens with a changed configuration and gives the status. */
static tl_status open_status(const tl_client_config *config) {
  tl_client *client = (tl_client *)(uintptr_t)&byte;
  tl_status status = tl_client_open(config, &client);
  CHECK((status == TL_OK) == (client != NULL));
  tl_client_free(client);
  return status;
}

#define REFUSED(change, expected)                                              \
  do {                                                                         \
    tl_client_config config = memory_config();                                 \
    change;                                                                    \
    EXPECT(open_status(&config), expected);                                    \
  } while (0)

static void configurations(void) {
  static char long_text[2000];
  memset(long_text, 'x', sizeof long_text - 1);
  tl_client *client = NULL;
  EXPECT(tl_client_open(NULL, &client), TL_E_INVALID);
  CHECK(client == NULL);
  tl_client_config good = memory_config();
  EXPECT(tl_client_open(&good, NULL), TL_E_INVALID);
  REFUSED((void)0, TL_OK);
  REFUSED(config.struct_size = 0, TL_E_INVALID);
  REFUSED(config.struct_size = 4, TL_E_INVALID);
  REFUSED(config.struct_size = 12, TL_E_INVALID);
  REFUSED(config.struct_size = UINT32_MAX, TL_E_INVALID);
  REFUSED(config.flags |= 1u << 30, TL_E_INVALID);
  REFUSED(config.seen_ms = 3600001, TL_E_INVALID);
  REFUSED(config.key_kind = 3, TL_E_INVALID);
  REFUSED(config.flags |= TL_OPEN_EXISTING, TL_E_INVALID);
  REFUSED(config.path = view("x.db"), TL_E_INVALID);
  REFUSED((config.key.data = test_key, config.key.size = 32), TL_E_INVALID);
  REFUSED(config.user_id.size = 0, TL_E_INVALID);
  REFUSED(config.user_id.data = NULL, TL_E_INVALID);
  REFUSED(config.user_id = view("\xff"), TL_E_INVALID);
  REFUSED(config.user_id = view(long_text), TL_E_INVALID);
  REFUSED(config.account.data = NULL, TL_E_INVALID);
  REFUSED(config.account = view("\xc3"), TL_E_INVALID);
  REFUSED(config.account.size = SIZE_MAX, TL_E_INVALID);
  REFUSED(config.account.size = 0, TL_OK);
  REFUSED(config.requests_max = 64, TL_OK);
  REFUSED(config.requests_max = 65, TL_E_INVALID);
  REFUSED(config.cache_bytes = (uint64_t)1 << 63, TL_E_INVALID);
  REFUSED(config.request_timeout_ms = UINT32_MAX, TL_OK);
}

static void files(void) {
  static char long_text[2000];
  memset(long_text, 'x', sizeof long_text - 1);
  const char *nowhere = "/nonexistent/folder/x.db";
  tl_client_config config = file_config(nowhere);
  config.key.size = 31;
  EXPECT(open_status(&config), TL_E_INVALID);
  config.key.size = 33;
  EXPECT(open_status(&config), TL_E_INVALID);
  config = file_config(nowhere);
  config.key.data = NULL;
  EXPECT(open_status(&config), TL_E_INVALID);
  config = file_config("");
  EXPECT(open_status(&config), TL_E_INVALID);
  config = file_config("\xff\xfe.db");
  EXPECT(open_status(&config), TL_E_INVALID);
  config = file_config(long_text);
  EXPECT(open_status(&config), TL_E_INVALID);
  config = file_config(nowhere);
  config.path.data = (const uint8_t *)"a\0b";
  config.path.size = 3;
  EXPECT(open_status(&config), TL_E_INVALID);
  config = file_config(nowhere);
  EXPECT(open_status(&config), TL_E_STORAGE);
  CHECK(strstr(tl_last_error(), "nonexistent") == NULL);
}

#define PROFILE(change, expected)                                              \
  do {                                                                         \
    tl_client_config config = memory_config();                                 \
    tl_profile profile;                                                        \
    memset(&profile, 0, sizeof profile);                                       \
    profile.struct_size = sizeof profile;                                      \
    change;                                                                    \
    config.profile = &profile;                                                 \
    EXPECT(open_status(&config), expected);                                    \
  } while (0)

#define IDEMPOTENT(change, expected) \
  PROFILE((profile.capabilities = TL_SERVER_IDEMPOTENT_SEND, (void)(change)), expected)

static void profiles(void) {
  PROFILE((void)0, TL_OK);
  PROFILE(profile.struct_size = 0, TL_E_INVALID);
  PROFILE(profile.flags = 126, TL_OK);
  PROFILE(profile.flags = TL_PROFILE_ORDER_NOT_TIME, TL_E_UNSUPPORTED);
  PROFILE((profile.flags = TL_PROFILE_ORDER_NOT_TIME, profile.capabilities = TL_SERVER_SEQUENCE),
          TL_OK);
  PROFILE(profile.flags = TL_PROFILE_OTHERS_EDIT, TL_OK);
  PROFILE(profile.flags = 512, TL_E_INVALID);
  PROFILE(profile.flags = 1, TL_E_INVALID);
  PROFILE(profile.capabilities = 63, TL_OK);
  PROFILE(profile.capabilities = TL_SERVER_LOG, TL_OK);
  PROFILE(profile.capabilities = 512, TL_E_INVALID);
  PROFILE(profile.ref_days = 3650, TL_OK);
  PROFILE(profile.ref_days = 3651, TL_E_INVALID);
  PROFILE(profile.refs_max = 10000000, TL_OK);
  PROFILE(profile.refs_max = 10000001, TL_E_INVALID);
  PROFILE(profile.pages_max = 1000000, TL_OK);
  PROFILE(profile.pages_max = 1000001, TL_E_INVALID);
  PROFILE(profile.page_limit = 1000, TL_OK);
  PROFILE(profile.page_limit = 1001, TL_E_INVALID);
  PROFILE(profile.truncates = TL_TRUNCATES_NEWEST, TL_OK);
  PROFILE(profile.truncates = 3, TL_E_INVALID);
  PROFILE(profile.truncates = -1, TL_E_INVALID);
  PROFILE(profile.ties = 3, TL_E_INVALID);
  PROFILE(profile.time_resolution_us = -1, TL_E_INVALID);
  PROFILE(profile.time_resolution_us = INT64_MAX, TL_E_INVALID);
  PROFILE(profile.overlap_ms = UINT32_MAX, TL_OK);
  PROFILE(profile.deletion_horizon_s = UINT32_MAX, TL_OK);
  PROFILE(profile.zone_offset_min = 1439, TL_OK);
  PROFILE(profile.zone_offset_min = INT32_MIN, TL_E_INVALID);
  PROFILE(profile.idempotency_s = 120, TL_E_INVALID);
  PROFILE(profile.idempotency_scope = TL_IDEMPOTENCY_CONNECTION, TL_E_INVALID);
  CHECK(strstr(tl_last_error(), "TL_SERVER_IDEMPOTENT_SEND") != NULL);
  IDEMPOTENT(profile.idempotency_s = UINT32_MAX, TL_OK);
  IDEMPOTENT(profile.idempotency_scope = TL_IDEMPOTENCY_CONNECTION, TL_OK);
  IDEMPOTENT(profile.idempotency_scope = 3, TL_E_INVALID);
  IDEMPOTENT(profile.idempotency_scope = -1, TL_E_INVALID);
  IDEMPOTENT(profile.idempotency_scope = TL_IDEMPOTENCY_DEVICE, TL_E_INVALID);
  CHECK(strstr(tl_last_error(), "device is empty") != NULL);
}

#define LOG(change, expected) \
  PROFILE((profile.capabilities = TL_SERVER_LOG, (void)(change)), expected)

/* header: "These must be 0, else opening is #TL_E_INVALID" */
static void contradictions(void) {
  LOG(profile.capabilities |= TL_SERVER_LOG_REFUSES | TL_SERVER_LOG_EPOCH, TL_OK);
  LOG(profile.capabilities |= TL_SERVER_IDEMPOTENT_SEND, TL_OK);
  LOG(profile.flags = TL_PROFILE_ORDER_NOT_TIME, TL_OK);
  LOG(profile.flags = TL_PROFILE_OTHERS_EDIT, TL_OK);
  LOG(profile.flags = TL_PROFILE_PUSH_LOSSLESS | TL_PROFILE_UNKNOWN_FRAMES, TL_OK);
  LOG(profile.flags = TL_PROFILE_PAGE_SIZE_VARIES, TL_OK);
  LOG(profile.capabilities |= TL_SERVER_SEQUENCE, TL_E_INVALID);
  CHECK(strstr(tl_last_error(), "numbers or places in a log") != NULL);
  LOG(profile.capabilities |= TL_SERVER_BEFORE, TL_E_INVALID);
  CHECK(strstr(tl_last_error(), "get_messages") != NULL);
  LOG(profile.capabilities |= TL_SERVER_AROUND, TL_E_INVALID);
  LOG(profile.capabilities |= TL_SERVER_CHANGED_SINCE, TL_E_INVALID);
  LOG(profile.flags = TL_PROFILE_ABSENCE_IS_DELETION, TL_E_INVALID);
  LOG(profile.flags = TL_PROFILE_COUNTS_HIDDEN, TL_E_INVALID);
  LOG(profile.flags = TL_PROFILE_DELETIONS_LATER, TL_E_INVALID);
  CHECK(strstr(tl_last_error(), "deletions") != NULL);
  LOG(profile.truncates = TL_TRUNCATES_NEWEST, TL_E_INVALID);
  LOG(profile.ties = TL_TIES_ID, TL_E_INVALID);
  CHECK(strstr(tl_last_error(), "ties") != NULL);
  LOG(profile.capabilities |= TL_SERVER_ENVELOPE, TL_E_UNSUPPORTED);
  CHECK(strstr(tl_last_error(), "envelope") != NULL);
  PROFILE(profile.capabilities = TL_SERVER_LOG_REFUSES, TL_E_INVALID);
  PROFILE(profile.capabilities = TL_SERVER_LOG_EPOCH, TL_E_INVALID);
  CHECK(strstr(tl_last_error(), "needs TL_SERVER_LOG") != NULL);
}

/* header: "accepted; a longer one whose unknown tail is not zero is #TL_E_TOO_NEW." */
static void versions(void) {
  /* An older caller, who knows the fields up to `user_id` only. What lies
     behind its struct must not be read. */
  size_t old_size = offsetof(tl_client_config, profile);
  tl_client_config *old = malloc(old_size);
  tl_client_config full = memory_config();
  full.struct_size = (uint32_t)old_size;
  memcpy(old, &full, old_size);
  EXPECT(open_status(old), TL_OK);
  free(old);

  struct {
    tl_client_config known;
    uint64_t later[4];
  } longer;
  memset(&longer, 0, sizeof longer);
  longer.known = memory_config();
  longer.known.struct_size = sizeof longer;
  EXPECT(open_status(&longer.known), TL_OK);
  longer.later[3] = (uint64_t)1 << 56;
  EXPECT(open_status(&longer.known), TL_E_TOO_NEW);

  tl_client *client = open_memory();
  struct {
    tl_state known;
    uint64_t later[2];
  } state;
  memset(&state, 0, sizeof state);
  state.known.struct_size = sizeof state;
  EXPECT(tl_client_state(client, &state.known), TL_OK);
  CHECK(state.known.struct_size == sizeof state && state.later[0] == 0 && state.later[1] == 0);
  state.later[1] = 1;
  EXPECT(tl_client_state(client, &state.known), TL_E_TOO_NEW);

  /* An older caller of an out struct: nothing behind it is written. */
  tl_stats *stats = malloc(sizeof *stats);
  memset(stats, 0x55, sizeof *stats);
  stats->struct_size = offsetof(tl_stats, messages);
  EXPECT(tl_client_stats(client, stats), TL_OK);
  CHECK(stats->struct_size == offsetof(tl_stats, messages));
  CHECK(stats->conversations == 0);
  CHECK(stats->messages == 0x5555555555555555u);
  free(stats);

  /* header: "On failure every output is NULL or zero, but for `struct_size`." */
  tl_sync_status sync;
  memset(&sync, 0x55, sizeof sync);
  sync.struct_size = sizeof sync;
  EXPECT(tl_client_sync_status(client, 12345, &sync), TL_E_NOT_FOUND);
  CHECK(sync.struct_size == sizeof sync && sync.phase == 0 && sync.removed == 0);
  sync.struct_size = 6;
  EXPECT(tl_client_sync_status(client, 12345, &sync), TL_E_INVALID);

  tl_query query;
  memset(&query, 0, sizeof query);
  query.struct_size = offsetof(tl_query, number);
  query.conversation = view("c");
  query.number = 77;
  tl_batch *batch = NULL;
  EXPECT(tl_client_messages(client, &query, &batch), TL_OK);
  tl_batch_free(batch);
  tl_client_free(client);
}

static int drops;
static void drop(void *context) {
  CHECK(context == &drops);
  drops++;
}

static void dropped_once(void) {
  tl_client_config config = memory_config();
  config.open_context = config.log_context = &drops;
  config.open_drop = config.log_drop = drop;
  config.requests_max = 1000;
  drops = 0;
  EXPECT(open_status(&config), TL_E_INVALID);
  CHECK(drops == 2);
  config.requests_max = 0;
  drops = 0;
  EXPECT(tl_client_open(&config, NULL), TL_E_INVALID);
  CHECK(drops == 2);
  tl_client *client = NULL;
  drops = 0;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  tl_client_close(client);
  tl_client_close(client);
  CHECK(drops == 0);
  tl_client_free(client);
  CHECK(drops == 2);
}

/* NULL for a required pointer is a status, in every function that takes one. */
static void nulls(tl_client *client, tl_status of_client) {
  tl_view c = view("c"), nothing = {NULL, 0}, wrong = {NULL, 1};
  tl_frame *frame = (tl_frame *)(uintptr_t)&byte;
  tl_batch *batch = (tl_batch *)(uintptr_t)&byte;
  tl_query query;
  memset(&query, 0, sizeof query);
  query.struct_size = sizeof query;
  query.conversation = c;
  tl_sync_request request;
  memset(&request, 0, sizeof request);
  request.struct_size = sizeof request;
  request.conversation = c;
  tl_state state;
  tl_stats stats;
  tl_sync_status sync;
  memset(&state, 0, sizeof state);
  memset(&stats, 0, sizeof stats);
  memset(&sync, 0, sizeof sync);
  state.struct_size = sizeof state;
  stats.struct_size = sizeof stats;
  sync.struct_size = sizeof sync;
  uint64_t number = 9;
  int64_t wait = 9;

  /* A handle that is not one, in every function that takes one. */
  EXPECT(tl_client_wipe(client), of_client);
  EXPECT(tl_client_connected(client), of_client);
  EXPECT(tl_client_disconnected(client), of_client);
  EXPECT(tl_client_connection_dead(client), of_client);
  EXPECT(tl_client_receive(client, view("{\"type\":\"x\"}")), of_client);
  EXPECT(tl_client_next_frame(client, &frame), of_client);
  CHECK(frame == NULL);
  EXPECT(tl_client_frame_sent(client, 1), of_client);
  EXPECT(tl_client_advance(client, &wait), of_client);
  CHECK(wait == 0);
  EXPECT(tl_client_state(client, &state), of_client);
  EXPECT(tl_client_sync(client, &request, &number), of_client);
  CHECK(number == 0);
  EXPECT(tl_client_cancel(client, 1), of_client);
  EXPECT(tl_client_sync_status(client, 1, &sync), of_client);
  EXPECT(tl_client_messages(client, &query, &batch), of_client);
  CHECK(batch == NULL);
  EXPECT(tl_client_message(client, c, c, &batch), of_client);
  EXPECT(tl_client_numbered(client, c, 0, 1, 0, &batch), of_client);
  EXPECT(tl_client_changes(client, 0, 0, &batch), of_client);
  EXPECT(tl_client_mark_read(client, c, &c, 1), of_client);
  EXPECT(tl_client_forget(client, c, c), of_client);
  EXPECT(tl_client_drop(client, c, c), of_client);
  EXPECT(tl_client_stats(client, &stats), of_client);

  /* NULL and worse in every other place. */
  EXPECT(tl_client_receive(client, wrong), TL_E_INVALID);
  EXPECT(tl_client_next_frame(client, NULL), TL_E_INVALID);
  EXPECT(tl_client_state(client, NULL), TL_E_INVALID);
  EXPECT(tl_client_event_fd(client, NULL), TL_E_INVALID);
  EXPECT(tl_client_sync(client, NULL, &number), TL_E_INVALID);
  EXPECT(tl_client_sync_status(client, 1, NULL), TL_E_INVALID);
  EXPECT(tl_client_messages(client, NULL, &batch), TL_E_INVALID);
  EXPECT(tl_client_messages(client, &query, NULL), TL_E_INVALID);
  EXPECT(tl_client_message(client, c, c, NULL), TL_E_INVALID);
  EXPECT(tl_client_message(client, nothing, c, &batch), TL_E_INVALID);
  EXPECT(tl_client_message(client, c, wrong, &batch), TL_E_INVALID);
  EXPECT(tl_client_numbered(client, c, 0, 1, 0, NULL), TL_E_INVALID);
  EXPECT(tl_client_numbered(client, nothing, 0, 1, 0, &batch), TL_E_INVALID);
  EXPECT(tl_client_numbered(client, c, 2, 1, 0, &batch), TL_E_INVALID);
  EXPECT(tl_client_numbered(client, c, 0, UINT64_MAX, 10001, &batch), TL_E_INVALID);
  EXPECT(tl_client_changes(client, 0, 0, NULL), TL_E_INVALID);
  EXPECT(tl_client_mark_read(client, c, NULL, 1), TL_E_INVALID);
  EXPECT(tl_client_mark_read(client, nothing, &c, 1), TL_E_INVALID);
  EXPECT(tl_client_forget(client, c, nothing), TL_E_INVALID);
  EXPECT(tl_client_drop(client, nothing, c), TL_E_INVALID);
  EXPECT(tl_client_stats(client, NULL), TL_E_INVALID);
}

static void foreign_handles(void) {
  nulls(NULL, TL_E_INVALID);
  uint64_t foreign[64];
  memset(foreign, 0x41, sizeof foreign);
  nulls((tl_client *)foreign, TL_E_INVALID);
  nulls((tl_client *)((uintptr_t)foreign + 1), TL_E_INVALID);
  tl_batch *batch = NULL;
  tl_client *client = open_memory();
  EXPECT(read_page(client, &batch), TL_OK);
  nulls((tl_client *)batch, TL_E_INVALID);
  int32_t descriptor = 7;
  EXPECT(tl_client_event_fd(NULL, &descriptor), TL_E_INVALID);
  CHECK(descriptor == -1);

  size_t count = 9;
  CHECK(tl_batch_rows(NULL, &count) == NULL && count == 0);
  CHECK(tl_batch_changes((tl_batch *)foreign, NULL) == NULL);
  tl_view block;
  EXPECT(tl_batch_block(NULL, &block), TL_E_INVALID);
  EXPECT(tl_batch_block(batch, NULL), TL_E_INVALID);
  tl_coverage coverage;
  memset(&coverage, 0, sizeof coverage);
  coverage.struct_size = sizeof coverage;
  EXPECT(tl_batch_coverage(NULL, &coverage), TL_E_INVALID);
  EXPECT(tl_batch_coverage(batch, NULL), TL_E_INVALID);
  EXPECT(tl_frame_account(view("{}"), NULL), TL_E_INVALID);
  tl_view wrong = {NULL, 1}, out;
  EXPECT(tl_frame_account(wrong, &out), TL_E_INVALID);
  tl_batch_free((tl_batch *)foreign);
  tl_frame_free((tl_frame *)foreign);
  tl_client_free((tl_client *)foreign);
  tl_client_close((tl_client *)foreign);
  /* header: "Every `_free` takes NULL." */
  tl_client_free(NULL);
  tl_client_close(NULL);
  tl_batch_free(NULL);
  tl_frame_free(NULL);
  tl_batch_free(batch);
  tl_client_free(client);
}

/* header: "fails every later call on it" */
static void closed(void) {
  tl_client *client = open_memory();
  int32_t descriptor = -1;
  EXPECT(tl_client_event_fd(client, &descriptor), TL_OK);
  tl_batch *batch = NULL;
  EXPECT(read_page(client, &batch), TL_OK);
  tl_client_close(client);
  tl_client_close(client);
  nulls(client, TL_E_CLOSED);
  /* header: "Valid until the client is freed." */
  int32_t again = -1;
  EXPECT(tl_client_event_fd(client, &again), TL_OK);
  CHECK(again == descriptor && descriptor >= 0);
  tl_client_free(client);
  size_t count = 9;
  CHECK(tl_batch_rows(batch, &count) == NULL && count == 0);
  tl_batch_free(batch);
}

static void requests(void) {
  static char long_text[2000];
  memset(long_text, 'x', sizeof long_text - 1);
  tl_client *client = open_memory();
  tl_view at_limit = {(const uint8_t *)long_text, 512}, over = {(const uint8_t *)long_text, 513};
  tl_sync_request request;
#define SYNC(change, expected)                                                 \
  memset(&request, 0, sizeof request);                                         \
  request.struct_size = sizeof request;                                        \
  request.conversation = view("c");                                            \
  change;                                                                      \
  EXPECT(tl_client_sync(client, &request, NULL), expected)
  SYNC((void)0, TL_OK);
  SYNC(request.flags = 2, TL_E_INVALID);
  SYNC(request.flags = TL_SYNC_MARK_READ, TL_OK);
  SYNC(request.kind = 4, TL_E_INVALID);
  SYNC(request.kind = TL_SYNC_CONVERSATIONS, TL_E_INVALID);
  SYNC((request.kind = TL_SYNC_CONVERSATIONS, request.conversation.size = 0), TL_OK);
  SYNC(request.policy = -1, TL_E_INVALID);
  SYNC(request.conversation = at_limit, TL_OK);
  SYNC(request.conversation = over, TL_E_TOO_LARGE);
  SYNC(request.conversation.size = SIZE_MAX, TL_E_TOO_LARGE);
  SYNC(request.conversation.size = 0, TL_E_INVALID);
  SYNC(request.conversation = view("\xf5"), TL_E_INVALID);
  SYNC(request.want = request.pages_max = UINT32_MAX; request.kind = TL_SYNC_OLDER, TL_OK);
  tl_query query;
  tl_batch *batch = NULL;
#define READ(change, expected)                                                 \
  memset(&query, 0, sizeof query);                                             \
  query.struct_size = sizeof query;                                            \
  query.conversation = view("c");                                              \
  change;                                                                      \
  batch = (tl_batch *)(uintptr_t)&byte;                                        \
  EXPECT(tl_client_messages(client, &query, &batch), expected);                \
  CHECK((batch != NULL) == ((expected) == TL_OK));                             \
  tl_batch_free(batch)
  READ((void)0, TL_OK);
  READ(query.limit = 10000, TL_OK);
  READ(query.limit = 10001, TL_E_INVALID);
  READ(query.flags = 2, TL_E_INVALID);
  READ(query.reserved = 1, TL_E_INVALID);
  READ(query.from = 6, TL_E_INVALID);
  READ(query.order = 2, TL_E_INVALID);
  READ(query.conversation = over, TL_E_INVALID);
  READ(query.from = TL_FROM_BEFORE; query.number = UINT64_MAX, TL_E_NOT_FOUND);
  READ(query.from = TL_FROM_AFTER; query.number = 0, TL_E_NOT_FOUND);
  READ(query.from = TL_FROM_TIME; query.time_us = INT64_MIN, TL_OK);
  READ(query.from = TL_FROM_TIME; query.time_us = INT64_MAX, TL_OK);
  EXPECT(tl_client_changes(client, UINT64_MAX, 10001, &batch), TL_E_INVALID);
  EXPECT(tl_client_mark_read(client, view("c"), NULL, 0), TL_OK);
  EXPECT(tl_client_mark_read(client, view("c"), &over, 1), TL_E_TOO_LARGE);
  EXPECT(tl_client_mark_read(client, view("c"), &over, 10001), TL_E_TOO_LARGE);
  EXPECT(tl_client_mark_read(client, view("c"), &over, SIZE_MAX), TL_E_TOO_LARGE);
  EXPECT(tl_client_cancel(client, UINT64_MAX), TL_E_NOT_FOUND);
  EXPECT(tl_client_frame_sent(client, UINT64_MAX), TL_NONE);
  EXPECT(tl_client_advance(client, NULL), TL_OK);
  tl_client_free(client);
}

static void library(void) {
  CHECK(tl_abi() == TL_ABI);
  CHECK(tl_version() == (TL_VERSION_MAJOR << 16 | TL_VERSION_MINOR << 8 | TL_VERSION_PATCH));
  CHECK(tl_key_bytes() == TL_KEY_BYTES);
  CHECK(strcmp(tl_status_name(TL_E_KEY), "TL_E_KEY") == 0);
  CHECK(strcmp(tl_status_name(INT32_MIN), "TL_E_UNKNOWN") == 0);
  int transient = 0, named = 0;
  for (tl_status status = -200; status <= 200; status++) {
    transient += tl_status_is_transient(status);
    named += strcmp(tl_status_name(status), "TL_E_UNKNOWN") != 0;
  }
  CHECK(transient == 6);
  CHECK(named == 29);
  CHECK(tl_status_is_transient(TL_E_FULL) && !tl_status_is_transient(TL_E_KEY));
}

static void errors_stay(void) {
  tl_client *client = open_memory();
  EXPECT(tl_client_cancel(client, 99), TL_E_NOT_FOUND);
  const char *text = tl_last_error();
  CHECK(strlen(text) > 0);
  char copy[300];
  snprintf(copy, sizeof copy, "%s", text);
  EXPECT(tl_client_advance(client, NULL), TL_OK);
  CHECK(tl_last_error() == text && strcmp(copy, text) == 0);
  /* header: "or why its last #TL_IGNORED or #TL_QUARANTINED came" */
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(receive(client, "{\"type\":\"weather\"}"), TL_IGNORED);
  CHECK(strcmp(tl_last_error(), "type is not one that is known here") == 0);
  /* header: "as in "created_at is not a time"" */
  EXPECT(receive(client, "{\"type\":\"message_new\",\"conversation_id\":\"c\",\"message\":{"
                         "\"message_id\":\"secret\",\"sender_id\":\"u\",\"created_at\":\"x\","
                         "\"payload\":1}}"), TL_QUARANTINED);
  CHECK(strcmp(tl_last_error(), "created_at is not a time") == 0);
  EXPECT(receive(client, "{"), TL_E_FRAME);
  CHECK(strcmp(tl_last_error(), "the frame is not JSON") == 0);
  EXPECT(receive(client, "{\"type\":\"weather\"}"), TL_IGNORED);
  EXPECT(tl_client_perform(client, view("{\"type\":\"get_conversation\"}"), 0, NULL, NULL),
         TL_E_INVALID);
  CHECK(strcmp(tl_last_error(), "conversation_id is missing") == 0);
  tl_client_free(client);
}

int main(void) {
  /* header: "never NULL" */
  CHECK(tl_last_error() != NULL && tl_last_error()[0] == 0);
  RUN(library);
  RUN(configurations);
  RUN(files);
  RUN(profiles);
  RUN(contradictions);
  RUN(versions);
  RUN(dropped_once);
  RUN(foreign_handles);
  RUN(closed);
  RUN(requests);
  RUN(errors_stay);
  return report("arguments");
}
