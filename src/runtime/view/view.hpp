// SPDX-License-Identifier: Apache-2.0
// View: what a controller sees: a frozen state of the caches and of observations of the outside
// world. Every read is recorded, absence too, so that a change re-queues exactly those who read it
// (docs/engine.md 2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/describe.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/totals.hpp"

namespace athanor {

// The dependencies of a list. Labels are ANDed equalities. `index` names one of the engine's
// indexes: "owner" (value: owner uid), "node" (pods by spec.nodeName), or one that an Operator
// declares.
struct Select {
  std::string ns{};
  std::vector<std::pair<std::string, std::string>> labels{};
  std::string index{};
  std::string index_value{};
  friend bool operator==(const Select&, const Select&) = default;
};

// One object's part of the sums over a list. Pure: the engine keeps the sums up to date object
// by object.
using Measure = void (*)(const Object& object, Totals& totals);

// Groups the objects of a list and orders each group: by `place` (as bytes), then by key. Pure: the
// engine keeps the order up to date object by object.
struct Ranking {
  std::string (*group)(const Object& object) = nullptr;
  std::string (*place)(const Object& object) = nullptr;
  friend bool operator==(const Ranking&, const Ranking&) = default;
};
struct Group {
  std::string name{};
  std::size_t size = 0;
};

class View;

// The result of a pure function of all objects of some small kinds, and of nothing else: the engine
// keeps it until one of them changes.
struct Derivation {
  std::span<const Kind* const> kinds{};
  std::shared_ptr<const void> (*make)(const View& view) = nullptr;
  // Returns true if both states of an object make the same: a change of status that all keys write
  // would otherwise cost each of them a derivation. Pure; nullptr: every change makes a difference.
  bool (*overlooks)(const Kind& kind, const Object& before, const Object& after) = nullptr;
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
  // Lists in order of namespace and name.
  [[nodiscard]] virtual std::vector<Object> list(const Kind& kind, const Select& select) const = 0;
  // Returns the same as View's function; by default computed from list(). The engine answers from
  // its caches when the select is an index and its value alone.
  [[nodiscard]] virtual Totals totals(const Kind& kind, const Select& select,
                                      Measure measure) const;
  [[nodiscard]] virtual std::vector<Group> groups(const Kind& kind, const Select& select,
                                                  const Ranking& ranking) const;
  [[nodiscard]] virtual std::vector<Object> ranked(const Kind& kind, const Select& select,
                                                   const Ranking& ranking, std::string_view group,
                                                   const Object* after, std::size_t limit) const;
  [[nodiscard]] virtual std::shared_ptr<const void> derived(const Derivation& derivation) const;
  [[nodiscard]] virtual Observed observe(std::string_view query, Duration max_age) const = 0;
  [[nodiscard]] virtual const Value& config(std::string_view section) const = 0;
};

// Reads of one reconcile.
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

// Reads of a frozen state of the caches. Records every read, absence too, so that a change
// re-queues the keys that read it. One run's: not thread-safe.
class View {
 public:
  View(const Snapshot& snapshot, Reads& reads) : snapshot_(snapshot), reads_(reads) {}

  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const;
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select = {}) const;
  // Reads that depend on the whole list, at a cost that does not grow with it: the sums of
  // `measure` (zeros left out), the groups of `ranking` by name, and at most `limit` objects of one
  // group behind `after` (nullptr: from the first).
  [[nodiscard]] Totals totals(const Kind& kind, const Select& select, Measure measure) const;
  [[nodiscard]] std::int64_t count(const Kind& kind, const Select& select) const;
  [[nodiscard]] std::vector<Group> groups(const Kind& kind, const Select& select,
                                          const Ranking& ranking) const;
  [[nodiscard]] std::vector<Object> ranked(const Kind& kind, const Select& select,
                                           const Ranking& ranking, std::string_view group,
                                           const Object* after, std::size_t limit) const;
  // Returns a derivation that makes a T.
  template <class T>
  [[nodiscard]] std::shared_ptr<const T> derived(const Derivation& derivation) const {
    return std::static_pointer_cast<const T>(derive(derivation));
  }
  // Returns what is known, without a call, and makes the engine ask when that is older than
  // max_age.
  [[nodiscard]] Observed observe(std::string_view query, Duration max_age) const;
  // Returns the settings of a section ("fournos"), fixed for the run.
  [[nodiscard]] const Value& config(std::string_view section) const {
    return snapshot_.config(section);
  }

  // Reads typed: T is a described struct with `Object object` and `static const Kind& kind()`.
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
  void note(const Kind& kind, const Select& select) const;
  [[nodiscard]] std::shared_ptr<const void> derive(const Derivation& derivation) const;

  const Snapshot& snapshot_;
  Reads& reads_;
};

}  // namespace athanor
