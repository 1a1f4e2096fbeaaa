// SPDX-License-Identifier: Apache-2.0
// ValidatingAdmissionPolicies and their bindings, read and compiled once for each change
// (docs/spec/apiserver.md 15.3).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "embedded/apiserver/matching/admission_cel.hpp"
#include "embedded/apiserver/matching/hook.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// MatchResources: one hook for each rule, as rules may name single objects.
struct MatchRule {
  Hook hook{};
  std::vector<std::string> names{};  // resourceNames; empty: all
};
// matchConstraints of a policy, or matchResources of a binding.
struct PolicyMatch {
  std::vector<MatchRule> include{};
  std::vector<MatchRule> exclude{};
};
// Matches a request; a match without rules takes every request that its selectors take.
StatusResult<const ResourceInfo*> match_policy(const PolicyMatch& match,
                                               const AdmissionAttributes& request,
                                               const AdmissionContext& context);

// One of spec.variables. `error` is set where it does not compile, here and below.
struct PolicyVariable {
  std::string name{};
  cel::Program::Ptr program{};
  std::string error{};
};

// One of spec.validations.
struct PolicyValidation {
  std::string expression{};
  std::string message{};
  std::string reason{};  // empty: Invalid
  cel::Program::Ptr program{};
  std::string error{};
  cel::Program::Ptr message_expression{};  // null: none
};

// What a policy adds to the audit of a request.
struct PolicyAnnotation {
  std::string key{};
  cel::Program::Ptr program{};  // a text, or null for nothing
  std::string error{};
};

// A ValidatingAdmissionPolicyBinding; the flags are its validationActions.
struct PolicyBinding {
  std::string name{};
  PolicyMatch match{};
  Value param_ref{};
  bool denies = false;
  bool warns = false;
  bool audits = false;
  Value actions{};  // spec.validationActions
};

// A ValidatingAdmissionPolicy with its bindings.
struct Policy {
  std::string name{};
  bool ignores_failure = false;
  PolicyMatch match{};
  Conditions conditions{};
  std::vector<PolicyVariable> variables{};
  std::vector<PolicyValidation> validations{};
  std::vector<PolicyAnnotation> annotations{};
  Value param_kind{};  // Null: none
  std::vector<PolicyBinding> bindings{};
};
using Policies = std::vector<Policy>;

// Returns the declarations of a policy's expressions, its variables so far included.
cel::Declarations policy_declarations(const AdmissionVariables& variables,
                                      const std::vector<PolicyVariable>& known);

// Policies with at least one binding, by name. Thread-safe.
class PolicyCache {
 public:
  std::shared_ptr<const Policies> policies(const store::Store& store);

 private:
  Mutex mutex_{};
  std::vector<store::StoredPtr> policies_read_ ATHANOR_GUARDED_BY(mutex_){};
  std::vector<store::StoredPtr> bindings_read_ ATHANOR_GUARDED_BY(mutex_){};
  std::shared_ptr<const Policies> made_ ATHANOR_GUARDED_BY(mutex_) =
      std::make_shared<const Policies>();
};

}  // namespace athanor::apiserver
