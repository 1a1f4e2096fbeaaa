// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/checks/http_exchange.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/ascii.hpp"
#include "embedded/nodes/network/address.hpp"
#include "net/tls_client.hpp"

namespace athanor::nodes {
namespace {

constexpr std::size_t kMostHead = std::size_t{64} << 10;
constexpr std::size_t kMostBody = std::size_t{10} << 10;  // a kubelet reads no more
constexpr std::int64_t kMostRedirects = 10;
constexpr int kFirstGood = 200;
constexpr int kFirstRedirect = 300;
constexpr int kFirstBad = 400;
constexpr int kNoContent = 204;
constexpr int kNotModified = 304;
constexpr int kFollowed[] = {301, 302, 303, 307, 308};
constexpr std::string_view kHttp = "HTTP/";
constexpr std::int64_t kHttpPort = 80;
constexpr std::int64_t kHttpsPort = 443;

// The beginning of an answer.
struct AnswerHead {
  int status = 0;
  std::map<std::string, std::string> headers{};  // by names in small letters; the first of each
};

// "HTTP/1.1 200 OK" and the lines below it; nullopt: it is no HTTP.
std::optional<AnswerHead> parse_answer_head(std::string_view text) {
  AnswerHead head;
  const std::string_view line = text.substr(0, text.find("\r\n"));
  const std::size_t blank = line.find(' ');
  if (!line.starts_with(kHttp) || blank == std::string_view::npos ||
      std::from_chars(line.data() + blank + 1, line.data() + line.size(), head.status).ec !=
          std::errc{}) {
    return std::nullopt;
  }
  text.remove_prefix(std::min(text.size(), line.size() + 2));
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\r\n"), text.size());
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 2));
    const std::size_t colon = field.find(':');
    if (colon != std::string_view::npos) {
      head.headers.emplace(lower(field.substr(0, colon)),
                           std::string(trimmed(field.substr(colon + 1))));
    }
  }
  return head;
}

// Joins chunks up to a kubelet's limit; nullopt: more is to come.
std::optional<std::string> read_chunks(std::string_view bytes, bool closed) {
  std::string body;
  while (body.size() < kMostBody) {
    const std::size_t line = bytes.find("\r\n");
    if (line == std::string_view::npos) {
      return closed ? std::optional(std::move(body)) : std::nullopt;
    }
    std::size_t size = 0;
    const auto parsed = std::from_chars(bytes.data(), bytes.data() + line, size, 16);
    if (parsed.ec != std::errc{} || size == 0) {
      return body;  // the last one, or a damaged one
    }
    bytes.remove_prefix(line + 2);
    if (bytes.size() < size && bytes.size() < kMostBody && !closed) {
      return std::nullopt;
    }
    body += bytes.substr(0, size);
    bytes.remove_prefix(std::min(bytes.size(), size + 2));
  }
  return body.substr(0, kMostBody);
}

// The body as far as a kubelet reads it; nullopt: more is to come.
std::optional<std::string> read_body(const AnswerHead& head, std::string_view bytes, bool closed) {
  if (head.status == kNoContent || head.status == kNotModified) {
    return std::string();
  }
  const auto coding = head.headers.find("transfer-encoding");
  if (coding != head.headers.end() && lower(coding->second) == "chunked") {
    return read_chunks(bytes, closed);
  }
  std::size_t wanted = kMostBody;
  if (const auto length = head.headers.find("content-length"); length != head.headers.end()) {
    const std::string& digits = length->second;
    std::size_t size = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), size).ec == std::errc{}) {
      wanted = std::min(size, kMostBody);
    }
  }
  if (bytes.size() >= wanted || closed) {
    return std::string(bytes.substr(0, wanted));
  }
  return std::nullopt;
}

class HttpExchange final : public CheckExchange {
 public:
  explicit HttpExchange(const Value& action) : action_(action) {}

