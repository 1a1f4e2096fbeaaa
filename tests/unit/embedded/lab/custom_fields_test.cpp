// SPDX-License-Identifier: Apache-2.0
// The table of fields of the kinds of Tekton and Kueue, against their schemas: each field is in it,
// and whoever sets one without effect gets a warning with its path.
#include "embedded/lab/custom_fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "api/describe.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "embedded/kueue/rules/left_out.hpp"
#include "embedded/lab/kind_fields.hpp"
#include "embedded/tekton/model/ignored_fields.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::lab::custom_fields_test {
namespace {

using api::CustomKind;
using api::FieldInfo;
using api::MemberOps;
using api::Shape;
using api::TypeInfo;
using nodes::FieldTreatment;

constexpr const char* kNames[] = {"done", "done", "emulated", "refused", "noted"};

std::vector<const CustomKind*> all_kinds() {
  std::vector<const CustomKind*> kinds;
  for (const auto& list : {api::tekton_kinds(), api::kueue_kinds()}) {
    kinds.insert(kinds.end(), list.begin(), list.end());
  }
  return kinds;
}

// One field on the way down from the root of a kind.
struct Step {
  std::string name{};
  bool list = false;
};

struct Visit {
  const CustomKind* kind = nullptr;
  std::string type{};
  const FieldInfo* field = nullptr;
  std::vector<Step> path{};  // with the field itself
};

// The spec of a Task or a Pipeline, which other kinds hold as an object of any fields.
const TypeInfo* spec_of(const Kind& kind) {
  for (const CustomKind* custom : api::tekton_kinds()) {
    if (custom->kind == &kind) {
      return &custom->versions[0].type().fields[0].ops->type();
    }
  }
  return nullptr;
}

const TypeInfo* type_below(const FieldInfo& field) {
  if (field.name == "taskSpec") {
    return spec_of(api::kTask);
  }
  if (field.name == "pipelineSpec") {
    return spec_of(api::kPipeline);
  }
  const MemberOps* ops = field.ops;
  while (ops->shape == Shape::List || ops->shape == Shape::Map) {
    ops = ops->element;
  }
  return ops->shape == Shape::Object ? &ops->type() : nullptr;
}

// Calls `visit` for each field of a type and of the types below those that are done.
void walk(const Visit& at, std::string_view type_name, const TypeInfo& type,
          const std::function<void(const Visit&)>& visit) {
  for (const FieldInfo& field : type.fields) {
    if (at.path.empty() && field.name == "status") {
      continue;
    }
    Visit here = at;
    here.type = type_name;
    here.field = &field;
    here.path.push_back({std::string(field.name), field.ops->shape == Shape::List});
    visit(here);
    const auto treatment = custom_field(at.kind->kind->group, type_name, field.name);
    const TypeInfo* below = type_below(field);
    if (below != nullptr &&
        (treatment == FieldTreatment::Done || treatment == FieldTreatment::Emulated)) {
      walk(here, below->name, *below, visit);
    }
  }
}

TEST(CustomFields, TreatEachFieldOfTheSchemas) {
  std::set<std::string> printed;
  for (const CustomKind* kind : all_kinds()) {
    for (const api::VersionInfo& version : kind->versions) {
      walk({.kind = kind}, kind->kind->name, version.type(), [&](const Visit& at) {
        const auto treatment = custom_field(kind->kind->group, at.type, at.field->name);
        const std::string line =
            std::string(kind->kind->group) + "." + at.type + "." + std::string(at.field->name);
        if (!treatment) {
          ADD_FAILURE() << line << " is in no line of the table";
        } else if (printed.insert(line).second) {
          std::cout << line << ": " << kNames[static_cast<std::size_t>(*treatment)] << "\n";
        }
      });
    }
  }
  EXPECT_GT(printed.size(), 150U);
  for (const std::string& row : custom_fields()) {
    EXPECT_TRUE(printed.contains(row)) << row << " is no field";
  }
  EXPECT_FALSE(custom_field("tekton.dev", "TaskSpec", "absent"));
  EXPECT_FALSE(custom_field("kueue.x-k8s.io", "TaskSpec", "steps"));
}

Value sample_of(const FieldInfo& field) {
  switch (field.ops->shape) {
    case Shape::Boolean:
      return field.name != "hostUsers";  // true is what every pod has
    case Shape::Integer:
    case Shape::Number:
      return 2;
    case Shape::List:
      return Value::list({Value::object({{"name", "x"}})});
    case Shape::Any:
    case Shape::Object:
    case Shape::Map:
      return Value::object({{"name", "x"}});
    case Shape::String:
    case Shape::Time:
    case Shape::Quantity:
      break;
  }
  return "x";
}

// An object of a kind that sets one field, and the path of the field.
std::pair<Value, std::string> object_with(const Visit& at) {
  Value value = sample_of(*at.field);
  std::string path;
  for (auto step = at.path.rbegin(); step != at.path.rend(); ++step) {
    const bool leaf = step == at.path.rbegin();
    const bool listed = step->list && !leaf;
    path = step->name + (listed ? "[0]" : "") + (path.empty() ? "" : "." + path);
    value = Value::object({{step->name, listed ? Value::list({std::move(value)}) : value}});
  }
  value.set("kind", at.kind->kind->name);
  return {std::move(value), path};
}

TEST(CustomFields, WarnOfEachFieldWithoutEffect) {
  int noted = 0;
  for (const CustomKind* kind : all_kinds()) {
    const auto storage =
        std::ranges::find(kind->versions, true, [](const auto& one) { return one.storage; });
    walk({.kind = kind}, kind->kind->name, storage->type(), [&](const Visit& at) {
      if (custom_field(kind->kind->group, at.type, at.field->name) != FieldTreatment::Noted) {
        return;
      }
      ++noted;
      const auto [object, path] = object_with(at);
      std::vector<std::string> warnings = tekton::ignored_fields_of(object);
      std::ranges::move(kueue::left_out(object), std::back_inserter(warnings));
      warn_of_fields(std::string(kind->kind->plural) + "." + std::string(kind->kind->group), object,
                     warnings);
      EXPECT_EQ(warnings.size(), 1U) << kind->kind->name << " " << path;
      // "spec.debug has no effect", or "the topology request of spec.podSets[0] has no effect".
      const std::string holder = path.substr(0, path.find("].") + 1);
      EXPECT_TRUE(std::ranges::any_of(warnings,
                                      [&](const std::string& warning) {
                                        return warning.starts_with(path) ||
                                               (at.field->name == "topologyRequest" &&
                                                warning.find(holder) != std::string::npos);
                                      }))
          << kind->kind->name << " " << path << (warnings.empty() ? "" : ": " + warnings.front());
    });
  }
  EXPECT_GT(noted, 30);
}

TEST(CustomFields, WarnOfFieldsOfPodsInTasks) {
  const auto warnings = [](std::string_view resource, const std::string& text) {
    std::vector<std::string> found;
    warn_of_fields(resource, yaml::parse(text).value(), found);
    return found;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(warnings("pipelineruns.tekton.dev",
                     "{spec: {pipelineSpec: {tasks: [{taskSpec: {steps: [{}, {securityContext: "
                     "{procMount: Unmasked}}]}}]}}}"),
            List{"spec.pipelineSpec.tasks[0].taskSpec.steps[1].securityContext.procMount: has no "
                 "effect on emulated nodes"});
  EXPECT_EQ(warnings("stepactions.tekton.dev",
                     "{spec: {volumeMounts: [{mountPropagation: Bidirectional}]}}"),
            List{"spec.volumeMounts[0].mountPropagation: has no effect on emulated nodes"});
  EXPECT_EQ(warnings("taskruns.tekton.dev",
                     "{spec: {taskSpec: {sidecars: [{readinessProbe: {exec: {command: [up]}}, "
                     "lifecycle: {stopSignal: SIGINT}}]}}}"),
            List{"spec.taskSpec.sidecars[0].lifecycle.stopSignal: has no effect on emulated "
                 "nodes"});
  EXPECT_EQ(warnings("taskruns.tekton.dev",
                     "{spec: {podTemplate: {securityContext: {sysctls: "
                     "[{name: a, value: b}]}}}}"),
            List{"spec.podTemplate.securityContext.sysctls: has no effect on emulated nodes"});
}

}  // namespace
}  // namespace athanor::lab::custom_fields_test
