// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/node_accelerator.hpp"

#include <string>

#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::das {

void keep_accelerator(const Object& node, const std::optional<Object>& known,
                      const Settings& settings, std::string_view type, Plan& plan) {
  const Ref ref{&kNodeAccelerator, {settings.ns, std::string(node.name())}};
  const Value spec = Value::object({{"acceleratorType", type}});
  if (!known) {
    const OwnerReference owner{
        .api_version = "v1", .kind = "Node", .name = ref.key.name, .uid = std::string(node.uid())};
    const Value metadata = Value::object({{"name", ref.key.name},
                                          {"namespace", settings.ns},
                                          {"ownerReferences", Value::list({owner.to_value()})}});
    plan.then(Create{.target = ref,
                     .object = Value::object({{"apiVersion", kGroupVersion},
                                              {"kind", kNodeAccelerator.name},
                                              {"metadata", metadata},
                                              {"spec", spec}})});
  } else if (known->spec()["acceleratorType"].as_string() != type) {
    plan.then(Patch{.target = ref,
                    .merge = Value::object({{"spec", spec}}),
                    .guard = {.uid = std::string(known->uid())}});
  }
}

}  // namespace athanor::das
