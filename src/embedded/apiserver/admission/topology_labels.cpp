// SPDX-License-Identifier: Apache-2.0
// PodTopologyLabels: a pod carries zone and region of its node, from its creation on a node or its
// binding to one (docs/spec/apiserver.md 15.1).
#include "embedded/apiserver/admission/steps.hpp"

namespace athanor::apiserver {
namespace {

StatusResult<void> copy_labels(AdmissionAttributes& request, const AdmissionContext& context) {
  const bool binds = request.operation == Operation::Create && request.subresource == "binding" &&
                     request.resource->storage == "pods";
  if (!binds && !creates(request, "", "pods")) {
    return {};
  }
  const std::string name =
      binds ? request.object["target"]["name"].str() : request.object["spec"]["nodeName"].str();
  const store::StoredPtr node = name.empty() ? nullptr : context.store.get("nodes", {"", name});
  if (node == nullptr) {
    return {};
  }
  for (const std::string_view label :
       {"topology.kubernetes.io/region", "topology.kubernetes.io/zone"}) {
    if (const Value& value = node->body["metadata"]["labels"][label]; value.is_string()) {
      request.object.member("metadata").member("labels").set(label, value);
    }
  }
  return {};
}

}  // namespace

AdmissionStep topology_labels_step() {
  return {.name = "PodTopologyLabels", .mutate = &copy_labels, .validate = {}};
}

}  // namespace athanor::apiserver
