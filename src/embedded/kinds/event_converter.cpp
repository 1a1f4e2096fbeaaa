// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/event_converter.hpp"

#include <array>
#include <utility>

namespace athanor::apiserver {
namespace {

// core name, events.k8s.io name
using Names = std::pair<std::string_view, std::string_view>;
constexpr std::array<Names, 7> kNames = {{
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
}};

std::string_view renamed(std::string_view name, bool to_core) {
  for (const auto& [core, modern] : kNames) {
    if (name == (to_core ? modern : core)) {
      return to_core ? core : modern;
    }
  }
  return name;
}

class EventConverter final : public Converter {
 public:
  [[nodiscard]] StatusResult<Value> convert(const Value& object, std::string_view from_version,
                                            std::string_view to_version) const override {
    if (from_version == to_version) {
      return object;
    }
    const bool to_core = to_version == "v1";
    std::vector<Member> members;
    members.reserve(object.size());
    for (const Member& member : object.members()) {
      if (member.key() == "apiVersion") {
        members.emplace_back("apiVersion", Value(to_version));
      } else {
        members.emplace_back(renamed(member.key(), to_core), member.value);
      }
    }
    // The core group always shows these two, the newer one only when they say something.
    Value event = Value::object(std::move(members));
    for (const auto& [core, modern] :
         {kNames.back(), Names("reportingInstance", "reportingInstance")}) {
      if (to_core && !event.contains(core)) {
        event.set(core, "");
      } else if (!to_core && event.contains(modern) && event[modern].as_string().empty()) {
        event.erase(modern);
      }
    }
    return event;
  }
};

}  // namespace

const Converter& event_converter() {
  static const EventConverter kConverter;
  return kConverter;
}

}  // namespace athanor::apiserver
