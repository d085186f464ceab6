/* tideline_json.h: what it reads of whole and of broken JSON, what it writes, and that it stays
   within the sizes it is given. Texts lie in memory of exactly their size, which AddressSanitizer
   watches. */
#include "tideline_json.h"

#include "check.h"

static const char *const whole[] = {
    "{}", "[]", "0", "-0", "-1.5e+10", "1E2", "\"\"", "true", "false", "null", " [ ] ",
    "{\"a\":1}", "{ \"a\" : { \"b\" : [ 1 , 2 ] } }", "[[],[[]],{}]",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u0041\\ud83d\\ude00\"", "\"\\ud800\"",
    "[{\"a\":[]},{\"a\":{}}]", "[0,-1,2.25]",
};
static const char *const malformed[] = {
    "", " ", "{", "}", "[", "]", "{]", "[}", "[1,]", "[,1]", "[1 2]", "[1}", "{\"a\":1]", "{\"a\"}",
    "{\"a\":}", "{\"a\" 1}", "{a:1}", "{1:1}", "{,}", "{\"a\":1,}", "{\"a\":1,,}", "01",
    "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "tru", "True", "nul", "NaN", "\"", "\"a",
    "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\n\"", "'a'", "[\"a\\\"]", "[[[]]", "[]]",
    "1 2", "{}{}", "\"a\"\"b\"",
};

/* A copy of exactly this size: a byte beyond is found out. */
static tl_view copied(const void *bytes, size_t size) {
  uint8_t *data = malloc(size);
  if (size) memcpy(data, bytes, size);
  return (tl_view){data, size};
}

static void drop(tl_view text) { free((void *)(uintptr_t)text.data); }

/* Whether a text is one value and nothing else: the only element of an array around it. */
static int is_value(const void *bytes, size_t size) {
  char *around = malloc(size + 2);
  around[0] = '[';
  memcpy(around + 1, bytes, size);
  around[size + 1] = ']';
  tl_view array = copied(around, size + 2), element = {NULL, 0}, second;
  int found = tl_json_next(array, &element);
  second = element;
  /* What follows is the bracket that was put behind it, but for space. */
  const uint8_t *last = array.data + size + 1;
  int is_only = found && element.data + element.size <= last && !tl_json_next(array, &second);
  for (const uint8_t *at = element.data + element.size; is_only && at < last; at++)
    is_only = *at == ' ' || *at == '\t' || *at == '\n' || *at == '\r';
  free(around);
  drop(array);
  return is_only;
}

static int is_within(tl_view part, tl_view text) {
  return part.data == NULL || (part.data >= text.data && part.size <= text.size &&
                               (size_t)(part.data - text.data) <= text.size - part.size);
}

/* Reads a copy of a text in every way. */
static void read_all(const void *bytes, size_t size) {
  char room[8];
  int64_t number;
  tl_view text = copied(bytes, size), element = {NULL, 0}, value = tl_json_member(text, "a");
  while (tl_json_next(text, &element)) {
    CHECK(is_within(element, text));
    tl_json_text(element, room, sizeof room);
  }
  CHECK(is_within(value, text));
  tl_json_text(text, room, sizeof room);
  tl_json_text(value, room, sizeof room);
  tl_json_integer(text, &number);
  tl_json_integer(value, &number);
  drop(text);
}

static void test_whole_values_are_read_and_broken_ones_are_not(void) {
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    if (!is_value(whole[i], strlen(whole[i]))) CHECK(!printf("not read: %s\n", whole[i]));
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
    if (is_value(malformed[i], strlen(malformed[i]))) CHECK(!printf("read: %s\n", malformed[i]));
}

/* The library, which refuses a payload that is no JSON, is of the same opinion. Bytes stay ASCII:
   the functions leave the check of UTF-8 to the library. */
static void test_the_library_reads_the_same(void) {
  static const char bytes[] = "{}[]\",:\\-+.0123eutrlfnsa \n\x01";
  static const char *const seeds[] = {
      "{\"a\":[1,-2.5e+3,true,null],\"b\":{\"c\":\"\\u00e9\\n\"}}", "[0,[\"\\ud83d\\ude00\"],{}]"};
  tl_client *client = open_memory();
  tl_send send;
  unsigned draw = 1, agreed = 0, valid = 0;
  memset(&send, 0, sizeof send);
  send.struct_size = sizeof send;
  send.conversation = view("c");
  for (int turn = 0; turn < 4000; turn++) {
    char text[80];
    const char *seed = seeds[turn & 1];
    size_t size = strlen(seed);
    memcpy(text, seed, size);
    for (int changes = turn % 3 + 1; changes > 0; changes--) {
      draw = draw * 1664525 + 1013904223;
      text[(draw >> 8) % size] = bytes[(draw >> 20) % (sizeof bytes - 1)];
    }
    uint64_t operation;
    send.payload = copied(text, size);
    tl_status status = tl_client_send(client, &send, &operation, NULL);
    drop(send.payload);
    CHECK(status == TL_OK || status == TL_E_INVALID);
    if (status == TL_OK) EXPECT(tl_operation_cancel(client, operation), TL_OK);
    int is_read = is_value(text, size);
    if (is_read == (status == TL_OK)) agreed++;
    else printf("read %d, %s: %.*s\n", is_read, tl_status_name(status), (int)size, text);
    valid += status == TL_OK;
    read_all(text, size);
  }
  CHECK(agreed == 4000);
  CHECK(valid > 200 && valid < 3800);
  tl_client_free(client);
}

