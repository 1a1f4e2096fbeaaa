// SPDX-License-Identifier: Apache-2.0
// Scheduled submissions on emulated nodes: one job for each start.
#include "systems/fournos/schedules/submit_step.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"

namespace athanor::fournos::submit_step_test {
namespace {

class SubmitStep : public testing::Test {
 protected:
  static Object pod(const std::string& image) {
    const Value job = *yaml::parse(
        "{apiVersion: fournos.dev/v1, kind: FournosJob, spec: {cluster: c, forge: {project: p, "
        "args: []}}}");
    const auto cron =
        schedule_object({.name = "s", .ns = "ns", .cron = "@daily", .image = image, .job = job});
    EXPECT_TRUE(cron.ok());
    Value made = Value::object(
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          *yaml::parse(
              "{name: p, namespace: ns, labels: {batch.kubernetes.io/job-name: s-29384756}}")},
         {"spec", cron->at({"spec", "jobTemplate", "spec", "template", "spec"})}});
    return Object(std::move(made));
  }
  NodeAdmission admit(const Object& one) {
    return submit_step().admit(View(world_, reads_), one, Object(), world_.now);
  }

  test::FakeWorld world_{};
  Reads reads_{};
};

TEST_F(SubmitStep, CreatesTheJobOnce) {
  const Object made = pod("ghcr.io/team/athanor:1.2@sha256:0");
  NodeAdmission admission = admit(made);
  EXPECT_EQ(admission.answer, NodeAdmission::Answer::Ready);
  EXPECT_TRUE(world_.apply(admission.steps).ok());
  const Object job = world_.must(api::kFournosJob, {"ns", "s-29384756"});
  EXPECT_EQ(job.label("fournos-launcher/schedule-name"), "s");
  EXPECT_EQ(job.spec()["cluster"].as_string(), "c");
  EXPECT_TRUE(admit(made).steps.empty()) << "a node that starts again";
}

TEST_F(SubmitStep, LeavesOtherImagesAlone) {
  EXPECT_TRUE(admit(pod("python:3")).steps.empty());
  EXPECT_TRUE(admit(pod("athanor-agent:1")).steps.empty());
}

TEST_F(SubmitStep, RefusesAPodWithoutItsJob) {
  Value broken = pod("athanor:1").body();
  broken.member("spec").member("containers").item(0).set("env", Value::list());
  const NodeAdmission admission = admit(Object(broken));
  EXPECT_EQ(admission.answer, NodeAdmission::Answer::Refuse);
  EXPECT_NE(admission.message.find("FJOB_JSON"), std::string::npos);
}

}  // namespace
}  // namespace athanor::fournos::submit_step_test
