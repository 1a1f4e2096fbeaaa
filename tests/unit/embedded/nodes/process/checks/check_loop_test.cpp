// SPDX-License-Identifier: Apache-2.0
// Checks of hosts by name, with a name server of the test.
#include "embedded/nodes/process/checks/check_loop.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

namespace athanor::nodes::check_loop_test {
namespace {

using namespace std::chrono_literals;

// A socket that listens at a port of the loopback device.
class Listener {
 public:
  Listener() : file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(file_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(file_, 4), 0);
    socklen_t size = sizeof address;
    ::getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() { ::close(file_); }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  int file_;
  std::uint16_t port_ = 0;
};

std::future<ProbeAnswer> ask(CheckLoop& loop, const std::string& host, std::uint16_t port,
                             Duration timeout) {
  auto answer = std::make_shared<std::promise<ProbeAnswer>>();
  loop.ask(Value::object({{"type", "tcp"}, {"host", host}, {"port", std::int64_t{port}}}), timeout,
           [answer](ProbeAnswer given) { answer->set_value(std::move(given)); });
  return answer->get_future();
}

TEST(CheckLoop, ConnectsToNamedHost) {
  const Listener listener;
  CheckLoop loop(
      [](const std::string&, std::uint16_t port) { return numeric_address("127.0.0.1", port); });
  EXPECT_TRUE(ask(loop, "peer.example", listener.port(), 10s).get().success);
}

TEST(CheckLoop, ReportsUnknownName) {
  CheckLoop loop([](const std::string& host, std::uint16_t) -> Result<SocketAddress> {
    return Error::not_found("lookup " + host + ": no such host");
  });
  const ProbeAnswer answer = ask(loop, "nowhere.example", 80, 10s).get();
  EXPECT_FALSE(answer.success);
  EXPECT_EQ(answer.message, "dial tcp nowhere.example:80: lookup nowhere.example: no such host");
}

TEST(CheckLoop, AnswersOthersBesideSlowName) {
  const Listener listener;
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  CheckLoop loop([ended](const std::string&, std::uint16_t port) {
    ended.wait();
    return numeric_address("127.0.0.1", port);
  });
  std::future<ProbeAnswer> slow = ask(loop, "slow.example", listener.port(), 300ms);
  EXPECT_TRUE(ask(loop, "127.0.0.1", listener.port(), 10s).get().success);
  EXPECT_EQ(slow.get().message,
            "dial tcp slow.example:" + std::to_string(listener.port()) + ": i/o timeout");
  end.set_value();
}

TEST(NameLookup, BoundsWaitingLookups) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  NameLookup lookup([ended](const std::string& host, std::uint16_t) -> Result<SocketAddress> {
    ended.wait();
    return Error::not_found(host);
  });
  for (int i = 0; i < NameLookup::kMostLookups; ++i) {
    lookup.ask("slow.example", 80, [](const Result<SocketAddress>&) {});
  }
  std::string problem;
  lookup.ask("one.more", 80,
             [&](const Result<SocketAddress>& address) { problem = address.error().message; });
  EXPECT_EQ(problem, "lookup one.more: 16 others wait for answers");
  end.set_value();
}

}  // namespace
}  // namespace athanor::nodes::check_loop_test
