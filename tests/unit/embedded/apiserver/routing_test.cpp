// SPDX-License-Identifier: Apache-2.0
// Paths, methods, discovery, version and health (docs/spec/apiserver.md 3, 4).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::routing_test {
namespace {

using ::testing::HasSubstr;

struct Route {
  const char* line;
  int code;
  const char* text;  // plain text body, or the message of the Status
  bool plain = false;
};
class Routes : public ::testing::TestWithParam<Route> {};

TEST_P(Routes, Answer) {
  TestServer server;
  const Answer answer = server.call(GetParam().line, "{}");
  EXPECT_EQ(answer.status, GetParam().code) << answer.text;
  if (GetParam().plain) {
    EXPECT_EQ(answer.text, GetParam().text);
    EXPECT_EQ(answer.content_type, "text/plain; charset=utf-8");
  } else {
    EXPECT_EQ(answer.message(), GetParam().text);
    EXPECT_EQ(json::print(answer.value["details"]), "{}");
  }
}

constexpr const char* kUnknown = "the server could not find the requested resource";
constexpr const char* kMethod = "the server does not allow this method on the requested resource";
constexpr const char* kPage = "404 page not found\n";

INSTANTIATE_TEST_SUITE_P(
    Section3, Routes,
    ::testing::Values(Route{"GET /nope", 404, kPage, true},
                      Route{"GET /apis/nope.io", 404, kPage, true},
                      Route{"GET /apis/nope.io/v1/x", 404, kPage, true},
                      Route{"GET //api/v1", 404, kPage, true}, Route{"GET /api/v2", 404, kUnknown},
                      Route{"GET /api/v1/nopes", 404, kUnknown},
                      Route{"GET /apis/apps/v9", 404, kUnknown},
                      Route{"GET /apis/apps/v9/deployments", 404, kUnknown},
                      Route{"GET /api/v1/namespaces/tst/configmaps/a/nope", 404, kUnknown},
                      Route{"POST /api/v1/namespaces/tst/configmaps/a", 405, kMethod},
                      Route{"PUT /api/v1/namespaces/tst/configmaps", 405, kMethod},
                      Route{"POST /api/v1/configmaps", 405, kMethod},
                      Route{"DELETE /api/v1/configmaps", 405, kMethod},
                      Route{"DELETE /api/v1/namespaces", 405, kMethod},
                      Route{"OPTIONS /api/v1/namespaces/tst/configmaps", 405, kMethod},
                      Route{"GET /api/v1/namespaces/tst/bindings", 405, kMethod}));

TEST(Discovery, ListsGroupsInTheirOrder) {
  TestServer server;
  const Answer groups = server.get("/apis/");
  EXPECT_EQ(groups.value["kind"].as_string(), "APIGroupList");
  EXPECT_EQ(groups.value["groups"][0]["name"].as_string(), "apiregistration.k8s.io");
  EXPECT_EQ(groups.value["groups"][1]["name"].as_string(), "apps");
  const Value& autoscaling = groups.value["groups"][5];
  EXPECT_EQ(autoscaling["preferredVersion"]["groupVersion"].as_string(), "autoscaling/v2");
  const Answer api = server.get("/api");
  EXPECT_EQ(api.value["versions"], parse(R"(["v1"])"));
  EXPECT_FALSE(api.value.contains("apiVersion"));
}

TEST(Discovery, DescribesResources) {
  TestServer server;
  const Answer core = server.get("/api/v1/");
  EXPECT_FALSE(core.value.contains("apiVersion"));
  EXPECT_EQ(core.value["groupVersion"].as_string(), "v1");
  bool found = false;
  for (const Value& resource : core.value["resources"].items()) {
    if (resource["name"].as_string() == "pods/eviction") {
      found = true;
      EXPECT_EQ(resource["group"].as_string(), "policy");
      EXPECT_EQ(resource["version"].as_string(), "v1");
      EXPECT_EQ(resource["kind"].as_string(), "Eviction");
      EXPECT_EQ(resource["singularName"].as_string(), "");
    }
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(core.value["resources"][0]["name"].as_string(), "bindings");
}

TEST(Discovery, HasYamlAndProtobufForms) {
  TestServer server;
  const std::pair<const char*, const char*> documents[] = {{"/api", "APIVersions"},
                                                           {"/apis", "APIGroupList"},
                                                           {"/apis/apps", "APIGroup"},
                                                           {"/apis/apps/v1", "APIResourceList"},
                                                           {"/api/v1", "APIResourceList"}};
  for (const auto& [path, kind] : documents) {
    const std::string line = "GET " + std::string(path);
    const Answer yaml = server.call(line, "", {{"accept", "application/yaml, */*"}});
    EXPECT_EQ(yaml.content_type, "application/yaml") << path;
    EXPECT_NE(yaml.text.find("kind: " + std::string(kind) + "\n"), std::string::npos) << yaml.text;
    const Answer json = server.call(line, "", {{"accept", "application/json, application/yaml"}});
    EXPECT_EQ(json.content_type, "application/json") << path;
  }
  const Answer bytes =
      server.call("GET /apis", "", {{"accept", "application/vnd.kubernetes.protobuf"}});
  EXPECT_EQ(bytes.content_type, "application/vnd.kubernetes.protobuf");
  EXPECT_TRUE(bytes.text.starts_with(std::string_view("k8s\0", 4)));
}

TEST(Discovery, IsAggregatedOnRequest) {
  TestServer server;
  const std::string type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const Answer apis = server.call("GET /apis", "", {{"accept", type + ",application/json"}});
  EXPECT_EQ(apis.content_type, type);
  EXPECT_EQ(apis.value["kind"].as_string(), "APIGroupDiscoveryList");
  EXPECT_EQ(apis.header("Vary"), "Accept");
  EXPECT_EQ(apis.header("Cache-Control"), "public");
  const std::string tag = apis.header("Etag");
  EXPECT_NE(tag, "");
  const Answer same = server.call("GET /apis", "", {{"accept", type}, {"if-none-match", tag}});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.text, "");
  EXPECT_EQ(same.header("Etag"), tag);
  const Answer beta = server.call(
      "GET /apis", "",
      {{"accept", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"}});
  EXPECT_EQ(beta.status, 406);
  const Answer fallback =
      server.call("GET /apis", "",
                  {{"accept",
                    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
                    "application/json"}});
  EXPECT_EQ(fallback.value["kind"].as_string(), "APIGroupList");
}

TEST(Health, AnswersOkAndVerbose) {
  TestServer server;
  EXPECT_EQ(server.get("/healthz").text, "ok");
  EXPECT_EQ(server.get("/readyz/etcd").text, "ok");
  EXPECT_EQ(server.get("/livez/nope").status, 404);
  const Answer verbose = server.get("/readyz?verbose&exclude=ping&exclude=nope");
  EXPECT_THAT(verbose.text, HasSubstr("[+]ping excluded: ok\n"));
  EXPECT_THAT(verbose.text, HasSubstr("[+]shutdown ok\n"));
  EXPECT_THAT(verbose.text,
              HasSubstr("warn: some health checks cannot be excluded: no matches for \"nope\"\n"
                        "readyz check passed\n"));
}

TEST(Version, ParsesAsMinor35) {
  TestServer server;
  const Answer version = server.get("/version");
  EXPECT_EQ(version.value["minor"].as_string(), "35");
  EXPECT_THAT(version.value["gitVersion"].str(), ::testing::StartsWith("v1.35."));
}

}  // namespace
}  // namespace athanor::apiserver::routing_test
