// SPDX-License-Identifier: Apache-2.0
#include "systems/das/scheduling/wake.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/request.hpp"

namespace athanor::das {
namespace {

constexpr std::string_view kIndex = "das-waiting";
constexpr const char* kWaits = "true";
constexpr std::size_t kDigits = 16;

// Pods with slices that a scheduler could not place.
std::vector<std::string> waiting(const Object& pod) {
  const bool refused =
      pod.spec()["nodeName"].as_string().empty() && !pod.deleting() &&
      find_condition(pod.status()["conditions"], "PodScheduled")["status"].as_string() == "False";
  return refused && !slices_of(pod.spec()).empty() ? std::vector<std::string>{kWaits}
                                                   : std::vector<std::string>();
}

Plan reconcile_wake(const View& view, const Key& key, Instant /*now*/) {
  const auto node = view.get(api::kNode, key);
  const Select waits{.index = std::string(kIndex), .index_value = kWaits};
  if (!node || node->deleting() || node->label(kMigCapableLabel) != "true" ||
      view.list(api::kPod, waits).empty()) {
    return Plan::done();
  }
  std::vector<std::string> uids;
  for (const Claim& claim : claims_on(view, key.name)) {
    uids.emplace_back(claim.object.uid());
  }
  std::ranges::sort(uids);
  std::string text;
  for (const std::string& uid : uids) {
    text += uid + " ";
  }
  const std::string digest = sha256_hex(text).substr(0, kDigits);
  Plan plan;
  if (node->annotation(kClaimsAnnotation) != digest) {
    plan.then(Patch{
        .target = {&api::kNode, key},
        .merge = Value::object(
            {{"metadata",
              Value::object({{"annotations", Value::object({{kClaimsAnnotation, digest}})}})}}),
        .guard = {.uid = std::string(node->uid())}});
  }
  return plan;
}

}  // namespace

const Operator& wake_operator() {
  static constexpr const Kind* kReads[] = {&api::kNode, &api::kPod, &kAllocationClaim};
  static constexpr const Kind* kWrites[] = {&api::kNode};
  static constexpr Access kAccess[] = {{&api::kNode, "patch"}};
  static const Index kIndexes[] = {{&api::kPod, kIndex, waiting},
                                   {&kAllocationClaim, kClaimsByNode, claim_nodes}};
  static const Operator kOperator{.name = "das-wake",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = reconcile_wake,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::das
