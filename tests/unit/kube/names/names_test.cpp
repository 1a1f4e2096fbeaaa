// SPDX-License-Identifier: Apache-2.0
#include "kube/names/names.hpp"

#include <gtest/gtest.h>

#include "kube/text/text.hpp"

namespace athanor::names_test {
namespace {

constexpr const char* kQualified =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

TEST(Names, Subdomains) {
  for (const char* name : {"a", "a-b", "a.b-c.9", "0"}) {
    EXPECT_EQ(validate_dns1123_subdomain(name), std::nullopt) << name;
  }
  EXPECT_EQ(validate_dns1123_subdomain(std::string(253, 'a')), std::nullopt);
  EXPECT_EQ(validate_dns1123_subdomain(std::string(254, 'a')),
            "must be no more than 253 characters");
  for (const char* name : {"", "A_b", "-a", "a-", "a..b", ".a", "a.", "a.-b", "a b"}) {
    EXPECT_EQ(validate_dns1123_subdomain(name),
              "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
              "'-' or '.', and "
              "must start and end with an alphanumeric character (e.g. 'example.com', regex used "
              "for validation is "
              "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")
        << name;
  }
}

TEST(Names, Labels) {
  EXPECT_EQ(validate_dns1123_label("1a-b"), std::nullopt);
  EXPECT_EQ(validate_dns1123_label(std::string(64, 'a')), "must be no more than 63 characters");
  EXPECT_EQ(validate_dns1123_label("a.b"),
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
            "and must start and "
            "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
            "validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')");
  EXPECT_EQ(validate_dns1035_label("a-1"), std::nullopt);
  EXPECT_EQ(validate_dns1035_label("1a"),
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start "
            "with an alphabetic "
            "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
            "regex used for "
            "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
}

TEST(Names, PathSegments) {
  EXPECT_EQ(validate_path_segment("System:Node"), std::nullopt);
  EXPECT_EQ(validate_path_segment("."), "may not be '.'");
  EXPECT_EQ(validate_path_segment(".."), "may not be '..'");
  EXPECT_EQ(validate_path_segment("a/b"), "may not contain '/'");
  EXPECT_EQ(validate_path_segment("a%b"), "may not contain '%'");
}

TEST(Names, LabelKeysAndValues) {
  for (const char* key : {"a", "A_b.c-1", "ex.com/Name"}) {
    EXPECT_EQ(validate_label_key(key), std::nullopt) << key;
  }
  EXPECT_EQ(validate_label_key("-bad"), std::string("name part ") + kQualified);
  EXPECT_EQ(validate_label_key(""), "name part must be non-empty");
  EXPECT_EQ(validate_label_key("/a"), "prefix part must be non-empty");
  EXPECT_EQ(validate_label_key("a/"), "name part must be non-empty");
  EXPECT_EQ(validate_label_key("a/b/c"),
            std::string("a valid label key ") + kQualified +
                " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
  EXPECT_EQ(validate_label_key("a/" + std::string(64, 'x')),
            "name part must be no more than 63 bytes");
  EXPECT_TRUE(
      validate_label_key("Ex.com/a")->starts_with("prefix part a lowercase RFC 1123 subdomain"));
  EXPECT_EQ(validate_annotation_key("Ex.com/a"), std::nullopt);
  EXPECT_EQ(validate_label_value(""), std::nullopt);
  EXPECT_EQ(validate_label_value("My_value.1"), std::nullopt);
  EXPECT_EQ(validate_label_value(std::string(64, 'a')), "must be no more than 63 bytes");
  EXPECT_TRUE(validate_label_value("x y")->starts_with(
      "a valid label must be an empty string or consist of"));
}

TEST(Names, Finalizers) {
  for (const char* name : {"orphan", "foregroundDeletion", "kubernetes", "ex.com/guard"}) {
    EXPECT_EQ(validate_finalizer(name), std::nullopt) << name;
  }
  EXPECT_EQ(validate_finalizer("noslash"),
            "name is neither a standard finalizer name nor is it fully qualified");
  EXPECT_TRUE(validate_finalizer("a b").has_value());
}

TEST(Names, GenerateNamesMayEndWithADash) {
  EXPECT_EQ(validate_dns1123_subdomain(masked_generate_name("pod-")), std::nullopt);
  EXPECT_TRUE(validate_dns1123_subdomain(masked_generate_name("Pod-")).has_value());
}

TEST(Text, QuotesAsGo) {
  EXPECT_EQ(go_quote("a\"b\\c\n\t\x01\x7f\xff"), R"("a\"b\\c\n\t\x01\x7f\xff")");
  EXPECT_EQ(go_quote("caf\u00e9 \u20ac\U0001f600"), "\"caf\u00e9 \u20ac\U0001f600\"");
  EXPECT_EQ(go_quote("\u00a0\u2028\ufeff\U000e0001"), R"("\u00a0\u2028\ufeff\U000e0001")");
}

}  // namespace
}  // namespace athanor::names_test
