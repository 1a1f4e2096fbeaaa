// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/extras/streaming/websocket_peer.hpp"

#include <utility>

namespace athanor::apiserver {

void WebSocketPeer::feed(std::string_view bytes,
                         const std::function<void(std::string_view)>& take) {
  reader_.feed(bytes);
  while (!closed_) {
    const auto message = reader_.next();
    if (!message) {
      break;
    }
    if (message->opcode == WebSocketOpcode::Close) {
      answers_ += websocket_frame(WebSocketOpcode::Close, message->payload);
      closed_ = true;
    } else if (message->opcode == WebSocketOpcode::Ping) {
      pong_ = websocket_frame(WebSocketOpcode::Pong, message->payload);
    } else if (message->opcode != WebSocketOpcode::Pong) {
      take(message->payload);
    }
  }
  if (!closed_ && reader_.broken() != 0) {
    answers_ += websocket_close(reader_.broken());
    closed_ = true;
  }
}

void WebSocketPeer::flush(std::string& out) {
  out += std::exchange(pong_, {});
  out += std::exchange(answers_, {});
}

}  // namespace athanor::apiserver
