// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/service_choice.hpp"

#include <algorithm>

namespace athanor::nodes {
namespace {

constexpr std::size_t kMostKept = 10'000;  // clients with a session; beyond, all choose anew
constexpr std::int64_t kMilliseconds = 1000;

}  // namespace

std::optional<Address> ServiceChoice::choose(const ServicePort& port, std::uint32_t client,
                                             std::int64_t now_ms) {
  if (port.endpoints.empty()) {
    return std::nullopt;
  }
  const bool sticky = port.affinity_seconds > 0;
  const auto key = std::tuple(port.service, port.port, port.protocol, client);
  if (const auto found = kept_.find(key); sticky && found != kept_.end()) {
    const bool there = std::ranges::binary_search(port.endpoints, found->second.endpoint);
    if (there && found->second.until_ms > now_ms) {
      found->second.until_ms = now_ms + port.affinity_seconds * kMilliseconds;
      return found->second.endpoint;
    }
  }
  if (turns_.size() > kMostKept) {
    turns_.clear();
  }
  const std::size_t turn = turns_[{port.service, port.port, port.protocol}]++;
  const Address chosen = port.endpoints[turn % port.endpoints.size()];
  if (sticky) {
    if (kept_.size() > kMostKept) {
      kept_.clear();
    }
    kept_[key] = {.endpoint = chosen, .until_ms = now_ms + port.affinity_seconds * kMilliseconds};
  }
  return chosen;
}

}  // namespace athanor::nodes
