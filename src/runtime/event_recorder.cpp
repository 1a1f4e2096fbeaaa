// SPDX-License-Identifier: Apache-2.0
// Events: names, bodies, counts.
#include "runtime/event_recorder.hpp"

#include <fmt/format.h>

#include "api/builtin.hpp"

namespace athanor::runtime {

WriteRequest EventRecorder::record(const Emit& step, std::string_view uid,
                                   std::string_view component, Instant now) {
  const std::string identity =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", component, step.about.kind->name,
                  step.about.key.text(), uid, step.type, step.reason, step.note);
  const std::string time = format_time(now);
  const auto known = known_.find(identity);
  if (known != known_.end()) {
    ++known->second.count;
    return {.verb = WriteVerb::MergePatch,
            .target = {&api::kEvent, known->second.key},
            .body = Value::object({{"count", known->second.count}, {"lastTimestamp", time}}),
            .manager = std::string(component)};
  }
  const std::string ns = step.about.key.ns.empty() ? "default" : step.about.key.ns;
  const Key key{ns, fmt::format("{}.{:016x}", step.about.key.name, entropy_.next())};
  known_.emplace(identity, Known{.key = key});
  order_.push_back(identity);
  if (order_.size() > kRemembered) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  Value involved = Value::object({{"apiVersion", step.about.kind->api_version()},
                                  {"kind", step.about.kind->name},
                                  {"name", step.about.key.name}});
  if (!step.about.key.ns.empty()) {
    involved.set("namespace", step.about.key.ns);
  }
  if (!uid.empty()) {
    involved.set("uid", uid);
  }
  return {
      .verb = WriteVerb::Create,
      .target = {&api::kEvent, key},
      .body = Value::object({{"apiVersion", "v1"},
                             {"kind", "Event"},
                             {"metadata", Value::object({{"name", key.name}, {"namespace", ns}})},
                             {"involvedObject", std::move(involved)},
                             {"type", step.type},
                             {"reason", step.reason},
                             {"message", step.note},
                             {"source", Value::object({{"component", component}})},
                             {"reportingComponent", component},
                             {"firstTimestamp", time},
                             {"lastTimestamp", time},
                             {"count", 1}}),
      .manager = std::string(component)};
}

void EventRecorder::forget(const Key& event) {
  for (auto at = known_.begin(); at != known_.end(); ++at) {
    if (at->second.key == event) {
      std::erase(order_, at->first);
      known_.erase(at);
      return;
    }
  }
}

}  // namespace athanor::runtime