  std::string begin() override {
    std::string headers;
    bool host = false;
    bool agent = false;
    bool accept = false;
    for (const Value& header : action_["headers"].items()) {
      const std::string name = lower(header[0].as_string());
      host = host || name == "host";
      agent = agent || name == "user-agent";
      accept = accept || name == "accept";
      // An empty value takes a header away that is sent otherwise.
      if (!header[1].as_string().empty() || (name != "user-agent" && name != "accept")) {
        headers += fmt::format("{}: {}\r\n", header[0].as_string(), header[1].as_string());
      }
    }
    if (!host) {
      headers =
          fmt::format("Host: {}:{}\r\n", action_["host"].as_string(), action_["port"].as_int()) +
          headers;
    }
    const std::string_view own = action_["agent"].as_string();
    return fmt::format(
        "GET {} HTTP/1.1\r\n{}{}{}Connection: close\r\n\r\n", action_["path"].as_string(), headers,
        agent ? std::string()
              : fmt::format("User-Agent: {}/1.35\r\n", own.empty() ? "kube-probe" : own),
        accept ? "" : "Accept: */*\r\n");
  }

  std::optional<CheckAnswer> take(std::string_view received, bool closed,
                                  std::string& /*send*/) override {
    const std::size_t end = received.find("\r\n\r\n");
    const bool line = received.find("\r\n") != std::string_view::npos;
    const bool all = end != std::string_view::npos || closed || received.size() >= kMostHead;
    if (!line && !all) {
      return std::nullopt;
    }
    if (received.empty()) {
      return failed("EOF");
    }
    const auto head = parse_answer_head(received.substr(0, end));
    if (head && !all) {
      return std::nullopt;
    }
    if (!head) {
      return failed("net/http: HTTP/1.x transport connection broken: malformed HTTP response");
    }
    const bool redirects = std::ranges::find(kFollowed, head->status) != std::end(kFollowed);
    const auto location = head->headers.find("location");
    if (redirects && location != head->headers.end() && !location->second.empty()) {
      if (auto answer = redirect(location->second)) {
        return answer;
      }
    }
    const auto body = read_body(
        *head, end == std::string_view::npos ? std::string_view() : received.substr(end + 4),
        closed);
    return body ? std::optional(judged(head->status, *body)) : std::nullopt;
  }

 private:
  [[nodiscard]] CheckAnswer failed(std::string_view cause) const {
    return {.answer = {.message = fmt::format("Get \"{}\": {}", url_of(action_), cause)}};
  }

  // nullopt: it leads to another host and ends here.
  [[nodiscard]] std::optional<CheckAnswer> redirect(const std::string& location) const {
    Value next = redirected_action(action_, location);
    if (next.is_null()) {
      return failed(fmt::format("failed to parse Location header \"{}\"", location));
    }
    if (lower(next["host"].as_string()) != lower(action_["host"].as_string())) {
      return std::nullopt;
    }
    const std::int64_t redirects = action_["redirects"].as_int() + 1;
    if (redirects >= kMostRedirects) {
      return CheckAnswer{
          .answer = {.message = fmt::format("Get \"{}\": stopped after 10 redirects", location)}};
    }
    next.set("redirects", redirects);
    return CheckAnswer{.next = std::move(next)};
  }

  [[nodiscard]] CheckAnswer judged(int status, const std::string& body) const {
    if (status >= kFirstRedirect && status < kFirstBad) {
      return {.answer = {.success = true,
                         .warned = true,
                         .message = "Probe terminated redirects, Response body: " + body}};
    }
    // A hook is done with any answer.
    return {.answer = {.success = (status >= kFirstGood && status < kFirstBad) ||
                                  action_["anyStatus"].as_bool(),
                       .message = fmt::format("HTTP probe failed with statuscode: {}", status)}};
  }

  Value action_;
};

// HTTP within TLS.
class TlsExchange final : public CheckExchange {
 public:
  explicit TlsExchange(const Value& action)
      : action_(action), http_(action), tls_(name_of(action)) {}

  std::string begin() override {
    tls_.send(http_.begin());
    return tls_.take_output();
  }

