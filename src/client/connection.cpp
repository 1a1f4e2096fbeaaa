// SPDX-License-Identifier: Apache-2.0
// libcurl behind Connection: one easy handle for requests (connections are reused), one multi
// handle for streams.
#include "client/connection.hpp"

#include <curl/curl.h>
#include <fmt/core.h>

#include <map>
#include <utility>
#include <vector>

#include "client/curl_handle.hpp"
#include "kube/json.hpp"

namespace athanor::client {
namespace {

constexpr long kConnectTimeoutMs = 10'000;
constexpr long kRequestTimeoutMs = 70'000;  // the server's own limit is 60 s

std::size_t append_body(const char* data, std::size_t size, std::size_t count, void* target) {
  static_cast<std::string*>(target)->append(data, size * count);
  return size * count;
}

// The Status of an error answer as an Error; plain text when it is not one.
Error error_of(long code, const std::string& body) {
  Error error{.code = static_cast<int>(code), .reason = {}, .message = {}};
  if (const auto parsed = json::parse(body);
      parsed.ok() && (*parsed)["kind"].as_string() == "Status") {
    error.reason = (*parsed)["reason"].str();
    error.message = (*parsed)["message"].str();
  } else {
    error.message = fmt::format("the server answered {}: {}", code, body.substr(0, 200));
  }
  return error;
}

// One open stream: splits what arrives into lines.
struct Stream {
  Easy handle{};
  CurlList headers{};
  StreamHandlers handlers{};
  std::string pending{};
  std::string error_body{};

  [[nodiscard]] long status() const {
    long code = 0;
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  static std::size_t receive(const char* data, std::size_t size, std::size_t count, void* target) {
    auto* stream = static_cast<Stream*>(target);
    const std::size_t bytes = size * count;
    if (stream->status() >= 400) {
      stream->error_body.append(data, bytes);
      return bytes;
    }
    stream->pending.append(data, bytes);
    std::size_t start = 0;
    for (std::size_t end = stream->pending.find('\n'); end != std::string::npos;
         end = stream->pending.find('\n', start)) {
      stream->handlers.line(std::string_view(stream->pending).substr(start, end - start));
      start = end + 1;
    }
    stream->pending.erase(0, start);
    return bytes;
  }

  void finish(CURLcode code) {
    if (!pending.empty()) {
      handlers.line(pending);
      pending.clear();
    }
    if (!handlers.ended) {
      return;
    }
    if (const long answer = status(); answer >= 400) {
      handlers.ended(error_of(answer, error_body));
    } else if (code != CURLE_OK) {
      handlers.ended(Error::unavailable(curl_easy_strerror(code)));
    } else {
      handlers.ended({});
    }
  }
};

class CurlConnection final : public Connection {
 public:
  explicit CurlConnection(Endpoint endpoint)
      : endpoint_(std::move(endpoint)), easy_(curl_easy_init()), multi_(curl_multi_init()) {}
  CurlConnection(const CurlConnection&) = delete;
  CurlConnection& operator=(const CurlConnection&) = delete;
  ~CurlConnection() override {
    take_in_and_out();
    for (auto& [handle, stream] : streams_) {
      curl_multi_remove_handle(multi_.get(), handle);
    }
  }

  [[nodiscard]] const Endpoint& endpoint() const override { return endpoint_; }

  Result<Value> call(const Call& call) override {
    ATHANOR_TRY(const std::string body, text(call));
    return json::parse(body);
  }

