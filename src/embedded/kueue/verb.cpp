// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/ascii.hpp"
#include "base/near_name.hpp"
#include "base/time.hpp"
#include "embedded/kueue/cycle/holding.hpp"
#include "embedded/kueue/cycle/requests.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "embedded/kueue/explain/explain.hpp"
#include "embedded/kueue/explain/listed_world.hpp"
#include "embedded/kueue/explain/queue_tree.hpp"
#include "embedded/kueue/explain/trial.hpp"
#include "embedded/kueue/model/configuration.hpp"
#include "embedded/kueue/system.hpp"
#include "runtime/view/phase_flag.hpp"
#include "runtime/view/usage.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::kueue {
namespace {

constexpr std::string_view kExplain = "explain";
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;

std::vector<Index> indexes() {
  std::vector<Index> all(scheduler_operator().indexes.begin(), scheduler_operator().indexes.end());
  all.push_back(waiting_in_index());
  all.push_back(reserved_local_index());
  return all;
}

// What the API server has of the queues; `missing` names what could not be read.
struct Reading {
  ListedWorld world;
  std::vector<std::string> missing{};
};

Result<Reading> read_world(VerbContext& context) {
  ATHANOR_TRY(Value config, system().settings({.in_lab = true}));
  Reading reading{.world = ListedWorld(std::move(config), indexes())};
  for (const Kind* kind : scheduler_operator().reads) {
    if (kind == &api::kConfigMap) {
      const Key key{std::string(kConfigurationNamespace), std::string(kConfigurationName)};
      if (auto map = context.get(api::kConfigMap, key); map.ok()) {
        reading.world.add(api::kConfigMap, {*std::move(map)});
      }
      continue;
    }
    auto objects = context.list(*kind, "");
    if (objects.ok()) {
      reading.world.add(*kind, *std::move(objects));
      continue;
    }
    const bool essential = kind == &api::kueue::kWorkload || kind == &api::kueue::kClusterQueue ||
                           kind == &api::kueue::kLocalQueue;
    const int code = objects.error().code;
    if (essential || (code != kForbidden && code != kNotFound)) {
      return objects.error().with_context(fmt::format("cannot list {}", kind->plural));
    }
    reading.missing.emplace_back(kind->plural);
  }
  // The lengths of their runs; who may not read them gets an estimate without these.
  if (auto jobs = context.list(api::kFournosJob, ""); jobs.ok()) {
    reading.world.add(api::kFournosJob, *std::move(jobs));
  }
  return reading;
}

std::string note_of(const Reading& reading) {
  return reading.missing.empty()
             ? ""
             : fmt::format(
                   "# without {}, which cannot be read here: quota may be more than shown\n",
                   fmt::join(reading.missing, ", "));
}

bool is_value(const VerbContext& context) {
  return context.output() == "json" || context.output() == "yaml";
}

// The Workload of that name, or of an object of that name that owns one; the newest of several.
Result<Object> find_workload(const View& view, const std::string& ns, const std::string& name) {
  std::optional<Object> found;
  std::vector<std::string> known;
  for (const Object& workload : view.list(api::kueue::kWorkload, {.ns = ns})) {
    const auto owner = workload.controller();
    known.emplace_back(owner ? owner->name : std::string(workload.name()));
    // The pods of a group own its Workload together, without a controller.
    const auto& owners = workload.metadata()["ownerReferences"].items();
    const bool named =
        workload.name() == name || std::ranges::any_of(owners, [&](const Value& one) {
          return one["name"].as_string() == name;
        });
    const auto created = [](const Object& one) {
      return one.metadata()["creationTimestamp"].as_string();
    };
    if (named && (!found || created(*found) <= created(workload))) {
      found = workload;
    }
  }
  if (found) {
    return *std::move(found);
  }
  return Error{.code = kNotFound,
               .reason = "NotFound",
               .message = fmt::format("no workload or job \"{}\" in {}{}", name,
                                      ns.empty() ? "any namespace" : "namespace " + ns,
                                      near_hint(name, known))};
}

// The nodes of the tree with that name, with all below them.
void find_nodes(const Value& nodes, const std::string& name, Value& found) {
  for (const Value& node : nodes.items()) {
    const bool local = std::ranges::any_of(node["localQueues"].items(), [&](const Value& one) {
      return one.as_string() == name || one.as_string().ends_with("/" + name);
    });
    if (node["name"].as_string() == name || local) {
      found.push_back(node);
    } else {
      find_nodes(node["children"], name, found);
    }
  }
}

std::string_view phase_of_queue(const Object& queue) {
  return condition_is(queue.status()["conditions"], "Active", "True") ? "Active" : "Inactive";
}

// The queues that the list's selectors take, with their cohorts.
Value selected_nodes(const VerbContext& context, const View& view, const Value& nodes,
                     const std::vector<std::string>& phases) {
  Value kept = Value::list();
  for (const Value& node : nodes.items()) {
    if (node["kind"].as_string() == "ClusterQueue") {
      const auto queue = view.get(api::kueue::kClusterQueue, {"", node["name"].str()});
      if (!queue || (context.selects(*queue) && takes_phase(phases, phase_of_queue(*queue)))) {
        kept.push_back(node);
      }
      continue;
    }
    Value children = selected_nodes(context, view, node["children"], phases);
    if (!children.empty() || node["children"].empty()) {
      Value cohort = node;
      cohort.set("children", std::move(children));
      kept.push_back(std::move(cohort));
    }
  }
  return kept;
}

// A FournosJob without a Workload: it has ended, or waits for something else than quota.
std::optional<Object> job_without_workload(const View& view, const std::string& ns,
                                           const std::string& name) {
  for (const Object& job : view.list(api::kFournosJob, {.ns = ns})) {
    if (job.name() == name) {
      return job;
    }
  }
  return std::nullopt;
}

void print_job(VerbContext& context, const Object& job) {
  const Value& status = job.status();
  const std::string phase = status["phase"].str();
  const auto ended = parse_time(status["completionTime"].as_string());
  if (is_value(context)) {
    context.values({Value::object({{"job", job.name()},
                                   {"namespace", job.ns()},
                                   {"phase", phase},
                                   {"message", status["message"]},
                                   {"completionTime", status["completionTime"]}})});
    return;
  }
  std::string state = fmt::format("has no Workload; its phase is {}", phase.empty() ? "-" : phase);
  if (ended) {
    state = fmt::format("ended {} ago: {}", format_age(context.now() - *ended), phase);
  }
  const std::string_view message = status["message"].as_string();
  context.print(fmt::format("FournosJob {} in namespace {} {}{}{}\n", job.name(), job.ns(), state,
                            message.empty() ? "" : ": ", message));
}

// Returns what a FournosJob that waits says of its cluster: a cordon, a lock, no answer. Empty: it
// waits for quota alone, or the Workload is not of such a job.
std::string message_of_job(const View& view, const Object& workload) {
  const auto owner = workload.controller();
  const auto job = owner && owner->kind == api::kFournosJob.name
                       ? view.get(api::kFournosJob, {std::string(workload.ns()), owner->name})
                       : std::nullopt;
  const std::string message = job ? job->status()["message"].str() : "";
  return job && job->status()["phase"].as_string() == "Pending" &&
                 (message.starts_with("Cluster ") || message.starts_with("All eligible clusters "))
             ? message
             : std::string();
}

// A name, and where it is looked for.
struct Named {
  std::string ns{};
  std::string name{};
  bool fixed = false;  // in no other namespace
};

// Reads NAME, KIND/NAME or NAMESPACE/NAME: an explanation's first line has both of the latter.
Named named_by(const View& view, const std::string& ns, const std::string& word) {
  const std::size_t slash = word.find('/');
  if (slash == std::string::npos) {
    return {.ns = ns, .name = word};
  }
  const std::string first = word.substr(0, slash);
  std::string kind = lower(first.substr(0, first.find('.')));
  if (kind.ends_with('s')) {
    kind.pop_back();
  }
  bool is_kind = kind == "workload" || kind == "job" || kind == "fournosjob";
  for (const Object& workload : view.list(api::kueue::kWorkload)) {
    for (const Value& owner : workload.metadata()["ownerReferences"].items()) {
      is_kind = is_kind || lower(owner["kind"].as_string()) == kind;
    }
  }
  return {.ns = is_kind ? ns : first, .name = word.substr(slash + 1), .fixed = !is_kind};
}

Result<int> explain_one(VerbContext& context, const View& view, const std::string& word) {
  const auto [ns, name, fixed] = named_by(view, context.ns(), word);
  auto found = find_workload(view, ns, name);
  if (!found.ok() && !fixed) {
    found = find_workload(view, "", name);  // jobs may have a namespace of their own
  }
  if (!found.ok()) {
    auto job = job_without_workload(view, ns, name);
    if (!job && !fixed) {
      job = job_without_workload(view, "", name);
    }
    if (job) {
      print_job(context, *job);
      return 0;
    }
  }
  ATHANOR_TRY(const Object workload, std::move(found));
  const Explanation why = explain(view, workload, context.now());
  const std::string message = message_of_job(view, workload);
  if (is_value(context)) {
    Value value = why.to_value();
    if (!message.empty()) {
      value.set("jobMessage", message);
    }
    context.values({std::move(value)});
  } else {
    context.print(why.text(context.now()) +
                  (message.empty() ? "" : fmt::format("  the job says: {}\n", message)));
  }
  return 0;
}

// Whether a request would be admitted now. Exit code 0: it would.
Result<int> try_request(VerbContext& context, Reading& reading, const std::string& requests,
                        const std::optional<std::string>& queue) {
  if (!queue) {
    return wrong_usage("queues --fits needs the name of a LocalQueue");
  }
  const Key local{context.ns(), *queue};
  if (local.ns.empty()) {
    return wrong_usage("queues --fits asks in one namespace: -n NAMESPACE");
  }
  ATHANOR_TRY(const Object workload,
              trial_workload({.local_queue = local,
                              .requests = requests,
                              .count = context.flag("count").value_or(""),
                              .priority = context.flag("priority").value_or("")},
                             context.now()));
  reading.world.add(api::kueue::kWorkload, {workload});
  Reads reads;
  const View view(reading.world, reads);
  const Explanation why = explain(view, workload, context.now());
  const bool fits = why.causes.empty();
  if (is_value(context)) {
    Value answer = why.to_value();
    answer.set("fits", fits);
    context.values({std::move(answer)});
  } else if (fits) {
    std::string flavors;
    for (const auto& [resource, flavor] : why.flavors) {
      flavors += fmt::format("  {}: flavor {}\n", resource, flavor);
    }
    context.print(fmt::format(
        "fits: it would be admitted to ClusterQueue {} now{}\n{}", why.cluster_queue,
        why.position.value_or(0) > 0
            ? fmt::format(", unless one of the {} before it takes the quota", *why.position)
            : "",
        flavors));
  } else {
    context.print("does not fit: " + why.text(context.now()));
  }
  return fits ? 0 : 1;
}

void print_tree(VerbContext& context, const Value& tree, const std::string& note) {
  if (is_value(context)) {
    context.values(queue_tree_items(tree));
  } else if (context.output() == "name") {
    context.print(queue_tree_names(tree));
  } else if (context.output() == "wide") {
    context.table(queue_tree_header(), queue_tree_rows(tree));
  } else {
    context.print(!tree.empty()        ? queue_tree_text(tree) + note
                  : context.filtered() ? "no ClusterQueue that the flags select\n"
                                       : "there are no ClusterQueues\n");
  }
}

Result<int> run(VerbContext& context) {
  const std::optional<std::string> what = context.argument("WHAT");
  const std::optional<std::string> name = context.argument("NAME");
  if (const auto requests = context.flag("fits")) {
    if (name) {
      return wrong_usage("queues --fits takes one name, of a LocalQueue");
    }
    ATHANOR_TRY(Reading reading, read_world(context));
    return try_request(context, reading, *requests, what);
  }
  if ((what == kExplain || context.flag("fits")) &&
      (context.output() == "name" || context.output() == "wide")) {
    return wrong_usage(
        fmt::format("-o {}: an explanation prints table, json or yaml", context.output()));
  }
  if (what == kExplain && !name) {
    return wrong_usage("queues explain needs the name of a job or Workload");
  }
  ATHANOR_TRY(const Reading reading, read_world(context));
  Reads reads;
  const View view(reading.world, reads);
  if (what == kExplain) {
    return explain_one(context, view, *name);
  }
  ATHANOR_TRY(const std::vector<std::string> phases,
              asked_phases(context.flag(kPhaseFlag), {"Active", "Inactive"}));
  Value tree = selected_nodes(context, view, queue_tree(view), phases);
  std::vector<std::string> names = context.names();
  if (names.empty() && what) {
    names.push_back(*what);
  }
  std::string missing;
  if (!names.empty()) {
    Value found = Value::list();
    for (const std::string& one : names) {
      const std::size_t before = found.size();
      find_nodes(tree, one, found);
      if (found.size() == before) {
        missing += fmt::format("{}\"{}\"", missing.empty() ? "" : ", ", one);
      }
    }
    tree = std::move(found);
  }
  if (missing.empty() || !tree.empty()) {
    print_tree(context, tree, note_of(reading));
  }
  if (!missing.empty()) {
    return Error{.code = kNotFound,
                 .reason = "NotFound",
                 .message = fmt::format("no cohort, ClusterQueue or LocalQueue {}", missing)};
  }
  return 0;
}

}  // namespace

