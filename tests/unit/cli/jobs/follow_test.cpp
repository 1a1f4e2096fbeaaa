// SPDX-License-Identifier: Apache-2.0
// Following a job on a server that says things in an order of its own.
#include "cli/jobs/follow.hpp"

#include <gtest/gtest.h>

#include "cli/session/verbs.hpp"
#include "unit/cli/script_session.hpp"

namespace athanor::cli::follow_test {
namespace {

using client::ScriptServer;
using Reply = ScriptServer::Reply;
using Then = ScriptServer::Reply::Then;

using FollowTest = ScriptTest;

// A stream that says this, and then nothing.
Reply events(const std::string& lines) {
  return {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + lines, Then::Hang};
}

// Two streams: the job's end may arrive while word of its last pod is still on its way.
TEST_F(FollowTest, ShowsLogsOfUnwatchedPodsBeforeEnd) {
  const ScriptServer server([](const ScriptServer::Request& request) {
    const bool watches = request.path.find("watch=true") != std::string::npos;
    if (request.path.find("/log?") != std::string::npos) {
      return Reply{"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nthe last line\n",
                   Then::Close};
    }
    if (request.path.find("/fournosjobs") != std::string::npos) {
      return events(
          R"({"type":"MODIFIED","object":{"metadata":{"name":"j","resourceVersion":"7"},"status":{"phase":"Succeeded"}}})"
          "\n");
    }
    return watches
               ? events(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}})"
                        "\n")
               : Reply{ScriptServer::json(
                     R"({"items":[{"metadata":{"name":"p","labels":{"tekton.dev/pipelineTask":"run"}},
                         "spec":{"containers":[{"name":"step-run"}]},
                         "status":{"containerStatuses":[{"name":"step-run","state":{"terminated":{}}}]}}]})")};
  });
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok()) << session.error().message;
  ::testing::internal::CaptureStdout();
  Follower follower(*session, "ns", "j", {.progress = false, .since = "1"});
  const auto followed = follower.run();
  const std::string shown = ::testing::internal::GetCapturedStdout();
  ASSERT_TRUE(followed.ok()) << followed.error().message;
  EXPECT_EQ(followed->phase, "Succeeded");
  EXPECT_EQ(followed->logs, 1U);
  EXPECT_NE(shown.find("[run/run] the last line\n"), std::string::npos) << shown;
}

std::string job(const std::string& phase, const std::string& message = "") {
  return R"({"metadata":{"name":"j","namespace":"ns","uid":"u","resourceVersion":"7"},"status":{"phase":")" +
         phase + R"(","message":")" + message + R"("}})";
}

std::string event(const std::string& object) {
  return R"({"type":"MODIFIED","object":)" + object + "}\n";
}

Reply refusal(int code) {
  const std::string text = std::to_string(code);
  return {ScriptServer::json(R"({"kind":"Status","code":)" + text + R"(,"message":"not now"})",
                             text + " Refused")};
}

bool asks(const ScriptServer::Request& request, std::string_view part) {
  return request.path.find(part) != std::string::npos;
}

struct Outcome {
  Result<Followed> followed;
  std::string out{};
  std::string err{};
};

class FollowRestartTest : public ScriptTest {
 protected:
  Outcome follow(const ScriptServer& server, FollowOptions options) {
    auto session = Session::open(target(server));
    EXPECT_TRUE(session.ok());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    auto followed = Follower(*session, "ns", "j", std::move(options)).run();
    std::string out = ::testing::internal::GetCapturedStdout();
    return {std::move(followed), std::move(out), ::testing::internal::GetCapturedStderr()};
  }
};

