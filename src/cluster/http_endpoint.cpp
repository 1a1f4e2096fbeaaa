// SPDX-License-Identifier: Apache-2.0
// Sockets and the little of HTTP that probes and scrapers speak.
#include "cluster/http_endpoint.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "base/condition_variable.hpp"
#include "base/contain.hpp"
#include "base/mutex.hpp"

namespace athanor::cluster {

namespace {

constexpr std::size_t kHeadLimit = 8192;
constexpr int kBacklog = 128;
constexpr auto kLinger = std::chrono::seconds(1);          // until a client takes the end
constexpr auto kStarved = std::chrono::milliseconds(100);  // without descriptors
constexpr std::int64_t kLongestWait = 60'000;              // milliseconds
constexpr int kMostPort = 65535;

// An owned descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  [[nodiscard]] int get() const { return number_; }

 private:
  int number_;
};

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

std::string text_of(const EndpointAnswer& answer, bool with_body) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{}",
      answer.status, reason_of(answer.status), answer.content_type, answer.body.size(),
      with_body ? std::string_view(answer.body) : std::string_view());
}

EndpointAnswer refusal(int status) {
  return {.status = status, .body = fmt::format("{}\n", reason_of(status))};
}

using SteadyClock = std::chrono::steady_clock;

// One client of the endpoint's own thread.
struct Client {
  enum class Stage : std::uint8_t { Reading, Handling, Writing, Lingering, Over };

  Client(std::uint64_t number, int descriptor, SteadyClock::time_point until)
      : id(number), socket(descriptor), deadline(until) {}

  std::uint64_t id;  // they come in this order
  Descriptor socket;
  Stage stage = Stage::Reading;
  SteadyClock::time_point deadline;  // of this stage
  std::string head{};
  std::string out{};
  std::size_t sent = 0;

  [[nodiscard]] short events() const {
    switch (stage) {
      case Stage::Reading:
      case Stage::Lingering:
        return POLLIN;
      case Stage::Writing:
        return POLLOUT;
      case Stage::Handling:
      case Stage::Over:
        break;
    }
    return 0;
  }

