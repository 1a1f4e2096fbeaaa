// SPDX-License-Identifier: Apache-2.0
// Every form of kubeconfig and of a pod's service account, and what a broken one is told.
#include "client/cluster_config.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/digest.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::client::cluster_config_test {
namespace {

// Cases run side by side: each has a folder of its own.
std::string folder() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string path = ::testing::TempDir() + "/" + test->test_suite_name() + "-" + test->name();
  ::mkdir(path.c_str(), 0700);
  return path;
}

std::string write_file(const std::string& name, const std::string& text) {
  std::string path = folder() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

Value kubeconfig(const std::string& cluster, const std::string& user) {
  return *yaml::parse(
      "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
      "clusters: [{name: c, cluster: {" +
      cluster + "}}], users: [{name: u, user: {" + user + "}}]}");
}

Result<ClusterConfig> read(const std::string& cluster, const std::string& user,
                           const ClusterOptions& rules = {}) {
  return cluster_config_of(kubeconfig(cluster, user), "", folder(), rules);
}

constexpr const char* kServer = "server: 'https://h:6443'";
constexpr const char* kExec = "command: plugin, apiVersion: client.authentication.k8s.io/v1, ";

TEST(ClusterConfig, AClusterSaysHowToReachIt) {
  write_file("ca.pem", "PEM");
  const auto config = read(
      "server: 'https://h:6443/prefix//', certificate-authority: ca.pem, tls-server-name: api, "
      "proxy-url: 'socks5://p:1080', disable-compression: true",
      "");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "https://h:6443/prefix");
  EXPECT_EQ(config->certificate_authority.file, folder() + "/ca.pem");
  EXPECT_EQ(config->tls_server_name, "api");
  EXPECT_EQ(config->proxy_url, "socks5://p:1080");
  EXPECT_TRUE(config->disable_compression);
  EXPECT_EQ(config->ns, "default");
  EXPECT_EQ(config->context, "x");
}

TEST(ClusterConfig, ALabSaysWhereItsJobsAre) {
  const auto lab = cluster_config_of(
      *yaml::parse("{current-context: x, contexts: [{name: x, context: {cluster: c, extensions: "
                   "[{name: athanor.dev/lab, extension: {jobsNamespace: bench}}]}}], clusters: "
                   "[{name: c, cluster: {server: 'https://h:6443'}}]}"),
      "", folder());
  ASSERT_TRUE(lab.ok()) << lab.error().message;
  EXPECT_EQ(lab->ns, "default");
  EXPECT_FALSE(lab->ns_given);
  EXPECT_EQ(lab->jobs_ns, "bench");
}

