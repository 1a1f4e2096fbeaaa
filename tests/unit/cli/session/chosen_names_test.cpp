// SPDX-License-Identifier: Apache-2.0
// Several names of a verb: which they are, in which order, and that one refusal stops no other.
#include "cli/session/chosen_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/session/session.hpp"
#include "cli/session/verbs.hpp"
#include "runtime/view/usage.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "unit/cli/script_session.hpp"

namespace athanor::cli::chosen_names_test {
namespace {

using client::ScriptServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Reply = ScriptServer::Reply;

constexpr const char* kTwoJobs =
    R"({"items":[{"metadata":{"name":"a","namespace":"ns","creationTimestamp":"2026-01-02T00:00:00Z"}},
                 {"metadata":{"name":"b","namespace":"ns","creationTimestamp":"2026-01-01T00:00:00Z"}}]})";

class ChosenNamesTest : public ScriptTest {
 protected:
  // The names, or the error.
  static std::string chosen(Session& session, const NameChoice& choice) {
    const auto names = chosen_names(session, api::kFournosJob, choice);
    if (!names.ok()) {
      return names.error().message;
    }
    std::string text;
    for (const std::string& name : *names) {
      text += name + " ";
    }
    return text;
  }
};

TEST_F(ChosenNamesTest, AreWordsOrThoseWithLabels) {
  const ScriptServer server(
      [](const ScriptServer::Request&) { return Reply{ScriptServer::json(kTwoJobs)}; });
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(chosen(*session, {.names = {"x", "fournosjob.fournos.dev/y", "x"}}), "x y ");
  EXPECT_EQ(chosen(*session, {.names = {"pod/x"}}), "pod/x: give names of fournosjobs");
  EXPECT_EQ(chosen(*session, {.names = {"jobs.batch/x"}}),
            "jobs.batch/x: give names of fournosjobs");
  EXPECT_EQ(chosen(*session, {.names = {"fournosjob/"}}), "fournosjob/: the name is missing");
  EXPECT_TRUE(server.requests().empty());
  EXPECT_EQ(chosen(*session, {.labels = "team=llm"}), "b a ") << "the oldest first";
  EXPECT_THAT(server.requests().front().path,
              HasSubstr("/namespaces/ns/fournosjobs?labelSelector=team%3Dllm"));
  EXPECT_THAT(chosen(*session, {.labels = "a in b"}), HasSubstr("--selector a in b: "));
}

TEST_F(ChosenNamesTest, SayThatLabelsMeanNothing) {
  const ScriptServer server(
      [](const ScriptServer::Request&) { return Reply{ScriptServer::json(R"({"items":[]})")}; });
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(chosen(*session, {.labels = "team=llm"}),
            "no fournosjobs have the labels team=llm in namespace ns");
}

TEST_F(ChosenNamesTest, GoOnBehindARefusal) {
  const ScriptServer server([](const ScriptServer::Request& request) {
    return request.path.find("/fournosjobs/a?") != std::string::npos
               ? Reply{ScriptServer::json(R"({"kind":"Status","code":403,"message":"no"})",
                                          "403 Forbidden")}
               : Reply{ScriptServer::json(R"({"metadata":{"name":"b","namespace":"ns"}})")};
  });
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = run(CancelOptions{.target = target(server), .choice = {.names = {"a", "b"}}});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "b is being stopped\n");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("athanor: no"));
  EXPECT_EQ(code, 1);
}

// While the jobs of one end, the other takes no new ones.
TEST_F(ChosenNamesTest, CordonEveryClusterBeforeTheWait) {
  const ScriptServer server([](const ScriptServer::Request& request) {
    const bool patched = request.method == "PATCH";
    const std::string name = request.path.find("/one") != std::string::npos ? "one" : "two";
    return Reply{ScriptServer::json(patched ? R"({"metadata":{"name":")" + name + R"("}})"
                                            : R"({"items":[]})")};
  });
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run(ClusterCordonOptions{.target = target(server),
                                     .choice = {.names = {"one", "two"}},
                                     .verb = ClusterCordonVerb::Drain}),
            0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "one is cordoned\ntwo is cordoned\none is drained\ntwo is drained\n");
  std::vector<std::string> methods;
  for (const auto& request : server.requests()) {
    methods.push_back(request.method);
  }
  EXPECT_THAT(methods, ElementsAre("PATCH", "PATCH", "GET", "GET"));
}

}  // namespace
}  // namespace athanor::cli::chosen_names_test
