// SPDX-License-Identifier: Apache-2.0
// Probing target clusters: what is asked, what is made of bad answers, who waits for whom
// (docs/spec/hearth.md 6.2 row 9, 6.4).
#include "client/target_probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "unit/client/script_server.hpp"

namespace athanor::client::target_probe_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Reply = ScriptServer::Reply;
using Then = ScriptServer::Reply::Then;

constexpr const char* kToken = "s3cret-token";
constexpr int kPatience = 30;  // seconds, with who answers

// Answers as they come, by cluster.
class Answers {
 public:
  void put(const std::string& name, Result<Value> answer) {
    const std::lock_guard lock(mutex_);
    answers_.emplace(name, std::move(answer));
    news_.notify_all();
  }
  Result<Value> take(const std::string& name) {
    std::unique_lock lock(mutex_);
    const bool came =
        news_.wait_for(lock, std::chrono::seconds(120), [&] { return answers_.contains(name); });
    EXPECT_TRUE(came) << name;
    if (!came) {
      return Error::internal("no answer");
    }
    auto answer = answers_.at(name);
    answers_.erase(name);
    return answer;
  }
  bool has(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return answers_.contains(name);
  }

 private:
  std::mutex mutex_{};
  std::condition_variable news_{};
  std::map<std::string, Result<Value>> answers_{};
};

class TargetProbeTest : public ::testing::Test {
 protected:
  void serve(ScriptServer::Script script) {
    servers.push_back(std::make_unique<ScriptServer>(std::move(script)));
    urls[std::to_string(servers.size())] = servers.back()->url();
  }
  void open(std::size_t concurrency = 8, std::size_t limit = 1 << 20) {
    probe = std::make_unique<TargetProbe>(
        TargetProbeOptions{.read_secret = [this](const Key& key) { return secret_of(key); },
                           .clock = clock.get(),
                           .concurrency = concurrency,
                           .answer_limit = limit});
  }
  Result<Value> secret_of(const Key& key) {
    const auto url = urls.find(key.name);
    if (url == urls.end()) {
      return Error::not_found("secret is not there");
    }
    const std::string text =
        "contexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: [{name: k, cluster: "
        "{server: \"" +
        url->second + "\"}}]\nusers: [{name: u, user: {token: " + kToken + "}}]\n";
    Value secret = Value::object();
    secret.set_path({"data", "kubeconfig"}, base64_encode(text));
    return secret;
  }
  void ask(const std::string& name, int timeout, const std::string& selector = "") {
    Value question = Value::object(
        {{"namespace", "s"}, {"secret", name}, {"selector", selector}, {"timeout", timeout}});
    question.set("plainHttp", plain_http);  // the servers of this test have no TLS
    probe->ask("cluster:" + json::print(question),
               [this, name](Result<Value> answer) { answers.put(name, std::move(answer)); });
  }
  Result<Value> answer_of(const std::string& name, const std::string& selector = "",
                          int timeout = kPatience) {
    ask(name, timeout, selector);
    return answers.take(name);
  }
  std::string failure_of(ScriptServer::Script script, int timeout = kPatience) {
    serve(std::move(script));
    if (!probe) {
      open();
    }
    const auto answer = answer_of(std::to_string(servers.size()), "", timeout);
    EXPECT_FALSE(answer.ok());
    std::string text = answer.ok() ? "" : answer.error().message;
    EXPECT_THAT(text, Not(HasSubstr(kToken)));
    EXPECT_THAT(text, Not(HasSubstr("\n")));
    return text;
  }

  std::unique_ptr<Clock> clock = wall_clock();
  std::vector<std::unique_ptr<ScriptServer>> servers{};
  std::map<std::string, std::string> urls{};
  bool plain_http = true;
  Answers answers{};
  std::unique_ptr<TargetProbe> probe{};  // the first to go
};

std::string page(const std::string& items, const std::string& token = "") {
  return R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":")" +
         token + R"("},"items":[)" + items + "]}";
}

std::string node(const std::string& name, const std::string& gpus) {
  return R"({"metadata":{"name":")" + name +
         R"(","labels":{"nvidia.com/gpu.product":"NVIDIA-A100-SXM4-80GB","zone":"z"}},"status":{"allocatable":{"cpu":"4","nvidia.com/gpu":")" +
         gpus + R"("},"conditions":[{"type":"Ready","status":"True"}]}})";
}

TEST_F(TargetProbeTest, SendsNoCredentialsWithoutTls) {
  plain_http = false;
  EXPECT_EQ(failure_of([](const auto&) { return Reply{ScriptServer::json(page(""))}; }),
            "the kubeconfig changed meanwhile");
  EXPECT_TRUE(servers.back()->requests().empty());
}

