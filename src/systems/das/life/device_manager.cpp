// SPDX-License-Identifier: Apache-2.0
// What a kubelet's device manager and the device plugin do together when a pod starts: find the
// pod's claims, take them into use, write the CDI files, give the containers their environment.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/agent.hpp"
#include "systems/das/cdi.hpp"
#include "systems/das/claim.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/names.hpp"
#include "systems/das/placement/inventory.hpp"
#include "systems/das/request.hpp"
#include "systems/das/settings.hpp"

namespace athanor::das {
namespace {

// How long Allocate looks for claims before the pod fails (docs/spec/das.md 8.5 step 2).
constexpr Duration kPatience = std::chrono::milliseconds(3100);

Value capacity(const View& view, const Object& node) {
  if (!runs_agent(view, node)) {
    return Value::object();
  }
  const Settings settings = settings_of(view);
  const auto gpus = emulated_gpus(node, settings);
  return gpus.ok() ? emulated_capacity(*gpus, settings.memory_quota_resource) : Value::object();
}

NodeAdmission refuse(std::string message) {
  return {.answer = NodeAdmission::Answer::Refuse, .message = std::move(message)};
}

std::optional<Instant> bound_since(const Object& pod) {
  return parse_time(
      find_condition(pod.status()["conditions"], "PodScheduled")["lastTransitionTime"].as_string());
}

// A slot of one of these claims that another pod uses; empty: none. Claims never overlap unless
// somebody wrote one by hand.
std::string conflict(const std::vector<Claim>& own, const std::vector<Claim>& all) {
  for (const Claim& mine : own) {
    for (const Claim& other : all) {
      if (other.pod_uid != mine.pod_uid && other.gpu == mine.gpu &&
          (other.mask() & mine.mask()) != 0 &&
          (other.state == kProcessing || other.state == kInUse)) {
        return fmt::format("slots {} to {} of {} are in use by claim {}", mine.start,
                           mine.start + mine.size - 1, mine.gpu, other.object.name());
      }
    }
  }
  return {};
}

void write_state(Plan& plan, const Claim& claim, std::vector<std::string_view> states,
                 Instant now) {
  plan.then(Status{.target = {&kAllocationClaim, claim.object.key()},
                   .status = claim_status(claim.object.status(), std::move(states),
                                          claim.object.generation(), now),
                   .guard = {.uid = std::string(claim.object.uid())}});
}

// An event about the pod of a claim.
void tell(Plan& plan, const Claim& claim, const char* type, const char* reason, std::string note) {
  plan.then(Emit{.about = {&api::kPod, claim.pod},
                 .about_uid = claim.pod_uid,
                 .type = type,
                 .reason = reason,
                 .note = std::move(note)});
}

// Whether the emulated GPU fails to make this slice: the same claim always does.
bool fails(const Claim& claim, const Settings& settings) {
  constexpr std::int64_t kMillion = 1'000'000;
  std::uint64_t number = 0;
  const std::string digits = sha256_hex(claim.object.uid()).substr(0, 12);
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return static_cast<std::int64_t>(number % kMillion) < settings.fail_per_million;
}

// Faults and latency of emulated slices (docs/spec/das.md E-B4); nullopt: go on.
std::optional<NodeAdmission> held_up(const std::vector<Claim>& own, const Settings& settings,
                                     Instant now) {
  for (const Claim& claim : own) {
    if (claim.state != kInUse && fails(claim, settings)) {
      NodeAdmission refused = refuse(
          fmt::format("emulated fault: slice {} of {} cannot be made", claim.profile, claim.gpu));
      tell(refused.steps, claim, "Warning", "SliceCreateFailed", refused.message);
      return refused;
    }
  }
  NodeAdmission admission{.answer = NodeAdmission::Answer::Wait};
  bool waits = false;
  for (const Claim& claim : own) {
    if (claim.state == kInUse) {
      continue;
    }
    Plan noted;
    const auto end =
        ends_at(claim, "create", std::chrono::milliseconds(settings.slice_create_ms), now, noted);
    if (!end) {
      continue;
    }
    waits = true;
    if (claim.state == kCreated) {
      write_state(admission.steps, claim, {kProcessing}, now);
    }
    admission.steps.merge(std::move(noted));
    admission.steps.wake_at(*end);
  }
  return waits ? std::optional(std::move(admission)) : std::nullopt;
}

NodeAdmission admit(const View& view, const Object& pod, const Object& node, Instant now) {
  const PodSlices request = slices_of(pod.spec());
  if (request.empty()) {
    return {};
  }
  const std::vector<Claim> all = claims_on(view, node.name());
  std::vector<Claim> own;
  for (const Claim& claim : all) {
    if (claim.pod_uid == pod.uid() && !claim.object.deleting()) {
      own.push_back(claim);
    }
  }
  const auto ready = static_cast<std::size_t>(std::ranges::count_if(own, [](const Claim& claim) {
    return claim.state == kCreated || claim.state == kProcessing || claim.state == kInUse;
  }));
  if (ready < request.slices.size()) {
    const std::string message =
        fmt::format("requested {} allocations but only found {}", request.slices.size(), ready);
    const auto since = bound_since(pod);
    if (!since || *since + kPatience <= now) {
      return refuse(message);
    }
    NodeAdmission admission{.answer = NodeAdmission::Answer::Wait};
    admission.steps.wake_at(*since + kPatience);
    return admission;
  }
  if (std::string problem = conflict(own, all); !problem.empty()) {
    return refuse(std::move(problem));
  }
  const Settings settings = settings_of(view);
  if (auto held = held_up(own, settings, now)) {
    return *std::move(held);
  }
  NodeAdmission admission;
  for (const Claim& claim : own) {
    if (claim.state == kCreated) {
      write_state(admission.steps, claim, {kProcessing}, now);
    }
  }
  admission.environment = environment_of(own, settings);
  for (const CdiDevice& device : devices_of(own)) {
    admission.steps.then(
        Act{.id = fmt::format("{}/{}/cdi", pod.uid(), device.id),
            .verb = std::string(kWriteNodeFile),
            .args = Value::object({{"node", node.name()},
                                   {"path", cdi_path(device)},
                                   {"content", cdi_file(device, admission.environment)}})});
  }
  for (const Claim& claim : own) {
    if (claim.state == kInUse) {
      continue;  // a restart: it was made before
    }
    std::vector<std::string_view> reached{kInUse};
    if (claim.state == kCreated) {
      reached.insert(reached.begin(), kProcessing);
    }
    write_state(admission.steps, claim, std::move(reached), now);
    tell(admission.steps, claim, "Normal", "SliceCreated", place_of(claim));
  }
  return admission;
}

}  // namespace

const NodeHooks& mig_node_hooks() {
  static constexpr const Kind* kReads[] = {&kAllocationClaim, &kDASOperator};
  static constexpr const Kind* kWrites[] = {&kAllocationClaim};
  static const Index kIndexes[] = {{&kAllocationClaim, kClaimsByNode, claim_nodes}};
  static constexpr Access kAccess[] = {{&kAllocationClaim, "patch"},
                                       {&kAllocationClaim, "patch", "status"},
                                       {&api::kEvent, "create patch"}};
  static const NodeHooks kHooks{.name = "mig",
                                .reads = kReads,
                                .writes = kWrites,
                                .indexes = kIndexes,
                                .access = kAccess,
                                .capacity = capacity,
                                .admit = admit};
  return kHooks;
}

}  // namespace athanor::das
