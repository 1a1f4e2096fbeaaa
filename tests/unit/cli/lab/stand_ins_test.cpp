// SPDX-License-Identifier: Apache-2.0
// The command lines of kube-apiserver and etcd, as verbs and as programs of those names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "cli/flags/options.hpp"

namespace athanor::cli::stand_ins_test {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Command parse_words(std::vector<const char*> words) {
  return parse(static_cast<int>(words.size()), words.data());
}

Message refusal(std::vector<const char*> words) {
  const Command command = parse_words(std::move(words));
  const auto* message = std::get_if<Message>(&command);
  EXPECT_NE(message, nullptr);
  return message == nullptr ? Message() : *message;
}

// The flags that a controller-runtime test suite starts its API server with.
TEST(ApiServerFlags, TakesFlagsOfEnvtest) {
  const Command command = parse_words(
      {"/assets/kube-apiserver", "--allow-privileged=true", "--authorization-mode=RBAC",
       "--bind-address=127.0.0.1", "--cert-dir=/tmp/k8s", "--client-ca-file=/tmp/k8s/ca.crt",
       "--disable-admission-plugins=ServiceAccount", "--etcd-servers=http://127.0.0.1:2",
       "--insecure-port=0", "--secure-port=40000", "--service-account-issuer=https://127.0.0.1/",
       "--service-account-key-file=/tmp/k8s/sa.crt",
       "--service-account-signing-key-file=/tmp/k8s/sa.key",
       "--service-cluster-ip-range=10.0.0.0/24"});
  const auto* options = std::get_if<ApiServerOptions>(&command);
  ASSERT_NE(options, nullptr);
  const lab::BareServerOptions& server = options->server;
  EXPECT_EQ(server.bind_address, "127.0.0.1");
  EXPECT_EQ(server.secure_port, 40000);
  EXPECT_EQ(server.cert_dir, "/tmp/k8s");
  EXPECT_EQ(server.client_ca_file, "/tmp/k8s/ca.crt");
  // A bare server has NodeRestriction only where it is asked for, as the real one.
  EXPECT_THAT(server.disabled_admission, ElementsAre("ServiceAccount", "NodeRestriction"));
  EXPECT_THAT(server.service_account_issuers, ElementsAre("https://127.0.0.1/"));
  EXPECT_THAT(server.service_account_key_files, ElementsAre("/tmp/k8s/sa.crt"));
  EXPECT_EQ(server.service_account_signing_key_file, "/tmp/k8s/sa.key");
  EXPECT_EQ(server.service_cluster_ip_range, "10.0.0.0/24");
  EXPECT_FALSE(server.always_allow);
  EXPECT_TRUE(server.default_roles);
  EXPECT_TRUE(server.anonymous_auth);
  EXPECT_THAT(server.data_dir, IsEmpty());
  EXPECT_THAT(options->notes, ElementsAre(HasSubstr("--etcd-servers is ignored"),
                                          HasSubstr("--allow-privileged has no effect here")));
}

TEST(ApiServerFlags, DisablesAnonymousRequestsWithoutAuthorization) {
  const Command command = parse_words({"athanor", "apiserver"});
  const auto* options = std::get_if<ApiServerOptions>(&command);
  ASSERT_NE(options, nullptr);
  EXPECT_TRUE(options->server.always_allow);
  EXPECT_FALSE(options->server.default_roles);
  EXPECT_FALSE(options->server.anonymous_auth);
  EXPECT_EQ(options->server.secure_port, 6443);
}

TEST(ApiServerFlags, MakesRolesWithRbacInAnyList) {
  const Command command =
      parse_words({"athanor", "apiserver", "--authorization-mode", "AlwaysAllow,RBAC"});
  const auto* options = std::get_if<ApiServerOptions>(&command);
  ASSERT_NE(options, nullptr);
  EXPECT_TRUE(options->server.always_allow);
  EXPECT_TRUE(options->server.default_roles);
}

TEST(ApiServerFlags, ListsAndTimesAreRead) {
  const Command command = parse_words(
      {"athanor", "apiserver", "--authorization-mode", "Node,RBAC", "--anonymous-auth=false",
       "--api-audiences=a,b", "--service-account-issuer=https://one",
       "--service-account-issuer=https://two", "--event-ttl=2h", "--min-request-timeout=60",
       "--shutdown-delay-duration=3s", "--service-cluster-ip-range=10.1.0.0/16,fd00::/108",
       "--feature-gates=Some=true", "-v=4"});
  const auto* options = std::get_if<ApiServerOptions>(&command);
  ASSERT_NE(options, nullptr);
  EXPECT_FALSE(options->server.anonymous_auth);
  EXPECT_THAT(options->server.api_audiences, ElementsAre("a", "b"));
  EXPECT_THAT(options->server.service_account_issuers, ElementsAre("https://one", "https://two"));
  EXPECT_EQ(options->server.event_ttl, std::chrono::hours(2));
  EXPECT_EQ(options->server.min_request_timeout, std::chrono::seconds(60));
  EXPECT_EQ(options->shutdown_delay, std::chrono::seconds(3));
  EXPECT_EQ(options->server.service_cluster_ip_range, "10.1.0.0/16");
  EXPECT_EQ(options->verbosity, 4);
  EXPECT_THAT(options->notes, Contains(HasSubstr("--feature-gates")));
  EXPECT_THAT(options->notes, Contains(HasSubstr("--service-cluster-ip-range")));
}

// What is taken and changes nothing says so: each flag that the help calls so, and plugins.
TEST(ApiServerFlags, NotesFlagsWithoutEffect) {
  for (const FlagSpec& flag : apiserver_flags()) {
    if (flag.help != "accepted, without effect") {
      continue;
    }
    const std::string given =
        "--" + std::string(flag.name) + "=" + (flag.type == FlagType::Switch ? "true" : "1");
    const Command command = parse_words({"athanor", "apiserver", given.c_str()});
    const auto* options = std::get_if<ApiServerOptions>(&command);
    ASSERT_NE(options, nullptr) << given;
    EXPECT_THAT(options->notes, ElementsAre("--" + std::string(flag.name) + " has no effect here"));
  }
  const Command command = parse_words(
      {"athanor", "apiserver", "--enable-admission-plugins=AlwaysPullImages,NodeRestriction"});
  const auto* options = std::get_if<ApiServerOptions>(&command);
  ASSERT_NE(options, nullptr);
  EXPECT_THAT(options->notes,
              ElementsAre("--enable-admission-plugins: AlwaysPullImages has no effect here"));
}

TEST(ApiServerFlags, HelpNamesEveryFlagOfTheSpecification) {
  const Message message = refusal({"kube-apiserver", "--help"});
  EXPECT_EQ(message.exit_code, 0);
  for (const char* flag : {"bind-address",
                           "secure-port",
                           "insecure-port",
                           "advertise-address",
                           "cert-dir",
                           "tls-cert-file",
                           "tls-private-key-file",
                           "client-ca-file",
                           "token-auth-file",
                           "authorization-mode",
                           "enable-admission-plugins",
                           "disable-admission-plugins",
                           "service-cluster-ip-range",
                           "service-account-issuer",
                           "service-account-key-file",
                           "service-account-signing-key-file",
                           "api-audiences",
                           "requestheader-client-ca-file",
                           "requestheader-allowed-names",
                           "requestheader-username-headers",
                           "requestheader-group-headers",
                           "requestheader-extra-headers-prefix",
                           "proxy-client-cert-file",
                           "proxy-client-key-file",
                           "audit-policy-file",
                           "audit-log-path",
                           "max-requests-inflight",
                           "max-mutating-requests-inflight",
                           "request-timeout",
                           "min-request-timeout",
                           "event-ttl",
                           "allow-privileged",
                           "anonymous-auth",
                           "feature-gates",
                           "runtime-config",
                           "watch-cache",
                           "etcd-servers",
                           "enable-bootstrap-token-auth",
                           "enable-aggregator-routing",
                           "endpoint-reconciler-type",
                           "kubelet-client-certificate",
                           "kubelet-client-key",
                           "shutdown-delay-duration"}) {
    EXPECT_THAT(message.text, AnyOf(HasSubstr(std::string("\n      --") + flag + " ")));
  }
  EXPECT_THAT(message.text, HasSubstr("\n  -v, --v int"));
}

struct Refused {
  std::vector<const char*> words{};
  const char* text = "";
};
class StandInRefusals : public ::testing::TestWithParam<Refused> {};

TEST_P(StandInRefusals, ExitWithCode1AndNameFault) {
  const Message message = refusal(GetParam().words);
  EXPECT_EQ(message.exit_code, 1);
  EXPECT_EQ(message.text, GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    All, StandInRefusals,
    ::testing::Values(
        Refused{{"athanor", "apiserver", "--x"}, "Error: unknown flag: --x\n"},
        Refused{{"kube-apiserver", "--x=y"}, "Error: unknown flag: --x\n"},
        Refused{{"kube-apiserver", "up"},
                "Error: \"kube-apiserver\" does not take any arguments, got [\"up\"]\n"},
        Refused{{"kube-apiserver", "--secure-port=70000"},
                "Error: --secure-port 70000 must be between 0 and 65535, inclusive; 0 picks a free "
                "one\n"},
        Refused{{"kube-apiserver", "--insecure-port=8080"},
                "Error: --insecure-port must be 0: this server speaks TLS only\n"},
        Refused{{"kube-apiserver", "--authorization-mode=ABAC"},
                "Error: authorization-mode \"ABAC\" is not a valid mode here: RBAC, Node, "
                "AlwaysAllow\n"},
        Refused{{"kube-apiserver", "--disable-admission-plugins=Nope"},
                "Error: disable-admission-plugins plugin \"Nope\" is unknown\n"},
        Refused{{"kube-apiserver", "--disable-admission-plugins=Priority",
                 "--enable-admission-plugins=Priority"},
                "Error: [Priority] in enable-admission-plugins and disable-admission-plugins "
                "overlapped\n"},
        Refused{{"kube-apiserver", "--tls-cert-file=x"},
                "Error: --tls-cert-file and --tls-private-key-file must be given together\n"},
        Refused{{"etcd", "--x"}, "Error: unknown flag: --x\n"},
        Refused{{"etcd", "--listen-client-urls=https://127.0.0.1:1"},
                "Error: --listen-client-urls: \"https://127.0.0.1:1\" is not of the form "
                "http://HOST:PORT\n"},
        Refused{{"etcd", "--listen-client-urls=http://127.0.0.1"},
                "Error: --listen-client-urls: \"http://127.0.0.1\" is not of the form "
                "http://HOST:PORT\n"}));

TEST(EtcdFlags, TakesFlagsOfEnvtest) {
  const Command command =
      parse_words({"etcd", "--advertise-client-urls=http://127.0.0.1:40001", "--data-dir=/tmp/k8s",
                   "--listen-client-urls=http://127.0.0.1:40001",
                   "--listen-peer-urls=http://127.0.0.1:40002", "--unsafe-no-fsync=true"});
  const auto* options = std::get_if<EtcdOptions>(&command);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->host, "127.0.0.1");
  EXPECT_EQ(options->port, 40001);
}

TEST(EtcdFlags, HelpSaysThatItIsNoStore) {
  const Message message = refusal({"athanor", "etcd", "--help"});
  EXPECT_EQ(message.exit_code, 0);
  EXPECT_THAT(message.text, HasSubstr("It stores nothing"));
  EXPECT_THAT(message.text, HasSubstr("\n      --unsafe-no-fsync "));
}

TEST(Envtest, NeedsAFolder) {
  const Command command = parse_words({"athanor", "envtest", "dir"});
  const auto* options = std::get_if<EnvtestOptions>(&command);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->directory, "dir");
  EXPECT_EQ(refusal({"athanor", "envtest"}).exit_code, 2);
}

TEST(Envtest, ReportsMissingKubectlWhenCalledAsKubectl) {
  const Message message = refusal({"/assets/kubectl", "get", "pods"});
  EXPECT_EQ(message.exit_code, 1);
  EXPECT_THAT(message.text, HasSubstr("no kubectl in PATH"));
}

TEST(StandIns, AreVerbsWithFlagsForCompletion) {
  const auto verbs = verb_summaries();
  const auto named = [&](std::string_view name) {
    const auto found = std::ranges::find(verbs, name, &VerbSummary::name);
    return found == verbs.end() ? VerbSummary() : *found;
  };
  EXPECT_THAT(named("apiserver").flags, Contains(Field(&FlagSummary::name, "--secure-port")));
  EXPECT_THAT(named("etcd").flags, Contains(Field(&FlagSummary::name, "--data-dir")));
  EXPECT_EQ(named("envtest").name, "envtest");
}

}  // namespace
}  // namespace athanor::cli::stand_ins_test