TEST(ClusterConfig, InlineDataWinsOverFiles) {
  const auto config = read(std::string(kServer) + ", certificate-authority: missing.pem, " +
                               "certificate-authority-data: " + base64_encode("CA"),
                           "client-certificate-data: " + base64_encode("CERT") +
                               ", client-key-data: " + base64_encode("KEY"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->certificate_authority.text, "CA");
  EXPECT_EQ(config->client_certificate.text, "CERT");
  EXPECT_EQ(config->client_key.text, "KEY");
}

TEST(ClusterConfig, ReadsTokenFilePasswordOrImpersonationOfUser) {
  const std::string file = write_file("token", "abc\n");
  const auto token = read(kServer, "token: ' abc ', tokenFile: token");
  ASSERT_TRUE(token.ok()) << token.error().message;
  EXPECT_EQ(token->token, "abc");
  EXPECT_EQ(token->token_file, file);
  const auto basic = read(kServer, "username: me, password: pw");
  ASSERT_TRUE(basic.ok());
  EXPECT_EQ(basic->username, "me");
  EXPECT_EQ(basic->password, "pw");
  const auto other = read(kServer,
                          "token: t, as: jane, as-uid: '7', as-groups: [a, b], "
                          "as-user-extra: {scopes: [x, z]}");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->impersonate.user, "jane");
  EXPECT_EQ(other->impersonate.uid, "7");
  EXPECT_EQ(other->impersonate.groups, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(other->impersonate.extra.at("scopes"), (std::vector<std::string>{"x", "z"}));
}

TEST(ClusterConfig, AnExecPluginIsReadWhole) {
  const auto config =
      read(std::string(kServer) +
               ", extensions: [{name: client.authentication.k8s.io/exec, extension: {a: 1}}]",
           "exec: {command: ./bin/plugin, apiVersion: client.authentication.k8s.io/v1beta1, args: "
           "[get, token], env: [{name: A, value: b}], installHint: use apt, "
           "provideClusterInfo: true}");
  ASSERT_TRUE(config.ok()) << config.error().message;
  const ExecPlugin& plugin = *config->exec;
  EXPECT_EQ(plugin.command, folder() + "/./bin/plugin");
  EXPECT_EQ(plugin.arguments, (std::vector<std::string>{"get", "token"}));
  EXPECT_EQ(plugin.environment.at(0), std::pair(std::string("A"), std::string("b")));
  EXPECT_EQ(plugin.install_hint, "use apt");
  EXPECT_TRUE(plugin.provide_cluster_info);
  EXPECT_EQ(plugin.interactive, ExecPlugin::Interactive::IfAvailable);
  EXPECT_EQ(plugin.cluster_config, Value::object({{"a", 1}}));
  const auto bare = read(kServer, std::string("exec: {") + kExec + "interactiveMode: Never}");
  ASSERT_TRUE(bare.ok());
  EXPECT_EQ(bare->exec->command, "plugin");
  EXPECT_EQ(bare->exec->interactive, ExecPlugin::Interactive::Never);
}

struct Refusal {
  const char* cluster;
  const char* user;
  const char* message;
};

TEST(ClusterConfig, RefusesUnusableConfigurations) {
  const Refusal cases[] = {
      {"", "", "cluster \"c\" of context \"x\" does not exist or has no server"},
      {"server: h", "", "server \"h\" is not an http or https address"},
      {"server: 'https://me:pw@h'", "", "server is not an address of the form https://HOST:PORT"},
      {"server: 'https://h', certificate-authority-data: '%'", "",
       "certificate-authority-data is not base64"},
      {"server: 'https://h', certificate-authority: nowhere.pem", "", "cannot read "},
      {"server: 'https://h', insecure-skip-tls-verify: true, certificate-authority-data: Q0E=", "",
       "specifying a root certificates file with the insecure flag is not allowed"},
      {"server: 'https://h', proxy-url: 'ftp://p'", "",
       "invalid proxy-url: must be http, https, or socks5"},
      {kServer, "auth-provider: {name: gcp}", "auth-provider credentials are not supported"},
      {kServer, "client-certificate-data: Q0E=", "client-key-data or client-key must be specified"},
      {kServer, "client-key-data: Q0E=", "client-certificate-data or client-certificate must be"},
      {kServer, "tokenFile: nowhere", "cannot read "},
      {kServer, "token: t, username: me", "more than one authentication method found for u"},
      {kServer, "as-groups: [g]",
       "requesting uid, groups or user-extra for u without impersonating a user"},
      {kServer, "exec: {apiVersion: client.authentication.k8s.io/v1}",
       "command must be specified for u to use exec authentication plugin"},
      {kServer, "exec: {command: c}",
       "apiVersion must be specified for u to use exec authentication plugin"},
      {kServer, "exec: {command: c, apiVersion: client.authentication.k8s.io/v1alpha1}",
       "exec plugin: invalid apiVersion \"client.authentication.k8s.io/v1alpha1\""},
      {kServer, "exec: {command: c, apiVersion: client.authentication.k8s.io/v1}",
       "interactiveMode must be specified for u to use exec authentication plugin"},
      {kServer,
       "exec: {command: c, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Maybe}",
       "invalid interactiveMode for u: \"Maybe\""},
      {kServer,
       "exec: {command: c, apiVersion: client.authentication.k8s.io/v1beta1, env: [{value: b}]}",
       "env variable name must be specified for u"},
  };
  for (const Refusal& refusal : cases) {
    const auto config = read(refusal.cluster, refusal.user);
    ASSERT_FALSE(config.ok()) << refusal.message;
    EXPECT_NE(config.error().message.find(refusal.message), std::string::npos)
        << config.error().message;
    EXPECT_EQ(config.error().message.find("pw"), std::string::npos);
  }
}

TEST(ClusterConfig, NamesThatLeadNowhereAreNamed) {
  const auto parse = [](const char* text) {
    return cluster_config_of(*yaml::parse(text), "", ".").error().message;
  };
  EXPECT_EQ(parse("{}"), "no current-context: pass --context");
  EXPECT_EQ(parse("{current-context: x}"), "context \"x\" does not exist");
  EXPECT_EQ(parse("{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], "
                  "clusters: [{name: c, cluster: {server: 'https://h'}}]}"),
            "user \"u\" of context \"x\" does not exist");
}

TEST(ClusterConfig, RefusesCommandsAndFilesOfUntrustedConfigs) {
  const ClusterOptions strict{.allow_exec = false, .allow_files = false};
  const auto exec =
      read(kServer, std::string("exec: {") + kExec + "interactiveMode: Never}", strict);
  ASSERT_FALSE(exec.ok());
  EXPECT_EQ(exec.error().message, "user \"u\": exec credential plugins are not allowed here");
  for (const char* user : {"tokenFile: /etc/passwd", "client-key: /etc/passwd"}) {
    const auto file = read(kServer, user, strict);
    ASSERT_FALSE(file.ok());
    EXPECT_NE(file.error().message.find("names a file"), std::string::npos);
  }
}

TEST(ClusterConfig, UsesEnvironmentProxiesWhereKubeconfigNamesNone) {
  const std::string path =
      write_file("config",
                 "{current-context: x, contexts: [{name: x, context: {cluster: c}}], clusters: "
                 "[{name: c, cluster: {server: 'https://h'}}]}");
  const auto with = [&](std::map<std::string, std::string> environment) {
    return *resolve_cluster({.path = path, .environment = std::move(environment)});
  };
  EXPECT_EQ(with({}).proxy_url, "");
  EXPECT_EQ(with({{"HTTPS_PROXY", "p:3128"}}).proxy_url, "http://p:3128");
  EXPECT_EQ(with({{"HTTP_PROXY", "p:3128"}}).proxy_url, "") << "the server is an https one";
  const ClusterConfig both = with({{"https_proxy", "https://q"}, {"NO_PROXY", ".corp,10.0.0.0/8"}});
  EXPECT_EQ(both.proxy_url, "https://q");
  EXPECT_EQ(both.no_proxy, "localhost,127.0.0.0/8,::1,.corp,10.0.0.0/8");
}

std::map<std::string, std::string> pod(const std::string& host) {
  return {{"KUBERNETES_SERVICE_HOST", host}, {"KUBERNETES_SERVICE_PORT", "443"}};
}

TEST(ClusterConfig, InAPodTheServiceAccountCounts) {
  std::filesystem::remove_all(folder());
  const std::string token = write_file("token", "t");
  const ClusterOptions rules{.service_account = folder()};
  auto config = resolve_cluster({.environment = pod("10.0.0.1")}, rules);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "https://10.0.0.1:443");
  EXPECT_EQ(config->token_file, token);
  EXPECT_EQ(config->certificate_authority.file, "");
  EXPECT_EQ(config->ns, "default");
  const std::string ca = write_file("ca.crt", "PEM");
  write_file("namespace", "athanor-system\n");
  config = resolve_cluster({.environment = pod("fd00::1")}, rules);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->certificate_authority.file, ca);
  EXPECT_EQ(config->ns, "athanor-system");
  EXPECT_EQ(config->context, "in-cluster");
}

TEST(ClusterConfig, PrefersKubeconfigOverServiceAccountInPods) {
  const std::string path =
      write_file("config",
                 "{current-context: x, contexts: [{name: x, context: {cluster: c}}], clusters: "
                 "[{name: c, cluster: {server: 'https://h'}}]}");
  auto environment = pod("10.0.0.1");
  environment["KUBECONFIG"] = path;
  EXPECT_EQ(resolve_cluster({.environment = environment})->server, "https://h");
  const auto none =
      resolve_cluster({.environment = pod("10.0.0.1")}, {.service_account = folder() + "/nowhere"});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("nowhere/token"), std::string::npos);
  const auto bare = in_cluster_config({});
  ASSERT_FALSE(bare.ok());
  EXPECT_NE(bare.error().message.find("KUBERNETES_SERVICE_HOST"), std::string::npos);
}

}  // namespace
}  // namespace athanor::client::cluster_config_test
