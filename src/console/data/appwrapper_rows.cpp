// SPDX-License-Identifier: Apache-2.0
#include "console/data/appwrapper_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/row_texts.hpp"
#include "kube/value/condition.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/names.hpp"

namespace athanor::console {
namespace {

std::int64_t count_phase(const std::vector<Object>& pods, std::string_view phase) {
  return std::ranges::count_if(
      pods, [&](const Object& pod) { return pod.status()["phase"].as_string() == phase; });
}

constexpr std::string_view kPodSetLabel = "kueue.x-k8s.io/podset";

// Returns why an AppWrapper does not run, as one text.
std::string text_of(const views::AppWrapperFacts& facts) {
  std::string text;
  for (const std::string& reason : views::appwrapper_reasons(facts)) {
    text += (text.empty() ? "" : "; ") + reason;
  }
  return text;
}

Value row_of_wrapper(const views::AppWrapperFacts& facts) {
  const Object& app = facts.app;
  const std::vector<Object>& pods = facts.pods;
  const views::AppWrapperCounts counts = views::appwrapper_counts(app, pods);
  Value row = row_of(app);
  const std::string phase = app.status()["phase"].str();
  row.set("phase", phase.empty() ? "Empty" : phase);
  set_text(row, "user", app.label(appwrapper::name::kUserLabel));
  set_text(row, "queue", app.label(appwrapper::name::kQueueName));
  row.set("components", Value::object({{"ready", counts.deployed}, {"total", counts.components}}));
  row.set("pods", Value::object({{"running", count_phase(pods, "Running")},
                                 {"succeeded", count_phase(pods, "Succeeded")},
                                 {"failed", count_phase(pods, "Failed")},
                                 {"expected", counts.expected}}));
  row.set("retries", app.status()["resettingCount"].as_int());
  row.set("conditions", condition_list(app.status()["conditions"]));
  set_text(row, "text", text_of(facts));
  row.set("suspended", app.spec()["suspend"].as_bool());
  return row;
}

Value pod_node(const Object& pod) {
  return Value::object({{"kind", "Pod"},
                        {"apiVersion", "v1"},
                        {"ns", pod.ns()},
                        {"name", pod.name()},
                        {"uid", pod.uid()},
                        {"state", pod.status()["phase"]},
                        {"pod", pod_value(pod)},
                        {"children", Value::list()}});
}

// Pods by PodSet: Kueue labels each pod with the name of its own. `seen`: pods of the component.
Value pod_sets_value(const Value& status, const Value& infos,
                     const std::vector<const Object*>& seen) {
  const Value& sets = status["podSets"];
  Value list = Value::list();
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const std::string name = infos[i]["labels"][kPodSetLabel].str();
    const auto count = std::ranges::count_if(seen, [&](const Object* pod) {
      return sets.size() == 1 || (!name.empty() && pod->label(kPodSetLabel) == name);
    });
    Value one =
        Value::object({{"expected", sets[i]["replicas"].as_int(1)}, {"seen", std::int64_t{count}}});
    set_text(one, "name", name);
    list.push_back(std::move(one));
  }
  return list;
}

Value component_node(const Value& status, const Value& component,
                     const views::AppWrapperFacts& facts) {
  const Value& wanted = component["template"];
  const std::string kind =
      status["kind"].as_string().empty() ? wanted["kind"].str() : status["kind"].str();
  const std::string name =
      status["name"].as_string().empty() ? wanted["metadata"]["name"].str() : status["name"].str();
  const Value& deployed = find_condition(status["conditions"], "ResourcesDeployed");
  Value children = Value::list();
  std::vector<const Object*> seen;
  for (const Object& pod : facts.pods) {
    if (views::appwrapper_component(pod, facts.owners) == fmt::format("{}/{}", kind, name)) {
      children.push_back(pod_node(pod));
      seen.push_back(&pod);
    }
  }
  Value node = Value::object({{"kind", kind},
                              {"apiVersion", status["apiVersion"]},
                              {"ns", facts.app.ns()},
                              {"name", name},
                              {"state", deployed["reason"]},
                              {"message", deployed["message"]},
                              {"deployed", deployed["status"].as_string() == "True"},
                              {"podSets", pod_sets_value(status, component["podSetInfos"], seen)},
                              {"children", std::move(children)}});
  const auto object = std::ranges::find_if(
      facts.owners, [&](const Object& one) { return one.kind() == kind && one.name() == name; });
  if (object != facts.owners.end()) {
    node.set("uid", object->uid());
  }
  return node;
}

}  // namespace

