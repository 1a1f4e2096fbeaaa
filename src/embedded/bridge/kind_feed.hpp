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

// Returns a stored object under the kind's own version (conversion None: only apiVersion differs).
Object as_kind(const Kind& kind, const Value& body);

// Immutable; any thread. Kinds must outlive it. An object stored in another version of its group is
// handed on under the version asked for (conversion None: only apiVersion differs).
class KindFeed {
 public:
  explicit KindFeed(std::span<const Kind* const> kinds);

  // Appends the event once for each watched kind of its resource.
  void convert(const store::Event& event, std::vector<runtime::WatchEvent>& out) const;
  [[nodiscard]] bool watches(std::string_view resource) const;
  [[nodiscard]] std::span<const Kind* const> kinds_of(std::string_view resource) const;
  // The kind's objects now, or exactly at a revision of the past.
  [[nodiscard]] Result<runtime::Relisted> list(const store::Store& store, const Kind& kind,
                                               std::optional<store::Revision> exactly = {}) const;
  [[nodiscard]] static std::string resource_of(const Kind& kind);

 private:
  std::map<std::string, std::vector<const Kind*>, std::less<>> kinds_{};  // by resource
};

}  // namespace athanor::bridge
