/* Search from C: switched on, built, asked, pages, marks, and what is refused. */
#include "check.h"

enum { COUNT = 5 };
static char bodies[COUNT][256], stamp_texts[COUNT][64];
static const char *messages[COUNT], *stamps[COUNT];

/* Messages a minute apart. */
static void make_messages(void) {
  for (int i = 0; i < COUNT; i++) {
    snprintf(stamp_texts[i], sizeof *stamp_texts, "\"2024-05-01T23:%02d:00\"", i + 30);
    snprintf(bodies[i], sizeof *bodies,
             "{\"message_id\":\"m%d\",\"conversation_id\":\"c\",\"sender_id\":\"you\","
             "\"created_at\":%.63s,\"payload\":{\"text\":\"Zpr\xC3\xA1va \xF0\x9F\x91\x8D "
             "\xE6\x98\x8E\xE5\xA4\xA9\xE8\xA7\x81 %d\"}}",
             i, stamp_texts[i], i);
    messages[i] = bodies[i];
    stamps[i] = stamp_texts[i];
  }
}

static tl_client *caught_up(void) {
  tl_client *client = open_memory();
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(sync_latest(client, NULL), TL_OK);
  serve(client, messages, stamps, COUNT, NULL);
  return client;
}

static tl_search search_for(const char *text) {
  tl_search search;
  memset(&search, 0, sizeof search);
  search.struct_size = sizeof search;
  search.text = view(text);
  return search;
}

static tl_searched searched(const tl_batch *batch) {
  tl_searched told;
  memset(&told, 0, sizeof told);
  told.struct_size = sizeof told;
  EXPECT(tl_batch_searched(batch, &told), TL_OK);
  return told;
}

static void build(tl_client *client) {
  tl_work *work = NULL;
  tl_progress progress = {.struct_size = sizeof progress};
  EXPECT(tl_search_build(client, &work), TL_OK);
  tl_status status = TL_OK;
  while ((status = tl_work_step(work, 10, &progress)) == TL_OK) continue;
  CHECK(status == TL_NONE && progress.is_done == 1 && progress.done == progress.total);
  tl_work_free(work);
}

static void hits(void) {
  tl_client *client = caught_up();
  tl_batch *batch = NULL;
  size_t count = 7;
  tl_search search = search_for("zprava \xE6\x98\x8E\xE5\xA4\xA9");
  EXPECT(tl_client_search(client, &search, &batch), TL_E_NOT_FOUND);
  CHECK(batch == NULL);
  EXPECT(tl_search_switch(client, 1), TL_OK);
  EXPECT(tl_search_switch(client, 1), TL_NONE);
  EXPECT(tl_client_search(client, &search, &batch), TL_OK);
  CHECK(tl_batch_hits(batch, &count) == NULL && count == 0);
  CHECK(searched(batch).unbuilt > 0 && searched(batch).asked == TL_ASKED_YES);
  tl_batch_free(batch);
  build(client);

  /* Pages of two, newest first. */
  int next = COUNT;
  search.limit = 2;
  do {
    EXPECT(tl_client_search(client, &search, &batch), TL_OK);
    const tl_hit *found = tl_batch_hits(batch, &count);
    CHECK(count == (next > 1 ? 2 : 1));
    for (size_t i = 0; i < count; i++) {
      char id[16];
      snprintf(id, sizeof id, "m%d", --next);
      CHECK(is(found[i].message.id, id) && is(found[i].message.conversation, "c"));
      CHECK(found[i].mark_count == 2);
      if (found[i].mark_count != 2) continue;
      /* header: "Both ranges are of the string that the member holds" */
      const tl_mark *mark = found[i].marks;
      CHECK(is(mark[0].member, "text") && mark[0].utf8_first == 0 && mark[0].utf8_count == 7);
      CHECK(mark[0].utf16_first == 0 && mark[0].utf16_count == 6);
      CHECK(mark[1].utf8_first == 13 && mark[1].utf8_count == 6);
      CHECK(mark[1].utf16_first == 10 && mark[1].utf16_count == 2);
      search.after_number = found[i].message.number;
      search.after_time_us = found[i].message.time_us;
    }
    CHECK(searched(batch).has_more == (next > 0));
    size_t rows = 0;
    CHECK(tl_batch_rows(batch, &rows) == NULL && rows == 0);
    tl_batch_free(batch);
  } while (next > 0 && !broken);
  tl_client_free(client);
}

