// SPDX-License-Identifier: Apache-2.0
// Who reads what: by object, namespace, label and index.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "runtime/engine/read_index.hpp"
#include "unit/runtime/object_fixture.hpp"

namespace athanor::runtime {
namespace {

using api::kNode;
using api::kPod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::set<TaskId> readers(const ReadIndex& index, std::optional<Object> before,
                         std::optional<Object> after) {
  std::set<TaskId> out;
  index.readers_of(kPod, {.before = std::move(before), .after = std::move(after)}, out);
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
}  // namespace athanor::runtime
