// SPDX-License-Identifier: Apache-2.0
// One poll over connections and outputs.
#include "embedded/nodes/process/checks/check_loop.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "embedded/nodes/network/address.hpp"
#include "embedded/nodes/process/checks/check_exchange.hpp"

namespace athanor::nodes {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = std::size_t{10} << 10;   // what a kubelet keeps of a command's
constexpr std::size_t kMostReceived = std::size_t{1} << 20;  // of a connection
constexpr int kNotExecutable = 126;
constexpr int kMissing = 127;

struct Check {
  std::int64_t id = 0;      // of a command; 0: a connection
  std::int64_t lookup = 0;  // of a connection whose host is a name; 0: not waited for
  int file = -1;
  Value action{};
  std::unique_ptr<CheckExchange> exchange{};
  bool connected = false;
  std::string send{};
  std::string received{};
  std::optional<Steady::time_point> deadline{};
  std::optional<int> code{};  // of a command that has ended
  bool timed_out = false;
  CheckLoop::Done done{};
  std::function<void()> kill{};
};

std::string target_of(const Value& action) {
  return fmt::format("{}:{}", action["host"].as_string(), action["port"].as_int());
}

std::string words_in(const Value& command) {
  std::string text;
  for (const Value& word : command.items()) {
    text += (text.empty() ? "" : " ") + word.str();
  }
  return text;
}

std::string cause_of(int error) {
  if (error == ECONNREFUSED) {
    return "connect: connection refused";
  }
  char buffer[128];
  return fmt::format("connect: {}", ::strerror_r(error, buffer, sizeof buffer));
}

// As Go's client puts it.
ProbeAnswer not_connected(const Value& action, const std::string& cause) {
  const std::string dial = fmt::format("dial tcp {}: {}", target_of(action), cause);
  const std::string_view type = action["type"].as_string();
  if (type == "http") {
    return {.message = fmt::format("Get \"{}\": {}", url_of(action), dial)};
  }
  if (type == "grpc") {
    return {.message = fmt::format("timeout: failed to connect service \"{}\" within {}s: {}",
                                   target_of(action), action["timeoutSeconds"].as_int(1), dial)};
  }
  return {.message = dial};
}

ProbeAnswer too_late(const Check& check) {
  if (check.id != 0) {
    return {.message = fmt::format("command timed out: \"{}\" timed out after {}s",
                                   words_in(check.action["command"]),
                                   check.action["timeoutSeconds"].as_int(1))};
  }
  const std::string_view type = check.action["type"].as_string();
  if (type == "http") {
    return {.message = fmt::format("Get \"{}\": context deadline exceeded (Client.Timeout exceeded "
                                   "while awaiting headers)",
                                   url_of(check.action))};
  }
  if (type == "grpc") {
    return {.message = fmt::format("timeout: health rpc did not complete within {}s",
                                   check.action["timeoutSeconds"].as_int(1))};
  }
  return {.message = fmt::format("dial tcp {}: i/o timeout", target_of(check.action))};
}

// The port at which the target of an action is reached on this machine.
std::uint16_t port_of(const Value& action) {
  return reachable({.ip = ip_of(action["host"].as_string()).value_or(0),
                    .port = static_cast<std::uint16_t>(action["port"].as_int())})
      .port;
}

// Begins to connect; -1 and what went wrong.
int dial(const SocketAddress& address, std::string& problem) {
  const int file = ::socket(address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (file < 0 || (::connect(file, reinterpret_cast<const sockaddr*>(address.bytes.data()),
                             static_cast<socklen_t>(address.bytes.size())) != 0 &&
                   errno != EINPROGRESS)) {
    problem = cause_of(errno);
  }
  if (!problem.empty() && file >= 0) {
    ::close(file);
  }
  return problem.empty() ? file : -1;
}

}  // namespace

class CheckLoop::Impl {
 public:
  explicit Impl(NameLookup::Resolve resolve)
      : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), lookup_(std::move(resolve)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    thread_.request_stop();
    wake();
    thread_.join();
    lookup_.reset();  // no answer writes to wake_ any more
    for (const std::vector<Check>* list : {&checks_, &fresh_}) {
      for (const Check& check : *list) {
        if (check.file >= 0) {
          ::close(check.file);
        }
      }
    }
    ::close(wake_);
  }