static void filters(void) {
  tl_client *client = caught_up();
  EXPECT(tl_search_switch(client, 1), TL_OK);
  build(client);
  struct {
    const char *text, *conversation, *sender;
    uint32_t flags;
    size_t count;
  } cases[] = {{"zprava", "", "", 0, COUNT},     {"zprava", "c", "you", 0, COUNT},
               {"zprava", "d", "", 0, 0},        {"zprava", "", "me", 0, 0},
               {"zprava", "", "", TL_SEARCH_MINE, 0},
               {"zprava", "", "", TL_SEARCH_ATTACHMENT, 0},
               {"zprava -2", "", "", 0, COUNT - 1}, {"NEAR( \" * AND", "", "", 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tl_search search = search_for(cases[i].text);
    search.conversation = view(cases[i].conversation);
    search.sender = view(cases[i].sender);
    search.flags = cases[i].flags;
    tl_batch *batch = NULL;
    size_t count = 99;
    EXPECT(tl_client_search(client, &search, &batch), TL_OK);
    tl_batch_hits(batch, &count);
    CHECK(count == cases[i].count);
    tl_batch_free(batch);
  }
  struct {
    const char *text;
    tl_asked asked;
  } empty[] = {{"", TL_ASKED_NO_WORD}, {" .,", TL_ASKED_NO_WORD}, {"-a", TL_ASKED_ONLY_EXCLUSIONS}};
  for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
    tl_search search = search_for(empty[i].text);
    tl_batch *batch = NULL;
    EXPECT(tl_client_search(client, &search, &batch), TL_OK);
    CHECK(searched(batch).asked == empty[i].asked && tl_batch_hits(batch, NULL) == NULL);
    tl_batch_free(batch);
  }
  tl_client_free(client);
}

/* header: "the check starts again" */
static void checked(void) {
  tl_client *client = caught_up();
  EXPECT(tl_search_switch(client, 1), TL_OK);
  tl_work *work = NULL;
  tl_progress progress = {.struct_size = sizeof progress};
  for (int round = 0; round < 2; round++) {
    EXPECT(tl_search_check(client, &work), TL_OK);
    tl_status status = TL_OK;
    for (int step = 0; status == TL_OK && step < 10000; step++)
      status = tl_work_step(work, 0, &progress);
    CHECK(status == TL_NONE && progress.is_done == 1 && progress.done == progress.total);
    tl_work_free(work);
    build(client);
  }
  tl_client_free(client);
}

