/* The messages that everything is measured on: made from a seed, any of them at any time, so that
   a million need no memory and two programs speak of the same ones. */
#ifndef DATA_H
#define DATA_H

#include <stddef.h>
#include <stdint.h>

/** One message, as a server prints it and as a store keeps it. The texts lie in `json`. */
typedef struct data_message {
  char json[16384];  /**< The JSON object, whole. */
  size_t size;       /**< Bytes of it. */
  int64_t time_us;   /**< `created_at`. */
  size_t id_at, id_size, sender_at, sender_size, stamp_at, stamp_size;
  size_t payload_at, payload_size, reply_at, reply_size, reactions_at, reactions_size;
  size_t read_at, read_size; /**< Sizes are 0 where there is none. */
} data_message;

/** How many messages the conversation has: few are long, most are short. */
uint64_t data_length(uint64_t total, uint32_t conversations, uint32_t conversation);

/** Makes message `index` of a conversation, the oldest is 0. */
void data_make(uint32_t conversation, uint64_t index, data_message *out);

/** Writes the text of a message, where a program has one of its own; gives its size. */
__attribute__((weak)) size_t data_own_text(uint32_t conversation, uint64_t index, char *out,
                                           size_t room);

/** When message `index` was sent, in microseconds since 1970. */
int64_t data_time(uint32_t conversation, uint64_t index);

/** The first message that was sent at `time_us` or later. */
uint64_t data_index(uint32_t conversation, int64_t time_us);

/** Writes the id of a message, 36 bytes without an end. */
void data_id(uint32_t conversation, uint64_t index, char *out);

/** Prints a time with milliseconds, 24 bytes without an end. */
void data_stamp(int64_t time_us, char *out);

/** Reads what #data_stamp printed; -1 where it is something else. */
int64_t data_stamp_us(const char *text, size_t size);

#endif
