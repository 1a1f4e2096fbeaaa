// SPDX-License-Identifier: Apache-2.0
// One run of the controller over one AppWrapper: what it sees, and the status it writes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"
#include "systems/appwrapper/model/fault_tolerance.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/settings.hpp"

namespace athanor::appwrapper {

// Inputs of one run; refers to the view, the settings and the AppWrapper.
struct Context {
  const View& view;
  const Settings& settings;
  const AppWrapper& app;
  Limits limits{};
  std::vector<std::vector<PodSet>> pod_sets{};  // of each component
  Instant now{};

  [[nodiscard]] const Object& object() const { return app.object; }
  [[nodiscard]] std::string_view ns() const { return app.object.ns(); }
  [[nodiscard]] std::string_view name() const { return app.object.name(); }
  [[nodiscard]] Ref ref() const { return {&kAppWrapper, app.object.key()}; }
  [[nodiscard]] bool is(std::string_view type) const;  // the condition is True
  // Returns the time of a condition's last change of status; nullopt: there is none.
  [[nodiscard]] std::optional<Instant> changed_at(std::string_view type) const;
  // Returns the time at which the phase was entered (B-3); of objects without PhaseChanged the time
  // of the condition `otherwise`, else now.
  [[nodiscard]] Instant entered(std::string_view otherwise) const;
  [[nodiscard]] Emit event(std::string_view reason, std::string note) const;
};

// The next status, built from the one in the view. Written as one step.
class StatusEdit {
 public:
  explicit StatusEdit(const Context& context);

  // Enters a phase: one phase a write.
  StatusEdit& enter(std::string_view phase);
  StatusEdit& set(std::string_view type, bool truth, std::string_view reason,
                  std::string_view message = {});
  // Sets a condition to False where it is True now.
  StatusEdit& clear(std::string_view type, std::string_view reason, std::string_view message = {});
  StatusEdit& count_reset(std::int64_t by);
  // Resets to the state before the first run: no reset counted, of components the PodSets alone.
  StatusEdit& forget();
  // Sets the condition ResourcesDeployed of a component.
  StatusEdit& component(std::size_t index, std::string_view status, std::string_view reason,
                        std::string_view message = {});
  StatusEdit& identify(std::size_t index, std::string_view name, std::string_view kind,
                       std::string_view api_version);
  [[nodiscard]] const Value& component_condition(std::size_t index) const;
  [[nodiscard]] std::string_view component_name(std::size_t index) const;
  [[nodiscard]] bool is(std::string_view type) const;
  // Returns the status so far, guarded by the uid.
  [[nodiscard]] Status step() const;

 private:
  const Context& context_;
  Value conditions_;
  Value components_;
  std::string phase_{};
  std::int64_t resetting_count_ = 0;
};

}  // namespace athanor::appwrapper