Result<Explanation> explain_named(VerbContext& context, const Key& key, const Audience& viewer) {
  ATHANOR_TRY(const Reading reading, read_world(context));
  Reads reads;
  const View view(reading.world, reads);
  ATHANOR_TRY(const Object workload, find_workload(view, key.ns, key.name));
  Explanation why = explain(view, workload, context.now(), viewer);
  why.missing = reading.missing;
  return why;
}

Verb queues_verb() {
  return {
      .name = "queues",
      .summary = "Show quota and use of every queue, or why a job waits",
      .footer =
          "Examples:\n"
          "  athanor queues                    cohorts and queues as a tree\n"
          "  athanor queues fournos-queue      one of them\n"
          "  athanor queues explain my-job     why it waits, who is ahead, what would "
          "be preempted\n"
          "  athanor queues --fits cpu=4,nvidia.com/gpu=8 fournos-queue -n jobs\n"
          "                                    whether that would be admitted now; creates "
          "nothing\n",
      .arguments = {{.name = "WHAT", .help = "a cohort or queue, or the word explain"},
                    {.name = "NAME", .help = "a job or Workload to explain, or a second queue"}},
      .flags =
          {{.name = kPhaseFlag,
            .value = "PHASE",
            .help = "queues in this phase: Active or Inactive"},
           {.name = "fits",
            .value = "REQUESTS",
            .help =
                "check whether a pod with these requests would be admitted to the LocalQueue now"},
           {.name = "count", .value = "N", .help = "with --fits: number of pods"},
           {.name = "priority", .value = "N", .help = "with --fits: priority of the pods"}},
      .lists = true,
      .actions = {kExplain},
      .names = "cohorts or queues of the list",
      .run = run};
}

}  // namespace athanor::kueue