static void test_no_beginning_of_a_text_is_read_beyond_its_end(void) {
  static const char text[] =
      "{\"x\":[true,-1.5e+3,\"\\u00e9\\ud83d\\ude00\"],\"\\u0061\":\"b\\\\\\\"c\",\"a\":12}";
  size_t all = sizeof text - 1;
  for (size_t size = 0; size <= all; size++) {
    read_all(text, size);
    if (size < all) CHECK(!is_value(text, size));
    for (size_t at = 0; at < size; at++) {
      char other[sizeof text];
      memcpy(other, text, size);
      for (int bit = 0; bit < 8; bit++) {
        other[at] = (char)(text[at] ^ 1 << bit);
        read_all(other, size);
      }
    }
  }
}

static void test_members_are_found_by_their_unescaped_name(void) {
  tl_view text = view(" { \"aa\" : 1 , \"b\\u0061\":[{\"a\":9}],\"\":2,\"a\":{\"a\":3},\"a\":4 } ");
  CHECK(is(tl_json_member(text, "ba"), "[{\"a\":9}]"));
  CHECK(is(tl_json_member(text, ""), "2"));
  CHECK(is(tl_json_member(text, "aa"), "1"));
  CHECK(is(tl_json_member(text, "a"), "{\"a\":3}"));
  CHECK(is(tl_json_member(tl_json_member(text, "a"), "a"), "3"));
  CHECK(tl_json_member(text, "b").data == NULL && tl_json_member(text, "aaa").data == NULL);
  CHECK(tl_json_member(view("[{\"a\":1}]"), "a").data == NULL);
  CHECK(tl_json_member(view("\"a\":1"), "a").data == NULL);
  CHECK(tl_json_member((tl_view){NULL, 0}, "a").data == NULL);
  /* What is broken before a member hides it, and behind it is not looked at. */
  CHECK(tl_json_member(view("{\"b\":tru,\"a\":1}"), "a").data == NULL);
  CHECK(tl_json_member(view("{\"b\":1x\"a\":1}"), "a").data == NULL);
  CHECK(is(tl_json_member(view("{\"a\":1,\"b\":tru}"), "a"), "1"));
}

static void test_elements_come_in_their_order(void) {
  static const char *const expected[] = {"1", "[2,3]", "\"]\"", "{\"a\":[]}"};
  tl_view array = view(" [ 1,[2,3] ,\"]\", {\"a\":[]} ] "), element = {NULL, 0};
  size_t count = 0;
  for (; tl_json_next(array, &element) && count < 4; count++) CHECK(is(element, expected[count]));
  CHECK(count == 4);
  element = (tl_view){NULL, 0};
  CHECK(!tl_json_next(view("[]"), &element) && !tl_json_next(view("{\"a\":1}"), &element));
  CHECK(!tl_json_next((tl_view){NULL, 0}, &element));
  array = view("[1,2,x]");
  for (count = 0; tl_json_next(array, &element); count++) continue;
  CHECK(count == 2);
}

static void test_depth_is_bounded(void) {
  static char text[4 * TL_JSON_DEPTH_MAX];
  for (size_t depth = TL_JSON_DEPTH_MAX - 1; depth <= TL_JSON_DEPTH_MAX + 1; depth++) {
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    tl_view value = copied(text, 2 * depth);
    CHECK((tl_json_past_value_(value.data, value.data + value.size) != NULL) ==
          (depth <= TL_JSON_DEPTH_MAX));
    drop(value);
  }
  memset(text, '[', sizeof text);
  read_all(text, sizeof text);
}