  // Takes more of the head; true when it is whole or too large.
  bool read() {
    std::array<char, 2048> buffer{};
    const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got <= 0) {
      stage = got < 0 && (errno == EAGAIN || errno == EINTR) ? stage : Stage::Over;
      return false;
    }
    if (stage == Stage::Lingering) {
      return false;
    }
    const std::size_t from = head.size() < 3 ? 0 : head.size() - 3;
    head.append(buffer.data(), static_cast<std::size_t>(got));
    return head.find("\r\n\r\n", from) != std::string::npos || head.size() > kHeadLimit;
  }

  void write(SteadyClock::time_point now, Duration patience) {
    const ssize_t went =
        ::send(socket.get(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (went < 0) {
      stage = errno == EAGAIN || errno == EINTR ? stage : Stage::Over;
      return;
    }
    sent += static_cast<std::size_t>(went);
    deadline = now + patience;
    if (sent == out.size()) {
      // Closing now would reset what a client that still sends has not read.
      ::shutdown(socket.get(), SHUT_WR);
      out = {};
      stage = Stage::Lingering;
      deadline = now + kLinger;
    }
  }
};

// A request for the handler, and its answer.
struct Work {
  std::uint64_t client = 0;
  std::string text{};
};

struct Listening {
  Descriptor socket{};
  std::string address{};
};

std::string text_of(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(address, size, host.data(), host.size(), port.data(), port.size(),
                NI_NUMERICHOST | NI_NUMERICSERV);
  const bool six = std::strchr(host.data(), ':') != nullptr;
  return six ? fmt::format("[{}]:{}", host.data(), port.data())
             : fmt::format("{}:{}", host.data(), port.data());
}

Result<Listening> open_socket(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) {
    return Error::bad_request(fmt::format("\"{}\" is no address: HOST:PORT", address));
  }
  // getaddrinfo() would take 99999 for 34463.
  int port = 0;
  const char* const end = address.data() + address.size();
  const auto [rest, failed] = std::from_chars(address.data() + colon + 1, end, port);
  if (failed != std::errc() || rest != end || port < 0 || port > kMostPort) {
    return Error::bad_request(
        fmt::format("\"{}\": the port is not a number from 0 to {}", address, kMostPort));
  }
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  const int failure = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                    address.c_str() + colon + 1, &hints, &raw);
  if (failure != 0) {
    return Error::bad_request(fmt::format("{}: {}", address, ::gai_strerror(failure)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(raw, &::freeaddrinfo);
  Listening result{.socket = Descriptor(
                       ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
  const int on = 1;
  ::setsockopt(result.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  auto* bound_address = reinterpret_cast<sockaddr*>(
      &bound);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): POSIX's own idiom
  if (result.socket.get() < 0 ||
      ::bind(result.socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(result.socket.get(), kBacklog) != 0 ||
      ::getsockname(result.socket.get(), bound_address, &size) != 0) {
    const int code = errno;
    return Error::unavailable(
        fmt::format("cannot listen on {}: {}", address,
                    std::error_code(code, std::generic_category()).message()));
  }
  result.address = text_of(bound_address, size);
  return result;
}

}  // namespace

struct HttpEndpoint::State {
  State(Listening from, Handler what, Duration how_long)
      : listening(std::move(from)),
        news(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        handler(std::move(what)),
        patience(how_long) {}

  // The endpoint's own thread, and what it alone touches.
  void serve();
  void accept_all(SteadyClock::time_point now);
  void make_room();
  void advance(Client& client, SteadyClock::time_point now);
  void take_answers(SteadyClock::time_point now);
  [[nodiscard]] int poll_all(std::vector<pollfd>& waited, SteadyClock::time_point now) const;
  std::map<std::uint64_t, Client> clients{};
  std::uint64_t last_client = 0;
  SteadyClock::time_point starved_until{};  // no descriptor was left

  // The handler's threads.
  void handle();
  [[nodiscard]] std::string answer_to(const std::string& head) const;
  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(::write(news.get(), &one, sizeof(one)));
  }

  Listening listening;
  Descriptor news;
  const Handler handler;
  const Duration patience;
  Mutex mutex{};
  ConditionVariable more{};
  std::deque<Work> asked ATHANOR_GUARDED_BY(mutex){};
  std::deque<Work> answered ATHANOR_GUARDED_BY(mutex){};
  bool ending ATHANOR_GUARDED_BY(mutex) = false;
  std::vector<std::thread> threads{};
};

int HttpEndpoint::State::poll_all(std::vector<pollfd>& waited, SteadyClock::time_point now) const {
  const bool accepts = now >= starved_until;
  waited.assign({{.fd = news.get(), .events = POLLIN, .revents = 0},
                 {.fd = accepts ? listening.socket.get() : -1, .events = POLLIN, .revents = 0}});
  auto first = accepts ? SteadyClock::time_point::max() : starved_until;
  for (const auto& [id, client] : clients) {
    waited.push_back({.fd = client.socket.get(), .events = client.events(), .revents = 0});
    first = std::min(first, client.deadline);
  }
  int wait = -1;
  if (first != SteadyClock::time_point::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - now).count();
    wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongestWait));
  }
  return ::poll(waited.data(), waited.size(), wait);
}

void HttpEndpoint::State::serve() {
  std::vector<pollfd> waited;
  while (true) {
    if (poll_all(waited, SteadyClock::now()) < 0 && errno != EINTR) {
      return;
    }
    std::uint64_t count = 0;
    static_cast<void>(::read(news.get(), &count, sizeof(count)));
    const auto now = SteadyClock::now();
    {
      const MutexLock lock(mutex);
      if (ending) {
        return;
      }
    }
    // In their order: none came or went since.
    std::size_t at = 2;
    for (auto& [id, client] : clients) {
      if (waited[at++].revents != 0) {
        advance(client, now);
      }
      if (now >= client.deadline) {
        client.stage = Client::Stage::Over;
      }
    }
    take_answers(now);
    std::erase_if(clients,
                  [](const auto& entry) { return entry.second.stage == Client::Stage::Over; });
    if (waited[1].revents != 0) {
      accept_all(now);
    }
  }
}

void HttpEndpoint::State::accept_all(SteadyClock::time_point now) {
  for (int i = 0; i < kBacklog; ++i) {
    const int client = ::accept4(listening.socket.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
      if (errno == EMFILE || errno == ENFILE) {
        make_room();
        starved_until = now + kStarved;
      }
      return;
    }
    if (clients.size() >= kClients) {
      make_room();
    }
    const std::uint64_t id = ++last_client;
    clients.try_emplace(id, id, client, now + patience);
  }
}

// Who came first has had the longest time.
void HttpEndpoint::State::make_room() {
  if (!clients.empty()) {
    clients.erase(clients.begin());
  }
}

void HttpEndpoint::State::advance(Client& client, SteadyClock::time_point now) {
  switch (client.stage) {
    case Client::Stage::Reading:
      if (client.read()) {
        client.stage = Client::Stage::Handling;
        client.deadline = SteadyClock::time_point::max();
        const MutexLock lock(mutex);
        asked.push_back({.client = client.id, .text = std::exchange(client.head, {})});
        more.notify_one();
      }
      return;
    case Client::Stage::Lingering:
      client.read();
      return;
    case Client::Stage::Writing:
      return client.write(now, patience);
    case Client::Stage::Handling:
      client.stage = Client::Stage::Over;  // it left
      return;
    case Client::Stage::Over:
      return;
  }
}

void HttpEndpoint::State::take_answers(SteadyClock::time_point now) {
  std::deque<Work> ready;
  {
    const MutexLock lock(mutex);
    ready.swap(answered);
  }
  for (Work& work : ready) {
    const auto client = clients.find(work.client);
    if (client == clients.end() || client->second.stage != Client::Stage::Handling) {
      continue;  // it left, or was closed for another
    }
    client->second.out = std::move(work.text);
    client->second.stage = Client::Stage::Writing;
    client->second.write(now, patience);
    if (client->second.stage == Client::Stage::Writing) {
      client->second.deadline = now + patience;
    }
  }
}

void HttpEndpoint::State::handle() {
  MutexLock lock(mutex);
  while (true) {
    more.wait(lock, [this]() ATHANOR_REQUIRES(mutex) { return ending || !asked.empty(); });
    if (ending) {
      return;
    }
    Work work = std::move(asked.front());
    asked.pop_front();
    lock.unlock();
    work.text = answer_to(work.text);
    lock.lock();
    answered.push_back(std::move(work));
    wake();
  }
}

std::string HttpEndpoint::State::answer_to(const std::string& head) const {
  if (head.size() > kHeadLimit) {
    return text_of(refusal(431), true);
  }
  const std::string_view line = std::string_view(head).substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) {
    return text_of(refusal(400), true);
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  if (method != "GET" && method != "HEAD") {
    return text_of(refusal(405), true);
  }
  const std::size_t mark = target.find('?');
  EndpointAnswer answer;
  const auto broken = contain([&] {
    answer = handler(target.substr(0, mark),
                     mark == std::string_view::npos ? "" : target.substr(mark + 1));
  });
  return text_of(broken ? refusal(500) : answer, method == "GET");
}

Result<std::unique_ptr<HttpEndpoint>> HttpEndpoint::listen(const std::string& address,
                                                           Handler handler, Duration patience) {
  ATHANOR_TRY(Listening listening, open_socket(address));
  auto state = std::make_unique<State>(std::move(listening), std::move(handler), patience);
  state->threads.emplace_back([raw = state.get()] { raw->serve(); });
  for (int i = 0; i < kThreads; ++i) {
    state->threads.emplace_back([raw = state.get()] { raw->handle(); });
  }
  return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(std::move(state)));
}

HttpEndpoint::HttpEndpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpEndpoint::~HttpEndpoint() {
  {
    const MutexLock lock(state_->mutex);
    state_->ending = true;
  }
  state_->more.notify_all();
  state_->wake();
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
}

const std::string& HttpEndpoint::address() const {
  return state_->listening.address;
}

}  // namespace athanor::cluster
