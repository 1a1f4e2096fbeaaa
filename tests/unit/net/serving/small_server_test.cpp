// SPDX-License-Identifier: Apache-2.0
// The small server on real sockets: answers, streams that wake, silent clients.
#include "net/serving/small_server.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/condition_variable.hpp"
#include "base/mutex.hpp"
#include "net/pki.hpp"

namespace athanor::net::small_server_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A connection with a time limit, so that a server that says nothing fails the test.
int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const timeval limit{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return socket;
}

// Everything until the server closes.
std::string read_all(int socket) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::string ask(int port, const std::string& line) {
  const int socket = connect_to(port);
  const std::string request = line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string text = read_all(socket);
  ::close(socket);
  return text;
}

// Words that another thread says, until it says "end".
class Words final : public Stream {
 public:
  State pull(std::string& out) override {
    const MutexLock lock(mutex_);
    out += said_;
    said_.clear();
    return over_ ? State::Ended : State::Open;
  }
  void on_ready(std::function<void()> wake) override {
    const MutexLock lock(mutex_);
    wake_ = std::move(wake);
    listened_.notify_all();
  }
  void say(const std::string& word) {
    MutexLock lock(mutex_);
    listened_.wait(lock, [this]() ATHANOR_REQUIRES(mutex_) { return wake_ != nullptr; });
    over_ = word == "end";
    said_ += over_ ? "" : word;
    wake_();
  }

 private:
  Mutex mutex_{};
  ConditionVariable listened_{};
  std::string said_ ATHANOR_GUARDED_BY(mutex_){};
  std::function<void()> wake_ ATHANOR_GUARDED_BY(mutex_){};
  bool over_ ATHANOR_GUARDED_BY(mutex_) = false;
};

class SmallServerTest : public ::testing::Test {
 protected:
  void start(SmallServerOptions options) {
    options.address = "127.0.0.1:0";
    options.clock = clock_.get();
    if (!options.handle) {
      options.handle = [](const Request& request, const SmallServerOptions::Reply& reply) {
        reply([path = request.path] {
          Response response;
          response.body = path;
          return response;
        });
      };
    }
    auto made = SmallServer::start(std::move(options));
    ASSERT_TRUE(made.ok());
    server_ = *std::move(made);
  }

  std::unique_ptr<Clock> clock_ = wall_clock();
  std::unique_ptr<SmallServer> server_{};
};

TEST_F(SmallServerTest, AnswersFromAnyThread) {
  std::vector<std::thread> threads;
  start({.handle = [&](const Request& request, const SmallServerOptions::Reply& reply) {
    threads.emplace_back([path = request.path, reply] {
      reply([path] {
        Response response;
        response.body = path;
        return response;
      });
    });
  }});
  const std::string answer = ask(server_->port(), "GET /health");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 7\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n/health"));
  EXPECT_TRUE(ask(server_->port(), "HEAD /health").ends_with("\r\n\r\n"));
  server_.reset();
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST_F(SmallServerTest, PullsStreamsAtEachWake) {
  auto words = std::make_shared<Words*>(nullptr);
  std::atomic<bool> made = false;
  start({.handle = [&](const Request&, const SmallServerOptions::Reply& reply) {
    reply([&made, words] {
      Response response;
      auto stream = std::make_unique<Words>();
      *words = stream.get();
      response.stream = std::move(stream);
      made = true;
      return response;
    });
  }});
  std::string answer;
  std::thread client([&] { answer = ask(server_->port(), "GET /words"); });
  while (!made) {
    std::this_thread::yield();
  }
  for (const char* word : {"one ", "two ", "three", "end"}) {
    (*words)->say(word);
  }
  client.join();
  EXPECT_THAT(answer, HasSubstr("one "));
  EXPECT_THAT(answer, HasSubstr("three"));
  EXPECT_TRUE(answer.ends_with("0\r\n\r\n")) << answer;
}

TEST_F(SmallServerTest, RefusesWithoutResettingTheClient) {
  start({.limits = {.head = 1024}});
  const int socket = connect_to(server_->port());
  const std::string head = "GET /" + std::string(200'000, 'x') + " HTTP/1.1\r\n\r\n";
  (void)::send(socket, head.data(), head.size(), MSG_NOSIGNAL);
  EXPECT_THAT(read_all(socket), StartsWith("HTTP/1.1 431 "));
  ::close(socket);
}

TEST_F(SmallServerTest, MakesRoomForNewcomers) {
  const auto tls = std::make_shared<ServedTls>();
  const ServingPair pair = *ensure_serving_pair({.now = clock_->now()});
  ASSERT_TRUE(tls->use(pair.certificate, pair.key).ok());
  for (const bool secure : {false, true}) {
    start({.max_connections = 16, .tls = secure ? tls : nullptr});
    std::vector<int> silent;
    for (int i = 0; i < 40; ++i) {
      silent.push_back(connect_to(server_->port()));
    }
    EXPECT_THAT(read_all(silent.front()), IsEmpty()) << "the oldest is closed";
    if (!secure) {
      EXPECT_THAT(ask(server_->port(), "GET /a"), StartsWith("HTTP/1.1 200 OK"));
    }
    server_.reset();
    EXPECT_THAT(read_all(silent.back()), IsEmpty());
    for (const int client : silent) {
      ::close(client);
    }
  }
}

TEST_F(SmallServerTest, ReportsPortInUse) {
  start({});
  const auto second =
      SmallServer::start({.address = server_->address(),
                          .handle = [](const Request&, const SmallServerOptions::Reply&) {},
                          .clock = clock_.get()});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("cannot listen on 127.0.0.1:"));
}

}  // namespace
}  // namespace athanor::net::small_server_test
