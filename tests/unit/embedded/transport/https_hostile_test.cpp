// SPDX-License-Identifier: Apache-2.0
// Clients that aim at the server itself: one of them costs itself, others are answered meanwhile,
// and what is held for it is bounded.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "base/check.hpp"
#include "base/contain.hpp"
#include "unit/embedded/transport/https_fixture.hpp"

namespace athanor::transport::https_hostile_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// Sends on a thread of its own until it may not, or the test has seen enough.
class Flood {
 public:
  explicit Flood(std::function<bool()> piece)
      : thread_([this, piece = std::move(piece)] {
          while (!over_ && piece()) {
            ++pieces_;
          }
          ended_ = true;
        }) {}
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;
  ~Flood() { end(); }

  void end() {
    over_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  void wait_for(int pieces) const {
    while (pieces_ < pieces && !ended_) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  // The server ended it.
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  std::atomic<bool> over_ = false;
  std::atomic<bool> ended_ = false;
  std::atomic<int> pieces_ = 0;
  std::thread thread_;
};

class HostileTest : public HttpsTest {
 protected:
  // A quiet client is answered, on a connection of before and on a new one.
  void expect_others_served(net::TlsClient& known) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(known.get("/quiet").status, 200);
    EXPECT_EQ(net::TlsClient(port).get("/quiet").status, 200);
    EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(5));
  }
};

TEST_F(HostileTest, EmptyLinesAreNoRequest) {
  start();
  net::TlsClient quiet(port);
  ASSERT_EQ(quiet.get("/").status, 200);
  net::TlsClient hostile(port);
  std::string lines;
  for (int i = 0; i < 8192; ++i) {
    lines += "\r\n";
  }
  Flood flood([&] { return hostile.send(lines); });
  flood.wait_for(20);
  expect_others_served(quiet);
  flood.end();
  net::TlsClient again(port);
  ASSERT_TRUE(again.send(lines));
  EXPECT_EQ(again.read_response().status, 400);
}

TEST_F(HostileTest, TinyPiecesDelayNoOtherClient) {
  start();
  net::TlsClient quiet(port);
  ASSERT_EQ(quiet.get("/").status, 200);
  net::TlsClient hostile(port);
  ASSERT_TRUE(hostile.send("GET / HTTP/1.1\r\nHost: a\r\nx: "));
  Flood flood([&] { return hostile.send("x"); });
  flood.wait_for(1000);
  expect_others_served(quiet);
}

TEST_F(HostileTest, EndlessKeyUpdatesEndTheConnection) {
  start();
  net::TlsClient quiet(port);
  net::TlsClient hostile(port);
  ASSERT_EQ(hostile.get("/").status, 200);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(hostile.update_key());
  }
  EXPECT_EQ(hostile.get("/").status, 200) << "a few are fine";
  bool fine = true;
  for (int i = 0; i < 100'000 && fine; ++i) {
    fine = hostile.update_key();
  }
  EXPECT_FALSE(fine);
  expect_others_served(quiet);
}

// A tunnel that takes its time for whatever comes, and never has enough.
class SlowTunnel final : public net::Tunnel {
 public:
  void feed(std::string_view /*bytes*/) override { std::this_thread::sleep_for(milliseconds(1)); }
  [[nodiscard]] bool wants_more() const override { return true; }
  State pull(std::string& /*out*/) override { return State::Open; }
  void on_ready(std::function<void()> /*wake*/) override {}
};

FakeServer::Handler tunnelling(const std::function<std::unique_ptr<net::Tunnel>()>& make) {
  return [make](const net::Request&) {
    net::Response response;
    response.status = 101;
    response.headers = {{"Connection", "Upgrade"}, {"Upgrade", "own"}};
    response.tunnel = make();
    return response;
  };
}

constexpr const char* kTunnel =
    "GET /tunnel HTTP/1.1\r\nHost: a\r\nUpgrade: own\r\nConnection: Upgrade\r\n\r\n";

TEST_F(HostileTest, ManyBusyTunnelsLetOthersBetween) {
  api.on("/tunnel", tunnelling([] { return std::make_unique<SlowTunnel>(); }));
  start();
  net::TlsClient quiet(port);
  ASSERT_EQ(quiet.get("/").status, 200);
  std::vector<std::unique_ptr<net::TlsClient>> clients;
  std::vector<std::unique_ptr<Flood>> floods;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<net::TlsClient>(port));
    ASSERT_TRUE(clients.back()->send(kTunnel));
    ASSERT_EQ(clients.back()->read_head().status, 101);
    floods.push_back(std::make_unique<Flood>(
        [client = clients.back().get()] { return client->send(std::string(100, 'x')); }));
  }
  for (const auto& flood : floods) {
    flood->wait_for(100);
  }
  expect_others_served(quiet);
  server->stop(milliseconds(0));  // while they send
}

