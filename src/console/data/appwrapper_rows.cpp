// SPDX-License-Identifier: Apache-2.0
#include "console/data/appwrapper_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/builtin.hpp"
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

Value row_of_wrapper(const Object& app, const std::vector<Object>& pods) {
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

Value component_node(const Value& status, const Value& wanted,
                     const views::AppWrapperFacts& facts) {
  const std::string kind =
      status["kind"].as_string().empty() ? wanted["kind"].str() : status["kind"].str();
  const std::string name =
      status["name"].as_string().empty() ? wanted["metadata"]["name"].str() : status["name"].str();
  const Value& deployed = find_condition(status["conditions"], "ResourcesDeployed");
  Value children = Value::list();
  for (const Object& pod : facts.pods) {
    if (views::appwrapper_component(pod, facts.owners) == fmt::format("{}/{}", kind, name)) {
      children.push_back(pod_node(pod));
    }
  }
  Value sets = Value::list();
  std::int64_t expected = 0;
  for (const Value& set : status["podSets"].items()) {
    expected += set["replicas"].as_int(1);
  }
  if (expected > 0) {
    sets.push_back(Value::object({{"expected", expected}, {"seen", children.size()}}));
  }
  return Value::object({{"kind", kind},
                        {"apiVersion", status["apiVersion"]},
                        {"ns", facts.app.ns()},
                        {"name", name},
                        {"state", deployed["reason"]},
                        {"message", deployed["message"]},
                        {"deployed", deployed["status"].as_string() == "True"},
                        {"podSets", std::move(sets)},
                        {"children", std::move(children)}});
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
  std::vector<Value> rows;
  for (const Object& app : facts.all(appwrapper::kAppWrapper)) {
    rows.push_back(row_of_wrapper(app, pods[app.key()]));
  }
  return rows;
}

Value appwrapper_tree(const views::AppWrapperFacts& facts, Instant now) {
  Value row = row_of_wrapper(facts.app, facts.pods);
  std::string why;
  for (const std::string& reason : views::appwrapper_reasons(facts)) {
    why += (why.empty() ? "" : "; ") + reason;
  }
  set_text(row, "text", why);
  Value components = Value::list();
  const Value& statuses = facts.app.status()["componentStatus"];
  const Value& wanted = facts.app.spec()["components"];
  for (std::size_t i = 0; i < std::max(statuses.size(), wanted.size()); ++i) {
    components.push_back(component_node(statuses[i], wanted[i]["template"], facts));
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
