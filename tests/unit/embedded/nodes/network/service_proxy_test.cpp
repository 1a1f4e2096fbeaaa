// SPDX-License-Identifier: Apache-2.0
// Connections of this machine to ports of Services.
#include "embedded/nodes/network/service_proxy.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

namespace athanor::nodes::service_proxy_test {
namespace {

std::uint16_t free_port() {
  const auto socket = open_socket({.ip = kLoopback, .port = 0}, Protocol::Tcp);
  return bound_address(socket->get()).port;
}

// Returns a table with one node port.
ServiceTablePtr table_of(std::uint16_t node_port, std::vector<Address> endpoints) {
  ServiceTable table;
  table.ports.push_back(
      {.service = "ns/s", .node_port = node_port, .endpoints = std::move(endpoints)});
  table.by_node_port.emplace(std::pair(node_port, Protocol::Tcp), 0);
  return std::make_shared<const ServiceTable>(std::move(table));
}

class ServiceProxyTest : public testing::Test {
 protected:
  ServiceProxyTest() : node_port_(free_port()) {
    table_ = table_of(node_port_, {});
    proxy_.follow();
    thread_ = std::jthread([this] { loop_.run(); });
  }
  ~ServiceProxyTest() override {
    loop_.stop();
    thread_.join();
  }

  // Connects to the node port and waits until the connection ends or `server` is asked.
  bool reaches(const Descriptor& server) {
    const auto client = open_connection({.ip = kLoopback, .port = node_port_});
    pollfd asked{.fd = server.get(), .events = POLLIN, .revents = 0};
    constexpr int kWaitMs = 300;
    return client.ok() && ::poll(&asked, 1, kWaitMs) == 1;
  }

  std::uint16_t node_port_;
  std::atomic<ServiceTablePtr> table_;
  PollLoop loop_;
  ServiceChoice choice_;
  ServiceProxy proxy_{loop_, choice_, [this] { return table_.load(); }, [](const PortProblem&) {}};
  std::jthread thread_;
};

TEST_F(ServiceProxyTest, AsksTheNewestTableForEachConnection) {
  const auto server = open_socket({.ip = kLoopback, .port = 0}, Protocol::Tcp);
  ASSERT_TRUE(server.ok());
  EXPECT_FALSE(reaches(*server));
  table_ = table_of(node_port_, {bound_address(server->get())});
  EXPECT_TRUE(reaches(*server));
}

TEST(ServiceProxy, ReportsEachUnservedPortOnce) {
  const auto taken = open_socket({.ip = kLoopback, .port = 0}, Protocol::Tcp);
  ASSERT_TRUE(taken.ok());
  const std::uint16_t port = bound_address(taken->get()).port;
  ServiceTable table = *table_of(port, {});
  table.problems.push_back({.owner = "pod ns/p", .text = "no"});
  const auto shared = std::make_shared<const ServiceTable>(std::move(table));
  std::vector<PortProblem> reported;
  PollLoop loop;
  ServiceChoice choice;
  ServiceProxy proxy(
      loop, choice, [&] { return shared; },
      [&](const PortProblem& problem) { reported.push_back(problem); });
  proxy.follow();
  proxy.follow();
  ASSERT_EQ(reported.size(), 2U);
  EXPECT_EQ(reported[0].owner, "ns/s");
  EXPECT_TRUE(reported[0].text.starts_with("Port " + std::to_string(port) +
                                           " of this machine is not open: "))
      << reported[0].text;
  EXPECT_EQ(reported[1].text, "no");
}

}  // namespace
}  // namespace athanor::nodes::service_proxy_test
