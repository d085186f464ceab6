/* Realistic in size and language: five scripts, most messages a few words, some a few hundred;
   answers, reactions and readers as group chats have them. About 400 bytes of JSON each. */
#include "data.h"

#include <stdio.h>
#include <string.h>

enum { BASE_S = 1700000000 };

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static uint64_t draw(uint32_t conversation, uint64_t index, uint64_t what) {
  return mix(mix(mix(conversation + 1u) ^ index) ^ (what << 40));
}

uint64_t data_length(uint64_t total, uint32_t conversations, uint32_t conversation) {
  /* Weights 1 / (rank + 8), in whole numbers; the last conversation takes what is left. */
  uint64_t sum = 0, given = 0;
  for (uint32_t c = 0; c < conversations; c++) sum += 1000000000u / (c + 8);
  for (uint32_t c = 0; c < conversations; c++) {
    uint64_t length = (uint64_t)((double)total * (1000000000u / (c + 8)) / (double)sum);
    if (length == 0) length = 1;
    if (c + 1 == conversations && given + length < total) length = total - given;
    if (c == conversation) return length;
    given += length;
  }
  return 0;
}

/* From a message to the next: one to nine minutes. */
static int64_t step_us(uint32_t conversation) {
  return (int64_t)(60 + draw(conversation, 0, 1) % 480) * 1000000;
}

int64_t data_time(uint32_t conversation, uint64_t index) {
  int64_t step = step_us(conversation);
  int64_t jitter = (int64_t)(draw(conversation, index, 2) % (uint64_t)(step - 1000000));
  return (int64_t)BASE_S * 1000000 + (int64_t)index * step + jitter / 1000 * 1000;
}

uint64_t data_index(uint32_t conversation, int64_t time_us) {
  int64_t since = time_us - (int64_t)BASE_S * 1000000;
  if (since <= 0) return 0;
  uint64_t index = (uint64_t)(since / step_us(conversation));
  return data_time(conversation, index) < time_us ? index + 1 : index;
}

void data_id(uint32_t conversation, uint64_t index, char *out) {
  static const char hex[] = "0123456789abcdef";
  uint64_t words[2] = {draw(conversation, index, 3), draw(conversation, index, 4)};
  int at = 0;
  for (int i = 0; i < 32; i++) {
    if (i == 8 || i == 12 || i == 16 || i == 20) out[at++] = '-';
    out[at++] = hex[words[i / 16] >> (i % 16 * 4) & 15];
  }
}

static void digits(char *out, int count, int64_t value) {
  while (count-- > 0) {
    out[count] = (char)('0' + value % 10);
    value /= 10;
  }
}

