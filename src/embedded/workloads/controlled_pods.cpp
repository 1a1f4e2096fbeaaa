// SPDX-License-Identifier: Apache-2.0
// Names and removal order.
#include "embedded/workloads/controlled_pods.hpp"

#include <algorithm>
#include <tuple>

#include "base/digest.hpp"
#include "kube/condition.hpp"

namespace athanor::workloads {
namespace {

constexpr std::size_t kLongestPrefix = 58;  // of a generated name
constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kSuffix = 5;

// Lower goes first.
auto worth(const Object& pod) {
  const auto created = pod.creation_time().value_or(Instant{});
  return std::tuple(!pod.spec()["nodeName"].as_string().empty(),
                    pod.status()["phase"].as_string() == "Running", is_ready(pod),
                    -created.time_since_epoch().count(), std::string(pod.name()));
}

}  // namespace

std::string hash_text(std::string_view seed, std::size_t length) {
  const std::string hash = sha256(seed);
  std::string text;
  for (std::size_t i = 0; i < std::min(length, hash.size()); ++i) {
    text += kAlphabet[static_cast<unsigned char>(hash[i]) % kAlphabet.size()];
  }
  return text;
}

std::string hashed_name(std::string_view prefix, std::string_view seed) {
  return std::string(prefix.substr(0, kLongestPrefix)) + hash_text(seed, kSuffix);
}

std::set<std::string> names_of(const std::vector<Object>& objects) {
  std::set<std::string> names;
  for (const Object& object : objects) {
    names.emplace(object.name());
  }
  return names;
}

bool is_ready(const Object& pod) {
  return condition_is(pod.status()["conditions"], "Ready", "True");
}

void by_removal_order(std::vector<Object>& pods) {
  std::ranges::stable_sort(pods,
                           [](const Object& a, const Object& b) { return worth(a) < worth(b); });
}

}  // namespace athanor::workloads