/* header: "By relevance the first page fixes the order" */
static void relevance(void) {
  tl_client *client = caught_up();
  EXPECT(tl_search_switch(client, 1), TL_OK);
  build(client);
  tl_search search = search_for("zprava");
  search.order = TL_HIT_ORDER_RELEVANCE;
  search.limit = 2;
  tl_batch *before = NULL, *batch = NULL;
  uint64_t seen[COUNT] = {0};
  size_t found = 0, count = 0;
  do {
    search.behind = before;
    EXPECT(tl_client_search(client, &search, &batch), TL_OK);
    const tl_hit *hits = tl_batch_hits(batch, &count);
    tl_searched told = searched(batch);
    CHECK(told.count == COUNT && told.counted == TL_COUNTED_ALL);
    for (size_t i = 0; i < count; i++) {
      for (size_t k = 0; k < found; k++) CHECK(seen[k] != hits[i].message.number);
      CHECK(hits[i].searchable.size == 0 && hits[i].mark_count > 0);
      if (found < COUNT) seen[found++] = hits[i].message.number;
    }
    CHECK(told.has_more == (found < COUNT));
    tl_batch_free(before);
    before = batch;
  } while (found < COUNT && count > 0 && !broken);
  CHECK(found == COUNT);
  /* Its order is that of its query, and of no other. */
  search.behind = before;
  search.limit = 3;
  EXPECT(tl_client_search(client, &search, &batch), TL_OK);
  tl_batch_free(batch);
  tl_search other = search;
  other.text = view("zpravy");
  EXPECT(tl_client_search(client, &other, &batch), TL_E_INVALID);
  CHECK(strcmp(tl_last_error(), "behind holds hits of another query") == 0);
  other = search;
  other.conversation = view("c");
  EXPECT(tl_client_search(client, &other, &batch), TL_E_INVALID);
  other = search;
  other.flags = TL_SEARCH_MINE;
  EXPECT(tl_client_search(client, &other, &batch), TL_E_INVALID);
  other = search;
  other.before_us = 1;
  EXPECT(tl_client_search(client, &other, &batch), TL_E_INVALID);
  CHECK(batch == NULL);
  /* Nor is it that of another client, which has other messages under its numbers. */
  tl_client *stranger = caught_up();
  EXPECT(tl_search_switch(stranger, 1), TL_OK);
  build(stranger);
  EXPECT(tl_client_search(stranger, &search, &batch), TL_E_INVALID);
  CHECK(strcmp(tl_last_error(), "behind holds hits of another client") == 0 && batch == NULL);
  tl_client_free(stranger);
  tl_batch_free(before);
  search.behind = NULL;
  search.order = TL_HIT_ORDER_TIME;
  EXPECT(tl_client_search(client, &search, &batch), TL_OK);
  CHECK(searched(batch).counted == TL_COUNTED_NOT);
  tl_batch_free(batch);
  tl_client_free(client);
}

/* header: "Names the conversations that `partial` and `sealed` of #tl_searched count" */
static void what_is_not_searched(void) {
  tl_client *client = caught_up();
  tl_batch *batch = NULL, *found = NULL;
  size_t count = 7;
  EXPECT(tl_search_unsearched(client, view(""), 0, 0, &batch), TL_E_NOT_FOUND);
  EXPECT(tl_search_switch(client, 1), TL_OK);
  tl_search search = search_for("zprava");
  EXPECT(tl_client_search(client, &search, &found), TL_OK);
  uint32_t partial = searched(found).partial;
  tl_status status = tl_search_unsearched(client, view(""), 0, 0, &batch);
  CHECK(status == (partial ? TL_OK : TL_NONE));
  const tl_unsearched *rows = tl_batch_unsearched(batch, &count);
  CHECK(count == partial);
  for (size_t i = 0; i < count; i++)
    CHECK(rows[i].conversation.size > 0 && rows[i].flags == TL_UNSEARCHED_PARTIAL &&
          rows[i].sealed == 0 && rows[i].reserved_words[0] == 0 && rows[i].number > 0);
  tl_batch_free(batch);
  /* Nothing is marked for who wants that. */
  tl_search plain = search;
  plain.flags = TL_SEARCH_NO_MARKS;
  EXPECT(tl_client_search(client, &plain, &batch), TL_OK);
  size_t marked = 0;
  const tl_hit *hits = tl_batch_hits(found, &marked), *bare = tl_batch_hits(batch, &count);
  CHECK(count == marked);
  for (size_t i = 0; i < count; i++)
    CHECK(hits[i].mark_count > 0 && bare[i].mark_count == 0 && bare[i].marks == NULL);
  CHECK(tl_batch_unsearched(batch, &count) == NULL && count == 0);
  tl_batch_free(batch);
  tl_batch_free(found);
  batch = NULL;
  EXPECT(tl_search_unsearched(client, view("nowhere"), 0, 0, &batch), TL_E_NOT_FOUND);
  EXPECT(tl_search_unsearched(client, view("c"), 0, 10001, &batch), TL_E_INVALID);
  EXPECT(tl_search_unsearched(client, view("c"), 0, 0, NULL), TL_E_INVALID);
  CHECK(batch == NULL && tl_batch_unsearched(NULL, NULL) == NULL);
  tl_client_free(client);
}

