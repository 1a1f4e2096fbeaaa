// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/extras/streaming/websocket_peer.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kAnswerLimit = std::size_t{64} << 10;  // of a client that pings and reads not

}  // namespace

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
      if (answers_.size() < kAnswerLimit) {
        answers_ += websocket_frame(WebSocketOpcode::Pong, message->payload);
      }
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
  out += answers_;
  answers_.clear();
}

}  // namespace athanor::apiserver
