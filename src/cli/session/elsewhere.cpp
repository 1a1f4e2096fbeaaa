// SPDX-License-Identifier: Apache-2.0
#include "cli/session/elsewhere.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/near_name.hpp"
#include "cli/session/session.hpp"

namespace athanor::cli {

std::string hint_elsewhere(Session& session, const Kind& kind, std::string_view verb,
                           const std::string& label_selector) {
  const auto all = session.list(kind, "", label_selector);
  if (!all.ok()) {
    return {};
  }
  const auto others =
      std::ranges::count_if(*all, [&](const Object& one) { return one.ns() != session.ns(); });
  return others == 0 ? std::string()
                     : fmt::format("Other namespaces have {}: athanor {} -A\n", others, verb);
}

Error with_other_namespaces(Session& session, const Kind& kind, std::string_view name,
                            Error error) {
  if (error.code != Error::not_found("").code || !kind.namespaced) {
    return error;
  }
  auto all = session.list(kind, "");
  if (!all.ok()) {
    all = session.list(kind, session.ns());
  }
  if (!all.ok()) {
    return error;
  }
  const auto other = std::ranges::find_if(
      *all, [&](const Object& one) { return one.name() == name && one.ns() != session.ns(); });
  if (other != all->end()) {
    error.message +=
        fmt::format("; namespace {} has one of this name: -n {}", other->ns(), other->ns());
    return error;
  }
  std::vector<std::string> known;
  for (const Object& one : *all) {
    if (one.ns() == session.ns()) {
      known.emplace_back(one.name());
    }
  }
  error.message += near_hint(std::string(name), known);
  return error;
}

}  // namespace athanor::cli
