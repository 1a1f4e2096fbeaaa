// SPDX-License-Identifier: Apache-2.0
// A lab, a trace, and virtual time.
#include "simulation/whatif/trace_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/apiserver/request/admission.hpp"
#include "embedded/bridge/in_process_webhooks.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/model/amounts.hpp"
#include "embedded/nodes/nodes.hpp"
#include "embedded/nodes/pod_runtime.hpp"
#include "embedded/nodes/timed/timed_pods.hpp"
#include "embedded/scheduler/scheduler.hpp"
#include "embedded/tekton/model/operators.hpp"
#include "kube/text/yaml.hpp"
#include "simulation/world.hpp"
#include "systems/fournos/job.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::data {
std::string_view whatif_pipeline();
}  // namespace athanor::data

namespace athanor::whatif {

namespace {

constexpr std::string_view kGpuPrefix = "fournos/gpu-";
constexpr const char* kSlot = "fournos/cluster-slot";
constexpr std::int64_t kAllSlots = 100;  // of a cluster, taken by an exclusive job
constexpr const char* kQueue = "fournos-queue";
constexpr const char* kPipeline = "simulated";
constexpr std::size_t kMostRunProblems = 20;
constexpr Duration kKeepOver = std::chrono::minutes(10);

// Jobs between two calls of PlayOptions::progress: a hundredth of all.
std::size_t progress_step(const Trace& trace) {
  constexpr std::size_t kMost = 20;
  return std::clamp<std::size_t>(trace.jobs.size() / 100, 1, kMost);
}

std::string job_name(std::size_t index) {
  return fmt::format("job-{:07}", index);
}

// The job that a pod or any other object of a run belongs to.
std::optional<std::size_t> job_of(std::string_view name) {
  constexpr std::size_t kPrefix = 4;
  constexpr std::size_t kDigits = 7;
  if (!name.starts_with("job-") || name.size() < kPrefix + kDigits) {
    return std::nullopt;
  }
  std::size_t index = 0;
  for (const char digit : name.substr(kPrefix, kDigits)) {
    if (digit < '0' || digit > '9') {
      return std::nullopt;
    }
    index = index * 10 + static_cast<std::size_t>(digit - '0');
  }
  return index;
}

std::int64_t quantity_of(const std::map<std::string, std::string>& quota,
                         const std::string& resource) {
  const auto at = quota.find(resource);
  return at == quota.end() ? 0 : kueue::amount_of(resource, Value(at->second));
}

Value pipeline(const std::string& ns) {
  Value pipeline = yaml::parse(data::whatif_pipeline()).value();
  pipeline.member("metadata").set("name", kPipeline).set("namespace", ns);
  return pipeline;
}

Value manifest(const Submission& job, std::size_t index, const std::string& ns) {
  Value spec = Value::object(
      {{"owner", job.owner},
       {"pipeline", kPipeline},
       {"forge", Value::object({{"project", "simulate"}, {"args", Value::list({"run"})}})}});
  if (!job.cluster.empty()) {
    spec.set("cluster", job.cluster);
  }
  if (!job.gpu_type.empty()) {
    spec.set("hardware", Value::object({{"gpuType", job.gpu_type}, {"gpuCount", job.gpus}}));
  }
  if (!job.priority.empty()) {
    spec.set("priority", job.priority);
  }
  if (job.exclusive) {
    spec.set("exclusive", true);
  }
  return Value::object({{"apiVersion", "fournos.dev/v1"},
                        {"kind", "FournosJob"},
                        {"metadata", Value::object({{"name", job_name(index)}, {"namespace", ns}})},
                        {"spec", std::move(spec)}});
}

// How long a job takes says the trace: no run ends it before. Comes before Tekton's defaults.
apiserver::StatusResult<void> without_timeouts(apiserver::AdmissionAttributes& request,
                                               const apiserver::AdmissionContext& /*context*/) {
  if (request.operation != apiserver::Operation::Create || !request.subresource.empty()) {
    return {};
  }
  if (request.resource->storage == "pipelineruns.tekton.dev") {
    request.object.set_path({"spec", "timeouts"}, Value::object({{"pipeline", "0s"}}));
  } else if (request.resource->storage == "taskruns.tekton.dev") {
    request.object.set_path({"spec", "timeout"}, "0s");
  }
  return {};
}

std::vector<apiserver::AdmissionStep> admission(Systems systems) {
  std::vector<apiserver::AdmissionStep> steps = bridge::webhook_steps({.systems = systems});
  steps.insert(steps.begin(), {.name = "SimulatedTime", .mutate = without_timeouts});
  return steps;
}

// A queue over more clusters than the 64 flavors that Kueue takes.
Value with_room_for(std::size_t clusters, const Value& definition) {
  constexpr std::string_view kMost = "maxItems";
  if (definition.is_list()) {
    Value items = Value::list();
    for (const Value& item : definition.items()) {
      items.push_back(with_room_for(clusters, item));
    }
    return items;
  }
  if (!definition.is_object()) {
    return definition;
  }
  Value out = Value::object();
  for (const Member& member : definition.members()) {
    const auto room = static_cast<std::int64_t>(clusters);
    out.set(member.key(), member.key() == kMost ? Value(std::max(member.value.as_int(), room))
                                                : with_room_for(clusters, member.value));
  }
  return out;
}

// The state of one play: submissions to come, pods in time, what has happened.
class Player {
 public:
  Player(const Trace& trace, const lab::Lab& fleet, const PlayOptions& options)
      : trace_(trace), fleet_(fleet), options_(options) {
    played_.runs.resize(trace.jobs.size());
    for (std::size_t i = 0; i < played_.runs.size(); ++i) {
      played_.runs[i].job = i;
    }
  }

