// SPDX-License-Identifier: Apache-2.0
// Every field of a pod is in the table, and the table has no others.
#include "embedded/nodes/pod_fields.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>
#include <string>

#include "kube/schema/types.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::nodes::pod_fields_test {
namespace {

constexpr std::string_view kPrefix = "io.k8s.api.core.v1.";

// The named type of a field, of its items or values; empty: none of core/v1.
std::string type_of(SchemaPtr schema) {
  while (schema != nullptr && schema->name.empty() &&
         (schema->items != nullptr || schema->additional != nullptr)) {
    schema = schema->items != nullptr ? schema->items : schema->additional;
  }
  return schema != nullptr && schema->name.starts_with(kPrefix) &&
                 schema->type == SchemaType::Object
             ? schema->name.substr(kPrefix.size())
             : std::string();
}

TEST(PodFields, EachOfTheSchemaIsTreated) {
  constexpr const char* kNames[] = {"done", "done", "emulated", "refused", "noted"};
  std::map<std::string, int> counts;
  std::set<std::string> seen;
  std::vector<std::string> types{"PodSpec"};
  while (!types.empty()) {
    const std::string type = types.back();
    types.pop_back();
    if (!seen.insert(type).second) {
      continue;
    }
    const SchemaPtr schema = BuiltinTypes::get().by_name("core.v1." + type);
    ASSERT_NE(schema, nullptr) << type;
    for (const SchemaField& field : schema->fields) {
      const auto treatment = field_treatment(type, field.name);
      if (!treatment) {
        ADD_FAILURE() << type << "." << field.name << " is in no line of the table";
        continue;
      }
      ++counts[kNames[static_cast<std::size_t>(*treatment)]];
      std::cout << fmt::format("{}.{}: {}\n", type, field.name,
                               kNames[static_cast<std::size_t>(*treatment)]);
      const bool below =
          *treatment == FieldTreatment::Done || *treatment == FieldTreatment::Emulated;
      if (const std::string inner = type_of(field.schema); below && !inner.empty()) {
        types.push_back(inner);
      }
    }
  }
  for (const auto& [treatment, count] : counts) {
    std::cout << treatment << ": " << count << "\n";
  }
  EXPECT_GT(counts["done"], 100);
}

TEST(PodFields, TheTableHasNoOthers) {
  for (const std::string_view type : treated_types()) {
    const SchemaPtr schema = BuiltinTypes::get().by_name(fmt::format("core.v1.{}", type));
    ASSERT_NE(schema, nullptr) << type;
    for (const char* wrong : {"", "absent"}) {
      EXPECT_FALSE(field_treatment(type, wrong));
    }
    for (const std::string_view field : treated_fields(type)) {
      EXPECT_NE(schema->field(field), nullptr) << type << "." << field << " is no field";
    }
  }
  EXPECT_FALSE(field_treatment("PodSpecs", "containers"));
}

TEST(PodFields, NamesNotedFieldsThatAskForSomething) {
  const Value spec =
      yaml::parse(
          "{hostPID: true, hostIPC: false, hostUsers: true, dnsPolicy: ClusterFirst, "
          "runtimeClassName: kata, securityContext: {sysctls: [{name: a, value: b}]}, containers: "
          "[{name: c, securityContext: {procMount: Default, seLinuxOptions: {}}, lifecycle: "
          "{stopSignal: SIGINT}, ports: [{protocol: TCP}, {protocol: SCTP}], volumeMounts: "
          "[{mountPropagation: None}, {mountPropagation: "
          "Bidirectional}]}]}")
          .value();
  EXPECT_EQ(noted_fields(spec),
            (std::vector<std::string>{
                "spec.hostPID", "spec.runtimeClassName", "spec.securityContext.sysctls",
                "spec.containers[0].lifecycle.stopSignal", "spec.containers[0].ports[1].protocol",
                "spec.containers[0].volumeMounts[1].mountPropagation"}));
  EXPECT_EQ(noted_fields(yaml::parse("{hostUsers: false, containers: [{name: c}]}").value()),
            (std::vector<std::string>{"spec.hostUsers"}));
}

}  // namespace
}  // namespace athanor::nodes::pod_fields_test
