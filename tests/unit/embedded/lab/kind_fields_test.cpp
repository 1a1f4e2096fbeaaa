// SPDX-License-Identifier: Apache-2.0
// The table of fields of Services, claims and workloads, against the schema.
#include "embedded/lab/kind_fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "kube/schema/types.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::lab::kind_fields_test {
namespace {

using nodes::FieldTreatment;

TEST(KindFields, TreatEachFieldOfTheSchema) {
  constexpr const char* kNames[] = {"done", "done", "emulated", "refused", "noted"};
  for (const std::string_view type : kind_types()) {
    const SchemaPtr schema = BuiltinTypes::get().by_name(std::string(type));
    ASSERT_NE(schema, nullptr) << type;
    ASSERT_FALSE(schema->fields.empty()) << type;
    for (const SchemaField& field : schema->fields) {
      const auto treatment = kind_field(type, field.name);
      ASSERT_TRUE(treatment) << type << "." << field.name << " is in no line of the table";
      std::cout << type << "." << field.name << ": " << kNames[static_cast<std::size_t>(*treatment)]
                << "\n";
    }
    EXPECT_FALSE(kind_field(type, "absent"));
    for (const std::string_view field : kind_fields(type)) {
      EXPECT_NE(schema->field(field), nullptr) << type << "." << field << " is no field";
    }
  }
}

std::vector<std::string> warnings_of(std::string_view resource, const std::string& text) {
  std::vector<std::string> warnings;
  warn_of_fields(resource, yaml::parse(text).value(), warnings);
  return warnings;
}

// The type of a field, of its items or values: "resource.v1.Device"; empty: it has no name.
std::string type_name_below(SchemaPtr schema) {
  constexpr std::string_view kPrefix = "io.k8s.api.";
  while (schema != nullptr && schema->name.empty()) {
    schema = schema->items != nullptr ? schema->items : schema->additional;
  }
  return schema != nullptr && schema->name.starts_with(kPrefix) &&
                 schema->type == SchemaType::Object
             ? schema->name.substr(kPrefix.size())
             : std::string();
}

TEST(KindFields, TreatEachTypeBelowTheirKinds) {
  const auto types = kind_types();
  for (const std::string_view type : types) {
    for (const SchemaField& field : BuiltinTypes::get().by_name(type)->fields) {
      const std::string below = type_name_below(field.schema);
      const auto treatment = kind_field(type, field.name);
      if (!below.empty() &&
          (treatment == FieldTreatment::Done || treatment == FieldTreatment::Emulated)) {
        EXPECT_TRUE(std::ranges::find(types, below) != types.end()) << below;
      }
    }
  }
}

TEST(KindFields, WarnOfFieldsWithoutEffect) {
  using List = std::vector<std::string>;
  EXPECT_EQ(warnings_of("services", "{spec: {loadBalancerClass: x, ports: [{port: 1}]}}"),
            List{"spec.loadBalancerClass: has no effect in this lab"});
  EXPECT_EQ(warnings_of("deployments.apps", "{spec: {template: {spec: {hostPID: true}}}}"),
            List{"spec.template.spec.hostPID: has no effect on emulated nodes"});
  EXPECT_EQ(warnings_of("statefulsets.apps",
                        "{spec: {volumeClaimTemplates: [{spec: {dataSource: {name: x}}}]}}"),
            List{"spec.volumeClaimTemplates[0].spec.dataSource: has no effect in this lab"});
  EXPECT_EQ(warnings_of("services", "{spec: {ports: [{port: 1}, {port: 2, protocol: SCTP}]}}"),
            List{"spec.ports[1].protocol: SCTP is not served in this lab"});
  EXPECT_EQ(warnings_of("deployments.apps",
                        "{spec: {template: {spec: {containers: [{ports: [{containerPort: 1, "
                        "protocol: SCTP}]}]}}}}"),
            List{"spec.template.spec.containers[0].ports[0].protocol: has no effect on emulated "
                 "nodes"});
  EXPECT_EQ(warnings_of("pods", "{spec: {hostIPC: true}}"),
            List{"spec.hostIPC: has no effect on emulated nodes"});
  EXPECT_EQ(warnings_of("configmaps", "{spec: {hostIPC: true}}"), List{});
  EXPECT_EQ(warnings_of("resourceslices.resource.k8s.io",
                        "{spec: {devices: [{name: a}, {allowMultipleAllocations: true, capacity: "
                        "{memory: {value: 1, requestPolicy: {default: 1}}}}]}}"),
            (List{"spec.devices[1].allowMultipleAllocations: has no effect in this lab",
                  "spec.devices[1].capacity[memory].requestPolicy: has no effect in this lab"}));
  EXPECT_EQ(warnings_of("resourceclaimtemplates.resource.k8s.io",
                        "{spec: {spec: {devices: {requests: [{firstAvailable: [{tolerations: "
                        "[{tolerationSeconds: 5}]}]}]}}}}"),
            List{"spec.spec.devices.requests[0].firstAvailable[0].tolerations[0]."
                 "tolerationSeconds: has no effect in this lab"});
  EXPECT_EQ(warnings_of("services", "{spec: {healthCheckNodePort: 0, loadBalancerIP: ''}}"),
            List{});
}

TEST(KindFields, WarnOfPodsOfWrappedKinds) {
  struct Case {
    const char* resource = "";
    const char* object = "";
    std::vector<const char*> paths{};
  };
  const std::vector<Case> cases{
      {"replicationcontrollers",
       "{spec: {template: {spec: {hostPID: true}}}}",
       {"spec.template.spec"}},
      {"podtemplates", "{template: {spec: {hostPID: true}}}", {"template.spec"}},
      {"jobsets.jobset.x-k8s.io",
       "{spec: {replicatedJobs: [{}, {template: {spec: {template: {spec: {hostPID: true}}}}}]}}",
       {"spec.replicatedJobs[1].template.spec.template.spec"}},
      {"leaderworkersets.leaderworkerset.x-k8s.io",
       "{spec: {leaderWorkerTemplate: {leaderTemplate: {spec: {hostPID: true}}, workerTemplate: "
       "{spec: {hostPID: true}}}}}",
       {"spec.leaderWorkerTemplate.leaderTemplate.spec",
        "spec.leaderWorkerTemplate.workerTemplate.spec"}},
      {"pytorchjobs.kubeflow.org",
       "{spec: {pytorchReplicaSpecs: {Master: {template: {spec: {hostPID: true}}}, Worker: "
       "{template: {spec: {hostIPC: false}}}}}}",
       {"spec.pytorchReplicaSpecs[Master].template.spec"}},
      {"rayclusters.ray.io",
       "{spec: {headGroupSpec: {template: {spec: {hostPID: true}}}, workerGroupSpecs: [{template: "
       "{spec: {hostPID: true}}}]}}",
       {"spec.headGroupSpec.template.spec", "spec.workerGroupSpecs[0].template.spec"}},
      {"rayjobs.ray.io",
       "{spec: {rayClusterSpec: {headGroupSpec: {template: {spec: {hostPID: true}}}, "
       "workerGroupSpecs: [{template: {spec: {hostPID: true}}}]}}}",
       {"spec.rayClusterSpec.headGroupSpec.template.spec",
        "spec.rayClusterSpec.workerGroupSpecs[0].template.spec"}}};
  for (const Case& c : cases) {
    std::vector<std::string> wanted;
    for (const char* path : c.paths) {
      wanted.push_back(std::string(path) + ".hostPID: has no effect on emulated nodes");
    }
    EXPECT_EQ(warnings_of(c.resource, c.object), wanted) << c.resource;
    EXPECT_EQ(warnings_of(c.resource, "{spec: x, template: [y]}"), std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace athanor::lab::kind_fields_test
