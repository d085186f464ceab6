/* Proof that the leak check of the other tests is awake: a child that forgets a
   client and a batch must be reported under the address sanitizer. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int leak(void) {
  for (int i = 0; i < 10; i++) {
    tl_client *client = open_memory();
    tl_batch *batch = NULL;
    EXPECT(read_page(client, &batch), TL_OK);
    if (i % 2) tl_client_free(client);
    client = NULL;
    batch = NULL;
  }
  return broken;
}

static const char *self;

static void leaks_are_seen(void) {
  const char *mode = getenv("TL_TEST_MODE");
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    freopen("/dev/null", "w", stderr);
    execl(self, self, "leak", (char *)NULL);
    _exit(127);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  int expected = mode != NULL && strcmp(mode, "address") == 0 ? 1 : 0;
  CHECK(WEXITSTATUS(status) == expected);
}

int main(int count, char **arguments) {
  if (count > 1) return leak();
  self = arguments[0];
  RUN(leaks_are_seen);
  return report("canary");
}
