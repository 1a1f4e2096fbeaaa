// SPDX-License-Identifier: Apache-2.0
#include "systems/das/verb/verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/builtin.hpp"
#include "base/ascii.hpp"
#include "runtime/view/phase_flag.hpp"
#include "runtime/view/usage.hpp"
#include "systems/das/gpus/fleet.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/request.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/sharing/share.hpp"
#include "systems/das/slices/profile.hpp"
#include "systems/das/verb/defrag.hpp"
#include "systems/das/verb/shared_answers.hpp"
#include "systems/das/verb/slice_map.hpp"

namespace athanor::das {
namespace {

constexpr int kMostAsked = 1000;

// Keeps what the names and selectors take: these nodes with their claims. Errors: no node has a
// name.
Result<void> narrow(const VerbContext& context, World& world) {
  const std::vector<std::string> names = context.names();
  const auto has_node = [&](std::string_view name) {
    return std::ranges::any_of(world.nodes, [&](const Object& one) { return one.name() == name; });
  };
  for (const std::string& name : names) {
    if (!has_node(name)) {
      return Error::not_found(
          fmt::format("unknown action or node \"{}\"; known are explain POD, what-if "
                      "PROFILE:COUNT, defrag, and "
                      "nodes with GPUs",
                      name));
    }
  }
  const std::size_t all = world.nodes.size();
  std::erase_if(world.nodes, [&](const Object& node) {
    return !context.selects(node) ||
           (!names.empty() && std::ranges::find(names, node.name()) == names.end());
  });
  if (world.nodes.size() < all) {
    std::erase_if(world.claims, [&](const Object& claim) {
      return !has_node(claim.spec()["nodename"].as_string());
    });
  }
  return {};
}

// Keeps the GPUs in the phase that is asked for, and nodes with such GPUs.
GpuStates states_in_phase(const std::vector<std::string>& phases, World& world) {
  GpuStates states = gpu_states(world.nodes, world.claims);
  if (phases.empty()) {
    return states;
  }
  std::erase_if(states.gpus, [&](const GpuState& gpu) {
    return !takes_phase(phases, gpu.healthy ? "Healthy" : "Unhealthy");
  });
  states.lost.clear();
  const auto shows = [&](std::string_view node) {
    return std::ranges::any_of(states.gpus, [&](const GpuState& gpu) { return gpu.node == node; });
  };
  std::erase_if(world.nodes, [&](const Object& node) { return !shows(node.name()); });
  std::erase_if(world.claims,
                [&](const Object& claim) { return !shows(claim.spec()["nodename"].as_string()); });
  return states;
}

Result<int> show(VerbContext& context) {
  ATHANOR_TRY(World world, read_world(context));
  ATHANOR_TRY_VOID(narrow(context, world));
  ATHANOR_TRY(const std::vector<std::string> phases,
              asked_phases(context.flag(kPhaseFlag), {"Healthy", "Unhealthy"}));
  const GpuStates states = states_in_phase(phases, world);
  if (context.output() == "name") {
    for (const auto* objects : {&world.nodes, &world.claims}) {
      for (const Object& object : *objects) {
        context.print(
            fmt::format("{}.inference.redhat.com/{}\n", lower(object.kind()), object.name()));
      }
    }
    return 0;
  }
  if (prints_values(context)) {
    std::vector<Value> gpus;
    gpus.reserve(states.gpus.size());
    for (const GpuState& gpu : states.gpus) {
      gpus.push_back(to_value(gpu));
    }
    context.values(gpus);
    return 0;
  }
  if (context.output() == "wide") {
    std::vector<std::vector<std::string>> rows;
    rows.reserve(states.gpus.size());
    for (const GpuState& gpu : states.gpus) {
      rows.push_back(gpu_row(gpu));
    }
    context.table(gpu_header(), rows);
    return 0;
  }
  const std::string text = slice_map(states);
  context.print(text.empty() && context.filtered() ? "no node with GPUs that the flags select\n"
                : text.empty()
                    ? "no node has GPUs that can be sliced or shared; the nodes of a lab "
                      "get them by EMULATED_MODE=enabled or "
                      "`gpus` in the lab file (docs/das.md)\n"
                    : text);
  return 0;
}

// Where the pod's slices and shares would be on a node, or why nowhere.
struct Outcome {
  std::string node{};
  std::optional<std::vector<Spot>> slices{};
  struct Share {
    int gpu = 0;  // as its node counts
    std::string resource{};
    int index = 0;
  };
  std::optional<std::vector<Share>> shares{};
  [[nodiscard]] bool fits() const { return slices && shares; }
};

std::optional<std::vector<Spot>> slices_on(const FleetNode& node, const Object& pod,
                                           const std::vector<std::string>& profiles,
                                           PlacementOptions options) {
  const std::string_view wanted = pod.annotation(kGpuAnnotation);
  options.same_gpu = pod.annotation(kSameGpuAnnotation) == "true";
  std::vector<GpuSlots> gpus = node.gpus;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].open = gpus[i].open && (wanted.empty() || wanted == node.inventory.gpus[i].uuid);
  }
  const auto placed = place(gpus, profiles, options);
  return placed ? std::optional(spots_of(node, profiles, *placed)) : std::nullopt;
}

