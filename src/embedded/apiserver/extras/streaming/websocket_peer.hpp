// SPDX-License-Identifier: Apache-2.0
// One WebSocket conversation as a tunnel sees it: data messages in, pings and closes answered.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "embedded/apiserver/extras/streaming/websocket.hpp"

namespace athanor::apiserver {

class WebSocketPeer {
 public:
  // Hands each text or binary message to `take`.
  void feed(std::string_view bytes, const std::function<void(std::string_view)>& take);
  // Moves what the protocol itself has to say to `out`.
  void flush(std::string& out);
  // The client closed, or broke the protocol; the answer is in flush().
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  WebSocketReader reader_{};
  std::string pong_{};  // to the newest ping: older ones need none (RFC 6455, 5.5.3)
  std::string answers_{};
  bool closed_ = false;
};

}  // namespace athanor::apiserver
