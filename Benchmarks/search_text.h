/* Texts to search in, and the tokens that Tideline makes of them: a third each Chinese, Czech and
   English, of 20,000 words each by Zipf's law, with words planted that have a known share. */
#ifndef SEARCH_TEXT_H
#define SEARCH_TEXT_H

#include "data.h"

/** In a tenth of all messages. */
#define SEARCH_COMMON "hojny"
/** In one of 50,000 messages. */
#define SEARCH_RARE "vzacny"
/** In 3 of 100 Chinese messages. */
#define SEARCH_PAIR "\xE6\x98\x8E\xE5\xA4\xA9"

/** 0 is Chinese, 1 Czech, 2 English; SEARCH_LANGUAGE in the environment makes all of one. */
uint32_t search_language(uint32_t conversation);

/** Bytes of the text of a message. */
size_t search_text_size(uint32_t conversation, uint64_t index);

/** Writes the tokens of a message with spaces between them; `|` begins one that stands where the
    one before it stands. With SEARCH_PLAIN_WORDS in the environment words have no beginnings.
    Terms of conversation and sender come first. Gives the size. */
size_t search_tokens(uint32_t conversation, uint64_t index, const data_message *message, char *out,
                     size_t room);

#endif