// The connection breaks, then the server says 503, then it knows what happened meanwhile.
TEST_F(FollowRestartTest, AServerThatComesBackIsFollowedOn) {
  const ScriptServer server([reads = 0](const ScriptServer::Request& request) mutable {
    if (asks(request, "/pods")) {
      return asks(request, "watch=true") ? events("")
                                         : Reply{ScriptServer::json(R"({"items":[]})")};
    }
    if (asks(request, "watch=true")) {
      return reads == 0 ? Reply{"HTTP/1.1 200 OK\r\n\r\n" + event(job("Running")), Then::Reset}
                        : events("");
    }
    return ++reads == 1 ? refusal(503) : Reply{ScriptServer::json(job("Succeeded"))};
  });
  const Outcome outcome = follow(server, {.since = "1"});
  ASSERT_TRUE(outcome.followed.ok()) << outcome.followed.error().message;
  EXPECT_EQ(outcome.followed->end, Followed::End::Over);
  EXPECT_EQ(outcome.followed->phase, "Succeeded");
  EXPECT_NE(outcome.err.find("the API server is away"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("the job goes on"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("the API server is back"), std::string::npos) << outcome.err;
}

TEST_F(FollowRestartTest, OneThatStaysAwayLeavesTheOutcomeUnknown) {
  const ScriptServer server([](const ScriptServer::Request&) { return refusal(503); });
  const Outcome outcome =
      follow(server, {.since = "1", .patience = std::chrono::milliseconds(300)});
  ASSERT_TRUE(outcome.followed.ok()) << outcome.followed.error().message;
  EXPECT_EQ(outcome.followed->end, Followed::End::Unknown);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(explain_end(*outcome.followed, source_of_job("ns", "j")), 3);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("the job goes on. Follow it again: athanor logs -f j -n ns"),
            std::string::npos)
      << said;
}

TEST_F(FollowRestartTest, ARefusalEndsIt) {
  const ScriptServer server([](const ScriptServer::Request&) { return refusal(403); });
  const Outcome outcome = follow(server, {.since = "1"});
  ASSERT_FALSE(outcome.followed.ok());
  EXPECT_EQ(outcome.followed.error().code, 403);
}

// Another job of the name is not the one that was followed.
TEST_F(FollowRestartTest, AJobThatWasMadeAnewIsGone) {
  const ScriptServer server([](const ScriptServer::Request& request) {
    if (asks(request, "/pods")) {
      return asks(request, "watch=true") ? events("")
                                         : Reply{ScriptServer::json(R"({"items":[]})")};
    }
    if (asks(request, "watch=true")) {
      return Reply{"HTTP/1.1 200 OK\r\n\r\n" + event(job("Running")), Then::Reset};
    }
    return Reply{ScriptServer::json(R"({"metadata":{"name":"j","uid":"other"}})")};
  });
  const Outcome outcome = follow(server, {.since = "1"});
  ASSERT_TRUE(outcome.followed.ok());
  EXPECT_EQ(outcome.followed->end, Followed::End::Deleted);
}

TEST_F(FollowRestartTest, ReportsJobWithoutController) {
  const ScriptServer server([told = false](const ScriptServer::Request& request) mutable {
    if (asks(request, "/leases")) {
      told = true;
      return Reply{ScriptServer::json(R"({"items":[]})")};
    }
    if (asks(request, "/pods")) {
      return asks(request, "watch=true") ? events("")
                                         : Reply{ScriptServer::json(R"({"items":[]})")};
    }
    return Reply{"HTTP/1.1 200 OK\r\n\r\n" + event(job(told ? "Succeeded" : "")), Then::Close};
  });
  const Outcome outcome = follow(server, {.since = "1", .unseen = std::chrono::milliseconds(100)});
  ASSERT_TRUE(outcome.followed.ok()) << outcome.followed.error().message;
  EXPECT_EQ(outcome.followed->phase, "Succeeded");
  EXPECT_NE(outcome.err.find("j has no phase after 0s: no controller has looked at it. athanor "
                             "controllers should have"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("is ns their namespace (FOURNOS_WORKLOAD_NAMESPACE)?"),
            std::string::npos)
      << outcome.err;
}

std::string pod(const std::string& task, const std::string& started) {
  return R"({"metadata":{"name":"a-)" + task + R"(","labels":{"tekton.dev/pipelineTask":")" + task +
         R"("}},"spec":{"containers":[{"name":"step-one"},{"name":"step-two"}]},
            "status":{"containerStatuses":[
              {"name":"step-two","state":{"terminated":{"startedAt":")" +
         started + R"("}}},{"name":"step-one","state":{"terminated":{"startedAt":")" + started +
         R"("}}}]}})";
}

