// SPDX-License-Identifier: Apache-2.0
#include "client/http/http_upgrade.hpp"

#include <curl/curl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.hpp"
#include "client/http/curl_failure.hpp"
#include "client/http/curl_handle.hpp"
#include "client/http/header_text.hpp"
#include "client/http/link_local.hpp"

namespace athanor::client {

// What the thread of a connection and its reader share.
struct HttpUpgrades::Link {
  Link() : event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { close(event); }

  const int event;                    // written to when the thread has something to look at
  std::atomic<bool> left{false};      // without a reader
  std::atomic<bool> finished{false};  // the thread is about to end

  Mutex mutex{};  // guards what follows
  std::string inbound ATHANOR_GUARDED_BY(mutex){};
  std::string outbound ATHANOR_GUARDED_BY(mutex){};
  bool ended ATHANOR_GUARDED_BY(mutex) = false;
  // Held during the call, so that none runs after on_ready({}); recursive, as the callee may pull.
  RecursiveMutex wake_mutex{};
  std::function<void()> wake ATHANOR_GUARDED_BY(wake_mutex){};

  void ring() const { static_cast<void>(eventfd_write(event, 1)); }
  void notify() {
    const MutexLock lock(wake_mutex);
    if (wake) {
      wake();
    }
  }
};

struct HttpUpgrades::Running {
  std::thread thread{};
  std::shared_ptr<Link> link{};
};

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;      // bytes on their way, each way
constexpr std::size_t kHeadLimit = std::size_t{64} << 10;  // bytes of an answer's head
constexpr std::size_t kPiece = std::size_t{16} << 10;
constexpr int kSwitching = 101;
constexpr std::string_view kEndOfHead = "\r\n\r\n";

using Clock = std::chrono::steady_clock;

// The reader's end; `Shared` is HttpUpgrades::Link.
template <class Shared>
class Channel final : public HttpChannel {
 public:
  explicit Channel(std::shared_ptr<Shared> link) : link_(std::move(link)) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() override {
    on_ready({});
    link_->left = true;
    link_->ring();
  }

  bool pull(std::string& out) override {
    bool open = false;
    {
      const MutexLock lock(link_->mutex);
      out += link_->inbound;
      link_->inbound.clear();
      open = !link_->ended;
    }
    link_->ring();  // there is space again
    return open;
  }
  void on_ready(std::function<void()> wake) override {
    const MutexLock lock(link_->wake_mutex);
    link_->wake = std::move(wake);
  }
  void feed(std::string_view bytes) override {
    {
      const MutexLock lock(link_->mutex);
      link_->outbound += bytes;
    }
    link_->ring();
  }
  [[nodiscard]] bool wants_more() const override {
    const MutexLock lock(link_->mutex);
    return link_->outbound.size() < kBuffer && !link_->ended;
  }

 private:
  std::shared_ptr<Shared> link_;
};

std::string request_text(const HttpQuery& query) {
  const std::size_t scheme = query.url.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const std::size_t slash = std::min(query.url.find('/', begin), query.url.size());
  const std::string target = slash == query.url.size() ? "/" : query.url.substr(slash);
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", query.method, target,
                                 query.url.substr(begin, slash - begin));
  for (const auto& [name, value] : query.headers) {
    text += fmt::format("{}: {}\r\n", name, value);
  }
  if (!query.body.empty() || query.method == "POST") {
    text += fmt::format("Content-Length: {}\r\n", query.body.size());
  }
  return text + "\r\n" + query.body;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// The status line and the headers; a status of 0: this is no HTTP.
HttpReply parse_head(std::string_view head) {
  constexpr std::size_t kStatusAt = 9;  // "HTTP/1.1 101 ..."
  constexpr std::size_t kStatusSize = 3;
  HttpReply reply;
  std::size_t end = std::min(head.find("\r\n"), head.size());
  if (!head.starts_with("HTTP/1.") || end < kStatusAt + kStatusSize) {
    return reply;
  }
  const std::string_view digits = head.substr(kStatusAt, kStatusSize);
  std::from_chars(digits.data(), digits.data() + digits.size(), reply.status);
  while (end < head.size()) {
    head.remove_prefix(std::min(end + 2, head.size()));
    end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      std::string_view value = line.substr(colon + 1);
      value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
      reply.headers.emplace_back(lower_case(line.substr(0, colon)), value);
    }
  }
  return reply;
}

