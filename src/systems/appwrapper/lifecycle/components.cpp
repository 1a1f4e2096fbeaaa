// SPDX-License-Identifier: Apache-2.0
// Look-ups of wrapped objects, and the count of their pods.
#include "systems/appwrapper/lifecycle/components.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/builtin.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/pod_sets/pod_sets.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kPodIndex = "appwrapper";
constexpr int kDeepestChain = 10;
constexpr int kForbidden = 403;

Lookup of_object(Object object) {
  const auto state = object.deleting() ? Lookup::State::Deleting : Lookup::State::Present;
  return {.state = state, .object = std::move(object)};
}

// The object below the AppWrapper that a pod belongs to: the end of its chain of controllers.
struct Top {
  std::string kind{}, name{};
};
Top top_of(const Context& context, const Object& pod) {
  Object current = pod;
  for (int depth = 0; depth < kDeepestChain; ++depth) {
    const auto owner = current.controller();
    if (!owner || (owner->kind == kAppWrapper.name && owner->name == context.name())) {
      break;
    }
    const Kind* kind = find_wrapped_kind(owner->api_version, owner->kind);
    auto next = kind == nullptr ? std::nullopt
                                : context.view.get(*kind, {std::string(context.ns()), owner->name});
    if (!next) {
      return {owner->kind, owner->name};
    }
    current = *std::move(next);
  }
  return {std::string(current.kind()), std::string(current.name())};
}

void count(const Object& pod, PodCounts& counts) {
  const std::string_view phase = pod.status()["phase"].as_string();
  if (phase == "Succeeded") {
    ++counts.succeeded;
  } else if (phase == "Failed") {
    ++counts.failed;
  } else if (phase == "Running") {
    counts.running += pod.deleting() ? 0 : 1;
  } else if (phase == "Pending") {
    ++counts.pending;
  }
}

struct ComponentFacts {
  bool has_pods = false;  // it has PodSets
  std::int64_t expected = 0;
  Outcome outcome = Outcome::Unknown;
  PodCounts pods{};
  [[nodiscard]] bool succeeded() const {
    return outcome == Outcome::Succeeded ||
           (outcome == Outcome::Unknown && pods.succeeded >= expected && pods.only_succeeded());
  }
};

// Returns when the last container of a pod ended.
std::optional<Instant> end_of(const Object& pod) {
  std::optional<Instant> last;
  for (const Value& one : pod.status()["containerStatuses"].items()) {
    last = std::max(last, parse_time(one["state"]["terminated"]["finishedAt"].as_string()));
  }
  return last;
}

}  // namespace

Lookup look_up(const Context& context, const ComponentKind& kind, std::string_view name,
               Absence absence) {
  const Key key{std::string(context.ns()), std::string(name)};
  if (kind.watched) {
    if (auto cached = context.view.get(*kind.kind, key)) {
      return of_object(*std::move(cached));
    }
    if (absence == Absence::AsCached) {
      return {};
    }
  }
  const Live live =
      read_live(context.view, *kind.kind, key, context.now, context.object().resource_version());
  if (!live.known) {
    return {.state = Lookup::State::Asked,
            .denied = is_denied(live),
            .error = live.error ? live.error->message : std::string()};
  }
  return live.objects.empty() ? Lookup{} : of_object(live.objects.front());
}

bool is_denied(const Live& live) {
  return live.error && live.error->code == kForbidden;
}

bool is_controlled(const Context& context, const Object& object) {
  const auto owner = object.controller();
  return owner && owner->kind == kAppWrapper.name && owner->name == context.name();
}

Index pod_index() {
  return {.kind = &api::kPod, .name = kPodIndex, .values = [](const Object& pod) {
            const std::string_view app = pod.label(name::kLabel);
            return app.empty()
                       ? std::vector<std::string>{}
                       : std::vector<std::string>{std::string(pod.ns()) + "/" + std::string(app)};
          }};
}

std::vector<Object> pods_of(const Context& context) {
  return context.view.list(
      api::kPod, {.index = std::string(kPodIndex), .index_value = context.object().key().text()});
}

std::optional<std::vector<Object>> confirmed_pods_of(const Context& context) {
  Live live = list_live(context.view, api::kPod,
                        {.ns = std::string(context.ns()),
                         .label = std::string(name::kLabel) + "=" + std::string(context.name())},
                        context.now, context.object().resource_version());
  return live.known ? std::optional(std::move(live.objects)) : std::nullopt;
}

Survey survey(const Context& context) {
  Survey result;
  const auto& components = context.app.status.component_status;
  std::vector<ComponentFacts> facts(components.size());
  for (std::size_t i = 0; i < components.size(); ++i) {
    const ComponentStatus& component = components[i];
    for (const PodSet& pod_set : context.pod_sets[i]) {
      facts[i].has_pods = true;
      facts[i].expected += pod_set.count();
    }
    const auto kind = find_component_kind(context.view, component.api_version, component.kind);
    const Lookup found = !kind || component.name.empty()
                             ? Lookup{}
                             : look_up(context, *kind, component.name, Absence::Confirmed);
    result.asked = result.asked || found.state == Lookup::State::Asked;
    if (found.state == Lookup::State::Present) {
      ++result.deployed;
      facts[i].outcome = outcome_of(found.object->body());
      result.failed_components += facts[i].outcome == Outcome::Failed ? 1 : 0;
    }
  }
  result.expected = expected_pods(context.pod_sets);
  PodCounts strays;  // of no known component
  for (const Object& pod : pods_of(context)) {
    count(pod, result.pods);
    const Top top = top_of(context, pod);
    const auto at = std::ranges::find_if(components, [&](const ComponentStatus& component) {
      return component.kind == top.kind && component.name == top.name;
    });
    ComponentFacts* owner = at == components.end()
                                ? nullptr
                                : &facts[static_cast<std::size_t>(at - components.begin())];
    count(pod, owner == nullptr ? strays : owner->pods);
    const std::string_view phase = pod.status()["phase"].as_string();
    if (phase == "Succeeded") {
      result.last_end = std::max(result.last_end, end_of(pod));
    }
    if (phase == "Failed" && (owner == nullptr || owner->outcome != Outcome::Succeeded)) {
      result.failed_pods.push_back(pod);
    } else if (phase == "Running" && !pod.deleting()) {
      result.running_pods.push_back(pod);
    }
  }
  // Pods that no chain of owners leads to a component count for the only one that has pods.
  const auto with_pods = std::ranges::count_if(facts, &ComponentFacts::has_pods);
  for (ComponentFacts& one : facts) {
    if (with_pods == 1 && one.has_pods) {
      one.pods.pending += std::exchange(strays.pending, 0);
      one.pods.running += std::exchange(strays.running, 0);
      one.pods.succeeded += std::exchange(strays.succeeded, 0);
      one.pods.failed += std::exchange(strays.failed, 0);
    }
  }
  result.succeeded =
      strays.only_succeeded() && std::ranges::all_of(facts, [](const ComponentFacts& one) {
        return !one.has_pods || one.succeeded();
      });
  return result;
}

}  // namespace athanor::appwrapper
