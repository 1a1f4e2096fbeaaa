// SPDX-License-Identifier: Apache-2.0
// The table of fields of Services, claims and workloads, against the schema.
#include "embedded/lab/kind_fields.hpp"

#include <gtest/gtest.h>

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
  }
}

std::vector<std::string> warnings_of(std::string_view resource, const std::string& text) {
  std::vector<std::string> warnings;
  warn_of_fields(resource, yaml::parse(text).value(), warnings);
  return warnings;
}

TEST(KindFields, WarnOfFieldsWithoutEffect) {
  using List = std::vector<std::string>;
  EXPECT_EQ(warnings_of("services", "{spec: {loadBalancerClass: x, ports: [{port: 1}]}}"),
            List{"spec.loadBalancerClass: has no effect in this lab"});
  EXPECT_EQ(warnings_of("deployments.apps", "{spec: {template: {spec: {hostPID: true}}}}"),
            List{"spec.template.spec.hostPID: has no effect on emulated nodes"});
  EXPECT_EQ(warnings_of("pods", "{spec: {hostIPC: true}}"),
            List{"spec.hostIPC: has no effect on emulated nodes"});
  EXPECT_EQ(warnings_of("configmaps", "{spec: {hostIPC: true}}"), List{});
  EXPECT_EQ(warnings_of("services", "{spec: {healthCheckNodePort: 0, loadBalancerIP: ''}}"),
            List{});
}

}  // namespace
}  // namespace athanor::lab::kind_fields_test
