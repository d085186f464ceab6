/** @file tideline_json.h
    Reads and writes the JSON that a C host of tideline.h meets: payloads, requests and greetings.

    All functions are `static inline`, so nothing is linked. They allocate nothing, do not recurse
    and touch no byte beyond the sizes that they are given, also if the text is malformed. They need
    no client, so any thread may call them.

    Writing a request:
    @code{.c}
    char room[600];
    tl_json_writer json = {room, sizeof room, 0};
    tl_json_put_raw(&json, "{\"type\":\"hello\",\"user\":");
    tl_json_put_string(&json, user);
    tl_json_put_raw(&json, "}");
    tl_view hello = tl_json_written(&json);   // data is NULL if it did not fit
    @endcode

    Reading the member `text` of a payload:
    @code{.c}
    char text[4096];
    size_t size = tl_json_text(tl_json_member(message->payload, "text"), text, sizeof text);
    if (size <= sizeof text) printf("%.*s\n", (int)size, text);
    @endcode */
#ifndef TIDELINE_JSON_H
#define TIDELINE_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tideline.h"

/// Arrays and objects in one another; deeper values are taken for malformed.
#define TL_JSON_DEPTH_MAX 128

/// Text that is written into the caller's memory. Begin with `{memory, its size, 0}`.
typedef struct tl_json_writer {
  char *data;
  size_t room; ///< Bytes at `data`.
  size_t size; ///< Bytes that the text needs, also if that is more than `room`.
} tl_json_writer;

/* Private to this file. */
static inline void tl_json_put_byte_(tl_json_writer *writer, unsigned byte) {
  if (writer->size < writer->room) writer->data[writer->size] = (char)byte;
  writer->size++;
}

/* The bytes of the character of UTF-8 at `at`, 0 if it is malformed. */
static inline size_t tl_json_utf8_(const uint8_t *at, const uint8_t *end) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t size = *at < 0x80 ? 1 : *at < 0xC0 || *at >= 0xF8 ? 0 : 2;
  if (size == 2) size += (size_t)(*at >= 0xE0) + (size_t)(*at >= 0xF0);
  if (size < 2) return size;
  if ((size_t)(end - at) < size) return 0;
  uint32_t scalar = *at & (0xFFu >> (size + 1));
  for (size_t i = 1; i < size; i++) {
    if ((at[i] & 0xC0) != 0x80) return 0;
    scalar = scalar << 6 | (at[i] & 0x3Fu);
  }
  int is_surrogate = scalar >= 0xD800 && scalar < 0xE000;
  return scalar < least[size] || scalar > 0x10FFFF || is_surrogate ? 0 : size;
}

/** Writes JSON as it is: `text` is not escaped. */
static inline void tl_json_put_raw(tl_json_writer *writer, const char *text) {
  for (; *text != 0; text++) tl_json_put_byte_(writer, (uint8_t)*text);
}

/** Writes a JSON value as it is, such as one that #tl_json_member gave. */
static inline void tl_json_put_value(tl_json_writer *writer, tl_view value) {
  for (size_t i = 0; i < value.size; i++) tl_json_put_byte_(writer, value.data[i]);
}

/** Writes a text as a JSON string, quoted and escaped. A byte that is no UTF-8 becomes U+FFFD. */
static inline void tl_json_put_string(tl_json_writer *writer, tl_view text) {
  static const char digits[] = "0123456789abcdef";
  tl_json_put_byte_(writer, '"');
  for (size_t i = 0; i < text.size; i++) {
    const uint8_t *at = text.data + i;
    size_t size = tl_json_utf8_(at, text.data + text.size);
    if (size == 0) {
      tl_json_put_raw(writer, "\xEF\xBF\xBD");
    } else if (*at < 0x20) {
      tl_json_put_raw(writer, "\\u00");
      tl_json_put_byte_(writer, (uint8_t)digits[*at >> 4]);
      tl_json_put_byte_(writer, (uint8_t)digits[*at & 15]);
    } else {
      if (*at == '"' || *at == '\\') tl_json_put_byte_(writer, '\\');
      for (size_t n = 0; n < size; n++) tl_json_put_byte_(writer, at[n]);
      i += size - 1;
    }
  }
  tl_json_put_byte_(writer, '"');
}

/** Writes a whole number. */
static inline void tl_json_put_integer(tl_json_writer *writer, int64_t number) {
  char digits[20];
  size_t count = 0;
  uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do digits[count++] = (char)('0' + left % 10);
  while ((left /= 10) > 0);
  if (number < 0) tl_json_put_byte_(writer, '-');
  while (count > 0) tl_json_put_byte_(writer, (uint8_t)digits[--count]);
}

