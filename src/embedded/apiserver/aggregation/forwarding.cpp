// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/aggregation/forwarding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/ascii.hpp"
#include "embedded/apiserver/request/front_proxy.hpp"
#include "embedded/apiserver/streaming/upgrade_request.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

// Headers that are about one connection, or that this server answers for.
constexpr std::array<std::string_view, 14> kOwn = {"connection",
                                                   "keep-alive",
                                                   "proxy-authenticate",
                                                   "proxy-authorization",
                                                   "proxy-connection",
                                                   "te",
                                                   "trailer",
                                                   "transfer-encoding",
                                                   "upgrade",
                                                   "content-length",
                                                   "host",
                                                   "authorization",
                                                   "expect",
                                                   "date"};

bool passes(std::string_view name) {
  return std::find(kOwn.begin(), kOwn.end(), name) == kOwn.end() &&
         !name.starts_with("x-remote-") && !name.starts_with("impersonate-");
}

// "content-type" as "Content-Type".
std::string canonical(std::string name) {
  bool start = true;
  for (char& c : name) {
    if (start) {
      c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    start = c == '-';
  }
  return name;
}

// The answer's body; shared with the conversation that heard it.
class SharedStream final : public Stream {
 public:
  explicit SharedStream(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  SharedStream(const SharedStream&) = delete;
  SharedStream& operator=(const SharedStream&) = delete;
  ~SharedStream() override { stream_->on_ready({}); }
  State pull(std::string& out) override { return stream_->pull(out); }
  void on_ready(std::function<void()> wake) override { stream_->on_ready(std::move(wake)); }

 private:
  std::shared_ptr<Stream> stream_;
};

// What the connection has become; shared with the conversation that heard it.
class SharedTunnel final : public Tunnel {
 public:
  explicit SharedTunnel(std::shared_ptr<Tunnel> tunnel) : tunnel_(std::move(tunnel)) {}
  SharedTunnel(const SharedTunnel&) = delete;
  SharedTunnel& operator=(const SharedTunnel&) = delete;
  ~SharedTunnel() override { tunnel_->on_ready({}); }
  State pull(std::string& out) override { return tunnel_->pull(out); }
  void on_ready(std::function<void()> wake) override { tunnel_->on_ready(std::move(wake)); }
  void feed(std::string_view bytes) override { tunnel_->feed(bytes); }
  [[nodiscard]] bool wants_more() const override { return tunnel_->wants_more(); }

 private:
  std::shared_ptr<Tunnel> tunnel_;
};

}  // namespace

std::string percent_encoded(std::string_view text, std::string_view kept) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~").find(c) != std::string_view::npos ||
        kept.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

std::string request_target(const Request& request) {
  std::string target = percent_encoded(request.path, "/:@!$&'()*+,;=");
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    target += separator + percent_encoded(name, "") + "=" + percent_encoded(value, "");
    separator = '&';
  }
  return target;
}

std::string body_text(const Request& request) {
  if (const auto* text = std::get_if<std::string>(&request.body)) {
    return *text;
  }
  const Value& value = std::get<Value>(request.body);
  return value.is_null() ? std::string() : json::print(value);
}

void pass_headers(const Request& request, const FrontProxy& proxy, OutsideRequest& out) {
  for (const auto& [name, value] : request.headers) {
    if (passes(name) && !names_user(proxy, name) && name != "sec-websocket-protocol") {
      out.headers.emplace_back(canonical(name), value);
    }
  }
  // Without the user's token, which may be among them.
  if (const auto offered = offered_subprotocols(request); !offered.empty()) {
    out.headers.emplace_back("Sec-Websocket-Protocol", fmt::format("{}", fmt::join(offered, ", ")));
  }
}

bool asks_to_switch(const Request& request) {
  const std::vector<std::string> connection = header_elements(request.header_list("connection"));
  return !request.header("upgrade").empty() &&
         std::any_of(connection.begin(), connection.end(),
                     [](const std::string& element) { return lower(element) == "upgrade"; });
}

void pass_upgrade(const Request& request, OutsideRequest& out) {
  out.headers.emplace_back("Connection", "Upgrade");
  out.headers.emplace_back("Upgrade", request.header("upgrade"));
  out.upgrade = true;
  out.stream = false;
}

Response passed_on(const Request& request, const OutsideAnswer& answer) {
  constexpr int kNoContent = 204;
  constexpr int kNotModified = 304;
  const bool has_body =
      request.method != "HEAD" && answer.status != kNoContent && answer.status != kNotModified;
  Response response;
  response.status = answer.status;
  response.content_type = std::string(answer.header("content-type"));
  for (const auto& [name, value] : answer.headers) {
    if (passes(name) && name != "content-type") {
      response.headers.emplace_back(canonical(name), value);
    }
  }
  if (answer.channel != nullptr) {
    response.content_type.clear();
    response.headers.emplace_back("Connection", "Upgrade");
    response.headers.emplace_back("Upgrade", answer.header("upgrade"));
    response.tunnel = std::make_unique<SharedTunnel>(answer.channel);
  } else if (answer.stream != nullptr && has_body) {
    response.stream = std::make_unique<SharedStream>(answer.stream);
  } else {
    response.body = answer.body;
  }
  return response;
}

}  // namespace athanor::apiserver
