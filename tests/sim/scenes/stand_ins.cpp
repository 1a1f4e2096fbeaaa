// SPDX-License-Identifier: Apache-2.0
#include "sim/scenes/stand_ins.hpp"

#include "api/tekton.hpp"
#include "base/check.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::sim {

Value from_yaml(const std::string& text) {
  auto value = yaml::parse(text);
  ATHANOR_CHECK(value.ok(), "the scene's objects are YAML");
  return *std::move(value);
}

Plan finish_run(const View& view, const Key& key, Instant now, Duration takes, bool fails) {
  const auto run = view.get(api::kPipelineRun, key);
  if (!run || run->status().contains("completionTime")) {
    return Plan::done();
  }
  const bool cancelled = !run->spec()["status"].as_string().empty();
  const Instant due = run->creation_time().value_or(now) + takes;
  Plan plan;
  if (!cancelled && now < due) {
    plan.wake_at(due);
    return plan;
  }
  const Value condition = Value::object({{"type", "Succeeded"},
                                         {"status", cancelled || fails ? "False" : "True"},
                                         {"message", cancelled ? "cancelled" : "done"}});
  plan.then(Status{.target = {&api::kPipelineRun, key},
                   .status = Value::object({{"conditions", Value::list({condition})},
                                            {"completionTime", format_time(now)}}),
                   .guard = {.uid = std::string(run->uid())}});
  return plan;
}

}  // namespace athanor::sim