// By the time at which they ran, not by their names; what comes later waits.
TEST_F(FollowTest, PrintsLogsInRunOrderOfTasks) {
  const ScriptServer server([](const ScriptServer::Request& request) {
    if (asks(request, "/log?")) {
      const std::string step = asks(request, "step-one") ? "one" : "two";
      const std::string task = asks(request, "a-prepare") ? "prepare" : "cleanup";
      return Reply{"HTTP/1.1 200 OK\r\n\r\n" + task + " " + step + "\n", Then::Close};
    }
    if (asks(request, "/pods")) {
      return asks(request, "watch=true")
                 ? events("")
                 : Reply{ScriptServer::json(R"({"items":[)" +
                                            pod("cleanup", "2026-01-01T00:00:09Z") + "," +
                                            pod("prepare", "2026-01-01T00:00:01Z") + "]}")};
    }
    return asks(request, "watch=true") ? events("") : Reply{ScriptServer::json(job("Succeeded"))};
  });
  ::testing::internal::CaptureStdout();
  const int code = run(LogsOptions{.target = target(server), .words = {"j"}});
  const std::string shown = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0);
  EXPECT_EQ(shown,
            "[prepare/one] prepare one\n[prepare/two] prepare two\n"
            "[cleanup/one] cleanup one\n[cleanup/two] cleanup two\n");
}

std::string named_job(const std::string& name, const std::string& phase) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
         R"(","resourceVersion":"7","creationTimestamp":"2026-01-01T00:00:0)" +
         (name == "a" ? "2" : "1") + R"(Z"},"status":{"phase":")" + phase + R"("}})";
}

// One pod for each of the jobs a and b; `a` ends once the log of `b` was read.
Reply answer_of_two_jobs(const ScriptServer::Request& request, bool& read_b) {
  if (asks(request, "/log?")) {
    read_b = read_b || asks(request, "/pods/b-run/");
    return Reply{"HTTP/1.1 200 OK\r\n\r\nhello\n", Then::Close};
  }
  const std::string one = asks(request, "job-name%3Da") ? "a" : "b";
  if (asks(request, "/pods")) {
    return asks(request, "watch=true")
               ? events("")
               : Reply{ScriptServer::json(R"({"items":[{"metadata":{"name":")" + one +
                                          R"(-run"},"spec":{"containers":[{"name":"main"}]},
               "status":{"containerStatuses":[{"name":"main","state":{"running":{}}}]}}]})")};
  }
  const std::string a = named_job("a", read_b ? "Succeeded" : "Running");
  const std::string b = named_job("b", "Succeeded");
  if (asks(request, "watch=true")) {
    return Reply{"HTTP/1.1 200 OK\r\n\r\n" + event(asks(request, "name%3Da") ? a : b), Then::Close};
  }
  if (asks(request, "labelSelector=team%3Dllm")) {
    return Reply{ScriptServer::json(R"({"items":[)" + a + "," + b + "]}")};
  }
  return asks(request, "/fournosjobs/")
             ? Reply{ScriptServer::json(asks(request, "/fournosjobs/a") ? a : b)}
             : refusal(404);
}

