// SPDX-License-Identifier: Apache-2.0
// Which kubeconfig counts, and what a broken one is told: kubectl's rules.
#include "client/kubeconfig.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/digest.hpp"
#include "kube/yaml.hpp"

namespace athanor::client {
namespace {

std::string write_file(const std::string& name, const std::string& text) {
  // Cases run side by side: each has files of its own.
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = ::testing::TempDir() + "/" + test->name() + "-" + name;
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
  const auto endpoint = load_endpoint({.path = a, .environment = {{"KUBECONFIG", b}}});
  ASSERT_TRUE(endpoint.ok()) << endpoint.error().message;
  EXPECT_EQ(endpoint->server, "https://a:1");
  EXPECT_EQ(endpoint->ns, "a-ns");
}

TEST(Kubeconfig, ListedFilesAreMergedAndTheFirstContextCounts) {
  const std::string a = write_file("a.yaml", config("a"));
  const std::string b = write_file("b.yaml", config("b"));
  const KubeconfigOptions options{.context = "b",
                                  .environment = {{"KUBECONFIG", a + ":/missing:" + b}}};
  const auto chosen = load_endpoint(options);
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(chosen->token, "t-b");
  const auto first = load_endpoint({.environment = {{"KUBECONFIG", a + ":" + b}}});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->token, "t-a");
}

TEST(Kubeconfig, InlineDataIsDecodedAndFilesAreReadBesideTheConfig) {
  const std::string ca = write_file("ca.pem", "PEM");
  const auto endpoint =
      endpoint_of(*yaml::parse("{current-context: x, contexts: [{name: x, context: {cluster: c, "
                               "user: u}}], clusters: [{name: c, cluster: "
                               "{server: \"https://h\", certificate-authority: " +
                               ca.substr(ca.rfind('/') + 1) +
                               "}}], users: "
                               "[{name: u, user: {client-key-data: " +
                               base64_encode("KEY") + "}}]}"),
                  "", ::testing::TempDir());
  ASSERT_TRUE(endpoint.ok()) << endpoint.error().message;
  EXPECT_EQ(endpoint->certificate_authority, "PEM");
  EXPECT_EQ(endpoint->client_key, "KEY");
  EXPECT_EQ(endpoint->ns, "default");
}

TEST(Kubeconfig, WithoutAnyFileItSaysWhatToDo) {
  const auto endpoint = load_endpoint({.environment = {{"HOME", "/nowhere"}}});
  ASSERT_FALSE(endpoint.ok());
  EXPECT_NE(endpoint.error().message.find("athanor up"), std::string::npos);
}

TEST(Kubeconfig, NamesWhatIsMissing) {
  const std::string a = write_file("a.yaml", config("a"));
  const auto wrong = load_endpoint({.path = a, .context = "zz"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("context \"zz\" does not exist"), std::string::npos);
}

TEST(Kubeconfig, RefusesCredentialsItCannotUse) {
  const auto endpoint = endpoint_of(
      *yaml::parse("{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
                   "clusters: [{name: c, cluster: "
                   "{server: \"https://h\"}}], users: [{name: u, user: {exec: {command: aws}}}]}"),
      "", ".");
  ASSERT_FALSE(endpoint.ok());
  EXPECT_NE(endpoint.error().message.find("exec credentials are not supported"), std::string::npos);
}

}  // namespace
}  // namespace athanor::client
