// SPDX-License-Identifier: Apache-2.0
// View: what a controller sees: a frozen state of the caches and of observations of the outside
// world. Every read is recorded, absence too, so that a change re-queues exactly those who read it
// (stack.md 9.3).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/describe.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/kind.hpp"
#include "kube/object.hpp"
#include "kube/value.hpp"

namespace athanor {

// Which objects a list depends on. Labels are ANDed equalities. `index` names one of the engine's
// indexes: "owner" (value: owner uid), "node" (pods by spec.nodeName), or one that an Operator
// declares.
struct Select {
  std::string ns{};
  std::vector<std::pair<std::string, std::string>> labels{};
  std::string index{};
  std::string index_value{};
};

// The answer of the outside world to one query, as far as it is known.
struct Observed {
  std::optional<Value> value{};
  std::optional<Error> error{};
  Instant at{};
  bool in_flight = false;  // asked, not answered yet
};

// Where a View reads from: the engine's caches, the store itself (embedded), or a test's fixture.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
  [[nodiscard]] virtual std::optional<Object> get(const Kind& kind, const Key& key) const = 0;
  // In order of namespace and name.
  [[nodiscard]] virtual std::vector<Object> list(const Kind& kind, const Select& select) const = 0;
  [[nodiscard]] virtual Observed observe(std::string_view query, Duration max_age) const = 0;
  [[nodiscard]] virtual const Value& config(std::string_view section) const = 0;
};

// What one reconcile read.
struct Reads {
  struct ListRead {
    const Kind* kind = nullptr;
    Select select{};
  };
  std::vector<Ref> objects{};
  std::vector<ListRead> lists{};
  std::vector<std::pair<std::string, Duration>>
      observations{};  // query, max age: the engine asks when stale
};

class View {
 public:
  View(const Snapshot& snapshot, Reads& reads) : snapshot_(snapshot), reads_(reads) {}

  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const;
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select = {}) const;
  // Never calls out: returns what is known and tells the engine to ask when that is older than
  // max_age.
  [[nodiscard]] Observed observe(std::string_view query, Duration max_age) const;
  // Settings of a section ("fournos"), fixed for the run.
  [[nodiscard]] const Value& config(std::string_view section) const {
    return snapshot_.config(section);
  }

  // Typed reads: T is a described struct with `Object object` and `static const Kind& kind()`.
  template <api::Described T>
  [[nodiscard]] std::optional<T> get(const Key& key) const {
    auto object = get(T::kind(), key);
    if (!object) {
      return std::nullopt;
    }
    return api::read<T>(*object);
  }
  template <api::Described T>
  [[nodiscard]] std::vector<T> list(const Select& select = {}) const {
    std::vector<T> typed;
    for (const Object& object : list(T::kind(), select)) {
      typed.push_back(api::read<T>(object));
    }
    return typed;
  }

 private:
  const Snapshot& snapshot_;
  Reads& reads_;
};

}  // namespace athanor
