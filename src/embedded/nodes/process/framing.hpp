// SPDX-License-Identifier: Apache-2.0
// JSON messages over a socket between the runtime and its spawner: four bytes of length, then the
// text. Descriptors can go along.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::nodes {

// Returns the bytes of one message.
std::string frame_of(const Value& message);
// Blocks until all of it is written; false when the other side is gone. For the side whose partner
// always reads (the spawner does).
// `files` go along; they stay the caller's.
bool send_frame(int socket, const Value& message, std::span<const int> files = {});

// Messages on their way out of a side that must never wait for the other.
class FrameWriter {
 public:
  void push(const Value& message);
  // Writes what the socket takes now; false when the other side is gone.
  bool flush(int socket);
  [[nodiscard]] bool empty() const { return buffer_.size() == sent_; }

 private:
  std::string buffer_{};
  std::size_t sent_ = 0;
};

// Collects bytes and cuts them into messages.
class FrameReader {
 public:
  FrameReader() = default;
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;
  // Closes unclaimed descriptors.
  ~FrameReader();
  // Reads what is there without blocking; false at the end of the stream.
  bool fill(int socket);
  // Returns the next message; one other than JSON reads as Null.
  std::optional<Value> next();
  // Returns the descriptors of the message that next() gave, which says how many it has; the caller
  // owns them. Fewer, when the sender lied.
  std::vector<int> take_files(std::size_t count);

 private:
  std::string buffer_{};
  std::size_t taken_ = 0;
  std::vector<int> files_{};
};

}  // namespace athanor::nodes
