// SPDX-License-Identifier: Apache-2.0
// CEL at admission: which variables expressions see, and match conditions (docs/spec/apiserver.md
// 15.2, 15.3). Shared by webhooks and policies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cel/functions/authority.hpp"
#include "cel/program.hpp"
#include "embedded/apiserver/matching/condition.hpp"
#include "embedded/apiserver/request/admission.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// object, oldObject, request, authorizer; with `params` where a policy has a paramKind,
// namespaceObject for policies.
struct AdmissionVariables {
  bool params = false;
  bool namespace_object = false;
  bool authorizer = true;
};
// Returns the declarations of these variables.
cel::Declarations admission_declarations(const AdmissionVariables& variables);

// Answers `authorizer` for the user of a request.
class RequestAuthority final : public cel::Authority {
 public:
  RequestAuthority(const AdmissionAttributes& request, const AdmissionContext& context)
      : request_(request), context_(context) {}
  [[nodiscard]] cel::AccessAnswer ask(const cel::AccessQuestion& question) const override;

 private:
  const AdmissionAttributes& request_;
  const AdmissionContext& context_;
};

// The request as expressions see it, in the version that a rule named.
struct AdmissionView {
  const AdmissionAttributes& request;
  const ResourceInfo& version;
  Value object{};  // Null on delete
  Value old_object{};
};
// Converts the objects.
StatusResult<AdmissionView> admission_view(const AdmissionAttributes& request,
                                           const ResourceInfo& version,
                                           const AdmissionContext& context);
// Returns the values of object, oldObject and request.
cel::Bindings admission_bindings(const AdmissionView& view);

// Compiles a matchConditions list; one that does not compile keeps its error.
Conditions compile_conditions(const Value& list, const AdmissionVariables& variables);

// Whether a request matches.
struct ConditionsVerdict {
  bool hold = true;
  std::string error{};  // set: no condition was false, but some could not be evaluated
};
// Evaluates the conditions in order until one is false, within the cost limit of match conditions.
ConditionsVerdict judge_conditions(const Conditions& conditions, const cel::Bindings& bindings,
                                   const cel::Authority& authority);

// Returns "expression 'E' resulted in error: TEXT".
std::string evaluation_error(const cel::Program& program, const cel::Val& error);

}  // namespace athanor::apiserver
