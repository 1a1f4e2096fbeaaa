// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/model/one_event.hpp"

#include <fmt/core.h>

#include "api/builtin.hpp"

namespace athanor::kueue {

Create one_event(const Ref& about, const Object& object, std::string_view name,
                 std::string_view reason, const std::string& message, Instant now) {
  const std::string event = fmt::format("{}.{}", object.name(), name);
  const std::string at = format_time(now);
  return {.target = {&api::kEvent, {std::string(object.ns()), event}},
          .object = Value::object(
              {{"apiVersion", "v1"},
               {"kind", "Event"},
               {"metadata", Value::object({{"name", event}, {"namespace", object.ns()}})},
               {"involvedObject", Value::object({{"apiVersion", about.kind->api_version()},
                                                 {"kind", about.kind->name},
                                                 {"namespace", object.ns()},
                                                 {"name", object.name()},
                                                 {"uid", object.uid()}})},
               {"type", "Warning"},
               {"reason", reason},
               {"message", message},
               {"source", Value::object({{"component", "kueue"}})},
               {"firstTimestamp", at},
               {"lastTimestamp", at},
               {"count", 1}})};
}

}  // namespace athanor::kueue
