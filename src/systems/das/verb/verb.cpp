// SPDX-License-Identifier: Apache-2.0
#include "systems/das/verb/verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/builtin.hpp"
#include "systems/das/names.hpp"
#include "systems/das/placement/fleet.hpp"
#include "systems/das/placement/profile.hpp"
#include "systems/das/placement/slice_map.hpp"
#include "systems/das/request.hpp"
#include "systems/das/settings.hpp"
#include "systems/das/verb/defrag.hpp"
#include "systems/das/verb/parts.hpp"

namespace athanor::das {
namespace {

constexpr int kMostAsked = 1000;

Result<int> show(VerbContext& context) {
  ATHANOR_TRY(const World world, read_world(context));
  if (prints_values(context)) {
    std::vector<Value> bodies;
    for (const auto* objects : {&world.nodes, &world.claims}) {
      for (const Object& object : *objects) {
        bodies.push_back(object.body());
      }
    }
    context.values(bodies);
    return 0;
  }
  const std::string text = slice_map(world.nodes, world.claims);
  context.print(text.empty() ? "no node has GPUs that can be sliced; the nodes of a lab get them "
                               "by EMULATED_MODE=enabled or "
                               "`gpus` in the lab file (docs/das.md)\n"
                             : text);
  return 0;
}

// Where the pod's slices would be on a node, or why nowhere.
struct Outcome {
  std::string node{};
  std::optional<std::vector<PlacedSlice>> placed{};
};

std::vector<Outcome> outcomes(const std::vector<FleetNode>& fleet, const Object& pod,
                              const std::vector<std::string>& profiles, PlacementOptions options) {
  const std::string_view wanted = pod.annotation(kGpuAnnotation);
  options.same_gpu = pod.annotation(kSameGpuAnnotation) == "true";
  std::vector<Outcome> found;
  for (const FleetNode& node : fleet) {
    std::vector<GpuSlots> gpus = node.gpus;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      gpus[i].open = gpus[i].open && (wanted.empty() || wanted == node.inventory.gpus[i].uuid);
    }
    found.push_back({node.name, place(gpus, profiles, options)});
  }
  return found;
}

Result<int> explain(VerbContext& context, const std::string& name) {
  ATHANOR_TRY(const Object pod, context.get(api::kPod, {context.ns(), name}));
  ATHANOR_TRY(World world, read_world(context));
  ATHANOR_TRY(const Settings settings, scheduler_settings(context));
  const PodSlices request = slices_of(pod.spec());
  if (request.empty()) {
    return Error::bad_request("pod " + name + " asks for no slice");
  }
  std::vector<std::string> held;
  std::erase_if(world.claims, [&](const Object& object) {
    const auto claim = read_claim(object);
    const bool own = claim && claim->pod_uid == pod.uid();
    if (own) {
      held.push_back(fmt::format("{} on {}, GPU {}, slot {}: {}", claim->profile, claim->node,
                                 claim->gpu, claim->start, claim->state));
    }
    return own;
  });
  const std::vector<std::string> profiles = request.profiles();
  bool any = false;
  std::vector<Value> values;
  context.print(prints_values(context) ? ""
                                       : fmt::format("pod {}/{} asks for {}\n", pod.ns(), name,
                                                     fmt::join(profiles, ", ")));
  for (const std::string& line : held) {
    context.print(prints_values(context) ? "" : "  holds " + line + "\n");
  }
  for (const Outcome& outcome : outcomes(world.fleet(), pod, profiles, settings.placement())) {
    std::string text = "no GPU has the slots free in a legal place";
    Value spots = Value::list();
    if (outcome.placed) {
      any = true;
      text.clear();
      for (std::size_t i = 0; i < outcome.placed->size(); ++i) {
        const PlacedSlice& one = (*outcome.placed)[i];
        text += fmt::format("{}{} on GPU {} at slot {}", i == 0 ? "" : ", ", profiles[i], one.gpu,
                            one.start);
        spots.push_back(spot_value({outcome.node, one.gpu, profiles[i], one}));
      }
    }
    if (prints_values(context)) {
      values.push_back(Value::object({{"node", outcome.node},
                                      {"fits", outcome.placed.has_value()},
                                      {"slices", std::move(spots)}}));
    } else {
      context.print(fmt::format("  {}: {}\n", outcome.node, text));
    }
  }
  if (prints_values(context)) {
    context.values(values);
  }
  return any || !held.empty() ? 0 : kDoesNotFit;
}

// "3g.20gb:4" as four profiles.
Result<std::vector<std::string>> read_wish(const std::string& wish) {
  const std::size_t colon = wish.rfind(':');
  const auto profile = parse_profile(wish.substr(0, colon));
  if (!profile) {
    return Error::bad_request(
        fmt::format("\"{}\" is no MIG profile; write PROFILE:COUNT, as 3g.20gb:4", wish));
  }
  int count = 1;
  if (colon != std::string::npos) {
    const std::string number = wish.substr(colon + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    if (error != std::errc() || end != number.data() + number.size() || count < 1 ||
        count > kMostAsked) {
      return Error::bad_request(
          fmt::format("\"{}\" must be a count from 1 to {}", number, kMostAsked));
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
          {spot.node, std::to_string(spot.gpu), spot.profile, std::to_string(spot.place.start)});
    }
    context.table({"NODE", "GPU", "PROFILE", "SLOT"}, rows);
    context.print(fmt::format("{} of {} fit\n", spots.size(), profiles.size()));
  }
  return spots.size() == profiles.size() ? 0 : kDoesNotFit;
}

Result<int> run(VerbContext& context) {
  const std::string action = context.argument("ACTION").value_or("");
  const auto subject = context.argument("SUBJECT");
  if (action.empty()) {
    return show(context);
  }
  if (action == "defrag") {
    return defrag(context);
  }
  if (action != "explain" && action != "what-if") {
    return Error::bad_request(fmt::format(
        "unknown action \"{}\"; known are explain POD, what-if PROFILE:COUNT, defrag", action));
  }
  if (!subject) {
    return Error::bad_request(action == "explain" ? "say which pod: athanor slices explain POD"
                                                  : "say what: athanor slices what-if 3g.20gb:4");
  }
  return action == "explain" ? explain(context, *subject) : what_if(context, *subject);
}

}  // namespace

Verb slices_verb() {
  return {.name = "slices",
          .summary = "Show the slots of every GPU, what still fits, why a pod fits or not",
          .footer =
              "  athanor slices\n"
              "  athanor slices explain POD\n"
              "  athanor slices what-if 3g.20gb:4\n"
              "  athanor slices defrag --dry-run --for POD\n"
              "  athanor slices defrag --yes --max-moves 2\n"
              "\nExit code 3: nothing fits, or no moves help.",
          .arguments = {{.name = "ACTION", .help = "explain, what-if or defrag"},
                        {.name = "SUBJECT", .help = "a pod, or PROFILE:COUNT"}},
          .flags = {{.name = "das-namespace",
                     .value = "NAME",
                     .help = "namespace of DAS (das-operator)"},
                    {.name = "dry-run", .help = "defrag: print the moves, evict nothing"},
                    {.name = "yes", .help = "defrag: evict the pods, one after the other"},
                    {.name = "max-moves", .value = "N", .help = "defrag: at most so many pods (5)"},
                    {.name = "for", .value = "POD", .help = "defrag: make room for this pod"}},
          .run = run};
}

}  // namespace athanor::das
