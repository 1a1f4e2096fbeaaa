// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs of others: what is refused, and with which words (docs/spec/hearth.md 6.2, 6.3).
#include "kube/text/kubeconfig.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"
#include "kube/text/json.hpp"
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

// Kubeconfigs as other programs write them. `server`: where it leads; empty: it is refused, with
// `flaw`.
struct Form {
  std::string what{};
  std::string text{};
  std::string server{};
  KubeconfigFlaw flaw = KubeconfigFlaw::None;
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::vector<Form> forms() {
  const std::string server = "https://10.0.0.1:6443";
  const std::string plain = config(kServer + ", certificate-authority-data: " + kPem, "token: t");
  const auto at = [](const std::string& url) {
    return config("server: \"" + url + "\"", "token: t");
  };
  const Value document = *yaml::parse(plain);
  std::string broken;  // base64(1) breaks its lines
  for (std::size_t i = 0; i < kPem.size(); i += 16) {
    broken += "        " + kPem.substr(i, 16) + "\n";
  }
  return {
      {"JSON", json::print(document), server},
      {"a marker of documents", "# my cluster\n---\n" + plain, server},
      {"lines that end in CRLF", replaced(plain, "\n", "\r\n"), server},
      {"tabs", "kind: Config\nclusters:\n\t- name: x\n", "", KubeconfigFlaw::NotYaml},
      {"a slash at the end", at(server + "/"), server},
      {"localhost", at("https://localhost:6443"), "https://localhost:6443"},
      {"every address, as k3d", at("https://0.0.0.0:6443"), "https://0.0.0.0:6443"},
      {"base64 with line breaks",
       "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters:\n- "
       "name: a\n  cluster:\n    server: https://10.0.0.1:6443\n    certificate-authority-data: "
       "|\n" +
           broken + "users: [{name: a, user: {token: t}}]\n",
       server},
      {"a user twice", replaced(plain, "users: [", "users: [{name: me, user: {token: t}}, "),
       server},
      {"extensions",
       "extra: {k9s: 1}\n" +
           config(kServer + ", extensions: [{name: minikube.sigs.k8s.io, extension: "
                            "{provider: minikube.sigs.k8s.io}}]",
                  "token: t"),
       server},
      {"names of oc login",
       "preferences: {}\ncurrent-context: default/api-gpu:6443/kube:admin\ncontexts: [{name: "
       "\"default/api-gpu:6443/kube:admin\", context: {cluster: \"api-gpu:6443\", namespace: "
       "default, user: \"kube:admin/api-gpu:6443\"}}]\nclusters: [{name: \"api-gpu:6443\", "
       "cluster: {" +
           kServer + "}}]\nusers: [{name: \"kube:admin/api-gpu:6443\", user: {token: t}}]\n",
       server},
      {"a user without credentials", config(kServer, ""), server},
      {"a null user", replaced(config(kServer, ""), "user: {}}]", "user: null}]"), server},
  };
}

TEST(Kubeconfig, FormsOfOtherProgramsAreRead) {
  for (const Form& form : forms()) {
    const KubeconfigReading reading = read(form.text);
    EXPECT_EQ(reading.flaw, form.flaw) << form.what << ": " << reading.why;
    EXPECT_EQ(reading.target.server, form.server) << form.what;
  }
}

TEST(Kubeconfig, KeepsBundlesOfAuthoritiesWhole) {
  const std::string two = *base64_decode(kPem) + *base64_decode(kPem);
  const std::string text =
      config(kServer + ", certificate-authority-data: " + base64_encode(two), "token: t");
  EXPECT_EQ(read(text).target.ca_pem, two);
}

// Cluster API writes `value`; its documents are for kubectl's key.
TEST(Kubeconfig, OtherKeysOfASecretAreAbsent) {
  const std::string text = base64_encode(config(kServer, "token: t"));
  for (const char* key : {"value", "config", "admin.conf", "Kubeconfig"}) {
    EXPECT_EQ(read_kubeconfig_data(Value::object({{key, text}})).flaw, KubeconfigFlaw::Absent)
        << key;
  }
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
