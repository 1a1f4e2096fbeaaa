// SPDX-License-Identifier: Apache-2.0
// Cache: the objects of one watched kind as the engine knows them, with secondary indexes for
// selects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
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

  // `namespaces`: watched one by one, each with versions of its own; empty, or of a kind without
  // namespaces: one watch of everything.
  Cache(const Kind& kind, std::span<const Index> declared,
        std::span<const std::string> namespaces = {});

  // Takes one event; nullopt when it tells nothing new (not after version()).
  std::optional<Change> set(Object object);
  std::optional<Change> remove(const Object& last);
  // Takes a whole list (of the watch of namespace `ns`) at `version`; the differences, in order of
  // keys. A list older than version(ns) is ignored.
  std::vector<Change> replace(std::vector<Object> objects, std::uint64_t version,
                              const std::string& ns = {});
  // Every event up to `version` has been seen (a bookmark).
  void pass(std::uint64_t version, const std::string& ns = {});

  [[nodiscard]] const Kind& kind() const { return *kind_; }
  // Every watch has been listed; or that of namespace `ns`.
  [[nodiscard]] bool synced() const { return unlisted_ == 0; }
  [[nodiscard]] bool synced(std::string_view ns) const;
  // The newest version that the watch of objects in `ns` has passed.
  [[nodiscard]] std::uint64_t version(std::string_view ns = {}) const;
  // What the watch of objects in `ns` is called: `ns`, or nothing when there is one of everything.
  [[nodiscard]] std::string watch_of(std::string_view ns) const;
  // Whether objects in `ns` are watched at all.
  [[nodiscard]] bool watches(std::string_view ns) const { return watches_.contains(watch_of(ns)); }
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
  struct Watch {
    std::uint64_t version = 0;
    bool listed = false;
  };
  Watch* find_watch(std::string_view ns);
  std::map<std::string, Watch, std::less<>> watches_{};  // by namespace; one of everything: ""
  std::size_t unlisted_ = 0;
};

}  // namespace athanor::runtime