  void add(Check check, Duration timeout) {
    if (timeout > Duration::zero()) {
      check.deadline = Steady::now() + timeout;
    }
    {
      const MutexLock lock(mutex_);
      fresh_.push_back(std::move(check));
    }
    wake();
  }

  void ended(std::int64_t id, int code) {
    {
      const MutexLock lock(mutex_);
      codes_[id] = code;
    }
    wake();
  }

 private:
  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_, &one, sizeof one));
  }

  void loop(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      take_fresh();
      std::vector<pollfd> polled{{wake_, POLLIN, 0}};
      for (const Check& check : checks_) {
        const bool writes = check.id == 0 && (!check.connected || !check.send.empty());
        polled.push_back({check.file, static_cast<short>(writes ? POLLOUT : POLLIN), 0});
      }
      ::poll(polled.data(), polled.size(), poll_timeout());
      std::uint64_t count = 0;
      static_cast<void>(::read(wake_, &count, sizeof count));
      take_codes();
      take_addresses();
      const Steady::time_point now = Steady::now();
      for (std::size_t i = 0; i < checks_.size(); ++i) {
        turn(checks_[i], polled[i + 1].revents, now);
      }
      std::erase_if(checks_, [](const Check& check) { return !check.done; });
    }
  }

  void take_fresh() {
    std::vector<Check> fresh;
    {
      const MutexLock lock(mutex_);
      fresh.swap(fresh_);
    }
    for (Check& check : fresh) {
      if (check.id == 0) {
        begin(check);
      }
      if (check.done) {
        checks_.push_back(std::move(check));
      }
    }
  }

  // Of commands that are known; a code that comes before its command waits for it.
  void take_codes() {
    const MutexLock lock(mutex_);
    for (Check& check : checks_) {
      const auto found = check.id == 0 ? codes_.end() : codes_.find(check.id);
      if (found != codes_.end()) {
        check.code = found->second;
        codes_.erase(found);
      }
    }
  }

  [[nodiscard]] int poll_timeout() const {
    constexpr std::int64_t kLongest = 60'000;
    std::int64_t timeout = kLongest;
    const Steady::time_point now = Steady::now();
    for (const Check& check : checks_) {
      if (check.deadline) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(*check.deadline - now).count() +
            1;
        timeout = std::clamp<std::int64_t>(left, 0, timeout);
      }
    }
    return static_cast<int>(timeout);
  }

  static void finish(Check& check, ProbeAnswer answer) {
    if (check.file >= 0) {
      ::close(std::exchange(check.file, -1));
    }
    const Done done = std::exchange(check.done, nullptr);
    done(std::move(answer));
  }

  // Answers of lookups; a check whose time is over is gone.
  void take_addresses() {
    std::map<std::int64_t, Result<SocketAddress>> addresses;
    {
      const MutexLock lock(mutex_);
      addresses.swap(addresses_);
    }
    for (auto& [lookup, address] : addresses) {
      const auto at = std::ranges::find(checks_, lookup, &Check::lookup);
      if (at != checks_.end() && at->done) {
        at->lookup = 0;
        connect(*at, address);
      }
    }
  }

  void begin(Check& check) {
    if (check.action["type"].as_string() == "error") {
      return finish(check, {.errored = true, .message = check.action["message"].str()});
    }
    const std::string host = check.action["host"].str();
    const std::uint16_t port = port_of(check.action);
    if (const auto address = numeric_address(host, port); address.ok()) {
      return connect(check, address);
    }
    check.lookup = ++lookups_;
    lookup_->ask(host, port, [this, lookup = check.lookup](Result<SocketAddress> address) {
      {
        const MutexLock lock(mutex_);
        addresses_.emplace(lookup, std::move(address));
      }
      wake();
    });
  }

  static void connect(Check& check, const Result<SocketAddress>& address) {
    std::string problem;
    if (address.ok()) {
      check.file = dial(*address, problem);
    } else {
      problem = address.error().message;
    }
    if (check.file < 0) {
      return finish(check, not_connected(check.action, problem));
    }
    check.exchange = make_exchange(check.action);
    if (check.exchange) {
      check.send = check.exchange->begin();
    }
  }

  void turn(Check& check, short ready, Steady::time_point now) {
    if (check.id != 0) {
      turn_command(check, ready, now);
    } else if (ready != 0 && check.lookup == 0) {
      turn_connection(check);
    }
    if (check.done && check.id == 0 && check.deadline && *check.deadline <= now) {
      finish(check, too_late(check));
    }
  }

  void turn_connection(Check& check) {
    if (!check.connected) {
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(check.file, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) {
        return finish(check, not_connected(check.action, cause_of(error)));
      }
      check.connected = true;
      if (!check.exchange) {
        return finish(check, {.success = true});
      }
    }
    if (!check.send.empty()) {
      const ssize_t count = ::send(check.file, check.send.data(), check.send.size(), MSG_NOSIGNAL);
      if (count > 0) {
        check.send.erase(0, static_cast<std::size_t>(count));
      } else if (errno != EAGAIN && errno != EINTR) {
        return finish(check, not_connected(check.action, cause_of(errno)));
      }
      return;
    }
    char chunk[16384];
    const ssize_t count = ::read(check.file, chunk, sizeof chunk);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    const bool closed = count <= 0 || check.received.size() > kMostReceived;
    if (count > 0) {
      check.received.append(chunk, static_cast<std::size_t>(count));
    }
    auto taken = check.exchange->take(check.received, closed, check.send);
    if (taken && taken->next.is_object()) {
      return go_on_elsewhere(check, std::move(taken->next));
    }
    if (taken) {
      finish(check, std::move(taken->answer));
    }
  }

  // Asks the address of a redirect; the deadline stays.
  void go_on_elsewhere(Check& check, Value action) {
    ::close(std::exchange(check.file, -1));
    check.action = std::move(action);
    check.connected = false;
    check.send.clear();
    check.received.clear();
    begin(check);
  }

  static void turn_command(Check& check, short ready, Steady::time_point now) {
    if (ready != 0 || check.code) {
      read_output(check);
    }
    if (check.code) {
      if (check.timed_out) {
        return finish(check, too_late(check));
      }
      const int code = *check.code;
      const bool cannot = code == kNotExecutable || code == kMissing;
      return finish(check, {.success = code == 0,
                            .errored = cannot && check.received.starts_with("athanor: "),
                            .message = std::move(check.received)});
    }
    if (check.deadline && *check.deadline <= now && !check.timed_out) {
      check.timed_out = true;
      check.deadline.reset();
      check.kill();
    }
  }

  // All that is there, of which the beginning is kept.
  static void read_output(Check& check) {
    char chunk[4096];
    constexpr int kReads = 16;
    for (int i = 0; i < kReads && check.file >= 0; ++i) {
      const ssize_t count = ::read(check.file, chunk, sizeof chunk);
      if (count > 0) {
        const std::size_t room = kMostOutput - std::min(kMostOutput, check.received.size());
        check.received.append(chunk, std::min(static_cast<std::size_t>(count), room));
      } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        ::close(std::exchange(check.file, -1));
      } else {
        return;
      }
    }
  }

  int wake_;
  Mutex mutex_{};
  std::vector<Check> fresh_ ATHANOR_GUARDED_BY(mutex_){};
  std::map<std::int64_t, int> codes_ ATHANOR_GUARDED_BY(mutex_){};  // of commands that ended
  std::map<std::int64_t, Result<SocketAddress>> addresses_ ATHANOR_GUARDED_BY(mutex_){};
  std::vector<Check> checks_{};  // of the thread
  std::int64_t lookups_ = 0;     // of the thread
  std::optional<NameLookup> lookup_;
  std::jthread thread_{};
};

CheckLoop::CheckLoop(NameLookup::Resolve resolve)
    : impl_(std::make_unique<Impl>(std::move(resolve))) {}
CheckLoop::~CheckLoop() = default;

void CheckLoop::ask(const Value& action, Duration timeout, Done done) {
  Check check{.action = action};
  check.done = std::move(done);
  impl_->add(std::move(check), timeout);
}

void CheckLoop::watch(std::int64_t id, int output, Duration timeout, const Value& action, Done done,
                      std::function<void()> kill) {
  ::fcntl(output, F_SETFL, O_NONBLOCK);
  Check check{.id = id, .file = output, .action = action};
  check.done = std::move(done);
  check.kill = std::move(kill);
  impl_->add(std::move(check), timeout);
}

void CheckLoop::ended(std::int64_t id, int code) {
  impl_->ended(id, code);
}

}  // namespace athanor::nodes
