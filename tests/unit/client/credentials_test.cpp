// SPDX-License-Identifier: Apache-2.0
// Files that are rotated, plugins that are run again, and that no error says a secret.
#include "client/credentials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "client/exec_plugin.hpp"
#include "kube/text/json.hpp"
#include "unit/client/manual_clock.hpp"

namespace athanor::client::credentials_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    std::string name = ::testing::TempDir() + "athanor-credentials-XXXXXX";
    folder = ::mkdtemp(name.data());
  }
  ~CredentialsTest() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string& name, const std::string& text) const {
    std::string path = folder + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // A plugin that does this, and notes each run in the file "runs".
  ClusterConfig with_plugin(const std::string& script) const {
    const std::string path =
        write("plugin", "#!/bin/sh\necho run >>" + folder + "/runs\n" + script + "\n");
    ::chmod(path.c_str(), 0700);
    ClusterConfig config;
    config.server = "https://h";
    config.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                             .command = path,
                             .interactive = ExecPlugin::Interactive::Never};
    return config;
  }
  [[nodiscard]] std::ptrdiff_t runs() const {
    const std::string text = read("runs");
    return std::count(text.begin(), text.end(), '\n');
  }
  static std::string credential(const std::string& status) {
    return "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
           "\"status\":{" +
           status + "}}'";
  }

  std::string folder{};
  ManualClock clock{};
};

TEST_F(CredentialsTest, KeepsStaticOnesFreshWithoutRenewal) {
  ClusterConfig config;
  config.token = "t";
  const auto credentials = Credentials::create(config, clock);
  EXPECT_FALSE(credentials->fresh()) << "not read yet";
  EXPECT_EQ(credentials->get()->authorization, "Bearer t");
  clock.advance(std::chrono::hours(1000));
  EXPECT_TRUE(credentials->fresh());
  EXPECT_FALSE(credentials->reject(credentials->get()->generation));
}

TEST_F(CredentialsTest, APasswordIsBasic) {
  ClusterConfig config;
  config.username = "me";
  config.password = "pw";
  EXPECT_EQ(Credentials::create(config, clock)->get()->authorization, "Basic bWU6cHc=");
}

TEST_F(CredentialsTest, ATokenFileIsReadAgainEveryMinute) {
  ClusterConfig config;
  config.token_file = write("token", "one\n");
  const auto credentials = Credentials::create(config, clock);
  const Identity first = *credentials->get();
  EXPECT_EQ(first.authorization, "Bearer one");
  write("token", "two\n");
  clock.advance(seconds(59));
  EXPECT_EQ(credentials->get()->authorization, "Bearer one");
  clock.advance(seconds(1));
  EXPECT_FALSE(credentials->fresh());
  EXPECT_EQ(credentials->get()->authorization, "Bearer two");
  EXPECT_GT(credentials->get()->generation, first.generation);
}

TEST_F(CredentialsTest, KeepsTokenWhileFileIsMissing) {
  ClusterConfig config;
  config.token_file = write("token", "one");
  const auto credentials = Credentials::create(config, clock);
  ASSERT_TRUE(credentials->get().ok());
  std::filesystem::remove(config.token_file);
  clock.advance(seconds(61));
  EXPECT_EQ(credentials->get()->authorization, "Bearer one");
  write("token", "");
  clock.advance(seconds(61));
  EXPECT_EQ(credentials->get()->authorization, "Bearer one");
}

TEST_F(CredentialsTest, RereadsRefusedTokenAtOnceWithoutLooping) {
  ClusterConfig config;
  config.token_file = write("token", "one");
  const auto credentials = Credentials::create(config, clock);
  const std::uint64_t first = credentials->get()->generation;
  EXPECT_FALSE(credentials->reject(first)) << "read a moment ago";
  write("token", "two");
  clock.advance(seconds(3));
  EXPECT_TRUE(credentials->reject(first));
  EXPECT_EQ(credentials->get()->authorization, "Bearer two");
  EXPECT_TRUE(credentials->reject(first)) << "there is a newer one already";
  EXPECT_TRUE(credentials->fresh());
}

