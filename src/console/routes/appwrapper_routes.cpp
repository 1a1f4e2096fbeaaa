// SPDX-License-Identifier: Apache-2.0
// Routes of AppWrappers (docs/spec/dashboard.md B5).
#include <fmt/format.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "console/data/appwrapper_rows.hpp"
#include "console/routes/route_table.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/model/wrapped_kinds.hpp"

namespace athanor::console {
namespace {

using net::Response;

Response list_appwrappers(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  return answer_list(exchange, appwrapper_shape(), appwrapper::kAppWrapper,
                     tables->list("appwrappers"));
}

// Returns the owners between an AppWrapper and its pods; reads each with a request.
std::vector<Object> owners_of(Exchange& exchange, const std::vector<Object>& pods) {
  constexpr int kMostOwners = 10;
  std::vector<Object> owners;
  for (const Object& pod : pods) {
    Object current = pod;
    for (int depth = 0; depth < kMostOwners; ++depth) {
      const auto owner = current.controller();
      const bool known = owner && std::ranges::any_of(owners, [&](const Object& one) {
                           return one.uid() == owner->uid;
                         });
      const Kind* kind = owner && !known
                             ? appwrapper::find_wrapped_kind(owner->api_version, owner->kind)
                             : nullptr;
      if (kind == nullptr) {
        break;
      }
      auto found = exchange.services.port.get(exchange.viewer(), *kind,
                                              {std::string(pod.ns()), owner->name});
      if (!found.ok() || found->uid() != owner->uid) {
        break;
      }
      owners.push_back(*found);
      current = *std::move(found);
    }
  }
  return owners;
}

// Adds the objects of components without pods; those of pods are among the owners already.
void add_components(Exchange& exchange, views::AppWrapperFacts& all) {
  constexpr std::size_t kMostRead = 30;  // requests for one page
  const Value& statuses = all.app.status()["componentStatus"];
  for (std::size_t i = 0; i < std::min(statuses.size(), kMostRead); ++i) {
    const std::string kind_name = statuses[i]["kind"].str();
    const std::string name = statuses[i]["name"].str();
    const bool known = std::ranges::any_of(all.owners, [&](const Object& one) {
      return one.kind() == kind_name && one.name() == name;
    });
    const Kind* kind =
        appwrapper::find_wrapped_kind(statuses[i]["apiVersion"].as_string(), kind_name);
    if (known || name.empty() || kind == nullptr) {
      continue;
    }
    if (auto found =
            exchange.services.port.get(exchange.viewer(), *kind, {std::string(all.app.ns()), name});
        found.ok()) {
      all.owners.push_back(*std::move(found));
    }
  }
}

Response show_appwrapper(Exchange& exchange) {
  const Key key = path_key(exchange);
  const auto facts = exchange.services.world.facts();
  const Object* app = facts->find(appwrapper::kAppWrapper, key);
  const auto may = exchange.services.access.may(exchange.viewer(), "get", appwrapper::kAppWrapper,
                                                key.ns, key.name);
  if (!may.value_or(false)) {
    return deny(appwrapper::kAppWrapper);
  }
  if (app == nullptr) {
    return answer_error(Error::not_found(fmt::format("appwrapper \"{}\" not found", key.name)));
  }
  views::AppWrapperFacts all{.app = *app};
  for (const Object& pod : facts->all(api::kPod)) {
    if (pod.ns() == key.ns && pod.label(appwrapper::name::kLabel) == key.name) {
      all.pods.push_back(pod);
    }
  }
  all.owners = owners_of(exchange, all.pods);
  add_components(exchange, all);
  for (const Object& workload : facts->all(api::kueue::kWorkload)) {
    if (workload.owned_by(app->uid())) {
      all.workload = workload;
    }
  }
  Value page = appwrapper_tree(all, exchange.now());
  Value transitions = Value::list();
  const auto kept = exchange.services.history.transitions(std::string(app->uid()));
  for (const Value& one : kept.value_or({})) {
    transitions.push_back(one);
  }
  page.set("transitions", std::move(transitions));
  if (!kept.ok()) {
    page.set("transitionsError", kept.error().message);
  }
  return answer_value(page);
}

Response suspend_appwrapper(Exchange& exchange, bool suspend) {
  const Key key = path_key(exchange);
  const auto patched = exchange.services.port.patch(
      exchange.viewer(), appwrapper::kAppWrapper, key,
      Value::object({{"spec", Value::object({{"suspend", suspend}})}}));
  note_change(exchange, suspend ? "suspend" : "resume", "AppWrapper/" + key.text(),
              patched.ok() ? nullptr : &patched.error());
  return patched.ok() ? answer_value(Value::object(
                            {{"message",
                              fmt::format("{} {}", key.name, suspend ? "suspended" : "resumed")}}))
                      : answer_error(patched.error());
}

Response suspend_route(Exchange& exchange) {
  return suspend_appwrapper(exchange, true);
}

Response resume_route(Exchange& exchange) {
  return suspend_appwrapper(exchange, false);
}

Response delete_appwrapper(Exchange& exchange) {
  const Key key = path_key(exchange);
  const auto removed =
      exchange.services.port.remove(exchange.viewer(), appwrapper::kAppWrapper, key);
  note_change(exchange, "delete", "AppWrapper/" + key.text(),
              removed.ok() ? nullptr : &removed.error());
  return removed.ok() ? answer_value(Value::object({{"message", key.name + " deleted"}}))
                      : answer_error(removed.error());
}

}  // namespace

std::vector<Route> appwrapper_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/appwrappers",
       .summary = "List AppWrappers",
       .handle = list_appwrappers,
       .shape = appwrapper_shape},
      {.method = "GET",
       .path = "/api/v1/appwrappers/{ns}/{name}/tree",
       .summary = "Show an AppWrapper with its components and pods",
       .handle = show_appwrapper},
      {.method = "POST",
       .path = "/api/v1/appwrappers/{ns}/{name}/suspend",
       .summary = "Suspend an AppWrapper",
       .handle = suspend_route,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/appwrappers/{ns}/{name}/resume",
       .summary = "Resume an AppWrapper",
       .handle = resume_route,
       .guard = Guard::Change},
      {.method = "DELETE",
       .path = "/api/v1/appwrappers/{ns}/{name}",
       .summary = "Delete an AppWrapper",
       .handle = delete_appwrapper,
       .guard = Guard::Change},
  };
}

}  // namespace athanor::console
