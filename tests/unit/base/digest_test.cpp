// SPDX-License-Identifier: Apache-2.0
#include "base/digest.hpp"

#include <gtest/gtest.h>

namespace athanor::digest_test {
namespace {

TEST(Digest, FingerprintDistinguishesTexts) {
  EXPECT_EQ(fingerprint_hex("").size(), 16U);
  EXPECT_EQ(fingerprint_hex("three of cluster-1"), fingerprint_hex("three of cluster-1"));
  EXPECT_NE(fingerprint_hex("three of cluster-1"), fingerprint_hex("three of cluster-2"));
}

TEST(Digest, MatchesPublishedVectors) {
  EXPECT_EQ(md5_hex(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc").size(), 32U);
}

TEST(Digest, PadsAcrossBlockLimits) {
  EXPECT_EQ(md5_hex(std::string(1'000'000, 'a')), "7707d6ae4e027c70eea2a935c2296f21");
  EXPECT_EQ(sha1_hex(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256_hex(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(Base64, RoundTrips) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
      {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {std::string("\xff\xfe\x00", 3), "//4A"}};
  for (const auto& [data, text] : table) {
    EXPECT_EQ(base64_encode(data), text);
    EXPECT_EQ(base64_decode(text), data);
  }
  EXPECT_EQ(base64_decode("Zm9v\nYg=="), "foob");
  EXPECT_EQ(base64url_encode("\xff\xfe"), "__4");
  EXPECT_EQ(base64url_decode("__4"), "\xff\xfe");
}

TEST(Base64, RefusesOtherAlphabetsAndBadPadding) {
  for (const char* text : {"Zg", "Zg=", "Z===", "Zm9v!", "=Zg=", "__4=", "Zm 9"}) {
    EXPECT_FALSE(base64_decode(text).has_value()) << text;
  }
  for (const char* text : {"Z", "Zg==", "/+8"}) {
    EXPECT_FALSE(base64url_decode(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace athanor::digest_test
