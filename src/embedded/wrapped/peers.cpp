// SPDX-License-Identifier: Apache-2.0
#include "embedded/wrapped/peers.hpp"

#include <algorithm>

#include "api/builtin.hpp"

namespace athanor::wrapped {

Member headless_service(const Object& owner, const Headless& wanted) {
  Value selector = Value::object();
  for (const auto& [key, value] : wanted.selector) {
    selector.set(key, value);
  }
  Value spec = Value::object({{"clusterIP", "None"}, {"selector", std::move(selector)}});
  if (wanted.publish_not_ready) {
    spec.set("publishNotReadyAddresses", true);
  }
  if (wanted.port != 0) {
    spec.set("ports",
             Value::list({Value::object({{"name", wanted.port_name}, {"port", wanted.port}})}));
  }
  return member_of(api::kService, owner, wanted.name, Value::object({{"spec", std::move(spec)}}),
                   wanted.selector);
}

void offer_service(const View& view, const Object& owner, const Member& service, Plan& plan) {
  const Key key{std::string(owner.ns()), service.name};
  if (!view.get(api::kService, key)) {
    plan.then(Create{.target = {&api::kService, key}, .object = service.object});
  }
}

namespace {

Value with_variables(const Value& env, const Variables& variables, Place place) {
  Value ours = Value::list();
  for (const auto& [name, value] : variables) {
    ours.push_back(Value::object({{"name", name}, {"value", value}}));
  }
  Value all = place == Place::First ? ours : Value::list();
  for (const Value& one : env.items()) {
    const bool replaced = std::ranges::any_of(
        variables, [&](const auto& variable) { return one["name"].as_string() == variable.first; });
    if (!replaced) {
      all.push_back(one);
    }
  }
  if (place == Place::Last) {
    for (const Value& one : ours.items()) {
      all.push_back(one);
    }
  }
  return all;
}

void set_in(Value& pod_spec, std::string_view list, const Variables& variables, Place place) {
  Value containers = Value::list();
  for (const Value& container : pod_spec[list].items()) {
    Value changed = container;
    changed.set("env", with_variables(container["env"], variables, place));
    containers.push_back(std::move(changed));
  }
  if (!containers.empty()) {
    pod_spec.set(list, std::move(containers));
  }
}

}  // namespace

void set_variables(Value& pod_spec, const Variables& variables, Place place) {
  set_in(pod_spec, "containers", variables, place);
  if (place == Place::First) {
    set_in(pod_spec, "initContainers", variables, place);
  }
}

}  // namespace athanor::wrapped
