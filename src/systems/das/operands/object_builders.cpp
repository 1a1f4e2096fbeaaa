// SPDX-License-Identifier: Apache-2.0
#include "systems/das/operands/object_builders.hpp"

#include <fmt/core.h>

#include <utility>

#include "api/builtin.hpp"

namespace athanor::das {

Value make_object(const Kind& kind, std::string_view name, const Settings& settings) {
  const std::string api_version = kind.group.empty()
                                      ? std::string(kind.version)
                                      : fmt::format("{}/{}", kind.group, kind.version);
  return Value::object({{"apiVersion", api_version},
                        {"kind", kind.name},
                        {"metadata", Value::object({{"name", name}, {"namespace", settings.ns}})}});
}

Value stand_in(const char* container, std::initializer_list<std::string> words,
               const std::string& image) {
  Value command = Value::list({"/bin/sh", "-c", "exec sleep infinity"});
  for (const std::string& word : words) {
    command.push_back(word);
  }
  return Value::object({{"name", container},
                        {"image", image.empty() ? "athanor/das:lab" : image},
                        {"command", std::move(command)}});
}

Value variable(const char* name, std::string_view value) {
  return Value::object({{"name", name}, {"value", value}});
}

Value pod_template(const Value& pod_labels, const char* account, Value container) {
  return Value::object(
      {{"metadata", Value::object({{"labels", pod_labels}})},
       {"spec", Value::object({{"serviceAccountName", account},
                               {"containers", Value::list({std::move(container)})}})}});
}

Value make_deployment(DeploymentParts parts, const Settings& settings) {
  constexpr int kReplicas = 2;
  Value object = make_object(api::kDeployment, parts.name, settings);
  object.member("metadata").set("labels", parts.pod_labels);
  object.set("spec",
             Value::object({{"replicas", kReplicas},
                            {"selector", Value::object({{"matchLabels", parts.pod_labels}})},
                            {"template", pod_template(parts.pod_labels, parts.account,
                                                      std::move(parts.container))}}));
  return object;
}

}  // namespace athanor::das
