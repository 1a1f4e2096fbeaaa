// SPDX-License-Identifier: Apache-2.0
// libcurl behind Connection: one easy handle for requests (connections are reused), one multi
// handle for streams.
#include "client/connection.hpp"

#include <curl/curl.h>
#include <fmt/core.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "client/api_answer.hpp"
#include "client/credentials.hpp"
#include "client/curl_target.hpp"
#include "client/http/curl_handle.hpp"
#include "kube/text/json.hpp"

namespace athanor::client {
namespace {

constexpr long kConnectTimeoutMs = 10'000;
constexpr long kRequestTimeoutMs = 70'000;  // the server's own limit is 60 s

std::size_t append_body(const char* data, std::size_t size, std::size_t count, void* target) {
  static_cast<std::string*>(target)->append(data, size * count);
  return size * count;
}

Error error_of(long code, const std::string& body) {
  const auto parsed = json::parse(body);
  return answer_error(static_cast<int>(code), parsed.ok() ? *parsed : Value(), body);
}

// One open stream: splits what arrives into lines.
struct Stream {
  Easy handle{};
  TargetLists lists{};
  StreamHandlers handlers{};
  std::string pending{};
  std::string error_body{};
  std::optional<Error> refused{};  // there are no credentials

  [[nodiscard]] long status() const {
    long code = 0;
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  static std::size_t receive(const char* data, std::size_t size, std::size_t count, void* target) {
    auto* stream = static_cast<Stream*>(target);
    const std::size_t bytes = size * count;
    if (stream->refused || stream->status() >= 400) {
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
    if (refused) {
      handlers.ended(*refused);
    } else if (const long answer = status(); answer >= 400) {
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
  CurlConnection(const ClusterConfig& config, const CredentialOptions& credentials)
      : config_(config),
        credentials_(Credentials::create(config, *clock_, credentials)),
        easy_(curl_easy_init()),
        multi_(curl_multi_init()) {}
  CurlConnection(const CurlConnection&) = delete;
  CurlConnection& operator=(const CurlConnection&) = delete;
  ~CurlConnection() override {
    take_in_and_out();
    for (auto& [handle, stream] : streams_) {
      curl_multi_remove_handle(multi_.get(), handle);
    }
  }

  [[nodiscard]] const ClusterConfig& config() const override { return config_; }

  Result<Value> call(const Call& call) override {
    ATHANOR_TRY(const std::string body, text(call));
    return json::parse(body);
  }

  Result<std::string> text(const Call& call) override {
    ATHANOR_TRY(const Identity identity, credentials_->get());
    auto answer = once(call, identity);
    if (answer.ok() || answer.error().code != 401 || !credentials_->reject(identity.generation)) {
      return answer;
    }
    ATHANOR_TRY(const Identity renewed, credentials_->get());
    return renewed.generation == identity.generation ? answer : once(call, renewed);
  }

  std::shared_ptr<void> stream(const std::string& path, StreamHandlers handlers) override {
    auto stream = std::make_shared<Stream>();
    stream->handle.reset(curl_easy_init());
    stream->handlers = std::move(handlers);
    CURL* handle = stream->handle.get();
    if (report_) {
      report_(fmt::format("GET {} (stream)", path));
    }
    const auto identity = credentials_->get();
    if (!identity.ok()) {
      stream->refused = identity.error();
    }
    prepare(handle, path, "application/json, */*", identity.value_or(Identity{}), stream->lists);
    apply_lists(handle, stream->lists);
    if (!stream->lists.flaw.empty()) {
      stream->refused = Error::bad_request(stream->lists.flaw);
    }
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

  void on_request(std::function<void(std::string_view line)> report) override {
    report_ = std::move(report);
  }

  void run(Duration timeout) override {
    take_in_and_out();
    driving_ = true;
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    curl_multi_poll(multi_.get(), nullptr, 0,
                    opening_.empty() ? static_cast<int>(timeout.count() / 1000) : 0, nullptr);
    curl_multi_perform(multi_.get(), &running);
    const std::vector<EndedTransfer> ended = take_ended(multi_);
    driving_ = false;
    for (const EndedTransfer& one : ended) {
      if (const auto found = streams_.find(one.easy); found != streams_.end()) {
        Stream* stream = found->second;
        streams_.erase(found);
        curl_multi_remove_handle(multi_.get(), one.easy);
        stream->finish(static_cast<CURLcode>(one.code));
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

  Result<std::string> once(const Call& call, const Identity& identity) {
    CURL* handle = easy_.get();
    curl_easy_reset(handle);
    TargetLists lists;
    prepare(handle, call.path, call.accept, identity, lists);
    std::string sent;
    if (!call.body.is_null()) {
      sent = json::print(call.body);
      add_header(lists, "Content-Type", call.content_type);
      curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, static_cast<long>(sent.size()));
      curl_easy_setopt(handle, CURLOPT_POSTFIELDS, sent.c_str());
    }
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call.method.c_str());
    apply_lists(handle, lists);
    if (!lists.flaw.empty()) {
      return Error::bad_request(lists.flaw);
    }
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, kRequestTimeoutMs);
    std::string body;
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, append_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &body);
    const CURLcode code = curl_easy_perform(handle);
    tell(call, handle, code);
    if (code != CURLE_OK) {
      return Error::unavailable(fmt::format("cannot reach {}: {}; is the lab up (athanor up)?",
                                            config_.server, curl_easy_strerror(code)));
    }
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 400) {
      return error_of(status, body);
    }
    return body;
  }

  void tell(const Call& call, CURL* handle, CURLcode code) const {
    if (!report_) {
      return;
    }
    long status = 0;
    curl_off_t microseconds = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(handle, CURLINFO_TOTAL_TIME_T, &microseconds);
    const std::string outcome =
        code == CURLE_OK ? fmt::format("{}", status) : curl_easy_strerror(code);
    report_(fmt::format("{} {} {} in {} ms", call.method, call.path, outcome, microseconds / 1000));
  }

  void prepare(CURL* handle, const std::string& path, const std::string& accept,
               const Identity& identity, TargetLists& lists) const {
    set_target(handle, config_, identity, path, lists);
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "athanor/" ATHANOR_VERSION);
    add_header(lists, "Accept", accept);
  }

  ClusterConfig config_;
  std::unique_ptr<Clock> clock_ = wall_clock();
  std::shared_ptr<Credentials> credentials_;
  Easy easy_;
  Multi multi_;
  std::map<CURL*, Stream*> streams_{};
  std::vector<std::shared_ptr<Stream>> opening_{};
  std::vector<std::shared_ptr<Stream>> closing_{};
  bool driving_ = false;
  std::function<void(std::string_view line)> report_{};
};

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const ClusterConfig& config,
                                                     const CredentialOptions& credentials) {
  if (!curl_ready()) {
    return Error::internal("libcurl could not be initialised");
  }
  return std::unique_ptr<Connection>(std::make_unique<CurlConnection>(config, credentials));
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
