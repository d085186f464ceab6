/* How long a shared library takes to load in a process that has nothing of it yet, and the memory
   that this makes its own: `load LIBRARY SYMBOL` opens it, finds one function without arguments and
   calls it. */
#include <dlfcn.h>

#include "bench.h"

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  long before = memory_kib("RssAnon");
  stopwatch watch = {0};
  start(&watch);
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail(argv[1], dlerror());
  unsigned (*function)(void);
  *(void **)&function = dlsym(library, argv[2]);
  if (function == NULL || function() == 0) fail(argv[2], "gave nothing");
  stop(&watch);
  told("load", 1, watch.total);
  said("load_kib", (double)(memory_kib("RssAnon") - before));
  return 0;
}
