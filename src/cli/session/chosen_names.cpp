// SPDX-License-Identifier: Apache-2.0
#include "cli/session/chosen_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/session.hpp"
#include "kube/names/selector.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

// Returns true for "fournosjob", "fournosjobs" and these with ".fournos.dev" behind them.
bool names_kind(const Kind& kind, std::string_view word) {
  const std::string plain = lower(word);
  for (const std::string& name : {lower(kind.name), std::string(kind.plural)}) {
    if (plain == name || (!kind.group.empty() && plain == name + "." + std::string(kind.group))) {
      return true;
    }
  }
  return false;
}

Result<std::string> plain_name(const Kind& kind, const std::string& word) {
  const std::size_t slash = word.find('/');
  if (word.empty()) {
    return wrong_usage("a name is empty");
  }
  if (slash == std::string::npos) {
    return word;
  }
  if (!names_kind(kind, std::string_view(word).substr(0, slash))) {
    return wrong_usage(fmt::format("{}: give names of {}", word, kind.plural));
  }
  if (slash + 1 == word.size()) {
    return wrong_usage(fmt::format("{}: the name is missing", word));
  }
  return word.substr(slash + 1);
}

}  // namespace

Result<std::vector<std::string>> chosen_names(Session& session, const Kind& kind,
                                              const NameChoice& choice, std::string_view also) {
  std::vector<std::string> names;
  for (const std::string& word : choice.names) {
    ATHANOR_TRY(std::string name, plain_name(kind, word));
    // Twice the same is once.
    if (std::ranges::find(names, name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  if (choice.labels.empty()) {
    return names;
  }
  if (const auto parsed = LabelSelector::parse(choice.labels); !parsed.ok()) {
    return wrong_usage(fmt::format("--selector {}: {}", choice.labels, parsed.error().message));
  }
  const std::string selector =
      also.empty() ? choice.labels : fmt::format("{},{}", choice.labels, also);
  ATHANOR_TRY(const std::vector<Object> objects,
              session.list(kind, kind.namespaced ? session.ns() : "", selector));
  std::vector<std::pair<Instant, std::string>> by_age;  // the oldest first
  by_age.reserve(objects.size());
  for (const Object& object : objects) {
    by_age.emplace_back(object.creation_time().value_or(Instant()), object.name());
  }
  std::ranges::sort(by_age);
  for (auto& [created, name] : by_age) {
    names.push_back(std::move(name));
  }
  if (names.empty()) {
    return Error::not_found(fmt::format(
        "no {} have the labels {}{}", kind.plural, choice.labels,
        kind.namespaced ? fmt::format(" in namespace {}", session.ns()) : std::string()));
  }
  return names;
}

int for_each_name(const std::vector<std::string>& names,
                  const std::function<Result<int>(const std::string& name)>& act) {
  int code = 0;
  for (const std::string& name : names) {
    const auto done = act(name);
    code = std::max(code, done.ok() ? *done : fail(done.error()));
  }
  return code;
}

}  // namespace athanor::cli
