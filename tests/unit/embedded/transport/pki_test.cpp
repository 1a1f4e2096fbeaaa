// SPDX-License-Identifier: Apache-2.0
// The PKI's files: what is made, what is kept, what is replaced.
#include "net/pki.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/digest.hpp"
#include "embedded/transport/token_file.hpp"
#include "net/crypto.hpp"
#include "net/private_file.hpp"
#include "unit/embedded/transport/key_files.hpp"

namespace athanor::transport::pki_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class PkiTest : public ::testing::Test {
 protected:
  PkiTest() {
    std::string name = ::testing::TempDir() + "athanor-pki-XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~PkiTest() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] net::Pki ensure(Instant now, std::vector<std::string> hosts = {}) const {
    auto pki =
        net::ensure_pki({.directory = directory_ + "/pki", .hosts = std::move(hosts), .now = now});
    EXPECT_TRUE(pki.ok()) << (pki.ok() ? "" : pki.error().message);
    return pki.ok() ? *std::move(pki) : net::Pki();
  }

  std::string directory_{};
  const Instant start_ = *parse_time("2026-11-21T00:00:00Z");
};

net::CertificatePtr certificate_of(const std::string& pem) {
  return std::move(net::parse_certificates(pem)->front());
}

TEST_F(PkiTest, MakesEverythingForTheOwnerAlone) {
  const net::Pki pki = ensure(start_, {"192.168.7.7", "lab.example"});
  const auto server = certificate_of(pki.server_certificate);
  for (const char* host : {"localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default",
                           "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
                           "10.96.0.1", "192.168.7.7", "lab.example"}) {
    EXPECT_TRUE(net::covers_host(server.get(), host)) << host;
  }
  EXPECT_FALSE(net::covers_host(server.get(), "elsewhere.example"));
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/pki")) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << entry.path();
  }
}

TEST_F(PkiTest, KeepsExistingFiles) {
  const net::Pki first = ensure(start_);
  const net::Pki second = ensure(start_ + std::chrono::days(200));
  EXPECT_EQ(first.ca_certificate, second.ca_certificate);
  EXPECT_EQ(first.server_certificate, second.server_certificate);
  EXPECT_EQ(first.admin_key, second.admin_key);
  EXPECT_EQ(first.service_account_key, second.service_account_key);
}

TEST_F(PkiTest, RenewsCertificatesAfterTwoThirdsOfLifetime) {
  const net::Pki first = ensure(start_);
  const net::Pki next_year = ensure(start_ + std::chrono::days(250));
  EXPECT_EQ(first.ca_certificate, next_year.ca_certificate);
  EXPECT_NE(first.server_certificate, next_year.server_certificate);
  EXPECT_NE(first.admin_certificate, next_year.admin_certificate);
  const net::Pki years_later = ensure(start_ + std::chrono::days(2500));
  EXPECT_NE(first.ca_certificate, years_later.ca_certificate);
  EXPECT_EQ(first.service_account_key, years_later.service_account_key);
}

TEST_F(PkiTest, ReplacesAServingCertificateThatLacksAHost) {
  const net::Pki first = ensure(start_);
  const net::Pki second = ensure(start_, {"192.168.7.7"});
  EXPECT_NE(first.server_certificate, second.server_certificate);
  EXPECT_EQ(first.admin_certificate, second.admin_certificate);
}

TEST_F(PkiTest, ReplacesDamagedLeafButNotDamagedAuthority) {
  const net::Pki first = ensure(start_);
  ASSERT_TRUE(net::write_private_file(directory_ + "/pki/admin.key", "zz").ok());
  EXPECT_NE(ensure(start_).admin_key, first.admin_key);
  ASSERT_TRUE(net::write_private_file(directory_ + "/pki/ca.key", "zz").ok());
  const auto pki = net::ensure_pki({.directory = directory_ + "/pki", .now = start_});
  ASSERT_FALSE(pki.ok());
  EXPECT_THAT(pki.error().message, HasSubstr("/pki/ca.key: not a private key in PEM form"));
}

