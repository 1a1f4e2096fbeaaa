// SPDX-License-Identifier: Apache-2.0
// Choosing operators and webhooks by name.
#include "cli/controllers/operator_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/ascii.hpp"
#include "base/files/text_file.hpp"
#include "cli/flags/environment.hpp"
#include "product/hooked.hpp"
#include "product/list.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

bool names(const System& system, const Operator& op, const std::string& word) {
  return word == op.name || word == system.name || (word == "*" && system.by_default);
}

Result<void> check_word(const std::string& word) {
  std::string known;
  for (const System* system : all_systems()) {
    for (const Operator* op : system->operators) {
      if (names(*system, *op, word)) {
        return {};
      }
    }
    known += (known.empty() ? "" : ", ") + std::string(system->name);
  }
  return wrong_usage(fmt::format(
      "--controllers: \"{}\" is neither a system nor a controller; systems are {}", word, known));
}

// Returns true if one of these operators of the system watches the kind.
bool touches(const System& system, const std::vector<const Operator*>& operators,
             const Kind* kind) {
  return std::ranges::any_of(system.operators, [&](const Operator* op) {
    return std::ranges::find(operators, op) != operators.end() &&
           (op->primary == kind || std::ranges::find(op->reads, kind) != op->reads.end());
  });
}

}  // namespace

std::vector<const System*> systems_of(const std::vector<const Operator*>& operators) {
  std::vector<const System*> found;
  for (const System* system : all_systems()) {
    const bool runs = std::ranges::any_of(system->operators, [&](const Operator* op) {
      return std::ranges::find(operators, op) != operators.end();
    });
    if (runs) {
      found.push_back(system);
    }
  }
  return found;
}

std::vector<const Instruments*> instruments_of(const std::vector<const Operator*>& operators) {
  std::vector<const Instruments*> found;
  for (const System* system : systems_of(operators)) {
    if (system->instruments != nullptr) {
      found.push_back(system->instruments);
    }
  }
  return found;
}

std::vector<Value> granted_roles_of(const std::vector<const Operator*>& operators) {
  std::vector<Value> roles;
  for (const System* system : systems_of(operators)) {
    if (system->granted_roles != nullptr) {
      std::ranges::move(system->granted_roles(), std::back_inserter(roles));
    }
  }
  return roles;
}

Result<SystemConfig> read_config(const std::map<std::string, std::string>& variables,
                                 const std::string& jobs, const SystemConfig& documents,
                                 const std::vector<const Operator*>& operators) {
  std::vector<std::string_view> systems;
  for (const System* system : systems_of(operators)) {
    systems.push_back(system->name);
  }
  return read_settings(all_systems(), {.variables = variables,
                                       .jobs_namespace = jobs,
                                       .systems = std::move(systems),
                                       .documents = documents,
                                       .read_file = read_text_file,
                                       .warn = log_setting_warning});
}