/* Days since 1970 from a date of the Gregorian calendar. */
static int64_t days(int64_t y, int64_t m, int64_t d) {
  y -= m <= 2;
  int64_t era = y / 400, yoe = y - era * 400;
  int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

void data_stamp(int64_t time_us, char *out) {
  int64_t ms = time_us / 1000, s = ms / 1000, day = s / 86400, rest = s % 86400;
  int64_t z = day + 719468, era = z / 146097, doe = z - era * 146097;
  int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
  int64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
  memcpy(out, "0000-00-00T00:00:00.000Z", 24);
  digits(out, 4, yoe + era * 400 + (m <= 2));
  digits(out + 5, 2, m);
  digits(out + 8, 2, d);
  digits(out + 11, 2, rest / 3600);
  digits(out + 14, 2, rest / 60 % 60);
  digits(out + 17, 2, rest % 60);
  digits(out + 20, 3, ms % 1000);
}

static int64_t number(const char *text, int count) {
  int64_t value = 0;
  for (int i = 0; i < count; i++) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

int64_t data_stamp_us(const char *text, size_t size) {
  if (size != 24) return -1;
  int64_t day = days(number(text, 4), number(text + 5, 2), number(text + 8, 2));
  int64_t s = number(text + 11, 2) * 3600 + number(text + 14, 2) * 60 + number(text + 17, 2);
  int64_t ms = number(text + 20, 3);
  return ms < 0 ? -1 : ((day * 86400 + s) * 1000 + ms) * 1000;
}

static const char *const words[5][24] = {
  {"the", "meeting", "is", "at", "nine", "can", "you", "send", "me", "that", "file", "again",
   "thanks", "I", "will", "be", "late", "sorry", "see", "tomorrow", "great", "what", "about",
   "lunch"},
  {"ahoj", "zítra", "přijdu", "později", "prosím", "pošli", "mi", "ten", "soubor", "díky", "už",
   "jsem", "doma", "kdy", "máš", "čas", "můžeme", "zavolat", "večer", "dobře", "fakt", "super",
   "nevím", "uvidíme"},
  {"привет", "завтра", "приду", "позже", "пожалуйста", "отправь", "мне", "файл", "спасибо", "уже",
   "дома", "когда", "время", "можем", "позвонить", "вечером", "хорошо", "правда", "не", "знаю",
   "увидимся", "да", "нет", "потом"},
  {"你好", "明天", "我", "晚点", "到", "请", "把", "文件", "发给我", "谢谢", "已经", "在家", "什么时候",
   "有空", "可以", "打电话", "晚上", "好的", "真的", "不知道", "再说", "是", "不是", "哈哈"},
  {"مرحبا", "غدا", "سآتي", "لاحقا", "من", "فضلك", "أرسل", "لي", "الملف", "شكرا", "أنا", "في",
   "البيت", "متى", "وقت", "نستطيع", "الاتصال", "مساء", "حسنا", "حقا", "لا", "أعرف", "نعم", "😀"},
};

typedef struct writer {
  char *text;
  size_t at, room;
} writer;

static void put(writer *w, const char *bytes, size_t size) {
  if (size > w->room - w->at) size = w->room - w->at;
  memcpy(w->text + w->at, bytes, size);
  w->at += size;
}

static void say(writer *w, const char *text) { put(w, text, strlen(text)); }

static void user(writer *w, uint32_t conversation, uint64_t which) {
  char name[32];
  int size = snprintf(name, sizeof name, "user-%04u",
                      (unsigned)(draw(conversation, which, 5) % 5000));
  put(w, name, (size_t)size);
}

static void text(writer *w, uint32_t conversation, uint64_t index) {
  if (data_own_text != NULL) {
    w->at += data_own_text(conversation, index, w->text + w->at, w->room - w->at);
    return;
  }
  uint64_t chance = draw(conversation, index, 6) % 100;
  uint64_t count = draw(conversation, index, 7);
  count = chance < 30 ? 1 + count % 3 : chance < 85 ? 4 + count % 14 : chance < 98
      ? 18 + count % 50 : 70 + count % 300;
  const char *const *list = words[conversation % 5];
  for (uint64_t i = 0; i < count; i++) {
    if (i > 0) say(w, " ");
    say(w, list[draw(conversation, index, 100 + i) % 24]);
  }
}

void data_make(uint32_t conversation, uint64_t index, data_message *out) {
  out->time_us = data_time(conversation, index);
  out->reply_size = out->reactions_size = out->read_size = 0;
  writer w = {out->json, 0, sizeof out->json};
  uint64_t people = 2 + draw(conversation, 0, 8) % 30;
  char id[36], stamp[24], name[64];
  data_id(conversation, index, id);
  data_stamp(out->time_us, stamp);
  say(&w, "{\"message_id\":\"");
  out->id_at = w.at;
  put(&w, id, out->id_size = 36);
  int size = snprintf(name, sizeof name, "\",\"conversation_id\":\"room-%05u\"", conversation);
  put(&w, name, (size_t)size);
  say(&w, ",\"sender_id\":\"");
  out->sender_at = w.at;
  user(&w, conversation, draw(conversation, index, 9) % people);
  out->sender_size = w.at - out->sender_at;
  say(&w, "\",\"created_at\":\"");
  out->stamp_at = w.at;
  put(&w, stamp, out->stamp_size = 24);
  say(&w, "\",\"payload\":");
  out->payload_at = w.at;
  say(&w, "{\"type\":\"text\",\"text\":\"");
  text(&w, conversation, index);
  say(&w, "\"}");
  out->payload_size = w.at - out->payload_at;
  if (index > 0 && draw(conversation, index, 10) % 12 == 0) {
    uint64_t back = 1 + draw(conversation, index, 11) % (index < 40 ? index : 40);
    data_id(conversation, index - back, id);
    say(&w, ",\"reply_to\":\"");
    out->reply_at = w.at;
    put(&w, id, out->reply_size = 36);
    say(&w, "\"");
  }
  if (draw(conversation, index, 12) % 20 == 0) {
    say(&w, ",\"reactions\":");
    out->reactions_at = w.at;
    say(&w, "{\"👍\":[\"");
    user(&w, conversation, draw(conversation, index, 13) % people);
    say(&w, "\"]}");
    out->reactions_size = w.at - out->reactions_at;
  }
  if (draw(conversation, index, 14) % 3 == 0) {
    say(&w, ",\"read_by\":");
    out->read_at = w.at;
    say(&w, "[{\"user_id\":\"");
    user(&w, conversation, draw(conversation, index, 15) % people);
    say(&w, "\"}]");
    out->read_size = w.at - out->read_at;
  }
  say(&w, "}");
  out->size = w.at;
}
