// SPDX-License-Identifier: Apache-2.0
// The built-in admission steps, in their order (docs/spec/apiserver.md 15.1).
#include "embedded/apiserver/admission/steps.hpp"

#include "embedded/apiserver/policies/policy_step.hpp"
#include "embedded/apiserver/webhooks/webhook_steps.hpp"

namespace athanor::apiserver {

std::string_view operation_name(Operation operation) {
  switch (operation) {
    case Operation::Create:
      return "CREATE";
    case Operation::Update:
      return "UPDATE";
    case Operation::Delete:
      return "DELETE";
    case Operation::Connect:
      break;
  }
  return "CONNECT";
}

bool is_main_write(const AdmissionAttributes& request, std::string_view group,
                   std::string_view plural) {
  return request.resource->plural == plural && request.resource->group == group &&
         request.subresource.empty() &&
         (request.operation == Operation::Create || request.operation == Operation::Update);
}

bool creates(const AdmissionAttributes& request, std::string_view group, std::string_view plural) {
  return request.operation == Operation::Create && is_main_write(request, group, plural);
}

StatusError refuse(const AdmissionAttributes& request, std::string_view text) {
  const std::string_view name =
      request.key.name.empty() ? std::string_view("Unknown") : request.key.name;
  return status::forbidden({request.resource->plural, request.resource->group}, name, text);
}

std::vector<AdmissionStep> built_in_admission() {
  return {namespace_lifecycle_step(),
          limit_ranger_step(),
          service_account_step(),
          node_restriction_step(),
          taint_nodes_step(),
          pod_security_step(),
          priority_step(),
          default_toleration_step(),
          storage_protection_step(),
          claim_resize_step(),
          runtime_class_step(),
          escalation_step(),
          default_storage_class_step(),
          default_ingress_class_step(),
          topology_labels_step(),
          certificate_approval_step(),
          certificate_signing_step(),
          certificate_subject_step(),
          mutating_webhook_step(),
          validating_policy_step(),
          validating_webhook_step(),
          resource_quota_step()};
}

}  // namespace athanor::apiserver
