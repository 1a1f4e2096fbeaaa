// SPDX-License-Identifier: Apache-2.0
#include "kube/openapi/openapi_v2.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kube/openapi/openapi.hpp"
#include "kube/text/json.hpp"

namespace athanor::openapi_v2_test {
namespace {

Value document() {
  const auto core = builtin_openapi_resources("", "v1");
  const auto apps = builtin_openapi_resources("apps", "v1");
  const std::vector<Value> documents = {openapi_document("", "v1", core),
                                        openapi_document("apps", "v1", apps)};
  return openapi_v2_document(documents);
}

TEST(OpenApiV2, SchemasMoveToDefinitions) {
  const Value swagger = document();
  EXPECT_EQ(swagger["swagger"].as_string(), "2.0");
  const Value& definitions = swagger["definitions"];
  const Value& deployment = definitions["io.k8s.api.apps.v1.Deployment"];
  EXPECT_EQ(deployment["x-kubernetes-group-version-kind"][0]["kind"].as_string(), "Deployment");
  EXPECT_EQ(deployment["properties"]["spec"]["$ref"].as_string(),
            "#/definitions/io.k8s.api.apps.v1.DeploymentSpec");
  EXPECT_FALSE(deployment["properties"]["spec"]["description"].as_string().empty());
  const Value& containers = definitions["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
  EXPECT_EQ(containers["x-kubernetes-patch-merge-key"].as_string(), "name");
  EXPECT_EQ(containers["items"]["$ref"].as_string(), "#/definitions/io.k8s.api.core.v1.Container");
  EXPECT_EQ(definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["type"].as_string(),
            "string");
}

// No part of version 3 is left, and every reference leads somewhere.
TEST(OpenApiV2, IsSwaggerThroughout) {
  const Value swagger = document();
  const Value& definitions = swagger["definitions"];
  std::size_t references = 0;
  const std::function<void(const Value&)> check = [&](const Value& value) {
    if (value.is_list()) {
      for (const Value& item : value.items()) {
        check(item);
      }
    }
    if (!value.is_object()) {
      return;
    }
    for (const Member& member : value.members()) {
      if (member.key() == "$ref" && member.value.is_string()) {
        const std::string name = member.value.str().substr(std::string("#/definitions/").size());
        EXPECT_TRUE(definitions.contains(name)) << name;
        ++references;
      }
      check(member.value);
    }
  };
  check(swagger);
  EXPECT_GT(references, 1000U);
}

TEST(OpenApiV2, OperationsCarryTheirBodiesAsParameters) {
  const Value swagger = document();
  const Value& post = swagger["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["post"];
  const Value& parameters = post["parameters"];
  bool body = false;
  bool dry_run = false;
  for (const Value& parameter : parameters.items()) {
    EXPECT_FALSE(parameter["name"].as_string().empty());
    if (parameter["in"].as_string() == "body") {
      body = true;
      EXPECT_EQ(parameter["schema"]["$ref"].as_string(),
                "#/definitions/io.k8s.api.apps.v1.Deployment");
    } else if (parameter["name"].as_string() == "dryRun") {
      dry_run = true;
      EXPECT_EQ(parameter["type"].as_string(), "string");
    }
  }
  EXPECT_TRUE(body);
  EXPECT_TRUE(dry_run);
  EXPECT_EQ(post["responses"]["201"]["schema"]["$ref"].as_string(),
            "#/definitions/io.k8s.api.apps.v1.Deployment");
  EXPECT_EQ(post["x-kubernetes-action"].as_string(), "post");
  EXPECT_FALSE(post.contains("requestBody"));
}

std::string v2_of(std::string_view schema) {
  return json::print(openapi_v2_schema(*json::parse(schema)));
}

// kubectl forbids what version 2 does not name.
TEST(OpenApiV2, NamesNothingBesideUnknownFields) {
  EXPECT_EQ(v2_of(R"({"type":"object","properties":{"kind":{"type":"string"}},"required":["spec"],
                      "x-kubernetes-preserve-unknown-fields":true,
                      "x-kubernetes-group-version-kind":[{"kind":"Any"}]})"),
            R"({"type":"object","x-kubernetes-group-version-kind":[{"kind":"Any"}]})");
  EXPECT_EQ(v2_of(R"({"type":"object","properties":{"spec":{"type":"object","description":"d",
                      "properties":{"a":{"type":"string"}},
                      "x-kubernetes-preserve-unknown-fields":true}}})"),
            R"({"type":"object","properties":{"spec":{"description":"d",)"
            R"("x-kubernetes-preserve-unknown-fields":true}}})");
}

TEST(OpenApiV2, LeavesNullableValuesUntyped) {
  EXPECT_EQ(v2_of(R"({"type":"object","required":["a","b"],"properties":{
                      "a":{"type":"array","nullable":true,"items":{"type":"string"}},
                      "b":{"type":"string"}}})"),
            R"({"type":"object","required":["b"],"properties":{"a":{},"b":{"type":"string"}}})");
}

}  // namespace
}  // namespace athanor::openapi_v2_test