/** Gives what was written, a view of the writer's memory. Its `data` is NULL if it did not fit. */
static inline tl_view tl_json_written(const tl_json_writer *writer) {
  tl_view text = {NULL, 0};
  if (writer->size <= writer->room) {
    text.data = (const uint8_t *)writer->data;
    text.size = writer->size;
  }
  return text;
}

static inline const uint8_t *tl_json_space_(const uint8_t *at, const uint8_t *end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
  return at;
}

/* Four hexadecimal digits; -1 if they are not. */
static inline int32_t tl_json_hex_(const uint8_t *at, const uint8_t *end) {
  int32_t unit = 0;
  if (end - at < 4) return -1;
  for (int i = 0; i < 4; i++) {
    uint8_t c = at[i], lower = (uint8_t)(c | 0x20);
    if (c >= '0' && c <= '9') unit = unit << 4 | (c - '0');
    else if (lower >= 'a' && lower <= 'f') unit = unit << 4 | (lower - 'a' + 10);
    else return -1;
  }
  return unit;
}

/* Unescapes one byte or escape of a string into `out`, gives its size and moves `at` past it. Gives
   0 at the closing quote, which it passes, and where `at` is malformed, which becomes NULL. */
static inline size_t tl_json_character_(const uint8_t **at, const uint8_t *end, uint8_t out[4]) {
  static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
  const uint8_t *p = *at;
  *at = NULL;
  if (p == end || *p < 0x20) return 0;
  if (*p != '\\') {
    *at = p + 1;
    out[0] = *p;
    return *p != '"';
  }
  if (end - p < 2) return 0;
  if (p[1] != 'u') {
    const char *name = (const char *)memchr(names, p[1], sizeof names - 1);
    if (name == NULL) return 0;
    *at = p + 2;
    out[0] = (uint8_t)bytes[name - names];
    return 1;
  }
  int32_t unit = tl_json_hex_(p + 2, end);
  if (unit < 0) return 0;
  *at = p += 6;
  uint32_t scalar = (uint32_t)unit;
  if (scalar >= 0xD800 && scalar < 0xE000) {
    int is_pair = scalar < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u';
    int32_t low = is_pair ? tl_json_hex_(p + 2, end) : -1;
    if (low >= 0xDC00 && low < 0xE000) {
      scalar = 0x10000 + ((scalar - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
      *at = p + 6;
    } else {
      scalar = 0xFFFD;
    }
  }
  size_t size = scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4;
  for (size_t i = size; i-- > 1; scalar >>= 6) out[i] = (uint8_t)(0x80 | (scalar & 0x3F));
  out[0] = (uint8_t)(size == 1 ? scalar : (0xF00u >> size & 0xFF) | scalar);
  return size;
}

/* Behind the string at `at`, NULL if there is none. */
static inline const uint8_t *tl_json_past_string_(const uint8_t *at, const uint8_t *end) {
  uint8_t unused[4];
  if (at == end || *at != '"') return NULL;
  at++;
  while (tl_json_character_(&at, end, unused) > 0) continue;
  return at;
}

/* Behind the number or the word at `at`, NULL if there is none. */
static inline const uint8_t *tl_json_past_plain_(const uint8_t *at, const uint8_t *end) {
  static const char *const words[] = {"true", "false", "null"};
  for (int i = 0; i < 3; i++) {
    size_t size = strlen(words[i]);
    if ((size_t)(end - at) >= size && memcmp(at, words[i], size) == 0) return at + size;
  }
  if (at < end && *at == '-') at++;
  if (at == end || *at < '0' || *at > '9') return NULL;
  if (*at == '0') at++;
  else while (at < end && *at >= '0' && *at <= '9') at++;
  for (int part = 0; part < 2; part++) {
    if (at == end || (part == 0 ? *at != '.' : (*at | 0x20) != 'e')) continue;
    at++;
    if (part == 1 && at < end && (*at == '+' || *at == '-')) at++;
    if (at == end || *at < '0' || *at > '9') return NULL;
    while (at < end && *at >= '0' && *at <= '9') at++;
  }
  return at;
}

/* Behind the name and the colon at `at`, NULL if there are none. */
static inline const uint8_t *tl_json_past_name_(const uint8_t *at, const uint8_t *end) {
  at = tl_json_past_string_(tl_json_space_(at, end), end);
  if (at != NULL) at = tl_json_space_(at, end);
  return at == NULL || at == end || *at != ':' ? NULL : at + 1;
}

/* Behind the value at `at`, which begins with no space; NULL if it is malformed. */
static inline const uint8_t *tl_json_past_value_(const uint8_t *at, const uint8_t *end) {
  uint8_t closers[TL_JSON_DEPTH_MAX];
  size_t depth = 0;
  do {
    int opens = at < end && (*at == '{' || *at == '[');
    if (opens) {
      if (depth == TL_JSON_DEPTH_MAX) return NULL;
      closers[depth++] = *at == '{' ? '}' : ']';
      at = tl_json_space_(at + 1, end);
      if (at < end && *at == closers[depth - 1]) {
        opens = 0;
        depth--;
        at++;
      }
    } else {
      at = at < end && *at == '"' ? tl_json_past_string_(at, end) : tl_json_past_plain_(at, end);
      if (at == NULL) return NULL;
    }
    /* A value has ended: so do those that it was the last of. */
    while (!opens && depth > 0) {
      at = tl_json_space_(at, end);
      if (at == end || (*at != ',' && *at != closers[depth - 1])) return NULL;
      if (*at++ == ',') break;
      depth--;
    }
    if (depth == 0) return at;
    if (closers[depth - 1] == '}') at = tl_json_past_name_(at, end);
    if (at == NULL) return NULL;
    at = tl_json_space_(at, end);
  } while (at < end);
  return NULL;
}

static inline int tl_json_is_named_(const uint8_t *at, const uint8_t *end, const char *name) {
  size_t left = strlen(name), size;
  uint8_t bytes[4];
  for (at++; (size = tl_json_character_(&at, end, bytes)) > 0; name += size, left -= size)
    if (size > left || memcmp(bytes, name, size) != 0) return 0;
  return left == 0;
}

/** Gives the value of a member of an object, as it is written: a string has its quotes. Of several
    with the name, the first. Names compare unescaped.
    @return A view into `object`; its `data` is NULL if there is no such member, if `object` is no
    object, or if it is malformed up to the end of the member. */
static inline tl_view tl_json_member(tl_view object, const char *name) {
  tl_view value = {NULL, 0};
  if (object.size == 0) return value;
  const uint8_t *end = object.data + object.size, *at = tl_json_space_(object.data, end);
  if (at == end || *at != '{') return value;
  do {
    const uint8_t *key = tl_json_space_(at + 1, end);
    if ((at = tl_json_past_name_(key, end)) == NULL) return value;
    const uint8_t *first = tl_json_space_(at, end);
    if ((at = tl_json_past_value_(first, end)) == NULL) return value;
    if (tl_json_is_named_(key, end, name)) {
      value.data = first;
      value.size = (size_t)(at - first);
      return value;
    }
    at = tl_json_space_(at, end);
  } while (at < end && *at == ',');
  return value;
}

/** Gives the next element of an array, as it is written. Begin with `element` zeroed.
    @return 1, or 0 behind the last one, if `array` is no array, or where it is malformed. */
static inline int tl_json_next(tl_view array, tl_view *element) {
  if (array.size == 0) return 0;
  const uint8_t *end = array.data + array.size;
  int is_first = element->data == NULL;
  const uint8_t *at = is_first ? array.data : element->data + element->size;
  at = tl_json_space_(at, end);
  if (at == end || *at != (is_first ? '[' : ',')) return 0;
  at = tl_json_space_(at + 1, end);
  const uint8_t *after = tl_json_past_value_(at, end);
  if (after == NULL) return 0;
  element->data = at;
  element->size = (size_t)(after - at);
  return 1;
}

/** Writes the text of a JSON string, unescaped: at most `room` bytes, without a closing zero. A
    lone half of a surrogate pair becomes U+FFFD.
    @return The bytes that the whole text needs; if more than `room`, its beginning was written.
    SIZE_MAX if `string` is no JSON string. */
static inline size_t tl_json_text(tl_view string, char *out, size_t room) {
  tl_json_writer writer = {out, room, 0};
  uint8_t bytes[4];
  size_t size;
  if (string.size == 0 || *string.data != '"') return SIZE_MAX;
  const uint8_t *at = string.data + 1, *end = string.data + string.size;
  while ((size = tl_json_character_(&at, end, bytes)) > 0)
    for (size_t i = 0; i < size; i++) tl_json_put_byte_(&writer, bytes[i]);
  return at == end ? writer.size : SIZE_MAX;
}

/** Reads a whole number.
    @return 1, or 0 if `value` is none, has a fraction or an exponent, or does not fit. */
static inline int tl_json_integer(tl_view value, int64_t *out) {
  if (value.size == 0) return 0;
  const uint8_t *at = value.data, *end = at + value.size;
  int is_negative = *at == '-';
  uint64_t number = 0, most = (uint64_t)INT64_MAX + (uint64_t)is_negative;
  if (tl_json_past_plain_(at, end) != end) return 0;
  for (at += is_negative; at < end; at++) {
    if (*at < '0' || *at > '9' || number > (most - (uint64_t)(*at - '0')) / 10) return 0;
    number = number * 10 + (uint64_t)(*at - '0');
  }
  *out = is_negative ? (int64_t)(0 - number) : (int64_t)number;
  return 1;
}

#endif
