// SPDX-License-Identifier: Apache-2.0
// Hints at other namespaces: what they say, and that they cost one object each.
#include "cli/session/elsewhere.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/session/session.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "unit/cli/script_session.hpp"

namespace athanor::cli::elsewhere_test {
namespace {

using client::ScriptServer;
using ::testing::HasSubstr;
using Reply = ScriptServer::Reply;

// Every list is of one job in namespace "far", that of namespace "ns" is of job "near-1".
ScriptServer::Script far_job() {
  return [](const ScriptServer::Request& request) {
    const bool own = request.path.find("/namespaces/ns/") != std::string::npos;
    return Reply{
        ScriptServer::json(own ? R"({"items":[{"metadata":{"name":"near-1","namespace":"ns"}}]})"
                               : R"({"items":[{"metadata":{"name":"far-1","namespace":"far"}}]})")};
  };
}

// Lists without a selector read every object of the cluster.
void expect_no_whole_list(const ScriptServer& server) {
  for (const auto& request : server.requests()) {
    if (request.path.find("/namespaces/") == std::string::npos) {
      EXPECT_THAT(request.path, HasSubstr("fieldSelector="));
    }
  }
}

class ElsewhereTest : public ScriptTest {};

TEST_F(ElsewhereTest, NamesNamespaceOfObjectAtOneObjectsCost) {
  const ScriptServer server(far_job());
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok());
  const Error missing = Error::not_found("not found");
  EXPECT_THAT(with_other_namespaces(*session, api::kFournosJob, "far-1", missing).message,
              HasSubstr("namespace far has one of this name: -n far"));
  ASSERT_EQ(server.requests().size(), 1U);
  EXPECT_THAT(server.requests().front().path, HasSubstr("fieldSelector=metadata.name%3Dfar-1"));
}

TEST_F(ElsewhereTest, HintsAtNearNameInOwnNamespace) {
  const ScriptServer server([](const ScriptServer::Request& request) {
    const bool own = request.path.find("/namespaces/ns/") != std::string::npos;
    return Reply{
        ScriptServer::json(own ? R"({"items":[{"metadata":{"name":"nightly","namespace":"ns"}}]})"
                               : R"({"items":[]})")};
  });
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(
      with_other_namespaces(*session, api::kFournosJob, "nightli", Error::not_found("x")).message,
      HasSubstr("did you mean nightly?"));
  expect_no_whole_list(server);
}

TEST_F(ElsewhereTest, AsksForOneObjectOfOtherNamespaces) {
  const ScriptServer server(far_job());
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(hint_elsewhere(*session, api::kFournosJob, "jobs"),
            "Other namespaces have some, as far: athanor jobs -A\n");
  ASSERT_EQ(server.requests().size(), 1U);
  EXPECT_THAT(server.requests().front().path, HasSubstr("limit=1"));
  EXPECT_THAT(server.requests().front().path,
              HasSubstr("fieldSelector=metadata.namespace%21%3Dns"));
}

}  // namespace
}  // namespace athanor::cli::elsewhere_test
