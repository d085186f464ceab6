/* A backup from C: stepped beside other calls, opened by the same key, ended early, and refused. */
#include <unistd.h>

#include "check.h"

static char folder[] = "/tmp/tideline-backup-XXXXXX";
static char path[300], copy[300], unfinished[320];

static int exists(const char *name) { return access(name, F_OK) == 0; }

static tl_client *open_file(const char *name) {
  tl_client *client = NULL;
  tl_client_config config = file_config(name);
  EXPECT(tl_client_open(&config, &client), TL_OK);
  return client;
}

/* header: "Gives the work that copies the file, as it is now" */
static void the_copy_has_what_was_there(void) {
  tl_client *client = open_file(path);
  tl_work *work = NULL;
  tl_progress progress = {.struct_size = sizeof progress};
  tl_status status;
  EXPECT(set_draft(client, view("c"), view("before"), view("")), TL_OK);
  EXPECT(tl_client_backup(client, view(copy), &work), TL_OK);
  EXPECT(set_draft(client, view("c"), view("after"), view("")), TL_OK);
  while ((status = tl_work_step(work, 0, &progress)) == TL_OK)
    CHECK(!exists(copy) && exists(unfinished));
  CHECK(status == TL_NONE && progress.done == progress.total && progress.total > 4096);
  CHECK(exists(copy) && !exists(unfinished));
  EXPECT(tl_work_step(work, 0, &progress), TL_NONE);
  tl_work_free(work);
  tl_client *other = open_file(copy);
  tl_batch *batch = NULL;
  EXPECT(tl_client_conversation(other, view("c"), &batch), TL_OK);
  size_t count = 0;
  const tl_conversation *row = tl_batch_conversations(batch, &count);
  CHECK(count == 1 && is(row->draft, "before"));
  tl_batch_free(batch);
  tl_client_free(other);
  EXPECT(tl_client_backup(client, view(copy), &work), TL_E_INVALID);
  CHECK(unlink(copy) == 0);
  // Its own work would be taken for that of another copy.
  char own[sizeof copy + 4];
  snprintf(own, sizeof own, "%s-own", copy);
  EXPECT(tl_client_backup(client, view(copy), &work), TL_E_INVALID);
  CHECK(work == NULL && unlink(own) == 0);
  tl_client_free(client);
}

static void what_is_ended_early_is_removed(void) {
  tl_client *client = open_file(path);
  tl_work *work = NULL, *second = NULL;
  tl_progress progress = {.struct_size = sizeof progress};
  EXPECT(tl_client_backup(client, view(copy), &work), TL_OK);
  EXPECT(tl_client_backup(client, view(copy), &second), TL_E_LOCKED);
  CHECK(exists(unfinished));
  tl_work_free(work);
  CHECK(!exists(unfinished));
  EXPECT(tl_client_backup(client, view(copy), &work), TL_OK);
  tl_client_close(client);
  CHECK(!exists(unfinished));
  EXPECT(tl_work_step(work, 0, &progress), TL_E_CLOSED);
  tl_client *again = open_file(path);
  tl_work_free(work);
  tl_client_free(client);
  EXPECT(tl_client_backup(again, view(""), &work), TL_E_INVALID);
  EXPECT(tl_client_backup(again, view(copy), NULL), TL_E_INVALID);
  EXPECT(tl_client_backup(NULL, view(copy), &work), TL_E_INVALID);
  tl_client_free(again);
  client = open_memory();
  EXPECT(tl_client_backup(client, view(copy), &work), TL_E_UNSUPPORTED);
  tl_client_free(client);
}

int main(void) {
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/eva.tideline", folder);
  snprintf(copy, sizeof copy, "%s/copy", folder);
  snprintf(unfinished, sizeof unfinished, "%s-new", copy);
  RUN(the_copy_has_what_was_there);
  RUN(what_is_ended_early_is_removed);
  unlink(path);
  rmdir(folder);
  return report("backup");
}