  Result<std::string> text(const Call& call) override {
    CURL* handle = easy_.get();
    curl_easy_reset(handle);
    CurlList headers = prepare(handle, call.path, call.accept);
    std::string sent;
    if (!call.body.is_null()) {
      sent = json::print(call.body);
      add_line(headers, "Content-Type: " + call.content_type);
      curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, static_cast<long>(sent.size()));
      curl_easy_setopt(handle, CURLOPT_POSTFIELDS, sent.c_str());
    }
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call.method.c_str());
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, kRequestTimeoutMs);
    std::string body;
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, append_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &body);
    if (const CURLcode code = curl_easy_perform(handle); code != CURLE_OK) {
      return Error::unavailable(fmt::format("cannot reach {}: {}; is the lab up (athanor up)?",
                                            endpoint_.server, curl_easy_strerror(code)));
    }
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 400) {
      return error_of(status, body);
    }
    return body;
  }

  std::shared_ptr<void> stream(const std::string& path, StreamHandlers handlers) override {
    auto stream = std::make_shared<Stream>();
    stream->handle.reset(curl_easy_init());
    stream->handlers = std::move(handlers);
    CURL* handle = stream->handle.get();
    stream->headers = prepare(handle, path, "application/json, */*");
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, stream->headers.get());
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, Stream::receive);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, stream.get());
    streams_[handle] = stream.get();
    // libcurl takes no handles in or out while it calls back: a stream opened by another one's line
    // waits for the next run().
    if (driving_) {
      opening_.push_back(stream);
    } else {
      curl_multi_add_handle(multi_.get(), handle);
    }
    // The caller's handle keeps the stream; letting go of it takes the stream out of the multi
    // handle.
    return {stream.get(), [this, stream](void*) mutable { close(std::move(stream)); }};
  }

  void run(Duration timeout) override {
    take_in_and_out();
    driving_ = true;
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    curl_multi_poll(multi_.get(), nullptr, 0,
                    opening_.empty() ? static_cast<int>(timeout.count() / 1000) : 0, nullptr);
    curl_multi_perform(multi_.get(), &running);
    std::vector<std::pair<CURL*, CURLcode>> done;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg == CURLMSG_DONE) {
        done.emplace_back(message->easy_handle, message->data.result);
      }
    }
    driving_ = false;
    for (const auto& [handle, code] : done) {
      if (const auto found = streams_.find(handle); found != streams_.end()) {
        Stream* stream = found->second;
        streams_.erase(found);
        curl_multi_remove_handle(multi_.get(), handle);
        stream->finish(code);
      }
    }
  }

 private:
  void take_in_and_out() {
    for (const std::shared_ptr<Stream>& stream : std::exchange(opening_, {})) {
      curl_multi_add_handle(multi_.get(), stream->handle.get());
    }
    for (const std::shared_ptr<Stream>& stream : std::exchange(closing_, {})) {
      curl_multi_remove_handle(multi_.get(), stream->handle.get());
    }
  }

  void close(std::shared_ptr<Stream> stream) {
    if (streams_.erase(stream->handle.get()) == 0) {
      return;  // it ended by itself
    }
    if (std::erase(opening_, stream) > 0) {
      return;
    }
    if (driving_) {
      closing_.push_back(std::move(stream));
    } else {
      curl_multi_remove_handle(multi_.get(), stream->handle.get());
    }
  }

  CurlList prepare(CURL* handle, const std::string& path, const std::string& accept) const {
    curl_easy_setopt(handle, CURLOPT_URL, (endpoint_.server + path).c_str());
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "athanor/cli");
    curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set_tls(handle, {.authority = endpoint_.certificate_authority,
                     .certificate = endpoint_.client_certificate,
                     .key = endpoint_.client_key});
    if (endpoint_.insecure_skip_verify) {
      curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
      curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    CurlList headers;
    add_line(headers, "Accept: " + accept);
    add_line(headers, "Expect:");
    if (!endpoint_.token.empty()) {
      add_line(headers, "Authorization: Bearer " + endpoint_.token);
    }
    return headers;
  }

  Endpoint endpoint_;
  Easy easy_;
  Multi multi_;
  std::map<CURL*, Stream*> streams_{};
  std::vector<std::shared_ptr<Stream>> opening_{};
  std::vector<std::shared_ptr<Stream>> closing_{};
  bool driving_ = false;
};

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(Endpoint endpoint) {
  if (endpoint.server.rfind("https://", 0) != 0 && endpoint.server.rfind("http://", 0) != 0) {
    return Error::bad_request(
        fmt::format("server \"{}\" is not an http or https address", endpoint.server));
  }
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
    return Error::internal("libcurl could not be initialised");
  }
  return std::unique_ptr<Connection>(std::make_unique<CurlConnection>(std::move(endpoint)));
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.' ||
                       byte == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

}  // namespace athanor::client