static void misuse(void) {
  tl_client *client = caught_up();
  tl_search search = search_for("a");
  tl_batch *batch = NULL;
  tl_work *work = NULL;
  tl_progress progress = {.struct_size = sizeof progress};
  tl_searched told = {.struct_size = sizeof told};
  EXPECT(tl_search_switch(client, 2), TL_E_INVALID);
  EXPECT(tl_search_switch(NULL, 1), TL_E_INVALID);
  EXPECT(tl_search_build(client, NULL), TL_E_INVALID);
  EXPECT(tl_search_build(client, &work), TL_E_NOT_FOUND);
  EXPECT(tl_search_check(client, &work), TL_E_NOT_FOUND);
  EXPECT(tl_search_check(client, NULL), TL_E_INVALID);
  EXPECT(tl_search_switch(client, 1), TL_OK);
  EXPECT(tl_client_search(client, NULL, &batch), TL_E_INVALID);
  EXPECT(tl_client_search(client, &search, NULL), TL_E_INVALID);
  search.flags = 1u << 9;
  EXPECT(tl_client_search(client, &search, &batch), TL_E_INVALID);
  search.flags = 0;
  search.limit = 1001;
  EXPECT(tl_client_search(client, &search, &batch), TL_E_INVALID);
  search.limit = 0;
  search.order = 2;
  EXPECT(tl_client_search(client, &search, &batch), TL_E_INVALID);
  search.order = TL_HIT_ORDER_TIME;
  EXPECT(tl_client_search(client, &search, &batch), TL_OK);
  /* Only hits by relevance have an order, and only they are gone through. */
  tl_search next = search_for("a");
  next.behind = batch;
  tl_batch *page = NULL;
  EXPECT(tl_client_search(client, &next, &page), TL_E_INVALID);
  next.order = TL_HIT_ORDER_RELEVANCE;
  EXPECT(tl_client_search(client, &next, &page), TL_E_INVALID);
  tl_batch_free(batch);
  tl_query rows = {.struct_size = sizeof rows, .conversation = view("c")};
  EXPECT(tl_client_messages(client, &rows, &batch), TL_OK);
  next.behind = batch;
  EXPECT(tl_client_search(client, &next, &page), TL_E_INVALID);
  tl_batch_free(batch);
  CHECK(page == NULL);
  batch = NULL;
  search.limit = 1001;
  EXPECT(tl_client_search(client, &search, &batch), TL_E_INVALID);
  search.limit = 0;
  CHECK(batch == NULL);
  EXPECT(tl_search_build(client, &work), TL_OK);
  EXPECT(tl_work_step(work, 60001, &progress), TL_E_INVALID);
  EXPECT(tl_work_step(work, 1, NULL), TL_E_INVALID);
  EXPECT(tl_work_step((tl_work *)client, 1, &progress), TL_E_INVALID);
  EXPECT(tl_batch_searched(NULL, &told), TL_E_INVALID);
  tl_query query = {.struct_size = sizeof query, .conversation = view("c")};
  EXPECT(tl_client_messages(client, &query, &batch), TL_OK);
  EXPECT(tl_batch_searched(batch, &told), TL_E_INVALID);
  CHECK(tl_batch_hits(batch, NULL) == NULL);
  tl_batch_free(batch);
  /* Work keeps what it needs of its client; freeing goes in any order. */
  tl_client_free(client);
  EXPECT(tl_work_step(work, 1, &progress), TL_E_CLOSED);
  tl_work_free(work);
  tl_work_free(NULL);
}

int main(void) {
  make_messages();
  RUN(hits);
  RUN(filters);
  RUN(relevance);
  RUN(checked);
  RUN(what_is_not_searched);
  RUN(misuse);
  return report("find");
}
