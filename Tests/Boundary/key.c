/* The host's key, passphrase and recovery code in the memory of the process. After a call that took
   one has ended, in whatever way, its bytes are nowhere: not in the heap, not on a stack, not in
   what was freed. */
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "check.h"

static char folder[] = "/tmp/tideline-key-XXXXXX";
static char path[300];

/* Byte `i` of key `n`. The test keeps no copy: it makes each byte anew where it looks. */
static uint8_t key_byte(volatile uint32_t n, volatile uint32_t i) {
  uint32_t x = (n + 1) * 2654435761u + i * 2246822519u;
  x = (x ^ (x >> 15)) * 3266489917u;
  return (uint8_t)(x >> 13);
}

static int is_key(const uint8_t *at, uint32_t n) {
  for (uint32_t i = 0; i < TL_KEY_BYTES; i++)
    if (at[i] != key_byte(n, i)) return 0;
  return 1;
}

/* How often a key stands in memory that can be read. What is read goes through one buffer, which
   is passed over. */
static int copies(uint32_t n) {
  static uint8_t buffer[1 << 16];
  FILE *maps = fopen("/proc/self/maps", "r");
  int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), found = 0;
  char line[512];
  CHECK(maps && memory >= 0);
  while (maps && memory >= 0 && fgets(line, sizeof line, maps)) {
    uint64_t low = 0, high = 0;
    char rights[8] = "";
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &low, &high, rights) != 3) continue;
    /* What a sanitizer keeps for itself is larger than any memory. */
    if (rights[0] != 'r' || strstr(line, "[v") || high - low > (UINT64_C(1) << 32)) continue;
    for (uint64_t at = low; at + TL_KEY_BYTES <= high; at += sizeof buffer - TL_KEY_BYTES) {
      size_t want = high - at < sizeof buffer ? (size_t)(high - at) : sizeof buffer;
      ssize_t got = pread(memory, buffer, want, (off_t)at);
      if (got < TL_KEY_BYTES) continue;
      uint8_t first = key_byte(n, 0);
      for (ssize_t i = 0; i + TL_KEY_BYTES <= got; i++) {
        uint64_t place = at + (uint64_t)i;
        if (buffer[i] != first || !is_key(buffer + i, n)) continue;
        if (place + TL_KEY_BYTES > (uintptr_t)buffer && place < (uintptr_t)buffer + sizeof buffer)
          continue;
        found++;
      }
      memset(buffer, 0, sizeof buffer);
    }
  }
  if (maps) fclose(maps);
  if (memory >= 0) close(memory);
  return found;
}

static void wipe(uint8_t *bytes, size_t count) {
  for (volatile uint8_t *at = bytes; count > 0; count--) *at++ = 0;
}

/* Opens with key `n`, of which only the library has a copy when this returns. */
static tl_status open_with(uint32_t n, tl_client_config config, tl_client **client) {
  uint8_t *key = malloc(TL_KEY_BYTES);
  for (uint32_t i = 0; i < TL_KEY_BYTES; i++) key[i] = key_byte(n, i);
  config.key.data = key;
  config.key.size = TL_KEY_BYTES;
  tl_status status = tl_client_open(&config, client);
  wipe(key, TL_KEY_BYTES);
  free(key);
  return status;
}

/* Without this the others would prove nothing. */
static void a_copy_is_found(void) {
  uint8_t *key = malloc(TL_KEY_BYTES);
  for (uint32_t i = 0; i < TL_KEY_BYTES; i++) key[i] = key_byte(9, i);
  CHECK(copies(9) == 1);
  wipe(key, TL_KEY_BYTES);
  free(key);
  CHECK(copies(9) == 0);
}

/* header: "Copied, wiped when the opening ends." */
static void no_copy_outlives_an_opening(void) {
  tl_client *client = NULL;
  tl_client_config config = file_config(path);
  EXPECT(open_with(1, config, &client), TL_OK);
  CHECK(copies(1) == 0);
  EXPECT(tl_client_connected(client), TL_OK);
  CHECK(row_count(client) == 0);
  CHECK(copies(1) == 0);
  tl_client_close(client);
  CHECK(copies(1) == 0);
  tl_client_free(client);
  CHECK(copies(1) == 0);
  EXPECT(open_with(1, config, &client), TL_OK);
  CHECK(row_count(client) == 0);
  CHECK(copies(1) == 0);
  tl_client_free(client);
  CHECK(copies(1) == 0);
}

static void no_copy_outlives_an_opening_that_failed(void) {
  tl_client *client = NULL;
  tl_client_config config = file_config(path);
  EXPECT(open_with(2, config, &client), TL_E_KEY);
  CHECK(copies(2) == 0);
  config.user_id = view("another");
  EXPECT(open_with(1, config, &client), TL_E_MISMATCH);
  CHECK(copies(1) == 0);
  config = file_config("/nowhere/at/all");
  CHECK(open_with(3, config, &client) < TL_OK);
  CHECK(copies(3) == 0);
  config = file_config(path);
  config.flags = TL_OPEN_MEMORY;
  EXPECT(open_with(4, config, &client), TL_E_INVALID);
  CHECK(copies(4) == 0);
  config = file_config(path);
  config.user_id = view("");
  EXPECT(open_with(5, config, &client), TL_E_INVALID);
  CHECK(copies(5) == 0);
  config = file_config(folder);
  EXPECT(open_with(6, config, &client), TL_E_NOT_OURS);
  CHECK(copies(6) == 0);
}