  Result<Played> play() {
    ATHANOR_TRY(sim::Scene scene, make_scene());
    sim::World world(std::move(scene), options_.seed);
    played_.start = world.now();
    if (!trace_.jobs.empty()) {
      world.after(trace_.jobs.front().submit, [this](sim::World& w) { submit_due(w); });
    }
    const sim::Outcome outcome = world.run();
    if (!error_.empty()) {
      return Error::bad_request(error_);
    }
    if (over_time_) {
      return Error{.code = 504,
                   .reason = "Timeout",
                   .message = fmt::format("the simulation had no more time after {} of {} jobs",
                                          ended_, trace_.jobs.size())};
    }
    if (outcome.failure) {
      return Error::internal("the simulation does not come to an end: " + *outcome.failure);
    }
    played_.steps = outcome.steps;
    played_.writes = outcome.writes;
    played_.reconciles = outcome.work.reconciles;
    played_.reconciles_of = outcome.work.reconciles_of;
    played_.writes_of = outcome.work.writes_of;
    return std::move(played_);
  }

 private:
  Result<sim::Scene> make_scene() {
    sim::Scene scene;
    scene.pace = sim::Pace::Orderly;
    scene.operators = options_.operators;
    // Those that decide. The status of queues, Events and what a job waits for at each moment are
    // reports, which have no reader here.
    scene.events = false;
    scene.trusts_controllers = !options_.judges_writes;
    for (const Operator* op :
         {&kueue::trace_scheduler_operator(), &kueue::workload_operator(),
          &tekton::pipelinerun_operator(), &tekton::taskrun_operator(),
          &scheduler::scheduler_operator(), &nodes::kubelet_operator(), &nodes::node_operator()}) {
      scene.operators.push_back(op);
    }
    scene.config = options_.config;
    scene.admission = [systems = options_.systems] { return admission(systems); };
    for (const api::CustomKind* custom : kinds_of(options_.systems)) {
      const Value definition = api::crd_manifest(*custom);
      scene.objects.push_back(custom->kind->group == api::kueue::kClusterQueue.group
                                  ? with_room_for(fleet_.clusters.size(), definition)
                                  : definition);
    }
    ATHANOR_TRY(std::vector<Value> objects, fleet_objects());
    scene.objects.insert(scene.objects.end(), std::make_move_iterator(objects.begin()),
                         std::make_move_iterator(objects.end()));
    install_pods(scene);
    scene.answer_delay = Duration::zero();
    scene.faults_end = Duration::zero();
    scene.limit = std::chrono::hours(24 * 365 * 5);
    scene.periodic_writers = {"node", "node-lifecycle-controller"};
    scene.is_given_up = [this] {
      over_time_ = over_time_ || (options_.is_over_time && options_.is_over_time());
      return over_time_;
    };
    scene.converged = [this](const sim::World&) { return ended_ == trace_.jobs.size(); };
    scene.watch = [this](const sim::World& world, std::span<const store::EventPtr> news) {
      for (const store::EventPtr& event : news) {
        if (event->object->resource == "fournosjobs.fournos.dev") {
          note(world, *event);
        }
      }
    };
    return scene;
  }

