// SPDX-License-Identifier: Apache-2.0
// ApiClient and the verbs' Connection over TLS against the embedded HTTPS server: both HTTP
// versions, certificates, renewed credentials, and that no secret is ever told.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <set>
#include <sstream>
#include <string>

#include "client/api_client.hpp"
#include "client/connection.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/transport/https_fixture.hpp"

namespace athanor::client::api_https_test {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class ApiHttpsTest : public transport::HttpsTest {
 protected:
  [[nodiscard]] ClusterConfig config() const {
    ClusterConfig out;
    out.server = "https://127.0.0.1:" + std::to_string(port);
    out.certificate_authority.text = pki.ca_certificate;
    return out;
  }
  std::shared_ptr<ApiClient> open(ClusterConfig with, ApiClientOptions how = {}) {
    auto opened = ApiClient::open(std::move(with), *clock, *entropy, std::move(how));
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return *std::move(opened);
  }
  // Answers with what it was asked, as JSON.
  void mirror(const std::string& path) {
    api.on(path, [this](const net::Request& request) {
      ++asked;
      const auto& identity = request.credentials.certificate;
      net::Response response;
      response.content_type = "application/json";
      response.body =
          json::print(Value::object({{"authorization", request.header("authorization")},
                                     {"host", request.header("host")},
                                     {"as", request.header("impersonate-user")},
                                     {"groups", request.header("impersonate-group")},
                                     {"extra", request.header("impersonate-extra-a%2fb")},
                                     {"name", identity ? identity->common_name : std::string()}}));
      return response;
    });
  }

