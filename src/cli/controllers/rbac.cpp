// SPDX-License-Identifier: Apache-2.0
// athanor rbac and athanor webhooks: what a cluster needs to know of the controllers.
#include "runtime/rights/rbac.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "cli/controllers/operator_list.hpp"
#include "cli/flags/environment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"
#include "cluster/admission_review.hpp"
#include "console/data/features.hpp"
#include "console/model/settings.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "product/list.hpp"
#include "product/people.hpp"

namespace athanor::cli {

namespace {

void print_objects(const std::vector<Value>& objects, Output output) {
  Value list = Value::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", Value::list()}});
  std::string text;
  for (const Value& object : objects) {
    if (output == Output::Json) {
      list.member("items").push_back(object);
    } else if (output == Output::Name) {
      text += fmt::format("{}/{}\n", object["kind"].as_string(),
                          object["metadata"]["name"].as_string());
    } else {
      text += (text.empty() ? "" : "---\n") + yaml::print(object);
    }
  }
  Terminal(STDOUT_FILENO)
      .print(output == Output::Json ? json::print(list, json::Style::Pretty) + "\n" : text);
}

Value labels() {
  return Value::object({{"app.kubernetes.io/name", "athanor"},
                        {"app.kubernetes.io/component", "controllers"},
                        {"app.kubernetes.io/part-of", "athanor"}});
}

Value service_of(const WebhooksOptions& options) {
  Value port = Value::object(
      {{"name", "webhooks"}, {"port", 443}, {"targetPort", "webhooks"}, {"protocol", "TCP"}});
  Value selector = labels();
  selector.erase("app.kubernetes.io/part-of");
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Service"},
       {"metadata", Value::object({{"name", options.service},
                                   {"namespace", options.install_namespace},
                                   {"labels", labels()}})},
       {"spec", Value::object({{"selector", selector}, {"ports", Value::list({port})}})}});
}

// The configurations by name, each kind where there are webhooks of it.
std::vector<Value> configurations_of(const std::vector<Webhook>& webhooks,
                                     const WebhooksOptions& options) {
  const WebhookTarget target{
      .service = options.service, .ns = options.install_namespace, .url = options.url};
  std::vector<Value> objects;
  for (const std::string& name : webhook_configurations(webhooks, options.name)) {
    std::vector<Webhook> registered;
    for (const Webhook& webhook : webhooks) {
      if ((webhook.configuration.empty() ? options.name : webhook.configuration) == name) {
        registered.push_back(webhook);
      }
    }
    for (const bool mutating : {true, false}) {
      Value object = webhook_configuration(registered, mutating, name, target);
      if (!object.is_null()) {
        object.member("metadata").set("labels", labels());
        objects.push_back(std::move(object));
      }
    }
  }
  return objects;
}

// Account, roles and bindings of the console, by the environment that it will have.
int print_console_rights(const RbacOptions& options) {
  auto variables = environment_map();
  variables.erase("CONSOLE_ADDR");  // rights do not depend on it
  const auto settings = console::read_settings(variables);
  if (!settings.ok()) {
    return fail(settings.error());
  }
  const std::string name = options.name == "athanor" ? "athanor-console" : options.name;
  std::vector<Value> objects = runtime::rbac_objects_of(
      console::console_rights(*settings),
      {.name = name, .install_namespace = options.install_namespace, .lease = {}});
  for (Value& object : objects) {
    object.member("metadata").member("labels").set("app.kubernetes.io/component", "console");
  }
  print_objects(objects, options.output);
  return 0;
}

// Kueue's and Tekton's kinds have roles of their own where these come from their projects: of all
// systems only our own count, others where --controllers names them.
int print_people_roles(const RbacOptions& options) {
  std::vector<const System*> systems;
  if (options.controllers == "*") {
    std::ranges::copy_if(all_systems(), std::back_inserter(systems),
                         [](const System* system) { return !system->stand_in; });
  } else {
    const auto operators = select_operators(options.controllers);
    if (!operators.ok()) {
      return fail(operators.error());
    }
    systems = systems_of(*operators);
  }
  print_objects(people_roles(systems, options.name), options.output);
  return 0;
}

}  // namespace

int run(const RbacOptions& options) {
  if (options.people) {
    return print_people_roles(options);
  }
  if (options.console) {
    return print_console_rights(options);
  }
  auto operators = select_operators(options.controllers);
  auto webhooks = select_webhooks(options.controllers);
  if (!operators.ok() || !webhooks.ok()) {
    return fail(operators.ok() ? webhooks.error() : operators.error());
  }
  runtime::RbacOptions rbac{.name = options.name,
                            .install_namespace = options.install_namespace,
                            .namespaces = options.namespaces,
                            .lease = options.lease};
  if (options.webhooks) {
    rbac.webhook_secret = options.webhook_secret;
    rbac.webhook_configurations = webhook_configurations(*webhooks, options.name);
    rbac.converted_crds = options.webhook_crds;
  }
  const auto variables = environment_map();
  const auto config = read_config(variables, "default");
  if (!config.ok()) {
    return fail(config.error());
  }
  *operators = those_that_run(all_systems(), *operators, *config);
  rbac.granted_roles = granted_roles_of(*operators);
  if (!options.leader_elect) {
    rbac.lease.clear();
  } else if (options.lease.empty()) {
    const LeasePlace own = lease_of(*operators, *config);
    rbac.lease = own.name;
    rbac.lease_namespace = own.ns;
  }
  const bool placed =
      variables.contains("FOURNOS_WORKLOAD_NAMESPACE") || variables.contains("FOURNOS_NAMESPACE");
  if (!options.namespaces.empty() || !placed) {
    print_objects(runtime::rbac_objects(*operators, rbac), options.output);
    return 0;
  }
  print_objects(runtime::rbac_objects_of(parts_of(*operators, *config), rbac), options.output);
  return 0;
}

int run(const WebhooksOptions& options) {
  const auto webhooks = select_webhooks(options.controllers);
  if (!webhooks.ok()) {
    return fail(webhooks.error());
  }
  std::vector<Value> objects;
  if (!webhooks->empty()) {
    if (options.url.empty()) {
      objects.push_back(service_of(options));
    }
    for (Value& object : configurations_of(*webhooks, options)) {
      objects.push_back(std::move(object));
    }
  }
  print_objects(objects, options.output);
  return 0;
}

}  // namespace athanor::cli
