// SPDX-License-Identifier: Apache-2.0
#include "base/lz.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace athanor::lz_test {
namespace {

std::string round_trip(LzCodec& codec, const std::string& text) {
  const std::string bytes(codec.compress(text));
  return std::string(codec.decompress(bytes, text.size()));
}

TEST(LzCodec, RestoresCompressedText) {
  std::mt19937 random(7);
  LzCodec plain("");
  LzCodec taught(R"({"metadata":{"name":"job-000001","namespace":"team-1"},"spec":{}})");
  for (std::size_t size = 0; size < 3000; size += 1 + size / 16) {
    for (const int letters : {1, 2, 5, 256}) {
      std::string text;
      for (std::size_t i = 0; i < size; ++i) {
        text += static_cast<char>(random() % static_cast<unsigned>(letters));
      }
      EXPECT_EQ(round_trip(plain, text), text) << size << " of " << letters;
      EXPECT_EQ(round_trip(taught, text), text) << size << " of " << letters;
    }
  }
}

TEST(LzCodec, LengthsAtTheirBordersComeBack) {
  LzCodec codec("abcdefgh");
  for (const std::size_t literals : {0U, 1U, 14U, 15U, 16U, 269U, 270U, 271U, 525U}) {
    for (const std::size_t copied : {3U, 4U, 18U, 19U, 20U, 273U, 274U, 275U, 70'000U}) {
      std::string text;
      for (std::size_t i = 0; i < literals; ++i) {
        text += static_cast<char>('A' + i * 7919 % 64);
      }
      text += std::string(copied, '-') + "abcdefgh";
      EXPECT_EQ(round_trip(codec, text), text) << literals << ", " << copied;
    }
  }
}

TEST(LzCodec, CompressesDictionaryTextToAlmostNothing) {
  const std::string words = "the quick brown fox jumps over the lazy dog, and nobody saw it";
  LzCodec plain("");
  LzCodec taught(words);
  EXPECT_GT(plain.compress(words).size(), words.size() * 9 / 10);
  EXPECT_LE(taught.compress(words).size(), words.size() / 5);
  LzCodec long_since(words + std::string(LzCodec::kMostDictionary, 'x'));
  EXPECT_GT(long_since.compress(words).size(), words.size() / 2) << "only its end counts";
}

TEST(LzCodec, NoiseGrowsByNextToNothing) {
  std::mt19937 random(1);
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    text += static_cast<char>(random());
  }
  LzCodec codec("");
  EXPECT_LE(codec.compress(text).size(), text.size() + text.size() / 255 + 16);
  EXPECT_EQ(round_trip(codec, text), text) << "and farther back than a copy can say";
}

TEST(LzCodecDeathTest, BytesOfSomethingElseEndTheProgram) {
  LzCodec codec("");
  const std::string text(100, 'x');
  const std::string bytes(codec.compress(text));
  EXPECT_DEATH(codec.decompress(bytes, text.size() - 1), "whole");
  EXPECT_DEATH(codec.decompress(bytes, text.size() + 1), "whole");
  EXPECT_DEATH(codec.decompress("", 0), "whole");
  EXPECT_DEATH(codec.decompress(bytes.substr(0, bytes.size() - 2), text.size()), "whole");
}

}  // namespace
}  // namespace athanor::lz_test
