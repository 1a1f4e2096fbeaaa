// SPDX-License-Identifier: Apache-2.0
// The path grammar and strict pod specs (docs/spec/appwrapper.md 2.1, 2.2, 13).
#include "systems/appwrapper/pod_sets/template_path.hpp"

#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"

namespace athanor::appwrapper::template_path_test {
namespace {

Value job_set() {
  return *yaml::parse(R"(
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: js}
spec:
  number: 3
  replicatedJobs:
  - name: a
    template: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}
  - name: b
    template: {spec: {template: {metadata: {labels: {x: y}}, spec: {containers: []}}}}
)");
}

struct Case {
  const char* path;
  const char* error;  // empty: resolves
};
class Paths : public testing::TestWithParam<Case> {};

TEST_P(Paths, ResolveOrSayWhy) {
  const auto found = resolve_path(job_set(), GetParam().path);
  EXPECT_EQ(found.ok() ? "" : found.error().message, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Grammar, Paths,
    testing::Values(
        Case{"template", ""}, Case{"template.spec", ""},
        Case{"template.spec.replicatedJobs[1].template.spec.template", ""},
        Case{"template.spec.replicatedJobs[+1].template", ""},
        Case{"", "first element of the path must be 'template'"},
        Case{"spec.template", "first element of the path must be 'template'"},
        Case{"templates", "at path position 'template' invalid path element 's'"},
        Case{"template.spec.replicatedJobs",
             "at path position 'template.spec.replicatedJobs' non-map value"},
        Case{"template.spec.replicatedJobs.template",
             "at path position 'template.spec.replicatedJobs.' non-map value"},
        Case{"template.spec.missing", "at path position 'template.spec.' missing field 'missing'"},
        Case{"template.spec.", "at path position 'template.spec.' missing field ''"},
        Case{"template.spec.replicatedJobs[10].template",
             "at path position 'template.spec.replicatedJobs' out of bounds index '10'"},
        Case{"template.spec.replicatedJobs[-1].template",
             "at path position 'template.spec.replicatedJobs' out of bounds index '-1'"},
        Case{"template.spec.replicatedJobs[a10].template",
             "at path position 'template.spec.replicatedJobs' invalid index expression 'a10'"},
        Case{"template.spec.replicatedJobs[]",
             "at path position 'template.spec.replicatedJobs' invalid index expression ''"},
        Case{"template.spec.replicatedJobs[1",
             "at path position 'template.spec.replicatedJobs' invalid array index '[1'"},
        Case{"template.spec.replicatedJobs[1]].template.spec.template",
             "at path position 'template.spec.replicatedJobs[1' invalid path element "
             "'].template.spec.template'"},
        Case{"template.spec.replicatedJobs[0].template[0].spec.template",
             "at path position 'template.spec.replicatedJobs[0.template' found non-array value"},
        Case{"template.spec.number", "at path position 'template.spec.number' non-map value"}));

TEST(PodTemplate, NeedsASpec) {
  const auto found = pod_template_at(job_set(), "template.metadata");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message, "content at template.metadata does not contain a spec");
}

TEST(PodTemplate, AcceptsTemplatesThatFailLater) {
  EXPECT_TRUE(
      pod_template_at(job_set(), "template.spec.replicatedJobs[1].template.spec.template").ok());
}

TEST(PodTemplate, RefusesUnknownMembersAndWrongTypes) {
  const std::string at = "content at template.spec not parseable as a v1.PodSpec: ";
  const auto trouble = [](const char* text) {
    return pod_template_at(*yaml::parse(text), "template").error().message;
  };
  EXPECT_EQ(trouble("{kind: Pod, spec: {foo: 1, containers: []}}"),
            at + R"(strict decoding error: unknown field "foo")");
  EXPECT_EQ(
      trouble("{kind: Pod, spec: {containers: [{name: c, bar: 1}], foo: 1}}"),
      at + R"(strict decoding error: unknown field "containers[0].bar", unknown field "foo")");
  const std::string wrong = trouble("{kind: Pod, spec: {containers: none}}");
  EXPECT_TRUE(wrong.starts_with(at + "json: cannot unmarshal string into Go struct field"))
      << wrong;
}

TEST(EditAt, ChangesOneTemplateAlone) {
  Value object = job_set();
  const auto done =
      edit_at(object, "template.spec.replicatedJobs[0].template.spec.template", [](Value& part) {
        part.member("metadata").set("name", "x");
        return Result<void>();
      });
  ASSERT_TRUE(done.ok());
  const Value& jobs = object["spec"]["replicatedJobs"];
  EXPECT_EQ(jobs[0].at({"template", "spec", "template", "metadata", "name"}), Value("x"));
  EXPECT_EQ(jobs[1], job_set()["spec"]["replicatedJobs"][1]);
}

}  // namespace
}  // namespace athanor::appwrapper::template_path_test
