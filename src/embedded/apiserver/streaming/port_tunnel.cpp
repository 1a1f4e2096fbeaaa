// SPDX-License-Identifier: Apache-2.0
// port-forward: many connections in one tunnel.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "embedded/apiserver/streaming/spdy.hpp"
#include "embedded/apiserver/streaming/tunnels.hpp"
#include "embedded/apiserver/streaming/websocket_peer.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kPortInputLimit = std::size_t{1} << 20;  // bytes a server did not read yet
constexpr std::size_t kAllInput = std::size_t{4} << 20;        // bytes all servers did not read yet
constexpr std::size_t kLongestId = 256;                        // of a connection
constexpr std::size_t kPortPullBytes = std::size_t{64} << 10;  // a connection
constexpr std::size_t kMostForwards = 1024;                    // at a time

std::string text_of(const SpdyHeaders& headers, std::string_view name) {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

std::uint16_t port_of(std::string_view text) {
  std::uint16_t port = 0;
  std::from_chars(text.data(), text.data() + text.size(), port);
  return port;
}

class SpdyPorts final : public Tunnel {
 public:
  explicit SpdyPorts(PortDialer dial) : dial_(std::move(dial)) {}

  void feed(std::string_view bytes) override {
    spdy_.feed(bytes);
    while (const auto event = spdy_.next()) {
      if (event->type == SpdyEvent::Type::Opened) {
        open(*event);
      } else {
        take(*event);
      }
    }
  }

  [[nodiscard]] bool wants_more() const override {
    std::size_t all = 0;
    for (const auto& [id, forward] : forwards_) {
      const std::size_t unread = forward.session == nullptr ? 0 : forward.session->unread();
      all += unread;
      if (unread >= kPortInputLimit || all >= kAllInput) {
        return false;
      }
    }
    return !spdy_.congested();
  }

  void on_ready(std::function<void()> wake) override { wake_ = std::move(wake); }

  State pull(std::string& out) override {
    for (auto it = forwards_.begin(); it != forwards_.end();) {
      it = advance(it->second) ? erase(it) : std::next(it);
    }
    out += spdy_.take_output();
    return spdy_.ended() ? State::Ended : State::Open;
  }

 private:
  // A connection of the client: its pair of streams and where it leads.
  struct Forward {
    std::uint32_t error = 0;
    std::uint32_t data = 0;
    std::unique_ptr<PodSession> session{};
  };

  void open(const SpdyEvent& event) {
    const std::string id = text_of(event.headers, "requestid");
    const std::string type = text_of(event.headers, "streamtype");
    if ((type != "error" && type != "data") || id.size() > kLongestId ||
        (!forwards_.contains(id) && forwards_.size() >= kMostForwards)) {
      return spdy_.reset(event.stream);
    }
    const auto at = forwards_.try_emplace(id).first;
    Forward& forward = at->second;
    // A second pair of the same name would leave the first without an end.
    if ((type == "error" ? forward.error : forward.data) != 0) {
      return spdy_.reset(event.stream);
    }
    spdy_.accept(event.stream);
    if (type == "error") {
      forward.error = event.stream;
      return;
    }
    forward.data = event.stream;
    by_stream_[event.stream] = at;
    auto session = dial_(port_of(text_of(event.headers, "port")));
    if (!session.ok()) {
      end(forward, session.error().message);
      erase(at);
      return;
    }
    forward.session = *std::move(session);
    forward.session->on_ready(wake_);
  }

  void take(const SpdyEvent& event) {
    const auto known = by_stream_.find(event.stream);
    if (known == by_stream_.end() || known->second->second.session == nullptr) {
      return;  // of a connection that is over, or about an error stream
    }
    const auto found = known->second;
    if (event.type == SpdyEvent::Type::Reset) {
      erase(found);
      return;
    }
    if (!event.data.empty()) {
      found->second.session->write(event.data);
    }
    if (event.last) {
      found->second.session->close_input();
    }
  }

  using Forwards = std::map<std::string, Forward, std::less<>>;
  Forwards::iterator erase(Forwards::iterator at) {
    by_stream_.erase(at->second.data);
    return forwards_.erase(at);
  }

  // True when it is over.
  bool advance(Forward& forward) {
    if (forward.session == nullptr) {
      return false;
    }
    PodSession::Output output;
    forward.session->take(output, kPortPullBytes);
    if (!output.out.empty()) {
      spdy_.send(forward.data, output.out, false);
    }
    if (!output.exit_code) {
      return false;
    }
    end(forward, output.failure);
    return true;
  }

  void end(const Forward& forward, std::string_view failure) {
    if (forward.error != 0) {
      spdy_.send(forward.error, failure, true);
    }
    spdy_.send(forward.data, {}, true);
  }

  PortDialer dial_;
  std::function<void()> wake_{};
  SpdyConnection spdy_{};
  Forwards forwards_{};                                      // by request
  std::map<std::uint32_t, Forwards::iterator> by_stream_{};  // by their data streams
};

class WebSocketPorts final : public Tunnel {
 public:
  struct Port {
    std::uint16_t number = 0;
    std::unique_ptr<PodSession> session{};
  };
  WebSocketPorts(std::vector<Port> ports, const ChannelProtocol& protocol)
      : ports_(std::move(ports)), protocol_(protocol) {
    // Each channel begins with its port, low byte first.
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const std::string number{static_cast<char>(ports_[i].number & 0xFFU),
                               static_cast<char>(ports_[i].number >> 8U)};
      add(2 * i, number, start_);
      add(2 * i + 1, number, start_);
    }
  }

  void feed(std::string_view bytes) override {
    peer_.feed(bytes, [this](std::string_view text) {
      const auto message = read_channel_message(protocol_, text);
      if (!message || message->bytes.empty()) {
        return;
      }
      const std::size_t index = message->channel / 2;
      if (message->channel % 2 == 0 && index < ports_.size() && ports_[index].session != nullptr) {
        ports_[index].session->write(message->bytes);
      }
    });
  }

  [[nodiscard]] bool wants_more() const override {
    return std::all_of(ports_.begin(), ports_.end(), [](const Port& port) {
      return port.session == nullptr || port.session->unread() < kPortInputLimit;
    });
  }

  void on_ready(std::function<void()> wake) override {
    for (const Port& port : ports_) {
      port.session->on_ready(wake);
    }
  }

  State pull(std::string& out) override {
    out += std::exchange(start_, {});
    peer_.flush(out);
    if (peer_.closed()) {
      return State::Ended;
    }
    bool open = false;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      if (ports_[i].session == nullptr) {
        continue;
      }
      PodSession::Output output;
      ports_[i].session->take(output, kPortPullBytes);
      add(2 * i, output.out, out);
      if (output.exit_code) {
        add(2 * i + 1, output.failure, out);
        ports_[i].session.reset();
      } else {
        open = true;
      }
    }
    if (open) {
      return State::Open;
    }
    constexpr std::uint16_t kNormal = 1000;
    out += websocket_close(kNormal);
    return State::Ended;
  }

 private:
  void add(std::size_t channel, const std::string& bytes, std::string& out) const {
    if (!bytes.empty()) {
      out += channel_frame(protocol_, {.channel = channel, .bytes = bytes});
    }
  }

  std::vector<Port> ports_;
  const ChannelProtocol& protocol_;
  std::string start_{};
  WebSocketPeer peer_{};
};

