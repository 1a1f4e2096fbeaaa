// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/pod_address.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "api/builtin.hpp"
#include "base/digest.hpp"

namespace athanor::nodes {
namespace {

constexpr std::string_view kIndexName = "pod-address";
constexpr int kAttempts = 64;

// Returns 127.X.Y.Z with X from 16 to 255 and Z from 1 to 254: nothing else on a machine uses
// these. X is not 96: these addresses stand for Services (network/address.hpp).
std::string candidate(std::string_view uid, int attempt) {
  const std::string digest = sha256(fmt::format("{}/{}", uid, attempt));
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(digest[at]); };
  const int first = 16 + byte(0) % 239;
  return fmt::format("127.{}.{}.{}", first < 96 ? first : first + 1, byte(1), 1 + byte(2) % 254);
}

std::vector<std::string> address_of(const Object& pod) {
  const std::string_view address = pod.status()["podIP"].as_string();
  return address.empty() ? std::vector<std::string>() : std::vector{std::string(address)};
}

}  // namespace

std::string pod_address(const View& view, const Object& pod) {
  if (const std::string_view known = pod.status()["podIP"].as_string(); !known.empty()) {
    return std::string(known);
  }
  if (pod.spec()["hostNetwork"].as_bool()) {
    return kHostAddress;
  }
  std::string address;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    address = candidate(pod.uid(), attempt);
    const auto holders =
        view.list(api::kPod, {.index = std::string(kIndexName), .index_value = address});
    const bool free =
        std::ranges::all_of(holders, [&](const Object& other) { return other.uid() == pod.uid(); });
    if (free) {
      break;
    }
  }
  return address;
}

Index pod_address_index() {
  return {.kind = &api::kPod, .name = kIndexName, .values = address_of};
}

}  // namespace athanor::nodes
