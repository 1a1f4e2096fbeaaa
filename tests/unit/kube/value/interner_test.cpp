// SPDX-License-Identifier: Apache-2.0
#include "kube/value/interner.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "kube/text/json.hpp"

namespace athanor::interner_test {
namespace {

Value parsed(const std::string& text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *value : Value();
}

std::string pod(int number) {
  return R"({"metadata":{"name":"p)" + std::to_string(number) +
         R"(","labels":{"app.kubernetes.io/name":"a-rather-long-value"}},)"
         R"("spec":{"containers":[{"name":"main","image":"registry/of/some/image:v1"}]}})";
}

TEST(InternerTest, PartsThatCameBeforeAreShared) {
  Interner interner;
  Value kept;
  for (int i = 0; i < 3; ++i) {
    kept = interner.intern(parsed(pod(i)), {});
  }
  const Value next = interner.intern(parsed(pod(3)), {});
  EXPECT_EQ(json::print(next), pod(3));
  EXPECT_TRUE(next["spec"].identical(kept["spec"]));
  EXPECT_TRUE(next["metadata"]["labels"].identical(kept["metadata"]["labels"]));
  EXPECT_FALSE(next["metadata"].identical(kept["metadata"]));
}

TEST(InternerTest, UnchangedPartsComeFromTheStateBefore) {
  Interner interner;
  const Value before = interner.intern(parsed(pod(1)), {});
  const Value after = interner.intern(parsed(pod(2)), before);
  EXPECT_EQ(json::print(after), pod(2));
  EXPECT_TRUE(after["spec"].identical(before["spec"]));
  EXPECT_TRUE(interner.intern(parsed(pod(2)), after).identical(after));
}

TEST(InternerTest, OrderOfMembersAndKindsOfNumbersSurvive) {
  Interner interner;
  const char* const texts[] = {
      R"({"a":{"first-long-name-of-it":1,"second-long-name-of-it":2}})",
      R"({"a":{"second-long-name-of-it":2,"first-long-name-of-it":1}})",
      R"({"a":{"first-long-name-of-it":1.0,"second-long-name-of-it":2}})",
      R"({"a":[],"b":{},"c":null,"d":[null,false,"",18446744073709551615,-0.0,1e300]})",
  };
  for (int round = 0; round < 3; ++round) {
    for (const char* const text : texts) {
      const Value value = parsed(text);
      EXPECT_EQ(json::print(interner.intern(value, {})), json::print(value));
      EXPECT_EQ(json::print(interner.intern(value, parsed(texts[0]))), json::print(value));
    }
  }
}

TEST(InternerTest, ScalarsAndTextsMayBeTheWholeDocument) {
  Interner interner;
  for (const char* const text : {"1", "null", "true", R"("a text of more than fourteen bytes")",
                                 R"(["a text of more than fourteen bytes"])"}) {
    EXPECT_EQ(json::print(interner.intern(parsed(text), {})), json::print(parsed(text)));
  }
}

TEST(InternerTest, SweepsUnusedParts) {
  Interner interner;
  const std::string text = R"(["only some text, longer than inline"])";
  const char* address = nullptr;
  {
    Value kept;
    for (int i = 0; i < 3; ++i) {
      kept = interner.intern(parsed(text), {});
    }
    address = kept[0].as_string().data();
    interner.sweep();
    EXPECT_EQ(interner.intern(parsed(text), {})[0].as_string().data(), address);
  }
  interner.sweep();
  const Value first = interner.intern(parsed(text), {});
  const Value second = interner.intern(parsed(text), {});
  EXPECT_NE(first[0].as_string().data(), second[0].as_string().data());
}

TEST(SharedWith, EqualPartsAreThoseOfTheStateBefore) {
  const Value before =
      parsed(R"({"spec":{"items":[{"name":"a-name-too-long-to-be-inline","n":1},)"
             R"({"name":"another-name-too-long-to-be","n":2}]},"kept":{"a":[1]}})");
  const std::string text = R"({"spec":{"items":[{"name":"a-name-too-long-to-be-inline","n":1},)"
                           R"({"name":"another-name-too-long-to-be","n":3},{"n":4}]},)"
                           R"("new":{},"kept":{"a":[1]}})";
  const Value after = shared_with(parsed(text), before);
  EXPECT_EQ(json::print(after), text);
  EXPECT_TRUE(after["kept"].identical(before["kept"]));
  EXPECT_TRUE(after["spec"]["items"][0].identical(before["spec"]["items"][0]));
  EXPECT_FALSE(after["spec"]["items"][1].identical(before["spec"]["items"][1]));
  EXPECT_TRUE(shared_with(parsed(json::print(before)), before).identical(before));
}

TEST(SharedWith, TheTextIsThatOfTheValue) {
  const char* const texts[] = {
      R"({"a":{"first":1,"second":2},"b":[1,2]})",
      R"({"a":{"second":2,"first":1},"b":[2,1]})",
      R"({"a":{"first":1.0,"second":2},"b":[1,2,3]})",
      R"({"b":[1],"a":{"first":1}})",
      R"({"a":[],"b":{}})",
      R"({"a":"a text that is no object","b":null})",
      R"([1,{"a":1}])",
      "7",
  };
  for (const char* const text : texts) {
    for (const char* const like : texts) {
      EXPECT_EQ(json::print(shared_with(parsed(text), parsed(like))), json::print(parsed(text)))
          << like;
    }
  }
}

// A small table under many documents: parts push each other out, texts stay what they are.
TEST(InternerTest, AFullTableChangesNoDocument) {
  Interner interner(8);
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): a fixed seed to repeat it
  Value before;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = pod(static_cast<int>(random() % 50));
    const Value value = interner.intern(parsed(text), before);
    ASSERT_EQ(json::print(value), text);
    before = value;
    if (i % 97 == 0) {
      interner.sweep();
    }
  }
}

}  // namespace
}  // namespace athanor::interner_test
