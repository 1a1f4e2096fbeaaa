// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/model/reaction.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/view/failures.hpp"

namespace athanor::runtime {
namespace {

// A failure that others may repair is reported after this many tries (1 s or more).
constexpr int kTriesBeforeWord = 8;
// A refusal may differ each time, a conflict may repeat: after so many in a row the key slows down.
constexpr int kMostRefusals = 10;
constexpr int kMostConflicts = 3;

bool is_conflict(const Failure& failure) {
  return failure.answered && (failure.error.code == 409 || failure.other_object);
}

// Returns what the key waits for. An event follows only where the cache is behind the server: not
// if it has passed the state that the step is from, and not if the answer is about something else.
Await awaits(const Failure& failure) {
  if (!failure.answered || !failure.is_watched) {
    return Await::Nothing;
  }
  if (failure.unknown) {
    return Await::Relist;
  }
  if (failure.elsewhere || failure.has_moved) {
    return Await::Nothing;
  }
  if (failure.other_object) {
    return Await::Change;
  }
  bool stale = false;  // the cache is behind the server
  if (failure.error.code == 409 && failure.error.reason == "AlreadyExists") {
    stale = !failure.is_cached && !failure.is_hidden;
  } else if (failure.error.code == 409) {
    stale = failure.has_version;
  } else if (failure.error.code == 404 && !failure.creates) {
    stale = failure.is_cached;
  }
  return stale ? Await::Change : Await::Nothing;
}

// Returns true if trying the step again would not change the answer.
bool is_final_refusal(const Failure& failure) {
  return failure.answered && !failure.unknown && !failure.has_moved &&
         awaits(failure) == Await::Nothing && is_refusal(failure.error);
}

// Returns when the key runs again. `refusal_is_news`: see Reaction.
Again runs_again(const Failure& failure, bool refusal_is_news) {
  if (failure.answered && !failure.unknown && failure.error.code == 404 && failure.deletes) {
    return Again::Continue;  // what is gone need not be deleted
  }
  if (refusal_is_news && failure.failures + 1 < kMostRefusals) {
    return Again::AtOnce;
  }
  const bool news = awaits(failure) != Await::Nothing || failure.changed_since || failure.has_moved;
  if (is_conflict(failure) && news && failure.failures < kMostConflicts) {
    return Again::AtOnce;
  }
  return Again::BackedOff;
}

// Returns true for a refusal that lasts until a person changes something: invalid, forbidden, too
// large, in the way of another owner's object or manager's fields. Not for races, overload, what
// goes with its namespace, and credentials, without which no Event could be written either.
bool is_for_people(const Failure& failure) {
  const std::string_view text = failure.error.message;
  if (failure.unknown || awaits(failure) != Await::Nothing) {
    return false;
  }
  const bool lasts = failure.failures >= kTriesBeforeWord;
  switch (failure.error.code) {
    case 400:
    case 405:
    case 413:
    case 422:
      return true;
    case 403:
      return text.find("because it is being terminated") == std::string_view::npos &&
             (lasts || is_refusal(failure.error));
    case 404:
      return (failure.creates || failure.elsewhere) && !failure.deletes && lasts;
    case 409:
      if (text.starts_with("Apply failed with ") || text.starts_with("admission webhook ")) {
        return true;
      }
      return failure.error.reason == "AlreadyExists" && failure.creates && lasts;
    default:
      return false;
  }
}

}  // namespace

bool names_another_object(const Error& error, const Step& step, const Object* cached) {
  const bool says_so =
      (error.code == 409 && (error.message.find("UID in precondition") != std::string::npos ||
                             error.message.find("UID in the precondition") != std::string::npos)) ||
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

bool speaks_of_another(const Error& error, const Ref& target) {
  constexpr std::string_view kUnfulfilled = "Operation cannot be fulfilled on ";
  constexpr std::string_view kNotFound = " not found";
  const std::string_view text = error.message;
  if (text.starts_with("admission webhook ")) {
    return true;
  }
  const std::string name = " \"" + target.key.name + "\"";
  // "pods \"p\": ..." and "pods.group \"p\" not found"; preconditions name the kind.
  const auto names_target = [&](std::string_view what) {
    const std::string_view word = what.substr(0, what.find_first_of(". "));
    return (word == target.kind->plural || word == target.kind->name) &&
           what.substr(std::min(what.find(' '), what.size())).starts_with(name);
  };
  if (error.code == 409 && text.starts_with(kUnfulfilled)) {
    return !names_target(text.substr(kUnfulfilled.size()));
  }
  if (error.code == 404 && text.ends_with(kNotFound)) {
    return !names_target(text);
  }
  return error.code == 404 && text == "the server could not find the requested resource";
}

Reaction classify(const Failure& failure) {
  return {.await = awaits(failure),
          .again = runs_again(failure, false),
          .again_on_news = runs_again(failure, true),
          .is_conflict = is_conflict(failure),
          .is_final_refusal = is_final_refusal(failure),
          .is_for_people = is_for_people(failure)};
}

}  // namespace athanor::runtime
