// SPDX-License-Identifier: Apache-2.0
// Values derived from a list of systems.
#include "runtime/view/system.hpp"

#include <algorithm>
#include <utility>

namespace athanor {

Result<SystemConfig> read_settings(Systems systems, SettingsSource source) {
  for (const System* system : systems) {
    if (system->settings != nullptr) {
      ATHANOR_TRY(Value section, system->settings(source));
      source.config.insert_or_assign(std::string(system->name), std::move(section));
    }
  }
  return std::move(source.config);
}

std::vector<const api::CustomKind*> kinds_of(Systems systems, const SystemConfig& config) {
  static const Value kDefaults;
  std::vector<const api::CustomKind*> kinds;
  for (const System* system : systems) {
    if (system->kinds == nullptr) {
      continue;
    }
    const auto section = config.find(system->name);
    const auto own = system->kinds(section == config.end() ? kDefaults : section->second);
    kinds.insert(kinds.end(), own.begin(), own.end());
  }
  return kinds;
}

const System* system_of_kind(Systems systems, std::string_view group, std::string_view kind) {
  const auto found = std::ranges::find_if(systems, [&](const System* system) {
    return system->kinds != nullptr &&
           std::ranges::any_of(system->kinds(Value()), [&](const api::CustomKind* custom) {
             return custom->kind->group == group && custom->kind->name == kind;
           });
  });
  return found == systems.end() ? nullptr : *found;
}

std::vector<const Operator*> those_that_run(Systems systems, std::vector<const Operator*> operators,
                                            const SystemConfig& config) {
  static const Value kNone;
  for (const System* system : systems) {
    if (system->runs == nullptr) {
      continue;
    }
    const auto section = config.find(system->name);
    const Value& settings = section == config.end() ? kNone : section->second;
    std::erase_if(operators, [&](const Operator* op) {
      return std::ranges::find(system->operators, op) != system->operators.end() &&
             !system->runs(*op, settings);
    });
  }
  return operators;
}

Places places_of_all(std::span<const Operator* const> operators, const Place& place) {
  Places places;
  for (const Operator* op : operators) {
    if (op->primary != nullptr) {
      places[op->primary] = place;
    }
    for (const auto kinds : {op->reads, op->writes}) {
      for (const Kind* kind : kinds) {
        places[kind] = place;
      }
    }
  }
  std::erase_if(places, [](const auto& entry) { return !entry.first->namespaced; });
  return places;
}

}  // namespace athanor
