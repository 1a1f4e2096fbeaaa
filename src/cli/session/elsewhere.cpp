// SPDX-License-Identifier: Apache-2.0
#include "cli/session/elsewhere.hpp"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "base/near_name.hpp"
#include "cli/session/session.hpp"

namespace athanor::cli {

std::string hint_elsewhere(Session& session, const Kind& kind, std::string_view verb,
                           const std::string& label_selector) {
  // One object is enough to know: a cluster may have thousands.
  const auto other = session.list_part(
      kind, "",
      {.labels = label_selector, .fields = "metadata.namespace!=" + session.ns(), .limit = 1});
  return !other.ok() || other->empty()
             ? std::string()
             : fmt::format("Other namespaces have some, as {}: athanor {} -A\n",
                           other->front().ns(), verb);
}

Error with_other_namespaces(Session& session, const Kind& kind, std::string_view name,
                            Error error) {
  if (error.code != Error::not_found("").code || !kind.namespaced) {
    return error;
  }
  const auto named =
      session.list_part(kind, "", {.labels = {}, .fields = fmt::format("metadata.name={}", name)});
  for (const Object& one : named.value_or({})) {
    if (one.ns() != session.ns()) {
      error.message +=
          fmt::format("; namespace {} has one of this name: -n {}", one.ns(), one.ns());
      return error;
    }
  }
  std::vector<std::string> known;
  for (const Object& one : session.list(kind, session.ns()).value_or({})) {
    known.emplace_back(one.name());
  }
  error.message += near_hint(std::string(name), known);
  return error;
}

}  // namespace athanor::cli
