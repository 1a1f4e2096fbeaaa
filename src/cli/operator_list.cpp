// SPDX-License-Identifier: Apache-2.0
// Systems and the choice among them.
#include "cli/operator_list.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "api/builtin.hpp"
#include "api/describe.hpp"
#include "api/hearth.hpp"
#include "base/ascii.hpp"
#include "cli/surroundings.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "fournos/instruments.hpp"
#include "fournos/operators.hpp"
#include "fournos/settings.hpp"
#include "hearth/instruments.hpp"
#include "hearth/operators.hpp"
#include "hearth/settings.hpp"
#include "systems/numa/operators.hpp"
#include "systems/numa/settings.hpp"

namespace athanor::cli {
namespace {

std::vector<const Operator*> all_of(std::span<const Operator* const> operators) {
  return {operators.begin(), operators.end()};
}

// Of the embedded control plane's operators those whose names begin so.
std::vector<const Operator*> stand_ins(std::initializer_list<std::string_view> prefixes) {
  std::vector<const Operator*> chosen;
  for (const Operator* op : lab::embedded_operators()) {
    if (std::ranges::any_of(
            prefixes, [&](std::string_view prefix) { return op->name.starts_with(prefix); })) {
      chosen.push_back(op);
    }
  }
  return chosen;
}

// Every kind that a system's operators touch, at this place.
Places all_at(std::span<const Operator* const> operators, const Place& place) {
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

// Jobs and all that belongs to them in one namespace; secrets are copied from another one.
Places fournos_places(const SystemConfig& config) {
  const auto settings = api::decode<fournos::Settings>(config.find("fournos")->second);
  const auto clusters = api::decode<hearth::Settings>(config.find("hearth")->second);
  const std::string& jobs = settings.workload_namespace;
  Places places = all_at(fournos::fournos_operators(), {.watched = {jobs}, .written = {jobs}});
  places[&api::kSecret].watched = {jobs, settings.secrets_namespace};
  places[&api::kFournosCluster] = {.watched = {clusters.ns}};
  places[&api::kEvent] = {.written = {jobs}};
  return places;
}

// Clusters in their namespace, kubeconfigs in a second one, locks among the jobs in a third.
Places hearth_places(const SystemConfig& config) {
  const auto settings = api::decode<hearth::Settings>(config.find("hearth")->second);
  const std::string& jobs = settings.execution_namespace;
  const std::string& secrets = settings.secrets_namespace;
  Places places = all_at(hearth::hearth_operators(), {.watched = {jobs}, .written = {jobs}});
  places[&api::kFournosCluster] = {.watched = {settings.ns}, .written = {settings.ns}};
  places[&api::kSecret] = {.watched = {secrets, settings.ns}, .written = {secrets}};
  places[&api::kEvent] = {.written = {settings.ns, secrets, jobs}};
  return places;
}

bool names(const System& system, const Operator& op, const std::string& word) {
  return word == op.name || word == system.name || (word == "*" && system.by_default);
}

Result<void> check_word(const std::vector<System>& all, const std::string& word) {
  std::string known;
  for (const System& system : all) {
    for (const Operator* op : system.operators) {
      if (names(system, *op, word)) {
        return {};
      }
    }
    known += (known.empty() ? "" : ", ") + system.name;
  }
  return Error::bad_request(fmt::format(
      "--controllers: \"{}\" is neither a system nor a controller; systems are {}", word, known));
}

}  // namespace

std::vector<System> systems() {
  return {{.name = "fournos",
           .by_default = true,
           .operators = all_of(fournos::fournos_operators()),
           .instruments = &fournos::fournos_instruments(),
           .places = fournos_places},
          {.name = "hearth",
           .by_default = true,
           .operators = all_of(hearth::hearth_operators()),
           .instruments = &hearth::hearth_instruments(),
           .places = hearth_places},
          {.name = "numa", .operators = all_of(numa::numa_operators())},
          {.name = "kueue",
           .operators = stand_ins({"kueue-"}),
           .webhooks = lab::embedded_webhooks("kueue")},
          {.name = "tekton",
           .operators = stand_ins({"tekton-"}),
           .webhooks = lab::embedded_webhooks("tekton")},
          {.name = "nodes", .operators = stand_ins({"kubelet", "emulated-"})}};
}

std::vector<const Instruments*> instruments_of(const std::vector<const Operator*>& operators) {
  std::vector<const Instruments*> found;
  for (const System& system : systems()) {
    const bool runs = std::ranges::any_of(system.operators, [&](const Operator* op) {
      return std::ranges::find(operators, op) != operators.end();
    });
    if (runs && system.instruments != nullptr) {
      found.push_back(system.instruments);
    }
  }
  return found;
}

Result<SystemConfig> read_config(const std::map<std::string, std::string>& variables,
                                 const std::string& jobs) {
  std::map<std::string, std::string> settings = variables;
  if (!settings.contains("FOURNOS_WORKLOAD_NAMESPACE")) {
    settings.emplace("FOURNOS_NAMESPACE", jobs);
  }
  SystemConfig config;
  ATHANOR_TRY(const fournos::Settings fournos, read_fournos_settings(settings));
  config["fournos"] = api::encode(fournos);
  settings.emplace("HEARTH_EXECUTION_NAMESPACE", fournos.workload_namespace);
  settings.emplace("HEARTH_SECRETS_NAMESPACE", fournos.secrets_namespace);
  ATHANOR_TRY(const hearth::Settings clusters, hearth::parse_settings(settings));
  config["hearth"] = api::encode(clusters);
  ATHANOR_TRY(const numa::Settings zones, numa::parse_settings(settings, false));
  config["numa"] = numa::to_value(zones);
  return config;
}

std::vector<runtime::RbacPart> parts_of(const std::vector<const Operator*>& operators,
                                        const SystemConfig& config) {
  std::vector<runtime::RbacPart> parts;
  for (const System& system : systems()) {
    runtime::RbacPart part;
    for (const Operator* op : system.operators) {
      if (std::ranges::find(operators, op) != operators.end()) {
        part.operators.push_back(op);
      }
    }
    if (system.places != nullptr) {
      part.places = system.places(config);
    }
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

std::string lease_name_of(const std::vector<const Operator*>& operators) {
  const auto clusters = hearth::hearth_operators();
  const bool alone = std::ranges::all_of(operators, [&](const Operator* op) {
    return std::ranges::find(clusters, op) != clusters.end();
  });
  return alone ? "hearth" : "athanor";
}

Result<std::vector<const Operator*>> select_operators(const std::string& list) {
  const std::vector<System> all = systems();
  std::set<std::string> wanted;
  std::set<std::string> unwanted;
  for (const std::string_view word : words_of(list, ',')) {
    const bool out = word.front() == '-';
    const std::string name(word.substr(out ? 1 : 0));
    ATHANOR_TRY_VOID(check_word(all, name));
    (out ? unwanted : wanted).insert(name);
  }
  std::vector<const Operator*> chosen;
  for (const System& system : all) {
    for (const Operator* op : system.operators) {
      const auto is_named = [&](const std::string& word) { return names(system, *op, word); };
      if (std::ranges::any_of(wanted, is_named) && std::ranges::none_of(unwanted, is_named)) {
        chosen.push_back(op);
      }
    }
  }
  if (chosen.empty()) {
    return Error::bad_request("--controllers: no controller is left to run");
  }
  return chosen;
}

Result<std::vector<Webhook>> select_webhooks(const std::string& list) {
  ATHANOR_TRY(const std::vector<const Operator*> chosen, select_operators(list));
  std::vector<Webhook> webhooks;
  for (const System& system : systems()) {
    const bool runs = std::ranges::any_of(system.operators, [&](const Operator* op) {
      return std::ranges::find(chosen, op) != chosen.end();
    });
    if (runs) {
      webhooks.insert(webhooks.end(), system.webhooks.begin(), system.webhooks.end());
    }
  }
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