std::vector<runtime::RbacPart> parts_of(const std::vector<const Operator*>& operators,
                                        const SystemConfig& config) {
  std::vector<runtime::RbacPart> parts;
  for (const System* system : all_systems()) {
    runtime::RbacPart part;
    for (const Operator* op : system->operators) {
      if (std::ranges::find(operators, op) != operators.end()) {
        part.operators.push_back(op);
      }
    }
    if (system->places != nullptr) {
      part.places = system->places(config);
    }
    part.granted_roles = granted_roles_of(part.operators);
    part.operators = with_hooks(std::move(part.operators));
    if (!part.operators.empty()) {
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

Places places_of(const std::vector<runtime::RbacPart>& parts) {
  Places all;
  const auto merge = [](std::vector<std::string>& into, const std::vector<std::string>& from) {
    for (const std::string& ns : from) {
      if (std::ranges::find(into, ns) == into.end()) {
        into.push_back(ns);
      }
    }
  };
  for (const runtime::RbacPart& part : parts) {
    for (const auto& [kind, place] : part.places) {
      merge(all[kind].watched, place.watched);
      merge(all[kind].written, place.written);
    }
  }
  // Where a system says nothing of a kind that it watches, it watches it everywhere it works.
  for (const runtime::RbacPart& part : parts) {
    for (const Operator* op : part.operators) {
      const auto drop = [&](const Kind* kind) {
        if (!part.places.contains(kind)) {
          all.erase(kind);
        }
      };
      if (op->primary != nullptr) {
        drop(op->primary);
      }
      for (const Kind* kind : op->reads) {
        drop(kind);
      }
    }
  }
  return all;
}

std::vector<std::string> namespaces_of(const System& system,
                                       const std::vector<const Operator*>& operators,
                                       const SystemConfig& config) {
  if (system.places == nullptr) {
    return {};
  }
  const Places places = system.places(config);
  const auto is_everywhere = [&](const Kind* kind) {
    const auto place = places.find(kind);
    return kind->namespaced && (place == places.end() || place->second.watched.empty());
  };
  for (const Operator* op : system.operators) {
    if (std::ranges::find(operators, op) != operators.end() &&
        ((op->primary != nullptr && is_everywhere(op->primary)) ||
         std::ranges::any_of(op->reads, is_everywhere))) {
      return {};
    }
  }
  std::set<std::string> names;
  for (const auto& [kind, place] : places) {
    names.insert(place.watched.begin(), place.watched.end());
  }
  return {names.begin(), names.end()};
}

Result<void> check_scope(const std::vector<const Operator*>& operators,
                         const std::vector<std::string>& namespaces, const Places& places) {
  const auto is_watched = [&](const Kind& kind, std::string_view ns) {
    const auto place = places.find(&kind);
    const std::vector<std::string>& watched =
        place == places.end() ? namespaces : place->second.watched;
    return (place == places.end() && namespaces.empty()) ||
           (!ns.empty() && std::ranges::find(watched, ns) != watched.end());
  };
  for (const System* system : systems_of(operators)) {
    for (const Webhook& webhook : system->webhooks) {
      for (const WebhookRule& rule : webhook.rules) {
        if (rule.kind->namespaced && touches(*system, operators, rule.kind) &&
            !is_watched(*rule.kind, webhook.ns)) {
          return Error::bad_request(fmt::format(
              "{} watches {} in {} alone, and its webhook {} decides on them in every namespace: "
              "leave --namespace out (each system then works where its own settings say), or run "
              "{} in a process of its own",
              system->name, rule.kind->plural, fmt::join(namespaces, ", "), webhook.name,
              system->name));
        }
      }
    }
  }
  return {};
}

std::vector<const Kind*> optional_kinds_of(const std::vector<const Operator*>& operators) {
  const auto systems = systems_of(operators);
  const auto lists = [](const System& system, const Kind* kind) {
    return std::ranges::find(system.optional_kinds, kind) != system.optional_kinds.end();
  };
  std::vector<const Kind*> kinds;
  for (const System* system : systems) {
    std::ranges::copy_if(system->optional_kinds, std::back_inserter(kinds), [&](const Kind* kind) {
      return std::ranges::find(kinds, kind) == kinds.end() &&
             std::ranges::none_of(systems, [&](const System* other) {
               return touches(*other, operators, kind) && !lists(*other, kind);
             });
    });
  }
  std::ranges::copy(kinds_of_hooks(operators), std::back_inserter(kinds));
  return kinds;
}

LeasePlace lease_of(const std::vector<const Operator*>& operators, const SystemConfig& config) {
  const auto found = systems_of(operators);
  if (found.size() != 1 || found.front()->lease_name.empty()) {
    return {.name = "athanor"};
  }
  const System& alone = *found.front();
  const auto section = config.find(alone.name);
  return {.name = std::string(alone.lease_name),
          .ns = alone.lease_namespace == nullptr || section == config.end()
                    ? ""
                    : alone.lease_namespace(section->second)};
}

Result<std::vector<const Operator*>> select_operators(const std::string& list) {
  std::set<std::string> wanted;
  std::set<std::string> unwanted;
  for (const std::string_view word : words_of(list, ',')) {
    const bool out = word.front() == '-';
    const std::string name(word.substr(out ? 1 : 0));
    ATHANOR_TRY_VOID(check_word(name));
    (out ? unwanted : wanted).insert(name);
  }
  std::vector<const Operator*> chosen;
  for (const System* system : all_systems()) {
    for (const Operator* op : system->operators) {
      const auto is_named = [&](const std::string& word) { return names(*system, *op, word); };
      if (std::ranges::any_of(wanted, is_named) && std::ranges::none_of(unwanted, is_named)) {
        chosen.push_back(op);
      }
    }
  }
  if (chosen.empty()) {
    return wrong_usage("--controllers: no controller is left to run");
  }
  return chosen;
}

Result<std::vector<Webhook>> select_webhooks(const std::string& list) {
  ATHANOR_TRY(const std::vector<const Operator*> chosen, select_operators(list));
  std::vector<Webhook> all;
  for (const System* system : systems_of(chosen)) {
    std::ranges::copy(system->webhooks, std::back_inserter(all));
  }
  std::vector<Webhook> webhooks;
  std::ranges::copy_if(all, std::back_inserter(webhooks), [&all](const Webhook& webhook) {
    return !webhook.yields_to_namesake || std::ranges::none_of(all, [&](const Webhook& other) {
      return other.name == webhook.name && !other.yields_to_namesake;
    });
  });
  return webhooks;
}

std::vector<std::string> webhook_configurations(const std::vector<Webhook>& webhooks,
                                                const std::string& own) {
  std::set<std::string> names;
  for (const Webhook& webhook : webhooks) {
    names.insert(webhook.configuration.empty() ? own : std::string(webhook.configuration));
  }
  return {names.begin(), names.end()};
}

}  // namespace athanor::cli