TEST_F(CredentialsTest, CertificatesAreReloadedAndPairsStayTogether) {
  ClusterConfig config;
  config.client_certificate.file = write("cert", "c1");
  config.client_key.file = write("key", "k1");
  config.certificate_authority.file = write("ca", "a1");
  const auto credentials = Credentials::create(config, clock);
  EXPECT_EQ(credentials->get()->certificate, "c1");
  write("cert", "c2");
  write("key", "k2");
  write("ca", "a2");
  clock.advance(seconds(60));
  const Identity renewed = *credentials->get();
  EXPECT_EQ(renewed.certificate, "c2");
  EXPECT_EQ(renewed.key, "k2");
  EXPECT_EQ(renewed.authority, "a2");
}

TEST_F(CredentialsTest, ReportsErrorOfMissingFile) {
  ClusterConfig config;
  config.token_file = folder + "/nowhere";
  const auto credentials = Credentials::create(config, clock);
  EXPECT_EQ(credentials->get().error().code, 401);
  EXPECT_THAT(credentials->get().error().message, HasSubstr("nowhere"));
  write("nowhere", "late");
  clock.advance(seconds(3));
  EXPECT_EQ(credentials->get()->authorization, "Bearer late");
}

TEST_F(CredentialsTest, ATokenWithALineBreakIsRefused) {
  ClusterConfig config;
  config.token = "a\r\nX-Other: b";
  const auto identity = Credentials::create(config, clock)->get();
  ASSERT_FALSE(identity.ok());
  EXPECT_THAT(identity.error().message, Not(HasSubstr("Other")));
}

TEST_F(CredentialsTest, APluginRunsOnceUntilItsAnswerExpires) {
  const auto credentials = Credentials::create(
      with_plugin(credential(R"("token":"t","expirationTimestamp":"2026-11-20T10:05:00Z")")),
      clock);
  EXPECT_EQ(credentials->get()->authorization, "Bearer t");
  clock.advance(seconds(299));
  EXPECT_TRUE(credentials->fresh());
  EXPECT_TRUE(credentials->get().ok());
  EXPECT_EQ(runs(), 1);
  clock.advance(seconds(1));
  EXPECT_FALSE(credentials->fresh());
  EXPECT_TRUE(credentials->get().ok());
  EXPECT_EQ(runs(), 2);
}

TEST_F(CredentialsTest, RerunsPluginWithoutExpiryAfterRefusal) {
  const auto credentials = Credentials::create(
      with_plugin(credential(R"("token":"t'$(wc -l <)" + folder + R"(/runs)'")")), clock);
  const Identity first = *credentials->get();
  EXPECT_EQ(first.authorization, "Bearer t1");
  clock.advance(std::chrono::hours(100));
  EXPECT_TRUE(credentials->fresh());
  EXPECT_TRUE(credentials->reject(first.generation));
  EXPECT_EQ(credentials->get()->authorization, "Bearer t2");
}

TEST_F(CredentialsTest, APluginMayAnswerWithACertificate) {
  const auto identity =
      Credentials::create(
          with_plugin(credential(R"("clientCertificateData":"C","clientKeyData":"K")")), clock)
          ->get();
  ASSERT_TRUE(identity.ok()) << identity.error().message;
  EXPECT_EQ(identity->certificate, "C");
  EXPECT_EQ(identity->key, "K");
  EXPECT_EQ(identity->authorization, "");
}