  Result<std::vector<Value>> fleet_objects() const {
    lab::Lab lab = fleet_;
    lab.manifests.clear();
    lab.nodes = {{.name = "simulated",
                  .capacity = {{"cpu", "1000000"}, {"memory", "1Pi"}, {"pods", "1000000"}}}};
    if (lab.queues.empty()) {
      lab.queues = {{.name = kQueue}};
    }
    for (lab::Cluster& cluster : lab.clusters) {
      cluster.kubeconfig = "simulated";
    }
    ATHANOR_TRY(std::vector<Value> objects,
                lab::lab_objects(lab, [](const std::string& name) -> Result<std::string> {
                  return Error::not_found(name);
                }));
    // Without a token no pod waits for the certificates that come with one.
    objects.push_back(yaml::parse(fmt::format("{{apiVersion: v1, kind: ServiceAccount, metadata: "
                                              "{{name: default, namespace: {}}}, "
                                              "automountServiceAccountToken: false}}",
                                              lab.ns))
                          .value());
    objects.push_back(pipeline(lab.ns));
    return objects;
  }

  // ---- submissions
  void submit_due(sim::World& world) {
    remove_finished(world);
    const Duration passed = world.now() - played_.start;
    while (next_ < trace_.jobs.size() && trace_.jobs[next_].submit <= passed) {
      const auto made = world.create(manifest(trace_.jobs[next_], next_, fleet_.ns));
      if (!made.ok()) {
        give_up(next_, made.error().message);
      }
      ++next_;
    }
    if (next_ < trace_.jobs.size()) {
      world.after(trace_.jobs[next_].submit - passed, [this](sim::World& w) { submit_due(w); });
    }
  }

  void give_up(std::size_t job, const std::string& why) {
    if (error_.empty()) {
      error_ = fmt::format("{}:{}: the API server refuses the job: {}", trace_.name,
                           trace_.jobs[job].line, why);
    }
    ++ended_;
  }

  // Jobs that have been over for a while leave: else the world of a week is gigabytes, and every
  // look goes through them.
  void remove_finished(sim::World& world) {
    while (!over_.empty() && *played_.runs[over_.front()].ended + kKeepOver <= world.now()) {
      world.vanish(api::kFournosJob, {fleet_.ns, job_name(over_.front())});
      over_.pop_front();
    }
  }

  // ---- pods
  void install_pods(sim::Scene& scene) {
    scene.executors[std::string(nodes::kStartVerb)] = [this](sim::World& world, const std::string&,
                                                             const Value& given) -> Result<Value> {
      Value spec = given;
      if (const auto job = job_of(spec["name"].as_string()); job && *job < trace_.jobs.size()) {
        const double seconds = std::chrono::duration<double>(trace_.jobs[*job].duration).count();
        spec.set("simulate", Value::object({{"run/run", Value::object({{"seconds", seconds}})}}));
      }
      pods_.start(spec, world.now());
      advance(world);
      return Value(true);
    };
    scene.executors[std::string(nodes::kStopVerb)] = [this](sim::World& world, const std::string&,
                                                            const Value& args) -> Result<Value> {
      pods_.stop(args["uid"].str(), std::chrono::milliseconds(args["graceMs"].as_int()),
                 world.now());
      advance(world);
      return Value(true);
    };
    scene.executors[std::string(nodes::kEventsVerb)] = [this](sim::World& world, const std::string&,
                                                              const Value& args) -> Result<Value> {
      pods_.events_written(args["uid"].str(), args["last"].as_int());
      advance(world);
      return Value(true);
    };
    scene.executors[std::string(nodes::kForgetVerb)] = [this](sim::World& world, const std::string&,
                                                              const Value& args) -> Result<Value> {
      pods_.forget(args["uid"].str());
      advance(world);
      return Value(true);
    };
    scene.probes["pod"] = [this](sim::World&, std::string_view query) -> Result<Value> {
      return pods_.state(query);
    };
  }

  void advance(sim::World& world) {
    for (auto& [query, state] : pods_.advance(world.now())) {
      world.observe(std::move(query), std::move(state));
    }
    const auto due = pods_.next_due();
    if (due && (!alarm_ || *due < *alarm_ || *alarm_ <= world.now())) {
      alarm_ = due;
      world.after(*due - world.now(), [this](sim::World& w) { advance(w); });
    }
  }