TEST_F(FollowTest, FollowsSeveralJobsSideBySide) {
  const ScriptServer server([read_b = false](const ScriptServer::Request& request) mutable {
    return answer_of_two_jobs(request, read_b);
  });
  ::testing::internal::CaptureStdout();
  const int code =
      run(LogsOptions{.target = target(server), .words = {"a", "jobs/b", "b"}, .follow = true});
  const std::string shown = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0);
  EXPECT_NE(shown.find("[pod/a-run/main] hello\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("[pod/b-run/main] hello\n"), std::string::npos) << shown;
  EXPECT_EQ(shown.size(), 2 * std::string("[pod/a-run/main] hello\n").size()) << shown;
}

TEST_F(FollowTest, ReadsLabelledJobsOldestFirst) {
  const ScriptServer server([read_b = false](const ScriptServer::Request& request) mutable {
    return answer_of_two_jobs(request, read_b);
  });
  ::testing::internal::CaptureStdout();
  const int code = run(LogsOptions{.target = target(server), .labels = "team=llm"});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "[pod/b-run/main] hello\n[pod/a-run/main] hello\n");
  EXPECT_EQ(code, 0);
}

TEST_F(FollowTest, RefusesNamesBesideLabels) {
  const ScriptServer server(
      [](const ScriptServer::Request&) { return Reply{ScriptServer::json(R"({"items":[]})")}; });
  const auto said = [&](std::vector<std::string> words, const std::string& labels) {
    ::testing::internal::CaptureStderr();
    const int code =
        run(LogsOptions{.target = target(server), .words = std::move(words), .labels = labels});
    return std::to_string(code) + " " + ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said({"pods/p"}, "a=b"), "2 athanor: -l excludes names: give a kind alone, or none\n");
  EXPECT_EQ(said({}, "a=b"), "1 athanor: no jobs or pods have the labels a=b in namespace ns\n");
  EXPECT_EQ(said({"pods"}, "a=b"), "1 athanor: no pods have the labels a=b in namespace ns\n");
  EXPECT_EQ(said({}, "a in b").substr(0, 28), "2 athanor: --selector a in b");
}

// Emulated pods have none: the answer is an error each time.
TEST_F(FollowRestartTest, EndsDespiteUnansweredLog) {
  const ScriptServer server([](const ScriptServer::Request& request) {
    if (asks(request, "/log?")) {
      return refusal(500);
    }
    if (asks(request, "/pods")) {
      return asks(request, "watch=true")
                 ? events("")
                 : Reply{ScriptServer::json(R"({"items":[)" + pod("run", "2026-01-01T00:00:01Z") +
                                            "]}")};
    }
    return events(event(job("Succeeded")));
  });
  const Outcome outcome = follow(server, {.since = "1"});
  ASSERT_TRUE(outcome.followed.ok()) << outcome.followed.error().message;
  EXPECT_EQ(outcome.followed->phase, "Succeeded");
  EXPECT_NE(outcome.err.find("no log of a-run/step-one: not now"), std::string::npos)
      << outcome.err;
}

std::string queued(const std::string& name, const std::string& ns_queue, int priority,
                   const std::string& more = "") {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
         R"("},"spec":{"queueName":")" + ns_queue + R"(","priority":)" + std::to_string(priority) +
         more + "}}";
}

// Both numbers count the job's own LocalQueue, and only what waits in it.
TEST_F(FollowTest, SaysPlaceAmongThoseOfItsQueue) {
  const ScriptServer server([reads = 0](const ScriptServer::Request& request) mutable {
    if (asks(request, "/workloads")) {
      return Reply{ScriptServer::json(
          R"({"items":[)" + queued("j", "q", 0) + "," + queued("first", "q", 5) + "," +
          queued("stopped", "q", 9, R"(,"active":false)") + "," + queued("other", "p", 9) + "]}")};
    }
    if (asks(request, "/pods")) {
      return asks(request, "watch=true") ? events("")
                                         : Reply{ScriptServer::json(R"({"items":[]})")};
    }
    if (asks(request, "watch=true")) {
      return Reply{"HTTP/1.1 200 OK\r\n\r\n" + event(job(++reads > 1 ? "Succeeded" : "Pending")),
                   reads > 1 ? Then::Hang : Then::Close};
    }
    return refusal(404);
  });
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok());
  ::testing::internal::CaptureStdout();
  const auto followed = Follower(*session, "ns", "j", {.since = "1"}).run();
  const std::string shown = ::testing::internal::GetCapturedStdout();
  ASSERT_TRUE(followed.ok()) << followed.error().message;
  EXPECT_NE(shown.find("in the queue: place 2 of 2"), std::string::npos) << shown;
}

