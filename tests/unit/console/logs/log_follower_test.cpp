// SPDX-License-Identifier: Apache-2.0
// Streams of followed logs: a silent one stays open, and a server that goes away is told from an
// end.
#include "console/logs/log_follower.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "net/serving/small_server.hpp"
#include "support/eventually.hpp"
#include "unit/client/script_server.hpp"

namespace athanor::console::log_follower_test {
namespace {

using client::ScriptServer;

// The log of a container that writes what the test says.
struct Log {
  Mutex mutex{};
  std::string text ATHANOR_GUARDED_BY(mutex){};
  std::function<void()> wake ATHANOR_GUARDED_BY(mutex){};

  void write(const std::string& lines) {
    const MutexLock lock(mutex);
    text += lines;
    if (wake) {
      wake();
    }
  }
};

class LogBody final : public net::Stream {
 public:
  explicit LogBody(std::shared_ptr<Log> log) : log_(std::move(log)) {}
  LogBody(const LogBody&) = delete;
  LogBody& operator=(const LogBody&) = delete;
  ~LogBody() override { on_ready({}); }
  State pull(std::string& out) override {
    const MutexLock lock(log_->mutex);
    out += std::exchange(log_->text, {});
    return State::Open;
  }
  void on_ready(std::function<void()> wake) override {
    const MutexLock lock(log_->mutex);
    log_->wake = std::move(wake);
  }

 private:
  std::shared_ptr<Log> log_;
};

// Reads a stream until it has a text; returns all that came.
std::string read_until(net::Stream& stream, const std::string& mark) {
  std::string all;
  EXPECT_TRUE(test::eventually([&] {
    const bool open = stream.pull(all) == net::Stream::State::Open;
    return all.find(mark) != std::string::npos || !open;
  })) << all;
  return all;
}

// Two hours of silence have 480 heartbeats; here they come every 5 ms instead of every 15 s.
TEST(LogFollower, KeepsSilentStreamOpenForTwoHours) {
  constexpr int kHeartbeats = 2 * 60 * 60 / 15;
  const auto clock = wall_clock();
  const auto log = std::make_shared<Log>();
  std::atomic<int> opened{0};
  auto server = net::SmallServer::start(
      {.address = "127.0.0.1:0",
       .handle =
           [&](const net::Request& /*request*/, const net::SmallServerOptions::Reply& reply) {
             ++opened;
             reply([log] {
               net::Response response;
               response.stream = std::make_unique<LogBody>(log);
               return response;
             });
           },
       .clock = clock.get()});
  ASSERT_TRUE(server.ok());
  LogFollower follower(
      {.server = "http://" + (*server)->address()},
      {.beat = std::chrono::milliseconds(5), .look = std::chrono::milliseconds(5)});
  auto followed = follower.follow({}, {.logs = {{.path = "/log"}}});
  ASSERT_TRUE(followed.ok());
  net::Stream& stream = **followed;
  log->write("2026-01-31T08:00:00.000000001Z begun\n");
  read_until(stream, "begun");
  int heartbeats = 0;
  EXPECT_TRUE(test::eventually([&] {
    std::string out;
    EXPECT_EQ(stream.pull(out), net::Stream::State::Open);
    EXPECT_EQ(out.find("event:"), std::string::npos) << out;
    heartbeats += out == ": heartbeat\n\n" ? 1 : 0;
    return heartbeats >= kHeartbeats;
  }));
  log->write("2026-01-31T10:00:00.000000002Z goes on\n");
  const std::string rest = read_until(stream, "goes on");
  EXPECT_NE(rest.find("\"n\":2"), std::string::npos) << "nothing was lost or came twice: " << rest;
  EXPECT_EQ(opened, 1) << "the log was never opened anew";
}

// A server or proxy closes a connection that is silent for its limit.
TEST(LogFollower, BeatsMoreOftenThanServersClose) {
  EXPECT_LT(2 * LogPace().beat, net::ServedLimits().answer);
  EXPECT_LT(2 * LogPace().beat, net::ServedLimits().stall);
}

std::string end_of(ScriptServer::Reply reply) {
  ScriptServer server([&](const auto&) { return reply; });
  LogFollower follower({.server = server.url()}, {.look = std::chrono::milliseconds(5)});
  auto followed = follower.follow({}, {.logs = {{.path = "/log"}}});
  EXPECT_TRUE(followed.ok());
  return read_until(**followed, "event: end");
}

TEST(LogFollower, DistinguishesBrokenConnectionsFromEnds) {
  using Then = ScriptServer::Reply::Then;
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string whole = end_of({.bytes = head + "3\r\na b\r\n0\r\n\r\n", .then = Then::Close});
  EXPECT_EQ(whole.find("again"), std::string::npos) << whole;
  const std::string broken = end_of({.bytes = head + "3\r\na b\r\n", .then = Then::Close});
  EXPECT_NE(broken.find("\"again\":true"), std::string::npos) << broken;
  const std::string absent =
      end_of({.bytes = ScriptServer::json(R"({"kind":"Status","code":404,"message":"gone"})",
                                          "404 Not Found"),
              .then = Then::Close});
  EXPECT_NE(absent.find("gone"), std::string::npos) << absent;
  EXPECT_EQ(absent.find("again"), std::string::npos) << absent;
}

}  // namespace
}  // namespace athanor::console::log_follower_test