std::optional<std::vector<Outcome::Share>> shares_on_node(
    const Object& accelerator, const NodeGpus& inventory, const std::vector<Object>& claims,
    const std::vector<ShareRequest>& requests) {
  std::vector<Outcome::Share> shares;
  if (requests.empty()) {
    return shares;
  }
  const Vendor* vendor = find_vendor(accelerator.spec()["acceleratorType"].as_string());
  if (vendor == nullptr) {
    return std::nullopt;
  }
  std::vector<SharedGpu> gpus = shared_gpus(accelerator.status()["nodeResources"]);
  for (SharedGpu& gpu : gpus) {
    for (const Object& object : claims) {
      const auto claim = read_share(object);
      if (claim && claim->gpu == gpu.uuid && !gpu.used.insert(claim->index).second) {
        take_share(gpu);
      }
    }
  }
  const std::vector<SharePlace> placed = vendor->place(std::move(gpus), requests);
  if (placed.empty()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < placed.size(); ++i) {
    shares.push_back({.gpu = inventory.gpus[placed[i].gpu].index,
                      .resource = requests[i].resource,
                      .index = placed[i].index});
  }
  return shares;
}

Value value_of(const Outcome& outcome) {
  Value spots = Value::list();
  Value shares = Value::list();
  if (outcome.fits()) {
    for (const Spot& one : *outcome.slices) {
      spots.push_back(spot_value(one));
    }
    for (const Outcome::Share& share : *outcome.shares) {
      shares.push_back(Value::object({{"node", outcome.node},
                                      {"gpu", share.gpu},
                                      {"resource", share.resource},
                                      {"index", share.index}}));
    }
  }
  return Value::object({{"node", outcome.node},
                        {"fits", outcome.fits()},
                        {"slices", std::move(spots)},
                        {"shares", std::move(shares)}});
}

std::string text_of(const Outcome& outcome) {
  std::string text;
  if (!outcome.slices) {
    text = "no GPU has the slots free in a legal place";
  }
  if (!outcome.shares) {
    text += fmt::format("{}no GPU has the shares free", text.empty() ? "" : ", and ");
  }
  if (outcome.fits()) {
    for (const Spot& one : *outcome.slices) {
      text += fmt::format("{}{} on GPU {} at slot {}", text.empty() ? "" : ", ", one.profile,
                          one.number, one.place.start);
    }
    for (const Outcome::Share& share : *outcome.shares) {
      text += fmt::format("{}share {} of {} on GPU {}", text.empty() ? "" : ", ", share.index,
                          share.resource, share.gpu);
    }
  }
  return fmt::format("  {}: {}\n", outcome.node, text);
}

std::string held_text(const Claim& claim) {
  return is_share(claim) ? fmt::format("share {} of {} on {}, GPU {}: {}", claim.start,
                                       claim.profile, claim.node, claim.gpu, claim.state)
                         : fmt::format("{} on {}, GPU {}, slot {}: {}", claim.profile, claim.node,
                                       claim.gpu, claim.start, claim.state);
}

// `word`: POD, or NAMESPACE/POD.
Result<int> explain(VerbContext& context, const std::string& word) {
  const std::size_t slash = word.find('/');
  const std::string name = slash == std::string::npos ? word : word.substr(slash + 1);
  const std::string ns = slash == std::string::npos ? context.ns() : word.substr(0, slash);
  ATHANOR_TRY(const Object pod, context.get(api::kPod, {ns, name}));
  ATHANOR_TRY(World world, read_world(context));
  ATHANOR_TRY(const Settings settings, scheduler_settings(context));
  const PodSlices request = slices_of(pod.spec());
  const std::vector<ShareRequest> shares = shares_in(pod.spec());
  if (request.empty() && shares.empty()) {
    return Error::bad_request("pod " + name + " asks for no slice and no share of a GPU");
  }
  std::vector<std::string> held;
  std::erase_if(world.claims, [&](const Object& object) {
    const auto claim = read_slice_or_share(object);
    const bool own = claim && claim->pod_uid == pod.uid();
    if (own) {
      held.push_back(held_text(*claim));
    }
    return own;
  });
  const std::vector<std::string> profiles = request.profiles();
  std::vector<std::string> wanted = profiles;
  for (const ShareRequest& share : shares) {
    wanted.push_back(share.resource);
  }
  bool any = false;
  std::vector<Value> values;
  std::string text =
      fmt::format("pod {}/{} asks for {}\n", pod.ns(), name, fmt::join(wanted, ", "));
  for (const std::string& line : held) {
    text += "  holds " + line + "\n";
  }
  for (const FleetNode& node : world.fleet()) {
    const auto accelerator = std::ranges::find_if(
        world.nodes, [&](const Object& one) { return one.name() == node.name; });
    const Outcome outcome{
        .node = node.name,
        .slices = slices_on(node, pod, profiles, settings.placement()),
        .shares = shares_on_node(*accelerator, node.inventory, world.claims, shares)};
    any = any || outcome.fits();
    text += text_of(outcome);
    values.push_back(value_of(outcome));
  }
  if (prints_values(context)) {
    context.values(values);
  } else {
    context.print(text);
  }
  return any || !held.empty() ? 0 : kDoesNotFit;
}

