// SPDX-License-Identifier: Apache-2.0
#include "client/api_exchange.hpp"

#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"
#include "client/api_answer.hpp"
#include "kube/text/json.hpp"

namespace athanor::client {
namespace {

constexpr long kReadBuffer = 128L * 1024;                  // lists are long
constexpr std::size_t kErrorLimit = std::size_t{1} << 20;  // of a refused watch's body
constexpr std::size_t kLineLimit = std::size_t{32} << 20;  // an object has 1.5 MiB in etcd

long milliseconds(Duration duration) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

bool same_name(std::string_view a, std::string_view lower) {
  return std::ranges::equal(a, lower, [](unsigned char x, unsigned char y) {
    return std::tolower(x) == static_cast<int>(y);
  });
}

}  // namespace

Exchange::Exchange(ApiRequest asked, ApiClient::Done answered, std::shared_ptr<StreamLink> watch)
    : request(std::move(asked)), done(std::move(answered)), link(std::move(watch)) {}

std::size_t Exchange::on_body(const char* data, std::size_t size, std::size_t count, void* self) {
  auto& exchange = *static_cast<Exchange*>(self);
  const std::size_t bytes = size * count;
  std::size_t most = exchange.request.response_limit;
  if (exchange.is_watch()) {
    exchange.link->touch();
    exchange.readable = true;
    most = exchange.status == 200 ? kLineLimit : kErrorLimit;
  }
  if (exchange.received_.size() + bytes > most) {
    exchange.too_large = true;
    return 0;  // ends the transfer
  }
  exchange.received_.append(data, bytes);
  return bytes;
}

std::size_t Exchange::on_header(const char* data, std::size_t size, std::size_t count, void* self) {
  auto& exchange = *static_cast<Exchange*>(self);
  std::string_view line(data, size * count);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) {
    line.remove_suffix(1);
  }
  if (line.starts_with("HTTP/")) {
    exchange.retry_after_.clear();  // after a "100 Continue" the true head follows
  } else if (line.empty()) {
    long status = 0;
    curl_easy_getinfo(exchange.easy.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200) {
      exchange.status = static_cast<int>(status);
      exchange.head = true;
      exchange.readable = true;
    }
  } else if (const std::size_t colon = line.find(':');
             colon != std::string_view::npos && same_name(line.substr(0, colon), "retry-after")) {
    line.remove_prefix(colon + 1);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    exchange.retry_after_ = line;
  }
  return size * count;
}

std::size_t Exchange::on_send(char* target, std::size_t size, std::size_t count, void* self) {
  auto& exchange = *static_cast<Exchange*>(self);
  const std::size_t bytes = std::min(size * count, exchange.sent_.size() - exchange.offset_);
  exchange.sent_.copy(target, bytes, exchange.offset_);
  exchange.offset_ += bytes;
  return bytes;
}

