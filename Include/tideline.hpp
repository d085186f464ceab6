/**
 * @file tideline.hpp
 * @brief Tideline for C++17: handles that free themselves, views as `std::string_view`, failures
 *        as exceptions. Header only; everything else is that of tideline.h.
 *
 * @code
 * auto config = tideline::sized<tl_client_config>();
 * config.flags = TL_OPEN_MEMORY;
 * config.user_id = tideline::view("eva");
 * tideline::Client client;
 * tideline::check(tl_client_open(&config, client.out()));
 * @endcode
 *
 * A handle is as its pointer: use it from the threads that tideline.h allows. A hook is called by
 * C, so no exception may leave it.
 */
#ifndef TIDELINE_HPP
#define TIDELINE_HPP

/* A module map that names the whole folder gives this file to C as well: there it is empty. */
#ifdef __cplusplus

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tideline.h"

namespace tideline {

/** A call failed. */
class Error : public std::runtime_error {
public:
  /** Keeps the status, and the text that the calling thread has for its last failure. */
  explicit Error(tl_status status)
      : std::runtime_error(std::string(tl_last_error()) + " (" + tl_status_name(status) + ")"),
        status_(status) {}

  /** How it failed; always negative. */
  tl_status status() const noexcept { return status_; }

  /** Whether the same call may succeed later without a change. */
  bool is_transient() const noexcept { return tl_status_is_transient(status_) != 0; }

private:
  tl_status status_;
};

/** Gives a status that is no failure, such as #TL_NONE. @throws Error for a failure. */
inline tl_status check(tl_status status) {
  if (status < 0) throw Error(status);
  return status;
}

/** A view of a text that the caller keeps for the call. */
inline tl_view view(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}

/** The text of a view; valid as long as what the view is of. */
inline std::string_view text(tl_view view) noexcept {
  return {reinterpret_cast<const char *>(view.data), view.size};
}

/** A struct of tideline.h that is zero but for `struct_size`. */
template <class Struct> Struct sized() noexcept {
  Struct made{};
  made.struct_size = static_cast<std::uint32_t>(sizeof made);
  return made;
}

/** Owns a pointer that tideline.h gave, and frees it. It can be moved, and not copied. */
template <class T, void (*Free)(T *)> class Handle {
public:
  Handle() noexcept = default;
  explicit Handle(T *raw) noexcept : raw_(raw) {}
  Handle(Handle &&other) noexcept : raw_(other.release()) {}
  Handle &operator=(Handle &&other) noexcept {
    reset(other.release());
    return *this;
  }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  ~Handle() { reset(); }

  /** The pointer, or NULL. It stays owned. */
  T *get() const noexcept { return raw_; }
  /** The same, so that a handle is given where tideline.h takes a pointer. */
  operator T *() const noexcept { return raw_; }
  T *operator->() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return raw_ != nullptr; }

  /** Where a call puts a new pointer; frees the one that is held. */
  T **out() noexcept {
    reset();
    return &raw_;
  }

  /** Gives the pointer away: the caller frees it. */
  [[nodiscard]] T *release() noexcept { return std::exchange(raw_, nullptr); }

  /** Frees the pointer that is held, and takes another one. */
  void reset(T *raw = nullptr) noexcept {
    T *held = std::exchange(raw_, raw);
    if (held != nullptr && held != raw) Free(held);
  }

private:
  T *raw_ = nullptr;
};

using Client = Handle<tl_client, tl_client_free>;
using Frame = Handle<tl_frame, tl_frame_free>;
using Batch = Handle<tl_batch, tl_batch_free>;
using Text = Handle<tl_text, tl_text_free>;
using Diff = Handle<tl_diff, tl_diff_free>;
using Window = Handle<tl_window, tl_window_free>;
using List = Handle<tl_list, tl_list_free>;
using Items = Handle<tl_items, tl_items_free>;
using Work = Handle<tl_work, tl_work_free>;
using Viewport = Handle<tl_viewport, tl_viewport_free>;
using Layout = Handle<tl_layout, tl_layout_free>;

/** What lies in a batch, to be iterated; valid as long as the batch. */
template <class T> class Span {
public:
  Span(const T *first, std::size_t count) noexcept : first_(first), count_(count) {}
  const T *begin() const noexcept { return first_; }
  const T *end() const noexcept { return count_ == 0 ? first_ : first_ + count_; }
  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  const T &operator[](std::size_t index) const noexcept { return first_[index]; }

private:
  const T *first_;
  std::size_t count_;
};

/** The records of one kind in a batch: `tideline::each(batch, tl_batch_rows)`. */
template <class T>
Span<T> each(const tl_batch *batch, const T *(*records)(const tl_batch *, std::size_t *)) {
  std::size_t count = 0;
  const T *first = records(batch, &count);
  return {first, first == nullptr ? 0 : count};
}

/** The steps of a difference, in their order; none of an empty handle. */
inline Span<tl_op> steps(const tl_diff *diff) noexcept {
  return diff == nullptr ? Span<tl_op>(nullptr, 0) : Span<tl_op>(diff->ops, diff->op_count);
}

/** The next frame to send; an empty handle where there is none. @throws Error */
inline Frame next_frame(tl_client *client) {
  Frame frame;
  check(tl_client_next_frame(client, frame.out()));
  return frame;
}

/** The newest difference of a window; an empty handle where nothing changed. @throws Error */
inline Diff poll(tl_window *window) {
  Diff diff;
  check(tl_window_poll(window, diff.out()));
  return diff;
}

} // namespace tideline

#endif
#endif
