// SPDX-License-Identifier: Apache-2.0
// athanor rbac: the least that the controllers need to be allowed.
#include "runtime/rbac.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include "cli/operator_list.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "kube/json.hpp"
#include "kube/yaml.hpp"

namespace athanor::cli {

int run(const RbacOptions& options) {
  auto operators = select_operators(options.controllers);
  if (!operators.ok()) {
    return fail(operators.error());
  }
  runtime::RbacOptions rbac{.name = options.name,
                            .install_namespace = options.install_namespace,
                            .namespaces = options.namespaces,
                            .lease = options.leader_elect ? options.lease : ""};
  if (options.webhooks) {
    rbac.webhook_secret = options.webhook_secret;
    rbac.webhook_configurations = {options.name};
  }
  Value list = Value::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", Value::list()}});
  std::string text;
  for (const Value& object : runtime::rbac_objects(*operators, rbac)) {
    if (options.output == Output::Json) {
      list.member("items").push_back(object);
    } else if (options.output == Output::Name) {
      text += fmt::format("{}/{}\n", object["kind"].as_string(),
                          object["metadata"]["name"].as_string());
    } else {
      text += (text.empty() ? "" : "---\n") + yaml::print(object);
    }
  }
  Terminal(STDOUT_FILENO)
      .print(options.output == Output::Json ? json::print(list, json::Style::Pretty) + "\n" : text);
  return 0;
}

}  // namespace athanor::cli
