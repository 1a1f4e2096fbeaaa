// SPDX-License-Identifier: Apache-2.0
// Two CronJobs, a stand-in that ends their Jobs, and a recurring FournosJob, paused after their
// twelfth start: each start makes one object, whatever crashes and steps of the clock come between.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "api/builtin.hpp"
#include "base/check.hpp"
#include "embedded/workloads/jobs/cron_job.hpp"
#include "kube/value/condition.hpp"
#include "product/list.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::sim {
namespace {

constexpr Duration kPeriod = std::chrono::minutes(10);
constexpr int kStarts = 12;
constexpr Duration kJobTakes = std::chrono::seconds(20);
constexpr const char* kNames[] = {"kept", "forgotten"};
constexpr const char* kCause = "fournos.dev/recurring-start";

Plan end_job(const View& view, const Key& key, Instant now) {
  const auto job = view.get(api::kJob, key);
  Plan plan;
  if (!job || job->deleting() || !job->status()["completionTime"].is_null()) {
    return plan;
  }
  const Instant end = job->creation_time().value_or(now) + kJobTakes;
  if (end > now) {
    plan.wake_at(end);
    return plan;
  }
  Value conditions = Value::list();
  for (const char* type : {"SuccessCriteriaMet", "Complete"}) {
    set_condition(conditions, {.type = type, .status = "True"}, now);
  }
  plan.then(Status{.target = {&api::kJob, key},
                   .status = Value::object({{"conditions", conditions},
                                            {"startTime", format_time(now)},
                                            {"completionTime", format_time(now)}}),
                   .guard = {.uid = std::string(job->uid())}});
  return plan;
}

constexpr Operator kNode = stand_in<api::kJob>("job-node", end_job);

Value cron_job(const char* name, int history) {
  Value cron = from_yaml(
      "{apiVersion: batch/v1, kind: CronJob, metadata: {namespace: default}, spec: {schedule: "
      "'*/10 * * * *', concurrencyPolicy: Forbid, jobTemplate: {spec: {template: {spec: "
      "{restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}");
  cron.set_path({"metadata", "name"}, name);
  cron.set_path({"spec", "successfulJobsHistoryLimit"}, history);
  return cron;
}

// Its children fail at once: they name neither a cluster nor hardware.
Value recurring_job() {
  return from_yaml(
      "{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: recurring, namespace: "
      "default}, spec: {schedule: '*/10 * * * *', forge: {project: p, args: []}}}");
}

// Looks until the clock has passed the last start; then nothing is to start any more.
void pause_in_time(World& world) {
  const auto cron = world.get(api::kCronJob, {"default", kNames[0]});
  const Instant created = cron ? cron->creation_time().value_or(world.now()) : world.now();
  const Instant before = created - created.time_since_epoch() % kPeriod;
  if (world.now() < before + kStarts * kPeriod + std::chrono::minutes(3)) {
    world.after(std::chrono::seconds(30), pause_in_time);
    return;
  }
  for (const char* name : kNames) {
    static_cast<void>(world.patch(api::kCronJob, {"default", name},
                                  Value::object({{"spec", Value::object({{"suspend", true}})}})));
  }
  const auto stopped =
      world.patch(api::kFournosJob, {"default", "recurring"},
                  Value::object({{"spec", Value::object({{"shutdown", "Stop"}})}}));
  ATHANOR_CHECK(stopped.ok(), "the API server takes a stop");
}

bool paused(const World& world) {
  const auto parent = world.get(api::kFournosJob, {"default", "recurring"});
  const auto crons = world.list(api::kCronJob);
  const auto jobs = world.list(api::kJob);
  return parent && parent->status()["phase"].as_string() == "Stopped" &&
         std::ranges::all_of(crons,
                             [](const Object& cron) { return cron.spec()["suspend"].as_bool(); }) &&
         std::ranges::none_of(
             jobs, [](const Object& job) { return job.status()["completionTime"].is_null(); });
}

// What tells a start: a Job's name has its time, a FournosJob's annotation. Empty: another object.
std::string start_of(const store::Event& event) {
  if (event.type != store::Event::Type::Added) {
    return {};
  }
  if (event.object->resource == "jobs.batch") {
    return event.object->key.name;
  }
  return event.object->resource == "fournosjobs.fournos.dev"
             ? std::string(Object(event.object->body).annotation(kCause))
             : std::string();
}

Invariant starts_once() {
  auto made = std::make_shared<std::map<std::string, int>>();
  return {.name = "a schedule starts once at each of its times",
          .check = [made](const World& /*world*/,
                          std::span<const store::EventPtr> news) -> std::optional<std::string> {
            for (const store::EventPtr& event : news) {
              const std::string start = start_of(*event);
              if (!start.empty() && ++(*made)[start] > 1) {
                return fmt::format("{} was started twice", start);
              }
            }
            return std::nullopt;
          }};
}

}  // namespace

Scene schedules_scene() {
  Scene scene;
  scene.operators = {&workloads::cron_job_operator(), &kNode, &fournos::fournosjob_operator()};
  for (const api::CustomKind* custom : kinds_of(all_systems())) {
    scene.objects.push_back(definition_of(*custom));
  }
  scene.objects.push_back(cron_job(kNames[0], 2 * kStarts));
  scene.objects.push_back(cron_job(kNames[1], 1));
  scene.objects.push_back(recurring_job());
  fournos::Settings settings;
  settings.workload_namespace = "default";
  scene.config["fournos"] = api::encode(settings);
  scene.actors = {{.at = kPeriod, .act = pause_in_time}};
  scene.invariants = {starts_once()};
  scene.faults_end = (kStarts + 1) * kPeriod;
  scene.converged = paused;
  return scene;
}

Value schedules_as_seen(const World& world) {
  std::vector<std::string> names;
  for (const Object& job : world.list(api::kJob)) {
    names.emplace_back(job.name());
  }
  for (const Object& job : world.list(api::kFournosJob)) {
    if (const std::string_view cause = job.annotation(kCause); !cause.empty()) {
      names.push_back(fmt::format("recurring {} {}", cause, job.status()["phase"].as_string()));
    }
  }
  std::ranges::sort(names);
  Value seen = Value::list();
  for (const std::string& name : names) {
    seen.push_back(name);
  }
  return seen;
}

}  // namespace athanor::sim
