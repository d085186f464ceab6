/* What search.py searches in: see search_text.h. */
#include "search_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 20000, CHARACTERS = 3000 };

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static uint64_t draw(uint32_t conversation, uint64_t index, uint64_t what) {
  return mix(mix(mix(conversation + 77u) ^ index) ^ (what << 40));
}

/* A rank by Zipf's law. */
static uint32_t zipf(uint64_t random, uint32_t count) {
  double u = (double)(random >> 11) / 9007199254740992.0;
  return (uint32_t)exp(u * log((double)count));
}

uint32_t search_language(uint32_t conversation) {
  const char *only = getenv("SEARCH_LANGUAGE");
  return only != NULL ? (uint32_t)atoi(only) : conversation % 3;
}

/* Syllables as they are written, and as they are folded. */
static const char *const czech[][2] = {
  {"do", "do"}, {"ne", "ne"}, {"ho", "ho"}, {"při", "pri"}, {"ší", "si"}, {"ka", "ka"},
  {"má", "ma"}, {"te", "te"}, {"ři", "ri"}, {"vy", "vy"}, {"po", "po"}, {"dů", "du"},
  {"ží", "zi"}, {"lo", "lo"}, {"nost", "nost"}, {"ek", "ek"}, {"ský", "sky"}, {"ce", "ce"},
  {"bě", "be"}, {"ta", "ta"}, {"čas", "cas"}, {"ro", "ro"}, {"kou", "kou"}, {"jí", "ji"},
};
static const char *const english[] = {
  "the", "an", "in", "er", "ing", "on", "re", "at", "en", "ion", "st", "to", "al", "or", "li",
  "con", "de", "ma", "per", "ra", "ti", "un", "be", "ha", "som", "mo", "wi", "ch", "ly", "out",
};

typedef struct writer {
  char *out;
  size_t at, room;
  int is_tokens;
} writer;

static void put(writer *w, const char *bytes, size_t size) {
  if (size > w->room - w->at) size = w->room - w->at;
  memcpy(w->out + w->at, bytes, size);
  w->at += size;
}

static void say(writer *w, const char *text) { put(w, text, strlen(text)); }

static void gap(writer *w) {
  if (w->at > 0) put(w, " ", 1);
}

/* A word of letters: what is written, or its token and those of its beginnings. */
static void word(writer *w, const char *written, const char *folded) {
  gap(w);
  if (!w->is_tokens) {
    say(w, written);
    return;
  }
  size_t size = strlen(folded);
  put(w, folded, size);
  if (getenv("SEARCH_PLAIN_WORDS") != NULL) return;
  for (size_t length = 2; length <= 4 && length <= size; length++) {
    say(w, " |\1");
    put(w, folded, length);
  }
}

static void spelled(writer *w, uint32_t language, uint32_t rank) {
  char written[64] = "", folded[64] = "";
  uint64_t seed = mix(rank * 3u + language);
  uint32_t count = rank < 20 ? 1 : rank < 300 ? 1 + seed % 2 : 2 + seed % 3;
  for (uint32_t i = 0; i < count; i++) {
    seed = mix(seed);
    if (language == 1) {
      uint32_t at = seed % (sizeof czech / sizeof *czech);
      strcat(written, czech[at][0]);
      strcat(folded, czech[at][1]);
    } else {
      const char *part = english[seed % (sizeof english / sizeof *english)];
      strcat(written, part);
      strcat(folded, part);
    }
  }
  word(w, written, folded);
}

/* One of the characters, three bytes each. */
static void character(uint64_t random, char *out) {
  uint32_t code = 0x4E00 + zipf(random, CHARACTERS) * 5u % 20000u;
  out[0] = (char)(0xE0 | code >> 12);
  out[1] = (char)(0x80 | (code >> 6 & 63));
  out[2] = (char)(0x80 | (code & 63));
}

/* Words without spaces; as tokens each character, and each pair where its first stands. */
static void chinese(writer *w, uint32_t conversation, uint64_t index, uint64_t count) {
  char run[4096];
  size_t size = 0;
  for (uint64_t i = 0; i < count && size + 16 < sizeof run; i++) {
    uint32_t rank = zipf(draw(conversation, index, 100 + i), WORDS);
    uint64_t seed = mix(rank * 3u);
    uint32_t length = rank < 60 ? 1 : seed % 10 < 7 ? 2 : 3;
    for (uint32_t k = 0; k < length; k++, size += 3) character(seed = mix(seed), run + size);
    if (i == count / 2 && draw(conversation, index, 9) % 100 < 3) {
      memcpy(run + size, SEARCH_PAIR, 6);
      size += 6;
    }
  }
  gap(w);
  if (!w->is_tokens) {
    put(w, run, size);
    return;
  }
  for (size_t at = 0; at < size; at += 3) {
    if (at > 0) put(w, " ", 1);
    put(w, run + at, 3);
    if (at + 3 < size) {
      say(w, " |");
      put(w, run + at, 6);
    }
  }
}

static void speak(writer *w, uint32_t conversation, uint64_t index) {
  uint32_t language = search_language(conversation);
  uint64_t chance = draw(conversation, index, 6) % 100;
  uint64_t count = draw(conversation, index, 7);
  count = chance < 30 ? 1 + count % 3 : chance < 85 ? 4 + count % 10 : chance < 98
      ? 14 + count % 26 : 40 + count % 100;
  if (language == 0) chinese(w, conversation, index, count);
  else
    for (uint64_t i = 0; i < count; i++)
      spelled(w, language, zipf(draw(conversation, index, 100 + i), WORDS));
  if (draw(conversation, index, 1) % 10 == 0) word(w, "hojný", SEARCH_COMMON);
  if (draw(conversation, index, 2) % 50000 == 0) word(w, "vzácný", SEARCH_RARE);
  if (draw(conversation, index, 3) % 50 == 0) {
    char own[16];
    snprintf(own, sizeof own, "hojnosti%c", (char)('a' + draw(conversation, index, 4) % 26));
    word(w, own, own);
  }
}

size_t data_own_text(uint32_t conversation, uint64_t index, char *out, size_t room) {
  writer w = {out, 0, room, 0};
  speak(&w, conversation, index);
  return w.at;
}

size_t search_text_size(uint32_t conversation, uint64_t index) {
  char text[8192];
  return data_own_text(conversation, index, text, sizeof text);
}

size_t search_tokens(uint32_t conversation, uint64_t index, const data_message *message, char *out,
                     size_t room) {
  writer w = {out, 0, room, 1};
  char term[32];
  snprintf(term, sizeof term, "\3c%u \3s", conversation + 1);
  say(&w, term);
  for (size_t i = 0; i < message->sender_size; i++) {
    snprintf(term, sizeof term, "%02x", (unsigned char)message->json[message->sender_at + i]);
    say(&w, term);
  }
  speak(&w, conversation, index);
  return w.at;
}
