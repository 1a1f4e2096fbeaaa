// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/operator/exporter_config.hpp"

#include <fmt/core.h>

#include "kube/text/yaml.hpp"
#include "systems/numa/operator/manifests.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kMembers[] = {"topologyManagerPolicy", "topologyManagerScope"};

std::string content_of(const Value& kubelet, const OperatorSpec& spec) {
  Value content = Value::object();
  Value section = Value::object();
  for (const char* name : kMembers) {
    if (!kubelet[name].as_string().empty()) {
      section.set(name, kubelet[name]);
    }
  }
  content.set("kubelet", std::move(section));
  for (const NamespacedName& one : spec.pod_excludes) {
    content.member("podExclude")
        .push_back(Value::object({{"namespacePattern", one.ns}, {"namePattern", one.name}}));
  }
  return yaml::print(content);
}

}  // namespace

std::optional<Error> kubelet_error(const Value& kubelet) {
  if (!kubelet.is_object()) {
    return Error::invalid("kubeletConfig", "must be an object");
  }
  for (const char* name : kMembers) {
    if (!kubelet[name].is_null() && !kubelet[name].is_string()) {
      return Error::invalid(fmt::format("kubeletConfig.{}", name), "must be a string");
    }
  }
  return std::nullopt;
}

Value exporter_config_map(const Settings& settings, const std::string& pool, const Value& kubelet,
                          const OperatorSpec& spec) {
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata",
        Value::object(
            {{"name", daemon_set_name(pool)},
             {"namespace", settings.ns},
             {"labels",
              Value::object(
                  {{"numaresourcesoperator.nodetopology.openshift.io/name", kOperatorName},
                   {"nodegroup.nodetopology.openshift.io/machineconfigpool", pool}})}})},
       {"data", Value::object({{"config.yaml", content_of(kubelet, spec)}})}});
}

}  // namespace athanor::numa
