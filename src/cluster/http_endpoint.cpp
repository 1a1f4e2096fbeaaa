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

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace athanor::cluster {

namespace {

constexpr std::size_t kHeadLimit = 8192;
constexpr int kSendSeconds = 5;  // until a client takes more of an answer
constexpr int kBacklog = 64;
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

void send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return;  // the client is gone or too slow: nobody to tell
    }
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void answer(int socket, const EndpointAnswer& answer, bool with_body) {
  send_all(socket, fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
                               "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
                               answer.status, reason_of(answer.status), answer.content_type,
                               answer.body.size()));
  if (with_body) {
    send_all(socket, answer.body);
  }
}

EndpointAnswer refusal(int status) {
  return {.status = status, .body = fmt::format("{}\n", reason_of(status))};
}

// The head up to its empty line; empty: it did not come whole within `patience`, however many of
// its bytes did.
std::string read_head(int socket, Duration patience) {
  using SteadyClock = std::chrono::steady_clock;
  const auto end = SteadyClock::now() + patience;
  std::string head;
  std::array<char, 2048> buffer{};
  while (head.find("\r\n\r\n") == std::string::npos && head.size() <= kHeadLimit) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now());
    pollfd waited{.fd = socket, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&waited, 1, static_cast<int>(left.count())) <= 0) {
      return {};
    }
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      return {};
    }
    head.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return head;
}

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
        ending(::eventfd(0, EFD_CLOEXEC)),
        handler(std::move(what)),
        patience(how_long) {}

  void serve() {
    while (true) {
      std::array<pollfd, 2> waited{};
      waited[0].fd = listening.socket.get();
      waited[1].fd = ending.get();
      waited[0].events = POLLIN;
      waited[1].events = POLLIN;
      if (::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) {
        return;
      }
      if (waited[1].revents != 0) {
        return;
      }
      const Descriptor client(::accept4(listening.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client.get() >= 0) {
        serve(client.get());
      }
    }
  }

  void serve(int client) const {
    const timeval pause{.tv_sec = kSendSeconds, .tv_usec = 0};
    ::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &pause, sizeof(pause));
    const std::string head = read_head(client, patience);
    if (head.empty()) {
      return;
    }
    if (head.size() > kHeadLimit) {
      answer(client, refusal(431), true);
      return;
    }
    const std::string_view line = std::string_view(head).substr(0, head.find("\r\n"));
    const std::size_t first = line.find(' ');
    const std::size_t second = line.find(' ', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) {
      answer(client, refusal(400), true);
      return;
    }
    const std::string_view method = line.substr(0, first);
    const std::string_view target = line.substr(first + 1, second - first - 1);
    if (method != "GET" && method != "HEAD") {
      answer(client, refusal(405), true);
      return;
    }
    const std::size_t mark = target.find('?');
    answer(client,
           handler(target.substr(0, mark),
                   mark == std::string_view::npos ? "" : target.substr(mark + 1)),
           method == "GET");
  }

  Listening listening;
  Descriptor ending;
  Handler handler;
  const Duration patience;
  std::vector<std::thread> threads{};
};

Result<std::unique_ptr<HttpEndpoint>> HttpEndpoint::listen(const std::string& address,
                                                           Handler handler, Duration patience) {
  ATHANOR_TRY(Listening listening, open_socket(address));
  auto state = std::make_unique<State>(std::move(listening), std::move(handler), patience);
  for (int i = 0; i < kThreads; ++i) {
    state->threads.emplace_back([raw = state.get()] { raw->serve(); });
  }
  return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(std::move(state)));
}

HttpEndpoint::HttpEndpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpEndpoint::~HttpEndpoint() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(state_->ending.get(), &one, sizeof(one)));
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
}

const std::string& HttpEndpoint::address() const {
  return state_->listening.address;
}

}  // namespace athanor::cluster
