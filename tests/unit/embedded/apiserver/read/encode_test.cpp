// SPDX-License-Identifier: Apache-2.0
// How bodies leave the server (docs/spec/apiserver.md 2.5, 2.6).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::encode_test {
namespace {

using ::testing::StartsWith;

TEST(Encode, PrettyForBrowsersAndOnRequest) {
  TestServer server;
  EXPECT_THAT(server.get("/version?pretty=1").text, StartsWith("{\n  \"major\""));
  EXPECT_THAT(server.call("GET /version", "", {{"user-agent", "curl/8.1"}}).text,
              StartsWith("{\n  "));
  EXPECT_THAT(server.call("GET /version?pretty=0", "", {{"user-agent", "curl/8.1"}}).text,
              StartsWith("{\"major\""));
  EXPECT_TRUE(server.get("/version").text.ends_with("}\n"));
}

TEST(Encode, CompressesLargeBodiesForAcceptingClients) {
  TestServer server;
  const std::string path = "/api/v1/namespaces/tst/configmaps";
  Value big = config_map("big");
  big.member("data").set("k", std::string(200'000, 'x'));
  ASSERT_EQ(server.post(path, big).status, 201);
  const Answer packed = server.call("GET " + path, "", {{"accept-encoding", "gzip, deflate"}});
  EXPECT_EQ(packed.header("Content-Encoding"), "gzip");
  EXPECT_EQ(packed.header("Vary"), "Accept-Encoding");
  EXPECT_LT(packed.text.size(), 20'000U);
  EXPECT_THAT(packed.text, StartsWith("\x1f\x8b"));
  EXPECT_EQ(server.get(path).header("Content-Encoding"), "");
  const Answer small = server.call("GET /version", "", {{"accept-encoding", "gzip"}});
  EXPECT_EQ(small.header("Content-Encoding"), "");
}

TEST(Encode, EchoesTheAuditId) {
  TestServer server;
  EXPECT_EQ(server.call("GET /version", "", {{"audit-id", "mine"}}).header("Audit-Id"), "mine");
}

TEST(Encode, RefusesBodiesThatAreTooLarge) {
  TestServer server;
  const Answer answer =
      server.call("POST /api/v1/namespaces/tst/configmaps", std::string(3'145'729, ' '));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.message(), "Request entity too large: limit is 3145728");
  EXPECT_EQ(answer.reason(), "RequestEntityTooLarge");
}

TEST(Timeout, MustBeADuration) {
  TestServer server;
  const Answer answer = server.get("/api/v1/namespaces?timeout=zz");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.message(),
            "invalid timeout specified in the request URL - time: invalid duration \"zz\"");
  EXPECT_EQ(server.get("/api/v1/namespaces?timeout=32s").status, 200);
}

}  // namespace
}  // namespace athanor::apiserver::encode_test
