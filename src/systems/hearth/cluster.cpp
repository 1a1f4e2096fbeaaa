// SPDX-License-Identifier: Apache-2.0
// Patches and statuses of a FournosCluster.
#include "systems/hearth/cluster.hpp"

#include <utility>

#include "kube/value/condition.hpp"
#include "systems/hearth/names.hpp"

namespace athanor::hearth {

Emit Tick::event(std::string_view type, std::string_view reason, std::string note) const {
  return {.about = ref(),
          .about_uid = uid(),
          .type = std::string(type),
          .reason = std::string(reason),
          .note = std::move(note)};
}

void MainPatch::annotate(std::string_view key, Value value) {
  if (value.is_null() && !tick_.object().metadata()["annotations"].contains(key)) {
    return;
  }
  merge_.set_path({"metadata", "annotations", key}, std::move(value));
}

void MainPatch::into(Plan& plan) const {
  plan.then(Patch{.target = tick_.ref(),
                  .merge = merge_,
                  .guard = {.uid = tick_.uid(),
                            .resource_version = std::string(tick_.object().resource_version())}});
  plan.merge(events_);
}

StatusWrite::StatusWrite(const Tick& tick)
    : tick_(tick), conditions_(tick.object().status()["conditions"]) {
  if (!conditions_.is_list()) {
    conditions_ = Value::list();
  }
}

void StatusWrite::condition(std::string_view type, bool truth, std::string_view reason,
                            std::string_view message) {
  set_condition(conditions_,
                {.type = std::string(type),
                 .status = truth ? "True" : "False",
                 .reason = std::string(reason),
                 .message = std::string(message)},
                tick_.now);
}

void StatusWrite::into(Plan& plan) {
  if (!conditions_.empty()) {
    status_.set("conditions", conditions_);
  }
  // The list of conditions has two writers: no entry may be lost.
  plan.then(Status{.target = tick_.ref(),
                   .status = status_,
                   .guard = {.uid = tick_.uid(),
                             .resource_version = std::string(tick_.object().resource_version())}});
  plan.merge(std::move(events_));
}

const Value& stored_condition(const Tick& tick, std::string_view type) {
  return find_condition(tick.object().status()["conditions"], type);
}

}  // namespace athanor::hearth