TEST_F(PkiTest, WritesAKubeconfigWithEverythingEmbedded) {
  const net::Pki pki = ensure(start_);
  const std::string path = directory_ + "/admin.kubeconfig";
  ASSERT_TRUE(net::write_admin_kubeconfig(path, pki, "https://127.0.0.1:6443").ok());
  const auto text = net::read_file(path);
  ASSERT_TRUE(text.ok() && *text);
  EXPECT_THAT(**text, HasSubstr("    server: https://127.0.0.1:6443\n"));
  EXPECT_THAT(**text, HasSubstr(base64_encode(pki.admin_key)));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(PkiTest, WritesClientKeysThatJavaReads) {
  const net::Pki fresh = ensure(start_);
  EXPECT_THAT(fresh.admin_key, StartsWith("-----BEGIN EC PRIVATE KEY-----"));
  net::Pki older = fresh;  // of a folder whose keys are in PKCS#8
  const KeyFiles& files = ec_files();
  older.admin_key = files.pkcs8;
  const std::string text = net::admin_kubeconfig(older, "https://127.0.0.1:6443", "jobs");
  EXPECT_THAT(text, HasSubstr(base64_encode(files.traditional)));
  EXPECT_THAT(text, Not(HasSubstr(base64_encode(files.pkcs8))));
}

TEST(PortableKey, IsATraditionalForm) {
  EXPECT_EQ(net::portable_key(ec_files().pkcs8), ec_files().traditional);
  EXPECT_EQ(net::portable_key(ec_files().traditional), ec_files().traditional);
  EXPECT_EQ(net::portable_key(rsa_files().pkcs8), rsa_files().traditional);
  EXPECT_EQ(net::portable_key("no key"), "no key");
}

TEST_F(PkiTest, MakesATokenFileOnceAndReadsIt) {
  const auto made = ensure_token_file(directory_ + "/tokens.csv");
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->size(), 1U);
  EXPECT_EQ(made->front().token.size(), 32U);
  EXPECT_THAT(made->front().groups, ElementsAre("system:masters"));
  const auto again = ensure_token_file(directory_ + "/tokens.csv");
  EXPECT_EQ(again->front().token, made->front().token);
}

TEST(TokenFileTest, ReadsColumnsAndQuotes) {
  const auto tokens = parse_token_file("t1,bob,7,\"a, b\"\r\n\nt2,\"x \"\"y\"\"\",8\n");
  ASSERT_TRUE(tokens.ok());
  ASSERT_EQ(tokens->size(), 2U);
  EXPECT_THAT((*tokens)[0].groups, ElementsAre("a", "b"));
  EXPECT_EQ((*tokens)[1].user, "x \"y\"");
  EXPECT_THAT((*tokens)[1].groups, IsEmpty());
  const auto bad = parse_token_file("t1,bob,7\nonly\n");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "line 2: needs at least a token, a user and a uid");
}

TEST_F(PkiTest, MakesSelfSignedServingPairAndKeepsIt) {
  const net::PkiOptions options{
      .directory = directory_ + "/certs", .hosts = {"192.168.7.7"}, .now = start_};
  const auto made = net::ensure_serving_pair(options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto certificate = certificate_of(made->certificate);
  const auto key = net::parse_key(made->key);
  EXPECT_TRUE(net::covers_host(certificate.get(), "192.168.7.7"));
  EXPECT_TRUE(net::covers_host(certificate.get(), "localhost"));
  EXPECT_TRUE(net::belongs_to(certificate.get(), key->get(), key->get()));
  EXPECT_EQ(**net::read_file(options.directory + "/apiserver.crt"), made->certificate);
  EXPECT_EQ(**net::read_file(options.directory + "/apiserver.key"), made->key);
  EXPECT_EQ(net::ensure_serving_pair(options)->certificate, made->certificate);
}

TEST_F(PkiTest, ServingPairWithoutDirectoryLeavesNothingBehind) {
  const auto made = net::ensure_serving_pair({.now = start_});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_NE(made->certificate, net::ensure_serving_pair({.now = start_})->certificate);
}

TEST_F(PkiTest, ReportsUnreadableServingPair) {
  ASSERT_TRUE(net::write_private_file(directory_ + "/apiserver.crt", "zz").ok());
  ASSERT_TRUE(net::write_private_file(directory_ + "/apiserver.key", "zz").ok());
  const auto made = net::ensure_serving_pair({.directory = directory_, .now = start_});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("apiserver.crt"));
}

// OpenSSL's text form of names would read each of these as several.
TEST_F(PkiTest, NameWithAComma) {
  const auto key = net::generate_key();
  ASSERT_TRUE(key.ok());
  for (const char* host : {"a.example,IP:10.0.0.1", "a.example,DNS:b.example", "a,dirName:b"}) {
    const auto made = net::issue({.common_name = "a", .hosts = {host, "10.0.0.2"}}, key->get(),
                                 {.key = key->get()});
    ASSERT_TRUE(made.ok()) << host << ": " << made.error().message;
    EXPECT_FALSE(net::covers_host(made->get(), "10.0.0.1")) << host;
    EXPECT_FALSE(net::covers_host(made->get(), "b.example")) << host;
    EXPECT_TRUE(net::covers_host(made->get(), "10.0.0.2")) << host;
  }
  using namespace std::string_literals;
  EXPECT_FALSE(net::issue({.common_name = "a", .hosts = {"10.0.0.1\0.example"s}}, key->get(),
                          {.key = key->get()})
                   .ok());
}

}  // namespace
}  // namespace athanor::transport::pki_test
