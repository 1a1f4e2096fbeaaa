// SPDX-License-Identifier: Apache-2.0
// The endpoint on a real socket.
#include "cluster/http_endpoint.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

namespace athanor::cluster {
namespace {

std::string talk(const std::string& address, const std::string& request) {
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  const int client = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
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

class HttpEndpointTest : public ::testing::Test {
 protected:
  HttpEndpointTest() {
    auto made =
        HttpEndpoint::listen("127.0.0.1:0", [](std::string_view path, std::string_view query) {
          return EndpointAnswer{.status = path == "/known" ? 200 : 404,
                                .body = std::string(path) + "|" + std::string(query)};
        });
    EXPECT_TRUE(made.ok());
    endpoint = *std::move(made);
  }
  std::unique_ptr<HttpEndpoint> endpoint{};
};

TEST_F(HttpEndpointTest, AnswersGet) {
  const std::string answer =
      talk(endpoint->address(), "GET /known?limit=5 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n/known|limit=5")) << answer;
  EXPECT_NE(answer.find("Content-Length: 14\r\n"), std::string::npos);
}

TEST_F(HttpEndpointTest, HeadHasNoBody) {
  const std::string answer = talk(endpoint->address(), "HEAD /known HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST_F(HttpEndpointTest, RefusesOtherMethodsAndNonsense) {
  EXPECT_TRUE(talk(endpoint->address(), "POST /known HTTP/1.1\r\n\r\n")
                  .starts_with("HTTP/1.1 405 Method Not Allowed"));
  EXPECT_TRUE(talk(endpoint->address(), "hello\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(talk(endpoint->address(), "GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
  const std::string head = "GET /known HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n";
  EXPECT_TRUE(talk(endpoint->address(), head).starts_with("HTTP/1.1 431"));
}

TEST(HttpEndpoint, SaysWhatIsNoAddressOrTaken) {
  const auto nothing = [](std::string_view, std::string_view) { return EndpointAnswer{}; };
  EXPECT_FALSE(HttpEndpoint::listen("nonsense", nothing).ok());
  const auto first = HttpEndpoint::listen("127.0.0.1:0", nothing);
  ASSERT_TRUE(first.ok());
  const auto second = HttpEndpoint::listen((*first)->address(), nothing);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("Address already in use"), std::string::npos);
}

}  // namespace
}  // namespace athanor::cluster
