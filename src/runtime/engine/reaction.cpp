// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/reaction.hpp"

#include <string_view>
#include <variant>

#include "runtime/view/failures.hpp"

namespace athanor::runtime {
namespace {

// A refusal may differ each time, a conflict may repeat: after so many in a row the key slows down.
constexpr int kMostRefusals = 10;
constexpr int kMostConflicts = 3;

bool is_conflict(const Failure& failure) {
  return failure.answered && (failure.error.code == 409 || failure.other_object);
}

// Returns what the key waits for.
Await awaits(const Failure& failure) {
  if (!failure.answered || !failure.is_watched) {
    return Await::Nothing;
  }
  if (failure.unknown) {
    return Await::Relist;
  }
  if (failure.other_object) {
    return Await::Change;
  }
  bool stale = false;  // the cache is behind the server
  if (failure.error.code == 409) {
    stale = failure.error.reason == "AlreadyExists" ? !failure.is_cached : !failure.changed_since;
  } else if (failure.error.code == 404 && !failure.creates) {
    stale = failure.is_cached;
  }
  return stale ? Await::Change : Await::Nothing;
}

// Returns true if trying the step again would not change the answer.
bool is_final_refusal(const Failure& failure) {
  return failure.answered && !failure.unknown && awaits(failure) == Await::Nothing &&
         is_refusal(failure.error);
}

// Returns when the key runs again. `refusal_is_news`: see Reaction.
Again runs_again(const Failure& failure, bool refusal_is_news) {
  if (failure.answered && !failure.unknown && failure.error.code == 404 && failure.deletes) {
    return Again::Continue;  // what is gone need not be deleted
  }
  if (refusal_is_news && failure.failures + 1 < kMostRefusals) {
    return Again::AtOnce;
  }
  const bool news = awaits(failure) != Await::Nothing || failure.changed_since;
  if (is_conflict(failure) && news && failure.failures < kMostConflicts) {
    return Again::AtOnce;
  }
  return Again::BackedOff;
}

}  // namespace

bool names_another_object(const Error& error, const Step& step, const Object* cached) {
  const bool says_so =
      (error.code == 409 && error.message.find("UID in precondition") != std::string::npos) ||
      (error.code == 422 && error.message.find("metadata.uid") != std::string::npos);
  return says_so && cached != nullptr &&
         std::visit(
             [&](const auto& one) {
               if constexpr (requires { one.guard; }) {
                 return one.guard.uid == cached->uid();
               } else {
                 return false;
               }
             },
             step);
}

Reaction classify(const Failure& failure) {
  return {.await = awaits(failure),
          .again = runs_again(failure, false),
          .again_on_news = runs_again(failure, true),
          .is_conflict = is_conflict(failure),
          .is_final_refusal = is_final_refusal(failure)};
}

}  // namespace athanor::runtime