// "3g.20gb:4" as four profiles.
Result<std::vector<std::string>> read_wish(const std::string& wish) {
  const std::size_t colon = wish.rfind(':');
  const auto profile = parse_profile(wish.substr(0, colon));
  if (!profile) {
    return wrong_usage(
        fmt::format("\"{}\" is no MIG profile; write PROFILE:COUNT, as 3g.20gb:4", wish));
  }
  int count = 1;
  if (colon != std::string::npos) {
    const std::string number = wish.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    if (error != std::errc() || end != number.data() + number.size() || count < 1 ||
        count > kMostAsked) {
      return wrong_usage(fmt::format("\"{}\" must be a count from 1 to {}", number, kMostAsked));
    }
  }
  return std::vector<std::string>(static_cast<std::size_t>(count), profile->text());
}

Result<int> what_if(VerbContext& context, const std::string& wish) {
  ATHANOR_TRY(const std::vector<std::string> profiles, read_wish(wish));
  ATHANOR_TRY(const World world, read_world(context));
  ATHANOR_TRY(const Settings settings, scheduler_settings(context));
  std::vector<FleetNode> fleet = world.fleet();
  const std::vector<Spot> spots =
      place_each(fleet, profiles, settings.placement(), settings.node_scoring());
  if (prints_values(context)) {
    std::vector<Value> values;
    values.reserve(spots.size());
    for (const Spot& spot : spots) {
      values.push_back(spot_value(spot));
    }
    context.values(values);
  } else {
    std::vector<std::vector<std::string>> rows;
    rows.reserve(spots.size());
    for (const Spot& spot : spots) {
      rows.push_back(
          {spot.node, std::to_string(spot.number), spot.profile, std::to_string(spot.place.start)});
    }
    context.table({"NODE", "GPU", "PROFILE", "SLOT"}, rows);
    context.print(fmt::format("{} of {} fit\n", spots.size(), profiles.size()));
  }
  return spots.size() == profiles.size() ? 0 : kDoesNotFit;
}

Result<int> run(VerbContext& context) {
  const std::string action = context.argument("ACTION").value_or("");
  const auto subject = context.argument("SUBJECT");
  if (action.empty() || !context.names().empty()) {
    return show(context);
  }
  if (context.output() == "name" || context.output() == "wide") {
    return wrong_usage(
        fmt::format("-o {}: slices {} prints table, json or yaml", context.output(), action));
  }
  if (action == "defrag") {
    return defrag(context);
  }
  if (action != "explain" && action != "what-if") {
    return wrong_usage(fmt::format(
        "unknown action \"{}\"; known are explain POD, what-if PROFILE:COUNT, defrag", action));
  }
  if (!subject) {
    return wrong_usage(action == "explain" ? "say which pod: athanor slices explain POD"
                                           : "say what: athanor slices what-if 3g.20gb:4");
  }
  return action == "explain" ? explain(context, *subject) : what_if(context, *subject);
}

}  // namespace

Verb slices_verb() {
  return {
      .name = "slices",
      .summary = "Show slots and shares of every GPU, what still fits, why a pod fits or not",
      .footer =
          "  athanor slices\n"
          "  athanor slices gpu-node -o wide\n"
          "  athanor slices explain POD\n"
          "  athanor slices what-if 3g.20gb:4\n"
          "  athanor slices defrag --dry-run --for POD\n"
          "  athanor slices defrag --yes --max-moves 2\n"
          "\nExit code 3: nothing fits, or no moves help.",
      .arguments = {{.name = "ACTION", .help = "explain, what-if or defrag, or the name of a node"},
                    {.name = "SUBJECT", .help = "a pod, or PROFILE:COUNT"}},
      .flags = {{.name = kPhaseFlag,
                 .value = "PHASE",
                 .help = "GPUs in this phase: Healthy or Unhealthy"},
                {.name = "das-namespace",
                 .value = "NAME",
                 .help = "namespace of DAS (das-operator)"},
                {.name = "dry-run", .help = "defrag: print the moves, evict nothing"},
                {.name = "yes", .help = "defrag: evict the pods, one after the other"},
                {.name = "max-moves", .value = "N", .help = "defrag: at most so many pods (5)"},
                {.name = "for", .value = "POD", .help = "defrag: make room for this pod"}},
      .lists = true,
      .actions = {"explain", "what-if", "defrag"},
      .names = "nodes of the list",
      .run = run};
}

}  // namespace athanor::das
