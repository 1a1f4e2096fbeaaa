// SPDX-License-Identifier: Apache-2.0
// libcurl's multi interface on one thread. Everything of libcurl is touched on that thread alone;
// others leave tasks in a queue and wake it.
#include "client/http/async_http.hpp"

#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <string_view>
#include <thread>

#include "base/mutex.hpp"
#include "client/http/curl_failure.hpp"
#include "client/http/curl_handle.hpp"
#include "client/http/header_text.hpp"
#include "client/http/link_local.hpp"

namespace athanor::client {
namespace {

constexpr int kPollMs = 1000;
constexpr long kIdleConnections = 64;
constexpr std::size_t kStreamBuffer = std::size_t{1} << 20;  // unread bytes of one stream
constexpr const char* kStopped = "the client was stopped";

}  // namespace

// What a stream's reader and the client's thread share.
struct StreamBuffer {
  Mutex mutex{};
  std::string bytes ATHANOR_GUARDED_BY(mutex){};
  bool ended ATHANOR_GUARDED_BY(mutex) = false;
  bool paused ATHANOR_GUARDED_BY(mutex) = false;
  // Held during the call, so that none runs after on_ready({}); recursive, as the callee may pull.
  RecursiveMutex wake_mutex{};
  std::function<void()> wake ATHANOR_GUARDED_BY(wake_mutex){};

  void notify() {
    const MutexLock lock(wake_mutex);
    if (wake) {
      wake();
    }
  }
};

struct Transfer {
  std::uint64_t id = 0;
  std::chrono::steady_clock::time_point due{};  // not sent before
  HttpQuery query{};
  AsyncHttp::Done done{};
  HttpReply reply{};
  Easy handle{};
  CurlList headers{};
  CurlList connect_to{};
  bool too_large = false;
  bool refused = false;   // the address is link-local
  bool answered = false;  // done() was called
  std::shared_ptr<StreamBuffer> buffer{};

  void tell() {
    if (!std::exchange(answered, true)) {
      done(std::move(reply));
    }
  }
};

struct AsyncHttp::State {
  Multi multi{curl_multi_init()};
  std::map<std::uint64_t, std::unique_ptr<Transfer>> transfers{};  // of the client's thread
  std::vector<std::unique_ptr<Transfer>> delayed{};                // of the client's thread
  std::uint64_t last_id = 0;

  Mutex mutex{};  // guards what follows
  std::vector<std::unique_ptr<Transfer>> arriving ATHANOR_GUARDED_BY(mutex){};
  std::vector<std::uint64_t> unpausing ATHANOR_GUARDED_BY(mutex){};
  std::vector<std::uint64_t> leaving ATHANOR_GUARDED_BY(mutex){};  // streams without a reader
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::thread thread{};

  void add(std::vector<std::uint64_t> State::*list, std::uint64_t id);
  void run(const std::weak_ptr<State>& self);
  bool take_orders(const std::weak_ptr<State>& self);
  void begin(std::unique_ptr<Transfer> transfer, const std::weak_ptr<State>& self);
  // Begins the delayed transfers whose time has come; returns the milliseconds until the next one.
  int begin_due(const std::weak_ptr<State>& self);
  void finish(std::uint64_t id, CURLcode code);
};

namespace {

// The body of a streamed answer.
class Body final : public HttpBody {
 public:
  Body(std::shared_ptr<StreamBuffer> buffer, std::function<void()> unpause,
       std::function<void()> leave)
      : buffer_(std::move(buffer)), unpause_(std::move(unpause)), leave_(std::move(leave)) {}
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() override {
    const MutexLock lock(buffer_->wake_mutex);
    buffer_->wake = {};
    leave_();
  }

  bool pull(std::string& out) override {
    bool resume = false;
    bool open = false;
    {
      const MutexLock lock(buffer_->mutex);
      out += buffer_->bytes;
      buffer_->bytes.clear();
      resume = std::exchange(buffer_->paused, false);
      open = !buffer_->ended;
    }
    if (resume) {
      unpause_();
    }
    return open;
  }

  void on_ready(std::function<void()> wake) override {
    const MutexLock lock(buffer_->wake_mutex);
    buffer_->wake = std::move(wake);
  }

