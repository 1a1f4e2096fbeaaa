// SPDX-License-Identifier: Apache-2.0
// Queries under which the engine reports what failed for good.
#include "runtime/view/failures.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "runtime/view/step.hpp"

namespace athanor {
namespace {

std::optional<Error> error_of(const View& view, const std::string& query) {
  // The engine reports by itself: an old report is as good as a new one.
  return view.observe(query, Duration::max()).error;
}

}  // namespace

bool is_refusal(const Error& error) {
  constexpr int kCodes[] = {400, 401, 403, 404, 405, 413, 422};
  // The API server's check of owners has its own list of kinds, which learns of a new definition up
  // to half a minute later than its storage.
  constexpr std::string_view kKindNotListedYet = "cannot find RESTMapping for ";
  if (error.code == 403 && error.message.find(kKindNotListedYet) != std::string::npos) {
    return false;
  }
  return std::find(std::begin(kCodes), std::end(kCodes), error.code) != std::end(kCodes);
}

std::string refusals_query(const Step& step) {
  std::string query("refused:");
  query += name_of(step);
  if (const Ref* target = target_of(step)) {
    query += ' ';
    query += target->kind->name;
    query += ' ';
    query += target->key.text();
  }
  return query;
}

std::string refusal_query(const Step& step) {
  return "refused:" + sha256_hex(json::print(to_value(step)));
}

std::optional<Error> refused(const View& view, const Step& step) {
  if (!error_of(view, refusals_query(step))) {
    return std::nullopt;  // the first refusal of such a step wakes the key
  }
  return error_of(view, refusal_query(step));
}

std::string contested_query(const Ref& target) {
  return "contested:" + std::string(target.kind->name) + " " + target.key.text();
}

bool contested(const View& view, const Ref& target) {
  return error_of(view, contested_query(target)).has_value();
}

std::string unreadable_query(const Kind& kind, std::string_view ns) {
  std::string query = "unreadable:" + std::string(kind.plural);
  if (!kind.group.empty()) {
    query += "." + std::string(kind.group);
  }
  return ns.empty() ? query : query + "/" + std::string(ns);
}

std::optional<Error> unreadable(const View& view, const Kind& kind, std::string_view ns) {
  std::optional<Error> everywhere = error_of(view, unreadable_query(kind));
  return everywhere || ns.empty() ? std::move(everywhere)
                                  : error_of(view, unreadable_query(kind, ns));
}

}  // namespace athanor