const ListShape& appwrapper_shape() {
  using enum ColumnType;
  static const ListShape kShape{.name = "appwrappers",
                                .state = "phase",
                                .columns = {{"ns", Text},
                                            {"name", Text},
                                            {"uid", Text},
                                            {"resourceVersion", Text},
                                            {"phase", Text},
                                            {"user", Text},
                                            {"queue", Text},
                                            {"components", Object},
                                            {"components.ready", Number},
                                            {"components.total", Number},
                                            {"pods", Object},
                                            {"pods.running", Number},
                                            {"pods.expected", Number},
                                            {"retries", Number},
                                            {"conditions", Object},
                                            {"text", Text},
                                            {"suspended", Flag},
                                            {"created", Time}},
                                .words = {{"namespace", "ns"}, {"owner", "user"}}};
  return kShape;
}

std::vector<Value> appwrapper_rows(const Facts& facts) {
  std::map<Key, std::vector<Object>> pods;
  for (const Object& pod : facts.all(api::kPod)) {
    if (const std::string_view app = pod.label(appwrapper::name::kLabel); !app.empty()) {
      pods[{std::string(pod.ns()), std::string(app)}].push_back(pod);
    }
  }
  std::map<std::string, Object, std::less<>> workloads;  // by the uid of the controller
  for (const Object& workload : facts.all(api::kueue::kWorkload)) {
    if (const auto owner = workload.controller()) {
      workloads.insert_or_assign(owner->uid, workload);
    }
  }
  std::vector<Value> rows;
  for (const Object& app : facts.all(appwrapper::kAppWrapper)) {
    views::AppWrapperFacts one{.app = app, .pods = pods[app.key()]};
    if (const auto found = workloads.find(app.uid()); found != workloads.end()) {
      one.workload = found->second;
    }
    rows.push_back(row_of_wrapper(one));
  }
  return rows;
}

Value appwrapper_tree(const views::AppWrapperFacts& facts, Instant now) {
  Value row = row_of_wrapper(facts);
  const std::string why = row["text"].str();
  Value components = Value::list();
  const Value& statuses = facts.app.status()["componentStatus"];
  const Value& wanted = facts.app.spec()["components"];
  for (std::size_t i = 0; i < std::max(statuses.size(), wanted.size()); ++i) {
    components.push_back(component_node(statuses[i], wanted[i], facts));
  }
  Value timers = Value::list();
  for (const views::AppWrapperTimer& timer : views::appwrapper_timers(facts)) {
    Value one = Value::object({{"name", timer.what}, {"annotation", timer.annotation}});
    set_time(one, "ends", timer.ends);
    timers.push_back(std::move(one));
  }
  Value tree = Value::object({{"kind", "AppWrapper"},
                              {"apiVersion", facts.app.api_version()},
                              {"ns", facts.app.ns()},
                              {"name", facts.app.name()},
                              {"uid", facts.app.uid()},
                              {"state", row["phase"]},
                              {"message", why},
                              {"children", std::move(components)}});
  return Value::object({{"appwrapper", std::move(row)},
                        {"object", shown_object(facts.app)},
                        {"page", views::appwrapper_page(facts, now)},
                        {"tree", std::move(tree)},
                        {"timers", std::move(timers)}});
}

}  // namespace athanor::console
