/* Imports and exports from C: a source in memory, lines of no use, and what is refused. */
#include "check.h"

static const char source[] =
    "{\"message_id\":\"m1\",\"sender_id\":\"you\",\"payload\":{\"text\":\"a\"},"
    "\"created_at\":\"2024-05-01T10:00:01\"}\n"
    "no json\n"
    "{\"message_id\":\"m2\",\"sender_id\":\"me\",\"payload\":{\"text\":\"b\"},"
    "\"created_at\":\"2024-05-01T10:00:02\"}\n";
static int fails, reads, dropped;
static char written[4096];
static size_t written_size;

static tl_status give(void *context, uint64_t offset, uint8_t *bytes, size_t size, size_t *got) {
  size_t whole = sizeof source - 1;
  CHECK(context == &reads && offset <= whole);
  reads++;
  if (fails) return TL_E_STORAGE;
  *got = whole - offset < size ? whole - offset : size;
  memcpy(bytes, source + offset, *got);
  return TL_OK;
}

static const char array[] =
    "[{\"message_id\":\"m1\",\"sender_id\":\"you\",\"payload\":{\"text\":\"a\"},"
    "\"created_at\":\"2024-05-01T10:00:01\"},"
    "{\"message_id\":\"m2\",\"sender_id\":\"me\",\"payload\":{\"text\":\"b\"},"
    "\"created_at\":\"2024-05-01T10:00:02\"}]";
static size_t array_size;

static tl_status give_array(void *context, uint64_t offset, uint8_t *bytes, size_t size,
                            size_t *got) {
  CHECK(context == &reads && offset <= array_size);
  *got = array_size - offset < size ? array_size - offset : size;
  memcpy(bytes, array + offset, *got);
  return TL_OK;
}

static tl_status take(void *context, tl_view lines) {
  CHECK(context == &reads && written_size + lines.size < sizeof written);
  if (fails) return TL_E_FULL;
  memcpy(written + written_size, lines.data, lines.size);
  written_size += lines.size;
  return TL_OK;
}

static void drop(void *context) { dropped += context == &reads; }

static tl_import config(void) {
  tl_import out;
  memset(&out, 0, sizeof out);
  out.struct_size = sizeof out;
  out.name = view("old");
  out.conversation = view("c");
  out.size = sizeof source - 1;
  out.read = give;
  out.context = &reads;
  out.drop = drop;
  return out;
}

static void finish(tl_work *work) {
  tl_progress progress = {.struct_size = sizeof progress};
  tl_status status;
  while ((status = tl_work_step(work, 0, &progress)) == TL_OK) continue;
  CHECK(status == TL_NONE && progress.done == progress.total);
  tl_work_free(work);
}

static void in_and_out(void) {
  tl_client *client = open_memory();
  tl_work *work = NULL;
  tl_import in = config();
  tl_progress progress = {.struct_size = sizeof progress};
  fails = 1;
  dropped = 0;
  EXPECT(tl_client_import(client, &in, &work), TL_OK);
  EXPECT(tl_work_step(work, 0, &progress), TL_E_STORAGE);
  CHECK(strcmp(tl_last_error(), "the host's function that reads the source failed") == 0);
  fails = 0;
  finish(work);
  CHECK(dropped == 1);
  tl_imported done = {.struct_size = sizeof done};
  EXPECT(tl_client_imported(client, view("old"), &done), TL_OK);
  CHECK(done.flags == TL_IMPORTED_DONE && done.inserted == 2 && done.bad == 1 && done.lines == 3);
  CHECK(done.offset == sizeof source - 1 && done.known == 0);
  tl_batch *batch = NULL;
  EXPECT(tl_client_import_bad(client, view("old"), 0, 0, &batch), TL_OK);
  size_t count = 0;
  const tl_bad_line *bad = tl_batch_bad_lines(batch, &count);
  CHECK(count == 1 && bad[0].number == 2 && is(bad[0].reason, "an item is not JSON"));
  CHECK(tl_batch_rows(batch, &count) == NULL && count == 0);
  tl_batch_free(batch);
  EXPECT(tl_client_import_bad(client, view("old"), 2, 0, &batch), TL_NONE);
  tl_export out = {.struct_size = sizeof out, .conversation = view("c"), .write = take,
                   .context = &reads, .drop = drop};
  EXPECT(tl_client_export(client, &out, &work), TL_OK);
  fails = 1;
  EXPECT(tl_work_step(work, 0, &progress), TL_E_STORAGE);
  CHECK(strcmp(tl_last_error(), "the host's function that writes the lines failed") == 0);
  fails = 0;
  written_size = 0;
  finish(work);
  CHECK(dropped == 2);
  written[written_size] = 0;
  const char *first = strchr(written, '\n');
  CHECK(first != NULL && strstr(written, "\"m1\"") < first && strstr(first, "\"m2\"") != NULL);
  tl_client_free(client);
}

