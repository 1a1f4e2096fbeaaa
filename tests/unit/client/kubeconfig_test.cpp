// SPDX-License-Identifier: Apache-2.0
// Which kubeconfig counts: kubectl's rules.
#include "client/kubeconfig.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "client/cluster_config.hpp"

namespace athanor::client::kubeconfig_test {
namespace {

std::string write_file(const std::string& name, const std::string& text) {
  // Cases run side by side: each has files of its own.
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string path = ::testing::TempDir() + "/" + test->name() + "-" + name;
  std::ofstream(path) << text;
  return path;
}

std::string config(const std::string& name, const std::string& more = "") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: " + name + "\ncontexts:\n- name: " + name +
         "\n  context: {cluster: " + name + ", user: " + name + ", namespace: " + name +
         "-ns}\nclusters:\n- name: " + name + "\n  cluster: {server: \"https://" + name +
         ":1/\"}\nusers:\n- name: " + name + "\n  user: {token: t-" + name + more + "}\n";
}

TEST(Kubeconfig, AnExplicitPathBeatsTheEnvironment) {
  const std::string a = write_file("a.yaml", config("a"));
  const std::string b = write_file("b.yaml", config("b"));
  const auto cluster = resolve_cluster({.path = a, .environment = {{"KUBECONFIG", b}}});
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ(cluster->server, "https://a:1");
  EXPECT_EQ(cluster->ns, "a-ns");
}

TEST(Kubeconfig, MergesListedFilesAndKeepsFirstContext) {
  const std::string a = write_file("a.yaml", config("a"));
  const std::string b = write_file("b.yaml", config("b"));
  const KubeconfigOptions options{.context = "b",
                                  .environment = {{"KUBECONFIG", a + ":/missing:" + b}}};
  const auto chosen = resolve_cluster(options);
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(chosen->token, "t-b");
  const auto first = resolve_cluster({.environment = {{"KUBECONFIG", a + ":" + b}}});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->token, "t-a");
}

TEST(Kubeconfig, SuggestsNextStepWithoutFile) {
  const auto cluster = resolve_cluster({.environment = {{"HOME", "/nowhere"}}});
  ASSERT_FALSE(cluster.ok());
  EXPECT_NE(cluster.error().message.find("athanor up"), std::string::npos);
}

TEST(Kubeconfig, NamesMissingParts) {
  const std::string a = write_file("a.yaml", config("a"));
  const auto wrong = resolve_cluster({.path = a, .context = "zz"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("context \"zz\" does not exist"), std::string::npos);
}

}  // namespace
}  // namespace athanor::client::kubeconfig_test
