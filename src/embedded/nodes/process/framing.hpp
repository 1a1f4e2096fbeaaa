// SPDX-License-Identifier: Apache-2.0
// JSON messages over a socket between the runtime and its spawner: four bytes of length, then the
// text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "kube/value.hpp"

namespace athanor::nodes {

// The bytes of one message.
std::string frame_of(const Value& message);
// Blocks until all of it is written; false when the other side is gone. For the side whose partner
// always reads (the spawner does).
bool send_frame(int socket, const Value& message);

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
  // Reads what is there without blocking; false at the end of the stream.
  bool fill(int socket);
  // A message that is no JSON reads as Null.
  std::optional<Value> next();

 private:
  std::string buffer_{};
  std::size_t taken_ = 0;
};

}  // namespace athanor::nodes
