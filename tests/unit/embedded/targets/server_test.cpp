// SPDX-License-Identifier: Apache-2.0
// Emulated target clusters asked over real HTTPS, by the kubeconfigs that they give out.
#include "embedded/targets/server.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "client/cluster_config.hpp"
#include "client/connection.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::targets::server_test {
namespace {

using namespace std::chrono_literals;

class TargetServerTest : public testing::Test {
 protected:
  ~TargetServerTest() override {
    if (!folder_.empty()) {
      std::filesystem::remove_all(folder_);
    }
  }

  void serve(std::vector<Target> targets, const std::string& state = {}) {
    auto started =
        TargetServer::start({.targets = std::move(targets), .state = state, .clock = clock_.get()});
    ASSERT_TRUE(started.ok()) << started.error().message;
    server_ = *std::move(started);
  }

  Result<std::unique_ptr<client::Connection>> connect(const std::string& name) {
    ATHANOR_TRY(const Value kubeconfig, yaml::parse(server_->kubeconfig(name)));
    ATHANOR_TRY(const client::ClusterConfig config, client::cluster_config_of(kubeconfig, "", ""));
    return client::Connection::open(config);
  }

  // The number of nodes, or the error.
  Result<std::size_t> nodes(const std::string& name) {
    ATHANOR_TRY(const auto connection, connect(name));
    ATHANOR_TRY(const Value list, connection->call({.path = "/api/v1/nodes"}));
    return list["items"].size();
  }

  // Asks until the target answers, or does not: a change takes effect on the server's thread.
  bool comes_to(const std::string& name, bool answers) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < deadline) {
      if (nodes(name).ok() == answers) {
        return true;
      }
    }
    return false;
  }

  std::string folder() {
    char name[] = "/tmp/athanor-targets-XXXXXX";
    folder_ = ::mkdtemp(name);
    return folder_;
  }

  std::unique_ptr<Clock> clock_ = wall_clock();
  std::unique_ptr<TargetServer> server_{};
  std::string folder_{};
};

Target target(std::string name, Faults faults = {}) {
  return {.name = std::move(name),
          .nodes = {{.name = "n", .count = 2, .gpus = 8}},
          .faults = std::move(faults)};
}

TEST_F(TargetServerTest, EveryWayOfSigningInWorks) {
  Target token = target("token");
  token.sign_in = SignIn::Token;
  Target password = target("password");
  password.sign_in = SignIn::Password;
  serve({target("certificate"), token, password});
  for (const char* name : {"certificate", "token", "password"}) {
    const auto count = nodes(name);
    ASSERT_TRUE(count.ok()) << name << ": " << count.error().message;
    EXPECT_EQ(*count, 2U) << name;
  }
  EXPECT_EQ(server_->counts().writes, 0U);
  EXPECT_EQ(server_->kubeconfig("nobody"), "");
}

TEST_F(TargetServerTest, OneTargetsKubeconfigOpensNoOther) {
  serve({target("a"), target("b")});
  auto endpoint = *client::cluster_config_of(*yaml::parse(server_->kubeconfig("a")), "", "");
  endpoint.server =
      (*client::cluster_config_of(*yaml::parse(server_->kubeconfig("b")), "", "")).server;
  const auto connection = client::Connection::open(endpoint);
  ASSERT_TRUE(connection.ok());
  EXPECT_FALSE((*connection)->call({.path = "/version"}).ok());
}

TEST_F(TargetServerTest, AWrongCertificateIsNotTrusted) {
  serve({target("edge", {.wrong_certificate = true})});
  EXPECT_FALSE(nodes("edge").ok());
  EXPECT_EQ(server_->counts().requests, 0U);
}

TEST_F(TargetServerTest, ADeadTargetComesBackOnItsPort) {
  serve({target("edge", {.dead = true})});
  EXPECT_FALSE(nodes("edge").ok());
  ASSERT_TRUE(server_->configure(target("edge")).ok());
  EXPECT_TRUE(comes_to("edge", true));
  ASSERT_TRUE(server_->configure(target("edge", {.dead = true})).ok());
  EXPECT_TRUE(comes_to("edge", false));
  EXPECT_EQ(server_->configure(target("nobody")).error().code, 404);
}

TEST_F(TargetServerTest, AFlappingTargetGoesAndComes) {
  serve({target("edge", {.flapping = Flapping{.up = 200ms, .down = 200ms}})});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(comes_to("edge", true));
    EXPECT_TRUE(comes_to("edge", false));
  }
}

TEST_F(TargetServerTest, ASlowTargetTakesItsTime) {
  serve({target("edge", {.slow = 300ms})});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(nodes("edge").ok());
  EXPECT_GE(std::chrono::steady_clock::now() - start, 300ms);
}

TEST_F(TargetServerTest, AHangingTargetTakesRequestsAndSaysNothing) {
  serve({target("edge", {.hang = true}), target("well")});
  const auto connection = connect("edge");
  ASSERT_TRUE(connection.ok());
  bool ended = false;
  const auto stream =
      (*connection)
          ->stream("/api/v1/nodes", {.line = [](std::string_view) {},
                                     .ended = [&](const Result<void>&) { ended = true; }});
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (server_->counts().requests == 0 && std::chrono::steady_clock::now() < deadline) {
    (*connection)->run(10ms);
  }
  EXPECT_EQ(server_->counts().requests, 1U);
  (*connection)->run(100ms);
  EXPECT_FALSE(ended);
  EXPECT_TRUE(nodes("well").ok());
}

TEST_F(TargetServerTest, PortsAndKeysSurviveARestart) {
  const std::string state = folder() + "/targets.json";
  serve({target("a"), target("b")}, state);
  const std::string before = server_->kubeconfig("b");
  server_.reset();
  serve({target("b"), target("c")}, state);
  EXPECT_EQ(server_->kubeconfig("b"), before);
  EXPECT_TRUE(nodes("b").ok());
}

TEST_F(TargetServerTest, ADamagedStateIsNamed) {
  const std::string state = folder() + "/targets.json";
  std::FILE* file = std::fopen(state.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("{", file);
  std::fclose(file);
  const auto started =
      TargetServer::start({.targets = {target("a")}, .state = state, .clock = clock_.get()});
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find(state), std::string::npos);
}

TEST_F(TargetServerTest, AThousandTargetsAreCheap) {
  std::vector<Target> many;
  for (int i = 0; i < 1000; ++i) {
    many.push_back(target("t-" + std::to_string(i)));
  }
  serve(std::move(many));
  EXPECT_TRUE(nodes("t-0").ok());
  EXPECT_TRUE(nodes("t-999").ok());
}

}  // namespace
}  // namespace athanor::targets::server_test