 private:
  std::shared_ptr<StreamBuffer> buffer_;
  std::function<void()> unpause_;
  std::function<void()> leave_;
};

std::size_t on_stream_bytes(StreamBuffer& buffer, const char* data, std::size_t size) {
  {
    const MutexLock lock(buffer.mutex);
    if (buffer.bytes.size() >= kStreamBuffer) {
      buffer.paused = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    buffer.bytes.append(data, size);
  }
  buffer.notify();
  return size;
}

std::size_t on_body(const char* data, std::size_t size, std::size_t count, void* target) {
  auto& transfer = *static_cast<Transfer*>(target);
  const std::size_t bytes = size * count;
  if (transfer.buffer != nullptr) {
    return on_stream_bytes(*transfer.buffer, data, bytes);
  }
  if (transfer.reply.body.size() + bytes > transfer.query.response_limit) {
    transfer.too_large = true;
    return 0;  // ends the transfer
  }
  transfer.reply.body.append(data, bytes);
  return bytes;
}

std::size_t on_header(const char* data, std::size_t size, std::size_t count, void* target) {
  auto& transfer = *static_cast<Transfer*>(target);
  std::string_view line(data, size * count);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) {
    line.remove_suffix(1);
  }
  long status = 0;
  curl_easy_getinfo(transfer.handle.get(), CURLINFO_RESPONSE_CODE, &status);
  const std::size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {
    transfer.reply.headers.clear();  // after a "100 Continue" the true head follows
  } else if (colon != std::string_view::npos) {
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    transfer.reply.headers.emplace_back(std::move(name), value);
  } else if (line.empty() && status >= 200 && transfer.query.stream) {
    transfer.reply.status = static_cast<int>(status);
    curl_easy_setopt(transfer.handle.get(), CURLOPT_TIMEOUT_MS, 0L);  // a stream may last
    transfer.tell();
  }
  return size * count;
}

void prepare(Transfer& transfer) {
  CURL* handle = transfer.handle.get();
  const HttpQuery& query = transfer.query;
  curl_easy_setopt(handle, CURLOPT_URL, query.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(query.timeout.count()));
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, query.method.c_str());
  if (query.method == "HEAD") {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  }
  if (!query.body.empty() || query.method == "POST") {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(query.body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, query.body.data());
  }
  set_tls(handle,
          {.authority = query.ca_pem, .certificate = query.certificate_pem, .key = query.key_pem});
  if (query.insecure_skip_verify) {
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  bool typed = false;
  for (const auto& [name, value] : query.headers) {
    typed = typed || name == "Content-Type" || name == "content-type";
    add_line(transfer.headers, fmt::format("{}: {}", name, value));
  }
  if (!typed) {
    add_line(transfer.headers, "Content-Type:");  // instead of curl's own
  }
  add_line(transfer.headers, "Expect:");
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, transfer.headers.get());
  if (!query.link_local) {
    refuse_link_local(handle, transfer.refused);
  }
  if (!query.connect_to.empty()) {
    add_line(transfer.connect_to, "::" + query.connect_to);
    curl_easy_setopt(handle, CURLOPT_CONNECT_TO, transfer.connect_to.get());
  }
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_PRIVATE, &transfer);
}

}  // namespace

void AsyncHttp::State::add(std::vector<std::uint64_t> State::*list, std::uint64_t id) {
  const MutexLock lock(mutex);
  if (!stopping) {
    (this->*list).push_back(id);
    curl_multi_wakeup(multi.get());
  }
}

void AsyncHttp::State::begin(std::unique_ptr<Transfer> transfer, const std::weak_ptr<State>& self) {
  if (std::string flaw = query_flaw(transfer->query); !flaw.empty()) {
    transfer->reply.failure = std::move(flaw);
    transfer->tell();
    return;
  }
  const std::uint64_t id = ++last_id;
  transfer->id = id;
  transfer->handle.reset(curl_easy_init());
  if (transfer->buffer != nullptr) {
    const auto order = [self, id](std::vector<std::uint64_t> State::*list) {
      return [self, id, list] {
        if (const auto state = self.lock()) {
          state->add(list, id);
        }
      };
    };
    transfer->reply.stream =
        std::make_shared<Body>(transfer->buffer, order(&State::unpausing), order(&State::leaving));
  }
  prepare(*transfer);
  curl_multi_add_handle(multi.get(), transfer->handle.get());
  transfers.emplace(id, std::move(transfer));
}

void AsyncHttp::State::finish(std::uint64_t id, CURLcode code) {
  const auto found = transfers.find(id);
  if (found == transfers.end()) {
    return;
  }
  const std::unique_ptr<Transfer> transfer = std::move(found->second);
  transfers.erase(found);
  CURL* handle = transfer->handle.get();
  HttpReply& reply = transfer->reply;
  if (transfer->too_large) {
    reply.failure =
        fmt::format("the response exceeds the limit of {} bytes", transfer->query.response_limit);
  } else if (transfer->refused) {
    reply.failure = kLinkLocalRefused;
  } else if (code != CURLE_OK) {
    reply.failure = curl_failure(handle, code, transfer->query);
  }
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  reply.status = static_cast<int>(status);
  curl_multi_remove_handle(multi.get(), handle);
  if (transfer->buffer != nullptr) {
    {
      const MutexLock lock(transfer->buffer->mutex);
      transfer->buffer->ended = true;
    }
    transfer->buffer->notify();
  }
  if (!reply.failure.empty()) {
    reply.stream.reset();
  }
  transfer->tell();
}

