// SPDX-License-Identifier: Apache-2.0
// From requests to tunnels: permissions, protocols, refusals (docs/spec/apiserver.md 12.5).
#include "unit/embedded/apiserver/fixture.hpp"
#include "unit/embedded/apiserver/streaming/fake_session.hpp"

namespace athanor::apiserver::upgrade_test {
namespace {

using test::FakeStreams;
using test::kNow;
using test::World;

Headers websocket(const std::string& protocols) {
  return {{"connection", "keep-alive, Upgrade"},
          {"upgrade", "websocket"},
          {"sec-websocket-version", "13"},
          {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="},
          {"sec-websocket-protocol", protocols}};
}

Headers spdy(const std::string& protocols) {
  return {
      {"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}, {"x-stream-protocol-version", protocols}};
}

class UpgradeTest : public ::testing::Test {
 protected:
  UpgradeTest() {
    Dependencies dependencies = world_.dependencies();
    dependencies.streams = &streams_;
    auto made = Server::create(world_.options, std::move(dependencies));
    EXPECT_TRUE(made.ok());
    server_ = *std::move(made);
    world_.put("pods", R"({"metadata":{"namespace":"n","name":"p","uid":"u"},
        "spec":{"nodeName":"node","containers":[{"name":"c"}]}})");
    world_.put("pods", R"({"metadata":{"namespace":"n","name":"two","uid":"v"},
        "spec":{"nodeName":"node","containers":[{"name":"a"},{"name":"b"}]}})");
    world_.put("pods", R"({"metadata":{"namespace":"n","name":"waits","uid":"w"},
        "spec":{"containers":[{"name":"c"}]}})");
    world_.put("roles.rbac.authorization.k8s.io",
               R"({"metadata":{"namespace":"n","name":"get"},"rules":[
        {"verbs":["get"],"apiGroups":[""],"resources":["pods/exec"]}]})");
    world_.put("roles.rbac.authorization.k8s.io",
               R"({"metadata":{"namespace":"n","name":"both"},"rules":[
        {"verbs":["get","create"],"apiGroups":[""],"resources":["pods/exec"]}]})");
    for (const char* who : {"get", "both"}) {
      world_.put_value("rolebindings.rbac.authorization.k8s.io",
                       test::parse(std::string(R"({"metadata":{"namespace":"n","name":")") + who +
                                   R"("},"roleRef":{"kind":"Role","name":")" + who +
                                   R"("},"subjects":[{"kind":"User","name":")" + who + R"("}]})"));
    }
  }

  Response call(const std::string& method, const std::string& rest,
                std::vector<std::pair<std::string, std::string>> query, Headers headers,
                const std::string& user = "admin") {
    Request request;
    request.method = method;
    request.path = "/api/v1/namespaces/n/pods/" + rest;
    request.query = std::move(query);
    request.headers = std::move(headers);
    request.credentials.certificate = Credentials::Certificate{
        .common_name = user,
        .organizations = user == "admin" ? std::vector<std::string>{"system:masters"}
                                         : std::vector<std::string>{},
        .sha256_hex = "ab"};
    return server_->handle(std::move(request), kNow);
  }

  World world_{};
  FakeStreams streams_{};
  std::unique_ptr<Server> server_{};
};

const std::vector<std::pair<std::string, std::string>> kRun = {
    {"command", "echo"}, {"command", "hi"}, {"stdout", "true"}};

std::string header(const Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) {
      return value;
    }
  }
  return {};
}