static void misuse(void) {
  tl_client *client = open_memory();
  tl_work *work = NULL;
  tl_import in = config();
  dropped = 0;
  in.flags = 8;
  EXPECT(tl_client_import(client, &in, &work), TL_E_INVALID);
  in = config();
  in.read = NULL;
  EXPECT(tl_client_import(client, &in, &work), TL_E_INVALID);
  in = config();
  in.name = view("");
  EXPECT(tl_client_import(client, &in, &work), TL_E_INVALID);
  in = config();
  EXPECT(tl_client_import(client, &in, NULL), TL_E_INVALID);
  CHECK(dropped == 4 && work == NULL);
  EXPECT(tl_client_import(client, NULL, &work), TL_E_INVALID);
  tl_imported done = {.struct_size = sizeof done};
  EXPECT(tl_client_imported(client, view("old"), &done), TL_E_NOT_FOUND);
  tl_batch *batch = NULL;
  EXPECT(tl_client_import_bad(client, view("old"), 0, 10001, &batch), TL_E_INVALID);
  EXPECT(tl_client_import_bad(client, view("old"), 0, 0, NULL), TL_E_INVALID);
  size_t count = 7;
  CHECK(tl_batch_bad_lines(NULL, &count) == NULL && count == 0);
  tl_export out = {.struct_size = sizeof out, .conversation = view("c"), .write = take};
  EXPECT(tl_client_export(client, &out, &work), TL_E_NOT_FOUND);
  out.flags = 1;
  EXPECT(tl_client_export(client, &out, &work), TL_E_INVALID);
  out.flags = 0;
  out.write = NULL;
  EXPECT(tl_client_export(client, &out, &work), TL_E_INVALID);
  /* The same name in another form. */
  in = config();
  EXPECT(tl_client_import(client, &in, &work), TL_OK);
  finish(work);
  in = config();
  in.flags = TL_IMPORT_ARRAY;
  EXPECT(tl_client_import(client, &in, &work), TL_E_INVALID);
  CHECK(work == NULL && strcmp(tl_last_error(), "an import of this name has another form") == 0);
  /* Lines are no array, and what was read of one that has no end stays. */
  tl_progress progress = {.struct_size = sizeof progress};
  in.name = view("array");
  EXPECT(tl_client_import(client, &in, &work), TL_OK);
  EXPECT(tl_work_step(work, 0, &progress), TL_E_INVALID);
  CHECK(strcmp(tl_last_error(), "the source is no JSON array") == 0);
  tl_work_free(work);
  tl_client_free(client);
}

/* header: "the step that comes there gives #TL_E_INCOMPLETE, and continues" */
static void an_array_that_grows(void) {
  tl_client *client = open_memory();
  tl_work *work = NULL;
  tl_import in = config();
  tl_progress progress = {.struct_size = sizeof progress};
  tl_imported done = {.struct_size = sizeof done};
  in.flags = TL_IMPORT_ARRAY;
  in.read = give_array;
  array_size = strlen(array) - 1;
  EXPECT(tl_client_import(client, &in, &work), TL_OK);
  EXPECT(tl_work_step(work, 0, &progress), TL_E_INCOMPLETE);
  CHECK(strcmp(tl_last_error(), "the source is over before its array ends") == 0);
  EXPECT(tl_client_imported(client, view("old"), &done), TL_OK);
  CHECK(done.inserted == 1 && done.flags == 0);
  array_size++;
  finish(work);
  EXPECT(tl_client_imported(client, view("old"), &done), TL_OK);
  CHECK(done.inserted == 2 && done.flags == TL_IMPORTED_DONE);
  tl_client_free(client);
}

int main(void) {
  RUN(in_and_out);
  RUN(an_array_that_grows);
  RUN(misuse);
  return report("import");
}
