/* tideline.hpp: handles free what they own once, views are texts, failures are exceptions. */
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "tideline.hpp"

#include "check.h"

using tideline::Handle;

struct thing {
  int id;
};

static std::vector<int> freed;

static void thing_free(thing *one) { freed.push_back(one->id); }

using Thing = Handle<thing, thing_free>;

static thing things[4] = {{0}, {1}, {2}, {3}};

static void make(int id, thing **out) { *out = &things[id]; }

/* Each pointer is freed once, whichever way its handle goes. */
static void test_ownership(void) {
  freed.clear();
  {
    Thing first(&things[1]), second;
    CHECK(!second && second.get() == nullptr && first);
    second = std::move(first);
    CHECK(!first && second->id == 1);
    Thing third(std::move(second));
    CHECK(freed.empty());
    make(2, third.out());
    CHECK(freed == std::vector<int>{1});
    CHECK(static_cast<thing *>(third)->id == 2);
    third.reset(&things[3]);
    CHECK((freed == std::vector<int>{1, 2}));
    /* Neither of these frees what goes on being held. */
    third.reset(third.get());
    Thing &same = third;
    third = std::move(same);
    CHECK(third.get() == &things[3]);
    CHECK((freed == std::vector<int>{1, 2}));
  }
  CHECK((freed == std::vector<int>{1, 2, 3}));
  thing *given = Thing(&things[0]).release();
  CHECK(given == &things[0] && freed.size() == 3);
}

/* A handle is as large as its pointer, is moved without a throw, and is never copied. */
static void test_shape(void) {
  static_assert(sizeof(tideline::Client) == sizeof(tl_client *));
  static_assert(!std::is_copy_constructible_v<tideline::Client>);
  static_assert(!std::is_copy_assignable_v<tideline::Batch>);
  static_assert(std::is_nothrow_move_constructible_v<tideline::Window>);
  static_assert(std::is_nothrow_move_assignable_v<tideline::Diff>);
  CHECK(tideline::sized<tl_query>().struct_size == sizeof(tl_query));
  CHECK(tideline::sized<tl_query>().limit == 0);
}

static void test_texts(void) {
  std::string told("a\0b", 3);
  CHECK(tideline::text(tideline::view(told)) == told);
  CHECK(tideline::text(tl_view{nullptr, 0}).empty());
  CHECK(tideline::view("").size == 0);
}

static tideline::Client opened(void) {
  auto config = tideline::sized<tl_client_config>();
  config.flags = TL_OPEN_MEMORY;
  config.user_id = tideline::view("eva");
  tideline::Client client;
  tideline::check(tl_client_open(&config, client.out()));
  return client;
}

/* A failure is thrown with its status and its reason; what is fine is given. */
static void test_failures(void) {
  auto client = opened();
  bool is_thrown = false;
  try {
    tideline::check(tl_client_receive(client, tideline::view("no JSON")));
  } catch (const tideline::Error &error) {
    is_thrown = true;
    CHECK(error.status() == TL_E_FRAME && !error.is_transient());
    CHECK(std::string(error.what()) == "the frame is not JSON (TL_E_FRAME)");
  }
  CHECK(is_thrown);
  CHECK(tideline::check(TL_NONE) == TL_NONE);
  CHECK(!tideline::next_frame(client));
  CHECK(tideline::Error(TL_E_OFFLINE).is_transient());
  tideline::Client none;
  auto config = tideline::sized<tl_client_config>();
  try {
    tideline::check(tl_client_open(&config, none.out()));
    CHECK(false);
  } catch (const std::exception &) {
  }
  CHECK(!none);
}

/* A window, a batch and a frame, and nothing of them is left: the address sanitizer looks. */
static void test_a_client(void) {
  auto client = opened();
  tideline::check(tl_client_connected(client));
  auto config = tideline::sized<tl_window_config>();
  config.conversation = tideline::view("general");
  tideline::Window window;
  tideline::check(tl_window_open(client, &config, window.out()));
  while (tideline::poll(window)) {
  }
  for (int id = 1; id <= 3; id++) {
    std::string frame = "{\"type\":\"message_new\",\"message\":{\"message_id\":\"m" +
                        std::to_string(id) + "\",\"conversation_id\":\"general\",\"sender_id\":"
                        "\"jan\",\"payload\":{\"text\":\"hi\"},\"created_at\":"
                        "\"2026-02-15T22:15:4" + std::to_string(id) + "\"}}";
    tideline::check(tl_client_receive(client, tideline::view(frame)));
  }
  auto send = tideline::sized<tl_send>();
  send.conversation = tideline::view("general");
  send.payload = tideline::view("{\"text\":\"ahoj\"}");
  tideline::check(tl_client_send(client, &send, nullptr, nullptr));
  unsigned frames = 0;
  while (auto frame = tideline::next_frame(client)) {
    CHECK(tideline::text(frame->bytes).front() == '{');
    tideline::check(tl_client_frame_sent(client, frame->id));
    frames++;
  }
  CHECK(frames > 0);
  unsigned inserted = 0;
  while (auto diff = tideline::poll(window)) {
    for (const tl_op &op : tideline::steps(diff)) inserted += op.kind == TL_OP_INSERT ? op.count : 0;
  }
  CHECK(inserted == 4);
  CHECK(tideline::steps(nullptr).empty());
  auto query = tideline::sized<tl_query>();
  query.conversation = tideline::view("general");
  tideline::Batch batch;
  tideline::check(tl_client_messages(client, &query, batch.out()));
  std::string ids;
  for (const tl_message &row : tideline::each(batch.get(), tl_batch_rows))
    ids += tideline::text(row.id);
  /* The message that waits has its client id in the place of an id. */
  CHECK(ids.substr(0, 6) == "m1m2m3");
  CHECK(tideline::each(batch.get(), tl_batch_rows).size() == 4);
  CHECK(tideline::each(batch.get(), tl_batch_changes).empty());
  tideline::check(tl_client_changes(client, 0, 0, batch.out()));
  CHECK(!tideline::each(batch.get(), tl_batch_changes).empty());
}

int main(void) {
  RUN(test_ownership);
  RUN(test_shape);
  RUN(test_texts);
  RUN(test_failures);
  RUN(test_a_client);
  return report("handles");
}