std::string_view header(const HttpReply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) {
      return value;
    }
  }
  return {};
}

// The body in chunks, put together; nullopt: more is to come.
std::optional<std::string> unchunked(std::string_view text) {
  constexpr int kHex = 16;
  std::string body;
  while (true) {
    const std::size_t end = text.find("\r\n");
    std::size_t size = 0;
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    std::from_chars(text.data(), text.data() + end, size, kHex);
    text.remove_prefix(end + 2);
    if (size == 0) {
      return body;
    }
    if (text.size() < size + 2) {
      return std::nullopt;
    }
    body += text.substr(0, size);
    text.remove_prefix(size + 2);
  }
}

// One connection, on its thread.
template <class Shared>
class Connection {
 public:
  Connection(HttpQuery query, std::shared_ptr<Shared> link, HttpUpgrades::Done done)
      : query_(std::move(query)), link_(std::move(link)), done_(std::move(done)) {}

  void run() {
    if (dial() && await_head()) {
      carry();
    }
    {
      const MutexLock lock(link_->mutex);
      link_->ended = true;
    }
    link_->notify();
    link_->finished = true;
  }

 private:
  // Once; handlers of the answer are released, as the connection may outlast it by far.
  void tell(UpgradeReply answer) {
    HttpUpgrades::Done done = std::exchange(done_, {});
    done(std::move(answer));
  }
  bool fail(std::string why) {
    UpgradeReply answer;
    answer.reply.failure = std::move(why);
    tell(std::move(answer));
    return false;
  }

  bool dial() {
    if (std::string flaw = query_flaw(query_); !flaw.empty()) {
      return fail(std::move(flaw));
    }
    CURL* handle = handle_.get();
    curl_easy_setopt(handle, CURLOPT_URL, query_.url.c_str());
    curl_easy_setopt(handle, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(query_.timeout.count()));
    set_tls(
        handle,
        {.authority = query_.ca_pem, .certificate = query_.certificate_pem, .key = query_.key_pem});
    if (query_.insecure_skip_verify) {
      curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
      curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    bool refused = false;
    if (!query_.link_local) {
      refuse_link_local(handle, refused);
    }
    if (!query_.connect_to.empty()) {
      add_line(connect_to_, "::" + query_.connect_to);
      curl_easy_setopt(handle, CURLOPT_CONNECT_TO, connect_to_.get());
    }
    if (const CURLcode code = curl_easy_perform(handle); code != CURLE_OK) {
      return fail(refused ? std::string(kLinkLocalRefused) : curl_failure(handle, code, query_));
    }
    curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &socket_);
    return true;
  }

