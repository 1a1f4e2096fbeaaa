// SPDX-License-Identifier: Apache-2.0
// The server of pages on a real socket.
#include "net/serving/page_server.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace athanor::net::page_server_test {
namespace {

int connect_to(const std::string& address) {
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  const int client = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  return client;
}

std::string talk(const std::string& address, const std::string& request) {
  const int client = connect_to(address);
  EXPECT_EQ(::send(client, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while ((got = ::recv(client, buffer.data(), buffer.size(), 0)) > 0) {
    answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(client);
  return answer;
}

using Answer = std::function<Page(const Request& request)>;

Result<std::unique_ptr<PageServer>> serve(Answer answer,
                                          const std::string& address = "127.0.0.1:0") {
  return PageServer::start({.address = address, .answer = std::move(answer)});
}

Page empty_page(const Request& /*request*/) {
  return {};
}

class PageServerTest : public ::testing::Test {
 protected:
  PageServerTest() {
    auto made = serve([](const Request& request) {
      return Page{
          .status = request.path == "/known" ? 200 : 404,
          .body = request.path + "|" + std::string(request.parameter("limit").value_or(""))};
    });
    EXPECT_TRUE(made.ok());
    endpoint = *std::move(made);
  }
  std::unique_ptr<PageServer> endpoint{};
};

TEST_F(PageServerTest, AnswersGet) {
  const std::string answer = talk(
      endpoint->address(), "GET /known?limit=5 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n/known|5")) << answer;
  EXPECT_NE(answer.find("Content-Length: 8\r\n"), std::string::npos);
}

TEST_F(PageServerTest, HeadHasNoBody) {
  const std::string answer =
      talk(endpoint->address(), "HEAD /known HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST_F(PageServerTest, RefusesOtherMethodsAndNonsense) {
  EXPECT_TRUE(
      talk(endpoint->address(), "POST /known HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
          .starts_with("HTTP/1.1 405 Method Not Allowed"));
  EXPECT_TRUE(talk(endpoint->address(), "hello\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(
      talk(endpoint->address(), "GET /other HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
          .starts_with("HTTP/1.1 404"));
  const std::string head =
      "GET /known HTTP/1.1\r\nHost: x\r\nX: " + std::string(9000, 'x') + "\r\n\r\n";
  EXPECT_TRUE(talk(endpoint->address(), head).starts_with("HTTP/1.1 431"));
}

TEST(PageServer, PatienceIsForTheWholeHead) {
  const auto endpoint = PageServer::start(
      {.address = "127.0.0.1:0", .patience = std::chrono::milliseconds(300), .answer = empty_page});
  ASSERT_TRUE(endpoint.ok());
  const int client = connect_to((*endpoint)->address());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool cut = false;
  while (!cut && std::chrono::steady_clock::now() < end) {
    // A byte now and then; the wait in between is for the end of the connection.
    pollfd waited{.fd = client, .events = POLLIN, .revents = 0};
    cut = ::send(client, "G", 1, MSG_NOSIGNAL) < 0 || ::poll(&waited, 1, 50) > 0;
  }
  EXPECT_TRUE(cut);
  ::close(client);
}

// However many: those that came first make room.
TEST_F(PageServerTest, SlowClientsDelayNoOtherClient) {
  std::vector<int> slow;
  for (std::size_t i = 0; i < PageServerOptions{}.max_connections + 20; ++i) {
    slow.push_back(connect_to(endpoint->address()));
    EXPECT_EQ(::send(slow.back(), "G", 1, MSG_NOSIGNAL), 1);
  }
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(
      talk(endpoint->address(), "GET /known HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
          .starts_with("HTTP/1.1 200 OK"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  for (const int client : slow) {
    ::close(client);
  }
}

TEST(PageServer, UnreadAnswersDelayNoOtherClient) {
  const std::string large(20'000'000, 'x');
  const auto endpoint = serve([&large](const Request& request) {
    return Page{.body = request.path == "/large" ? large : "small"};
  });
  ASSERT_TRUE(endpoint.ok());
  const std::string address = (*endpoint)->address();
  constexpr std::string_view kLarge = "GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  std::vector<int> deaf;
  for (int i = 0; i < 20; ++i) {
    deaf.push_back(connect_to(address));
    EXPECT_GT(::send(deaf.back(), kLarge.data(), kLarge.size(), MSG_NOSIGNAL), 0);
  }
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(
      talk(address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ends_with("small"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(3));
  EXPECT_TRUE(talk(address, std::string(kLarge)).ends_with(large.substr(0, 1000)));
  for (const int client : deaf) {
    ::close(client);
  }
}

TEST(PageServer, EndsWithClientsUnderWay) {
  auto endpoint = serve(empty_page);
  ASSERT_TRUE(endpoint.ok());
  const int client = connect_to((*endpoint)->address());
  EXPECT_EQ(::send(client, "G", 1, MSG_NOSIGNAL), 1);
  endpoint->reset();
  char byte = 0;
  EXPECT_LE(::recv(client, &byte, 1, 0), 0);
  ::close(client);
}

TEST(PageServer, ReportsInvalidOrOccupiedAddress) {
  for (const char* wrong : {"nonsense", ":99999", "127.0.0.1:65536", "127.0.0.1:-1",
                            "127.0.0.1:80x", "127.0.0.1:4294967376"}) {
    EXPECT_FALSE(serve(empty_page, wrong).ok()) << wrong;
  }
  const auto first = serve(empty_page);
  ASSERT_TRUE(first.ok());
  const auto second = serve(empty_page, (*first)->address());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("Address already in use"), std::string::npos);
}

}  // namespace
}  // namespace athanor::net::page_server_test