/* Adds key `n` of a kind to an open client, or puts it in the place of that in slot 1. */
static tl_status add(uint32_t n, tl_client *client, tl_key_kind kind, int changes) {
  uint8_t *bytes = malloc(TL_KEY_BYTES);
  for (uint32_t i = 0; i < TL_KEY_BYTES; i++) bytes[i] = key_byte(n, i);
  tl_key key = {.struct_size = sizeof key, .kind = kind, .key = {bytes, TL_KEY_BYTES}};
  tl_status status = changes ? tl_key_change(client, 1, &key) : tl_key_add(client, &key, NULL);
  wipe(bytes, TL_KEY_BYTES);
  free(bytes);
  return status;
}

/* header: "Copied, wiped when the call ends." */
static void no_copy_of_a_passphrase_outlives_a_call(void) {
  tl_client *client = NULL;
  tl_client_config config = file_config(path);
  EXPECT(open_with(1, config, &client), TL_OK);
  EXPECT(add(7, client, TL_KEY_PASSPHRASE, 0), TL_OK);
  CHECK(copies(7) == 0);
  EXPECT(add(8, client, TL_KEY_RAW, 1), TL_OK);
  CHECK(copies(8) == 0);
  EXPECT(add(7, client, TL_KEY_PASSPHRASE, 1), TL_OK);
  EXPECT(add(10, client, 77, 1), TL_E_INVALID);
  CHECK(copies(7) + copies(10) == 0);
  tl_client_free(client);
  config.key_kind = TL_KEY_PASSPHRASE;
  EXPECT(open_with(7, config, &client), TL_OK);
  CHECK(row_count(client) == 0);
  CHECK(copies(7) == 0);
  tl_client_free(client);
  CHECK(copies(7) == 0);
  EXPECT(open_with(11, config, &client), TL_E_KEY);
  CHECK(copies(11) == 0);
}

/* What a code is kept as here: each byte is another. */
static uint8_t masked[TL_KEY_CODE_BYTES];

/* How often the code stands in memory, as it is printed or without what stands between its groups.
   Its first ten characters, of which the others are told apart by the mask. */
static int codes(void) {
  static uint8_t buffer[1 << 16];
  FILE *maps = fopen("/proc/self/maps", "r");
  int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), found = 0;
  char line[512];
  CHECK(maps && memory >= 0);
  while (maps && memory >= 0 && fgets(line, sizeof line, maps)) {
    uint64_t low = 0, high = 0;
    char rights[8] = "";
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &low, &high, rights) != 3) continue;
    if (rights[0] != 'r' || strstr(line, "[v") || high - low > (UINT64_C(1) << 32)) continue;
    for (uint64_t at = low; at + TL_KEY_CODE_BYTES <= high;
         at += sizeof buffer - TL_KEY_CODE_BYTES) {
      size_t want = high - at < sizeof buffer ? (size_t)(high - at) : sizeof buffer;
      ssize_t got = pread(memory, buffer, want, (off_t)at);
      for (ssize_t i = 0; i + 12 <= got; i++) {
        uint64_t place = at + (uint64_t)i;
        if (place + TL_KEY_CODE_BYTES > (uintptr_t)buffer &&
            place < (uintptr_t)buffer + sizeof buffer)
          continue;
        int same = 0, gap = buffer[i + 5] == '-';
        while (same < 5 && buffer[i + same] == (masked[same] ^ 0x5A)) same++;
        while (same >= 5 && same < 10 && buffer[i + same + gap] == (masked[same + 1] ^ 0x5A))
          same++;
        if (same == 10) found++;
      }
      memset(buffer, 0, sizeof buffer);
    }
  }
  if (maps) fclose(maps);
  if (memory >= 0) close(memory);
  return found;
}

static void no_copy_of_a_code_outlives_a_call(void) {
  uint8_t *code = malloc(64);
  tl_client *client = NULL;
  tl_client_config config = file_config(path);
  EXPECT(tl_key_code(code, TL_KEY_CODE_BYTES - 1), TL_E_INVALID);
  EXPECT(tl_key_code(NULL, TL_KEY_CODE_BYTES), TL_E_INVALID);
  EXPECT(tl_key_code(code, TL_KEY_CODE_BYTES), TL_OK);
  for (int i = 0; i < TL_KEY_CODE_BYTES; i++) masked[i] = code[i] ^ 0x5A;
  CHECK(codes() == 1);
  EXPECT(open_with(1, config, &client), TL_OK);
  tl_key key = {
      .struct_size = sizeof key, .kind = TL_KEY_CODE, .key = {code, TL_KEY_CODE_BYTES}};
  uint32_t slot = 0;
  EXPECT(tl_key_add(client, &key, &slot), TL_OK);
  CHECK(slot == 2);
  CHECK(codes() == 1);
  tl_client_free(client);
  config.key_kind = TL_KEY_CODE;
  config.key = key.key;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  CHECK(codes() == 1);
  tl_client_free(client);
  config.key.size--;
  EXPECT(tl_client_open(&config, &client), TL_E_CODE);
  CHECK(codes() == 1);
  wipe(code, 64);
  free(code);
  CHECK(codes() == 0);
}

int main(void) {
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/key.tideline", folder);
  RUN(a_copy_is_found);
  RUN(no_copy_outlives_an_opening);
  RUN(no_copy_outlives_an_opening_that_failed);
  RUN(no_copy_of_a_passphrase_outlives_a_call);
  RUN(no_copy_of_a_code_outlives_a_call);
  unlink(path);
  rmdir(folder);
  return report("key");
}
