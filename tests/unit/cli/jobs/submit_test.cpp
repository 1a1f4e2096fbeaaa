// SPDX-License-Identifier: Apache-2.0
// athanor submit: what is said of a job that fails at once, would fail, or can never start; and
// whom the flags of the connection make of the caller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/session/session.hpp"
#include "cli/session/verbs.hpp"
#include "unit/cli/script_session.hpp"

namespace athanor::cli::submit_test {
namespace {

using client::ScriptServer;
using ::testing::HasSubstr;
using ::testing::Not;
using Reply = ScriptServer::Reply;

constexpr const char* kFlavors =
    R"({"items":[{"metadata":{"name":"cluster-1"}},{"metadata":{"name":"cluster-2"}}]})";
constexpr const char* kQueues =
    R"({"items":[{"metadata":{"name":"q"},"spec":{"resourceGroups":[{"coveredResources":["fournos/gpu-a100"],
        "flavors":[{"name":"cluster-1","resources":[{"name":"fournos/gpu-a100","nominalQuota":"8"}]}]}]}}]})";
constexpr const char* kLocalQueues =
    R"({"items":[{"metadata":{"name":"fournos-queue"},"spec":{"clusterQueue":"q"}},
                 {"metadata":{"name":"other"},"spec":{"clusterQueue":"elsewhere"}}]})";

// A cluster with two flavors, a queue with 8 A100, and jobs that all have this status.
ScriptServer::Script lab(const std::string& status) {
  return [status](const ScriptServer::Request& request) {
    const auto asks = [&](std::string_view part) {
      return request.path.find(part) != std::string::npos;
    };
    std::string body = R"({"items":[]})";
    if (asks("/resourceflavors")) {
      body = kFlavors;
    } else if (asks("/clusterqueues")) {
      body = kQueues;
    } else if (asks("/localqueues")) {
      body = kLocalQueues;
    } else if (request.method == "POST") {
      body = request.body;
      body.insert(1, R"("status":{},)");
      const std::string metadata = R"("metadata":{)";
      body.insert(body.find(metadata) + metadata.size(), R"("namespace":"ns",)");
    } else if (asks("/fournosjobs/")) {
      body = R"({"metadata":{"name":"j","namespace":"ns"},"status":)" + status + "}";
    }
    return Reply{ScriptServer::json(body)};
  };
}

class SubmitTest : public ScriptTest {
 protected:
  int submit(const ScriptServer& server, SubmitOptions options) {
    options.target = target(server);
    options.name = "j";
    options.project = "llmd";
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = run(options);
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return code;
  }
  std::string out_{};
  std::string err_{};
};

TEST_F(SubmitTest, ReportsReasonOfImmediateFailure) {
  const ScriptServer server(lab(R"({"phase":"Failed","message":"Cluster 'cluster-9' not found"})"));
  EXPECT_EQ(submit(server, {.cluster = "cluster-9"}), 1);
  EXPECT_THAT(out_, HasSubstr("fournosjob.fournos.dev/j created in namespace ns\n"));
  EXPECT_THAT(err_, HasSubstr("j failed: Cluster 'cluster-9' not found, did you mean cluster-1?"));
}

TEST_F(SubmitTest, AJobThatWaitsIsCreated) {
  const ScriptServer server(lab(R"({"phase":"Pending","message":"Waiting"})"));
  EXPECT_EQ(submit(server, {.cluster = "cluster-1", .gpu = "a100:8"}), 0);
  EXPECT_EQ(err_, "");
}

TEST_F(SubmitTest, ReportsJobThatCanNeverStart) {
  const ScriptServer server(lab(R"({"phase":"Pending","message":"Waiting"})"));
  EXPECT_EQ(submit(server, {.gpu = "a100:99"}), 0);
  EXPECT_THAT(err_,
              HasSubstr("j waits, and can never start: 99 GPUs of type a100 fit in no cluster "
                        "of queue q (at most 8); ask for fewer, or raise a quota of "
                        "fournos/gpu-a100 there"));
}