static void test_texts_are_unescaped(void) {
  static const struct {
    const char *string, *text;
  } cases[] = {
      {"\"\"", ""}, {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "a\"\\/\b\f\n\r\t"},
      {"\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
      {"\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"", "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"},
      {"\"\\udbff\\udfff\"", "\xF4\x8F\xBF\xBF"}, {"\"\\ud800x\"", "\xEF\xBF\xBDx"},
      {"\"\\ude00\\ud83d\"", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\"\\ud83d\\ue000\"", "\xEF\xBF\xBD\xEE\x80\x80"},
      {"\"\\ud83d\\ud83d\\ude00\"", "\xEF\xBF\xBD\xF0\x9F\x98\x80"}, {"\"\xC3\xA9\"", "\xC3\xA9"}};
  char room[40];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t size = tl_json_text(view(cases[i].string), room, sizeof room);
    CHECK(size == strlen(cases[i].text) && memcmp(room, cases[i].text, size) == 0);
  }
  static const char *const none[] = {"", "1", "\"", "\"a", "a\"", "\"a\"b\"", "\"\\\"", "\"\n\""};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    CHECK(tl_json_text(view(none[i]), room, sizeof room) == SIZE_MAX);
  /* What does not fit is cut, and the size is that of the whole. */
  memset(room, 'z', sizeof room);
  CHECK(tl_json_text(view("\"abc\\u00e9\""), room, 4) == 5);
  CHECK(memcmp(room, "abc\xC3z", 5) == 0);
  CHECK(tl_json_text(view("\"abc\""), NULL, 0) == 3);
}

static void test_whole_numbers_are_read(void) {
  int64_t number = 7;
  CHECK(tl_json_integer(view("0"), &number) && number == 0);
  CHECK(tl_json_integer(view("-0"), &number) && number == 0);
  CHECK(tl_json_integer(view("9223372036854775807"), &number) && number == INT64_MAX);
  CHECK(tl_json_integer(view("-9223372036854775808"), &number) && number == INT64_MIN);
  static const char *const none[] = {"", "-", "01", "1.0", "1e2", "9223372036854775808", "1 ",
                                     "-9223372036854775809", "99999999999999999999999", "true",
                                     "\"1\"", "null", "{}"};
  number = 7;
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    CHECK(!tl_json_integer(view(none[i]), &number));
  CHECK(!tl_json_integer((tl_view){NULL, 0}, &number));
  CHECK(number == 7);
}

static void test_what_is_written_is_read_back(void) {
  char text[40], room[6 * sizeof text + 2], back[3 * sizeof text];
  unsigned draw = 1;
  for (int turn = 0; turn < 2000; turn++) {
    size_t size = (size_t)turn % sizeof text;
    for (size_t i = 0; i < size; i++) text[i] = (char)((draw = draw * 1664525 + 1013904223) >> 24);
    tl_view given = copied(text, size);
    tl_json_writer json = {room, sizeof room, 0};
    tl_json_put_string(&json, given);
    tl_view string = tl_json_written(&json);
    CHECK(string.data && is_value(string.data, string.size));
    size_t read = tl_json_text(string, back, sizeof back), ascii = 0;
    CHECK(read <= sizeof back);
    while (ascii < size && (text[ascii] & 0x80) == 0) ascii++;
    CHECK(memcmp(back, text, ascii) == 0);
    if (ascii == size) CHECK(read == size);
    drop(given);
  }
}

static void test_strings_are_escaped(void) {
  static const struct {
    const char *text, *string;
  } cases[] = {
      {"", "\"\""}, {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
      {"\x01\n\x1F\x7F", "\"\\u0001\\u000a\\u001f\x7F\""},
      {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
      {"\xC3(", "\"\xEF\xBF\xBD(\""}, {"a\xE2\x82", "\"a\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {"\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""}, {"\xFF", "\"\xEF\xBF\xBD\""},
      {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {"\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}};
  char room[40];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tl_json_writer json = {room, sizeof room, 0};
    tl_json_put_string(&json, view(cases[i].text));
    CHECK(is(tl_json_written(&json), cases[i].string));
  }
  tl_json_writer json = {room, sizeof room, 0};
  tl_json_put_string(&json, (tl_view){(const uint8_t *)"a\0b", 3});
  tl_json_put_string(&json, (tl_view){NULL, 0});
  CHECK(is(tl_json_written(&json), "\"a\\u0000b\"\"\""));
}

static void write_request(tl_json_writer *json) {
  tl_json_put_raw(json, "{\"type\":");
  tl_json_put_string(json, view("a\"b"));
  tl_json_put_raw(json, ",\"limit\":");
  tl_json_put_integer(json, INT64_MIN);
  tl_json_put_raw(json, ",\"zero\":");
  tl_json_put_integer(json, 0);
  tl_json_put_raw(json, ",\"payload\":");
  tl_json_put_value(json, view("[1]"));
  tl_json_put_raw(json, "}");
}

static void test_what_does_not_fit_is_measured(void) {
  static const char whole_text[] =
      "{\"type\":\"a\\\"b\",\"limit\":-9223372036854775808,\"zero\":0,\"payload\":[1]}";
  for (size_t room = 0; room < sizeof whole_text + 4; room++) {
    char *data = malloc(room ? room : 1);
    tl_json_writer json = {data, room, 0};
    write_request(&json);
    CHECK(json.size == sizeof whole_text - 1);
    if (room < json.size) CHECK(tl_json_written(&json).data == NULL);
    else CHECK(is(tl_json_written(&json), whole_text));
    CHECK(memcmp(data, whole_text, room < json.size ? room : json.size) == 0);
    free(data);
  }
}

int main(void) {
  RUN(test_whole_values_are_read_and_broken_ones_are_not);
  RUN(test_the_library_reads_the_same);
  RUN(test_no_beginning_of_a_text_is_read_beyond_its_end);
  RUN(test_members_are_found_by_their_unescaped_name);
  RUN(test_elements_come_in_their_order);
  RUN(test_depth_is_bounded);
  RUN(test_texts_are_unescaped);
  RUN(test_whole_numbers_are_read);
  RUN(test_what_is_written_is_read_back);
  RUN(test_strings_are_escaped);
  RUN(test_what_does_not_fit_is_measured);
  return report("json");
}
