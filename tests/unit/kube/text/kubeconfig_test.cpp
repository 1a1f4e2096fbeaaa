// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs of others: what is refused, and with which words (docs/spec/hearth.md 6.2, 6.3).
#include "kube/text/kubeconfig.hpp"

#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::kubeconfig_test {
namespace {

const std::string kPem =
    base64_encode("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n");

std::string config(const std::string& cluster, const std::string& user,
                   const std::string& head = "current-context: main") {
  return head +
         "\ncontexts: [{name: first, context: {cluster: other, user: me}}, {name: main, context: "
         "{cluster: here, user: me}}]\nclusters: [{name: here, cluster: {" +
         cluster +
         "}}, {name: other, cluster: {server: \"https://other:6443\"}}]\nusers: [{name: me, user: "
         "{" +
         user + "}}]\n";
}

KubeconfigReading read(const std::string& text, bool programs = false) {
  return read_kubeconfig_data(Value::object({{"kubeconfig", base64_encode(text)}}),
                              {.allow_programs = programs});
}

// Returns what keeps kubectl in a job from using it; empty: nothing.
std::string for_kubectl(const std::string& text) {
  return read_kubeconfig_data(Value::object({{"kubeconfig", base64_encode(text)}}),
                              {.as_kubectl = true})
      .why;
}

std::string complaint(const std::string& cluster, const std::string& user) {
  const KubeconfigReading reading = read(config(cluster, user));
  EXPECT_EQ(reading.flaw, KubeconfigFlaw::Unusable);
  return reading.why;
}

const std::string kServer = "server: \"https://10.0.0.1:6443/\"";

TEST(Kubeconfig, ReadsTargetAndCredentials) {
  const KubeconfigReading reading =
      read(config(kServer +
                      ", tls-server-name: api, proxy-url: \"http://p:3128\", "
                      "certificate-authority-data: " +
                      kPem,
                  "client-certificate-data: " + kPem + ", client-key-data: " + kPem));
  ASSERT_EQ(reading.flaw, KubeconfigFlaw::None) << reading.why;
  EXPECT_EQ(reading.target.server, "https://10.0.0.1:6443");
  EXPECT_EQ(reading.target.tls_server_name, "api");
  EXPECT_EQ(reading.target.proxy_url, "http://p:3128");
  EXPECT_TRUE(reading.target.ca_pem.starts_with("-----BEGIN"));
  EXPECT_TRUE(reading.target.key_pem.starts_with("-----BEGIN"));
  EXPECT_FALSE(reading.target.insecure_skip_verify);
}

TEST(Kubeconfig, WithoutACurrentContextTheFirstCounts) {
  EXPECT_EQ(read(config(kServer, "token: t", "kind: Config")).target.server, "https://other:6443");
}

TEST(Kubeconfig, RefusesWithKubectlsRules) {
  const std::string good = config(kServer + ", certificate-authority-data: " + kPem, "token: t");
  EXPECT_EQ(for_kubectl(good), "");
  EXPECT_EQ(for_kubectl(config(kServer, "token: t", "kind: Config")),
            "it has no current-context, so kubectl would not use it; set current-context: first");
  EXPECT_EQ(for_kubectl(base64_encode(good)),
            "it is encoded in base64 twice, which kubectl cannot read; encode it once");
  EXPECT_EQ(for_kubectl(config(kServer +
                                   ", insecure-skip-tls-verify: true, "
                                   "certificate-authority-data: " +
                                   kPem,
                               "token: t")),
            "cluster \"here\": certificate-authority-data and insecure-skip-tls-verify exclude "
            "each other; kubectl refuses both");
  EXPECT_EQ(for_kubectl(config(kServer + ", insecure-skip-tls-verify: true", "token: t")), "");
}

TEST(Kubeconfig, RefusesUserInformationInServers) {
  EXPECT_EQ(complaint("server: \"https://ann:secret@10.0.0.1:6443\"", ""),
            "cluster \"here\": server holds user information, which is not allowed; use a user "
            "entry");
  EXPECT_EQ(read(config("server: \"https://10.0.0.1/a@b\"", "")).flaw, KubeconfigFlaw::None);
}

TEST(Kubeconfig, PasswordsAndTokens) {
  EXPECT_EQ(read(config(kServer, "token: t")).target.token, "t");
  const KubeTarget target = read(config(kServer, "username: u, password: p")).target;
  EXPECT_EQ(target.username + "/" + target.password, "u/p");
  EXPECT_TRUE(
      read(config(kServer + ", insecure-skip-tls-verify: true", "")).target.insecure_skip_verify);
}

// docs/spec/hearth.md 6.3.
TEST(Kubeconfig, SendsNoCredentialsWithoutTls) {
  const std::string plain = "server: \"HTTP://10.0.0.1:8080\"";
  for (const char* user : {"token: t0ken", "username: u", "password: t0ken"}) {
    EXPECT_EQ(complaint(plain, user),
              "cluster \"here\": the credentials of user \"me\" would go to an http:// server "
              "unencrypted, which is not allowed; use https://");
    EXPECT_EQ(
        read_kubeconfig_data(Value::object({{"kubeconfig", base64_encode(config(plain, user))}}),
                             {.allow_plain_http = true})
            .flaw,
        KubeconfigFlaw::None);
  }
  EXPECT_EQ(read(config(plain, "exec: {command: a}"), /*programs=*/true).flaw,
            KubeconfigFlaw::Unusable);
  // Nothing secret is sent: neither without credentials nor with a certificate.
  EXPECT_EQ(read(config(plain, "")).flaw, KubeconfigFlaw::None);
  EXPECT_EQ(
      read(config(plain, "client-certificate-data: " + kPem + ", client-key-data: " + kPem)).flaw,
      KubeconfigFlaw::None);
}

TEST(Kubeconfig, CredentialsWithControlBytesAreRefused) {
  for (const char* token : {"a\\nb", "a\\rb", "a\\0b", "a\\x7fb", "a\\x1bb"}) {
    EXPECT_EQ(complaint(kServer, "token: \"" + std::string(token) + "\""),
              "user \"me\": its credentials hold a line break or another control character")
        << token;
  }
}

TEST(Kubeconfig, MayBeEncodedTwice) {
  EXPECT_EQ(read(base64_encode(config(kServer, "token: t"))).target.server,
            "https://10.0.0.1:6443");
}

TEST(Kubeconfig, FlawsInTheirOrder) {
  const auto flaw = [](const Value& data) { return read_kubeconfig_data(data).flaw; };
  EXPECT_EQ(flaw(Value()), KubeconfigFlaw::Absent);
  EXPECT_EQ(flaw(Value::object({{"config", "eA=="}})), KubeconfigFlaw::Absent);
  EXPECT_EQ(flaw(Value::object({{"kubeconfig", ""}})), KubeconfigFlaw::Absent);
  EXPECT_EQ(flaw(Value::object({{"kubeconfig", "%%%"}})), KubeconfigFlaw::NotText);
  EXPECT_EQ(flaw(Value::object({{"kubeconfig", base64_encode("\xff\xfe")}})),
            KubeconfigFlaw::NotText);
  EXPECT_EQ(read("a: [b").flaw, KubeconfigFlaw::NotYaml);
  EXPECT_EQ(read("[a]").flaw, KubeconfigFlaw::NotYaml);
  EXPECT_EQ(read("mock").flaw, KubeconfigFlaw::NotYaml);
  EXPECT_EQ(read("a: &a [x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
                 "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
                 "d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
                 "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n"
                 "f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n"
                 "g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]\n"
                 "h: [*g, *g, *g, *g, *g, *g, *g, *g, *g, *g]\n")
                .flaw,
            KubeconfigFlaw::NotYaml);
  EXPECT_EQ(read("kind: Config").flaw, KubeconfigFlaw::NoContexts);
  EXPECT_EQ(read("contexts: []").flaw, KubeconfigFlaw::NoContexts);
  EXPECT_EQ(read("contexts: yes").flaw, KubeconfigFlaw::NoContexts);
}

TEST(Kubeconfig, SizeIsBounded) {
  const std::string big = config(kServer, "token: t") + "#" + std::string(1 << 20, 'x');
  EXPECT_EQ(read(big).why, "it is larger than 1 MiB");
}

TEST(Kubeconfig, NamesThatLeadNowhere) {
  EXPECT_EQ(read(config(kServer, "", "current-context: gone")).why,
            "context \"gone\" does not exist");
  EXPECT_EQ(read("contexts: [{name: a, context: {cluster: b}}]").why,
            "cluster \"b\" of context \"a\" does not exist");
  EXPECT_EQ(read("contexts: [{name: a, context: {cluster: b, user: c}}]\nclusters: [{name: b, "
                 "cluster: {server: \"https://x\"}}]")
                .why,
            "user \"c\" of context \"a\" does not exist");
}

TEST(Kubeconfig, ServersAreUrls) {
  EXPECT_EQ(complaint("", ""), "cluster \"here\" has no server");
  for (const char* server : {"10.0.0.1:6443", "file:///etc/passwd", "ftp://x", "https://",
                             "https:///path", "https://a b"}) {
    EXPECT_EQ(complaint("server: \"" + std::string(server) + "\"", ""),
              "cluster \"here\": server is not an http(s) URL")
        << server;
  }
}

TEST(Kubeconfig, NeitherFilesNorProgramsAreTouched) {
  EXPECT_EQ(complaint(kServer + ", certificate-authority: /etc/passwd", ""),
            "cluster \"here\": certificate-authority names a file, which is not allowed; embed its "
            "contents");
  for (const char* key : {"client-certificate", "client-key", "tokenFile"}) {
    EXPECT_EQ(complaint(kServer, std::string(key) + ": /etc/passwd"),
              "user \"me\": " + std::string(key) +
                  " names a file, which is not allowed; embed its contents");
  }
  for (const char* key : {"exec", "auth-provider"}) {
    const std::string user = std::string(key) + ": {command: /bin/sh, name: gcp}";
    EXPECT_EQ(complaint(kServer, user),
              "user \"me\": " + std::string(key) +
                  " credentials would run a program, which is not allowed");
    EXPECT_TRUE(read(config(kServer, user), true).target.runs_program);
  }
}

TEST(Kubeconfig, SecretsAreWellFormed) {
  EXPECT_EQ(complaint(kServer + ", certificate-authority-data: '%'", ""),
            "cluster \"here\": certificate-authority-data is not base64");
  EXPECT_EQ(complaint(kServer, "client-key-data: c2VjcmV0"),
            "user \"me\": client-key-data is not PEM");
  EXPECT_EQ(complaint(kServer, "client-key-data: " + kPem),
            "user \"me\": client-certificate-data and client-key-data go together");
  EXPECT_EQ(complaint(kServer, "token: \"a\\r\\nX-Header: b\""),
            "user \"me\": its credentials hold a line break or another control character");
}

}  // namespace
}  // namespace athanor::kubeconfig_test
