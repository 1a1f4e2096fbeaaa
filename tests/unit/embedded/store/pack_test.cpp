// SPDX-License-Identifier: Apache-2.0
#include "embedded/store/pack.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kube/text/json.hpp"

namespace athanor::store::pack_test {
namespace {

StoredPtr stored(const Key& key, Revision revision, Value body) {
  auto object = std::make_shared<Stored>();
  object->resource = "events";
  object->key = key;
  object->revision = revision;
  object->body = std::move(body);
  return object;
}

TEST(Pack, RestoresPackedValues) {
  const char* const bodies[] = {
      R"({})",
      R"({"a":null,"b":true,"c":false,"d":[],"e":{},"f":""})",
      R"({"n":[0,1,-1,127,128,-128,300,9223372036854775807,-9223372036854775808]})",
      R"({"u":18446744073709551615,"d":[0.5,-1.25e300,1e-7]})",
      R"({"z":"last","a":"first","nested":{"z":["last",{"a":"first"}]}})",
      R"({"text":"a text that stands in two documents","once":"\u0000\n\"quoted\" \u00e9"})",
      R"({"text":"a text that stands in two documents"})",
  };
  std::vector<StoredPtr> objects;
  for (const char* body : bodies) {
    const Key key{objects.size() % 2 == 0 ? "default" : "", "o" + std::to_string(objects.size())};
    objects.push_back(stored(key, 7 * (objects.size() + 1), *json::parse(body)));
  }
  const Pack pack(objects);
  ASSERT_EQ(pack.size(), objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const StoredPtr object = pack.unpack(i);
    EXPECT_EQ(object->resource, "events");
    EXPECT_EQ(object->key, objects[i]->key);
    EXPECT_EQ(pack.key(i), KeyView(objects[i]->key));
    EXPECT_EQ(object->revision, objects[i]->revision);
    EXPECT_EQ(pack.revision(i), objects[i]->revision);
    EXPECT_EQ(json::print(object->body), json::print(objects[i]->body));
  }
}

TEST(Pack, KeepsTheKindsOfNumbers) {
  const Value numbers = Value::list({1, 1.0, std::numeric_limits<std::uint64_t>::max(), -0.0});
  const Pack pack(std::vector<StoredPtr>{stored({"", "a"}, 1, numbers)});
  const Value body = pack.unpack(0)->body;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(body[i].type(), numbers[i].type()) << i;
  }
}

TEST(Pack, FindsMoreWordsThanOneByteNames) {
  std::vector<StoredPtr> objects;
  for (int i = 0; i < 2000; ++i) {
    const std::string word = "word-" + std::to_string(i % 1000);
    objects.push_back(stored({"default", word + "." + std::to_string(i)}, 1,
                             Value::object({{word, word + "!"}})));
  }
  const Pack pack(objects);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    ASSERT_EQ(pack.unpack(i)->body, objects[i]->body);
  }
}

TEST(Pack, DocumentsThatResembleEachOtherTakeLittle) {
  std::vector<StoredPtr> objects;
  std::size_t apart = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string name = "job-" + std::to_string(i);
    objects.push_back(stored(
        {"team-a", name}, 1,
        Value::object({{"kind", "Event"},
                       {"metadata", Value::object({{"name", name}, {"namespace", "team-a"}})},
                       {"reason", "SuccessfulCreate"},
                       {"reportingComponent", "job-controller-of-the-lab"},
                       {"message", "Created a pod with a rather long name: " + name}})));
    apart += objects.back()->body.heap_bytes();
  }
  EXPECT_LT(Pack(objects).bytes(), apart / 3);
}

TEST(Pack, MayBeEmpty) {
  EXPECT_EQ(Pack({}).size(), 0U);
}

}  // namespace
}  // namespace athanor::store::pack_test