  // ---- what happened
  void note(const sim::World& world, const store::Event& event) {
    const auto job = job_of(event.object->key.name);
    if (!job || *job >= played_.runs.size()) {
      return;
    }
    Run& run = played_.runs[*job];
    const Value& status = event.object->body["status"];
    const auto phase = status["phase"].as_string();
    const bool over = fournos::is_terminal(phase);
    const bool holds = !run.holds.empty() && !run.holds.back().until;
    if (!holds && (phase == "Admitted" || phase == "Running")) {
      run.holds.push_back({.from = world.now()});
      run.cluster = status["cluster"].str();
    }
    if (holds && (phase == "Pending" || over)) {
      run.holds.back().until = world.now();
    }
    if (over && !run.ended) {
      run.ended = world.now();
      run.succeeded = phase == "Succeeded";
      run.message = status["message"].str();
      played_.end = std::max(played_.end, *run.ended);
      over_.push_back(*job);
      ++ended_;
      if (options_.progress &&
          (ended_ % progress_step(trace_) == 0 || ended_ == trace_.jobs.size())) {
        options_.progress(world.now() - played_.start, ended_);
      }
    }
  }

  const Trace& trace_;
  const lab::Lab& fleet_;
  const PlayOptions& options_;
  Played played_{};
  nodes::TimedPods pods_{};
  std::optional<Instant> alarm_{};
  std::size_t next_ = 0;
  std::size_t ended_ = 0;
  bool over_time_ = false;
  std::deque<std::size_t> over_{};  // in order of their ends
  std::string error_{};
};

}  // namespace

std::string misfit(const Submission& job, const lab::Lab& fleet, std::string_view fleet_name) {
  const auto cluster = std::find_if(fleet.clusters.begin(), fleet.clusters.end(),
                                    [&](const auto& one) { return one.name == job.cluster; });
  if (!job.cluster.empty() && cluster == fleet.clusters.end()) {
    return fmt::format("cluster \"{}\" is not in {}; add it there, or leave cluster empty",
                       job.cluster, fleet_name);
  }
  const auto& classes = fleet.priority_classes;
  if (!job.priority.empty() && std::none_of(classes.begin(), classes.end(), [&](const auto& known) {
        return known.first == job.priority;
      })) {
    std::string known;
    for (const auto& [name, value] : classes) {
      known += (known.empty() ? "" : ", ") + name;
    }
    return fmt::format("priority \"{}\" is not in {}; it has {}", job.priority, fleet_name,
                       known.empty() ? "none: add priorityClasses there" : known);
  }
  if (job.exclusive &&
      (cluster == fleet.clusters.end() || quantity_of(cluster->quota, kSlot) < kAllSlots)) {
    return fmt::format("an exclusive job takes {0} slots of cluster \"{1}\"; set {2}: {0} in {3}",
                       kAllSlots, job.cluster, kSlot, fleet_name);
  }
  if (job.gpu_type.empty()) {
    return {};
  }
  const std::string resource = std::string(kGpuPrefix) + job.gpu_type;
  std::int64_t most = 0;
  for (const lab::Cluster& one : fleet.clusters) {
    if (job.cluster.empty() || one.name == job.cluster) {
      most = std::max(most, quantity_of(one.quota, resource));
    }
  }
  if (most < job.gpus) {
    return fmt::format(
        "{} GPUs of type {} {} of {} (at most {}); ask for fewer, or raise a quota of {} there",
        job.gpus, job.gpu_type,
        job.cluster.empty() ? std::string("fit in no cluster")
                            : fmt::format("do not fit in cluster {}", job.cluster),
        fleet_name, most, resource);
  }
  return {};
}

std::map<std::string, std::int64_t> gpus_of(const lab::Lab& fleet) {
  std::map<std::string, std::int64_t> gpus;
  for (const lab::Cluster& cluster : fleet.clusters) {
    for (const auto& [resource, amount] : cluster.quota) {
      if (resource.starts_with(kGpuPrefix)) {
        gpus[resource.substr(kGpuPrefix.size())] += quantity_of(cluster.quota, resource);
      }
    }
  }
  return gpus;
}

Result<void> check_fit(const Trace& trace, const lab::Lab& fleet, std::string_view fleet_name) {
  std::string problems;
  std::size_t count = 0;
  for (const Submission& job : trace.jobs) {
    const std::string why = misfit(job, fleet, fleet_name);
    if (!why.empty() && ++count <= kMostRunProblems) {
      problems +=
          fmt::format("{}{}:{}: {}", problems.empty() ? "" : "\n", trace.name, job.line, why);
    }
  }
  if (count > kMostRunProblems) {
    problems += fmt::format("\n{}: and {} more", trace.name, count - kMostRunProblems);
  }
  if (count > 0) {
    return Error::bad_request(std::move(problems));
  }
  return {};
}

Result<Played> play(const Trace& trace, const lab::Lab& fleet, const PlayOptions& options) {
  return Player(trace, fleet, options).play();
}

}  // namespace athanor::whatif
