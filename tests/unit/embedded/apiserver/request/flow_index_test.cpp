// SPDX-License-Identifier: Apache-2.0
// Which FlowSchema a request is classed under, and the headers that say so (docs/spec/apiserver.md
// 2.4).
#include "embedded/apiserver/request/flow_index.hpp"

#include <gtest/gtest.h>

#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::flow_index_test {
namespace {

constexpr std::string_view kGroup = "/apis/flowcontrol.apiserver.k8s.io/v1/";
constexpr const char* kSchemaHeader = "X-Kubernetes-Pf-Flowschema-Uid";
constexpr const char* kLevelHeader = "X-Kubernetes-Pf-Prioritylevel-Uid";

class Flows : public testing::Test {
 protected:
  Flows() {
    level_ = make("prioritylevelconfigurations", "own-level", R"({"type":"Exempt"})");
    make("flowschemas", "own-maps",
         R"({"matchingPrecedence":3,"priorityLevelConfiguration":{"name":"own-level"},
             "rules":[{"subjects":[{"kind":"Group","group":{"name":"devs"}}],
                       "resourceRules":[{"verbs":["get","list"],"apiGroups":[""],
                                         "resources":["configmaps"],"namespaces":["tst"]}]}]})");
    paths_ = make("flowschemas", "own-paths",
                  R"({"matchingPrecedence":4,"priorityLevelConfiguration":{"name":"own-level"},
             "rules":[{"subjects":[{"kind":"User","user":{"name":"*"}}],
                       "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["/version*"]}]}]})");
  }

  // Its uid.
  std::string make(std::string_view plural, std::string_view name, std::string_view spec) {
    const Answer made = server_.post(
        std::string(kGroup) + std::string(plural),
        Value::object({{"metadata", Value::object({{"name", name}})}, {"spec", parse(spec)}}));
    EXPECT_EQ(made.status, 201) << made.message();
    return made.value["metadata"]["uid"].str();
  }
  // The header of an answer to jane, one of the devs.
  std::string header(std::string_view path, std::string_view name = kSchemaHeader) {
    Request request;
    request.method = "GET";
    request.path = std::string(path);
    request.credentials.certificate =
        Credentials::Certificate{.common_name = "jane", .organizations = {"devs"}};
    const Response response = server_.server().handle(request, server_.now());
    for (const auto& [key, value] : response.headers) {
      if (key == name) {
        return value;
      }
    }
    return {};
  }
  std::string uid_of(std::string_view name) {
    return server_.get(std::string(kGroup) + "flowschemas/" + std::string(name))
        .value["metadata"]["uid"]
        .str();
  }

  TestServer server_{};
  std::string level_{};
  std::string paths_{};
};

TEST_F(Flows, AreNamedInTheAnswer) {
  EXPECT_EQ(header("/api/v1/namespaces/tst/configmaps"), uid_of("own-maps"));
  EXPECT_EQ(header("/api/v1/namespaces/tst/configmaps", kLevelHeader), level_);
  EXPECT_EQ(header("/version"), paths_);
}

TEST_F(Flows, ThatDoNotMatchAreNotNamed) {
  EXPECT_EQ(header("/api/v1/namespaces/default/configmaps"), uid_of("global-default"));
  EXPECT_EQ(header("/api/v1/configmaps"), uid_of("global-default"));
  EXPECT_EQ(header("/healthz"), uid_of("probes"));
  EXPECT_EQ(server_.get("/version").header(kSchemaHeader), uid_of("exempt"));
}

TEST_F(Flows, ChangesCountAtOnce) {
  server_.patch(std::string(kGroup) + "flowschemas/own-paths", "merge",
                R"({"spec":{"rules":[{"subjects":[{"kind":"User","user":{"name":"joe"}}],
                    "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}})");
  EXPECT_EQ(header("/version"), uid_of("global-default"));
}

}  // namespace
}  // namespace athanor::apiserver::flow_index_test
