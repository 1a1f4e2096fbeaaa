// SPDX-License-Identifier: Apache-2.0
// One WebSocket conversation as a tunnel sees it: data messages in, pings and closes answered.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "embedded/apiserver/streaming/websocket.hpp"

namespace athanor::apiserver {

// Not thread-safe.
class WebSocketPeer {
 public:
  // Closes when the client sends a message of more than `limit` bytes.
  explicit WebSocketPeer(std::size_t limit = WebSocketReader::kMessageLimit) : reader_(limit) {}

  // Passes each text or binary message to `take`.
  void feed(std::string_view bytes, const std::function<void(std::string_view)>& take);
  // Moves what the protocol itself has to say to `out`.
  void flush(std::string& out);
  // Returns true once the client closed, or broke the protocol; the answer is in flush().
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  WebSocketReader reader_;
  std::optional<std::string> ping_{};  // the last that was not answered
  std::string close_{};                // the frame that ends the conversation
  bool closed_ = false;
};

}  // namespace athanor::apiserver