TEST_F(UpgradeTest, AgreesOnTheClientsFirstProtocol) {
  const Response websockets =
      call("GET", "p/exec", kRun, websocket("x.channel, v5.channel.k8s.io, v4.channel.k8s.io"));
  EXPECT_EQ(websockets.status, 101);
  EXPECT_EQ(header(websockets, "Sec-WebSocket-Protocol"), "v5.channel.k8s.io");
  EXPECT_EQ(header(websockets, "Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(header(websockets, "Connection"), "Upgrade");
  EXPECT_NE(websockets.tunnel, nullptr);
  EXPECT_EQ(streams_.last.command, (std::vector<std::string>{"echo", "hi"}));
  EXPECT_EQ(streams_.last.container, "c");
  const Response old = call("POST", "p/exec", kRun, spdy("v4.channel.k8s.io,channel.k8s.io"));
  EXPECT_EQ(old.status, 101);
  EXPECT_EQ(header(old, "Upgrade"), "SPDY/3.1");
  EXPECT_EQ(header(old, "X-Stream-Protocol-Version"), "v4.channel.k8s.io");
  const Response ports = call("GET", "p/portforward", {}, websocket("SPDY/3.1+portforward.k8s.io"));
  EXPECT_EQ(ports.status, 101);
  EXPECT_EQ(
      call("GET", "p/portforward", {{"ports", "80,81"}}, websocket("v4.channel.k8s.io")).status,
      101);
  EXPECT_EQ(streams_.ports, (std::vector<std::uint16_t>{80, 81}));
}

TEST_F(UpgradeTest, AgreesOnOldProtocols) {
  for (const char* protocol :
       {"channel.k8s.io", "base64.channel.k8s.io", "v4.base64.channel.k8s.io", ""}) {
    const Response old = call("GET", "p/exec", kRun, websocket(protocol));
    EXPECT_EQ(old.status, 101) << protocol;
    EXPECT_EQ(header(old, "Sec-WebSocket-Protocol"), protocol);
  }
  EXPECT_EQ(
      call("GET", "p/portforward", {{"ports", "80"}}, websocket("v4.base64.channel.k8s.io")).status,
      101);
  EXPECT_EQ(call("GET", "p/portforward", {{"ports", "80"}}, websocket("")).status, 403);
}

TEST_F(UpgradeTest, Refusals) {
  const struct {
    const char* pod;
    std::vector<std::pair<std::string, std::string>> query;
    Headers headers;
    int status;
    const char* message;
  } cases[] = {
      {"none/exec", kRun, websocket("v4.channel.k8s.io"), 404, "pods \"none\" not found"},
      {"waits/exec", kRun, websocket("v4.channel.k8s.io"), 400,
       "pod waits does not have a host assigned"},
      {"two/exec", kRun, websocket("v4.channel.k8s.io"), 400,
       "a container name must be specified for pod two, choose one of: [a b]"},
      {"p/exec",
       {{"command", "x"}, {"stdout", "1"}, {"container", "zz"}},
       websocket("v4.channel.k8s.io"),
       400,
       "container zz is not valid for pod p"},
      {"p/exec",
       {{"stdout", "1"}},
       websocket("v4.channel.k8s.io"),
       400,
       "you must specify at least 1 command"},
      {"p/exec",
       {{"command", "x"}},
       websocket("v4.channel.k8s.io"),
       400,
       "you must specify at least 1 of stdin, stdout, stderr"},
      {"p/exec", kRun, {}, 400, "Upgrade request required"},
      {"p/exec", kRun, {{"upgrade", "websocket"}}, 400, "Upgrade request required"},
      {"p/exec", kRun, websocket("v9.channel.k8s.io"), 403,
       "unable to upgrade: unable to negotiate protocol: client supports [v9.channel.k8s.io], "
       "server accepts [v5.channel.k8s.io v4.channel.k8s.io v4.base64.channel.k8s.io "
       "channel.k8s.io base64.channel.k8s.io]"},
      {"p/portforward", {{"ports", "0"}}, websocket("v4.channel.k8s.io"), 400, "invalid port 0"},
      {"p/portforward",
       {},
       websocket("v4.channel.k8s.io"),
       400,
       "query parameter \"ports\" is required"},
  };
  for (const auto& c : cases) {
    const Response response = call("GET", c.pod, c.query, c.headers);
    EXPECT_EQ(response.status, c.status) << c.message;
    EXPECT_EQ((*response.value)["message"].as_string(), c.message);
    EXPECT_EQ(response.tunnel, nullptr);
  }
  streams_.runs = false;
  const Response stopped = call("GET", "p/exec", kRun, websocket("v4.channel.k8s.io"));
  EXPECT_EQ(stopped.status, 500);
  EXPECT_EQ((*stopped.value)["message"].as_string(),
            "Internal error occurred: unable to upgrade connection: container not found (\"c\")");
}

TEST_F(UpgradeTest, WebSocketNeedsThePermissionToCreateToo) {
  EXPECT_EQ(call("GET", "p/exec", kRun, websocket("v4.channel.k8s.io"), "both").status, 101);
  EXPECT_EQ(call("POST", "p/exec", kRun, spdy("v4.channel.k8s.io"), "both").status, 101);
  const Response refused = call("GET", "p/exec", kRun, websocket("v4.channel.k8s.io"), "get");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ((*refused.value)["message"].as_string(),
            "pods \"p\" is forbidden: User \"get\" cannot create resource \"pods/exec\" in API "
            "group \"\" in the namespace \"n\"");
  EXPECT_EQ(call("POST", "p/exec", kRun, spdy("v4.channel.k8s.io"), "get").status, 403);
  EXPECT_EQ(call("GET", "p/attach", kRun, websocket("v4.channel.k8s.io"), "both").status, 403);
}

}  // namespace
}  // namespace athanor::apiserver::upgrade_test
