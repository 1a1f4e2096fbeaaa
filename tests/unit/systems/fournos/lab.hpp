// SPDX-License-Identifier: Apache-2.0
// A FakeWorld with the Kueue set and the pipelines of docs/spec/fournos.md 17 and 18, and hands for
// Kueue and Tekton.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <initializer_list>
#include <sstream>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "support/fake_world.hpp"
#include "support/source_dir/source_dir.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::fournos {

inline constexpr const char* kNs = "bench";

inline Value yaml_value(std::string_view text) {
  auto value = yaml::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *value : Value();
}

inline std::string read_file(const std::string& relative) {
  std::ifstream file(std::string(athanor::test::source_dir()) + "/" + relative);
  EXPECT_TRUE(file.good()) << relative;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Lab : public testing::Test {
 protected:
  Lab() {
    configure({});
    for (const char* name : {"cluster-1", "cluster-2", "cluster-3", "cluster-4"}) {
      put("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: " +
          std::string(name) + "}");
    }
    put(R"({apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: fournos-queue},
      spec: {resourceGroups: [{coveredResources: [fournos/gpu-a100, fournos/gpu-h200, fournos/cluster-slot]}]}})");
    put(R"({apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: manual}, value: 200})");
  }

  void configure(const std::map<std::string, std::string>& more) {
    std::map<std::string, std::string> environment = more;
    environment.emplace("FOURNOS_NAMESPACE", kNs);
    const auto settings = parse_settings(environment);
    ASSERT_TRUE(settings.ok()) << settings.error().message;
    world.configure("fournos", api::encode(*settings));
  }

  Object put(std::string_view text) { return world.put(yaml_value(text)); }

  // A FournosJob with this spec (YAML), seen by the operator.
  void submit(const std::string& name, std::string_view spec) {
    Value job = Value::object({{"apiVersion", "fournos.dev/v1"}, {"kind", "FournosJob"}});
    job.set_path({"metadata", "name"}, name);
    job.set_path({"metadata", "namespace"}, kNs);
    if (!spec.empty()) {
      job.set("spec", yaml_value(spec));
    }
    world.put(job);
    settle();
  }

  void settle() {
    std::vector<const Operator*> all(fournos_operators().begin(), fournos_operators().end());
    world.settle(all);
  }
  void settle_for(Duration duration) {
    std::vector<const Operator*> all(fournos_operators().begin(), fournos_operators().end());
    world.settle_for(all, duration);
  }

  static Key key(const std::string& name) { return {kNs, name}; }
  Value status(const std::string& name) { return world.must(api::kFournosJob, key(name)).status(); }
  std::string phase(const std::string& name) { return status(name)["phase"].str(); }
  std::string message(const std::string& name) { return status(name)["message"].str(); }
  // "False/Pending text", or "" when absent.
  std::string condition(const std::string& name, std::string_view type) {
    const Value entry = world.condition(api::kFournosJob, key(name), type);
    return entry.is_null()
               ? std::string()
               : entry["status"].str() + "/" + entry["reason"].str() + " " + entry["message"].str();
  }
  bool has_workload(const std::string& name) { return world.has(api::kueue::kWorkload, key(name)); }
  bool has_run(const std::string& name) { return world.has(api::kPipelineRun, key(name)); }
  Object workload(const std::string& name) { return world.must(api::kueue::kWorkload, key(name)); }
  Object run(const std::string& name) { return world.must(api::kPipelineRun, key(name)); }

  // Kueue's hand: one condition of the Workload.
  void workload_says(const std::string& name, std::string_view type, std::string_view truth,
                     std::string_view reason, std::string_view text) {
    world.update(api::kueue::kWorkload, key(name), [&](Value& object) {
      Value conditions = object["status"]["conditions"];
      set_condition(conditions,
                    {.type = std::string(type),
                     .status = std::string(truth),
                     .reason = std::string(reason),
                     .message = std::string(text)},
                    world.now);
      object.set_path({"status", "conditions"}, conditions);
    });
    settle();
  }
  void admit(const std::string& name, const std::string& cluster) {
    world.update(api::kueue::kWorkload, key(name), [&](Value& object) {
      Value status = yaml_value(R"({conditions: [{type: QuotaReserved, status: "True"},
          {type: Admitted, status: "True", reason: Admitted, message: The workload is admitted}]})");
      Value assignment = Value::object({{"name", "launcher"}});
      assignment.set_path({"flavors", "fournos/cluster-slot"}, cluster);
      status.set_path({"admission", "podSetAssignments"}, Value::list({assignment}));
      object.set("status", status);
    });
    settle();
  }
  // Tekton's hand: the Succeeded condition.
  void run_says(const std::string& name, std::string_view truth, std::string_view text, bool over) {
    world.update(api::kPipelineRun, key(name), [&](Value& object) {
      Value entry = Value::object({{"type", "Succeeded"}, {"status", truth}, {"message", text}});
      object.set_path({"status", "conditions"}, Value::list({entry}));
      if (over) {
        object.set_path({"status", "completionTime"}, format_time(world.now));
      }
    });
    settle();
  }
  void start(const std::string& name, std::string_view spec,
             const std::string& cluster = "cluster-1") {
    submit(name, spec);
    admit(name, cluster);
    ASSERT_EQ(phase(name), "Running") << message(name);
  }

  // The phases written for a job, in order, without repeats.
  std::string phases(const std::string& name) {
    std::string all;
    std::string last;
    for (const Value& body : status_writes(name)) {
      const std::string next = body["phase"].str();
      if (!next.empty() && next != last) {
        all += (all.empty() ? "" : " ") + next;
        last = next;
      }
    }
    return all;
  }
  // What was written to a job's status, in order.
  std::vector<Value> status_writes(const std::string& name) const {
    std::vector<Value> bodies;
    for (const test::Write& write : world.writes) {
      if (write.verb == "status" && write.kind == "FournosJob" && write.key == key(name).text()) {
        bodies.push_back(write.body);
      }
    }
    return bodies;
  }
  std::size_t write_count() const { return world.writes.size(); }

  test::FakeWorld world;
};

inline constexpr const char* kShared = "{cluster: cluster-1, forge: {project: mix, args: [long]}}";

}  // namespace athanor::fournos
