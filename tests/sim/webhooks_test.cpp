// SPDX-License-Identifier: Apache-2.0
// Objects of a wrong form reach no invariant: mutating webhooks leave them to the schema.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/describe.hpp"
#include "kube/text/json.hpp"
#include "product/list.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "simulation/world.hpp"

namespace athanor::sim {
namespace {

constexpr int kDepth = 3;

const std::vector<Value>& wrong_forms() {
  static const std::vector<Value> kForms{Value("text"),
                                         Value(7),
                                         Value(true),
                                         Value::list(),
                                         Value::list({Value("text")}),
                                         Value::object({{"text", "text"}}),
                                         Value::list({Value::object({{"metadata", "text"}})}),
                                         Value::object({{"metadata", "text"}, {"spec", "text"}})};
  return kForms;
}

// The document with `value` below `path`; lists have one item.
Value nested(const std::vector<std::string>& path, const Value& value) {
  Value result = value;
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    result = *step == "[]" ? Value::list({result}) : Value::object({{*step, result}});
  }
  return result;
}

void collect(const api::MemberOps& ops, std::vector<std::string> path, int depth,
             std::vector<std::vector<std::string>>& paths);

void collect(const api::TypeInfo& type, const std::vector<std::string>& path, int depth,
             std::vector<std::vector<std::string>>& paths) {
  for (const api::FieldInfo& field : type.fields) {
    std::vector<std::string> at = path;
    at.emplace_back(field.name);
    paths.push_back(at);
    if (field.ops != nullptr && depth > 0) {
      collect(*field.ops, at, depth - 1, paths);
    }
  }
}

void collect(const api::MemberOps& ops, std::vector<std::string> path, int depth,
             std::vector<std::vector<std::string>>& paths) {
  if (ops.shape == api::Shape::Object) {
    collect(ops.type(), path, depth, paths);
  } else if (ops.shape == api::Shape::List && ops.element != nullptr) {
    path.emplace_back("[]");
    paths.push_back(path);
    collect(*ops.element, path, depth, paths);
  }
}

// Where a wrong form is put: metadata, and every field of the kind down to a depth.
std::vector<std::vector<std::string>> places(const api::CustomKind& custom) {
  std::vector<std::vector<std::string>> paths{{"metadata", "labels"}, {"metadata", "annotations"}};
  collect(custom.versions.front().type(), {}, kDepth, paths);
  return paths;
}

TEST(Webhooks, LeaveWrongFormsToTheSchema) {
  Scene scene;
  for (const api::CustomKind* custom : kinds_of(all_systems())) {
    scene.objects.push_back(definition_of(*custom));
  }
  scene.admission = system_webhooks;
  World world(std::move(scene), 1);
  int number = 0;
  for (const api::CustomKind* custom : kinds_of(all_systems())) {
    for (const std::vector<std::string>& path : places(*custom)) {
      for (const Value& form : wrong_forms()) {
        Value object = nested(path, form);
        object.set("apiVersion",
                   fmt::format("{}/{}", custom->kind->group, custom->versions.front().name));
        object.set("kind", custom->kind->name);
        object.member("metadata").set("name", fmt::format("x{}", ++number));
        if (custom->kind->namespaced) {
          object.member("metadata").set("namespace", "default");
        }
        const auto made = world.create(object);
        EXPECT_TRUE(made.ok() || (made.error().code >= 400 && made.error().code < 500))
            << json::print(object) << "\n"
            << made.error().message;
      }
    }
  }
  EXPECT_GT(number, 1000);
}

}  // namespace
}  // namespace athanor::sim
