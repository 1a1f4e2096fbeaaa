// SPDX-License-Identifier: Apache-2.0
#include "systems/das/verb/defrag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "api/builtin.hpp"
#include "api/disruption_budget.hpp"
#include "runtime/view/usage.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/request.hpp"
#include "systems/das/model/reservation.hpp"
#include "systems/das/slices/slots.hpp"
#include "systems/das/verb/shared_answers.hpp"

namespace athanor::das {
namespace {

constexpr std::string_view kMovable = "das.inference.redhat.com/movable";
constexpr std::size_t kUsualMoves = 5;
constexpr std::size_t kMostMoves = 1000;
constexpr int kTooManyRequests = 429;
constexpr Duration kLook = std::chrono::seconds(1);
// Reservations are collected after 5 minutes.
constexpr Duration kReturn = std::chrono::seconds(330);

Result<std::vector<std::string>> wanted_by(VerbContext& context) {
  const auto name = context.flag("for");
  if (!name) {
    return std::vector<std::string>();
  }
  ATHANOR_TRY(const Object pod, context.get(api::kPod, {context.ns(), *name}));
  const PodSlices request = slices_of(pod.spec());
  if (request.empty()) {
    return Error::bad_request("pod " + *name + " asks for no slice");
  }
  return request.profiles();
}

Result<std::size_t> most_moves(const VerbContext& context) {
  const auto text = context.flag("max-moves");
  std::size_t most = kUsualMoves;
  if (text) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), most);
    if (error != std::errc() || end != text->data() + text->size() || most < 1 ||
        most > kMostMoves) {
      return wrong_usage(
          fmt::format("--max-moves \"{}\" must be a number from 1 to {}", *text, kMostMoves));
    }
  }
  return most;
}

// Why a pod with the annotation stays; empty: it may move.
std::string stays_because(const Object& pod) {
  if (!pod.controller()) {
    return "no controller would create it again";
  }
  if (!pod.annotation(kGpuAnnotation).empty()) {
    return fmt::format("{} names its GPU", kGpuAnnotation);
  }
  if (pod.annotation(kSameGpuAnnotation) == "true" && slices_of(pod.spec()).slices.size() > 1) {
    return fmt::format("{} keeps its slices together", kSameGpuAnnotation);
  }
  return pod.deleting() ? "it is being deleted" : "";
}

// A move with its pod.
struct Step {
  Move move{};
  Object pod{};
};

// The moves of one call.
class Run {
 public:
  explicit Run(VerbContext& context) : context_(context) {}

  Result<int> run() {
    const bool dry = context_.flag("dry-run").has_value();
    ATHANOR_TRY(const std::size_t most, most_moves(context_));
    ATHANOR_TRY(const std::vector<std::string> wanted, wanted_by(context_));
    ATHANOR_TRY(const World world, read_world(context_));
    ATHANOR_TRY(const std::vector<Object> pods, context_.list(api::kPod, ""));
    std::map<Key, Object> movable;
    std::vector<Key> keys;
    for (const Object& pod : pods) {
      if (pod.annotation(kMovable) != "true") {
        continue;
      }
      if (const std::string why = stays_because(pod); !why.empty()) {
        say(fmt::format("pod {} stays: {}\n", pod.key().text(), why));
        continue;
      }
      keys.push_back(pod.key());
      movable.emplace(pod.key(), pod);
    }
    ATHANOR_TRY(const Settings settings, scheduler_settings(context_));
    std::vector<Step> steps;
    for (Move& move : propose_moves(world.fleet(), keys, wanted, most, settings.placement())) {
      Object pod = movable.at(move.pod);
      steps.push_back({std::move(move), std::move(pod)});
    }
    show(steps);
    if (steps.empty()) {
      return kDoesNotFit;
    }
    if (dry) {
      return 0;
    }
    if (!context_.flag("yes")) {
      return wrong_usage(
          fmt::format("{} pods would be evicted: say --yes, or --dry-run to see the moves alone",
                      steps.size()));
    }
    return carry_out(std::move(steps));
  }

 private:
  void say(const std::string& text) { context_.print(prints_values(context_) ? "" : text); }

  void show(const std::vector<Step>& steps) {
    std::vector<Value> values;
    std::vector<std::vector<std::string>> rows;
    for (const auto& [move, pod] : steps) {
      for (std::size_t i = 0; i < move.from.size(); ++i) {
        rows.push_back({move.pod.text(), move.from[i].profile, place_text(move.from[i]),
                        place_text(move.to[i])});
        values.push_back(Value::object({{"pod", move.pod.text()},
                                        {"from", spot_value(move.from[i])},
                                        {"to", spot_value(move.to[i])}}));
      }
    }
    if (prints_values(context_)) {
      context_.values(values);
    } else if (rows.empty()) {
      context_.print(fmt::format("no moves of pods with annotation {}=true help\n", kMovable));
    } else {
      context_.table({"POD", "PROFILE", "FROM", "TO"}, rows);
    }
  }

