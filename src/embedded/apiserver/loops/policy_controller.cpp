// SPDX-License-Identifier: Apache-2.0
// Type-checks ValidatingAdmissionPolicies: status.observedGeneration and status.typeChecking
// (docs/spec/apiserver.md 15.3). It writes to the store, guarded by the policy's revision.
#include <set>
#include <string>
#include <utility>

#include "embedded/apiserver/loops/control_loop.hpp"
#include "embedded/apiserver/policies/type_check.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kPolicies = "validatingadmissionpolicies.admissionregistration.k8s.io";

class PolicyController final : public ControlLoop {
 public:
  explicit PolicyController(const LoopContext& context)
      : store_(context.store), registry_(context.registry) {}

  void start() override {
    if (const auto page = store_.list(kPolicies, {}); page.ok()) {
      for (const store::StoredPtr& stored : page->items) {
        due_.insert(stored->key.name);
      }
    }
  }

  void feed(std::span<const store::EventPtr> events) override {
    for (const store::EventPtr& event : events) {
      if (event->object->resource == kPolicies && event->type != store::Event::Type::Deleted) {
        due_.insert(event->object->key.name);
      }
    }
  }

  std::optional<Instant> run(Instant now) override {
    for (const std::string& name : std::exchange(due_, {})) {
      check(name, now);
    }
    return std::nullopt;
  }

 private:
  void check(const std::string& name, Instant now) {
    const store::StoredPtr stored = store_.get(kPolicies, {"", name});
    if (stored == nullptr) {
      return;
    }
    const Value& generation = stored->body["metadata"]["generation"];
    if (stored->body["status"]["observedGeneration"] == generation) {
      return;
    }
    const Value warnings = expression_warnings(stored->body, *registry_.table());
    Value result = Value::object();
    if (!warnings.empty()) {
      result.set("expressionWarnings", warnings);
    }
    Value changed = stored->body;
    changed.member("status").set("observedGeneration", generation);
    changed.member("status").set("typeChecking", std::move(result));
    const store::Write write{.resource = std::string(kPolicies),
                             .key = stored->key,
                             .body = std::move(changed),
                             .expected = stored->revision};
    if (!store_.commit({&write, 1}, now).ok()) {
      due_.insert(name);  // another client was faster; its event comes, too
    }
  }

  store::Store& store_;
  const ResourceRegistry& registry_;
  std::set<std::string> due_{};
};

}  // namespace

std::unique_ptr<ControlLoop> make_policy_controller(const LoopContext& context) {
  return std::make_unique<PolicyController>(context);
}

}  // namespace athanor::apiserver
