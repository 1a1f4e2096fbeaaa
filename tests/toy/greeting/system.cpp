// SPDX-License-Identifier: Apache-2.0
#include "toy/greeting/system.hpp"

#include "toy/greeting/kinds.hpp"

namespace athanor::greeting {
namespace {

std::vector<const api::CustomKind*> kinds(const Value& /*settings*/) {
  return {&greeting_kind()};
}

Plan reconcile(const View& view, const Key& key, Instant /*now*/) {
  const auto greeting = view.get(kGreeting, key);
  Plan plan;
  if (greeting) {
    plan.then(
        Status{.target = {&kGreeting, key},
               .status = Value::object({{"text", "Hello, " + greeting->spec()["who"].str() + "!"}}),
               .guard = {.uid = std::string(greeting->uid())}});
  }
  return plan;
}

const Operator& greeting_operator() {
  static constexpr const Kind* kKinds[] = {&kGreeting};
  static constexpr Access kAccess[] = {{&kGreeting, "patch", "status"}};
  static const Operator kOperator{.name = "greeting",
                                  .primary = &kGreeting,
                                  .reads = kKinds,
                                  .writes = kKinds,
                                  .reconcile = reconcile,
                                  .access = kAccess};
  return kOperator;
}

Verdict judge(const View& /*view*/, const AdmissionRequest& request, Instant /*now*/) {
  return request.object["spec"]["who"].as_string().empty()
             ? Verdict::deny("spec.who: a greeting needs somebody to greet")
             : Verdict::allow();
}

constexpr WebhookRule kRules[] = {{.kind = &kGreeting, .operations = "CREATE UPDATE"}};

Result<int> greet(VerbContext& context) {
  ATHANOR_TRY(const std::vector<Object> greetings, context.list(kGreeting, context.ns()));
  for (const Object& greeting : greetings) {
    context.print(greeting.status()["text"].str() + "\n");
  }
  return 0;
}

}  // namespace

const System& system() {
  static const System kSystem{
      .name = "greeting",
      .summary = "Greets",
      .kinds = kinds,
      .operators = {&greeting_operator()},
      .webhooks = {{.name = "vgreeting.toy.athanor.dev", .rules = kRules, .admit = judge}},
      .verbs = {{.name = "greet", .summary = "Print every greeting", .run = greet}}};
  return kSystem;
}

}  // namespace athanor::greeting
