/* The shared library has no code of its own: this target exists so that the soname, the version
   script and the static runtime stay out of the tests. What is here stands in the place of parts
   of that runtime that a library has no business with; as their names are defined here, the
   linker leaves those parts out. */
#include <stddef.h>
#include <stdint.h>

extern int tideline_library_anchor;
int tideline_library_anchor = 1;

/* The runtime's crash handler: signal handlers in the host's process, stacks for them, and a
   program started when it crashes. Its settings say that it is off. */
extern const uint8_t _swift_backtraceSettings[512];
const uint8_t _swift_backtraceSettings[512] = {0};

int _swift_backtrace_isThunkFunction(const char *name);
int _swift_backtrace_isThunkFunction(const char *name) { return (void)name, 0; }

/* What Unicode says of characters: names, categories, scripts, upper and lower case. It is half a
   megabyte of tables, and nothing here asks: text is compared and cut, never judged by them. */
uint8_t _swift_stdlib_getNumericType(uint32_t scalar);
uint8_t _swift_stdlib_getNumericType(uint32_t scalar) { return (void)scalar, 0; }

double _swift_stdlib_getNumericValue(uint32_t scalar);
double _swift_stdlib_getNumericValue(uint32_t scalar) { return (void)scalar, 0; }

const char *_swift_stdlib_getNameAlias(uint32_t scalar);
const char *_swift_stdlib_getNameAlias(uint32_t scalar) { return (void)scalar, NULL; }

int32_t _swift_stdlib_getMapping(uint32_t scalar, uint8_t mapping);
int32_t _swift_stdlib_getMapping(uint32_t scalar, uint8_t mapping) {
  return (void)scalar, (void)mapping, 0;
}

const uint8_t *_swift_stdlib_getSpecialMapping(uint32_t scalar, uint8_t mapping, size_t *size);
const uint8_t *_swift_stdlib_getSpecialMapping(uint32_t scalar, uint8_t mapping, size_t *size) {
  (void)scalar, (void)mapping;
  *size = 0;
  return NULL;
}

uint16_t _swift_stdlib_getScalarName(uint32_t scalar, uint8_t *buffer, size_t capacity);
uint16_t _swift_stdlib_getScalarName(uint32_t scalar, uint8_t *buffer, size_t capacity) {
  return (void)scalar, (void)buffer, (void)capacity, 0;
}

uint16_t _swift_stdlib_getAge(uint32_t scalar);
uint16_t _swift_stdlib_getAge(uint32_t scalar) { return (void)scalar, 0; }

uint8_t _swift_stdlib_getGeneralCategory(uint32_t scalar);
uint8_t _swift_stdlib_getGeneralCategory(uint32_t scalar) { return (void)scalar, 0; }

uint8_t _swift_stdlib_getScript(uint32_t scalar);
uint8_t _swift_stdlib_getScript(uint32_t scalar) { return (void)scalar, 0; }

const uint8_t *_swift_stdlib_getScriptExtensions(uint32_t scalar, uint8_t *count);
const uint8_t *_swift_stdlib_getScriptExtensions(uint32_t scalar, uint8_t *count) {
  (void)scalar;
  *count = 0;
  return NULL;
}

uint64_t _swift_stdlib_getBinaryProperties(uint32_t scalar);
uint64_t _swift_stdlib_getBinaryProperties(uint32_t scalar) { return (void)scalar, 0; }

void _swift_stdlib_getCaseMapping(uint32_t scalar, uint32_t *buffer);
void _swift_stdlib_getCaseMapping(uint32_t scalar, uint32_t *buffer) { *buffer = scalar; }

/* The arguments of the program, which the runtime finds while it is loaded by going through all
   that the process has mapped. They are the host's. */
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
