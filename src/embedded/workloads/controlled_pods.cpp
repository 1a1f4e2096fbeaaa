// SPDX-License-Identifier: Apache-2.0
// Names and removal order.
#include "embedded/workloads/controlled_pods.hpp"

#include <algorithm>
#include <tuple>

#include "base/digest.hpp"
#include "kube/value/condition.hpp"

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

bool is_over(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

bool is_active(const Object& pod) {
  return !pod.deleting() && !is_over(pod);
}

bool is_available(const Object& pod, Duration least, Instant now, Plan& plan) {
  if (!is_ready(pod)) {
    return false;
  }
  const Value& ready = find_condition(pod.status()["conditions"], "Ready");
  const auto since = parse_time(ready["lastTransitionTime"].as_string());
  if (least == Duration::zero() || !since || *since + least <= now) {
    return true;
  }
  plan.wake_at(*since + least);
  return false;
}

Duration min_ready(const Object& owner) {
  return std::chrono::seconds(owner.spec()["minReadySeconds"].as_int());
}

Value controller_reference(const Object& owner, const Kind& kind) {
  return OwnerReference{.api_version = kind.api_version(),
                        .kind = std::string(kind.name),
                        .name = std::string(owner.name()),
                        .uid = std::string(owner.uid()),
                        .controller = true,
                        .block_owner_deletion = true}
      .to_value();
}

Value make_pod(const Object& owner, const Kind& kind, const Value& pod_template,
               const std::string& name, const std::string& prefix) {
  Value metadata = Value::object({{"name", name}, {"namespace", owner.ns()}});
  if (!prefix.empty()) {
    metadata.set("generateName", prefix);
  }
  for (const char* part : {"labels", "annotations", "finalizers"}) {
    if (pod_template["metadata"].contains(part)) {
      metadata.set(part, pod_template["metadata"][part]);
    }
  }
  metadata.set("ownerReferences", Value::list({controller_reference(owner, kind)}));
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "Pod"},
                        {"metadata", metadata},
                        {"spec", pod_template["spec"]}});
}

void by_removal_order(std::vector<Object>& pods) {
  std::ranges::stable_sort(pods,
                           [](const Object& a, const Object& b) { return worth(a) < worth(b); });
}

}  // namespace athanor::workloads
