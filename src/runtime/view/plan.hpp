// SPDX-License-Identifier: Apache-2.0
// Plan: what a controller wants done: an ordered list of steps that the engine carries out
// (docs/engine.md 1, 2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Conditions that must still hold when a step arrives; empty parts are not checked.
struct Guard {
  std::string uid{};
  std::string resource_version{};
};

// Server-side apply of exactly the fields in `fields`.
struct Apply {
  Ref target{};
  Value fields{};
  std::string manager{};  // empty: the operator's name
  bool force = true;
};
// AlreadyExists with the same controller owner uid (or without any owner in `object`) counts as
// success. With metadata.generateName and no name, target.key.name is empty.
struct Create {
  Ref target{};
  Value object{};
};
// Merge patch of the object or a subresource ("status", "scale"). Empty, with a version: a check.
struct Patch {
  Ref target{};
  Value merge{};
  std::string subresource{};
  Guard guard{};
};
// Status as it shall be for the keys given: the engine sends the smallest merge patch of status
// against what the view holds, or nothing. Keys absent from `status` are left alone; a Null value
// removes a key.
struct Status {
  Ref target{};
  Value status{};
  Guard guard{};
  // Field manager of a server-side apply of these keys, which another client of that name may take
  // back by applying without them; empty: a merge patch. A Null removes only what that manager
  // applied.
  std::string applied_as{};
};
// Replaces the whole object (PUT, guarded by the resource version in `object`); for subresource
// writes such as namespaces/finalize and pods/binding set `subresource` (binding is a POST).
struct Replace {
  Ref target{};
  Value object{};
  std::string subresource{};
};
enum class Propagation : std::uint8_t { Background, Foreground, Orphan };
// NotFound counts as success.
struct Delete {
  Ref target{};
  Guard guard{};
  Propagation mode = Propagation::Background;
  std::optional<std::int64_t> grace_seconds{};
};
// A Kubernetes Event about an object; equal consecutive ones are counted, not repeated.
struct Emit {
  Ref about{};
  std::string about_uid{};
  std::string type = "Normal";  // or "Warning"
  std::string reason{};
  std::string note{};
  std::string component{};  // reporting component; empty: the operator's
  std::string id{};         // of one occurrence: written once, however often it is in a plan
};
// The outside world: a verb for the executor registered under it ("process.start"). `id` is an
// idempotency key; the result comes back as an observation under the query "<verb>:<id>".
struct Act {
  std::string id{};
  std::string verb{};
  Value args{};
};
using Step = std::variant<Apply, Create, Patch, Status, Replace, Delete, Emit, Act>;

// So many steps of a plan are carried out, besides Events and Acts behind the last one. The key of
// a plan of at least this length runs again at once: controllers with long plans end them here.
inline constexpr std::size_t kStepsPerPlan = 500;

class [[nodiscard]] Plan {
 public:
  static Plan done() { return {}; }
  // Reports transient trouble: the key runs again after its backoff (the operator's, by default 5
  // ms doubling to 1000 s).
  static Plan retry(Error error);
  // Reports a final error: the key runs again when something it read changes.
  static Plan reject(Error error);

  Plan& then(Step step) & {
    steps_.push_back(std::move(step));
    return *this;
  }
  // Appends the steps of another plan and takes the earlier wake-up and the first error.
  Plan& merge(Plan other) &;
  // Runs the key again at `when` at the latest; the earliest wins.
  Plan& wake_at(Instant when) &;

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] std::vector<Step>& steps() { return steps_; }
  [[nodiscard]] const std::optional<Instant>& wake() const { return wake_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] bool retries() const { return error_.has_value() && retry_; }
  [[nodiscard]] bool empty() const { return steps_.empty() && !wake_ && !error_; }
  // Returns a stable text of all of it: property P1 compares it, scenario failures print it.
  [[nodiscard]] Value to_value() const;

 private:
  std::vector<Step> steps_{};
  std::optional<Instant> wake_{};
  std::optional<Error> error_{};
  bool retry_ = false;
};

}  // namespace athanor