struct NoLog {
  std::string job;
  std::string pods;
  std::string run;  // empty: there is none
  std::string task;
  std::string says;
  std::string word = "j";
};
class NoLogTest : public ScriptTest, public ::testing::WithParamInterface<NoLog> {};

TEST_P(NoLogTest, IsReportedWithItsReason) {
  const NoLog& given = GetParam();
  const ScriptServer server([&](const ScriptServer::Request& request) {
    if (asks(request, "watch=true")) {
      return events("");
    }
    if (asks(request, "/pods")) {
      return Reply{ScriptServer::json(R"({"items":[)" + given.pods + "]}")};
    }
    if (asks(request, "/pipelineruns")) {
      return given.run.empty() ? refusal(404) : Reply{ScriptServer::json(given.run)};
    }
    return Reply{ScriptServer::json(asks(request, "/leases") ? R"({"items":[]})" : given.job)};
  });
  ::testing::internal::CaptureStderr();
  const int code =
      run(LogsOptions{.target = target(server), .words = {given.word}, .task = given.task});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1);
  EXPECT_NE(said.find(given.says), std::string::npos) << said;
}

const char* const kRun =
    R"({"status":{"pipelineSpec":{"tasks":[{"name":"prepare"},{"name":"run"}],"finally":[{"name":"end"}]}}})";

// While the job runs, too: nobody waits for its end to hear of a typing error.
TEST_F(FollowTest, RefusesUnknownTaskAtOnce) {
  const ScriptServer server([](const ScriptServer::Request& request) {
    return asks(request, "watch=true")
               ? events("")
               : Reply{ScriptServer::json(asks(request, "/pipelineruns") ? kRun : job("Running"))};
  });
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(
      run(LogsOptions{.target = target(server), .words = {"j"}, .follow = true, .task = "rum"}), 1);
  EXPECT_NE(
      ::testing::internal::GetCapturedStderr().find("j has no task \"rum\", did you mean run?"),
      std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, NoLogTest,
    ::testing::Values(
        NoLog{job("Pending", "Waiting"), "", "", "",
              "no log of j: it has not started (Pending: Waiting)"},
        NoLog{job("Failed", "Cluster 'x' not found"), "", "", "",
              "no log of j: it ended before a step started (Failed: Cluster 'x' not found)"},
        NoLog{job("Succeeded", "done"), "", kRun, "", "no log of j: its pods are gone"},
        NoLog{job("Recurring", "Recurring schedule: 0 2 * * *"), "", "", "",
              "no log of j: it has not started (Recurring schedule: 0 2 * * *)"},
        NoLog{"", "",
              R"({"metadata":{"name":"j"},"status":{"conditions":[{"type":"Succeeded",
                 "status":"False","message":"Pipeline p not found"}]}})",
              "", "no log of j: it ended before a step started (Failed: Pipeline p not found)",
              "pipelineruns/j"},
        NoLog{R"({"metadata":{"name":"j","labels":{"kueue.x-k8s.io/queue-name":"q"}},
                  "spec":{"suspend":true}})",
              "", "", "", "no log of j: it has not started (suspended: it waits for quota)",
              "job.batch/j"},
        NoLog{job("Running"), "", kRun, "rum",
              "j has no task \"rum\", did you mean run? Its tasks: prepare, run, end"},
        NoLog{job(""), "", "", "", "no log of j: j has no phase after 5s"},
        NoLog{job("Running"),
              R"({"metadata":{"name":"p"},"status":{"containerStatuses":[{"name":"c","state":
                 {"waiting":{"reason":"CreateContainerConfigError","message":"no secret"}}}]}})",
              kRun, "",
              "no log of j: pod p has not started (CreateContainerConfigError: no secret)"}));

}  // namespace
}  // namespace athanor::cli::follow_test
