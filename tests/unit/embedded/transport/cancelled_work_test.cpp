// SPDX-License-Identifier: Apache-2.0
// Requests under way whose client leaves, or whose server ends.
#include <atomic>
#include <chrono>

#include "base/cancellation.hpp"
#include "unit/embedded/transport/https_fixture.hpp"

namespace athanor::transport::cancelled_work_test {
namespace {

using Reason = Cancellation::Reason;

// A request whose work would never end by itself.
class Endless {
 public:
  net::Response operator()(const net::Request& /*request*/) {
    begun.set_value();
    try {
      while (true) {
        give_up_if_cancelled();
      }
    } catch (const Cancelled& cancelled) {
      reason.set_value(cancelled.reason());
      return FakeServer::text("late");
    }
  }
  std::promise<void> begun{};
  std::promise<Reason> reason{};
};

constexpr auto kPatience = std::chrono::seconds(60);

TEST_F(HttpsTest, WorkForAClientThatLeftEnds) {
  Endless work;
  api.on("/endless", [&work](const net::Request& request) { return work(request); });
  start();
  auto reason = work.reason.get_future();
  {
    net::TlsClient client(port);
    ASSERT_TRUE(client.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n"));
    ASSERT_EQ(work.begun.get_future().wait_for(kPatience), std::future_status::ready);
    EXPECT_EQ(reason.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout)
        << "its client waits";
  }
  ASSERT_EQ(reason.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(reason.get(), Reason::Gone);
  net::TlsClient other(port);
  EXPECT_EQ(other.get("/after").status, 200);
}

TEST_F(HttpsTest, WorkEndsWithTheServer) {
  Endless work;
  api.on("/endless", [&work](const net::Request& request) { return work(request); });
  start();
  net::TlsClient client(port);
  ASSERT_TRUE(client.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_EQ(work.begun.get_future().wait_for(kPatience), std::future_status::ready);
  server->stop(std::chrono::milliseconds(50));
  auto reason = work.reason.get_future();
  ASSERT_EQ(reason.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_EQ(reason.get(), Reason::Ending);
}

}  // namespace
}  // namespace athanor::transport::cancelled_work_test
