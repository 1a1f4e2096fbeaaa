// SPDX-License-Identifier: Apache-2.0
// The proxies of pods, services and nodes, and watches over WebSockets (docs/spec/apiserver.md
// 12.4, 2.3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embedded/apiserver/streaming/websocket.hpp"
#include "unit/embedded/apiserver/test_server.hpp"
#include "unit/embedded/apiserver/webhooks/fake_outside.hpp"

namespace athanor::apiserver::backend_proxy_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

constexpr std::string_view kPod = "/api/v1/namespaces/tst/pods/";
constexpr std::string_view kService = "/api/v1/namespaces/tst/services/";

class Proxies : public testing::Test {
 protected:
  Proxies() {
    post("serviceaccounts", R"({"metadata":{"name":"default"}})");
    post("pods", R"({"metadata":{"name":"web","labels":{"app":"web"}},
        "spec":{"containers":[{"name":"c","image":"i",
                               "ports":[{"name":"http","containerPort":8080}]}]}})");
    post("services", R"({"metadata":{"name":"svc"},
        "spec":{"selector":{"app":"web"},"ports":[{"name":"http","port":80,"targetPort":8080},
                                                  {"name":"other","port":81}]}})");
    outside_.on("http://127.0.0.1:8080/a/b", [](const Value& /*body*/) {
      return OutsideAnswer{.status = 200,
                           .headers = {{"content-type", "text/html"}, {"x-own", "kept"}},
                           .body = "<p>hello</p>"};
    });
    outside_.on("http://127.0.0.1:8080/old", [](const Value& /*body*/) {
      return OutsideAnswer{.status = 302, .headers = {{"location", "/a/b"}}, .body = ""};
    });
  }

  void post(const std::string& plural, std::string_view body) {
    const Answer made = server_.post("/api/v1/namespaces/tst/" + plural, parse(body));
    ASSERT_EQ(made.status, 201) << made.message();
  }
  void start_pod() {
    const Answer ready = server_.patch(std::string(kPod) + "web/status", "merge",
                                       R"({"status":{"podIP":"127.0.0.1","phase":"Running",
                      "conditions":[{"type":"Ready","status":"True"}]}})");
    ASSERT_EQ(ready.status, 200) << ready.message();
  }

  FakeOutside outside_{};
  TestServer server_{{}, &outside_};
};

TEST_F(Proxies, PassRequestsOnToAPod) {
  start_pod();
  for (const char* name : {"web", "web:8080", "web:http", "http:web:8080"}) {
    const Answer answer = server_.call("GET " + std::string(kPod) + name + "/proxy/a/b?x=1%202", {},
                                       {{"accept", "text/html"}, {"authorization", "Bearer s"}});
    EXPECT_EQ(answer.status, 200) << name << answer.text;
    EXPECT_EQ(answer.text, "<p>hello</p>");
    EXPECT_EQ(answer.content_type, "text/html");
    EXPECT_EQ(answer.header("X-Own"), "kept");
    const OutsideRequest& asked = outside_.asked.back().request;
    EXPECT_THAT(asked.headers, testing::Not(Contains(Pair("Authorization", testing::_))));
  }
  const Answer posted = server_.call("POST " + std::string(kPod) + "web/proxy/a/b", "a body");
  EXPECT_EQ(posted.status, 200);
  EXPECT_EQ(outside_.asked.back().request.method, "POST");
  EXPECT_EQ(outside_.asked.back().request.body, "a body");
}

TEST_F(Proxies, PassRequestsOnToAService) {
  start_pod();
  for (const char* name : {"svc:http", "svc:80", "http:svc:http"}) {
    EXPECT_EQ(server_.get(std::string(kService) + name + "/proxy/a/b").text, "<p>hello</p>")
        << name;
  }
}

TEST_F(Proxies, KeepRedirectsInside) {
  start_pod();
  const std::string proxy = std::string(kPod) + "web:8080/proxy";
  EXPECT_EQ(server_.get(proxy + "/old").header("Location"), proxy + "/a/b");
  const Answer root = server_.get(proxy + "?q=1");
  EXPECT_EQ(root.status, 301);
  EXPECT_EQ(root.header("Location"), proxy + "/?q=1");
}

