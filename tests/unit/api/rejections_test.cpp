// SPDX-License-Identifier: Apache-2.0
// What the API server answers bad input with (docs/spec/fournos.md 2.4), from the generated
// schemas.
#include <gtest/gtest.h>

#include "kube/schema/prune.hpp"
#include "kube/schema/structural_schema.hpp"
#include "kube/schema/validate.hpp"
#include "kube/text/yaml.hpp"
#include "product/list.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::api::rejections_test {
namespace {

StructuralSchema::Ptr schema_of(FournosApi api) {
  const Value crd = crd_manifest(fournos_job_crd(api));
  const auto schemas = parse_crd_schemas(crd["spec"]);
  EXPECT_TRUE(schemas.ok());
  return schemas->front().schema;
}

// The errors of an object with this spec, one a line.
std::string errors_of(FournosApi api, const std::string& members) {
  const auto schema = schema_of(api);
  const Value object = *yaml::parse(
      "{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: j}, " + members + "}");
  const auto normal =
      normalize_custom(object, *schema->root(), {.kind = "FournosJob", .version = "v1"});
  EXPECT_TRUE(normal.ok()) << members;
  std::string texts;
  for (const FieldError& error : validate(*normal, *schema->root())) {
    texts += (texts.empty() ? "" : "\n") + error.text();
  }
  return texts;
}

TEST(CustomKinds, EverySchemaIsAcceptedByTheApiServer) {
  for (const CustomKind* custom : kinds_of(all_systems())) {
    const Value crd = crd_manifest(*custom);
    const auto schemas = parse_crd_schemas(crd["spec"]);
    if (!schemas.ok()) {
      for (const FieldError& error : schemas.error()) {
        ADD_FAILURE() << crd["metadata"]["name"].str() << " " << error.text();
      }
    }
  }
  for (const FournosApi api : {FournosApi::Seed, FournosApi::Current}) {
    EXPECT_NE(schema_of(api), nullptr);
  }
}

TEST(FournosJobInput, RejectedWithTheStandardTexts) {
  const auto aut = FournosApi::Auto;
  EXPECT_EQ(errors_of(aut, "spec: {hardware: {}}"),
            "spec.hardware.gpuType: Required value\nspec.hardware.gpuCount: Required value");
  EXPECT_EQ(errors_of(aut, "spec: {hardware: {gpuType: a100, gpuCount: 0}}"),
            "spec.hardware.gpuCount: Invalid value: 0: spec.hardware.gpuCount in body should be "
            "greater than or equal to 1");
  EXPECT_EQ(errors_of(aut, "spec: {hardware: {gpuType: A100, gpuCount: 1}}"),
            "spec.hardware.gpuType: Invalid value: \"A100\": spec.hardware.gpuType in body should "
            "match '^[a-z0-9]+$'");
  EXPECT_EQ(errors_of(aut, "spec: {hardware: {gpuType: fournos/gpu-a100, gpuCount: 1}}"),
            "spec.hardware.gpuType: Invalid value: \"fournos/gpu-a100\": spec.hardware.gpuType in "
            "body should match '^[a-z0-9]+$'");
  EXPECT_EQ(
      errors_of(aut, "spec: {shutdown: Pause}"),
      "spec.shutdown: Unsupported value: \"Pause\": supported values: \"Stop\", \"Terminate\"");
  EXPECT_EQ(errors_of(aut, "spec: {env: {A: 1}}"),
            "spec.env.A: Invalid value: \"integer\": spec.env.A in body must be of type string: "
            "\"integer\"");
  EXPECT_EQ(errors_of(aut, "spec: {forge: {project: p}}"), "spec.forge.args: Required value");
  EXPECT_EQ(errors_of(aut, "status: {phase: Foo}"),
            "status.phase: Unsupported value: \"Foo\": supported values: \"Scheduled\", "
            "\"Recurring\", \"Resolving\", "
            "\"Pending\", \"Admitted\", \"Running\", \"Stopping\", \"Succeeded\", \"Failed\", "
            "\"Stopped\"");
  EXPECT_TRUE(errors_of(aut, "spec: {secretRefs: [Bad_Name]}")
                  .starts_with("spec.secretRefs[0]: Invalid value: \"Bad_Name\": "));
}

TEST(FournosJobInput, DialectsDiffer) {
  EXPECT_EQ(errors_of(FournosApi::Seed, "spec: {cluster: c}"), "spec.forge: Required value");
  EXPECT_EQ(errors_of(FournosApi::Seed, "metadata: {name: j}"), "");
  EXPECT_EQ(
      errors_of(FournosApi::Seed, "spec: {secretRefs: [Bad_Name], forge: {project: p, args: []}}"),
      "");
  EXPECT_EQ(
      errors_of(FournosApi::Current, "spec: {secretRefs: [Bad_Name]}"),
      "spec.secretRefs[0]: Invalid value: \"Bad_Name\": spec.secretRefs[0] in body should match "
      "'^[a-z0-9]([a-z0-9\\-]{0,61}[a-z0-9])?$'");
  EXPECT_EQ(errors_of(FournosApi::Auto, "spec: {cluster: c}"), "");
  EXPECT_EQ(
      errors_of(FournosApi::Auto, "spec: {secretRefs: [my.secret], forge: {project: p, args: []}}"),
      "");
}

TEST(FournosJobInput, DefaultsAndPruning) {
  const auto normal = [](FournosApi api, const std::string& spec) {
    const auto schema = schema_of(api);
    FieldIssues issues;
    Value object = *yaml::parse(
        "{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: j}, spec: " + spec + "}");
    return (*normalize_custom(object, *schema->root(), {.kind = "FournosJob", .version = "v1"},
                              &issues))["spec"];
  };
  EXPECT_EQ(normal(FournosApi::Auto, "{cluster: c, nope: 1}"),
            *yaml::parse("{cluster: c, pipeline: fournos-full, clusterless: false}"));
  EXPECT_EQ(
      normal(FournosApi::Seed, "{forge: {project: p, args: [], nope: 1}, shutdown: Stop}"),
      *yaml::parse("{forge: {project: p, args: []}, pipeline: fournos-full, exclusive: false}"));
  EXPECT_EQ(normal(FournosApi::Current, "{forge: {project: p, args: []}}"),
            *yaml::parse(
                "{pipeline: fournos-full, exclusive: true, clusterless: false, lockOnly: false}"));
  EXPECT_EQ(normal(FournosApi::Auto, "{executionEngine: {any: {thing: [1]}}}")["executionEngine"],
            *yaml::parse("{any: {thing: [1]}}"));
}

// docs/spec/hearth.md 2.6.
std::string cluster_errors(const std::string& members) {
  const auto schemas = parse_crd_schemas(crd_manifest(*hearth_kinds().front())["spec"]);
  const auto& root = *schemas->front().schema->root();
  const Value object = *yaml::parse(
      "{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: c}, " + members + "}");
  const auto normal = normalize_custom(object, root, {.kind = "FournosCluster", .version = "v1"});
  EXPECT_TRUE(normal.ok()) << members;
  std::string texts;
  for (const FieldError& error : validate(*normal, root)) {
    texts += (texts.empty() ? "" : "\n") + error.text();
  }
  return texts;
}

TEST(FournosClusterInput, RejectedWithTheStandardTexts) {
  EXPECT_EQ(cluster_errors("spec: {}"), "spec.kubeconfigSecret: Required value");
  for (const std::string text : {"10s", "", "4 h", "h", "1h30m", "-1h"}) {
    EXPECT_EQ(cluster_errors("spec: {kubeconfigSecret: s, ttl: \"" + text + "\"}"),
              "spec.ttl: Invalid value: \"" + text +
                  "\": spec.ttl in body should match '^[0-9]+(m|h|d)$'");
  }
  EXPECT_EQ(cluster_errors("spec: {kubeconfigSecret: s, gpuDiscoveryInterval: 90s}"),
            "spec.gpuDiscoveryInterval: Invalid value: \"90s\": spec.gpuDiscoveryInterval in body "
            "should match '^[0-9]+(m|h|d)$'");
  const std::string count =
      cluster_errors("spec: {kubeconfigSecret: s, hardware: {gpus: [{count: \"8\"}]}}");
  EXPECT_TRUE(count.starts_with("spec.hardware.gpus[0].count")) << count;
  EXPECT_NE(count.find("must be of type integer: \"string\""), std::string::npos) << count;
  EXPECT_EQ(cluster_errors("status: {kubeconfigStatus: Foo}"),
            "status.kubeconfigStatus: Unsupported value: \"Foo\": supported values: \"Valid\", "
            "\"Missing\", \"Invalid\", \"Unreachable\"");
  const std::string time = cluster_errors("status: {lockExpiresAt: soon}");
  EXPECT_NE(time.find("must be of type date-time: \"soon\""), std::string::npos) << time;
  const std::string condition = cluster_errors("status: {conditions: [{reason: r}]}");
  EXPECT_NE(condition.find("status.conditions[0].type: Required value"), std::string::npos);
}

TEST(FournosClusterInput, Accepted) {
  EXPECT_EQ(cluster_errors("spec: {kubeconfigSecret: s, ttl: 0m}"), "");
  EXPECT_EQ(cluster_errors("spec: {kubeconfigSecret: s, ttl: 999999999999d}"), "");
  EXPECT_EQ(cluster_errors("metadata: {name: c}"), "");
  EXPECT_EQ(cluster_errors("status: {lockExpiresAt: \"2026-05-04T10:00:00.123456+00:00\"}"), "");
}

}  // namespace
}  // namespace athanor::api::rejections_test
