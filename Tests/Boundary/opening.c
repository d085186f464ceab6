/* Openings that are refused. Whatever the reason, each file is afterwards what it was, byte for
   byte, and no other has come: the file, its log, and what lies beside it. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static char folder[] = "/tmp/tideline-opening-XXXXXX";
static char path[300], log_path[310], other[310];

/* All bytes of all files of the folder, by name, as one text that can be compared. */
typedef struct {
  size_t size;
  uint8_t *bytes;
} picture;

static void add(picture *all, const void *bytes, size_t count) {
  all->bytes = realloc(all->bytes, all->size + count + 1);
  memcpy(all->bytes + all->size, bytes, count);
  all->size += count;
}

static picture look(void) {
  picture all = {0, NULL};
  struct dirent **names = NULL;
  int count = scandir(folder, &names, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    char file[600];
    uint8_t part[4096];
    snprintf(file, sizeof file, "%s/%s", folder, names[i]->d_name);
    add(&all, names[i]->d_name, strlen(names[i]->d_name) + 1);
    int read_from = names[i]->d_name[0] == '.' ? -1 : open(file, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;
    while (read_from >= 0 && (got = read(read_from, part, sizeof part)) > 0)
      add(&all, part, (size_t)got);
    if (read_from >= 0) close(read_from);
    free(names[i]);
  }
  free(names);
  return all;
}

static void empty(void) {
  DIR *directory = opendir(folder);
  struct dirent *entry;
  while (directory && (entry = readdir(directory))) {
    char file[600];
    snprintf(file, sizeof file, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] != '.') unlink(file);
  }
  if (directory) closedir(directory);
}

/* A file with a send in it. Where the process that made it was killed, a log lies beside it. */
static void make(int killed) {
  empty();
  pid_t child = fork();
  if (child == 0) {
    tl_client_config config = file_config(path);
    tl_client *client = NULL;
    tl_send send;
    memset(&send, 0, sizeof send);
    send.struct_size = sizeof send;
    send.conversation = view("c");
    send.payload = view("\"text\"");
    if (tl_client_open(&config, &client) != TL_OK) _exit(1);
    if (tl_client_send(client, &send, NULL, NULL) != TL_OK) _exit(1);
    if (!killed) tl_client_free(client);
    _exit(0);
  }
  int status = 1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  CHECK((access(log_path, F_OK) == 0) == killed);
}

/* header: "A failed opening changes nothing in an existing file." */
static void refused(tl_client_config config, tl_status expected) {
  picture before = look();
  tl_client *client = NULL;
  for (int again = 0; again < 2; again++) {
    EXPECT(tl_client_open(&config, &client), expected);
    CHECK(client == NULL);
    picture after = look();
    CHECK(before.size == after.size && memcmp(before.bytes, after.bytes, after.size) == 0);
    free(after.bytes);
  }
  free(before.bytes);
}

static void opens(void) {
  tl_client_config config = file_config(path);
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  CHECK(row_count(client) == 1);
  tl_client_free(client);
}

static void patch(const char *file, off_t at, uint8_t with) {
  int to = open(file, O_RDWR | O_CLOEXEC);
  uint8_t byte = 0;
  CHECK(to >= 0 && pread(to, &byte, 1, at) == 1);
  byte ^= with;
  CHECK(pwrite(to, &byte, 1, at) == 1);
  close(to);
}

static void another_account_or_user(void) {
  for (int killed = 0; killed < 2; killed++) {
    /* 1 and 2: one copy of the header is broken as well. */
    for (int broken = 0; broken < 3; broken++) {
      make(killed);
      if (broken > 0) patch(path, 2000 + 4096 * (broken - 1), 1);
      tl_client_config config = file_config(path);
      config.user_id = view("another");
      refused(config, TL_E_MISMATCH);
      config = file_config(path);
      config.account = view("another");
      refused(config, TL_E_MISMATCH);
      config = file_config(path);
      tl_profile profile;
      memset(&profile, 0, sizeof profile);
      profile.struct_size = sizeof profile;
      profile.capabilities = TL_SERVER_SEQUENCE;
      config.profile = &profile;
      refused(config, TL_E_MISMATCH);
      profile.capabilities = TL_SERVER_LOG;
      refused(config, TL_E_MISMATCH);
      opens();
    }
  }
}

