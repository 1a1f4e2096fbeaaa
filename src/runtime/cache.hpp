// SPDX-License-Identifier: Apache-2.0
// Cache: the objects of one watched kind as the engine knows them, with secondary indexes for
// selects.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kube/kind.hpp"
#include "kube/object.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/rank.hpp"
#include "runtime/view/view.hpp"

namespace athanor::runtime {

// The number in a resourceVersion; 0 when it is none.
std::uint64_t version_number(std::string_view resource_version);

// Not thread-safe: the engine owns it. managedFields are not kept.
// Secondary indexes (declared ones, "owner", "node", labels) are built when a select first uses
// them.
class Cache {
 public:
  struct Change {
    std::optional<Object> before{};
    std::optional<Object> after{};
    [[nodiscard]] const Object& newest() const { return after ? *after : *before; }
  };

  Cache(const Kind& kind, std::span<const Index> declared);

  // Takes one event; nullopt when it tells nothing new (not after version()).
  std::optional<Change> set(Object object);
  std::optional<Change> remove(const Object& last);
  // Takes a whole list at `version`; the differences, in order of keys. A list older than version()
  // is ignored.
  std::vector<Change> replace(std::vector<Object> objects, std::uint64_t version);
  // Every event up to `version` has been seen (a bookmark).
  void pass(std::uint64_t version);

  [[nodiscard]] const Kind& kind() const { return *kind_; }
  [[nodiscard]] bool synced() const { return synced_; }
  // The newest version that the watch has passed.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] const Object* find(const Key& key) const;
  [[nodiscard]] const std::map<Key, Object>& objects() const { return objects_; }
  // In order of namespace and name. O(result) with an index or a label, else O(namespace).
  [[nodiscard]] std::vector<Object> list(const Select& select) const;
  // As Snapshot's, for a select that is an index and its value alone (is_bucket): kept up to date
  // from the first call on.
  [[nodiscard]] static bool is_bucket(const Select& select);
  [[nodiscard]] Totals totals(const Select& select, Measure measure) const;
  [[nodiscard]] std::vector<Group> groups(const Select& select, const Ranking& ranking) const;
  [[nodiscard]] std::vector<Object> ranked(const Select& select, const Ranking& ranking,
                                           std::string_view group, const Object* after,
                                           std::size_t limit) const;

 private:
  struct Sum {
    Measure measure = nullptr;
    Totals totals{};  // without zeros
    void add(const Object& object, std::int64_t sign);
  };
  // Emptied buckets stay when sums or ranks hang on them.
  struct Bucket {
    std::set<Key> keys{};
    std::vector<Sum> sums{};
    std::vector<Ranks> ranks{};
    void insert(const Object& object);
    void erase(const Object& object);
  };
  using Buckets = std::map<std::string, Bucket, std::less<>>;
  struct Secondary {
    bool is_label = false;
    std::string name{};
    Buckets buckets{};
  };

  static Object slim(Object object);
  [[nodiscard]] std::vector<std::string> values(const Secondary& index, const Object& object) const;
  [[nodiscard]] Secondary& secondary(bool is_label, const std::string& name) const;
  [[nodiscard]] Bucket& bucket(const Select& select) const;
  [[nodiscard]] const Ranks& ranks(const Select& select, const Ranking& ranking) const;
  void put(const Key& key, Object object);
  void drop(const Key& key);

  const Kind* kind_;
  std::vector<Index> declared_;
  std::map<Key, Object> objects_{};
  mutable std::vector<Secondary>
      secondaries_{};  // grown by list(): which selects are used is known only then
  std::uint64_t version_ = 0;
  bool synced_ = false;
};

}  // namespace athanor::runtime