// A tunnel that answers each byte with many, as long as it has no answer that waits.
class LoudTunnel final : public net::Tunnel {
 public:
  explicit LoudTunnel(std::shared_ptr<std::atomic<std::size_t>> most) : most_(std::move(most)) {}
  void feed(std::string_view bytes) override {
    answers_ += std::string(bytes.size() * 10, 'y');
    *most_ = std::max(most_->load(), answers_.size());
  }
  [[nodiscard]] bool wants_more() const override { return answers_.size() < 100'000; }
  State pull(std::string& out) override {
    out += std::exchange(answers_, {});
    return State::Open;
  }
  void on_ready(std::function<void()> /*wake*/) override {}

 private:
  std::shared_ptr<std::atomic<std::size_t>> most_;
  std::string answers_{};
};

TEST_F(HostileTest, ResumesTunnelOnceAnswersAreRead) {
  const auto most = std::make_shared<std::atomic<std::size_t>>(0);
  api.on("/tunnel", tunnelling([most] { return std::make_unique<LoudTunnel>(most); }));
  start();
  net::TlsClient client(port, {.receive_buffer = 8192});
  ASSERT_TRUE(client.send(kTunnel));
  ASSERT_EQ(client.read_head().status, 101);
  // More than the tunnel takes before its answers are gone; the sockets hold the rest.
  constexpr std::size_t kSent = 300'000;
  ASSERT_TRUE(client.send(std::string(kSent, 'x')));
  EXPECT_EQ(client.skip(kSent * 10), kSent * 10);
  EXPECT_LT(most->load(), 400'000U);
}

TEST_F(HostileTest, ReadsBodiesOfAuthorizedClientsOnly) {
  std::promise<std::string> seen;
  api.refuse("/secret");
  api.on("/secret", [&seen](const net::Request& request) {
    seen.set_value(std::get<std::string>(request.body) + (request.without_body ? "none" : ""));
    net::Response response;
    response.status = 401;
    response.body = "who are you";
    return response;
  });
  start();
  const std::string head = " HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n";
  net::TlsClient stranger(port);
  ASSERT_TRUE(stranger.send("POST /secret" + head));
  // Answered without the body.
  auto answer = stranger.read_response();
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.body, "who are you");
  EXPECT_EQ(answer.headers["connection"], "close");
  EXPECT_EQ(seen.get_future().get(), "none");
  // One that sends all the same gets its answer, too.
  api.on("/secret", [](const net::Request&) {
    net::Response response;
    response.status = 401;
    return response;
  });
  net::TlsClient stubborn(port);
  ASSERT_TRUE(stubborn.send("POST /secret" + head + std::string(200'000, 'x')));
  EXPECT_EQ(stubborn.read_response().status, 401);
  // Others are not asked twice, whatever the framing.
  net::TlsClient known(port);
  const std::string body(300'000, 'x');
  ASSERT_TRUE(known.send("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n" + body));
  EXPECT_EQ(known.read_response().body, "POST /p [" + body + "]");
  ASSERT_TRUE(
      known.send("POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "493e0\r\n" +
                 body + "\r\n0\r\n\r\n"));
  EXPECT_EQ(known.read_response().body, "POST /p [" + body + "]");
  ASSERT_TRUE(
      known.send("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n"
                 "Expect: 100-continue\r\n\r\n"));
  EXPECT_EQ(known.read_response().status, 100);
  ASSERT_TRUE(known.send(body));
  EXPECT_EQ(known.read_response().body, "POST /p [" + body + "]");
}

TEST_F(HostileTest, UnansweredBodiesOfAUserAreBounded) {
  options.requests_each = 3'000'000;
  start();
  const std::string head =
      "POST /p HTTP/1.1\r\nHost: a\r\nAuthorization: bob\r\nContent-Length: 2000000\r\n\r\n";
  net::TlsClient first(port);
  ASSERT_TRUE(first.send(head + std::string(100'000, 'x')));
  // The second waits for the first to be screened.
  int status = 0;
  for (int i = 0; i < 100 && status != 429; ++i) {
    net::TlsClient second(port);
    ASSERT_TRUE(second.send(head));
    std::this_thread::sleep_for(milliseconds(20));
    ASSERT_TRUE(second.send(std::string(100, 'x')));
    if (second.readable_within(milliseconds(200))) {
      status = second.read_response().status;
    }
  }
  EXPECT_EQ(status, 429);
  ASSERT_TRUE(first.send(std::string(1'900'000, 'x')));
  EXPECT_EQ(first.read_response().status, 200);
  net::TlsClient third(port);
  ASSERT_TRUE(third.send(head + std::string(2'000'000, 'x')));
  EXPECT_EQ(third.read_response().status, 200) << "what was answered is held no more";
}

TEST_F(HostileTest, BoundsUnreadAnswers) {
  constexpr std::size_t kLarge = 8'000'000;
  api.on("/list", [](const net::Request&) { return FakeServer::text(std::string(kLarge, 'x')); });
  options.unread_each = 2 * kLarge;
  start();
  const auto ask = [](const std::string& method, const std::string& user) {
    return method + " /list HTTP/1.1\r\nHost: a\r\nAuthorization: " + user + "\r\n\r\n";
  };
  std::vector<std::unique_ptr<net::TlsClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(
        std::make_unique<net::TlsClient>(port, net::ClientOptions{.receive_buffer = 8192}));
    ASSERT_TRUE(clients.back()->send(ask("GET", "bob")));
    ASSERT_TRUE(clients.back()->readable_within(seconds(20)));
  }
  std::map<int, int> statuses;
  // Somebody else, and whoever wrote, is answered.
  net::TlsClient other(port);
  ASSERT_TRUE(other.send(ask("GET", "alice")));
  EXPECT_EQ(other.read_response().body.size(), kLarge);
  net::TlsClient writer(port);
  ASSERT_TRUE(writer.send(ask("POST", "bob")));
  EXPECT_EQ(writer.read_response().body.size(), kLarge);
  for (const auto& client : clients) {
    ++statuses[client->read_response().status];
  }
  EXPECT_GE(statuses[200], 2);
  EXPECT_GE(statuses[429], 2);
  net::TlsClient again(port);
  ASSERT_TRUE(again.send(ask("GET", "bob")));
  EXPECT_EQ(again.read_response().status, 200) << "what was read is held no more";
}

// Watches that nobody reads: those above the user's share end.
TEST_F(HostileTest, BoundsUnreadWatches) {
  options.unread_each = 5'000'000;
  std::vector<std::shared_ptr<Feed>> feeds;
  std::mutex mutex;
  api.on("/watch", [&](const net::Request&) {
    const std::lock_guard lock(mutex);
    feeds.push_back(std::make_shared<Feed>());
    feeds.back()->add(std::string(6'000'000, 'x'));
    net::Response response;
    response.stream = Feed::open(feeds.back());
    return response;
  });
  start();
  net::TlsClient hostile(port, {.receive_buffer = 8192});
  ASSERT_TRUE(hostile.send("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_TRUE(hostile.readable_within(seconds(20)));
  const std::lock_guard lock(mutex);
  ASSERT_EQ(feeds.size(), 1U);
  EXPECT_TRUE(feeds[0]->wait_until_gone());
}

TEST_F(HostileTest, ConnectionsOfAnAddressAreBounded) {
  options.connections_each = 4;
  const auto feed = std::make_shared<Feed>();
  api.on("/watch", streaming(feed));
  start();
  net::TlsClient watching(port);
  ASSERT_TRUE(watching.send("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_EQ(watching.read_head().status, 200);
  net::TlsClient known(port);
  ASSERT_EQ(known.get("/").status, 200);
  std::vector<std::unique_ptr<net::TlsClient>> silent;
  for (int i = 0; i < 10; ++i) {
    silent.push_back(std::make_unique<net::TlsClient>(port));
    ASSERT_TRUE(silent.back()->connected()) << "a new one gets in";
  }
  EXPECT_TRUE(silent.front()->at_end()) << "in the place of one that never asked";
  EXPECT_EQ(known.get("/").status, 200) << "not of one that did";
  feed->add("still here");
  EXPECT_EQ(watching.read_chunk(), "still here") << "nor of one that is busy";
}

TEST_F(HostileTest, RefusesConnectionWhenAllAreBusy) {
  options.connections_each = 2;
  const auto feed = std::make_shared<Feed>();
  api.on("/watch", streaming(feed));
  start();
  std::vector<std::unique_ptr<net::TlsClient>> watching;
  for (int i = 0; i < 2; ++i) {
    watching.push_back(std::make_unique<net::TlsClient>(port));
    ASSERT_TRUE(watching.back()->send("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n"));
    ASSERT_EQ(watching.back()->read_head().status, 200);
  }
  EXPECT_FALSE(net::TlsClient(port).connected());
  watching.pop_back();
  bool served = false;
  for (int i = 0; i < 200 && !served; ++i) {
    served = net::TlsClient(port).get("/").status == 200;
  }
  EXPECT_TRUE(served);
}

// A stream with a bug in it.
class BrokenStream final : public net::Stream {
 public:
  State pull(std::string& /*out*/) override {
    ATHANOR_CHECK(false, "a test breaks it");
    return State::Ended;
  }
  void on_ready(std::function<void()> /*wake*/) override {}
};

struct Survivable {
  Survivable() { set_broken_invariants_fatal(false); }
  Survivable(const Survivable&) = delete;
  Survivable& operator=(const Survivable&) = delete;
  ~Survivable() { set_broken_invariants_fatal(true); }
};

TEST_F(HostileTest, ABrokenInvariantCostsTheConnection) {
  const Survivable scope;
  api.on("/watch", [](const net::Request&) {
    net::Response response;
    response.stream = std::make_unique<BrokenStream>();
    return response;
  });
  start();
  net::TlsClient quiet(port);
  ASSERT_EQ(quiet.get("/").status, 200);
  net::TlsClient unlucky(port);
  ASSERT_TRUE(unlucky.send("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_TRUE(unlucky.at_end() || unlucky.at_end());
  expect_others_served(quiet);
}

}  // namespace
}  // namespace athanor::transport::https_hostile_test
