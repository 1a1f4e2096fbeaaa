// SPDX-License-Identifier: Apache-2.0
// Tokens: round trip, key id, and everything that must not pass.
#include "embedded/transport/token_signer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "net/crypto.hpp"
#include "unit/embedded/transport/key_files.hpp"

namespace athanor::transport::token_signer_test {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<apiserver::TokenSigner> signer() {
  const auto key = net::generate_key();
  auto made = make_token_signer({.key_pem = *net::key_pem(key->get())});
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

const Value kClaims = Value::object({{"sub", "system:serviceaccount:default:a"}, {"exp", 7}});

TEST(TokenSignerTest, VerifiesOwnTokens) {
  const auto tokens = signer();
  for (int i = 0; i < 50; ++i) {  // signatures are random: short numbers must come through, too
    const auto token = tokens->sign(kClaims);
    ASSERT_TRUE(token.ok());
    const auto claims = tokens->verify(*token);
    ASSERT_TRUE(claims.ok()) << claims.error().message;
    EXPECT_EQ(*claims, kClaims);
    EXPECT_TRUE(tokens->verify(*token).ok());
  }
}

TEST(TokenSignerTest, PublishesKeyUnderIdOfItsTokens) {
  const auto tokens = signer();
  const Value key = tokens->jwks()["keys"][0];
  EXPECT_EQ(key["kty"], "EC");
  EXPECT_EQ(key["alg"], "ES256");
  EXPECT_EQ(key["crv"], "P-256");
  EXPECT_EQ(base64url_decode(key["x"].as_string())->size(), 32U);
  EXPECT_EQ(base64url_decode(key["y"].as_string())->size(), 32U);
  EXPECT_EQ(base64url_decode(key["kid"].as_string())->size(), 32U);
  const std::string token = *tokens->sign(kClaims);
  const auto header = json::parse(*base64url_decode(token.substr(0, token.find('.'))));
  EXPECT_EQ((*header)["kid"], key["kid"]);
  EXPECT_EQ(tokens->issuer(), "https://kubernetes.default.svc.cluster.local");
}

TEST(TokenSignerTest, RefusesForeignTokens) {
  const auto tokens = signer();
  const std::string token = *tokens->sign(kClaims);
  const std::size_t first = token.find('.');
  const std::size_t last = token.rfind('.');
  const std::string none = base64url_encode(R"({"alg":"none"})");
  std::string forged = token;
  forged[first + 3] = forged[first + 3] == 'A' ? 'B' : 'A';
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string("a.b"), std::string("a.b.c"), forged,
        token.substr(0, last), token.substr(0, last + 1), token + "AAAA",
        none + token.substr(first), none + token.substr(first, last - first) + ".",
        *signer()->sign(kClaims)}) {
    const auto claims = tokens->verify(bad);
    ASSERT_FALSE(claims.ok()) << bad;
    EXPECT_EQ(claims.error().code, 401);
  }
}

std::unique_ptr<apiserver::TokenSigner> signer_with(TokenSignerOptions options) {
  auto made = make_token_signer(options);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *std::move(made);
}

TEST(TokenSignerTest, SignsAndVerifiesWithRsa) {
  const auto tokens = signer_with({.key_pem = rsa_files().traditional});
  const std::string token = *tokens->sign(kClaims);
  EXPECT_EQ(*tokens->verify(token), kClaims);
  const auto header = json::parse(*base64url_decode(token.substr(0, token.find('.'))));
  EXPECT_EQ((*header)["alg"], "RS256");
  const Value key = tokens->jwks()["keys"][0];
  EXPECT_EQ(key["kty"], "RSA");
  EXPECT_EQ(key["alg"], "RS256");
  EXPECT_EQ(key["e"], "AQAB");
  EXPECT_EQ(base64url_decode(key["n"].as_string())->size(), 256U);
  EXPECT_EQ(key["kid"], (*header)["kid"]);
}

TEST(TokenSignerTest, TakesAKeyInAnyForm) {
  for (const KeyFiles& files : {rsa_files(), ec_files()}) {
    const auto one = signer_with({.key_pem = files.pkcs8});
    const auto other = signer_with({.key_pem = files.traditional});
    EXPECT_EQ(one->jwks(), other->jwks());
    EXPECT_EQ(*other->verify(*one->sign(kClaims)), kClaims);
  }
}

TEST(TokenSignerTest, TakesTokensOfEveryVerificationKey) {
  const auto rsa = signer_with({.key_pem = rsa_files().pkcs8, .issuer = "https://old"});
  const auto ec = signer_with({.key_pem = ec_files().pkcs8,
                               .issuer = "https://new",
                               .verification_pems = {ec_files().public_key, rsa_files().public_key},
                               .accepted_issuers = {"https://old"}});
  EXPECT_EQ(*ec->verify(*rsa->sign(kClaims)), kClaims);
  EXPECT_FALSE(rsa->verify(*ec->sign(kClaims)).ok());
  ASSERT_EQ(ec->jwks()["keys"].size(), 2U);  // its own key is listed once
  EXPECT_EQ(ec->jwks()["keys"][0]["alg"], "ES256");
  EXPECT_EQ(ec->jwks()["keys"][1]["alg"], "RS256");
  EXPECT_EQ(ec->issuer(), "https://new");
  EXPECT_TRUE(ec->accepts_issuer("https://new"));
  EXPECT_TRUE(ec->accepts_issuer("https://old"));
  EXPECT_FALSE(ec->accepts_issuer("https://other"));
}

TEST(TokenSignerTest, TakesThePublicKeyOutOfACertificate) {
  const auto key = net::generate_key();
  const auto certificate = net::issue({.common_name = "sa",
                                       .not_before = Instant{},
                                       .not_after = Instant{} + std::chrono::hours(1)},
                                      key->get(), {.key = key->get()});
  const auto owner = signer_with({.key_pem = *net::key_pem(key->get())});
  const auto tokens =
      signer_with({.key_pem = rsa_files().pkcs8,
                   .verification_pems = {*net::certificate_pem(certificate->get())}});
  EXPECT_EQ(*tokens->verify(*owner->sign(kClaims)), kClaims);
}

TEST(TokenSignerTest, DoesNotTakeOneAlgorithmForAnother) {
  const auto tokens =
      signer_with({.key_pem = rsa_files().pkcs8, .verification_pems = {ec_files().public_key}});
  const std::string token = *tokens->sign(kClaims);
  const std::string renamed =
      base64url_encode(R"({"alg":"ES256"})") + token.substr(token.find('.'));
  EXPECT_FALSE(tokens->verify(renamed).ok());
}

TEST(TokenSignerTest, RefusesOtherCurvesAndFilesWithoutKeys) {
  const auto curve =
      make_token_signer({.key_pem = key_files(net::KeyPtr(EVP_EC_gen("P-384"))).pkcs8});
  ASSERT_FALSE(curve.ok());
  EXPECT_THAT(curve.error().message, HasSubstr("must be an RSA key or an EC key on P-256"));
  const auto none =
      make_token_signer({.key_pem = ec_files().pkcs8, .verification_pems = {"nothing here"}});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("does not contain any valid RSA or ECDSA"));
}

TEST(TokenSignerTest, RefusesAKeyThatIsNone) {
  const auto made = make_token_signer({.key_pem = "zz"});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("not a private key in PEM form"));
}

}  // namespace
}  // namespace athanor::transport::token_signer_test
