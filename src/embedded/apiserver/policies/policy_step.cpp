// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/policies/policy_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "embedded/apiserver/admission/steps.hpp"
#include "embedded/apiserver/matching/match.hpp"
#include "embedded/apiserver/policies/policy.hpp"
#include "embedded/apiserver/policies/policy_params.hpp"
#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/request/conversation.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kLongestMessage = std::size_t{5} << 10;
constexpr std::size_t kLongestAnnotation = std::size_t{10} << 10;
constexpr std::string_view kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";

// What the variables of a policy have used and may still use.
struct VariableBudget {
  std::uint64_t cost = 0;  // since it was taken from the policy's budget
  std::int64_t left = cel::kObjectCostBudget;
  std::size_t bytes = cel::kByteLimit;  // they live as long as the policy is judged
};

// `variables` of a policy: each is evaluated when it is asked for, once.
class LazyVariables final : public cel::MapNode {
 public:
  LazyVariables(const std::vector<PolicyVariable>& variables, const cel::Bindings& bindings,
                const cel::Authority& authority, VariableBudget& budget)
      : variables_(variables), bindings_(bindings), authority_(authority), budget_(budget) {}

  [[nodiscard]] std::size_t size() const override { return variables_.size(); }
  [[nodiscard]] std::optional<cel::Val> find(const cel::Val& key) const override {
    for (const PolicyVariable& variable : variables_) {
      if (variable.name == key.text()) {
        return value_of(variable);
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::vector<cel::Val> keys() const override {
    std::vector<cel::Val> keys;
    keys.reserve(variables_.size());
    for (const PolicyVariable& variable : variables_) {
      keys.push_back(cel::Val::string(variable.name));
    }
    return keys;
  }

 private:
  [[nodiscard]] cel::Val value_of(const PolicyVariable& variable) const {
    if (const auto known = known_.find(variable.name); known != known_.end()) {
      return known->second;
    }
    cel::Val value;
    if (variable.program == nullptr) {
      value = cel::Val::error(fmt::format("composited variable \"{}\" fails to compile: {}",
                                          variable.name, variable.error));
    } else {
      cel::Evaluation done = variable.program->evaluate(
          bindings_, {.cost = cost_limit(), .bytes = budget_.bytes, .authority = &authority_});
      budget_.cost += done.cost;
      budget_.left -= static_cast<std::int64_t>(done.cost);
      budget_.bytes -= std::min(budget_.bytes, done.made);
      value = done.value.is_error()
                  ? cel::Val::error(fmt::format("composited variable \"{}\" fails to evaluate: {}",
                                                variable.name, done.value.text()))
                  : std::move(done.value);
    }
    return known_.emplace(variable.name, std::move(value)).first->second;
  }

  [[nodiscard]] std::uint64_t cost_limit() const {
    return std::min(cel::kCostLimit,
                    static_cast<std::uint64_t>(std::max<std::int64_t>(budget_.left, 0)));
  }

  const std::vector<PolicyVariable>& variables_;
  const cel::Bindings& bindings_;
  const cel::Authority& authority_;
  VariableBudget& budget_;
  // One evaluation is one thread's.
  mutable std::map<std::string, cel::Val, std::less<>> known_{};
};

struct Failure {
  std::string message{};
  std::string reason{};   // empty: Invalid
  std::size_t index = 0;  // of the expression
};

// What one policy says with one set of params.
struct Finding {
  std::vector<Failure> failures{};
  std::vector<std::pair<std::string, std::string>> annotations{};
};

// One policy with one set of params.
class PolicyRun {
 public:
  PolicyRun(const Policy& policy, cel::Bindings bindings, const cel::Authority& authority,
            RequestBudget& of_request)
      : policy_(policy),
        bindings_(std::move(bindings)),
        authority_(authority),
        of_request_(of_request) {
    bindings_.emplace_back(
        "variables", cel::Val::map(std::make_shared<LazyVariables>(policy_.variables, bindings_,
                                                                   authority_, of_variables_)));
  }
  PolicyRun(const PolicyRun&) = delete;
  PolicyRun& operator=(const PolicyRun&) = delete;

  Finding run() {
    const ConditionsVerdict verdict =
        judge_conditions(policy_.conditions, bindings_, authority_, of_request_);
    if (!verdict.hold) {
      return {};
    }
    if (!verdict.error.empty()) {
      error(verdict.error);
      return std::move(finding_);
    }
    for (index_ = 0; index_ < policy_.validations.size(); ++index_) {
      if (!judge(policy_.validations[index_])) {
        return std::move(finding_);
      }
    }
    index_ = 0;
    for (const PolicyAnnotation& annotation : policy_.annotations) {
      annotate(annotation);
    }
    return std::move(finding_);
  }

 private:
  void error(std::string text) {
    if (!policy_.ignores_failure) {
      finding_.failures.push_back({.message = std::move(text), .reason = {}, .index = index_});
    }
  }

  // False: the policy's budget or the request's is gone.
  bool spend(std::uint64_t cost) {
    budget_ -= static_cast<std::int64_t>(cost + of_variables_.cost);
    of_request_.spend(cost + of_variables_.cost);
    of_variables_.cost = 0;
    of_variables_.left = budget_;
    return budget_ >= 0 && !of_request_.exhausted() && !of_request_.busy();
  }

  [[nodiscard]] std::string out_of_budget() const {
    return std::string(of_request_.exhausted() ? kRequestOutOfBudget : kOutOfBudget);
  }

  bool judge(const PolicyValidation& validation) {
    if (validation.program == nullptr) {
      error(validation.error);
      return true;
    }
    if (of_request_.exhausted()) {
      error(out_of_budget());
      return false;
    }
    const cel::Evaluation done =
        validation.program->evaluate(bindings_, {.authority = &authority_});
    if (!spend(done.cost)) {
      error(out_of_budget());
      return false;
    }
    if (done.value.is_error()) {
      error(evaluation_error(*validation.program, done.value));
      return true;
    }
    if (!done.value.is_true()) {
      finding_.failures.push_back(
          {.message = message_of(validation), .reason = validation.reason, .index = index_});
    }
    return budget_ >= 0 && !of_request_.exhausted() && !of_request_.busy();
  }

  void annotate(const PolicyAnnotation& annotation) {
    if (annotation.program == nullptr) {
      return error(annotation.error);
    }
    if (of_request_.exhausted()) {
      return error(out_of_budget());
    }
    const cel::Evaluation done =
        annotation.program->evaluate(bindings_, {.authority = &authority_});
    if (!spend(done.cost)) {
      return error(out_of_budget());
    }
    if (done.value.is_error()) {
      return error(evaluation_error(*annotation.program, done.value));
    }
    if (done.value.is(cel::Val::Kind::String)) {
      std::string text = trimmed(done.value.text());
      text.resize(std::min(text.size(), kLongestAnnotation));
      finding_.annotations.emplace_back(annotation.key, std::move(text));
    }
  }

  std::string message_of(const PolicyValidation& validation) {
    if (validation.message_expression != nullptr) {
      const cel::Evaluation done = validation.message_expression->evaluate(bindings_);
      if (!spend(done.cost)) {
        return fmt::format("failed messageExpression: {}", out_of_budget());
      }
      std::string text =
          trimmed(done.value.is(cel::Val::Kind::String) ? done.value.text() : std::string_view());
      if (!text.empty() && text.size() <= kLongestMessage && text.find('\n') == std::string::npos) {
        return text;
      }
    }
    const std::string own = trimmed(validation.message);
    return own.empty() ? fmt::format("failed expression: {}", trimmed(validation.expression)) : own;
  }

  static std::string trimmed(std::string_view text) {
    const std::size_t start = text.find_first_not_of(" \t\r\n\v\f");
    if (start == std::string_view::npos) {
      return {};
    }
    return std::string(text.substr(start, text.find_last_not_of(" \t\r\n\v\f") - start + 1));
  }

  const Policy& policy_;
  cel::Bindings bindings_;
  const cel::Authority& authority_;
  RequestBudget& of_request_;
  std::int64_t budget_ = cel::kObjectCostBudget;
  VariableBudget of_variables_{};
  std::size_t index_ = 0;  // of the expression that is judged
  Finding finding_{};
};

int code_of(std::string_view reason) {
  if (reason == "Unauthorized") {
    return 401;
  }
  if (reason == "Forbidden") {
    return 403;
  }
  return reason == "RequestEntityTooLarge" ? 413 : 422;
}

// All policies against one request.
class Dispatch {
 public:
  Dispatch(AdmissionAttributes& request, const AdmissionContext& context)
      : request_(request), context_(context), authority_(request, context), budget_(context) {}

  StatusResult<void> run(const Policies& policies) {
    for (const Policy& policy : policies) {
      ATHANOR_TRY_VOID(policy_run(policy));
    }
    publish();
    if (!denial_) {
      return {};
    }
    return *std::move(denial_);
  }

 private:
  StatusResult<void> policy_run(const Policy& policy) {
    auto version = match_policy(policy.match, request_, context_);
    if (!version.ok()) {
      configuration_error(policy, nullptr,
                          "failed to configure policy: " + version.error().message);
      return {};
    }
    if (*version == nullptr) {
      return {};
    }
    auto view = admission_view(request_, **version, context_);
    if (!view.ok() && is_pending(view.error())) {
      return view.error();
    }
    if (!view.ok()) {
      configuration_error(
          policy, nullptr,
          "failed to configure policy: failed to convert object version: " + view.error().message);
      return {};
    }
    for (const PolicyBinding& binding : policy.bindings) {
      ATHANOR_TRY_VOID(binding_run(policy, binding, *view));
    }
    return {};
  }

  StatusResult<void> binding_run(const Policy& policy, const PolicyBinding& binding,
                                 const AdmissionView& view) {
    auto matched = match_policy(binding.match, request_, context_);
    if (!matched.ok()) {
      configuration_error(policy, &binding,
                          "failed to configure binding: " + matched.error().message);
      return {};
    }
    if (*matched == nullptr) {
      return {};
    }
    const PolicyParams params = collect_params(policy, binding, request_, context_);
    if (params.pending) {
      return status::pending();
    }
    if (!params.error.empty()) {
      configuration_error(policy, params.of_policy ? nullptr : &binding, params.error);
      return {};
    }
    for (const Value& param : params.found) {
      cel::Bindings bindings = admission_bindings(view);
      bindings.emplace_back("params", cel::adapt(param));
      ATHANOR_TRY(cel::Val ns, namespace_object());
      bindings.emplace_back("namespaceObject", std::move(ns));
      const Finding finding = PolicyRun(policy, std::move(bindings), authority_, budget_).run();
      if (budget_.busy()) {
        return RequestBudget::too_busy();
      }
      for (const Failure& failure : finding.failures) {
        note(policy, binding, failure);
      }
      for (const auto& [key, text] : finding.annotations) {
        std::vector<std::string>& known = annotations_[policy.name + "/" + key];
        if (std::ranges::find(known, text) == known.end()) {
          known.push_back(text);
        }
      }
    }
    return {};
  }

  // Null for what has no namespace.
  StatusResult<cel::Val> namespace_object() const {
    const std::string& name = request_.key.ns;
    if (name.empty() || request_.resource->storage == "namespaces") {
      return cel::Val();
    }
    const store::StoredPtr stored = context_.store.get("namespaces", {"", name});
    if (stored == nullptr) {
      return status::not_found({"namespaces", ""}, name);
    }
    static const cel::TypePtr kType =
        admission_declarations({.namespace_object = true}).at("namespaceObject");
    return cel::adapt(stored->body, kType);
  }

  void note(const Policy& policy, const PolicyBinding& binding, const Failure& failure) {
    if (binding.warns) {
      request_.warnings.push_back(
          fmt::format("Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                      policy.name, binding.name, failure.message));
    }
    if (binding.audits && context_.call != nullptr) {
      const Value failures = Value::list({Value::object({{"message", failure.message},
                                                         {"policy", policy.name},
                                                         {"binding", binding.name},
                                                         {"expressionIndex", failure.index},
                                                         {"validationActions", binding.actions}})});
      context_.call->annotate("validation.policy.admission.k8s.io/validation_failure",
                              json::print(failures));
    }
    if (binding.denies) {
      deny(fmt::format("ValidatingAdmissionPolicy '{}' with binding '{}' denied request: {}",
                       policy.name, binding.name, failure.message),
           failure.reason);
    }
  }

  void configuration_error(const Policy& policy, const PolicyBinding* binding,
                           const std::string& text) {
    if (policy.ignores_failure) {
      return;
    }
    deny(binding == nullptr
             ? fmt::format("ValidatingAdmissionPolicy '{}' denied request: {}", policy.name, text)
             : fmt::format("ValidatingAdmissionPolicy '{}' with binding '{}' denied request: {}",
                           policy.name, binding->name, text),
         {});
  }

  // The first denial is the answer.
  void deny(const std::string& message, const std::string& reason) {
    if (denial_) {
      return;
    }
    StatusError error = refuse(request_, message);
    error.reason = reason.empty() ? "Invalid" : reason;
    error.code = code_of(error.reason);
    if (error.details) {
      error.details->causes.push_back({.reason = {}, .message = message, .field = {}});
    }
    denial_ = std::move(error);
  }

  void publish() const {
    for (const auto& [key, texts] : annotations_) {
      if (context_.call != nullptr) {
        context_.call->annotate(key, fmt::format("{}", fmt::join(texts, ", ")));
      }
    }
  }

  AdmissionAttributes& request_;
  const AdmissionContext& context_;
  std::map<std::string, std::vector<std::string>> annotations_{};
  RequestAuthority authority_;
  RequestBudget budget_;
  std::optional<StatusError> denial_{};
};

}  // namespace

AdmissionStep validating_policy_step() {
  const auto cache = std::make_shared<PolicyCache>();
  return {.name = "ValidatingAdmissionPolicy",
          .mutate = {},
          .validate = [cache](AdmissionAttributes& request,
                              const AdmissionContext& context) -> StatusResult<void> {
            if (exempt_from_webhooks(request)) {
              return {};
            }
            const std::shared_ptr<const Policies> policies = cache->policies(context.store);
            return policies->empty() ? StatusResult<void>()
                                     : Dispatch(request, context).run(*policies);
          }};
}

}  // namespace athanor::apiserver
