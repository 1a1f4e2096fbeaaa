// SPDX-License-Identifier: Apache-2.0
// Every parser of texts from outside meets a few thousand mutated documents: none may crash, and
// what is accepted must survive being printed and read again. Seeded: a failure repeats itself.
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "kube/apply/patch.hpp"
#include "kube/names/selector.hpp"
#include "kube/text/json.hpp"
#include "kube/text/jsonpath.hpp"
#include "kube/text/quantity.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::mutation_test {
namespace {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : entropy_(seeded_entropy(seed)) {}

  // One to four edits: a byte changed, removed, doubled or taken from `spice`, or a part copied
  // elsewhere.
  std::string mutate(std::string text, std::string_view spice) {
    for (std::uint64_t edits = 1 + below(4); edits > 0; --edits) {
      const std::size_t at = below(text.size() + 1);
      switch (below(5)) {
        case 0:
          if (at < text.size()) {
            text[at] = static_cast<char>(below(256));
          }
          break;
        case 1:
          text.erase(at, below(4));
          break;
        case 2:
          text.insert(at, text.substr(at, below(8)));
          break;
        case 3:
          text.insert(at, 1, spice[below(spice.size())]);
          break;
        default:
          text.insert(below(text.size() + 1), text.substr(at, below(20)));
          break;
      }
    }
    return text;
  }

  std::size_t below(std::size_t limit) {
    return static_cast<std::size_t>(entropy_->next() % limit);
  }

 private:
  std::unique_ptr<Entropy> entropy_;
};

// Calls `check` with `count` mutations of the given texts.
template <class Check>
void with_mutations(const std::vector<std::string>& texts, std::string_view spice, int count,
                    Check check) {
  Mutator mutator(20261120);
  for (int i = 0; i < count; ++i) {
    const std::string text = mutator.mutate(texts[mutator.below(texts.size())], spice);
    SCOPED_TRACE(json::quote(text));
    check(text);
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

TEST(Mutation, Json) {
  const std::vector<std::string> texts = {
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},"spec":{"n":[1,-2.5e3,true,null]}})",
      R"(["\u00e9\ud83d\ude00\n",18446744073709551615,1e-9,{"a":{"a":{"a":[[[]]]}}}])",
      "\"caf\xc3\xa9 \xf0\x9f\x98\x80\""};
  with_mutations(texts, "{}[]\",:\\u0123456789.eE+-truefalsn", 4000, [](const std::string& text) {
    std::vector<std::string> duplicates;
    const auto value = json::parse(text, {.duplicates = &duplicates});
    if (!value.ok()) {
      EXPECT_FALSE(value.error().message.empty());
      return;
    }
    const std::string printed = json::print(*value);
    const auto again = json::parse(printed);
    ASSERT_TRUE(again.ok()) << printed;
    // By text, not by value: Go prints 2^60 as a double with 16 digits and reads that as another
    // integer.
    EXPECT_EQ(json::print(*again), printed);
    EXPECT_EQ(json::print(*json::parse(json::print(*value, json::Style::Pretty))), printed);
  });
}

TEST(Mutation, Yaml) {
  const std::vector<std::string> texts = {
      "a: &x {p: 1, q: [y, ~, 0x1F]}\nb:\n  <<: *x\n  t: |2-\n    text\n  - z\n",
      "- 1_000\n- 'it''s'\n- \"\\u00e9\\x01\"\n- !!int \"3\"\n",
      "k: >-\n  folded\n  text\n\n? complex\n: value\n---\nsecond: 1e3\n",
      "{json: [\"like\", 1.5, null]}"};
  with_mutations(texts, "{}[]\"',:-#&*!|>?~%@ \n\t.0123456789exon<", 1500,
                 [](const std::string& text) {
                   const auto value = yaml::parse(text);
                   if (!value.ok()) {
                     EXPECT_FALSE(value.error().message.empty());
                     return;
                   }
                   const std::string printed = yaml::print(*value);
                   const auto again = yaml::parse(printed);
                   ASSERT_TRUE(again.ok()) << again.error().message << "\n" << printed;
                   EXPECT_EQ(*again, *value) << printed;
                 });
}

TEST(Mutation, Quantities) {
  const std::vector<std::string> texts = {
      "1024Mi", "0.1Gi", "12e6", "-1500m", "9223372036854775808", "1E-3", "3Ei", ".5"};
  with_mutations(texts, "0123456789.eEinumkKMGTP+-", 4000, [](const std::string& text) {
    const auto quantity = Quantity::parse(text);
    if (!quantity) {
      return;
    }
    const auto again = Quantity::parse(quantity->text());
    ASSERT_TRUE(again.has_value()) << quantity->text();
    EXPECT_EQ(*again, *quantity) << quantity->text();
    EXPECT_EQ(again->text(), quantity->text());
    EXPECT_EQ(*quantity + *quantity, quantity->times(2));
    EXPECT_TRUE((*quantity - *quantity).is_zero());
  });
}

TEST(Mutation, Selectors) {
  const std::vector<std::string> texts = {"a=b,c in (d,e),!f,g notin (h),i>3",
                                          "ex.com/role==w,x!=y", "in in (in)",
                                          "metadata.name=a,status.phase!=Failed"};
  with_mutations(texts, "=!(),<> \tinot\\ab", 4000, [](const std::string& text) {
    const auto selector = LabelSelector::parse(text);
    if (selector.ok()) {
      const auto again = LabelSelector::parse(selector->text());
      ASSERT_TRUE(again.ok()) << selector->text();
      EXPECT_EQ(again->text(), selector->text());
    }
    const auto fields = parse_field_selector(text);
    EXPECT_TRUE(fields.ok() || fields.error().code == 400);
  });
}

TEST(Mutation, PathsAndPatches) {
  const Value document = *json::parse(R"({"a":{"b":[{"c":1},{"c":2}]},"d.e":"x"})");
  with_mutations({".a.b[?(@.c==2)].c", "{.a.b[0:1]['c']}", ".d\\.e", "$.a.b[*].c"},
                 ".[]?()@=!<>'\"*:\\0123-", 3000, [&](const std::string& text) {
                   const auto path = JsonPath::parse(text);
                   EXPECT_TRUE(!path.ok() || path->find(document).size() <= 16);
                 });
  with_mutations(
      {R"([{"op":"add","path":"/a/b/1","value":3},{"op":"move","from":"/a/b/0","path":"/d.e"}])",
       R"([{"op":"test","path":"/a/b/-1/c","value":2},{"op":"remove","path":"/a/b"}])"},
      "/~01-[]{}\",", 3000, [&](const std::string& text) {
        if (const auto patch = json::parse(text)) {
          const auto result = apply_json_patch(document, *patch);
          EXPECT_TRUE(result.ok() || result.error().code == 400 || result.error().code == 422);
          const Value merged = apply_merge_patch(document, *patch);
          EXPECT_EQ(apply_merge_patch(document, make_merge_patch(document, merged)),
                    merged == document ? Value() : merged);
        }
      });
}

}  // namespace
}  // namespace athanor::mutation_test
