// SPDX-License-Identifier: Apache-2.0
// Downward API fields.
#include <fmt/core.h>

#include "embedded/nodes/pod_address.hpp"
#include "embedded/nodes/sandbox_spec.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

std::string map_text(const Value& map) {
  std::string text;
  for (const Member& entry : map.members()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : "\n", entry.key(),
                        json::quote(entry.value.as_string()));
  }
  return text;
}

// "metadata.labels['key']" as {"labels", "key"}; nullopt for any other form.
std::optional<std::pair<std::string, std::string>> keyed(std::string_view path) {
  constexpr std::string_view kMetadata = "metadata.";
  const std::size_t open = path.find("['");
  if (!path.starts_with(kMetadata) || open == std::string_view::npos || !path.ends_with("']")) {
    return std::nullopt;
  }
  return std::pair{std::string(path.substr(kMetadata.size(), open - kMetadata.size())),
                   std::string(path.substr(open + 2, path.size() - open - 4))};
}

}  // namespace

std::optional<std::string> pod_field(const Object& pod, std::string_view address,
                                     std::string_view path) {
  if (const auto key = keyed(path)) {
    return pod.metadata()[key->first][key->second].str();
  }
  if (path == "metadata.labels" || path == "metadata.annotations") {
    return map_text(pod.metadata()[path.substr(9)]);
  }
  if (path == "metadata.name" || path == "metadata.namespace" || path == "metadata.uid") {
    return pod.metadata()[path.substr(9)].str();
  }
  if (path == "spec.nodeName" || path == "spec.serviceAccountName") {
    return pod.spec()[path.substr(5)].str();
  }
  if (path == "status.podIP" || path == "status.podIPs") {
    return std::string(address);
  }
  if (path == "status.hostIP" || path == "status.hostIPs") {
    return std::string(kHostAddress);
  }
  return std::nullopt;
}

}  // namespace athanor::nodes
