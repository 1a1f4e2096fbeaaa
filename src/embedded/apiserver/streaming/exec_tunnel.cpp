// SPDX-License-Identifier: Apache-2.0
// exec and attach: the channels of one PodSession.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "embedded/apiserver/streaming/channels.hpp"
#include "embedded/apiserver/streaming/spdy.hpp"
#include "embedded/apiserver/streaming/tunnels.hpp"
#include "embedded/apiserver/streaming/websocket_peer.hpp"
#include "embedded/kinds/status_error.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kInputLimit = std::size_t{1} << 20;  // bytes a command did not read yet
constexpr std::size_t kPullBytes = std::size_t{64} << 10;
constexpr std::size_t kLongestLine = 4096;  // of a resize
constexpr unsigned kMostCells = 65535;

// Numbers of channels.
constexpr std::size_t kStdin = 0;
constexpr std::size_t kStdout = 1;
constexpr std::size_t kStderr = 2;
constexpr std::size_t kError = 3;
constexpr std::size_t kResize = 4;
constexpr std::size_t kCloseChannel = 255;

StatusError exit_error(const PodSession::Output& output) {
  if (!output.failure.empty()) {
    return status::internal(output.failure);
  }
  const int code = output.exit_code.value_or(0);
  StatusError error;
  error.code = 0;
  error.reason = "NonZeroExitCode";
  error.message = fmt::format(
      "command terminated with non-zero exit code: command terminated with exit code {}", code);
  error.details.emplace();
  error.details->causes.push_back(
      {.reason = "ExitCode", .message = std::to_string(code), .field = {}});
  return error;
}

bool succeeded(const PodSession::Output& output) {
  return output.failure.empty() && output.exit_code.value_or(0) == 0;
}

// Returns the text of a failed end, as protocols before v4 have it; empty: the command succeeded.
std::string exit_message(const PodSession::Output& output) {
  return succeeded(output) ? std::string() : exit_error(output).message;
}

// What a client said at once: handed over in one piece, and of sizes the last, as each costs the
// session's lock and a system call.
struct News {
  std::string input{};
  std::optional<std::string> size{};
  bool closed = false;        // nothing is written behind it
  bool input_closed = false;  // of the session

  void write(std::string_view bytes) {
    if (!closed) {
      input += bytes;
    }
  }
  void hand_over(PodSession& session) {
    if (!input.empty()) {
      session.write(std::exchange(input, {}));
    }
    if (size) {
      apply_resize(session, *std::exchange(size, std::nullopt));
    }
    if (closed && !std::exchange(input_closed, true)) {
      session.close_input();
    }
  }
};

class WebSocketExec final : public Tunnel {
 public:
  WebSocketExec(std::unique_ptr<PodSession> session, bool input, const ChannelProtocol& protocol)
      : session_(std::move(session)), input_(input), protocol_(protocol) {}

  void feed(std::string_view bytes) override {
    peer_.feed(bytes, [this](std::string_view message) { take(message); });
    news_.hand_over(*session_);
  }
  [[nodiscard]] bool wants_more() const override { return session_->unread() < kInputLimit; }
  void on_ready(std::function<void()> wake) override { session_->on_ready(std::move(wake)); }

  State pull(std::string& out) override {
    peer_.flush(out);
    if (peer_.closed()) {
      return State::Ended;
    }
    PodSession::Output output;
    session_->take(output, kPullBytes);
    add(kStdout, std::move(output.out), out);
    add(kStderr, std::move(output.err), out);
    if (!output.exit_code) {
      return State::Open;
    }
    add(kError, protocol_.has_status ? exit_status(output) : exit_message(output), out);
    constexpr std::uint16_t kNormal = 1000;
    out += websocket_close(kNormal);
    return State::Ended;
  }

 private:
  void add(std::size_t channel, std::string bytes, std::string& out) const {
    if (!bytes.empty()) {
      out += channel_frame(protocol_, {.channel = channel, .bytes = std::move(bytes)});
    }
  }

  void take(std::string_view text) {
    auto message = read_channel_message(protocol_, text);
    if (!message) {
      return;
    }
    if (message->channel == kStdin && input_) {
      news_.write(message->bytes);
    } else if (message->channel == kResize && message->bytes.size() <= kLongestLine) {
      news_.size = std::move(message->bytes);
    } else if (message->channel == kCloseChannel && protocol_.closes_input &&
               message->bytes == std::string_view("\0", 1)) {
      news_.closed = true;
    }
  }

  std::unique_ptr<PodSession> session_;
  News news_{};
  bool input_;
  const ChannelProtocol& protocol_;
  WebSocketPeer peer_{};
};

