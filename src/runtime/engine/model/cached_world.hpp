// SPDX-License-Identifier: Apache-2.0
// CachedWorld: the frozen state that reconciles read: caches, observations, settings.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/cache/cache.hpp"
#include "runtime/engine/model/engine_options.hpp"
#include "runtime/engine/model/observations.hpp"
#include "runtime/view/view.hpp"

namespace athanor::runtime {

// Not thread-safe: the engine owns it. There is a cache for every kind that an operator reads.
class CachedWorld final : public Snapshot {
 public:
  // Requires that `options` and `observations` outlive it.
  CachedWorld(std::span<const Operator* const> operators, std::vector<Index> indexes,
              const EngineOptions& options, const Observations& observations);

  // Implements Snapshot.
  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override;
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override;
  [[nodiscard]] Totals totals(const Kind& kind, const Select& select,
                              Measure measure) const override;
  [[nodiscard]] std::vector<Group> groups(const Kind& kind, const Select& select,
                                          const Ranking& ranking) const override;
  [[nodiscard]] std::vector<Object> ranked(const Kind& kind, const Select& select,
                                           const Ranking& ranking, std::string_view group,
                                           const Object* after, std::size_t limit) const override;
  [[nodiscard]] std::shared_ptr<const void> derived(const Derivation& derivation) const override;
  [[nodiscard]] Observed observe(std::string_view query, Duration max_age) const override;
  [[nodiscard]] const Value& config(std::string_view section) const override;

  // Returns the kinds, sorted by name.
  [[nodiscard]] const std::vector<const Kind*>& kinds() const { return kinds_; }
  // Requires a kind that an operator reads.
  [[nodiscard]] Cache& cache(const Kind& kind);
  // Returns nullptr for a kind without a cache.
  [[nodiscard]] const Cache* find(const Kind& kind) const;
  // Returns the cache whose watch sees this object; nullptr if none does.
  [[nodiscard]] const Cache* watching(const Ref& ref) const;
  // Lets the caches pack what was not used lately. Requires that no object of a cache is in use.
  void pack_unused(Instant now);
  // Makes derivations and sums anew at each read if `anew`, to verify that kept ones are up to
  // date.
  void derive_anew(bool anew) { derive_anew_ = anew; }

 private:
  // The result of a derivation.
  struct Derived {
    std::vector<std::uint64_t> changes{};  // of the caches of its kinds, when it was made
    std::shared_ptr<const void> made{};
    std::vector<std::vector<Object>> objects{};  // by kind; of one that overlooks changes
  };
  // Notes changes that the derivation overlooks. False: it must be made anew.
  bool keep(Derived& kept, const Derivation& derivation,
            const std::vector<std::uint64_t>& changes) const;

  const EngineOptions& options_;
  const Observations& observations_;
  std::vector<Index> indexes_;
  std::map<const Kind*, Cache, KindOrder> caches_{};
  std::unordered_map<const Kind*, Cache*> by_address_{};  // the same caches: looked up all the time
  std::vector<const Kind*> kinds_{};
  mutable std::map<decltype(Derivation::make), Derived> kept_derived_{};
  bool derive_anew_ = false;
};

// Returns the indexes that the operators declare.
std::vector<Index> declared_indexes(std::span<const Operator* const> operators);

}  // namespace athanor::runtime
