// SPDX-License-Identifier: Apache-2.0
// Which limits of handshakes can be applied; handshakes: tests/e2e/deploy/test_tls_profile.py.
#include "net/serving/served_tls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/pki.hpp"

namespace athanor::net::served_tls_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kKnown = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";

TEST(TlsLimits, NamesInapplicableSettings) {
  EXPECT_THAT(problems_of({}), IsEmpty());
  EXPECT_THAT(problems_of({.min_version = "VersionTLS13", .ciphers = {kKnown}}), IsEmpty());
  EXPECT_THAT(problems_of({.min_version = "VersionTLS10"}),
              ElementsAre(HasSubstr("\"VersionTLS10\" is unknown or older than 1.2")));
  EXPECT_THAT(problems_of({.min_version = "1.3", .ciphers = {kKnown, "NO_CIPHER"}}),
              ElementsAre(HasSubstr("\"1.3\""), HasSubstr("\"NO_CIPHER\"")));
}

TEST(TlsLimits, KeepKnownPartsOfProfile) {
  const TlsLimits known =
      without_unknown({.min_version = "VersionTLS11", .ciphers = {"TLS_OWN", kKnown}});
  EXPECT_EQ(known, (TlsLimits{.ciphers = {kKnown}}));
  EXPECT_EQ(without_unknown({.min_version = "VersionTLS13"}).min_version, "VersionTLS13");
}

TEST(ServedTls, HasAContextOnceThereIsACertificate) {
  ServedTls tls;
  EXPECT_TRUE(tls.limit({.min_version = "VersionTLS13"}).ok());
  EXPECT_EQ(tls.current(), nullptr);
  EXPECT_FALSE(tls.use("no certificate", "no key").ok());
  EXPECT_EQ(tls.current(), nullptr);
  const auto pair = ensure_serving_pair({.now = *parse_time("2026-11-26T10:00:00Z")});
  ASSERT_TRUE(pair.ok()) << pair.error().message;
  ASSERT_TRUE(tls.use(pair->certificate, pair->key).ok());
  const auto first = tls.current();
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(tls.limit({.ciphers = {kKnown}}).ok());
  EXPECT_NE(tls.current(), first) << "connections to come get another one";
  EXPECT_FALSE(tls.use("no certificate", "no key").ok());
  EXPECT_NE(tls.current(), nullptr);
}

}  // namespace
}  // namespace athanor::net::served_tls_test