class InsideWebSocket final : public Tunnel {
 public:
  explicit InsideWebSocket(std::unique_ptr<Tunnel> inner) : inner_(std::move(inner)) {}

  void feed(std::string_view bytes) override {
    peer_.feed(bytes, [this](std::string_view message) { inner_->feed(message); });
  }
  [[nodiscard]] bool wants_more() const override { return inner_->wants_more(); }
  void on_ready(std::function<void()> wake) override { inner_->on_ready(std::move(wake)); }

  State pull(std::string& out) override {
    std::string bytes;
    const State state = inner_->pull(bytes);
    if (!bytes.empty()) {
      out += websocket_frame(WebSocketOpcode::Binary, bytes);
    }
    peer_.flush(out);
    if (peer_.closed()) {
      return State::Ended;
    }
    if (state == State::Ended) {
      constexpr std::uint16_t kNormal = 1000;
      out += websocket_close(kNormal);
    }
    return state;
  }

 private:
  std::unique_ptr<Tunnel> inner_;
  WebSocketPeer peer_{};
};

}  // namespace

std::unique_ptr<Tunnel> spdy_ports(PortDialer dial) {
  return std::make_unique<SpdyPorts>(std::move(dial));
}

Result<std::unique_ptr<Tunnel>> websocket_ports(const PortDialer& dial,
                                                const std::vector<std::uint16_t>& ports,
                                                const ChannelProtocol& protocol) {
  std::vector<WebSocketPorts::Port> connected;
  for (const std::uint16_t port : ports) {
    ATHANOR_TRY(auto session, dial(port));
    connected.push_back({.number = port, .session = std::move(session)});
  }
  return std::unique_ptr<Tunnel>(std::make_unique<WebSocketPorts>(std::move(connected), protocol));
}

std::unique_ptr<Tunnel> inside_websocket(std::unique_ptr<Tunnel> inner) {
  return std::make_unique<InsideWebSocket>(std::move(inner));
}

}  // namespace athanor::apiserver
