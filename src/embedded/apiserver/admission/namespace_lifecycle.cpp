// SPDX-License-Identifier: Apache-2.0
// Admission of what lies in namespaces: they must exist and not be on their way out.
#include "embedded/apiserver/admission/steps.hpp"

namespace athanor::apiserver {
namespace {

StatusResult<void> check_namespace_lifecycle(AdmissionAttributes& request,
                                             const AdmissionContext& context) {
  if (request.operation != Operation::Create || !request.resource->namespaced) {
    return {};
  }
  // The store itself is asked, never a cache: a namespace exists for the next request.
  const store::StoredPtr ns = context.store.get("namespaces", {"", request.key.ns});
  if (ns == nullptr) {
    return status::not_found({"namespaces", ""}, request.key.ns);
  }
  if (ns->body["metadata"].contains("deletionTimestamp") ||
      ns->body["status"]["phase"].as_string() == "Terminating") {
    return status::namespace_terminating({request.resource->plural, request.resource->group},
                                         request.key.name, request.key.ns);
  }
  return {};
}

}  // namespace

AdmissionStep namespace_lifecycle_step() {
  return {.name = "NamespaceLifecycle", .mutate = &check_namespace_lifecycle, .validate = {}};
}

}  // namespace athanor::apiserver