struct Ahead {
  SubmitOptions options;
  int code;
  const char* says;
};
class DryRunTest : public SubmitTest, public ::testing::WithParamInterface<Ahead> {};

TEST_P(DryRunTest, ShowsOutcomeWithoutCreation) {
  const ScriptServer server(lab("{}"));
  SubmitOptions options = GetParam().options;
  options.dry_run = true;
  EXPECT_EQ(submit(server, options), GetParam().code);
  EXPECT_THAT(err_, HasSubstr(GetParam().says));
  EXPECT_EQ(out_.find("created (dry run)") != std::string::npos, GetParam().code == 0) << out_;
  EXPECT_THAT(server.requests().front().path, HasSubstr("dryRun=All"));
}

INSTANTIATE_TEST_SUITE_P(
    Ahead, DryRunTest,
    ::testing::Values(
        Ahead{{.cluster = "cluster-1", .gpu = "a100:2"}, 0, ""},
        Ahead{{.cluster = "cluster-9"},
              1,
              "j would fail at once: Cluster 'cluster-9' not found, did you mean cluster-1?"},
        Ahead{{.gpu = "a10:1"}, 1, "GPU type 'a10' not available. Valid types: a100\n"},
        Ahead{{}, 1, "Must specify 'cluster', 'hardware', or both"},
        Ahead{{.gpu = "a100:1", .exclusive = true}, 1, "exclusive: true requires 'cluster'"},
        Ahead{
            {.cluster = "cluster-1", .priority = "urgent"}, 1, "Priority class 'urgent' not found"},
        Ahead{{.gpu = "a100:9"}, 1, "j would never start: 9 GPUs of type a100 fit in no cluster"}));

TEST_F(SubmitTest, AFileOfAnotherNamespaceIsRefused) {
  const ScriptServer server(lab("{}"));
  const std::string file = ::testing::TempDir() + "athanor-submit-job.yaml";
  std::ofstream(file) << "apiVersion: fournos.dev/v1\nkind: FournosJob\nmetadata: {name: j, "
                         "namespace: other}\nspec: {}\n";
  SubmitOptions options{.target = target(server), .files = {file}};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(options), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("the namespace from the provided object \"other\" does not match the "
                        "namespace \"ns\". You must pass '--namespace=other' to perform this "
                        "operation."));
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(SubmitTest, FlagsOfTheConnectionStandForTheKubeconfig) {
  const ScriptServer server(lab("{}"));
  Target wanted = target(server);
  wanted.token = "mine";
  wanted.as = "ada";
  wanted.as_groups = {"team"};
  wanted.verbosity = 1;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(QueueOptions{.target = wanted}), 0);
  ::testing::internal::GetCapturedStdout();
  const std::string told = ::testing::internal::GetCapturedStderr();
  const std::string head = server.requests().front().head;
  EXPECT_THAT(head, HasSubstr("Authorization: Bearer mine\r\n"));
  EXPECT_THAT(head, HasSubstr("Impersonate-User: ada\r\n"));
  EXPECT_THAT(head, HasSubstr("Impersonate-Group: team\r\n"));
  EXPECT_THAT(told, HasSubstr("GET /apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads 200 in "));
  EXPECT_THAT(told, Not(HasSubstr("mine")));
}

TEST_F(SubmitTest, AServerNeedsNoKubeconfig) {
  const ScriptServer server(lab("{}"));
  ::setenv("KUBECONFIG", "/does/not/exist", 1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(QueueOptions{.target = {.server = server.url(), .token = "t"}}), 0);
  EXPECT_EQ(run(QueueOptions{.target = {.server = "h:1"}}), 2);
  EXPECT_EQ(run(QueueOptions{.target = {.server = server.url(), .as_groups = {"g"}}}), 2);
  const std::string said = ::testing::internal::GetCapturedStderr();
  ::unsetenv("KUBECONFIG");
  EXPECT_THAT(said, HasSubstr("--server h:1: not an http or https address"));
  EXPECT_THAT(said, HasSubstr("--as-group needs --as USER"));
  EXPECT_THAT(server.requests().front().path, HasSubstr("/namespaces/default/workloads"));
}

