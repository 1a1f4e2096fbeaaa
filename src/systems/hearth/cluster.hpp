// SPDX-License-Identifier: Apache-2.0
// One run of the operator on one FournosCluster, and what it writes: at most one patch of the
// object itself, or one of its status. Private to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/hearth/settings.hpp"

namespace athanor::hearth {

// What every part is given.
struct Context {
  const View& view;
  const Settings& settings;
  const api::FournosCluster& cluster;
  Instant now{};

  [[nodiscard]] const Object& object() const { return cluster.object; }
  [[nodiscard]] const api::FournosClusterSpec& spec() const { return cluster.spec; }
  [[nodiscard]] const api::FournosClusterStatus& status() const { return cluster.status; }
  [[nodiscard]] std::string name() const { return std::string(object().name()); }
  [[nodiscard]] std::string uid() const { return std::string(object().uid()); }
  [[nodiscard]] Ref ref() const { return {&api::kFournosCluster, object().key()}; }
  [[nodiscard]] Emit event(std::string_view type, std::string_view reason, std::string note) const;
};

// The one patch of the object: spec.hardware, spec.owner, metadata. Guarded by the version that was
// seen, so that a count of failures is never built on an old state.
class MainPatch {
 public:
  explicit MainPatch(const Context& context) : context_(context) {}

  void set(Value::Path path, Value value) { merge_.set_path(path, std::move(value)); }
  // Sets an annotation; Null removes it.
  void annotate(std::string_view key, Value value);
  void set_finalizers(Value finalizers) { set({"metadata", "finalizers"}, std::move(finalizers)); }
  // Goes out right behind the patch.
  void then(Emit event) { events_.then(std::move(event)); }
  [[nodiscard]] bool empty() const { return merge_.empty(); }
  // Appends the patch and the events.
  void into(Plan& plan) const;

 private:
  const Context& context_;
  Value merge_ = Value::object();
  Plan events_{};
};

// The status as it shall be. Conditions of other types stay (2.5).
class StatusWrite {
 public:
  explicit StatusWrite(const Context& context);

  void set(std::string_view key, Value value) { status_.set(key, std::move(value)); }
  // Sets a text; absent when empty.
  void set_text(std::string_view key, std::string_view text) {
    set(key, text.empty() ? Value() : Value(text));
  }
  void condition(std::string_view type, bool truth, std::string_view reason,
                 std::string_view message);
  void then(Emit event) { events_.then(std::move(event)); }
  // Appends the status step and the events.
  void into(Plan& plan);

 private:
  const Context& context_;
  Value status_ = Value::object();
  Value conditions_{};
  Plan events_{};
};

// Returns the stored condition of a type; Null when absent.
const Value& stored_condition(const Context& context, std::string_view type);

}  // namespace athanor::hearth