TEST_F(Proxies, EncodeRequestedPath) {
  start_pod();
  // As the transport decodes "%0d%0a": it must not become lines of the backend's request.
  const std::string asked = "web:8080/proxy/a\r\nX-Remote-User: root/\xc3\xa4 b";
  Request request;
  request.method = "GET";
  request.path = std::string(kPod) + asked;
  request.query = {{"q", "1"}};
  request.credentials.internal_user = "system:apiserver";
  server_.server().handle(request, server_.now());
  ASSERT_FALSE(outside_.asked.empty());
  const OutsideRequest& sent = outside_.asked.back().request;
  EXPECT_THAT(
      sent.headers,
      Contains(Pair("X-Forwarded-Uri",
                    std::string(kPod) + "web:8080/proxy/a%0D%0AX-Remote-User:%20root/%C3%A4%20b")));
  EXPECT_EQ(sent.url, "http://127.0.0.1:8080/a%0D%0AX-Remote-User:%20root/%C3%A4%20b?q=1");
  // A port that nobody names is part of the prefix of redirects.
  outside_.on("http://127.0.0.1:8080/old", [](const Value&) {
    return OutsideAnswer{.status = 302, .headers = {{"location", "/n"}}, .body = ""};
  });
  outside_.on("http://127.0.0.1:80/old", [](const Value&) {
    return OutsideAnswer{.status = 302, .headers = {{"location", "/n"}}, .body = ""};
  });
  request.path = std::string(kPod) + "web:x\r\nSet-Cookie:a/proxy/old";
  const Response moved = server_.server().handle(request, server_.now());
  for (const auto& [name, value] : moved.headers) {
    EXPECT_EQ(value.find_first_of("\r\n"), std::string::npos) << name;
  }
}

TEST_F(Proxies, FollowNoAddressNamedByServiceEditors) {
  start_pod();
  post("services", R"({"metadata":{"name":"named","annotations":
      {"athanor.dev/endpoint":"127.0.0.1:8080"}},"spec":{"ports":[{"port":80}]}})");
  post("services", R"({"metadata":{"name":"outer"},
      "spec":{"type":"ExternalName","externalName":"localhost","ports":[{"port":8080}]}})");
  for (const auto& [name, where] :
       {std::pair{"named:80", "athanor.dev/endpoint"}, std::pair{"outer:8080", "externalName"}}) {
    const Answer refused = server_.get(std::string(kService) + name + "/proxy/a/b");
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.message(), HasSubstr(where));
    EXPECT_THAT(refused.message(), HasSubstr("--proxy-named-endpoints"));
  }
  EXPECT_TRUE(outside_.asked.empty());
  FakeOutside outside;
  outside.on("http://127.0.0.1:8080/a/b",
             [](const Value&) { return OutsideAnswer{.status = 200, .body = "there"}; });
  TestServer allowing({.proxy_named_endpoints = true}, &outside);
  allowing.post("/api/v1/namespaces/tst/services",
                parse(R"({"metadata":{"name":"named","annotations":
      {"athanor.dev/endpoint":"127.0.0.1:8080"}},"spec":{"ports":[{"port":80}]}})"));
  EXPECT_EQ(allowing.get(std::string(kService) + "named:80/proxy/a/b").text, "there");
}

TEST_F(Proxies, DialNoLinkLocalAddress) {
  ASSERT_EQ(server_
                .patch(std::string(kPod) + "web/status", "merge",
                       R"({"status":{"podIP":"169.254.169.254","phase":"Running",
                      "conditions":[{"type":"Ready","status":"True"}]}})")
                .status,
            200);
  const Answer pod = server_.get(std::string(kPod) + "web:80/proxy/latest/");
  EXPECT_EQ(pod.status, 400);
  EXPECT_EQ(pod.message(), "address not allowed");
  EXPECT_EQ(server_.get(std::string(kService) + "svc:80/proxy/latest/").message(),
            "169.254.169.254:8080 is a link-local address, which is not allowed");
  EXPECT_TRUE(outside_.asked.empty());
}

