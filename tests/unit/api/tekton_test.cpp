// SPDX-License-Identifier: Apache-2.0
// The Tekton CRDs as docs/spec/tekton.md 2 and 3 want them.
#include "api/tekton.hpp"

#include <gtest/gtest.h>

#include <map>

#include "kube/text/json.hpp"

namespace athanor::api::tekton_test {
namespace {

std::map<std::string, Value> manifests() {
  std::map<std::string, Value> all;
  for (const CustomKind* custom : tekton_kinds()) {
    all[std::string(custom->kind->name)] = crd_manifest(*custom);
  }
  return all;
}

TEST(TektonKinds, AreServedAsTektonServesThem) {
  const auto all = manifests();
  ASSERT_EQ(all.size(), 8U);
  const Value& run = all.at("PipelineRun");
  EXPECT_EQ(run.at({"metadata", "name"}), Value("pipelineruns.tekton.dev"));
  EXPECT_EQ(run.at({"spec", "names", "shortNames"}), json::parse(R"j(["pr","prs"])j").value());
  EXPECT_EQ(run.at({"spec", "names", "categories"}),
            json::parse(R"j(["tekton","tekton-pipelines"])j").value());
  const Value& versions = run["spec"]["versions"];
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0]["name"], Value("v1"));
  EXPECT_TRUE(versions[0]["storage"].as_bool());
  EXPECT_FALSE(versions[1]["storage"].as_bool());
  EXPECT_TRUE(versions[1]["served"].as_bool());
  EXPECT_EQ(versions[0]["additionalPrinterColumns"].size(), 4U);
  EXPECT_EQ(all.at("StepAction")["spec"]["versions"][0]["name"], Value("v1beta1"));
  EXPECT_EQ(all.at("ResolutionRequest").at({"spec", "group"}), Value("resolution.tekton.dev"));
}

TEST(TektonKinds, KnowExactlyTheFieldsTheyKeep) {
  const Value manifest = manifests().at("PipelineRun");
  const Value& spec = manifest["spec"]["versions"][0].at(
      {"schema", "openAPIV3Schema", "properties", "spec", "properties"});
  EXPECT_TRUE(spec["pipelineSpec"]["x-kubernetes-preserve-unknown-fields"].as_bool());
  // Fournos sends taskRunTemplate.metadata; it is pruned.
  const Value& task_run_template = spec.at({"taskRunTemplate", "properties"});
  EXPECT_EQ(task_run_template.size(), 2U);
  EXPECT_FALSE(task_run_template.contains("metadata"));
  EXPECT_TRUE(
      spec.at({"params", "items", "properties", "value"})["x-kubernetes-preserve-unknown-fields"]
          .as_bool());
}

}  // namespace
}  // namespace athanor::api::tekton_test
