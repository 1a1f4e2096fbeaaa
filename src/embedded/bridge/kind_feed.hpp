// SPDX-License-Identifier: Apache-2.0
// KindFeed: the store's events and lists as the engine's inputs.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "embedded/store/store.hpp"
#include "runtime/engine/engine.hpp"

namespace athanor::bridge {

// Converts an object that is stored in another version to the kind's; empty: only apiVersion
// differs.
using StoredForms = std::function<Result<Value>(const Kind& kind, const Value& body)>;

// Returns a stored object under the kind's own version.
Object as_kind(const Kind& kind, const Value& body, const StoredForms& forms = {});

// Immutable; any thread. Kinds must outlive it. An object stored in another version of its group is
// handed on under the version asked for.
class KindFeed {
 public:
  explicit KindFeed(std::span<const Kind* const> kinds, StoredForms forms = {});

  // Appends the event once for each watched kind of its resource.
  void convert(const store::Event& event, std::vector<runtime::WatchEvent>& out) const;
  [[nodiscard]] bool watches(std::string_view resource) const;
  [[nodiscard]] std::span<const Kind* const> kinds_of(std::string_view resource) const;
  // Lists the kind's objects now, or exactly at a revision of the past.
  [[nodiscard]] Result<runtime::Relisted> list(const store::Store& store, const Kind& kind,
                                               std::optional<store::Revision> exactly = {}) const;
  [[nodiscard]] static std::string resource_of(const Kind& kind);

 private:
  std::map<std::string, std::vector<const Kind*>, std::less<>> kinds_{};  // by resource
  StoredForms forms_{};
};

}  // namespace athanor::bridge
