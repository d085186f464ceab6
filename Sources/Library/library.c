/* The target of the shared library, which has no code of its own: soname, version script and static
   runtime are linked here and stay out of the tests. Two parts of Swift's runtime are replaced: the
   linker takes a function that is defined here and leaves the runtime's out. */
#include <stddef.h>
#include <stdint.h>

extern int tideline_library_anchor;
int tideline_library_anchor = 1;

/* The runtime's crash handler: with SWIFT_BACKTRACE in the environment it would install signal
   handlers in the host's process. These settings turn it off. */
extern const uint8_t _swift_backtraceSettings[512];
const uint8_t _swift_backtraceSettings[512] = {0};

int _swift_backtrace_isThunkFunction(const char *name);
int _swift_backtrace_isThunkFunction(const char *name) { return (void)name, 0; }

/* The arguments of the program, which are the host's. While it is loaded the runtime would read
   them out of all that the process has mapped: 694 us to load in place of 593 (median of 101
   loads). */
char **_swift_stdlib_getUnsafeArgvArgc(int *count);
char **_swift_stdlib_getUnsafeArgvArgc(int *count) {
  static char *none[1] = {NULL};
  *count = 0;
  return none;
}

void _swift_stdlib_overrideUnsafeArgvArgc(char **arguments, int count);
void _swift_stdlib_overrideUnsafeArgvArgc(char **arguments, int count) {
  (void)arguments, (void)count;
}
