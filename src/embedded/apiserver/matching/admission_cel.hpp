// SPDX-License-Identifier: Apache-2.0
// CEL at admission: which variables expressions see, and match conditions (docs/spec/apiserver.md
// 15.2, 15.3). Shared by webhooks and policies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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

// All expressions of all webhooks and policies that judge one request: as many units as one
// policy may have, so that no number of hooks keeps a worker for long.
inline constexpr std::int64_t kRequestCostBudget = cel::kObjectCostBudget;

// A request that has spent more units than kCostlyRequest is costly. At most kCostlyRequests costly
// ones run at a time, so that the other workers stay free.
inline constexpr std::int64_t kCostlyRequest = 200'000;
inline constexpr int kCostlyRequests = 2;

// Counts the cost of one request's admission expressions. The count is in the request's Call, so
// that webhooks and policies share it; without a Call it starts anew here.
class RequestBudget {
 public:
  explicit RequestBudget(const AdmissionContext& context);
  RequestBudget(const RequestBudget&) = delete;
  RequestBudget& operator=(const RequestBudget&) = delete;

  [[nodiscard]] bool exhausted() const { return spent_ > kRequestCostBudget; }
  void spend(std::uint64_t cost);
  // Returns true if the request is costly, and too many such run: its answer is to be too_busy().
  [[nodiscard]] bool busy() const { return busy_; }
  // Returns 429 with a time to wait.
  static StatusError too_busy();

 private:
  Call* call_;
  std::int64_t own_ = 0;
  std::int64_t& spent_;
  bool busy_ = false;
};
// The message of what is not judged any more.
inline constexpr std::string_view kRequestOutOfBudget =
    "the expressions of all webhooks and policies cost too much for one request";

// Whether a request matches.
struct ConditionsVerdict {
  bool hold = true;
  std::string error{};  // set: no condition was false, but some could not be evaluated
};
// Evaluates the conditions in order until one is false, within the cost limit of match conditions
// and the request's.
ConditionsVerdict judge_conditions(const Conditions& conditions, const cel::Bindings& bindings,
                                   const cel::Authority& authority, RequestBudget& budget);

// Returns "expression 'E' resulted in error: TEXT".
std::string evaluation_error(const cel::Program& program, const cel::Val& error);

}  // namespace athanor::apiserver
