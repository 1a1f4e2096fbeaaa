// SPDX-License-Identifier: Apache-2.0
// The admission steps in their order (docs/spec/apiserver.md 15.1); request/admission.hpp declares
// built_in_admission().
#include "embedded/apiserver/admission/steps.hpp"
#include "embedded/apiserver/policies/policy_step.hpp"
#include "embedded/apiserver/webhooks/webhook_steps.hpp"

namespace athanor::apiserver {

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
