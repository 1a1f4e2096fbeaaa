// SPDX-License-Identifier: Apache-2.0
#include "kube/openapi/openapi.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/schema/resources.hpp"
#include "kube/schema/types.hpp"
#include "kube/text/json.hpp"

namespace athanor::openapi_test {
namespace {

Value parse(std::string_view text) {
  Result<Value> value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return std::move(value).value();
}

Value builtin_document(std::string_view group, std::string_view version) {
  return openapi_document(group, version, builtin_openapi_resources(group, version));
}

const Value& component(const Value& document, std::string_view name) {
  return document.at({"components", "schemas", name});
}

// Every $ref of the document that names no component.
void dangling(const Value& value, const Value& schemas, std::vector<std::string>& found) {
  for (const Member& member : value.members()) {
    // JSONSchemaProps has a property of that name.
    if (member.key() == "$ref" && member.value.is_string()) {
      constexpr std::string_view kPrefix = "#/components/schemas/";
      const std::string_view target = member.value.as_string();
      if (!target.starts_with(kPrefix) || !schemas.contains(target.substr(kPrefix.size()))) {
        found.emplace_back(target);
      }
    }
    dangling(member.value, schemas, found);
  }
  for (const Value& item : value.items()) {
    dangling(item, schemas, found);
  }
}

TEST(OpenApi, EveryBuiltInDocumentIsClosed) {
  std::set<std::pair<std::string, std::string>> versions;
  for (const BuiltinResource& resource : builtin_resources()) {
    versions.emplace(resource.group, resource.version);
  }
  for (const auto& [group, version] : versions) {
    const Value document = builtin_document(group, version);
    std::vector<std::string> found;
    dangling(document, document.at({"components", "schemas"}), found);
    EXPECT_THAT(found, testing::IsEmpty()) << group;
    EXPECT_EQ(document["openapi"], Value("3.0.0"));
  }
}

TEST(OpenApi, ComponentsContainPatchExtensions) {
  const Value document = builtin_document("apps", "v1");
  const Value& deployment = component(document, "io.k8s.api.apps.v1.Deployment");
  EXPECT_EQ(deployment["x-kubernetes-group-version-kind"],
            parse(R"([{"group":"apps","kind":"Deployment","version":"v1"}])"));
  const Value& metadata = deployment["properties"]["metadata"];
  EXPECT_EQ(
      metadata["allOf"],
      parse(
          R"([{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}])"));
  EXPECT_EQ(metadata["default"], Value::object());
  EXPECT_FALSE(metadata["description"].as_string().empty());

  const Value& containers =
      component(document, "io.k8s.api.core.v1.PodSpec")["properties"]["containers"];
  EXPECT_EQ(containers["type"], Value("array"));
  EXPECT_EQ(containers["items"],
            parse(R"({"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.Container"}],
                      "default":{}})"));
  EXPECT_EQ(containers["x-kubernetes-list-type"], Value("map"));
  EXPECT_EQ(containers["x-kubernetes-list-map-keys"], parse(R"(["name"])"));
  EXPECT_EQ(containers["x-kubernetes-patch-strategy"], Value("merge"));
  EXPECT_EQ(containers["x-kubernetes-patch-merge-key"], Value("name"));
  EXPECT_EQ(component(document, "io.k8s.api.core.v1.PodSpec")["required"],
            parse(R"(["containers"])"));

  const Value& spec = component(document, "io.k8s.api.apps.v1.DeploymentSpec");
  EXPECT_EQ(spec["properties"]["replicas"]["format"], Value("int32"));
  EXPECT_FALSE(spec["properties"]["replicas"].contains("default"));
  EXPECT_EQ(spec["properties"]["strategy"]["x-kubernetes-patch-strategy"], Value("retainKeys"));
  EXPECT_EQ(component(document, "io.k8s.api.core.v1.ContainerPort")["properties"]["protocol"],
            parse(R"({"type":"string","description":"TCP, UDP or SCTP.","default":"TCP",
                      "enum":["SCTP","TCP","UDP"]})"));
  EXPECT_EQ(
      component(document,
                "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector")["x-kubernetes-map-type"],
      Value("atomic"));
  EXPECT_EQ(component(document, "io.k8s.apimachinery.pkg.util.intstr.IntOrString")["oneOf"],
            parse(R"([{"type":"integer"},{"type":"string"}])"));
}

TEST(OpenApi, PatchOperationsShowTheirParameters) {
  const Value document = builtin_document("apps", "v1");
  const Value& item = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"];
  const Value& patch = item["patch"];
  EXPECT_EQ(patch["x-kubernetes-action"], Value("patch"));
  EXPECT_EQ(patch["x-kubernetes-group-version-kind"],
            parse(R"({"group":"apps","kind":"Deployment","version":"v1"})"));
  std::vector<std::string> names;
  for (const Value& parameter : patch["parameters"].items()) {
    EXPECT_EQ(parameter["in"], Value("query"));
    names.push_back(parameter["name"].str());
  }
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("dryRun", "fieldManager", "fieldValidation", "force"));
  names.clear();
  for (const Value& parameter : item["parameters"].items()) {
    names.push_back(parameter["name"].str());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("name", "namespace", "pretty"));
}

TEST(OpenApi, EveryVerbHasItsOperation) {
  const Value document = builtin_document("", "v1");
  const Value& paths = document["paths"];
  const struct {
    std::string_view path, method, action;
  } cases[] = {
      {"/api/v1/pods", "get", "list"},
      {"/api/v1/namespaces/{namespace}/pods", "get", "list"},
      {"/api/v1/namespaces/{namespace}/pods", "post", "post"},
      {"/api/v1/namespaces/{namespace}/pods", "delete", "deletecollection"},
      {"/api/v1/namespaces/{namespace}/pods/{name}", "get", "get"},
      {"/api/v1/namespaces/{namespace}/pods/{name}", "put", "put"},
      {"/api/v1/namespaces/{namespace}/pods/{name}", "delete", "delete"},
      {"/api/v1/watch/namespaces/{namespace}/pods/{name}", "get", "watch"},
      {"/api/v1/watch/pods", "get", "watchlist"},
      {"/api/v1/namespaces/{namespace}/pods/{name}/exec", "post", "connect"},
      {"/api/v1/namespaces/{namespace}/pods/{name}/eviction", "post", "post"},
      {"/api/v1/namespaces/{namespace}/pods/{name}/status", "patch", "patch"},
      {"/api/v1/nodes/{name}", "get", "get"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(paths[c.path][c.method]["x-kubernetes-action"], Value(c.action)) << c.path;
  }
  EXPECT_FALSE(paths["/api/v1/namespaces/{namespace}/bindings"].contains("get"));
  EXPECT_EQ(paths["/api/v1/namespaces/{namespace}/pods/{name}/eviction"]["post"]
                 ["x-kubernetes-group-version-kind"],
            parse(R"({"group":"policy","kind":"Eviction","version":"v1"})"));
}

TEST(OpenApi, CustomResourcesKeepTheirSchema) {
  OpenApiResource widgets;
  widgets.plural = "widgets";
  widgets.kind = "Widget";
  widgets.verbs = {"get", "list", "create", "update", "patch", "delete", "watch"};
  widgets.subresources = {{.name = "status", .kind = "Widget", .verbs = {"get", "patch"}},
                          {.name = "scale",
                           .group = "autoscaling",
                           .version = "v1",
                           .kind = "Scale",
                           .verbs = {"get"}}};
  widgets.custom_schema = parse(R"({"type":"object","description":"A widget.","properties":{
      "apiVersion":{"type":"string"},"metadata":{"type":"object"},
      "spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{
        "size":{"type":"integer","minimum":1,"default":1},
        "template":{"type":"object","x-kubernetes-embedded-resource":true}}}}})");
  const Value document = openapi_document("ex.com", "v1", std::vector{widgets});
  const Value& widget = component(document, "com.ex.v1.Widget");
  EXPECT_EQ(widget["x-kubernetes-group-version-kind"],
            parse(R"([{"group":"ex.com","kind":"Widget","version":"v1"}])"));
  EXPECT_EQ(widget["description"], Value("A widget."));
  EXPECT_EQ(widget.at({"properties", "metadata", "allOf"})[0]["$ref"],
            Value("#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
  const Value& spec = widget["properties"]["spec"];
  EXPECT_EQ(spec["x-kubernetes-preserve-unknown-fields"], Value(true));
  EXPECT_EQ(spec["properties"]["size"], parse(R"({"type":"integer","minimum":1,"default":1})"));
  EXPECT_TRUE(spec["properties"]["template"]["properties"].contains("metadata"));
  EXPECT_EQ(component(document, "com.ex.v1.WidgetList")["properties"]["items"]["items"],
            parse(R"({"$ref":"#/components/schemas/com.ex.v1.Widget"})"));
  EXPECT_EQ(document.at({"paths", "/apis/ex.com/v1/namespaces/{namespace}/widgets/{name}/scale",
                         "get", "x-kubernetes-group-version-kind", "kind"}),
            Value("Scale"));
  const Value& patch_types =
      document.at({"paths", "/apis/ex.com/v1/namespaces/{namespace}/widgets/{name}", "patch",
                   "requestBody", "content"});
  EXPECT_TRUE(patch_types.contains("application/merge-patch+json"));
  EXPECT_FALSE(patch_types.contains("application/strategic-merge-patch+json"));
  std::vector<std::string> found;
  dangling(document, document.at({"components", "schemas"}), found);
  EXPECT_THAT(found, testing::IsEmpty());
}

TEST(OpenApi, CustomNamesReverseTheGroup) {
  EXPECT_EQ(openapi_custom_name("kueue.x-k8s.io", "v1beta1", "Workload"),
            "io.x-k8s.kueue.v1beta1.Workload");
}

}  // namespace
}  // namespace athanor::openapi_test
