// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/streaming/websocket_peer.hpp"

#include <utility>

namespace athanor::apiserver {

void WebSocketPeer::feed(std::string_view bytes,
                         const std::function<void(std::string_view)>& take) {
  reader_.feed(bytes);
  while (!closed_) {
    auto message = reader_.next();
    if (!message) {
      break;
    }
    if (message->opcode == WebSocketOpcode::Close) {
      close_ = websocket_frame(WebSocketOpcode::Close, message->payload);
      closed_ = true;
    } else if (message->opcode == WebSocketOpcode::Ping) {
      // Of several pings the last is answered (RFC 6455, 5.5.3): a client that pings and does not
      // read costs one answer.
      ping_ = std::move(message->payload);
    } else if (message->opcode != WebSocketOpcode::Pong) {
      take(message->payload);
    }
  }
  if (!closed_ && reader_.broken() != 0) {
    close_ = websocket_close(reader_.broken());
    closed_ = true;
  }
}

void WebSocketPeer::flush(std::string& out) {
  if (ping_) {
    out += websocket_frame(WebSocketOpcode::Pong, *std::exchange(ping_, std::nullopt));
  }
  out += std::exchange(close_, {});
}

}  // namespace athanor::apiserver
