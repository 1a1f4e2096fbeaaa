// SPDX-License-Identifier: Apache-2.0
// athanor systems: the list of systems as the generators of deployments read it.
#include <fmt/core.h>
#include <unistd.h>

#include <string>

#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "product/list.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

template <class Items, class NameOf>
Value names_of(const Items& items, NameOf name_of) {
  Value names = Value::list();
  for (const auto& item : items) {
    names.push_back(name_of(item));
  }
  return names;
}

Value description_of(const System& system) {
  Value out = Value::object({{"name", system.name},
                             {"summary", system.summary},
                             {"standIn", system.stand_in},
                             {"byDefault", system.by_default}});
  const std::vector<const System*> alone{&system};
  out.set("kinds", names_of(kinds_of(alone), [](const api::CustomKind* custom) {
            return fmt::format("{}.{}", custom->kind->plural, custom->kind->group);
          }));
  out.set("controllers", names_of(system.operators, [](const Operator* op) { return op->name; }));
  out.set("webhooks", names_of(system.webhooks, [](const Webhook& hook) { return hook.name; }));
  out.set("settings", names_of(system.variables, [](std::string_view name) { return name; }));
  out.set("verbs", names_of(system.verbs, [](const Verb& verb) { return verb.name; }));
  return out;
}

}  // namespace

int run(const SystemsOptions& options) {
  const Terminal out(STDOUT_FILENO);
  if (options.output == Output::Table) {
    views::Table table({"SYSTEM", "KINDS", "CONTROLLERS", "WEBHOOKS", "BY DEFAULT", "WHAT"});
    for (const System* system : all_systems()) {
      const std::vector<const System*> alone{system};
      table.add({std::string(system->name), fmt::format("{}", kinds_of(alone).size()),
                 fmt::format("{}", system->operators.size()),
                 fmt::format("{}", system->webhooks.size()), system->by_default ? "yes" : "no",
                 std::string(system->summary)});
    }
    out.print(table.text(out.columns()));
    return 0;
  }
  Value list = Value::list();
  for (const System* system : all_systems()) {
    list.push_back(description_of(*system));
  }
  out.print(options.output == Output::Json ? json::print(list, json::Style::Pretty) + "\n"
                                           : yaml::print(list));
  return 0;
}

}  // namespace athanor::cli
