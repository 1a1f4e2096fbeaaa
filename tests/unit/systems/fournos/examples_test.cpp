// SPDX-License-Identifier: Apache-2.0
// The examples: each parses, uses declared fields alone, and the sample jobs run against the
// set-up.
#include <algorithm>
#include <filesystem>

#include "lab.hpp"
#include "support/source_dir/source_dir.hpp"

namespace athanor::fournos::examples_test {
namespace {

constexpr const char* kExampleNs = "fournos-local-dev";

std::vector<std::string> example_files(const std::string& folder) {
  std::vector<std::string> files;
  const std::string root = std::string(athanor::test::source_dir()) + "/examples/fournos";
  for (const auto& entry : std::filesystem::directory_iterator(root + folder)) {
    if (entry.path().extension() == ".yaml") {
      files.push_back("examples/fournos" + folder + "/" + entry.path().filename().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Value> documents(const std::string& file) {
  auto parsed = yaml::parse_all(read_file(file), {.strict = true});
  EXPECT_TRUE(parsed.ok()) << file;
  return parsed.ok() ? *parsed : std::vector<Value>();
}

// Every member is a declared property, below preserve-unknown-fields anything goes.
void expect_declared(const Value& schema, const Value& value, const std::string& path) {
  if (schema["x-kubernetes-preserve-unknown-fields"].as_bool() ||
      schema.contains("additionalProperties")) {
    return;
  }
  for (const Member& member : value.members()) {
    const Value* property = schema["properties"].find(member.key());
    const std::string at = path + "." + std::string(member.key());
    ASSERT_NE(property, nullptr) << at;
    if (at != ".metadata") {
      expect_declared(*property, member.value, at);
    }
  }
}

class Examples : public Lab {
 protected:
  Examples() {
    configure({{"FOURNOS_NAMESPACE", kExampleNs}});
    for (const std::string& file : example_files("/setup")) {
      for (const Value& document : documents(file)) {
        world.put(document);
      }
    }
  }
};

TEST_F(Examples, SetUpIsTheDevelopmentSet) {
  const Object queue = world.must(api::kueue::kClusterQueue, {"", "fournos-queue"});
  const Value& group = queue.spec()["resourceGroups"][0];
  ASSERT_EQ(group["flavors"].size(), 4U);
  for (const Value& flavor : group["flavors"].items()) {
    EXPECT_TRUE(world.has(api::kueue::kResourceFlavor, {"", flavor["name"].str()}));
    for (std::size_t i = 0; i < group["coveredResources"].size(); ++i) {
      EXPECT_EQ(flavor["resources"][i]["name"], group["coveredResources"][i]);
    }
    EXPECT_TRUE(world.has(api::kSecret, {kExampleNs, flavor["name"].str() + "-kubeconfig"}));
  }
  EXPECT_EQ(world.must(api::kNamespace, {"", kExampleNs}).label("fournos.dev/queue-access"),
            "true");
}

TEST_F(Examples, PassSevenParametersToExistingTasks) {
  for (const char* name : {"fournos-full", "fournos-run-only", "fournos-validate-only",
                           "forge-full", "forge-test-only"}) {
    SCOPED_TRACE(name);
    const Object pipeline = world.must(api::kPipeline, {kExampleNs, name});
    EXPECT_EQ(pipeline.spec()["params"].size(), 7U);
    for (const char* list : {"tasks", "finally"}) {
      for (const Value& task : pipeline.spec()[list].items()) {
        const Object used = world.must(api::kTask, {kExampleNs, task["taskRef"]["name"].str()});
        ASSERT_EQ(used.spec()["params"].size(), task["params"].size());
        for (std::size_t i = 0; i < task["params"].size(); ++i) {
          EXPECT_EQ(used.spec()["params"][i]["name"], task["params"][i]["name"]);
        }
      }
    }
  }
}

TEST_F(Examples, JobsRun) {
  const Value schema = api::crd_manifest(api::fournos_job_crd(
      api::FournosApi::Auto))["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
  int number = 0;
  for (const std::string& file : example_files("")) {
    SCOPED_TRACE(file);
    Value job = documents(file).at(0);
    if (job["kind"].as_string() != "FournosJob") {
      continue;  // a lab file
    }
    expect_declared(schema, job, "");
    EXPECT_FALSE(job["metadata"]["generateName"].as_string().empty());
    const Key name{kExampleNs, job["metadata"]["generateName"].str() + std::to_string(number++)};
    job.set_path({"metadata", "name"}, name.name);
    world.put(job);
    settle();
    const api::FournosJob stored = world.read<api::FournosJob>(name);
    EXPECT_EQ(stored.status.phase,
              stored.spec.scheduled_start_time.empty() ? "Pending" : "Scheduled")
        << stored.status.message;
    EXPECT_TRUE(world.has(api::kPipeline, {kExampleNs, stored.spec.pipeline}));
  }
}

}  // namespace
}  // namespace athanor::fournos::examples_test
