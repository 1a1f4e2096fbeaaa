// SPDX-License-Identifier: Apache-2.0
// Templates: what is kept of a job, and what is refused.
#include "cli/jobs/job_templates.hpp"

#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"

namespace athanor::cli::job_templates_test {
namespace {

Value job() {
  return *yaml::parse(R"(
apiVersion: fournos.dev/v1
kind: FournosJob
metadata: {name: one, namespace: bench, labels: {team: llm}}
spec: {owner: ann, hardware: {gpuType: h200, gpuCount: 8}, forge: {project: llmd, args: []}}
)");
}

TEST(Templates, KeepAJobWithoutItsName) {
  const Object map(template_object("nightly", "what it is for", job()));
  EXPECT_EQ(map.name(), "template-nightly");
  const auto kept = job_of_template(map);
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  EXPECT_EQ((*kept)["metadata"]["generateName"].as_string(), "nightly-");
  EXPECT_FALSE((*kept)["metadata"].contains("name"));
  EXPECT_FALSE((*kept)["metadata"].contains("namespace"));
  EXPECT_EQ((*kept)["spec"], job()["spec"]);
  EXPECT_EQ((*kept)["metadata"]["labels"]["team"].as_string(), "llm");
}

TEST(Templates, ListRequestsOfJobs) {
  const views::Listing listing = template_listing(
      {Object(template_object("b", "two", job())), Object(template_object("a", "one", job()))},
      false, Instant());
  ASSERT_EQ(listing.rows.size(), 2U);
  EXPECT_EQ(listing.rows[0].cells.front(), "a");
  EXPECT_EQ(listing.rows[0].cells[5], "8 h200");
  EXPECT_EQ(listing.rows[0].cells.back(), "one");
}

TEST(Templates, RefuseOtherConfigMaps) {
  Value map = template_object("a", "", job());
  map.member("data").set("job.yaml", "kind: Pod");
  EXPECT_FALSE(job_of_template(Object(map)).ok());
  map.member("metadata").erase("labels");
  EXPECT_FALSE(job_of_template(Object(map)).ok());
}

}  // namespace
}  // namespace athanor::cli::job_templates_test
