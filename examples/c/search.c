/* Finds messages by their words in a file that is there, as quickstart leaves it, without a
 * network: switches search on, builds the index in steps, prints hits with what was found in
 * brackets, says what was not searched, and shows the conversation around the newest hit.
 *
 *   search USER FILE WORDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tideline.h>
#include <tideline_json.h>

static void must(tl_status status, const char *what) {
  if (status >= TL_OK) return;
  fprintf(stderr, "%s: %s (%s)\n", what, tl_last_error(), tl_status_name(status));
  exit(1);
}

static tl_view text(const char *s) { return (tl_view){(const uint8_t *)s, strlen(s)}; }

/* What lies beside the file: see quickstart.c. */
static void load_key(const char *file, uint8_t key[TL_KEY_BYTES]) {
  char path[1100];
  snprintf(path, sizeof path, "%s.key", file);
  FILE *f = fopen(path, "rb");
  if (f == NULL || fread(key, 1, TL_KEY_BYTES, f) != TL_KEY_BYTES) {
    fprintf(stderr, "%s: no key\n", path);
    exit(1);
  }
  fclose(f);
}

/* What was stored before search was switched on, 20 milliseconds at a time: a host does it
 * while it is idle, and may stop in between for as long as it likes. */
static void build(tl_client *client) {
  tl_progress progress = {.struct_size = sizeof progress};
  tl_work *work;
  tl_status status;
  must(tl_search_build(client, &work), "search_build");
  do {
    must(status = tl_work_step(work, 20, &progress), "work_step");
    printf("index: %llu of %llu\n", (unsigned long long)progress.done,
           (unsigned long long)progress.total);
  } while (status != TL_NONE);
  tl_work_free(work);
}

/* The member `text` of a payload; the payload as it is where it has none that fits. */
static tl_view text_of(tl_view payload) {
  static char room[1 << 16];
  size_t size = tl_json_text(tl_json_member(payload, "text"), room, sizeof room);
  return size > sizeof room ? payload : (tl_view){(const uint8_t *)room, size};
}

static void print_hit(const tl_hit *hit) {
  tl_view said = text_of(hit->message.payload);
  /* Ranges are of the unescaped text. */
  int plain = said.data != hit->message.payload.data;
  size_t at = 0;
  printf("hit %.*s  %.*s: ", (int)hit->message.stamp.size, hit->message.stamp.data,
         (int)hit->message.sender.size, hit->message.sender.data);
  for (uint32_t i = 0; plain && i < hit->mark_count; i++) {
    const tl_mark *mark = &hit->marks[i];
    if (mark->member.size != 4 || memcmp(mark->member.data, "text", 4) != 0) continue;
    printf("%.*s[%.*s]", (int)(mark->utf8_first - at), said.data + at, (int)mark->utf8_count,
           said.data + mark->utf8_first);
    at = mark->utf8_first + mark->utf8_count;
  }
  printf("%.*s\n", (int)(said.size - at), said.data + at);
}

/* A window opens at the hit, and grows both ways as any other does. */
static void show_around(tl_client *client, const tl_message *message) {
  tl_window_config config = {.struct_size = sizeof config, .conversation = message->conversation,
                             .at = TL_AT_MESSAGE, .id = message->id, .count = 5,
                             .flags = TL_WINDOW_CACHE_ONLY};
  tl_window *window;
  tl_diff *diff;
  tl_batch *batch;
  size_t count;
  must(tl_window_open(client, &config, &window), "window_open");
  must(tl_window_poll(window, &diff), "window_poll");
  tl_diff_free(diff);
  must(tl_window_rows(window, 0, 100, &batch), "window_rows");
  const tl_message *rows = tl_batch_rows(batch, &count);
  for (size_t i = 0; i < count; i++) {
    tl_view said = text_of(rows[i].payload);
    printf("%s %.*s: %.*s\n", rows[i].number == message->number ? "->" : "  ",
           (int)rows[i].sender.size, rows[i].sender.data, (int)said.size, said.data);
  }
  tl_batch_free(batch);
  tl_window_free(window);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: search USER FILE WORDS\n");
    return 2;
  }
  uint8_t key[TL_KEY_BYTES];
  load_key(argv[2], key);
  tl_client_config config = {.struct_size = sizeof config, .path = text(argv[2]),
                             .key = {key, sizeof key}, .user_id = text(argv[1])};
  tl_search search = {.struct_size = sizeof search, .text = text(argv[3]), .limit = 10};
  tl_searched searched = {.struct_size = sizeof searched};
  tl_client *client;
  tl_batch *found;
  size_t count;
  must(tl_client_open(&config, &client), "open");
  must(tl_search_switch(client, 1), "search_switch");
  build(client);
  must(tl_client_search(client, &search, &found), "search");
  must(tl_batch_searched(found, &searched), "searched");
  const tl_hit *hits = tl_batch_hits(found, &count);
  for (size_t i = 0; i < count; i++) print_hit(&hits[i]);
  printf("%zu hits%s; %llu messages not in the index, %u sealed, %u conversations with holes\n",
         count, searched.has_more ? " and more" : "", (unsigned long long)searched.unbuilt,
         searched.sealed, searched.partial);
  if (count > 0) show_around(client, &hits[0].message);
  tl_batch_free(found);
  tl_client_free(client);
  return 0;
}
