// SPDX-License-Identifier: Apache-2.0
// gRPC health checks. Of HTTP/2 only what one call needs: the headers are written as
// literals without compression, and those of the answer are not read: its data says enough.
#include "embedded/nodes/process/checks/check_exchange.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "embedded/nodes/process/checks/http_exchange.hpp"

namespace athanor::nodes {
namespace {

// Frames of HTTP/2.
constexpr std::size_t kFrameHead = 9;
constexpr unsigned char kData = 0;
constexpr unsigned char kHeaders = 1;
constexpr unsigned char kReset = 3;
constexpr unsigned char kSettings = 4;
constexpr unsigned char kPing = 6;
constexpr unsigned char kGoAway = 7;
constexpr unsigned char kEndStream = 1;
constexpr unsigned char kAck = 1;
constexpr unsigned char kEndHeaders = 4;
constexpr char kServing = 1;

std::string h2_frame(unsigned char type, unsigned char flags, unsigned char stream,
                     std::string_view payload) {
  std::string frame;
  for (const std::size_t shift : {std::size_t{16}, std::size_t{8}, std::size_t{0}}) {
    frame += static_cast<char>((payload.size() >> shift) & 0xff);
  }
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  frame += std::string(3, '\0') + static_cast<char>(stream);
  return frame + std::string(payload);
}

// A literal header field without indexing, with a new name.
std::string h2_field(std::string_view name, std::string_view value) {
  constexpr std::size_t kMost = 126;  // lengths below fit the seven bits of one byte
  name = name.substr(0, kMost);
  value = value.substr(0, kMost);
  return std::string(1, '\0') + static_cast<char>(name.size()) + std::string(name) +
         static_cast<char>(value.size()) + std::string(value);
}

class GrpcExchange final : public CheckExchange {
 public:
  explicit GrpcExchange(const Value& action)
      : host_(fmt::format("{}:{}", action["host"].as_string(), action["port"].as_int())),
        service_(action["service"].as_string().substr(0, kMostService)) {}

  std::string begin() override {
    const std::string headers = h2_field(":method", "POST") + h2_field(":scheme", "http") +
                                h2_field(":path", "/grpc.health.v1.Health/Check") +
                                h2_field(":authority", host_) + h2_field("te", "trailers") +
                                h2_field("content-type", "application/grpc") +
                                h2_field("user-agent", "kube-probe/1.35");
    std::string message;
    if (!service_.empty()) {
      message = std::string("\x0a") + static_cast<char>(service_.size()) + service_;
    }
    const std::string data = std::string(4, '\0') + static_cast<char>(message.size()) + message;
    return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_frame(kSettings, 0, 0, {}) +
           h2_frame(kHeaders, kEndHeaders, 1, headers) + h2_frame(kData, kEndStream, 1, data);
  }

  std::optional<CheckAnswer> take(std::string_view received, bool closed,
                                  std::string& send) override {
    while (received.size() - read_ >= kFrameHead) {
      const auto byte = [&](std::size_t at) {
        return static_cast<unsigned char>(received[read_ + at]);
      };
      const std::size_t size = std::size_t{byte(0)} << 16 | std::size_t{byte(1)} << 8 | byte(2);
      if (received.size() - read_ < kFrameHead + size) {
        break;
      }
      const unsigned char type = byte(3);
      const unsigned char flags = byte(4);
      const std::string_view payload = received.substr(read_ + kFrameHead, size);
      read_ += kFrameHead + size;
      if (type == kSettings && (flags & kAck) == 0) {
        send += h2_frame(kSettings, kAck, 0, {});
      } else if (type == kPing && (flags & kAck) == 0) {
        send += h2_frame(kPing, kAck, 0, payload);
      } else if (type == kData) {
        data_ += payload;
      }
      const bool over = (type == kHeaders || type == kData) && (flags & kEndStream) != 0;
      if (over || type == kReset || type == kGoAway) {
        return CheckAnswer{.answer = answer()};
      }
    }
    return closed ? std::optional(CheckAnswer{.answer = answer()}) : std::nullopt;
  }

 private:
  static constexpr std::size_t kMostService = 120;

  // HealthCheckResponse{status}: 1 is SERVING.
  [[nodiscard]] ProbeAnswer answer() const {
    constexpr std::size_t kPrefix = 5;
    if (data_.size() < kPrefix) {
      return {.message =
                  "error: this server does not implement the grpc health protocol "
                  "(grpc.health.v1.Health), or does not know the service"};
    }
    static constexpr const char* kStates[] = {"UNKNOWN", "SERVING", "NOT_SERVING",
                                              "SERVICE_UNKNOWN"};
    const std::string_view message = std::string_view(data_).substr(kPrefix);
    const auto status =
        static_cast<unsigned char>(message.size() >= 2 && message[0] == '\x08' ? message[1] : '\0');
    return {.success = status == kServing,
            .message = fmt::format("service unhealthy (responded with \"{}\")",
                                   kStates[std::min<std::size_t>(status, 3)])};
  }

  std::string host_;
  std::string service_;
  std::string data_{};
  std::size_t read_ = 0;
};

}  // namespace

std::unique_ptr<CheckExchange> make_exchange(const Value& action) {
  const std::string_view type = action["type"].as_string();
  if (type == "http") {
    return make_http_exchange(action);
  }
  if (type == "grpc") {
    return std::make_unique<GrpcExchange>(action);
  }
  return nullptr;
}

std::string url_of(const Value& action) {
  return fmt::format("{}://{}:{}{}", lower(action["scheme"].as_string()),
                     action["host"].as_string(), action["port"].as_int(),
                     action["path"].as_string());
}

}  // namespace athanor::nodes