  std::optional<CheckAnswer> take(std::string_view received, bool closed,
                                  std::string& send) override {
    tls_.receive(received.substr(read_));
    read_ = received.size();
    send += tls_.take_output();
    plain_ += tls_.take_plain();
    const std::string& failure = tls_.failure();
    if (!failure.empty() && action_["anyStatus"].as_bool() && received.starts_with(kHttp)) {
      Value next = action_;  // hooks said HTTPS for long when HTTP was meant
      next.set("scheme", "HTTP");
      return CheckAnswer{.next = std::move(next)};
    }
    if (!failure.empty() && plain_.empty()) {
      return CheckAnswer{.answer = {.message = fmt::format("Get \"{}\": {}", url_of(action_),
                                                           cause(received, failure))}};
    }
    return http_.take(plain_, closed || !failure.empty(), send);
  }

 private:
  // An address is no name of a server.
  static std::string name_of(const Value& action) {
    const std::string host = action["host"].str();
    return ip_of(host) || host.find(':') != std::string::npos ? std::string() : host;
  }
  static std::string cause(std::string_view received, const std::string& failure) {
    if (received.starts_with(kHttp)) {
      return "http: server gave HTTP response to HTTPS client";
    }
    if (failure == "wrong version number") {
      return "tls: first record does not look like a TLS handshake";
    }
    return failure == "EOF" ? failure : "tls: " + failure;
  }

  Value action_;
  HttpExchange http_;
  net::UncheckedTlsClient tls_;
  std::string plain_{};
  std::size_t read_ = 0;
};

// "host:port", "[address]:port" and both without a port.
bool read_authority(std::string_view authority, Value& action) {
  const bool secure = action["scheme"].as_string() == "HTTPS";
  std::string_view host = authority;
  std::int64_t port = secure ? kHttpsPort : kHttpPort;
  const std::size_t after = authority.starts_with('[') ? authority.find(']') : 0;
  const std::size_t colon = after == std::string_view::npos ? after : authority.find(':', after);
  if (colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    const std::string_view digits = authority.substr(colon + 1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), port).ec != std::errc{}) {
      return false;
    }
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  action.set("host", host);
  action.set("port", port);
  return !host.empty();
}

}  // namespace

std::unique_ptr<CheckExchange> make_http_exchange(const Value& action) {
  if (action["scheme"].as_string() == "HTTPS") {
    return std::make_unique<TlsExchange>(action);
  }
  return std::make_unique<HttpExchange>(action);
}

Value redirected_action(const Value& action, std::string_view location) {
  Value next = action;
  location = location.substr(0, location.find('#'));
  const std::size_t mark = location.find("://");
  if (mark != std::string_view::npos && location.find('/') > mark) {
    const std::string scheme = lower(location.substr(0, mark));
    if (scheme != "http" && scheme != "https") {
      return {};
    }
    next.set("scheme", scheme == "https" ? "HTTPS" : "HTTP");
    location.remove_prefix(mark + 1);
  }
  if (location.starts_with("//")) {
    location.remove_prefix(2);
    const std::string_view authority = location.substr(0, location.find_first_of("/?"));
    location.remove_prefix(authority.size());
    if (!read_authority(authority, next)) {
      return {};
    }
    Value kept = Value::list();
    for (const Value& header : action["headers"].items()) {
      if (lower(header[0].as_string()) != "host") {
        kept.push_back(header);
      }
    }
    next.set("headers", std::move(kept));
  } else if (!location.starts_with('/')) {
    const std::string_view path = action["path"].as_string();
    const std::string_view base = path.substr(0, path.find('?'));
    const bool query = location.starts_with('?');
    next.set("path", std::string(query ? base : base.substr(0, base.rfind('/') + 1)) +
                         std::string(location));
    return next;
  }
  next.set("path", location.starts_with('/') ? std::string(location) : "/" + std::string(location));
  return next;
}

}  // namespace athanor::nodes
