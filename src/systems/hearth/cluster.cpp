// SPDX-License-Identifier: Apache-2.0
// Patches and statuses of a FournosCluster.
#include "systems/hearth/cluster.hpp"

#include <utility>

#include "kube/value/condition.hpp"
#include "systems/hearth/names.hpp"

namespace athanor::hearth {

Emit Context::event(std::string_view type, std::string_view reason, std::string note) const {
  return {.about = ref(),
          .about_uid = uid(),
          .type = std::string(type),
          .reason = std::string(reason),
          .note = std::move(note)};
}

void MainPatch::annotate(std::string_view key, Value value) {
  if (value.is_null() && !context_.object().metadata()["annotations"].contains(key)) {
    return;
  }
  merge_.set_path({"metadata", "annotations", key}, std::move(value));
}

void MainPatch::into(Plan& plan) const {
  plan.then(
      Patch{.target = context_.ref(),
            .merge = merge_,
            .guard = {.uid = context_.uid(),
                      .resource_version = std::string(context_.object().resource_version())}});
  plan.merge(events_);
}

StatusWrite::StatusWrite(const Context& context)
    : context_(context), conditions_(context.object().status()["conditions"]) {
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
                context_.now);
}

void StatusWrite::into(Plan& plan) {
  if (!conditions_.empty()) {
    status_.set("conditions", conditions_);
  }
  // The list of conditions has two writers: no entry may be lost.
  plan.then(
      Status{.target = context_.ref(),
             .status = status_,
             .guard = {.uid = context_.uid(),
                       .resource_version = std::string(context_.object().resource_version())}});
  plan.merge(std::move(events_));
}

const Value& stored_condition(const Context& context, std::string_view type) {
  return find_condition(context.object().status()["conditions"], type);
}

}  // namespace athanor::hearth
