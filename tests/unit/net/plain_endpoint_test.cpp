// SPDX-License-Identifier: Apache-2.0
// The plain endpoint: what it answers, refuses, and survives.
#include "net/plain_endpoint.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <vector>

namespace athanor::transport {
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
  std::array<char, 512> buffer{};
  while (true) {
    const auto got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::string ask(int port, std::string_view request) {
  const int socket = connect_to(port);
  EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string text = read_all(socket);
  ::close(socket);
  return text;
}

std::unique_ptr<PlainEndpoint> endpoint() {
  auto made = PlainEndpoint::start("127.0.0.1", 0, {{"/health", R"({"health":"true"})"}});
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

TEST(PlainEndpoint, AnswersWhatItKnows) {
  const auto server = endpoint();
  const std::string answer = ask(server->port(), "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 17\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n{\"health\":\"true\"}"));
  EXPECT_THAT(ask(server->port(), "GET /health?serializable=true HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(PlainEndpoint, RefusesTheRest) {
  const auto server = endpoint();
  EXPECT_THAT(ask(server->port(), "GET /v3/kv HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(server->port(), "PUT /health HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask(server->port(), "zz\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask(server->port(), std::string(9000, 'x')), IsEmpty());
}

TEST(PlainEndpoint, AClientThatSaysNothingKeepsNobodyWaiting) {
  auto server = endpoint();
  const int silent = connect_to(server->port());
  EXPECT_THAT(ask(server->port(), "GET /health HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 OK"));
  server.reset();
  EXPECT_THAT(read_all(silent), IsEmpty());
  ::close(silent);
}

TEST(PlainEndpoint, ManySilentClientsMakeRoom) {
  auto server = endpoint();
  std::vector<int> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(connect_to(server->port()));
  }
  EXPECT_THAT(ask(server->port(), "GET /health HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 OK"));
  const timeval limit{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(silent.front(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  char byte = 0;
  EXPECT_EQ(::recv(silent.front(), &byte, 1, 0), 0) << "the oldest was closed";
  for (const int client : silent) {
    ::close(client);
  }
}

TEST(PlainEndpoint, APortInUseIsAnError) {
  const auto server = endpoint();
  const auto second = PlainEndpoint::start("127.0.0.1", server->port(), {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("cannot listen on 127.0.0.1:"));
}

}  // namespace
}  // namespace athanor::transport