// A job that failed in a step.
ScriptServer::Script failed_job() {
  return [](const ScriptServer::Request& request) {
    const bool runs = request.path.find("/taskruns") != std::string::npos;
    const bool jobs = request.path.find("/fournosjobs/") != std::string::npos;
    return Reply{ScriptServer::json(
        runs ? R"({"items":[{"metadata":{"name":"t","namespace":"ns","labels":
                  {"fournos.dev/job-name":"j"}},"status":{"steps":[{"container":"step-bang",
                  "terminated":{"exitCode":7,"finishedAt":"2026-01-01T00:00:00Z"}}]}}]})"
        : jobs
            ? R"({"metadata":{"name":"j","namespace":"ns"},"status":{"phase":"Failed","message":"m"}})"
            : R"({"items":[]})")};
  };
}

TEST_F(SubmitTest, CancelLeavesEndedJobs) {
  const ScriptServer server(failed_job());
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run(CancelOptions{.target = target(server), .choice = {.names = {"j"}}}), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "j is over already: Failed\n");
  for (const ScriptServer::Request& request : server.requests()) {
    EXPECT_EQ(request.method, "GET") << request.path;
  }
}

TEST_F(SubmitTest, CauseOfAFailureIsShown) {
  const ScriptServer server(failed_job());
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run(WaitOptions{.target = target(server), .objects = {"j"}}), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "j is Failed: step-bang exited with code 7\n");
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run(JobsOptions{.target = target(server), .list = {.names = {"j"}}}), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("step-bang exited with code 7"));
}

TEST_F(SubmitTest, WaitRefusesARecurringJob) {
  const ScriptServer server([](const ScriptServer::Request&) {
    return Reply{ScriptServer::json(
        R"({"metadata":{"name":"j","namespace":"ns"},"status":{"phase":"Recurring"}})")};
  });
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(WaitOptions{.target = target(server), .objects = {"j"}, .timeout = "60s"}), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("wait for these: -l fournos.dev/recurring-parent=j"));
}

TEST_F(SubmitTest, ManagedFieldsAreNotShown) {
  const ScriptServer server([](const ScriptServer::Request&) {
    return Reply{ScriptServer::json(
        R"({"items":[{"metadata":{"name":"j","managedFields":[{"manager":"m"}]},"spec":{}}]})")};
  });
  for (const Output output : {Output::Json, Output::Yaml}) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run(JobsOptions{.target = target(server), .list = {.format = {.output = output}}}),
              0);
    const std::string shown = ::testing::internal::GetCapturedStdout();
    EXPECT_THAT(shown, HasSubstr("name"));
    EXPECT_THAT(shown, Not(HasSubstr("managedFields")));
  }
}

TEST_F(SubmitTest, ListsNewestJobsFirstWithShortReason) {
  const ScriptServer server([](const ScriptServer::Request&) {
    return Reply{ScriptServer::json(
        R"({"items":[{"metadata":{"name":"old","creationTimestamp":"2026-01-01T00:00:00Z"},
              "status":{"phase":"Pending","message":"Waiting for admission: insufficient unused quota for fournos/gpu-a100 in flavor c1, 2 more needed"}},
            {"metadata":{"name":"new","creationTimestamp":"2026-01-02T00:00:00Z"}}]})")};
  });
  const auto shown = [&](Output output) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run(JobsOptions{.target = target(server), .list = {.format = {.output = output}}}),
              0);
    return ::testing::internal::GetCapturedStdout();
  };
  const std::string table = shown(Output::Table);
  EXPECT_LT(table.find("new"), table.find("old"));
  EXPECT_THAT(table, HasSubstr("waits for a100: c1 lacks 2"));
  EXPECT_THAT(shown(Output::Wide), HasSubstr("insufficient unused quota"));
}

}  // namespace
}  // namespace athanor::cli::submit_test