class SpdyExec final : public Tunnel {
 public:
  SpdyExec(std::unique_ptr<PodSession> session, const ExecOptions& options)
      : session_(std::move(session)), terminal_(options.terminal) {
    wanted_ = 1U + (options.input ? 1U : 0U) + (options.output ? 1U : 0U) +
              (options.error && !options.terminal ? 1U : 0U);
  }

  void feed(std::string_view bytes) override {
    spdy_.feed(bytes);
    while (const auto event = spdy_.next()) {
      take(*event);
    }
    news_.hand_over(*session_);
  }
  [[nodiscard]] bool wants_more() const override {
    return session_->unread() < kInputLimit && !spdy_.congested();
  }
  void on_ready(std::function<void()> wake) override { session_->on_ready(std::move(wake)); }

  State pull(std::string& out) override {
    const bool ended = advance();
    out += spdy_.take_output();
    return ended || spdy_.ended() ? State::Ended : State::Open;
  }

 private:
  // The command's output waits until the client has opened the streams for it. True at the end.
  bool advance() {
    if (streams_.size() < wanted_) {
      return false;
    }
    PodSession::Output output;
    session_->take(output, kPullBytes);
    send("stdout", output.out, false);
    send("stderr", output.err, false);
    if (!output.exit_code) {
      return false;
    }
    send("error", exit_status(output), true);
    send("stdout", {}, true);
    send("stderr", {}, true);
    return true;
  }

  void send(std::string_view type, std::string_view bytes, bool last) {
    const auto stream = streams_.find(type);
    if (stream != streams_.end() && (last || !bytes.empty())) {
      spdy_.send(stream->second, bytes, last);
    }
  }

  void take(const SpdyEvent& event) {
    if (event.type == SpdyEvent::Type::Opened) {
      const auto type = event.headers.find("streamtype");
      const std::string name = type == event.headers.end() ? std::string() : type->second;
      const bool counts = name == "error" || name == "stdin" || name == "stdout" ||
                          (name == "stderr" && !terminal_);
      if ((!counts && name != "resize") || streams_.contains(name) || resize_ == event.stream) {
        return spdy_.reset(event.stream);
      }
      if (counts) {
        streams_.emplace(name, event.stream);
      } else {
        resize_ = event.stream;
      }
      spdy_.accept(event.stream);
    } else if (resize_ == event.stream) {
      take_resize(event.data);
    }
    const auto input = streams_.find("stdin");
    if (input == streams_.end() || input->second != event.stream) {
      return;
    }
    news_.write(event.data);
    news_.closed = news_.closed || event.last;
  }

  void take_resize(std::string_view bytes) {
    resizes_ += bytes;
    const std::size_t last = resizes_.rfind('\n');
    if (last != std::string::npos) {
      const std::size_t before = last == 0 ? std::string::npos : resizes_.rfind('\n', last - 1);
      const std::size_t start = before == std::string::npos ? 0 : before + 1;
      news_.size = resizes_.substr(start, std::min(last - start, kLongestLine));
      resizes_.erase(0, last + 1);
    }
    if (resizes_.size() > kLongestLine) {
      resizes_.clear();
    }
  }

  std::unique_ptr<PodSession> session_;
  News news_{};
  bool terminal_;
  unsigned wanted_ = 0;  // streams to wait for
  SpdyConnection spdy_{};
  std::map<std::string, std::uint32_t, std::less<>> streams_{};  // by type
  std::optional<std::uint32_t> resize_{};
  std::string resizes_{};
};

// Returns the number of a member, its name in any letter case: the reference reads sizes so, and
// clients in JavaScript rely on it.
std::int64_t number_of(const Value& object, std::string_view name) {
  std::int64_t number = 0;
  for (const Member& member : object.members()) {
    if (lower(member.key()) == name) {
      number = member.value.as_int();
    }
  }
  return number;
}

}  // namespace

std::string exit_status(const PodSession::Output& output) {
  return json::print(succeeded(output) ? success_status() : exit_error(output).to_value());
}

void apply_resize(PodSession& session, std::string_view json_text) {
  const auto size = json::parse(json_text);
  if (!size.ok()) {
    return;
  }
  const std::int64_t columns = number_of(*size, "width");
  const std::int64_t rows = number_of(*size, "height");
  if (columns > 0 && rows > 0 && columns <= kMostCells && rows <= kMostCells) {
    session.resize(static_cast<unsigned>(columns), static_cast<unsigned>(rows));
  }
}

std::unique_ptr<Tunnel> websocket_exec(std::unique_ptr<PodSession> session,
                                       const ExecOptions& options,
                                       const ChannelProtocol& protocol) {
  return std::make_unique<WebSocketExec>(std::move(session), options.input, protocol);
}

std::unique_ptr<Tunnel> spdy_exec(std::unique_ptr<PodSession> session, const ExecOptions& options) {
  return std::make_unique<SpdyExec>(std::move(session), options);
}

}  // namespace athanor::apiserver