/* header: "a file keeps one kind for ever." */
static void another_kind(void) {
  static const uint32_t kinds[] = {0, TL_SERVER_SEQUENCE, TL_SERVER_LOG};
  for (int made = 1; made < 3; made++) {
    empty();
    tl_client_config config = file_config(path);
    tl_profile profile;
    memset(&profile, 0, sizeof profile);
    profile.struct_size = sizeof profile;
    profile.capabilities = kinds[made];
    config.profile = &profile;
    tl_client *client = NULL;
    EXPECT(tl_client_open(&config, &client), TL_OK);
    tl_client_free(client);
    for (int other = 0; other < 3; other++) {
      profile.capabilities = kinds[other];
      if (other != made) refused(config, TL_E_MISMATCH);
    }
    refused(file_config(path), TL_E_MISMATCH);
    profile.capabilities = kinds[made];
    EXPECT(tl_client_open(&config, &client), TL_OK);
    tl_client_free(client);
  }
}

static void another_key(void) {
  static const uint8_t wrong[TL_KEY_BYTES] = {1};
  for (int killed = 0; killed < 2; killed++) {
    make(killed);
    tl_client_config config = file_config(path);
    config.key.data = wrong;
    refused(config, TL_E_KEY);
    opens();
  }
}

static void damaged(void) {
  for (int killed = 0; killed < 2; killed++) {
    make(killed);
    /* Page 1: the log of a killed process has it as well. */
    if (!killed) {
      patch(path, 8192 + 500, 1);
      refused(file_config(path), TL_E_DAMAGED);
    }
    make(killed);
    patch(path, 2000, 1);
    patch(path, 4096 + 2000, 1);
    refused(file_config(path), TL_E_DAMAGED);
    make(killed);
    CHECK(truncate(path, 10000) == 0);
    refused(file_config(path), TL_E_DAMAGED);
  }
  make(1);
  patch(log_path, 72 + 500, 1);
  tl_client_config config = file_config(path);
  config.flags = TL_OPEN_STRICT;
  refused(config, TL_E_DAMAGED);
}

static void not_ours(void) {
  for (int killed = 0; killed < 2; killed++) {
    make(killed);
    patch(path, 0, 1);
    patch(path, 4096, 1);
    refused(file_config(path), TL_E_NOT_OURS);
  }
}

static void in_use(void) {
  make(1);
  tl_client_config config = file_config(path);
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "opening", path, (char *)NULL);
    _exit(9);
  }
  int status = 1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  CHECK(row_count(client) == 1);
  tl_client_free(client);
  opens();
}

/* header: "#TL_E_STORAGE also means that more than one name leads to the file (hard links)" */
static void more_than_one_name(void) {
  for (int killed = 0; killed < 2; killed++) {
    make(killed);
    CHECK(link(path, other) == 0);
    refused(file_config(path), TL_E_STORAGE);
    CHECK(strstr(tl_last_error(), "hard link") != NULL);
    refused(file_config(other), TL_E_STORAGE);
    CHECK(unlink(other) == 0);
    opens();
  }
  /* The name under which a file is made is left where a process is killed in the middle. */
  make(1);
  snprintf(other, sizeof other, "%s-new", path);
  CHECK(link(path, other) == 0);
  opens();
  struct stat found;
  CHECK(stat(path, &found) == 0 && found.st_nlink == 1);
  CHECK(access(other, F_OK) != 0);
}

/* Another process: the file is in use. */
static int locked_out(const char *file) {
  snprintf(folder, sizeof folder, "%.*s", (int)sizeof folder - 1, file);
  refused(file_config(file), TL_E_LOCKED);
  return broken;
}

int main(int count, char **arguments) {
  if (count > 1) return locked_out(arguments[1]);
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/a.tideline", folder);
  snprintf(log_path, sizeof log_path, "%s-wal", path);
  snprintf(other, sizeof other, "%s/b.tideline", folder);
  RUN(another_account_or_user);
  RUN(another_kind);
  RUN(another_key);
  RUN(damaged);
  RUN(not_ours);
  RUN(in_use);
  RUN(more_than_one_name);
  empty();
  rmdir(folder);
  return report("opening");
}
