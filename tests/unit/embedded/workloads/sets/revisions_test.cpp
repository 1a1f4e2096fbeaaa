// SPDX-License-Identifier: Apache-2.0
// Which revision stands for a template, and which number it has.
#include "embedded/workloads/sets/revisions.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::workloads::revisions_test {
namespace {

Object owner() {
  return Object(yaml::parse("{metadata: {name: s, namespace: ns, uid: u}, spec: {template: {spec: "
                            "{containers: [{name: c, image: i}]}}}}")
                    .value());
}

Object revision(const std::string& name, std::int64_t number, bool of_template) {
  Value body = Value::object(
      {{"metadata", Value::object({{"name", name}, {"namespace", "ns"}})}, {"revision", number}});
  body.set("data", of_template ? revision_data(owner().spec()["template"]) : Value::object());
  return Object(std::move(body));
}

TEST(Revisions, EqualOnesAreNumberedOnce) {
  Plan plan;
  const std::vector<Object> twins = {revision("one", 1, true), revision("two", 2, true)};
  EXPECT_EQ(latest_revision(owner(), api::kStatefulSet, twins, "hash", plan).name, "two");
  EXPECT_TRUE(plan.steps().empty()) << "the newest has the highest number already";
}

TEST(Revisions, AnEarlierTemplateGetsANewNumber) {
  Plan plan;
  const std::vector<Object> past = {revision("one", 1, true), revision("two", 2, true),
                                    revision("three", 3, false)};
  EXPECT_EQ(latest_revision(owner(), api::kStatefulSet, past, "hash", plan).name, "two");
  EXPECT_EQ(plan.steps().size(), 1U);
}

}  // namespace
}  // namespace athanor::workloads::revisions_test
