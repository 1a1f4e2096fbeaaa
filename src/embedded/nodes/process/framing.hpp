// SPDX-License-Identifier: Apache-2.0
// JSON messages over a socket between the runtime and its spawner: four bytes of length, then the
// text.
#pragma once

#include <optional>
#include <string>

#include "kube/value.hpp"

namespace athanor::nodes {

// Blocks until all of it is written; false when the other side is gone.
bool send_frame(int socket, const Value& message);

// Collects bytes and cuts them into messages.
class FrameReader {
 public:
  // Reads what is there without blocking; false at the end of the stream.
  bool fill(int socket);
  std::optional<Value> next();

 private:
  std::string buffer_{};
};

}  // namespace athanor::nodes
