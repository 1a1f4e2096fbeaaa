// SPDX-License-Identifier: Apache-2.0
// Properties of what comes after the end of a run: changes and their way back, growth, deletion,
// the take-over of what others left.
#include <fmt/format.h>

#include <algorithm>

#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "sim/properties/properties.hpp"

namespace athanor::sim {

namespace {

void count_outcome(Tally* tally, const char* property, const Outcome& outcome) {
  if (tally != nullptr) {
    ++tally->properties[property];
    tally->add(outcome);
  }
}

Value lasting_end_of(const World& world, const Projection& projection) {
  return projection ? projection(world) : world.final_state();
}

std::string patch_between(const Value& expected, const Value& actual) {
  return json::print(make_merge_patch(expected, actual), json::Style::Pretty);
}

// The object as one that another program wrote: every field set by Updates of that program.
store::StoredPtr as_left_by_another(const store::StoredPtr& stored) {
  store::Stored copy = *stored;
  Value managers = Value::list();
  for (const Value& entry : stored->body["metadata"]["managedFields"].items()) {
    Value changed = entry;
    changed.set("manager", "upstream-" + entry["manager"].str());
    changed.set("operation", "Update");
    managers.push_back(std::move(changed));
  }
  copy.body.set_path({"metadata", "managedFields"}, std::move(managers));
  return std::make_shared<const store::Stored>(std::move(copy));
}

}  // namespace

std::optional<std::string> check_reversal(const Trial& trial, const std::vector<Edit>& edits) {
  World world(trial.make(), trial.seed);
  Outcome outcome = world.run();
  const Value before = lasting_end_of(world, trial.projection);
  for (const bool forth : {true, false}) {
    for (const Edit& edit : edits) {
      if (outcome.failure) {
        return outcome.failure;
      }
      const auto patched = world.patch(*edit.kind, edit.key, forth ? edit.there : edit.back);
      if (!patched.ok()) {
        return fmt::format("cannot change {} {}: {}", edit.kind->name, edit.key.text(),
                           patched.error().message);
      }
    }
    outcome = world.run();
  }
  count_outcome(trial.tally, "P8 reversibility", outcome);
  if (outcome.failure) {
    return outcome.failure;
  }
  const Value after = lasting_end_of(world, trial.projection);
  if (before == after) {
    return std::nullopt;
  }
  return "there and back again ends otherwise: " + patch_between(before, after);
}

std::optional<std::string> check_bounds(const std::function<Scene(int bystanders)>& make,
                                        std::uint64_t seed, const Bounds& bounds, Tally* tally) {
  const auto work_of = [&](int bystanders) {
    Scene scene = make(bystanders);
    // Without the actors: what the bystanders alone cost, to be taken off.
    Scene idle = make(bystanders);
    idle.actors.clear();
    idle.converged = {};
    World quiet(std::move(idle), seed);
    World busy(std::move(scene), seed);
    const Outcome rest = quiet.run();
    Outcome outcome = busy.run();
    if (rest.failure && !outcome.failure) {
      outcome.failure = rest.failure;
    }
    outcome.work.reconciles -= std::min(outcome.work.reconciles, rest.work.reconciles);
    count_outcome(tally, "P10 bounded work", outcome);
    return outcome;
  };
  const Outcome few = work_of(2);
  const Outcome many = work_of(20);
  for (const Outcome* outcome : {&few, &many}) {
    if (outcome->failure) {
      return outcome->failure;
    }
    const Work& work = outcome->work;
    if (work.most_steps > bounds.steps || work.most_reads > bounds.reads ||
        work.most_status > bounds.status_bytes) {
      return fmt::format(
          "one plan of {} steps (at most {}), one reconcile with {} reads ({}), "
          "one status of {} bytes ({})",
          work.most_steps, bounds.steps, work.most_reads, bounds.reads, work.most_status,
          bounds.status_bytes);
    }
  }
  const auto least = static_cast<double>(few.work.reconciles + 10);
  if (static_cast<double>(many.work.reconciles) > least * bounds.growth) {
    return fmt::format(
        "the same change took {} reconciles beside 2 uninvolved objects and {} "
        "beside 20",
        few.work.reconciles, many.work.reconciles);
  }
  return std::nullopt;
}

std::optional<Finding> check_deletion(const Trial& trial, const std::vector<const Kind*>& roots,
                                      const Faults& faults) {
  Scene scene = trial.make();
  scene.faults = faults;
  scene.placed = trial.placed;
  scene.record = trial.record;
  const auto gone = [roots](const World& world) {
    return std::all_of(roots.begin(), roots.end(), [&](const Kind* kind) {
      const std::vector<Object> left = world.list(*kind);
      return std::none_of(left.begin(), left.end(),
                          [](const Object& object) { return object.owners().empty(); });
    });
  };
  const auto remove_all = [roots](World& world) {
    for (const Kind* kind : roots) {
      for (const Object& object : world.list(*kind)) {
        if (object.owners().empty()) {
          static_cast<void>(world.remove(*kind, object.key()));
        }
      }
    }
  };
  // When: anywhere in the first two minutes after the last actor, by the seed.
  const auto moment = std::chrono::milliseconds(
      static_cast<std::int64_t>(seeded_entropy(trial.seed)->next() % 120'000));
  Duration last{};
  for (const Actor& actor : scene.actors) {
    last = std::max(last, actor.at);
  }
  scene.faults_end = last + moment + std::chrono::minutes(5);
  scene.actors.push_back({.at = last + moment, .act = remove_all});
  scene.converged = gone;
  World world(std::move(scene), trial.seed);
  const Outcome outcome = world.run();
  count_outcome(trial.tally, "P11 deletion", outcome);
  if (!outcome.failure) {
    return std::nullopt;
  }
  return Finding{.text = "everything is deleted: " + *outcome.failure,
                 .faults = outcome.injected,
                 .trace = world.trace()};
}

std::optional<std::string> check_upgrade(const Trial& trial, Duration at) {
  Scene whole = trial.make();
  World undisturbed(std::move(whole), trial.seed);
  const Outcome base = undisturbed.run();
  if (base.failure) {
    return base.failure;
  }
  const Value expected = lasting_end_of(undisturbed, trial.projection);

  // The other program's part: everything until `at`.
  Scene first = trial.make();
  std::vector<store::StoredPtr> left;
  Duration last = at;
  for (const Actor& actor : first.actors) {
    last = std::max(last, actor.at + std::chrono::milliseconds(1));
  }
  first.actors.push_back({.at = last, .act = [&left](World& world) { left = world.stored(); }});
  World other(std::move(first), trial.seed);
  static_cast<void>(other.run());

  Scene second = trial.make();
  second.objects.clear();
  second.actors.clear();
  for (const store::StoredPtr& stored : left) {
    second.snapshot.push_back(as_left_by_another(stored));
  }
  World taken_over(std::move(second), trial.seed + 1);
  const Outcome outcome = taken_over.run();
  count_outcome(trial.tally, "P12 upgrade", outcome);
  if (outcome.failure) {
    return outcome.failure;
  }
  const Value actual = lasting_end_of(taken_over, trial.projection);
  if (expected == actual) {
    return std::nullopt;
  }
  return "what another implementation left ends otherwise: " + patch_between(expected, actual);
}

}  // namespace athanor::sim
