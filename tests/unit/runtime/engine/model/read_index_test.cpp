// SPDX-License-Identifier: Apache-2.0
// Who reads what: by object, namespace, label and index.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "runtime/engine/model/read_index.hpp"
#include "unit/runtime/object_fixture.hpp"

namespace athanor::runtime::read_index_test {
namespace {

using api::kNode;
using api::kPod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::set<TaskId> readers(const ReadIndex& index, std::optional<Object> before,
                         std::optional<Object> after) {
  std::set<TaskId> out;
  const auto all = [](std::size_t /*controller*/) { return true; };
  index.readers_of(kPod, {.before = std::move(before), .after = std::move(after)}, all, out);
  return out;
}

TEST(ReadIndex, FindsReadersByObjectNamespaceLabelAndIndex) {
  ReadIndex index({});
  index.set(1, {.objects = {{&kPod, {"a", "p"}}}});
  index.set(2, {.lists = {{.kind = &kPod, .select = {.ns = "a"}}}});
  index.set(3, {.lists = {{.kind = &kPod, .select = {.labels = {{"app", "x"}}}}}});
  index.set(4, {.lists = {{.kind = &kPod, .select = {.index = "node", .index_value = "n"}}}});
  index.set(5, {.lists = {{.kind = &kPod, .select = {.ns = "b"}}}});
  index.set(6, {.lists = {{.kind = &kNode}}});
  const Object labelled = pod("p", 1, R"({"metadata": {"labels": {"app": "x"}}})");
  const Object placed = pod("q", 1, R"({"spec": {"nodeName": "n"}})");
  EXPECT_THAT(readers(index, std::nullopt, labelled), ElementsAre(1, 2, 3));
  EXPECT_THAT(readers(index, std::nullopt, placed), ElementsAre(2, 4));
  EXPECT_THAT(readers(index, labelled, pod("p", 2)), ElementsAre(1, 2, 3)) << "it left the list";
}

TEST(ReadIndex, FindsKeyWithManyReadsOfOneList) {
  const Select elsewhere{.ns = "b", .index = "node", .index_value = "n"};
  const Select wide{.index = "node", .index_value = "n"};
  const Reads both{.lists = {{.kind = &kPod, .select = elsewhere},
                             {.kind = &kPod, .select = wide},
                             {.kind = &kNode},
                             {.kind = &kPod, .select = wide}}};
  ReadIndex index({});
  index.set(1, both);
  const Object placed = pod("q", 1, R"({"spec": {"nodeName": "n"}})");
  EXPECT_THAT(readers(index, std::nullopt, placed), ElementsAre(1))
      << "the second select chooses it";
  index.set(1, {.lists = {{.kind = &kPod, .select = elsewhere}}});
  EXPECT_THAT(readers(index, std::nullopt, placed), IsEmpty());
}

TEST(ReadIndex, PassesOverControllersThatOverlookTheChange) {
  ReadIndex index({});
  for (const TaskId id : {1U, 2U, 3U, 4U, 5U, 6U}) {
    index.set(id, {.objects = {{&kPod, {"a", "p"}}}, .lists = {{.kind = &kPod}}}, id / 2);
  }
  std::vector<std::size_t> asked;
  const auto wants = [&](std::size_t controller) {
    asked.push_back(controller);
    return controller != 1;
  };
  std::set<TaskId> out;
  index.readers_of(kPod, {.before = std::nullopt, .after = pod("p", 1)}, wants, out);
  EXPECT_THAT(out, ElementsAre(1, 4, 5, 6));
  EXPECT_THAT(asked, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3)) << "once for the object and the list";
  index.set(4, {.lists = {{.kind = &kPod}}}, 2);
  index.remove(5);
  out.clear();
  index.readers_of(kPod, {.before = std::nullopt, .after = pod("p", 1)}, wants, out);
  EXPECT_THAT(out, ElementsAre(1, 4, 6));
}

TEST(ReadIndex, NewReadsReplaceOldOnes) {
  ReadIndex index({});
  index.set(1, {.lists = {{.kind = &kPod, .select = {.ns = "a"}}}, .observations = {{"q", {}}}});
  index.set(1, {.objects = {{&kPod, {"a", "other"}}}});
  EXPECT_THAT(readers(index, std::nullopt, pod("p", 1)), IsEmpty());
  EXPECT_FALSE(index.is_observed("q"));
  index.remove(1);
  EXPECT_THAT(readers(index, std::nullopt, pod("other", 1)), IsEmpty());
}

}  // namespace
}  // namespace athanor::runtime::read_index_test