// Handed over by a callback that cannot be rewound: libcurl would silently send a request again
// over a new connection when a kept one breaks, and a write must not be sent twice unasked.
void Exchange::set_body() {
  offset_ = 0;
  if (reads()) {
    curl_easy_setopt(easy.get(), CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(easy.get(), CURLOPT_NOBODY, request.method == "HEAD" ? 1L : 0L);
    return;
  }
  if (sent_.empty()) {
    const bool bare = request.body.is_null() && request.method == "DELETE";
    sent_ = bare ? R"({"kind":"DeleteOptions","apiVersion":"v1"})" : json::print(request.body);
  }
  curl_easy_setopt(easy.get(), CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(sent_.size()));
  curl_easy_setopt(easy.get(), CURLOPT_READFUNCTION, on_send);
  curl_easy_setopt(easy.get(), CURLOPT_READDATA, this);
  curl_easy_setopt(easy.get(), CURLOPT_CUSTOMREQUEST, request.method.c_str());
  add_header(lists_, "Content-Type", request.content_type);
}

void Exchange::prepare(Easy handle, const ClusterConfig& config, const Identity& identity,
                       const ApiClientOptions& options) {
  easy = std::move(handle);
  lists_ = {};
  received_.clear();
  scanned_ = 0;
  retry_after_.clear();
  head = readable = too_large = false;
  status = 0;
  generation = identity.generation;
  CURL* curl = easy.get();
  set_target(curl, config, identity, request.path, lists_);
  set_body();
  add_header(lists_, "Accept", request.accept);
  for (const auto& [name, value] : request.headers) {
    add_header(lists_, name, value);
  }
  apply_lists(curl, lists_);
  // A lease's renewal shares no connection with a flood of other answers: libcurl takes a
  // connection for another one's only if both have the same TLS options, and this one says nothing
  // to OpenSSL. It speaks the same HTTP as all others, as libcurl 7.88 multiplexes over any
  // connection to a server, HTTP/1.1 or not, once one of them can.
  const bool lease = request.lane == Lane::Lease;
  curl_easy_setopt(curl, CURLOPT_SSL_OPTIONS, lease ? long{CURLSSLOPT_NO_REVOKE} : 0L);
  curl_easy_setopt(
      curl, CURLOPT_HTTP_VERSION,
      static_cast<long>(options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_PIPEWAIT, options.http2 && !lease ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, request.fresh_connection ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.connect_timeout));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, options.user_agent.c_str());
  if (is_watch()) {
    link->touch();
  } else {
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, kReadBuffer);
    if (!config.disable_compression) {
      curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "gzip");
    }
  }
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(curl, CURLOPT_PRIVATE, this);
}

bool Exchange::unsent() const {
  if (easy == nullptr) {
    return true;
  }
  long bytes = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_REQUEST_SIZE, &bytes);
  return bytes == 0;
}

ApiResult Exchange::result(int code, const ClusterConfig& config) {
  if (code == CURLE_OK) {
    return answer();
  }
  ApiResult result;
  if (!lists_.flaw.empty()) {
    result.error = Error::bad_request(lists_.flaw);
    return result;
  }
  result.unknown = !reads() && !unsent();
  if (too_large) {
    result.status = status;
    const std::size_t most = is_watch() ? kLineLimit : request.response_limit;
    result.error = Error::internal(
        fmt::format("the answer of {} exceeds the limit of {} bytes", config.server, most));
    return result;
  }
  result.error = Error::unavailable(
      fmt::format("cannot reach {}: {}", config.server, target_failure(easy.get(), code, config)));
  if (code == CURLE_OPERATION_TIMEDOUT) {
    result.error->code = 504;
    result.error->reason = "Timeout";
  }
  return result;
}

ApiResult Exchange::answer() {
  ApiResult result;
  result.status = status;
  const bool refused = status < 200 || status >= 300;
  if (is_watch() && !refused) {
    return result;  // its lines were handed on
  }
  if (request.text && !refused) {
    result.text = std::move(received_);
    return result;
  }
  const auto parsed = json::parse(received_);
  if (parsed.ok()) {
    result.body = *parsed;
  }
  if (refused) {
    result.error = answer_error(status, result.body, received_);
    result.retry_after = retry_after_of(retry_after_, result.body);
  } else if (!parsed.ok()) {
    result.error = Error::internal("the server's answer is not JSON: " + parsed.error().message);
    result.unknown = !reads();
  }
  return result;
}

bool Exchange::deliver_lines() {
  readable = false;
  std::size_t start = 0;
  bool sound = true;
  for (std::size_t end = received_.find('\n', scanned_); end != std::string::npos && sound;
       end = received_.find('\n', start)) {
    auto line = json::parse(std::string_view(received_).substr(start, end - start));
    start = end + 1;
    sound = line.ok();
    const MutexLock lock(link->mutex);
    if (link->gone) {
      break;
    }
    if (sound && link->handlers.line) {
      link->handlers.line(*std::move(line));
    }
  }
  received_.erase(0, start);
  scanned_ = received_.size();
  return sound;
}

}  // namespace athanor::client