  // Waits until there is something to do, or until `deadline`.
  void wait(bool reads, bool writes, std::optional<Clock::time_point> deadline) {
    std::array<pollfd, 2> fds{};
    fds[0].fd = static_cast<int>(socket_);
    fds[0].events = static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
    fds[1].fd = link_->event;
    fds[1].events = POLLIN;
    int timeout = -1;
    if (deadline) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now());
      timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0) + 1);
    }
    static_cast<void>(poll(fds.data(), fds.size(), timeout));
    eventfd_t rung = 0;
    static_cast<void>(eventfd_read(link_->event, &rung));
  }

  // Appends what is there; false: the connection is at its end.
  bool receive(std::string& out) {
    std::array<char, kPiece> piece{};
    while (out.size() < kBuffer) {
      std::size_t size = 0;
      const CURLcode code = curl_easy_recv(handle_.get(), piece.data(), piece.size(), &size);
      if (code == CURLE_AGAIN) {
        return true;
      }
      if (code != CURLE_OK || size == 0) {
        return false;
      }
      out.append(piece.data(), size);
    }
    return true;
  }

  // Sends what can be sent, and takes it away; false: the connection is at its end.
  bool transmit(std::string& bytes) {
    while (!bytes.empty()) {
      std::size_t size = 0;
      const CURLcode code = curl_easy_send(handle_.get(), bytes.data(), bytes.size(), &size);
      if (code == CURLE_AGAIN) {
        return true;
      }
      if (code != CURLE_OK) {
        return false;
      }
      bytes.erase(0, size);
    }
    return true;
  }

  // True: the connection is a channel now. Else the answer was delivered.
  bool await_head() {
    const Clock::time_point deadline = Clock::now() + query_.timeout;
    std::string request = request_text(query_);
    std::string text;
    bool open = true;
    while (true) {
      open = transmit(request) && receive(text) && open;
      const std::size_t end = text.find(kEndOfHead);
      if (end != std::string::npos) {
        HttpReply reply = parse_head(std::string_view(text).substr(0, end));
        const std::string_view rest = std::string_view(text).substr(end + kEndOfHead.size());
        if (reply.status == kSwitching) {
          return switch_over(std::move(reply), rest);
        }
        if (is_whole(reply, rest) || !open) {
          UpgradeReply answer{.reply = std::move(reply)};
          tell(std::move(answer));
          return false;
        }
      }
      if (!open) {
        return fail("unexpected EOF");
      }
      if (link_->left || Clock::now() >= deadline) {
        return fail("context deadline exceeded");
      }
      if (text.size() > kHeadLimit && end == std::string::npos) {
        return fail("net/http: server response headers exceeded 65536 bytes; aborted");
      }
      wait(true, !request.empty(), deadline);
    }
  }

  // Puts the body into the reply as far as it has come.
  static bool is_whole(HttpReply& reply, std::string_view rest) {
    if (lower_case(header(reply, "transfer-encoding")) == "chunked") {
      auto body = unchunked(rest);
      const bool whole = body.has_value();
      reply.body = std::move(body).value_or(std::string());
      return whole;
    }
    reply.body = std::string(rest);
    const std::string_view digits = header(reply, "content-length");
    std::size_t length = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), length);
    return !digits.empty() && rest.size() >= length;
  }

  bool switch_over(HttpReply reply, std::string_view rest) {
    {
      const MutexLock lock(link_->mutex);
      link_->inbound = std::string(rest);
    }
    UpgradeReply answer{.reply = std::move(reply)};
    answer.channel = std::make_shared<Channel<Shared>>(link_);
    tell(std::move(answer));
    return true;
  }

  void carry() {
    bool open = true;
    std::string received;
    std::string sending;
    while (open && !link_->left) {
      std::size_t held = 0;
      bool drained = false;
      {
        const MutexLock lock(link_->mutex);
        sending += link_->outbound;
        drained = !link_->outbound.empty();
        link_->outbound.clear();
        held = link_->inbound.size();
      }
      open = transmit(sending);
      if (held < kBuffer) {
        open = receive(received) && open;
      }
      if (!received.empty()) {
        const MutexLock lock(link_->mutex);
        link_->inbound += received;
      }
      if (!std::exchange(received, {}).empty() || drained) {
        link_->notify();
      }
      if (open) {
        wait(held < kBuffer, !sending.empty(), std::nullopt);
      }
    }
  }

  const HttpQuery query_;
  const std::shared_ptr<Shared> link_;
  HttpUpgrades::Done done_;
  Easy handle_{curl_easy_init()};
  CurlList connect_to_{};
  curl_socket_t socket_ = CURL_SOCKET_BAD;
};

}  // namespace

HttpUpgrades::HttpUpgrades() = default;

HttpUpgrades::~HttpUpgrades() {
  stop();
}

void HttpUpgrades::reap() {
  for (auto entry = running_.begin(); entry != running_.end();) {
    if (entry->second->link->finished) {
      entry->second->thread.join();
      entry = running_.erase(entry);
    } else {
      ++entry;
    }
  }
}

void HttpUpgrades::send(HttpQuery query, Done done) {
  {
    const MutexLock lock(mutex_);
    reap();
    if (!stopping_) {
      auto one = std::make_shared<Running>();
      one->link = std::make_shared<Link>();
      one->thread = std::thread(
          [query = std::move(query), link = one->link, done = std::move(done)]() mutable {
            Connection<Link>(std::move(query), link, std::move(done)).run();
          });
      running_.emplace(++last_id_, std::move(one));
      return;
    }
  }
  UpgradeReply answer;
  answer.reply.failure = "the client was stopped";
  done(std::move(answer));
}

void HttpUpgrades::stop() {
  std::map<std::uint64_t, std::shared_ptr<Running>> ending;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    ending.swap(running_);
  }
  for (auto& [id, one] : ending) {
    one->link->left = true;
    one->link->ring();
    one->thread.join();
  }
}

}  // namespace athanor::client
