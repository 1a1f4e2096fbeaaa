// SPDX-License-Identifier: Apache-2.0
// What is packed comes back as it was, to the bit.
#include "kube/value/packer.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kube/text/json.hpp"

namespace athanor::packer_test {
namespace {

// Stricter than ==: kinds of numbers, bits of doubles, order of members.
bool same(const Value& a, const Value& b) {
  if (a.type() != b.type() || a.size() != b.size()) {
    return false;
  }
  if (a.type() == Value::Type::Double) {
    return std::bit_cast<std::uint64_t>(a.as_double()) ==
           std::bit_cast<std::uint64_t>(b.as_double());
  }
  for (std::size_t i = 0; a.is_list() && i < a.size(); ++i) {
    if (!same(a.items()[i], b.items()[i])) {
      return false;
    }
  }
  for (std::size_t i = 0; a.is_object() && i < a.size(); ++i) {
    if (!same(a.members()[i].name, b.members()[i].name) ||
        !same(a.members()[i].value, b.members()[i].value)) {
      return false;
    }
  }
  return a.is_list() || a.is_object() || a == b;
}

class RandomValues {
 public:
  explicit RandomValues(unsigned seed) : random_(seed) {}
  Value make(int depth = 0) {
    const unsigned kind = below(depth < 5 ? 10 : 7);
    if (kind < 7) {
      return scalar(kind);
    }
    const unsigned size = below(6);
    Value made = kind == 7 ? Value::list() : Value::object();
    for (unsigned i = 0; i < size; ++i) {
      if (kind == 7) {
        made.push_back(make(depth + 1));
      } else {
        made.set(text(), make(depth + 1));
      }
    }
    return made;
  }

 private:
  unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
  std::uint64_t bits() { return random_() >> below(64); }
  std::string text() {
    std::string made;
    const unsigned size = below(4) == 0 ? below(400) : below(20);
    const bool any_bytes = below(5) == 0;
    for (unsigned i = 0; i < size; ++i) {
      made += static_cast<char>(any_bytes ? below(256) : 'a' + below(4));
    }
    return made;
  }
  Value scalar(unsigned kind) {
    switch (kind) {
      case 0:
        return {};
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(bits());
      case 3:
        return -1 - static_cast<std::int64_t>(bits() >> 1U);
      case 4:
        return bits();
      case 5:
        return std::bit_cast<double>(bits());
      default:
        return text();
    }
  }
  std::mt19937_64 random_;
};

TEST(Packer, RandomValuesComeBackToTheBit) {
  RandomValues random(3);
  Packer packer;
  std::vector<Value> values;
  std::vector<std::string> packed;
  for (int i = 0; i < 5000; ++i) {  // past every lesson
    values.push_back(random.make());
    packed.emplace_back(packer.pack(values.back()));
    ASSERT_TRUE(same(packer.unpack(packed.back()), values.back())) << json::print(values.back());
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(same(packer.unpack(packed[i]), values[i])) << "of what it knew then";
  }
}

TEST(Packer, NumbersKeepTheirKindAndEveryBit) {
  const Value numbers = Value::list(
      {0, -1, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
       std::numeric_limits<std::uint64_t>::max(), 1.0, -0.0, 0.1, 1e300,
       std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
       std::numeric_limits<double>::denorm_min(), 9007199254740993, 9007199254740992.0});
  Packer packer;
  const std::string packed(packer.pack(numbers));
  const Value back = packer.unpack(packed);
  EXPECT_TRUE(same(back, numbers));
  EXPECT_EQ(back[5].type(), Value::Type::Double) << "1.0 is no integer";
  EXPECT_TRUE(std::signbit(back[6].as_double()));
}

TEST(Packer, MoreNamesThanHaveNumbersComeBack) {
  Packer packer;
  Value many = Value::object();
  for (int i = 0; i < 10'000; ++i) {
    many.set("member-" + std::to_string(i), i);
  }
  many.set(std::string(100, 'n'), "a name that is too long to be given a number");
  const std::string packed(packer.pack(many));
  EXPECT_TRUE(same(packer.unpack(packed), many));
}

TEST(Packer, PacksOnlyDifferencesOfSimilarValues) {
  Packer packer;
  std::size_t last = 0;
  for (int i = 0; i < 200; ++i) {
    const Value body = *json::parse(
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"object-)" + std::to_string(i) +
        R"(","namespace":"team","labels":{"app":"bench","owner":"nobody"}},"data":{"mode":"fast",)"
        R"("colour":"a rather long text that all of them have in common"}})");
    last = packer.pack(body).size();
  }
  EXPECT_LT(last, 40U) << "of 220 bytes of JSON";
}

}  // namespace
}  // namespace athanor::packer_test