// False: stop.
bool AsyncHttp::State::take_orders(const std::weak_ptr<State>& self) {
  std::vector<std::unique_ptr<Transfer>> begun;
  std::vector<std::uint64_t> read;
  std::vector<std::uint64_t> left;
  {
    const MutexLock lock(mutex);
    if (stopping) {
      return false;
    }
    begun.swap(arriving);
    read.swap(unpausing);
    left.swap(leaving);
  }
  for (auto& transfer : begun) {
    if (transfer->query.delay.count() > 0) {
      delayed.push_back(std::move(transfer));
    } else {
      begin(std::move(transfer), self);
    }
  }
  for (const std::uint64_t id : read) {
    if (const auto found = transfers.find(id); found != transfers.end()) {
      curl_easy_pause(found->second->handle.get(), CURLPAUSE_CONT);
    }
  }
  for (const std::uint64_t id : left) {
    if (const auto found = transfers.find(id); found != transfers.end()) {
      curl_multi_remove_handle(multi.get(), found->second->handle.get());
      transfers.erase(found);
    }
  }
  return true;
}

int AsyncHttp::State::begin_due(const std::weak_ptr<State>& self) {
  const auto now = std::chrono::steady_clock::now();
  const auto first_due = std::partition(delayed.begin(), delayed.end(),
                                        [&](const auto& transfer) { return transfer->due > now; });
  std::vector<std::unique_ptr<Transfer>> due(std::make_move_iterator(first_due),
                                             std::make_move_iterator(delayed.end()));
  delayed.erase(first_due, delayed.end());
  for (auto& transfer : due) {
    begin(std::move(transfer), self);
  }
  std::chrono::milliseconds wait{kPollMs};
  for (const auto& transfer : delayed) {
    wait = std::min(wait, std::chrono::ceil<std::chrono::milliseconds>(transfer->due - now));
  }
  return static_cast<int>(wait.count());
}

void AsyncHttp::State::run(const std::weak_ptr<State>& self) {
  while (take_orders(self)) {
    const int wait = begin_due(self);
    int running = 0;
    curl_multi_perform(multi.get(), &running);
    const std::vector<EndedTransfer> ended = take_ended(multi);
    for (const EndedTransfer& one : ended) {
      finish(static_cast<Transfer*>(one.owner)->id, static_cast<CURLcode>(one.code));
    }
    if (ended.empty()) {
      curl_multi_poll(multi.get(), nullptr, 0, wait, nullptr);
    }
  }
}

AsyncHttp::AsyncHttp(long most_connections) : state_(std::make_shared<State>()) {
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(kReady);
  curl_multi_setopt(state_->multi.get(), CURLMOPT_MAXCONNECTS, kIdleConnections);
  curl_multi_setopt(state_->multi.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, most_connections);
  state_->thread = std::thread(
      [state = state_.get(), self = std::weak_ptr<State>(state_)] { state->run(self); });
}

AsyncHttp::~AsyncHttp() {
  stop();
}

void AsyncHttp::send(HttpQuery query, Done done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->query = std::move(query);
  transfer->done = std::move(done);
  transfer->due = std::chrono::steady_clock::now() + transfer->query.delay;
  if (transfer->query.stream) {
    transfer->buffer = std::make_shared<StreamBuffer>();
  }
  {
    const MutexLock lock(state_->mutex);
    if (!state_->stopping) {
      state_->arriving.push_back(std::move(transfer));
      curl_multi_wakeup(state_->multi.get());
      return;
    }
  }
  transfer->reply.failure = kStopped;
  transfer->tell();
}

void AsyncHttp::stop() {
  State& state = *state_;
  {
    const MutexLock lock(state.mutex);
    state.stopping = true;
    curl_multi_wakeup(state.multi.get());
  }
  if (!state.thread.joinable()) {
    return;
  }
  state.thread.join();
  // This thread is the only one now.
  std::vector<std::unique_ptr<Transfer>> arriving;
  {
    const MutexLock lock(state.mutex);
    arriving.swap(state.arriving);
  }
  for (auto& transfer : state.delayed) {
    arriving.push_back(std::move(transfer));
  }
  state.delayed.clear();
  for (auto& transfer : arriving) {
    transfer->reply.failure = kStopped;
    transfer->tell();
  }
  while (!state.transfers.empty()) {
    const auto first = state.transfers.begin();
    first->second->reply.failure = kStopped;
    state.finish(first->first, CURLE_OK);
  }
}

}  // namespace athanor::client