TEST_F(CredentialsTest, PassesClusterInformationToPlugin) {
  ClusterConfig config =
      with_plugin("echo \"$1 $A\" >" + folder + "/said; echo \"$KUBERNETES_EXEC_INFO\" >" + folder +
                  "/info; " + credential(R"("token":"t")"));
  config.exec->arguments = {"first"};
  config.exec->environment = {{"A", "b"}};
  config.exec->provide_cluster_info = true;
  config.exec->cluster_config = Value::object({{"x", 1}});
  config.certificate_authority.text = "CA";
  config.tls_server_name = "name";
  ASSERT_TRUE(Credentials::create(config, clock)->get().ok());
  EXPECT_EQ(read("said"), "first b\n");
  const Value info = *json::parse(read("info"));
  EXPECT_EQ(info["apiVersion"].as_string(), "client.authentication.k8s.io/v1");
  EXPECT_FALSE(info["spec"]["interactive"].as_bool(true));
  EXPECT_EQ(info["spec"]["cluster"], Value::object({{"server", "https://h"},
                                                    {"tls-server-name", "name"},
                                                    {"certificate-authority-data", "Q0E="},
                                                    {"config", Value::object({{"x", 1}})}}));
}

TEST_F(CredentialsTest, ReportsPluginFailureWithoutItsOutput) {
  struct Case {
    std::string script;
    const char* message;
  };
  const Case cases[] = {
      {"echo SECRET; exit 3", "failed with exit code 3: use apt"},
      {"echo SECRET", "exec plugin did not print an ExecCredential"},
      {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\","
       "\"status\":{\"token\":\"SECRET\"}}'",
       "configured to use API version client.authentication.k8s.io/v1, plugin returned version "
       "client.authentication.k8s.io/v1beta1"},
      {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"}'",
       "exec plugin didn't return a status field"},
      {credential(""), "exec plugin didn't return a token or cert/key pair"},
      {credential(R"("clientKeyData":"SECRET")"),
       "exec plugin returned only certificate or key, not both"},
      {credential(R"("token":"SECRET","expirationTimestamp":"soon")"),
       "expirationTimestamp that is no RFC 3339 time"},
      {"sleep 100 & sleep 100", "did not end in time"},
      {"yes SECRET", "printed more than 1 MiB"},
      {"kill -9 $$", "failed with exit code 137"},
  };
  for (const Case& one : cases) {
    ClusterConfig config = with_plugin(one.script);
    config.exec->install_hint = "use apt";
    const auto identity =
        Credentials::create(config, clock, {.plugin_timeout = milliseconds(1500)})->get();
    ASSERT_FALSE(identity.ok()) << one.script;
    EXPECT_EQ(identity.error().code, 401);
    EXPECT_THAT(identity.error().message, HasSubstr(one.message));
    EXPECT_THAT(identity.error().message, HasSubstr("getting credentials"));
    EXPECT_THAT(identity.error().message, Not(HasSubstr("SECRET")));
  }
}

TEST_F(CredentialsTest, AMissingPluginIsNamedWithItsHint) {
  ClusterConfig config = with_plugin("");
  config.exec->command = folder + "/missing";
  const auto credentials = Credentials::create(config, clock);
  const auto plain = credentials->get();
  EXPECT_THAT(plain.error().message, HasSubstr("missing not found"));
  EXPECT_THAT(plain.error().message, HasSubstr("client-go-credential-plugins"));
  EXPECT_TRUE(credentials->fresh()) << "it is not started for every request";
  clock.advance(seconds(3));
  EXPECT_FALSE(credentials->fresh());
}

TEST_F(CredentialsTest, APluginThatMustAskNeedsATerminal) {
  if (::isatty(0) == 1) {
    GTEST_SKIP() << "standard input is a terminal";
  }
  ClusterConfig config = with_plugin(credential(R"("token":"t")"));
  config.exec->interactive = ExecPlugin::Interactive::Always;
  EXPECT_THAT(Credentials::create(config, clock)->get().error().message,
              HasSubstr("standard input is not a terminal"));
  EXPECT_EQ(runs(), 0);
}

}  // namespace
}  // namespace athanor::client::credentials_test
