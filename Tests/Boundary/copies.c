/* Two copies of the library in one process, as where an application has one and a package that it
   loads brings another: each refuses what the other has open, and both work beside each other. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static char folder[] = "/tmp/tideline-copies-XXXXXX";
static char path[300], other[300], link_path[300], library[300];

/* What the tests call of a copy. */
typedef struct copy {
  tl_status (*open)(const tl_client_config *, tl_client **);
  void (*free)(tl_client *);
  tl_status (*send)(tl_client *, const tl_send *, uint64_t *, uint64_t *);
  tl_status (*messages)(tl_client *, const tl_query *, tl_batch **);
  const tl_message *(*rows)(const tl_batch *, size_t *);
  void (*batch_free)(tl_batch *);
  tl_status (*search_switch)(tl_client *, int32_t);
  tl_status (*search_check)(tl_client *, tl_work **);
  tl_status (*step)(tl_work *, uint32_t, tl_progress *);
  void (*work_free)(tl_work *);
  const char *(*last_error)(void);
} copy;

static copy first, second;

static copy copy_of(void *loaded) {
  copy copy;
#define FIND(member, name) *(void **)&copy.member = dlsym(loaded, #name)
  FIND(open, tl_client_open);
  FIND(free, tl_client_free);
  FIND(send, tl_client_send);
  FIND(messages, tl_client_messages);
  FIND(rows, tl_batch_rows);
  FIND(batch_free, tl_batch_free);
  FIND(search_switch, tl_search_switch);
  FIND(search_check, tl_search_check);
  FIND(step, tl_work_step);
  FIND(work_free, tl_work_free);
  FIND(last_error, tl_last_error);
  return copy;
}

static void copy_file(const char *from, const char *to) {
  static char bytes[1 << 16];
  int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0700);
  ssize_t got;
  while ((got = read(in, bytes, sizeof bytes)) > 0) CHECK(write(out, bytes, (size_t)got) == got);
  CHECK(in >= 0 && out >= 0 && got == 0);
  close(in);
  close(out);
}

static tl_client *opened(copy copy, const char *file) {
  tl_client_config config = file_config(file);
  tl_client *client = NULL;
  EXPECT(copy.open(&config, &client), TL_OK);
  return client;
}

static void refused(copy copy, const char *file) {
  tl_client_config config = file_config(file);
  tl_client *client = NULL;
  EXPECT(copy.open(&config, &client), TL_E_LOCKED);
  CHECK(client == NULL && strcmp(copy.last_error(), "the file is open elsewhere") == 0);
}

static void send_one(copy copy, tl_client *client) {
  tl_send send;
  memset(&send, 0, sizeof send);
  send.struct_size = sizeof send;
  send.conversation = view("c");
  send.payload = view("\"text\"");
  EXPECT(copy.send(client, &send, NULL, NULL), TL_OK);
}

static size_t rows_of(copy copy, tl_client *client) {
  tl_query query;
  memset(&query, 0, sizeof query);
  query.struct_size = sizeof query;
  query.conversation = view("c");
  tl_batch *batch = NULL;
  size_t count = 0;
  EXPECT(copy.messages(client, &query, &batch), TL_OK);
  copy.rows(batch, &count);
  copy.batch_free(batch);
  return count;
}

/* A read on a connection of its own, which is opened anew. */
static void check_search(copy copy, tl_client *client) {
  tl_work *work = NULL;
  tl_progress progress;
  memset(&progress, 0, sizeof progress);
  progress.struct_size = sizeof progress;
  EXPECT(copy.search_check(client, &work), TL_OK);
  tl_status status;
  while ((status = copy.step(work, 0, &progress)) == TL_OK) continue;
  EXPECT(status, TL_NONE);
  copy.work_free(work);
}

static void another_process_is_refused(void) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "copies", path, (char *)NULL);
    _exit(99);
  }
  int status = 1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* With the own work beside it, which the next file of that name would get back. */
static void remove_file(const char *name) {
  char own[320];
  snprintf(own, sizeof own, "%s-own", name);
  unlink(name);
  unlink(own);
}

static void one_file(copy one, copy another) {
  tl_client *client = opened(one, path);
  send_one(one, client);
  for (int turn = 0; turn < 3; turn++) {
    refused(another, path);
    refused(another, link_path);
    refused(one, path);
    send_one(one, client);
    another_process_is_refused();
  }
  CHECK(rows_of(one, client) == 4);
  one.free(client);
  client = opened(another, link_path);
  CHECK(rows_of(another, client) == 4);
  refused(one, path);
  send_one(another, client);
  another.free(client);
  client = opened(one, path);
  CHECK(rows_of(one, client) == 5);
  one.free(client);
  remove_file(path);
}

static void a_copy_refuses_what_the_other_has_open(void) {
  one_file(first, second);
  one_file(second, first);
}

static void another_name_is_no_way_round(void) {
  tl_client *client = opened(first, path);
  CHECK(link(path, other) == 0);
  refused(second, other);
  refused(second, path);
  CHECK(unlink(other) == 0);
  send_one(first, client);
  CHECK(rows_of(first, client) == 1);
  first.free(client);
  remove_file(path);
}

static void both_work_on_files_of_their_own(void) {
  tl_client *one = opened(first, path);
  EXPECT(first.search_switch(one, 1), TL_OK);
  send_one(first, one);
  tl_client *two = opened(second, other);
  EXPECT(second.search_switch(two, 1), TL_OK);
  for (int i = 0; i < 3; i++) send_one(second, two);
  check_search(first, one);
  check_search(second, two);
  CHECK(rows_of(first, one) == 1 && rows_of(second, two) == 3);
  first.free(one);
  check_search(second, two);
  one = opened(first, path);
  check_search(first, one);
  CHECK(rows_of(first, one) == 1);
  second.free(two);
  first.free(one);
  remove_file(path);
  remove_file(other);
}

static void run_all(void) {
  RUN(a_copy_refuses_what_the_other_has_open);
  RUN(another_name_is_no_way_round);
  RUN(both_work_on_files_of_their_own);
}

/* As another program: the file is in use. */
static int locked_out(const char *file) {
  tl_client_config config = file_config(file);
  tl_client *client = NULL;
  return tl_client_open(&config, &client) != TL_E_LOCKED;
}

int main(int count, char **arguments) {
  if (count > 1) return locked_out(arguments[1]);
  const char *own = getenv("TIDELINE_LIBRARY"), *mode = getenv("TL_TEST_MODE");
  if (own == NULL || !mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/a.tideline", folder);
  snprintf(other, sizeof other, "%s/b.tideline", folder);
  snprintf(link_path, sizeof link_path, "%s/l.tideline", folder);
  snprintf(library, sizeof library, "%s/library.so", folder);
  copy_file(own, library);
  CHECK(symlink(path, link_path) == 0);
  first = copy_of(RTLD_DEFAULT);
  void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loaded == NULL) return printf("copies: %s\n", dlerror()), 1;
  second = copy_of(loaded);
  CHECK(second.open != first.open);
  run_all();
  /* Each with an SQLite of its own, and even a C library; a sanitizer can be there but once. */
  if (mode != NULL && strcmp(mode, "release") == 0) {
    loaded = dlmopen(LM_ID_NEWLM, library, RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL) return printf("copies: %s\n", dlerror()), 1;
    second = copy_of(loaded);
    run_all();
  }
  unlink(library);
  unlink(link_path);
  rmdir(folder);
  return report("copies");
}
