// SPDX-License-Identifier: Apache-2.0
#include "systems/das/life/slice_making.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::das {
namespace {

// Returns true if the emulated GPU fails to make this slice: the same claim always does.
bool fails(const Claim& claim, const Settings& settings) {
  constexpr std::int64_t kMillion = 1'000'000;
  std::uint64_t number = 0;
  const std::string digits = sha256_hex(claim.object.uid()).substr(0, 12);
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return static_cast<std::int64_t>(number % kMillion) < settings.fail_per_million;
}

}  // namespace

std::string conflict(const std::vector<Claim>& own, const std::vector<Claim>& all) {
  const auto is_own = [&](const Claim& claim) {
    return std::ranges::any_of(
        own, [&](const Claim& mine) { return mine.object.uid() == claim.object.uid(); });
  };
  for (const Claim& mine : own) {
    for (const Claim& other : all) {
      if (other.gpu == mine.gpu && (other.mask() & mine.mask()) != 0 && !is_own(other) &&
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

void tell(Plan& plan, const Claim& claim, const char* type, const char* reason, std::string note) {
  if (claim.pod.name.empty()) {
    return;  // devices that no pod asked for
  }
  plan.then(Emit{.about = {&api::kPod, claim.pod},
                 .about_uid = claim.pod_uid,
                 .type = type,
                 .reason = reason,
                 .note = std::move(note)});
}

std::optional<NodeAdmission> held_up(const std::vector<Claim>& own, const Settings& settings,
                                     Instant now) {
  for (const Claim& claim : own) {
    if (claim.state != kInUse && fails(claim, settings)) {
      NodeAdmission refused{.answer = NodeAdmission::Answer::Refuse,
                            .message = fmt::format("emulated fault: slice {} of {} cannot be made",
                                                   claim.profile, claim.gpu)};
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

void take_into_use(Plan& plan, const std::vector<Claim>& own, Instant now) {
  for (const Claim& claim : own) {
    if (claim.state == kInUse) {
      continue;  // a restart: it was made before
    }
    std::vector<std::string_view> reached{kInUse};
    if (claim.state == kCreated) {
      reached.insert(reached.begin(), kProcessing);
    }
    write_state(plan, claim, std::move(reached), now);
    tell(plan, claim, "Normal", "SliceCreated", place_of(claim));
  }
}

}  // namespace athanor::das
