// SPDX-License-Identifier: Apache-2.0
// A small server's connections under clients that aim at the server itself.
#include "net/served_connection.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "base/check.hpp"
#include "base/contain.hpp"
#include "net/acceptor.hpp"
#include "net/listen.hpp"
#include "net/pki.hpp"
#include "support/net/tls_client.hpp"

namespace athanor::net::served_connection_test {
namespace {

using std::chrono::seconds;

// Answers with the body's size; breaks at /broken.
class SmallServer {
 public:
  explicit SmallServer(const ServedLimits& limits) : world_{.limits = limits} {
    std::string name = ::testing::TempDir() + "athanor-served-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    const Pki pki = *ensure_pki({.directory = directory_ + "/pki", .now = clock_->now()});
    world_.clock = clock_.get();
    context_ = std::make_shared<const TlsContext>(
        *TlsContext::create(pki.server_certificate, pki.server_key, "", /*http2=*/false));
    const int socket = *listen_on("127.0.0.1", 0);
    port = port_of(socket);
    acceptor_ =
        std::make_unique<Acceptor>(world_.loop, socket, [this](int client) { adopt(client); });
    thread_ = std::thread([this] {
      acceptor_->start();
      world_.loop.run();
    });
  }
  SmallServer(const SmallServer&) = delete;
  SmallServer& operator=(const SmallServer&) = delete;
  ~SmallServer() {
    world_.loop.stop();
    thread_.join();
    for (const auto& connection : std::exchange(connections_, {})) {
      connection->close();
    }
    acceptor_->close();
    world_.loop.close();
    std::filesystem::remove_all(directory_);
  }

  int port = 0;

 private:
  void adopt(int socket) {
    auto connection = std::make_shared<ServedConnection>(
        world_, context_, socket,
        [](const net::Request& request, const ServedConnection::Answer& answer) {
          ATHANOR_CHECK(request.path != "/broken", "a test breaks it");
          net::Response response;
          response.body = std::to_string(std::get<std::string>(request.body).size());
          answer(std::move(response), {});
        },
        [this](const std::shared_ptr<ServedConnection>& self) { connections_.erase(self); });
    connections_.insert(connection);
    connection->start();
  }

  std::unique_ptr<Clock> clock_ = wall_clock();
  std::string directory_{};
  ServedWorld world_;
  std::shared_ptr<const TlsContext> context_{};
  std::set<std::shared_ptr<ServedConnection>> connections_{};
  std::unique_ptr<Acceptor> acceptor_{};
  std::thread thread_{};
};

TEST(ServedConnection, EmptyLinesDelayNoOtherClient) {
  SmallServer server({});
  TlsClient quiet(server.port);
  ASSERT_EQ(quiet.get("/").body, "0");
  TlsClient hostile(server.port);
  std::string lines;
  for (int i = 0; i < 8192; ++i) {
    lines += "\r\n";
  }
  std::atomic<bool> over = false;
  std::thread flood([&] {
    while (!over && hostile.send(lines)) {
    }
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(quiet.get("/").body, "0");
  EXPECT_EQ(TlsClient(server.port).get("/").body, "0");
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(5));
  over = true;
  flood.join();
}

TEST(ServedConnection, UnfinishedRequestsAreBoundedTogether) {
  SmallServer server({.requests = 1'500'000});
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
  TlsClient first(server.port);
  ASSERT_TRUE(first.send(head + std::string(900'000, 'x')));
  int status = 0;
  for (int i = 0; i < 50 && status != 429; ++i) {
    TlsClient second(server.port);
    if (second.send(head + std::string(900'000, 'x'))) {
      status = second.readable_within(std::chrono::milliseconds(500))
                   ? second.read_response().status
                   : 0;
    }
  }
  EXPECT_EQ(status, 429);
  ASSERT_TRUE(first.send(std::string(100'000, 'x')));
  EXPECT_EQ(first.read_response().body, "1000000");
  ASSERT_TRUE(first.send(head + std::string(1'000'000, 'x')));
  EXPECT_EQ(first.read_response().body, "1000000") << "what was answered is held no more";
}

TEST(ServedConnection, ABrokenInvariantCostsTheConnection) {
  set_broken_invariants_fatal(false);
  {
    SmallServer server({});
    TlsClient quiet(server.port);
    ASSERT_EQ(quiet.get("/").body, "0");
    EXPECT_EQ(TlsClient(server.port).get("/broken").status, 0);
    EXPECT_EQ(quiet.get("/").body, "0");
  }
  set_broken_invariants_fatal(true);
}

}  // namespace
}  // namespace athanor::net::served_connection_test
