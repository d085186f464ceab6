/* Explanations from C: what a message went through, why it is not shown, and what is refused. */
#include "check.h"

static const char *messages[] = {
    "{\"message_id\":\"m1\",\"conversation_id\":\"c\",\"sender_id\":\"you\","
    "\"created_at\":\"2024-05-01T10:00:00\",\"payload\":{\"text\":\"secret\"}}"};
static const char *stamps[] = {"\"2024-05-01T10:00:00\""};

static tl_client *opened(uint32_t flags) {
  tl_client_config config = memory_config();
  config.flags |= flags;
  tl_client *client = NULL;
  EXPECT(tl_client_open(&config, &client), TL_OK);
  EXPECT(tl_client_connected(client), TL_OK);
  EXPECT(sync_latest(client, NULL), TL_OK);
  serve(client, messages, stamps, 1, NULL);
  return client;
}

/* The explanation as a string with a terminator. */
static const char *explain(tl_client *client, const char *conversation, const char *id,
                           uint32_t limit) {
  static char json[4096];
  tl_text *text = NULL;
  json[0] = 0;
  EXPECT(tl_client_explain(client, view(conversation), view(id), limit, &text), TL_OK);
  if (text == NULL || text->bytes.size >= sizeof json) return json;
  memcpy(json, text->bytes.data, text->bytes.size);
  json[text->bytes.size] = 0;
  tl_text_free(text);
  return json;
}

static int has(const char *json, const char *part) { return strstr(json, part) != NULL; }

static void traced(void) {
  tl_client *client = opened(TL_OPEN_TRACE);
  const char *json = explain(client, "c", "m1", 0);
  CHECK(has(json, "\"shown\":true,\"reason\":\"shown\",\"next\":\"none\""));
  CHECK(has(json, "\"effect\":\"inserted\",\"cause\":\"answer\",\"verb\":\"get_messages\""));
  EXPECT(tl_client_forget(client, view("c"), view("m1")), TL_OK);
  json = explain(client, "c", "m1", 1);
  CHECK(has(json, "\"shown\":false,\"reason\":\"erased\""));
  /* header: "what changed it, newest first" */
  CHECK(has(json, "\"effect\":\"hidden\"") && !has(json, "\"effect\":\"inserted\""));
  /* header: "No text of a message is in it." */
  CHECK(!has(explain(client, "c", "m1", 0), "secret"));
  tl_client_free(client);
}

static void untraced(void) {
  tl_client *client = opened(0);
  const char *json = explain(client, "c", "m1", 0);
  CHECK(has(json, "\"reason\":\"shown\"") && has(json, "\"traced\":false,\"trace\":[]"));
  /* header: "An unknown message is a reason, and no failure." */
  CHECK(has(explain(client, "c", "m2", 0), "\"reason\":\"absent\""));
  /* Two conversations may have messages of one id. */
  CHECK(has(explain(client, "nowhere", "m1", 0), "\"reason\":\"no_conversation\""));
  CHECK(has(explain(client, "nowhere", "m2", 0), "\"reason\":\"no_conversation\""));
  tl_client_free(client);
}

static void misuse(void) {
  tl_client *client = opened(0);
  tl_text *text = (tl_text *)client;
  EXPECT(tl_client_explain(client, view(""), view("m1"), 0, &text), TL_E_INVALID);
  CHECK(text == NULL);
  EXPECT(tl_client_explain(client, view("c"), view(""), 0, &text), TL_E_INVALID);
  EXPECT(tl_client_explain(client, view("c"), view("m1"), 10001, &text), TL_E_INVALID);
  EXPECT(tl_client_explain(client, view("c"), view("m1"), 0, NULL), TL_E_INVALID);
  EXPECT(tl_client_explain(NULL, view("c"), view("m1"), 0, &text), TL_E_INVALID);
  tl_client_free(client);
  tl_client_config config = memory_config();
  config.trace_max = 1000001;
  EXPECT(tl_client_open(&config, &client), TL_E_INVALID);
  config.trace_max = 0;
  config.reserved = 1;
  EXPECT(tl_client_open(&config, &client), TL_E_INVALID);
}

int main(void) {
  RUN(traced);
  RUN(untraced);
  RUN(misuse);
  return report("explain");
}
