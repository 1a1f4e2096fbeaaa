// SPDX-License-Identifier: Apache-2.0
#include "systems/appwrapper/system.hpp"

#include <utility>

#include "api/kueue.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kNamespace = "default";
constexpr std::string_view kFlavor = "default-flavor";
constexpr std::string_view kClusterQueue = "cluster-queue";

Value object_of(const Kind& kind, Value metadata, Value spec) {
  return Value::object({{"apiVersion", kind.api_version()},
                        {"kind", kind.name},
                        {"metadata", std::move(metadata)},
                        {"spec", std::move(spec)}});
}

Value quota(std::string_view resource, std::string_view amount) {
  return Value::object({{"name", resource}, {"nominalQuota", amount}});
}

Value cluster_queue() {
  return object_of(
      api::kueue::kClusterQueue, Value::object({{"name", kClusterQueue}}),
      Value::object(
          {{"namespaceSelector", Value::object()},
           {"resourceGroups",
            Value::list({Value::object(
                {{"coveredResources", Value::list({"cpu", "nvidia.com/gpu"})},
                 {"flavors",
                  Value::list({Value::object(
                      {{"name", kFlavor},
                       {"resources", Value::list({quota("cpu", "4"),
                                                  quota("nvidia.com/gpu", "16")})}})})}})})}}));
}

Value local_queue(std::string_view name, std::string_view ns) {
  return object_of(api::kueue::kLocalQueue, Value::object({{"name", name}, {"namespace", ns}}),
                   Value::object({{"clusterQueue", kClusterQueue}}));
}

}  // namespace

std::vector<Webhook> lab_webhooks() {
  std::vector<Webhook> all(webhooks().begin(), webhooks().end());
  all.insert(all.end(), kueue_webhooks().begin(), kueue_webhooks().end());
  return all;
}

std::vector<Value> lab_objects(std::string_view home) {
  std::vector<Value> objects{
      object_of(api::kueue::kResourceFlavor, Value::object({{"name", kFlavor}}), Value::object()),
      cluster_queue()};
  for (const std::string_view ns : {kNamespace, home}) {
    if (ns == kNamespace || home != kNamespace) {
      objects.push_back(local_queue("user-queue", ns));
      objects.push_back(local_queue("default-queue", ns));
    }
  }
  return objects;
}

}  // namespace athanor::appwrapper
