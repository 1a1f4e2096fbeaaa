// SPDX-License-Identifier: Apache-2.0
// Tokens: round trip, key id, and everything that must not pass.
#include "embedded/transport/token_signer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "embedded/transport/crypto.hpp"
#include "kube/json.hpp"

namespace athanor::transport {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<apiserver::TokenSigner> signer() {
  const auto key = generate_key();
  auto made = make_token_signer({.key_pem = *key_pem(key->get())});
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

const Value kClaims = Value::object({{"sub", "system:serviceaccount:default:a"}, {"exp", 7}});

TEST(TokenSignerTest, VerifiesWhatItSigned) {
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

TEST(TokenSignerTest, PublishesItsKeyUnderTheIdOfItsTokens) {
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

TEST(TokenSignerTest, RefusesWhatItDidNotSign) {
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

TEST(TokenSignerTest, RefusesAKeyThatIsNone) {
  const auto made = make_token_signer({.key_pem = "zz"});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("not a private key in PEM form"));
}

}  // namespace
}  // namespace athanor::transport