TEST_F(Proxies, PassOnConnectionsThatLeaveHttp) {
  start_pod();
  outside_.on("http://127.0.0.1:8080/ws", [](const Value&) {
    OutsideAnswer answer;
    answer.status = 101;
    answer.headers = {{"upgrade", "websocket"}, {"sec-websocket-accept", "abc="}};
    answer.channel = std::make_shared<EchoTunnel>();
    return answer;
  });
  for (const std::string& path :
       {std::string(kPod) + "web:8080/proxy/ws", std::string(kService) + "svc:80/proxy/ws"}) {
    Request request;
    request.method = "GET";
    request.path = path;
    request.headers = {{"connection", "keep-alive, Upgrade"},
                       {"upgrade", "websocket"},
                       {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}};
    request.credentials.internal_user = "system:apiserver";
    Response response = server_.server().handle(request, server_.now());
    ASSERT_EQ(response.status, 101) << path;
    EXPECT_THAT(response.headers, Contains(Pair("Sec-Websocket-Accept", "abc=")));
    ASSERT_NE(response.tunnel, nullptr);
    response.tunnel->feed("ping");
    std::string heard;
    response.tunnel->pull(heard);
    EXPECT_EQ(heard, "ping");
    const OutsideRequest& asked = outside_.asked.back().request;
    EXPECT_TRUE(asked.upgrade);
    EXPECT_THAT(asked.headers, Contains(Pair("Sec-Websocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")));
    EXPECT_THAT(asked.headers, Contains(Pair("Connection", "Upgrade")));
  }
}

TEST_F(Proxies, ExplainMissingBackend) {
  const Answer no_endpoints = server_.get(std::string(kService) + "svc:80/proxy/");
  EXPECT_EQ(no_endpoints.status, 503);
  EXPECT_EQ(no_endpoints.reason(), "ServiceUnavailable");
  EXPECT_EQ(no_endpoints.message(), "no endpoints available for service \"svc\"");
  EXPECT_EQ(server_.get(std::string(kService) + "none:80/proxy/").status, 404);
  EXPECT_EQ(server_.get(std::string(kPod) + "none/proxy/").status, 404);
  EXPECT_EQ(server_.get(std::string(kPod) + "web/proxy/").status, 400);
  EXPECT_EQ(server_.get("/api/v1/nodes/none/proxy/").status, 404);
  start_pod();
  const Answer refused = server_.get(std::string(kPod) + "web:9/proxy/");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.message(), HasSubstr("error trying to reach service: dial tcp"));
}

TEST_F(Proxies, WatchesSpeakWebSocket) {
  Request request;
  request.method = "GET";
  request.path = "/api/v1/namespaces/tst/services";
  request.query = {{"watch", "true"}};
  request.headers = {{"connection", "keep-alive, Upgrade"},
                     {"upgrade", "websocket"},
                     {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="},
                     {"sec-websocket-version", "13"}};
  request.credentials.internal_user = "system:apiserver";
  Response response = server_.server().handle(request, server_.now());
  ASSERT_EQ(response.status, 101);
  EXPECT_THAT(response.headers,
              Contains(Pair("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
  ASSERT_NE(response.tunnel, nullptr);
  std::string bytes;
  EXPECT_EQ(response.tunnel->pull(bytes), Stream::State::Open);
  // One text frame of more than 125 bytes.
  ASSERT_GT(bytes.size(), 4U);
  EXPECT_EQ(static_cast<unsigned char>(bytes[0]), 0x81U);
  EXPECT_EQ(bytes[1], 126);
  const Value event = parse(std::string_view(bytes).substr(4));
  EXPECT_EQ(event["type"].str(), "ADDED");
  EXPECT_EQ(event["object"]["metadata"]["name"].str(), "svc");
}

}  // namespace
}  // namespace athanor::apiserver::backend_proxy_test
