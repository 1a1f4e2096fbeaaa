// SPDX-License-Identifier: Apache-2.0
// Unary gRPC over unix sockets: our client against our server. (tests/e2e tries each against
// others' implementation.)
#include "client/unix_grpc.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "net/grpc_server.hpp"

namespace athanor::client::unix_grpc_test {
namespace {

using net::GrpcServer;

class UnixGrpc : public ::testing::Test {
 protected:
  UnixGrpc() { std::filesystem::create_directories(folder); }
  ~UnixGrpc() override { std::filesystem::remove_all(folder); }

  Result<std::string> call(const std::string& method, const std::string& message,
                           const GrpcLimits& limits = {}) const {
    return call_unix_grpc(socket, method, message, limits);
  }

  std::string folder = ::testing::TempDir() + "grpc-" + std::to_string(::getpid());
  std::string socket = folder + "/a/b/kubelet.sock";
};

void echo(std::string_view method, std::string_view message, const GrpcServer::Reply& reply) {
  if (method == "/v1.Echo/Large") {
    reply({.body = std::string(std::size_t{3} << 20, 'x')});
  } else if (method == "/v1.Echo/Broken") {
    reply({.status = net::kGrpcUnknown, .message = "no pod \"ä\" 100%"});
  } else {
    reply({.body = std::string(method) + " " + std::string(message)});
  }
}

TEST_F(UnixGrpc, AnswersCalls) {
  GrpcServer server;
  ASSERT_TRUE(server.open(socket, echo).ok());
  EXPECT_EQ(call("/v1.Echo/Small", "word").value(), "/v1.Echo/Small word");
  EXPECT_EQ(call("/v1.Echo/Small", "").value(), "/v1.Echo/Small ");
  EXPECT_EQ(call("/v1.Echo/Large", "").value().size(), std::size_t{3} << 20);
  EXPECT_EQ(call("/v1.Echo/Small", std::string(40'000, 'a')).value().size(), 40'015U);
}

// Three messages, one at each wake.
class Three final : public net::Stream {
 public:
  State pull(std::string& out) override {
    out += net::grpc_frame(std::string(1, static_cast<char>('a' + sent_)));
    ++sent_;
    if (sent_ < 3) {
      wake_();
    }
    return sent_ < 3 ? State::Open : State::Ended;
  }
  void on_ready(std::function<void()> wake) override { wake_ = std::move(wake); }

 private:
  int sent_ = 0;
  std::function<void()> wake_{};
};

TEST_F(UnixGrpc, StreamsMessagesUntilTheirEnd) {
  GrpcServer server;
  ASSERT_TRUE(server
                  .open(socket,
                        [](std::string_view, std::string_view, const GrpcServer::Reply& reply) {
                          reply({.stream = std::make_unique<Three>()});
                        })
                  .ok());
  // The unary client takes one message; it reports the bytes of more as malformed.
  const auto answer = call("/v1.Echo/Stream", "");
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("malformed gRPC answer"), std::string::npos);
}

TEST_F(UnixGrpc, AnswersFromOtherThreads) {
  std::thread later;
  GrpcServer::Reply kept;
  {
    GrpcServer server;
    ASSERT_TRUE(
        server
            .open(socket,
                  [&](std::string_view, std::string_view message, const GrpcServer::Reply& reply) {
                    kept = reply;
                    later = std::thread(
                        [reply, text = std::string(message)] { reply({.body = text + " later"}); });
                  })
            .ok());
    EXPECT_EQ(call("/v1.Echo/Small", "word").value(), "word later");
    later.join();
  }
  kept({.body = "the server is gone"});
}

TEST_F(UnixGrpc, CarriesErrors) {
  GrpcServer server;
  ASSERT_TRUE(server.open(socket, echo).ok());
  const auto broken = call("/v1.Echo/Broken", "");
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().message, socket + ": v1.Echo/Broken: status 2 no pod \"%C3%A4\" 100%25");
  const auto limited = call("/v1.Echo/Large", "", {.answer = 1024});
  ASSERT_FALSE(limited.ok());
  EXPECT_NE(limited.error().message.find("answer too large"), std::string::npos);
  // More than an argument may have.
  EXPECT_FALSE(call("/v1.Echo/Small", std::string(100'000, 'a')).ok());
}

TEST_F(UnixGrpc, SocketsComeAndGo) {
  {
    GrpcServer server;
    ASSERT_TRUE(server.open(socket, echo).ok());
    ASSERT_TRUE(call("/v1.Echo/Small", "1").ok());
    const std::string other = folder + "/other.sock";
    ASSERT_TRUE(server.open(other, echo).ok());
    ASSERT_TRUE(call_unix_grpc(other, "/v1.Echo/Small", "2").ok());
    server.close(socket);
    for (int i = 0; i < 500 && std::filesystem::exists(socket); ++i) {
      ::usleep(10'000);
    }
    EXPECT_FALSE(std::filesystem::exists(socket));
    EXPECT_FALSE(call("/v1.Echo/Small", "3").ok());
    EXPECT_TRUE(call_unix_grpc(other, "/v1.Echo/Small", "4").ok());
  }
  EXPECT_FALSE(std::filesystem::exists(folder + "/other.sock"));
}

TEST_F(UnixGrpc, TakesLongPathsAndLeavesFilesAlone) {
  GrpcServer server;
  const std::string deep = folder + "/" + std::string(120, 'd') + "/kubelet.sock";
  ASSERT_TRUE(server.open(deep, echo).ok());
  EXPECT_TRUE(std::filesystem::is_socket(deep));
  EXPECT_EQ(call_unix_grpc(deep, "/v1.Echo/Small", "far").value(), "/v1.Echo/Small far");
  ASSERT_TRUE(server.open(deep, echo).ok()) << "a socket that is there is replaced";
  const std::string file = folder + "/file";
  std::ofstream(file) << "data";
  const auto refused = server.open(file, echo);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "cannot listen on " + file + ": there is a file that is no socket");
}

}  // namespace
}  // namespace athanor::client::unix_grpc_test