TEST_F(TargetProbeTest, ReadsPagesAndVersion) {
  serve([](const ScriptServer::Request& request) {
    if (request.path == "/version") {
      return Reply{ScriptServer::json(R"({"gitVersion":"v1.30.2"})")};
    }
    return Reply{ScriptServer::json(request.path.find("continue=next%2F1") == std::string::npos
                                        ? page(node("a", "8") + "," + node("b", "4"), "next/1")
                                        : page(node("c", "8") + R"(,{"metadata":{"name":"d"}})"))};
  });
  open();
  const auto answer = answer_of("1", "zone=z");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ((*answer)["serverVersion"], Value("v1.30.2"));
  EXPECT_EQ((*answer)["nodeCount"].as_int(), 4);
  ASSERT_EQ((*answer)["nodes"].size(), 2U);
  const Value& group = (*answer)["nodes"][1];
  EXPECT_EQ(group["names"], Value::list({"a", "c"}));
  EXPECT_EQ(group["count"].as_int(), 2);
  EXPECT_EQ(group["labels"], Value::object({{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"}}));
  EXPECT_EQ(group["allocatable"], Value::object({{"nvidia.com/gpu", "8"}}));
  EXPECT_EQ(group["ready"], Value(true));
  const auto requests = servers[0]->requests();
  EXPECT_EQ(requests.at(0).path, "/api/v1/nodes?limit=500&labelSelector=zone%3Dz");
  EXPECT_THAT(requests.at(0).head, HasSubstr(std::string("Bearer ") + kToken));
  for (const auto& request : requests) {
    EXPECT_EQ(request.method, "GET");
  }
}

TEST_F(TargetProbeTest, AVersionThatFailsIsIgnored) {
  serve([](const ScriptServer::Request& request) {
    return request.path == "/version" ? Reply{ScriptServer::json("{}", "403 Forbidden")}
                                      : Reply{ScriptServer::json(page(""))};
  });
  open();
  const auto answer = answer_of("1");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ((*answer)["serverVersion"], Value(""));
}

TEST_F(TargetProbeTest, BadAnswersAndTheirWords) {
  EXPECT_EQ(
      failure_of([](const auto&) { return Reply{ScriptServer::json("{}", "401 Unauthorized")}; }),
      "HTTP 401 Unauthorized");
  EXPECT_EQ(
      failure_of([](const auto&) { return Reply{ScriptServer::json("{}", "404 Not Found")}; }),
      "HTTP 404 Not Found");
  EXPECT_EQ(
      failure_of([](const auto&) {
        return Reply{ScriptServer::json("{}", "302 Found", "Location: http://127.0.0.1:1/\r\n")};
      }),
      "HTTP 302 Found");
  EXPECT_EQ(servers.back()->requests().size(), 1U);  // nobody follows it
  EXPECT_EQ(failure_of([](const auto&) { return Reply{ScriptServer::json("{\"kind\":\"Pod\"}")}; }),
            "the answer is no list of nodes");
  EXPECT_NE(failure_of([](const auto&) { return Reply{ScriptServer::json("<html>")}; }), "");
  EXPECT_NE(failure_of([](const auto&) { return Reply{"garbage\r\n\r\n", Then::Close}; }), "");
  EXPECT_EQ(failure_of([](const auto&) { return Reply{"", Then::Hang}; }, 1), "timeout after 1s");
  EXPECT_NE(failure_of([](const auto&) {
              return Reply{ScriptServer::json(std::string(2 << 20, ' '))};  // above the limit
            }),
            "");
  // Pages without end.
  EXPECT_EQ(failure_of([](const auto&) { return Reply{ScriptServer::json(page("", "more"))}; }, 1),
            "timeout after 3s");
}

TEST_F(TargetProbeTest, ReportsPortWithoutListener) {
  {
    const ScriptServer gone([](const auto&) { return Reply{}; });
    urls["gone"] = gone.url();
  }
  open();
  EXPECT_EQ(answer_of("gone").error().message, "connection refused");
  // That says nothing of the cluster.
  EXPECT_EQ(answer_of("unknown").error().reason, kSecretUnreadable);
  urls["lost"] = "http://no-such-host.invalid:1";
  EXPECT_EQ(answer_of("lost").error().message, "no such host");
}

// However many hang, with never a byte, and however few may be answering at a time: nobody has to
// know in advance which ones they are.
TEST_F(TargetProbeTest, DeadClustersDoNotDelayLiveOnes) {
  constexpr int kDead = 200;
  serve([](const auto&) { return Reply{"", Then::Hang}; });
  serve([](const auto&) { return Reply{ScriptServer::json(page(""))}; });
  for (int i = 0; i < kDead; ++i) {
    urls["dead-" + std::to_string(i)] = urls["1"];
  }
  open(2);
  for (int i = 0; i < kDead; ++i) {
    ask("dead-" + std::to_string(i), 60);
  }
  ask("2", 60);
  EXPECT_TRUE(answers.take("2").ok());
  for (int i = 0; i < kDead; ++i) {
    EXPECT_FALSE(answers.has("dead-" + std::to_string(i)));
  }
}

TEST_F(TargetProbeTest, EndsAtOnce) {
  serve([](const auto&) { return Reply{"", Then::Hang}; });
  open();
  ask("1", 600);
  while (servers[0]->requests().empty()) {
    std::this_thread::yield();
  }
  probe.reset();
  EXPECT_FALSE(answers.take("1").ok());
}

TEST(NodeSummary, AHundredThousandNodesAreSmall) {
  NodeSummary summary;
  for (int i = 0; i < 100'000; ++i) {
    summary.add(json::parse(node("n" + std::to_string(i), "8")).value_or(Value()));
  }
  const Value value = summary.value();
  EXPECT_EQ(value["nodeCount"].as_int(), 100'000);
  ASSERT_EQ(value["nodes"].size(), 1U);
  EXPECT_EQ(value["nodes"][0]["count"].as_int(), 100'000);
  EXPECT_EQ(value["nodes"][0]["names"].size(), 64U);
}

}  // namespace
}  // namespace athanor::client::target_probe_test