  // One after the other; a pod whose new slots another one leaves comes after that.
  Result<int> carry_out(std::vector<Step> steps) {
    while (!steps.empty()) {
      ATHANOR_TRY(const World world, read_world(context_));
      const std::vector<FleetNode> fleet = world.fleet();
      const auto next = std::ranges::find_if(
          steps, [&](const Step& step) { return is_free(fleet, step.move.to); });
      if (next == steps.end()) {
        return Error::conflict(
            fmt::format("pod {} stays: its new slots are in use", steps.front().move.pod.text()));
      }
      ATHANOR_TRY_VOID(move_pod(*next, fleet));
      steps.erase(next);
    }
    return 0;
  }

  static bool is_free(const std::vector<FleetNode>& fleet, const std::vector<Spot>& spots) {
    return std::ranges::all_of(spots, [&](const Spot& spot) {
      const auto node = std::ranges::find(fleet, spot.node, &FleetNode::name);
      return node != fleet.end() && spot.gpu < node->gpus.size() && node->gpus[spot.gpu].open &&
             (node->gpus[spot.gpu].occupancy.taken & mask_of(spot.place.start, spot.place.size)) ==
                 0;
    });
  }

  Result<void> move_pod(const Step& step, const std::vector<FleetNode>& fleet) {
    const auto& [move, pod] = step;
    std::vector<Key> claims;
    Result<void> done;
    for (std::size_t i = 0; i < move.to.size() && done.ok(); ++i) {
      const Spot& spot = move.to[i];
      const FleetNode& node = *std::ranges::find(fleet, spot.node, &FleetNode::name);
      const auto made = context_.create(kAllocationClaim,
                                        make_reservation(pod, namespace_of(context_),
                                                         {.node = spot.node,
                                                          .gpu = node.inventory.gpus[spot.gpu].uuid,
                                                          .profile = spot.profile,
                                                          .start = spot.place.start,
                                                          .size = spot.place.size},
                                                         i));
      if (made.ok()) {
        claims.push_back(made->key());
      } else {
        done = made.error().with_context("its new slots cannot be reserved");
      }
    }
    if (done.ok()) {
      done = evict(pod);
    }
    if (!done.ok()) {
      for (const Key& claim : claims) {
        static_cast<void>(context_.remove(kAllocationClaim, claim));
      }
      return done.error().with_context(fmt::format("pod {} stays", move.pod.text()));
    }
    say(fmt::format("pod {} is evicted\n", move.pod.text()));
    const FleetNode& node = *std::ranges::find(fleet, move.to.front().node, &FleetNode::name);
    return wait_for_return(step, node.inventory.gpus[move.to.front().gpu].uuid);
  }

  Result<void> evict(const Object& pod) {
    const Value body =
        Value::object({{"apiVersion", "policy/v1"},
                       {"kind", "Eviction"},
                       {"metadata", Value::object({{"name", pod.name()}, {"namespace", pod.ns()}})},
                       {"deleteOptions",
                        Value::object({{"preconditions", Value::object({{"uid", pod.uid()}})}})}});
    const auto answer = context_.post(api::kPod, pod.key(), "eviction", body);
    if (answer.ok()) {
      return {};
    }
    Error error = answer.error();
    if (error.code == kTooManyRequests) {
      error.message += budgets_of(pod);
    }
    return error;
  }

  // The API server's Status names the budget in its details alone.
  std::string budgets_of(const Object& pod) {
    std::string names;
    const auto budgets = context_.list(api::kPodDisruptionBudget, std::string(pod.ns()));
    for (const Object& budget : budgets.ok() ? *budgets : std::vector<Object>()) {
      if (api::budget_selects(budget.body(), pod.body())) {
        names += fmt::format("{}PodDisruptionBudget {} ({} of {} needed pods are healthy)",
                             names.empty() ? " " : ", ", budget.name(),
                             budget.status()["currentHealthy"].as_int(),
                             budget.status()["desiredHealthy"].as_int());
      }
    }
    return names;
  }

  // Waits until no reservation for the pod is left, and tells which pod has the slots on `gpu`.
  Result<void> wait_for_return(const Step& step, const std::string& gpu) {
    const Spot& spot = step.move.to.front();
    const SlotMask slots = mask_of(spot.place.start, spot.place.size);
    for (Duration waited{}; waited < kReturn; waited += kLook) {
      context_.wait(kLook);
      ATHANOR_TRY(const World world, read_world(context_));
      bool kept = false;
      std::optional<Claim> taken;
      for (const Object& object : world.claims) {
        const auto claim = read_claim(object);
        if (is_reservation(object)) {
          kept = kept || object.spec()[kReservedMember]["podUID"].as_string() == step.pod.uid();
        } else if (claim && claim->gpu == gpu && (claim->mask() & slots) != 0) {
          taken = claim;
        }
      }
      if (taken) {
        say(fmt::format("pod {} has {}\n", taken->pod.text(), place_text(spot)));
        return {};
      }
      if (!kept) {
        break;
      }
    }
    return Error::unavailable(
        fmt::format("no pod of its controller took the slots for pod {} within 5 minutes",
                    step.move.pod.text()));
  }

  VerbContext& context_;
};

}  // namespace

Result<int> defrag(VerbContext& context) {
  return Run(context).run();
}

}  // namespace athanor::das
