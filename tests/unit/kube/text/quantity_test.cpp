// SPDX-License-Identifier: Apache-2.0
#include "kube/text/quantity.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace athanor::quantity_test {
namespace {

Quantity q(std::string_view text) {
  const auto quantity = Quantity::parse(text);
  EXPECT_TRUE(quantity.has_value()) << text;
  return quantity.value_or(Quantity());
}

// The table of docs/spec/apiserver.md 14.6, and the corners around it.
TEST(Quantity, PrintsCanonically) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"1024Mi", "1Gi"},
      {"12534678134676778.50Mi", "12835510409909021184Ki"},
      {"0.5", "500m"},
      {".5", "500m"},
      {"1e3", "1e3"},
      {"1E3", "1E3"},
      {"12e6", "12e6"},
      {"1000m", "1"},
      {"1.0", "1"},
      {"1", "1"},
      {"1.5Gi", "1536Mi"},
      {"2048Ki", "2Mi"},
      {"1000Ki", "1000Ki"},
      {"100000k", "100M"},
      {"1000000", "1M"},
      {"1000k", "1M"},
      {"0.1Gi", "107374182400m"},
      {"1500m", "1500m"},
      {"0.0000000001", "1n"},
      {"9223372036854775808", "9223372036854775808"},
      {"0", "0"},
      {"0Gi", "0"},
      {"-0", "0"},
      {"+5", "5"},
      {"-1.5", "-1500m"},
      {"-0.0000000001", "-1n"},
      {"5.", "5"},
      {"512", "512"},
      {"0.5Ki", "512"},
      {"1E", "1E"},
      {"1000E", "1000E"},
      {"1Ei", "1Ei"},
      {"1e-3", "1e-3"},
      {"1000e3", "1e6"},
      {"1e+2", "100"},
      {"3u", "3u"},
      {"1000n", "1u"},
      {"123456789012345678901", "123456789012345678901"},
      {"1442447138250208669161532004762n", "1442447138250208669161532004762n"},
      {"1e100", "10e27"}};
  for (const auto& [in, out] : table) {
    EXPECT_EQ(q(in).text(), out) << in;
  }
}

TEST(Quantity, TheLargestMantissasAreReadWhole) {
  for (const char* text :
       {"12534678134676778.50Mi", "12835510409909021184Ki", "9999999999999999999Ki",
        "12345678901234567890Mi", "9007199254740993Ei"}) {
    EXPECT_EQ(q(q(text).text()), q(text)) << text;
  }
}

TEST(Quantity, RefusesOtherTexts) {
  for (const char* text : {"", "-", ".", "abc", "1K", "1ki", "1 Gi", " 1", "1Gib", "1.2.3", "e3",
                           "1e", "1e+-3", "1e3Ki", "--1", "1mi", "0x10", "1i", "Mi"}) {
    EXPECT_FALSE(Quantity::parse(text).has_value()) << text;
  }
  EXPECT_FALSE(Quantity::parse(std::string_view("1\0", 2)).has_value());
  EXPECT_FALSE(Quantity::parse(Value(true)).has_value());
  EXPECT_FALSE(Quantity::parse(Value()).has_value());
}

TEST(Quantity, ReadsJsonNumbers) {
  EXPECT_EQ(Quantity::parse(Value(4))->text(), "4");
  EXPECT_EQ(Quantity::parse(Value(1.5))->text(), "1500m");
  EXPECT_EQ(Quantity::parse(Value("1Gi"))->value(), 1 << 30);
}

TEST(Quantity, RoundsAwayFromZero) {
  EXPECT_EQ(q("1500m").value(), 2);
  EXPECT_EQ(q("-1500m").value(), -2);
  EXPECT_EQ(q("100u").milli_value(), 1);
  EXPECT_EQ(q("2.5").milli_value(), 2500);
  EXPECT_EQ(q("1e30").value(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(q("-1e30").milli_value(), std::numeric_limits<std::int64_t>::min());
}

TEST(Quantity, ComparesByNumber) {
  EXPECT_EQ(q("1024Mi"), q("1Gi"));
  EXPECT_EQ(q("1"), q("1000m"));
  EXPECT_LT(q("1Gi"), q("1.1Gi"));
  EXPECT_GT(q("9223372036854775808"), q("9223372036854775807"));
  EXPECT_LT(q("-1"), Quantity());
}

TEST(Quantity, CalculatesExactly) {
  EXPECT_EQ((q("500m") + q("1")).text(), "1500m");
  EXPECT_EQ((q("1Gi") - q("512Mi")).text(), "512Mi");
  EXPECT_EQ((Quantity() + q("1Gi")).text(), "1Gi");
  EXPECT_EQ((q("1") - q("3")).text(), "-2");
  EXPECT_EQ(q("1500m").times(4).text(), "6");
  EXPECT_EQ(q("1500m").times(-2).text(), "-3");
  EXPECT_TRUE(q("5").times(0).is_zero());
  EXPECT_TRUE((q("1") - q("2")).is_negative());
  EXPECT_EQ(q("1e28") + q("1e28"), q("1e28"));
  EXPECT_EQ(q("1e28").times(std::numeric_limits<std::int64_t>::min()), q("-1e28"));
  EXPECT_EQ(Quantity::from_milli(1500).text(), "1500m");
  EXPECT_EQ(Quantity::from_int(2048, Quantity::Format::BinarySI).text(), "2Ki");
  EXPECT_EQ(q("2Ki").with_format(Quantity::Format::DecimalSI).text(), "2048");
}

}  // namespace
}  // namespace athanor::quantity_test
