/* A process with few descriptors left: with each number of free ones an opening either fails, with
   a reason and nothing left behind, or gives a client that works. */
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "turn.h"

static char folder[] = "/tmp/tideline-descriptors-XXXXXX";
static char path[300], unfinished[310];
static struct rlimit usual;
static int top;

/* Descriptors that are open. */
static int open_count(void) {
  int count = 0;
  for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

/* Leaves so many free ones; those of the test fill all numbers below. */
static void leave_free(int count) {
  struct rlimit limit = usual;
  limit.rlim_cur = (rlim_t)(top + count);
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static int is_readable(int fd) {
  struct pollfd one = {fd, POLLIN, 0};
  return poll(&one, 1, 0) == 1;
}

/* What a call may say where there are too few descriptors. */
static int is_done(tl_status status) {
  CHECK(status == TL_OK || status == TL_E_STORAGE);
  if (status == TL_E_STORAGE) CHECK(strlen(tl_last_error()) > 0);
  return status == TL_OK;
}

/* News are told of and taken; gives whether there is a descriptor that tells. */
static int tells_of_news(tl_client *client) {
  int32_t fd = -1;
  int has_event = is_done(tl_client_event_fd(client, &fd));
  CHECK(has_event == (fd >= 0));
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(sync_latest(client, NULL), TL_OK);
  if (has_event) CHECK(is_readable(fd));
  turn(client);
  if (has_event) CHECK(!is_readable(fd));
  return has_event;
}

/* A read on a connection of its own. */
static tl_status read_apart(tl_client *client) {
  tl_work *work = NULL;
  tl_progress progress;
  memset(&progress, 0, sizeof progress);
  progress.struct_size = sizeof progress;
  tl_status status = tl_search_check(client, &work);
  if (status == TL_OK) status = tl_work_step(work, 0, &progress);
  tl_work_free(work);
  return status == TL_NONE ? TL_OK : status;
}

/* Gives whether all was done, with so many free descriptors. */
static int use(const char *file, int count) {
  unsigned sent = 0, tries = 0;
  int before = open_count(), all_done = 1;
  tl_client *client = (tl_client *)&client;
  tl_client_config config = file == NULL ? memory_config() : file_config(file);
  leave_free(count);
  tl_status status = tl_client_open(&config, &client);
  if (!is_done(status)) {
    all_done = 0;
    CHECK(client == NULL && open_count() == before);
    CHECK(strstr(tl_last_error(), "no file descriptor is left") != NULL);
    CHECK(access(unfinished, F_OK) != 0);
  } else {
    all_done &= tells_of_news(client);
    all_done &= is_done(tl_search_switch(client, 1)) && is_done(read_apart(client));
    for (; tries < 5; tries++) {
      tl_send send = send_of("\"text\"");
      sent += is_done(tl_client_send(client, &send, NULL, NULL));
    }
    CHECK(row_count(client) == sent);
    all_done &= sent == tries;
    tl_client_free(client);
    CHECK(open_count() == before);
  }
  CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);
  if (file == NULL) return all_done;
  /* What was kept is there. */
  EXPECT(tl_client_open(&config, &client), TL_OK);
  CHECK(row_count(client) == sent);
  EXPECT(tl_client_wipe(client), TL_OK);
  tl_client_free(client);
  CHECK(open_count() == before);
  return all_done;
}

static void each_number(const char *file) {
  int done = 0, count = 0;
  server_reset();
  for (; count < 32 && done < 3 && !broken; count++) done = use(file, count) ? done + 1 : 0;
  CHECK(done == 3 && count > 3);
  if (broken) printf("descriptors: with %d free ones\n", count - 1);
}

static void a_client_on_a_file_works_or_is_refused(void) { each_number(path); }
static void a_client_in_memory_works_or_is_refused(void) { each_number(NULL); }

/* header: "or that no descriptor is free" */
static void the_reason_names_descriptors(void) {
  tl_client *client = NULL;
  tl_client_config config = file_config(path);
  leave_free(0);
  EXPECT(tl_client_open(&config, &client), TL_E_STORAGE);
  CHECK(client == NULL && strstr(tl_last_error(), "no file descriptor is left") != NULL);
  /* header: "(no descriptor is left)" */
  config = memory_config();
  int32_t fd = 0;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  EXPECT(tl_client_event_fd(client, &fd), TL_E_STORAGE);
  CHECK(fd == -1 && strstr(tl_last_error(), "no file descriptor is left") != NULL);
  CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);
  EXPECT(tl_client_event_fd(client, &fd), TL_OK);
  tl_client_free(client);
}

/* At rest it has one descriptor. With each number of free ones the next call opens the file, or
   fails and leaves it at rest. */
static void a_client_that_rests_has_one(void) {
  tl_client *client = NULL;
  tl_client_config config = file_config(path);
  int before = open_count(), done = 0, failed = 0;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  tl_send send = send_of("\"text\"");
  EXPECT(tl_client_send(client, &send, NULL, NULL), TL_OK);
  CHECK(open_count() > before + 1);
  EXPECT(tl_client_rest(client), TL_OK);
  EXPECT(tl_client_rest(client), TL_NONE);
  CHECK(open_count() == before + 1);
  for (int count = 0; count < 16 && !done && !broken; count++) {
    tl_batch *batch = NULL;
    tl_query query = {.struct_size = sizeof query, .conversation = view("c")};
    leave_free(count);
    done = is_done(tl_client_messages(client, &query, &batch));
    CHECK(done || (batch == NULL && open_count() == before + 1));
    CHECK(done || strstr(tl_last_error(), "no file descriptor is left") != NULL);
    failed += !done;
    CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);
    tl_batch_free(batch);
  }
  CHECK(done && failed > 1);
  CHECK(row_count(client) == 1);
  EXPECT(tl_client_rest(client), TL_OK);
  EXPECT(tl_client_wipe(client), TL_OK);
  tl_client_free(client);
  CHECK(open_count() == before);
}

int main(void) {
  if (!mkdtemp(folder) || getrlimit(RLIMIT_NOFILE, &usual) != 0) return 1;
  snprintf(path, sizeof path, "%s/a.tideline", folder);
  snprintf(unfinished, sizeof unfinished, "%s-new", path);
  int zero = open("/dev/null", O_RDONLY);
  while ((top = dup(zero)) < 64) continue;
  top++;
  RUN(a_client_on_a_file_works_or_is_refused);
  RUN(a_client_in_memory_works_or_is_refused);
  RUN(the_reason_names_descriptors);
  RUN(a_client_that_rests_has_one);
  rmdir(folder);
  return report("descriptors");
}
