// SPDX-License-Identifier: Apache-2.0
// Rules of AppWrappers.
#include "sim/scenes/appwrapper_rules.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "api/builtin.hpp"
#include "api/describe.hpp"
#include "api/kueue.hpp"
#include "kube/value/condition.hpp"
#include "systems/appwrapper/model/fault_tolerance.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/model/wrapped_kinds.hpp"

namespace athanor::sim {
namespace {

using appwrapper::AppWrapper;
using appwrapper::kAppWrapper;
namespace name = appwrapper::name;
namespace phase = appwrapper::phase;

using News = std::span<const store::EventPtr>;

bool is_of(const store::EventPtr& event, const Kind& kind) {
  return event->object->resource == store::resource_name(kind.plural, kind.group);
}

bool is_app(const store::EventPtr& event) {
  return is_of(event, kAppWrapper);
}

std::string_view phase_of(const Object& app) {
  return app.status()["phase"].as_string();
}

bool says(const Object& app, std::string_view type) {
  return condition_is(app.status()["conditions"], type, "True");
}

bool is_terminal(std::string_view phase) {
  return phase == phase::kSucceeded || phase == phase::kFailed;
}

bool is_over(const Object& pod) {
  const auto phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

// The kinds that the scene wraps, and that of a gang's group.
std::span<const Kind* const> wrapped() {
  static const Kind* const kKinds[] = {&api::kPod, &api::kJob, &api::kDeployment, &api::kConfigMap,
                                       &appwrapper::pod_group_kind()};
  return kKinds;
}

bool is_gang(const Object& app) {
  return app.annotation(std::string(name::kAnnotationPrefix) +
                        std::string(appwrapper::annotation::kGang)) == "true";
}

// The user's wish to try again that was followed last (B-19); empty: none.
std::string followed_wish(const Object& app) {
  return find_condition(app.status()["conditions"], appwrapper::condition::kRetried)["message"]
      .str();
}

bool is_wrapped_by(const Object& object, const Object& app) {
  const auto owner = object.controller();
  return owner && owner->uid == app.uid();
}

// A pod may be made late, by a controller that does not know yet that its owner is gone: the
// collector of garbage takes it. Everything else with the label counts.
class Pods {
 public:
  void follow(const World& world, News news) {
    for (const store::EventPtr& event : news) {
      const Object object(event->object->body);
      if (!is_of(event, api::kPod) || object.label(name::kLabel).empty() ||
          !known_.insert(std::string(object.uid())).second) {
        continue;
      }
      if (const auto owner = object.controller()) {
        const Kind* kind = owner->kind == kAppWrapper.name
                               ? &kAppWrapper
                               : (owner->kind == "ReplicaSet" ? &api::kReplicaSet : &api::kJob);
        const auto there = world.get(*kind, {std::string(object.ns()), owner->name});
        if (!there || there->uid() != owner->uid) {
          late_.insert(std::string(object.uid()));
        }
      }
    }
  }
  [[nodiscard]] std::vector<Object> of(const World& world, const Object& app) const {
    std::vector<Object> found;
    for (Object& pod : world.list(api::kPod, app.ns())) {
      if (pod.label(name::kLabel) == app.name() && !late_.contains(std::string(pod.uid()))) {
        found.push_back(std::move(pod));
      }
    }
    return found;
  }

 private:
  std::set<std::string> known_{}, late_{};
};

// What is left of an AppWrapper: the name of an object, or nothing.
std::string left_of(const World& world, const Object& app, const Pods& pods) {
  for (const Kind* kind : wrapped()) {
    for (const Object& object : world.list(*kind, app.ns())) {
      if (is_wrapped_by(object, app)) {
        return fmt::format("{} {}", kind->name, object.name());
      }
    }
  }
  const std::vector<Object> left = pods.of(world, app);
  return left.empty() ? "" : fmt::format("Pod {}", left.front().name());
}

std::optional<Object> workload_of(const World& world, const Object& app) {
  for (Object& workload : world.list(api::kueue::kWorkload, app.ns())) {
    if (is_wrapped_by(workload, app)) {
      return std::move(workload);
    }
  }
  return std::nullopt;
}

bool holds_quota(const std::optional<Object>& workload) {
  return workload && condition_is(workload->status()["conditions"], "QuotaReserved", "True") &&
         !condition_is(workload->status()["conditions"], "Finished", "True");
}

// Objects exist only under quota, and it is handed on only when none is left (F1, F2).
Invariant quota_covers_objects() {
  auto pods = std::make_shared<Pods>();
  return {.name = "quota of an AppWrapper is held while its objects may exist",
          .check = [pods](const World& world, News news) -> std::optional<std::string> {
            pods->follow(world, news);
            for (const store::EventPtr& event : news) {
              if (!is_app(event)) {
                continue;
              }
              const auto app = world.get(kAppWrapper, event->object->key);
              if (app && !phase_of(*app).empty() && !says(*app, "ResourcesDeployed")) {
                if (const std::string left = left_of(world, *app, *pods); !left.empty()) {
                  return fmt::format("{} has no resources deployed, and {} is there", app->name(),
                                     left);
                }
              }
            }
            for (const Object& app : world.list(kAppWrapper)) {
              if (holds_quota(workload_of(world, app)) || phase_of(app) == phase::kSucceeded ||
                  app.deleting()) {
                continue;
              }
              for (const Object& pod : pods->of(world, app)) {
                if (!is_over(pod)) {
                  return fmt::format("pod {} of {} is there without quota", pod.name(), app.name());
                }
              }
            }
            return std::nullopt;
          }};
}

Invariant nothing_exists_twice() {
  return {.name = "no wrapped object exists twice",
          .check = [](const World& world, News news) -> std::optional<std::string> {
            if (news.empty()) {
              return std::nullopt;
            }
            for (const Object& app : world.list(kAppWrapper)) {
              std::map<std::string_view, std::size_t> wanted;
              for (const Value& component : app.spec()["components"].items()) {
                ++wanted[component["template"]["kind"].as_string()];
              }
              wanted[appwrapper::pod_group_kind().name] = is_gang(app) ? 1 : 0;
              for (const Kind* kind : wrapped()) {
                std::size_t there = 0;
                for (const Object& object : world.list(*kind, app.ns())) {
                  there += is_wrapped_by(object, app) ? 1 : 0;
                }
                if (there > wanted[kind->name]) {
                  return fmt::format("{} wraps {} of kind {}, and there are {}", app.name(),
                                     wanted[kind->name], kind->name, there);
                }
              }
            }
            return std::nullopt;
          }};
}

Invariant resets_are_limited() {
  return {.name = "resets never exceed the limit",
          .check = [](const World& world, News news) -> std::optional<std::string> {
            for (const store::EventPtr& event : news) {
              const auto app =
                  is_app(event) ? world.get(kAppWrapper, event->object->key) : std::nullopt;
              if (!app) {
                continue;
              }
              const auto limit = appwrapper::limits_of(*app, {}).retry_limit;
              if (const auto count = app->status()["resettingCount"].as_int(); count > limit) {
                return fmt::format("{} was reset {} times of {}", app->name(), count, limit);
              }
            }
            return std::nullopt;
          }};
}

// F6: but for a user's new wish to try a failed one again (B-19).
Invariant terminal_stays() {
  struct End {
    std::string phase{}, wish{};
  };
  auto ended = std::make_shared<std::map<std::string, End>>();
  return {.name = "a terminal AppWrapper never runs again",
          .check = [ended](const World& world, News news) -> std::optional<std::string> {
            for (const store::EventPtr& event : news) {
              const auto app =
                  is_app(event) ? world.get(kAppWrapper, event->object->key) : std::nullopt;
              if (!app) {
                continue;
              }
              const std::string now(phase_of(*app));
              const std::string uid(app->uid());
              const auto before = ended->find(uid);
              if (before != ended->end() && now != before->second.phase &&
                  !(app->deleting() && now == phase::kTerminating)) {
                if (before->second.phase != phase::kFailed ||
                    followed_wish(*app) == before->second.wish) {
                  return fmt::format("{} was {}, and is {}", app->name(), before->second.phase,
                                     now);
                }
                ended->erase(before);
              }
              if (is_terminal(now)) {
                (*ended)[uid] = {.phase = now, .wish = followed_wish(*app)};
              }
            }
            return std::nullopt;
          }};
}

Invariant phases_are_left() {
  return {.name = "no AppWrapper rests in a phase that has to be left",
          .when = Invariant::When::AtRest,
          .check = [](const World& world, News /*news*/) -> std::optional<std::string> {
            for (const Object& app : world.list(kAppWrapper)) {
              const std::string_view now = phase_of(app);
              if (app.deleting() ||
                  (now != phase::kSuspended && now != phase::kRunning && !is_terminal(now))) {
                return fmt::format("{} rests in {}", app.name(), now);
              }
              const bool deployed = says(app, "ResourcesDeployed");
              if (now == phase::kFailed && deployed) {
                return fmt::format("{} has failed, and its objects are not removed", app.name());
              }
              if (now == phase::kRunning ? !holds_quota(workload_of(world, app))
                                         : holds_quota(workload_of(world, app))) {
                return fmt::format("{} is {}, and its quota is not as that says", app.name(), now);
              }
            }
            return std::nullopt;
          }};
}

}  // namespace

std::vector<Invariant> appwrapper_invariants() {
  return {quota_covers_objects(), nothing_exists_twice(), resets_are_limited(), terminal_stays(),
          phases_are_left()};
}

}  // namespace athanor::sim
