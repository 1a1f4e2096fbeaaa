// SPDX-License-Identifier: Apache-2.0
// Certificates for requests, as the controllers ask for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/clock.hpp"
#include "base/digest.hpp"
#include "embedded/lab/probes.hpp"
#include "net/pki.hpp"

namespace athanor::lab::certificate_probes_test {
namespace {

using testing::HasSubstr;

// CN=jane, O=devs, with the name "web" and the address 10.0.0.1; made with openssl req.
constexpr const char* kRequest = R"(-----BEGIN CERTIFICATE REQUEST-----
MIIBADCBpwIBADAeMQ0wCwYDVQQDDARqYW5lMQ0wCwYDVQQKDARkZXZzMFkwEwYH
KoZIzj0CAQYIKoZIzj0DAQcDQgAEe6NiJjKNoITgWurZi6HHWEnHfi6/IlI0NtEo
0ZVZUbZkd2/s5Lmf4CLLmO4Z8+v+iVsAsatOCoNaUraAaLOKV6AnMCUGCSqGSIb3
DQEJDjEYMBYwFAYDVR0RBA0wC4IDd2VihwQKAAABMAoGCCqGSM49BAMCA0gAMEUC
IQCA4VGrFHLObY07pJcdTxEGZMJ9hgKx9dFoDhIPvfpdBwIgaheO+be/wNSCjuln
5uBzPOh9NSLvFpc4PiTzGg2g9KI=
-----END CERTIFICATE REQUEST-----
)";

TEST(CertificateProbes, ReadContentsOfRequest) {
  const auto wish = read_certificate_wish("certificate-request:" + base64_encode(kRequest));
  ASSERT_TRUE(wish.ok()) << wish.error().message;
  EXPECT_EQ((*wish)["commonName"].str(), "jane");
  EXPECT_EQ((*wish)["organizations"], Value::list({"devs"}));
  EXPECT_EQ((*wish)["hosts"], Value::list({"web", "10.0.0.1"}));
  EXPECT_TRUE((*wish)["others"].empty());
  EXPECT_FALSE(read_certificate_wish("certificate-request:" + base64_encode("none")).ok());
  EXPECT_FALSE(read_certificate_wish("certificate-request:?").ok());
}

TEST(CertificateProbes, SignByTheAuthority) {
  std::string pattern = (std::filesystem::temp_directory_path() / "pki-XXXXXX").string();
  const std::string folder = ::mkdtemp(pattern.data());
  const Instant now = *parse_time("2026-11-20T10:00:00Z");
  const auto pki = net::ensure_pki({.directory = folder, .hosts = {}, .now = now});
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(pki.ok()) << pki.error().message;
  const CertificateAuthority authority{.certificate_pem = pki->ca_certificate,
                                       .key_pem = pki->ca_key};
  const auto granted =
      sign_certificate(authority, now, "certificate:uid:client:3600:" + base64_encode(kRequest));
  ASSERT_TRUE(granted.ok()) << granted.error().message;
  const auto pem = base64_decode((*granted)["certificate"].as_string());
  ASSERT_TRUE(pem);
  EXPECT_THAT(*pem, HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_FALSE(sign_certificate(authority, now, "certificate:uid:client").ok());
}

}  // namespace
}  // namespace athanor::lab::certificate_probes_test
