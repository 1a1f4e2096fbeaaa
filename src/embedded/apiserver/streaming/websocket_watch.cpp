// SPDX-License-Identifier: Apache-2.0
// A watch over a WebSocket: one event, one text message (docs/spec/apiserver.md 2.3).
#include "embedded/apiserver/streaming/tunnels.hpp"
#include "embedded/apiserver/streaming/websocket_peer.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::uint16_t kNormalClosure = 1000;
constexpr std::size_t kMessageLimit = std::size_t{4} << 10;  // of those who only listen

class WatchTunnel final : public Tunnel {
 public:
  explicit WatchTunnel(std::unique_ptr<Stream> events) : events_(std::move(events)) {}

  State pull(std::string& out) override {
    peer_.flush(out);
    if (peer_.closed() || ended_) {
      return State::Ended;
    }
    ended_ = events_->pull(text_) == State::Ended;
    std::size_t start = 0;
    for (std::size_t end = text_.find('\n'); end != std::string::npos;
         end = text_.find('\n', start)) {
      const std::string_view line = std::string_view(text_).substr(start, end + 1 - start);
      out += websocket_frame(WebSocketOpcode::Text, line);
      start = end + 1;
    }
    text_.erase(0, start);
    if (ended_) {
      out += websocket_close(kNormalClosure);
    }
    return ended_ ? State::Ended : State::Open;
  }
  void on_ready(std::function<void()> wake) override { events_->on_ready(std::move(wake)); }
  // Watchers listen; what they say is no concern of the watch.
  void feed(std::string_view bytes) override {
    peer_.feed(bytes, [](std::string_view /*message*/) {});
  }
  [[nodiscard]] bool wants_more() const override { return !peer_.closed(); }

 private:
  std::unique_ptr<Stream> events_;
  WebSocketPeer peer_{kMessageLimit};
  std::string text_{};
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Tunnel> websocket_watch(std::unique_ptr<Stream> events) {
  return std::make_unique<WatchTunnel>(std::move(events));
}

}  // namespace athanor::apiserver