  std::unique_ptr<Entropy> entropy = seeded_entropy(3);
  std::atomic<int> asked{0};
};

TEST_F(ApiHttpsTest, SharesHttp2ConnectionAndFallsBackToHttp1) {
  for (const bool http2 : {true, false}) {
    options.http2 = http2;
    start();
    mirror("/m");
    const auto client = open(config(), {.qps = 0});
    std::vector<std::future<ApiResult>> answers;
    for (int i = 0; i < 50; ++i) {
      auto promise = std::make_shared<std::promise<ApiResult>>();
      answers.push_back(promise->get_future());
      client->send({.path = "/m"},
                   [promise](ApiResult result) { promise->set_value(std::move(result)); });
    }
    for (auto& answer : answers) {
      const ApiResult result = answer.get();
      EXPECT_FALSE(result.error.has_value()) << result.error->message;
    }
    server.reset();
  }
}

TEST_F(ApiHttpsTest, WritesWhileWatching) {
  start();
  const auto feed = std::make_shared<transport::Feed>();
  api.on("/w", streaming(feed));
  mirror("/m");
  const auto client = open(config());
  std::promise<Value> line;
  const auto stream = client->watch(
      {.path = "/w"}, {.line = [&](Value value) { line.set_value(std::move(value)); }});
  feed->add("{\"n\":");
  for (const Lane lane : {Lane::Normal, Lane::Lease}) {
    EXPECT_FALSE(client->call({.path = "/m", .lane = lane}).error.has_value());
  }
  feed->add("1}\n");
  EXPECT_EQ(line.get_future().get(), Value::object({{"n", 1}}));
}

// Of this process to a port of this machine. A line of the table may be read twice while other
// processes open and close connections, so that it is the addresses that are counted.
std::size_t connections_to(int port) {
  std::ifstream table("/proc/self/net/tcp");
  std::string number;
  std::string local;
  std::string remote;
  std::string state;
  std::set<std::string> found;
  for (std::string line; std::getline(table, line);) {
    std::istringstream(line) >> number >> local >> remote >> state;
    const std::size_t colon = remote.find(':');
    if (state == "01" && colon != std::string::npos &&
        std::stoi(remote.substr(colon + 1), nullptr, 16) == port) {
      found.insert(local);
    }
  }
  return found.size();
}

TEST_F(ApiHttpsTest, KeepsConnectionForLeases) {
  for (const bool http2 : {true, false}) {
    options.http2 = http2;
    start();
    mirror("/m");
    const auto client = open(config(), {.qps = 0});
    std::size_t known = 0;
    for (const Lane lane : {Lane::Normal, Lane::Lease, Lane::Normal, Lane::Lease}) {
      EXPECT_FALSE(client->call({.path = "/m", .lane = lane}).error.has_value());
      known = std::min<std::size_t>(known + 1, 2);
      EXPECT_EQ(connections_to(port), known) << http2;
    }
  }
}

// libcurl 7.88 multiplexes over any connection to a server, HTTP/1.1 or not, once the last one that
// it opened can: the first one is answered here while others shake hands, and then a watch takes
// it.
TEST_F(ApiHttpsTest, KeepsWatchesOffConnectionOfLease) {
  start();
  std::promise<void> others_came;
  api.on("/lease", [&](const net::Request& /*request*/) {
    others_came.get_future().wait();
    return transport::FakeServer::text("{}");
  });
  api.on("/m", [&, first = std::make_shared<std::once_flag>()](const net::Request&) {
    std::call_once(*first, [&] { others_came.set_value(); });
    return transport::FakeServer::text("{}");
  });
  api.on("/w", streaming(std::make_shared<transport::Feed>()));
  const auto client = open(config(), {.qps = 0});
  std::vector<std::future<ApiResult>> answers;
  const auto send = [&](const std::string& path, Lane lane) {
    auto promise = std::make_shared<std::promise<ApiResult>>();
    answers.push_back(promise->get_future());
    client->send({.path = path, .lane = lane},
                 [promise](ApiResult result) { promise->set_value(std::move(result)); });
  };
  const auto expect_answers = [&] {
    for (auto& answer : std::exchange(answers, {})) {
      ASSERT_EQ(answer.wait_for(seconds(20)), std::future_status::ready);
      EXPECT_FALSE(answer.get().error.has_value());
    }
  };
  send("/lease", Lane::Lease);
  for (int i = 0; i < 12; ++i) {
    send("/m", Lane::Normal);
  }
  expect_answers();
  const auto stream = client->watch({.path = "/w"}, {});
  for (int i = 0; i < 20; ++i) {
    send("/m", i % 8 == 7 ? Lane::Lease : Lane::Normal);
  }
  expect_answers();
}

TEST_F(ApiHttpsTest, LettingGoOfAWatchEndsItsStream) {
  for (const bool http2 : {true, false}) {
    options.http2 = http2;
    start();
    mirror("/m");
    const auto feed = std::make_shared<transport::Feed>();
    api.on("/w", streaming(feed));
    const auto client = open(config());
    std::promise<void> line;
    auto stream = client->watch({.path = "/w"}, {.line = [&](const Value&) { line.set_value(); }});
    feed->add("{}\n");
    line.get_future().wait();
    stream.reset();
    // libcurl tells an HTTP/2 server so with the connection's next frame.
    client->call({.path = "/m"});
    EXPECT_TRUE(feed->wait_until_gone()) << http2;
  }
}

TEST_F(ApiHttpsTest, TheServersNameMayDifferFromItsAddress) {
  start();
  mirror("/m");
  ClusterConfig named = config();
  named.tls_server_name = "kubernetes.default";
  const ApiResult good = open(named)->call({.path = "/m"});
  ASSERT_FALSE(good.error.has_value()) << good.error->message;
  EXPECT_EQ(good.body["host"].as_string(), "127.0.0.1:" + std::to_string(port));
  named.tls_server_name = "elsewhere.example";
  const ApiResult bad = open(named)->call({.path = "/m"});
  ASSERT_TRUE(bad.error.has_value());
  EXPECT_THAT(bad.error->message, HasSubstr("x509: certificate is not valid for"));
  EXPECT_EQ(asked, 1);
}

TEST_F(ApiHttpsTest, AnUnknownAuthorityIsRefusedUnlessAskedFor) {
  start();
  mirror("/m");
  ClusterConfig unknown = config();
  unknown.certificate_authority = {};
  EXPECT_THAT(open(unknown)->call({.path = "/m"}).error->message,
              HasSubstr("x509: certificate signed by unknown authority"));
  unknown.insecure_skip_verify = true;
  EXPECT_FALSE(open(unknown)->call({.path = "/m"}).error.has_value());
}

TEST_F(ApiHttpsTest, ShowsClientCertificateAndImpersonates) {
  start();
  mirror("/m");
  ClusterConfig admin = config();
  admin.client_certificate.text = pki.admin_certificate;
  admin.client_key.text = pki.admin_key;
  admin.impersonate = {.user = "jane", .uid = {}, .groups = {"g"}, .extra = {{"a/b", {"v"}}}};
  const ApiResult result = open(admin)->call({.path = "/m"});
  ASSERT_FALSE(result.error.has_value()) << result.error->message;
  EXPECT_EQ(result.body["name"].as_string(), "kubernetes-admin");
  EXPECT_EQ(result.body["as"].as_string(), "jane");
  EXPECT_EQ(result.body["groups"].as_string(), "g");
  EXPECT_EQ(result.body["extra"].as_string(), "v");
}

TEST_F(ApiHttpsTest, UsesRenewedTokenOnceAfterRefusal) {
  start();
  api.on("/t", [this](const net::Request& request) {
    ++asked;
    net::Response response;
    response.status = request.header("authorization") == "Bearer two" ? 200 : 401;
    response.content_type = "application/json";
    response.body = "{}";
    return response;
  });
  ClusterConfig with = config();
  with.token_file = directory + "/token";
  std::ofstream(with.token_file) << "one";
  const auto client =
      open(with, {.credentials = {.retry_after_reject = std::chrono::milliseconds(0)}});
  std::ofstream(with.token_file) << "two";
  const ApiResult renewed =
      client->call({.method = "POST", .path = "/t", .body = Value::object({{"a", 1}})});
  EXPECT_EQ(renewed.status, 200);
  EXPECT_EQ(asked, 2);
  std::ofstream(with.token_file) << "three";
  const ApiResult refused =
      open(with, {.credentials = {.retry_after_reject = std::chrono::milliseconds(0)}})
          ->call({.path = "/t"});
  EXPECT_EQ(refused.error->code, 401);
  EXPECT_EQ(refused.error->reason, "Unauthorized");
  EXPECT_EQ(asked, 4) << "one retry, no more";
}

TEST_F(ApiHttpsTest, SlowPluginDelaysNoOtherRequest) {
  start();
  mirror("/m");
  ClusterConfig with = config();
  with.exec = ExecPlugin{
      .api_version = "client.authentication.k8s.io/v1",
      .command = "/bin/sh",
      .arguments = {"-c",
                    "sleep 0.3; echo '{\"kind\":\"ExecCredential\",\"apiVersion\":"
                    "\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"t\"}}'"},
      .interactive = ExecPlugin::Interactive::Never};
  const auto client = open(with);
  std::promise<Value> answer;
  client->send({.path = "/m"}, [&](ApiResult result) { answer.set_value(std::move(result.body)); });
  std::promise<void> task;
  client->post([&] { task.set_value(); });
  EXPECT_EQ(task.get_future().wait_for(std::chrono::milliseconds(200)), std::future_status::ready);
  EXPECT_EQ(answer.get_future().get()["authorization"].as_string(), "Bearer t");
}

TEST_F(ApiHttpsTest, WithoutCredentialsEveryRequestSaysWhy) {
  start();
  ClusterConfig with = config();
  with.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                         .command = "/nowhere/plugin",
                         .interactive = ExecPlugin::Interactive::Never};
  const auto client = open(with);
  for (int i = 0; i < 2; ++i) {
    const ApiResult result = client->call({.path = "/m"});
    EXPECT_EQ(result.error->code, 401);
    EXPECT_THAT(result.error->message, HasSubstr("/nowhere/plugin not found"));
  }
}

