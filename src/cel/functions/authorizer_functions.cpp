// SPDX-License-Identifier: Apache-2.0
// The `authorizer` variable: authorizer.group('').resource('pods').check('get').allowed().
#include "cel/functions/functions.hpp"

namespace athanor::cel {
namespace {

constexpr std::string_view kAuthorizer = "kubernetes.authorization.Authorizer";
constexpr std::string_view kPath = "kubernetes.authorization.PathCheck";
constexpr std::string_view kGroup = "kubernetes.authorization.GroupCheck";
constexpr std::string_view kResource = "kubernetes.authorization.ResourceCheck";

// A question that is being put together; the type says how far it is.
struct QuestionNode final : OpaqueNode {
  QuestionNode(std::string_view stage_name, AccessQuestion parts)
      : stage(stage_name), question(std::move(parts)) {}
  [[nodiscard]] std::string_view type_name() const override { return stage; }
  [[nodiscard]] bool equals(const OpaqueNode& other) const override { return this == &other; }
  [[nodiscard]] std::size_t weight() const override {
    const AccessQuestion& q = question;
    return q.service_account_namespace.size() + q.service_account_name.size() + q.path.size() +
           q.group.size() + q.resource.size() + q.subresource.size() + q.ns.size() + q.name.size() +
           q.verb.size() + q.field_selector.size() + q.label_selector.size();
  }

  std::string_view stage;
  AccessQuestion question;
};

struct DecisionNode final : OpaqueNode {
  explicit DecisionNode(AccessAnswer given) : answer(std::move(given)) {}
  [[nodiscard]] std::string_view type_name() const override {
    return "kubernetes.authorization.Decision";
  }
  [[nodiscard]] bool equals(const OpaqueNode& other) const override { return this == &other; }

  AccessAnswer answer;
};

const AccessQuestion& question_of(const Val& value) {
  return static_cast<const QuestionNode&>(*value.as_opaque()).question;
}

const AccessAnswer& answer_of(const Val& value) {
  return static_cast<const DecisionNode&>(*value.as_opaque()).answer;
}

Val authorizer_node(std::string_view stage, AccessQuestion question) {
  return Val::opaque(std::make_shared<QuestionNode>(stage, std::move(question)));
}

// Sets one text of the question.
template <std::string AccessQuestion::*kMember>
Val with(const Val& target, std::string_view stage, const Val& text) {
  AccessQuestion question = question_of(target);
  question.*kMember = text.text();
  return authorizer_node(stage, std::move(question));
}

Val path(Arguments a, Runtime&) {
  return a[1].text().empty() ? Val::error("path must not be empty")
                             : with<&AccessQuestion::path>(a[0], kPath, a[1]);
}
Val group(Arguments a, Runtime&) {
  return with<&AccessQuestion::group>(a[0], kGroup, a[1]);
}
Val resource(Arguments a, Runtime&) {
  return a[1].text().empty() ? Val::error("resource must not be empty")
                             : with<&AccessQuestion::resource>(a[0], kResource, a[1]);
}
Val subresource(Arguments a, Runtime&) {
  return with<&AccessQuestion::subresource>(a[0], kResource, a[1]);
}
Val ns(Arguments a, Runtime&) {
  return with<&AccessQuestion::ns>(a[0], kResource, a[1]);
}
Val name(Arguments a, Runtime&) {
  return with<&AccessQuestion::name>(a[0], kResource, a[1]);
}

Val field_selector(Arguments a, Runtime&) {
  return with<&AccessQuestion::field_selector>(a[0], kResource, a[1]);
}
Val label_selector(Arguments a, Runtime&) {
  return with<&AccessQuestion::label_selector>(a[0], kResource, a[1]);
}

Val service_account(Arguments a, Runtime&) {
  AccessQuestion question = question_of(a[0]);
  question.service_account_namespace = a[1].text();
  question.service_account_name = a[2].text();
  return authorizer_node(kAuthorizer, std::move(question));
}

Val check(Arguments a, Runtime& runtime) {
  AccessQuestion question = question_of(a[0]);
  question.verb = a[1].text();
  AccessAnswer answer;
  if (runtime.authority() == nullptr) {
    answer.error = "no authorizer";
  } else {
    answer = runtime.authority()->ask(question);
  }
  return Val::opaque(std::make_shared<DecisionNode>(std::move(answer)));
}

Val allowed(Arguments a, Runtime&) {
  return Val::boolean(answer_of(a[0]).allowed);
}
Val reason(Arguments a, Runtime&) {
  return Val::string(answer_of(a[0]).reason);
}
Val error(Arguments a, Runtime&) {
  return Val::string(answer_of(a[0]).error);
}
Val errored(Arguments a, Runtime&) {
  return Val::boolean(!answer_of(a[0]).error.empty());
}

}  // namespace

Val authorizer_value(AccessQuestion start) {
  return start.resource.empty() ? authorizer_node(kAuthorizer, std::move(start))
                                : authorizer_node(kResource, std::move(start));
}

void add_authorizer_functions(FunctionTable& table) {
  const std::string p = "kubernetes.authorization.";
  table.add("path", "authorizer_path", p + "Authorizer.(string) -> " + p + "PathCheck", path);
  table.add("group", "authorizer_group", p + "Authorizer.(string) -> " + p + "GroupCheck", group);
  table.add("serviceAccount", "authorizer_serviceaccount",
            p + "Authorizer.(string, string) -> " + p + "Authorizer", service_account);
  table.add("resource", "groupcheck_resource", p + "GroupCheck.(string) -> " + p + "ResourceCheck",
            resource);
  const std::string resource_to_resource = p + "ResourceCheck.(string) -> " + p + "ResourceCheck";
  table.add("subresource", "resourcecheck_subresource", resource_to_resource, subresource);
  table.add("namespace", "resourcecheck_namespace", resource_to_resource, ns);
  table.add("name", "resourcecheck_name", resource_to_resource, name);
  table.add("fieldSelector", "authorizer_fieldselector", resource_to_resource, field_selector);
  table.add("labelSelector", "authorizer_labelselector", resource_to_resource, label_selector);
  table.add("check", "pathcheck_check", p + "PathCheck.(string) -> " + p + "Decision", check);
  table.add("check", "resourcecheck_check", p + "ResourceCheck.(string) -> " + p + "Decision",
            check);
  table.add("allowed", "decision_allowed", p + "Decision.() -> bool", allowed);
  table.add("reason", "decision_reason", p + "Decision.() -> string", reason);
  table.add("error", "decision_error", p + "Decision.() -> string", error);
  table.add("errored", "decision_errored", p + "Decision.() -> bool", errored);
}

}  // namespace athanor::cel
