// SPDX-License-Identifier: Apache-2.0
// Passing a request on to the server of its group version, as the user that it comes from.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "embedded/apiserver/aggregation/aggregation.hpp"
#include "embedded/apiserver/call.hpp"
#include "kube/json.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::chrono::seconds kTimeout{60};  // to the head of the answer

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

// Percent-encodes everything but unreserved characters and those in `kept`.
std::string encoded(std::string_view text, std::string_view kept) {
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

std::string target_of(const Request& request) {
  std::string target = encoded(request.path, "/:@!$&'()*+,;=");
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    target += separator + encoded(name, "") + "=" + encoded(value, "");
    separator = '&';
  }
  return target;
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

std::string body_of(const Request& request) {
  if (const auto* text = std::get_if<std::string>(&request.body)) {
    return *text;
  }
  const Value& value = std::get<Value>(request.body);
  return value.is_null() ? std::string() : json::print(value);
}

void add_user(const UserInfo& user, OutsideRequest& request) {
  auto& headers = request.headers;
  headers.emplace_back("X-Remote-User", user.name);
  if (!user.uid.empty()) {
    headers.emplace_back("X-Remote-Uid", user.uid);
  }
  for (const std::string& group : user.groups) {
    headers.emplace_back("X-Remote-Group", group);
  }
  for (const auto& [key, values] : user.extra) {
    for (const std::string& value : values) {
      headers.emplace_back("X-Remote-Extra-" + encoded(key, ""), value);
    }
  }
}

StatusError unavailable(std::string text) {
  StatusError error;
  error.code = 503;
  error.message = std::move(text) + "\n";
  error.plain_text = true;
  return error;
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

Response response_of(const OutsideAnswer& answer, bool has_body) {
  Response response;
  response.status = answer.status;
  response.content_type = std::string(answer.header("content-type"));
  for (const auto& [name, value] : answer.headers) {
    if (passes(name) && name != "content-type") {
      response.headers.emplace_back(canonical(name), value);
    }
  }
  if (answer.stream != nullptr && has_body) {
    response.stream = std::make_unique<SharedStream>(answer.stream);
  } else {
    response.body = answer.body;
  }
  return response;
}

// "/apis/GROUP/VERSION/..." as "VERSION.GROUP"; empty when the path is another one.
std::string service_name(std::string_view path) {
  constexpr std::string_view kPrefix = "/apis/";
  if (!path.starts_with(kPrefix)) {
    return {};
  }
  path.remove_prefix(kPrefix.size());
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) {
    return {};
  }
  const std::string_view group = path.substr(0, slash);
  const std::string_view rest = path.substr(slash + 1);
  const std::string_view version = rest.substr(0, rest.find('/'));
  return version.empty() ? std::string() : fmt::format("{}.{}", version, group);
}

}  // namespace

std::optional<StatusResult<Response>> Aggregation::serve(Call& call) {
  if (empty()) {
    return std::nullopt;
  }
  const auto api = find(service_name(call.request.path));
  if (!api || call.table->has_version(api->group, api->version)) {
    return std::nullopt;
  }
  if (!api->available) {
    return unavailable("service unavailable");
  }
  const auto* reply = call.conversation.ask("proxy", [&](const std::string&) {
    OutsideRequest request = request_to(*api);
    request.method = call.request.method;
    request.url += target_of(call.request);
    for (const auto& [name, value] : call.request.headers) {
      if (passes(name)) {
        request.headers.emplace_back(canonical(name), value);
      }
    }
    add_user(call.user, request);
    request.body = body_of(call.request);
    request.timeout = kTimeout;
    request.stream = true;
    return request;
  });
  if (reply == nullptr) {
    return status::pending();
  }
  const OutsideAnswer& answer = *reply->answer;
  if (!answer.failure.empty()) {
    return unavailable("error trying to reach service: " + answer.failure);
  }
  constexpr int kNoContent = 204;
  constexpr int kNotModified = 304;
  const bool has_body =
      call.request.method != "HEAD" && answer.status != kNoContent && answer.status != kNotModified;
  return response_of(answer, has_body);
}

}  // namespace athanor::apiserver