TEST_F(ApiHttpsTest, TheVerbsConnectionRenewsItsTokenToo) {
  start();
  api.on("/t", [](const net::Request& request) {
    net::Response response;
    response.status = request.header("authorization") == "Bearer t2" ? 200 : 401;
    response.content_type = "application/json";
    response.body = "{}";
    return response;
  });
  // The plugin answers with another token each time.
  ClusterConfig with = config();
  with.exec = ExecPlugin{
      .api_version = "client.authentication.k8s.io/v1",
      .command = "/bin/sh",
      .arguments = {"-c", "echo x >>" + directory +
                              "/runs; echo '{\"kind\":\"ExecCredential\",\"apiVersion\":"
                              "\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"t'$(wc "
                              "-l <" +
                              directory + "/runs)'\"}}'"},
      .interactive = ExecPlugin::Interactive::Never};
  auto connection = *Connection::open(with, {.retry_after_reject = std::chrono::milliseconds(0)});
  EXPECT_TRUE(connection->call({.path = "/t"}).ok()) << "t1 was refused";
  EXPECT_TRUE(connection->call({.path = "/t"}).ok());
}

TEST_F(ApiHttpsTest, KeepsSecretsOutOfMessages) {
  start();
  api.on("/401", [](const net::Request&) {
    net::Response response;
    response.status = 401;
    response.body = "no";
    return response;
  });
  ::testing::internal::CaptureStderr();
  std::string told;
  const auto try_all = [&](const ClusterConfig& with) {
    const auto client = open(
        with, {.observe = [&](const ApiRequest& request, int, Duration) { told += request.path; }});
    for (const char* path : {"/401", "/nothing", "/echo"}) {
      ApiRequest request{.path = path};
      request.retries = 0;
      request.timeout = seconds(2);
      if (const ApiResult result = client->call(request); result.error) {
        told += result.error->message + result.error->reason;
      }
      const auto verb = (*Connection::open(with))->call({.path = path});
      told += verb.ok() ? "" : verb.error().message;
    }
  };
  ClusterConfig with = config();
  with.token = "SECRET-token";
  try_all(with);
  with.proxy_url = "http://user:SECRET-proxy@127.0.0.1:1";
  try_all(with);
  with.proxy_url.clear();
  with.server = "https://127.0.0.1:1";
  try_all(with);
  ClusterConfig basic = config();
  basic.certificate_authority = {};
  basic.username = "me";
  basic.password = "SECRET-password";
  try_all(basic);
  ClusterConfig broken = config();
  broken.client_certificate.text = "SECRET-certificate";
  broken.client_key.text = "SECRET-key";
  try_all(broken);
  told += ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(told.empty());
  EXPECT_THAT(told, Not(HasSubstr("SECRET")));
  EXPECT_THAT(told, Not(HasSubstr("U0VDUkVU"))) << "in base64";
}

}  // namespace
}  // namespace athanor::client::api_https_test
