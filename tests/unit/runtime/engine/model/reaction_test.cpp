// SPDX-License-Identifier: Apache-2.0
// The table of reactions to failed steps, row by row.
#include "runtime/engine/model/reaction.hpp"

#include <gtest/gtest.h>

namespace athanor::runtime::reaction_test {
namespace {

const Error kConflict{.code = 409, .reason = "Conflict"};
const Error kExists{.code = 409, .reason = "AlreadyExists"};
const Error kNotFound{.code = 404, .reason = "NotFound"};
const Error kInvalid{.code = 422, .reason = "Invalid"};
const Error kDenied{.code = 403, .reason = "Forbidden", .message = "no"};
const Error kOwnerNotListed{
    .code = 403,
    .reason = "Forbidden",
    .message =
        "workloads.kueue.x-k8s.io \"w\" is forbidden: cannot set blockOwnerDeletion in this "
        "case because cannot find RESTMapping for APIVersion fournos.dev/v1 Kind "
        "FournosJob: no matches for kind \"FournosJob\" in version \"fournos.dev/v1\""};
const Error kBroken{.code = 503, .reason = "ServiceUnavailable"};

struct Row {
  std::string_view name{};
  Failure failure;
  Await await = Await::Nothing;
  bool refusal = false;
  Again again = Again::BackedOff;       // of a refusal that is no news
  Again again_news = Again::BackedOff;  // of one that is
};

const Row kRows[] = {
    {"never sent", {.error = kBroken, .is_watched = true}},
    {"the server is down", {.error = kBroken, .answered = true, .is_watched = true}},
    {"outcome unknown",
     {.error = kBroken, .answered = true, .unknown = true, .is_watched = true},
     Await::Relist},
    {"outcome unknown, kind not cached", {.error = kBroken, .answered = true, .unknown = true}},
    {"the cache is older than the object",
     {.error = kConflict,
      .answered = true,
      .is_watched = true,
      .is_cached = true,
      .has_version = true},
     Await::Change,
     false,
     Again::AtOnce,
     Again::AtOnce},
    {"the newer version came while the write was under way",
     {.error = kConflict,
      .answered = true,
      .is_watched = true,
      .has_version = true,
      .has_moved = true},
     Await::Nothing,
     false,
     Again::AtOnce,
     Again::AtOnce},
    {"the third conflict in a row",
     {.error = kConflict, .answered = true, .is_watched = true, .has_version = true, .failures = 3},
     Await::Change,
     false,
     Again::BackedOff,
     Again::AtOnce},
    {"a conflict without a version, and nothing changed",
     {.error = kConflict, .answered = true, .is_watched = true, .is_cached = true}},
    {"a conflict without a version, and something else changed",
     {.error = kConflict, .answered = true, .is_watched = true, .changed_since = true},
     Await::Nothing,
     false,
     Again::AtOnce,
     Again::AtOnce},
    {"a conflict about another object",
     {.error = kConflict,
      .answered = true,
      .is_watched = true,
      .is_cached = true,
      .has_version = true,
      .elsewhere = true}},
    {"it exists, and a selector may hide it",
     {.error = kExists, .answered = true, .creates = true, .is_watched = true, .is_hidden = true}},
    {"it exists, and the cache does not show it",
     {.error = kExists, .answered = true, .creates = true, .is_watched = true},
     Await::Change,
     false,
     Again::AtOnce,
     Again::AtOnce},
    {"it exists, as the cache shows",
     {.error = kExists, .answered = true, .creates = true, .is_watched = true, .is_cached = true},
     Await::Nothing,
     false,
     Again::BackedOff,
     Again::AtOnce},
    {"another object of that name",
     {.error = kInvalid,
      .answered = true,
      .is_watched = true,
      .is_cached = true,
      .other_object = true},
     Await::Change,
     false,
     Again::AtOnce,
     Again::AtOnce},
    {"gone, and the cache still shows it",
     {.error = kNotFound, .answered = true, .is_watched = true, .is_cached = true},
     Await::Change,
     false,
     Again::BackedOff,
     Again::AtOnce},
    {"gone, what was to be deleted",
     {.error = kNotFound, .answered = true, .deletes = true, .is_watched = true},
     Await::Nothing,
     true,
     Again::Continue,
     Again::Continue},
    {"the namespace of what is created is gone",
     {.error = kNotFound, .answered = true, .creates = true, .is_watched = true},
     Await::Nothing,
     true,
     Again::BackedOff,
     Again::AtOnce},
    {"refused",
     {.error = kInvalid, .answered = true, .is_watched = true},
     Await::Nothing,
     true,
     Again::BackedOff,
     Again::AtOnce},
    {"forbidden",
     {.error = kDenied, .answered = true, .creates = true, .is_watched = true},
     Await::Nothing,
     true,
     Again::BackedOff,
     Again::AtOnce},
    {"the check of owners does not know the owner's kind yet",
     {.error = kOwnerNotListed, .answered = true, .creates = true, .is_watched = true}},
    {"refused differently for the tenth time",
     {.error = kInvalid, .answered = true, .is_watched = true, .failures = 9},
     Await::Nothing,
     true,
     Again::BackedOff,
     Again::BackedOff},
};

TEST(Reaction, FollowsTheTable) {
  for (const Row& row : kRows) {
    const Reaction reaction = classify(row.failure);
    EXPECT_EQ(reaction.await, row.await) << row.name;
    EXPECT_EQ(reaction.is_final_refusal, row.refusal) << row.name;
    EXPECT_EQ(reaction.again, row.again) << row.name;
    if (row.refusal) {
      EXPECT_EQ(reaction.again_on_news, row.again_news) << row.name;
    }
  }
}

TEST(Reaction, ConflictsAreThoseThatTheServerAnswered) {
  EXPECT_TRUE(classify({.error = kConflict, .answered = true}).is_conflict);
  EXPECT_TRUE(classify({.error = kInvalid, .answered = true, .other_object = true}).is_conflict);
  EXPECT_FALSE(classify({.error = kConflict}).is_conflict);
  EXPECT_FALSE(classify({.error = kInvalid, .answered = true}).is_conflict);
}

TEST(Reaction, ReportsRefusalsThatLast) {
  EXPECT_TRUE(classify({.error = kDenied, .answered = true}).is_for_people);
  EXPECT_FALSE(classify({.error = kOwnerNotListed, .answered = true}).is_for_people);
  EXPECT_TRUE(classify({.error = kOwnerNotListed, .answered = true, .failures = 9}).is_for_people);
}

}  // namespace
}  // namespace athanor::runtime::reaction_test
