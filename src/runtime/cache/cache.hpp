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

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/cache/kept_objects.hpp"
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
  // namespaces: one watch of everything. `warm`: as of KeptObjects.
  Cache(const Kind& kind, std::span<const Index> declared,
        std::span<const std::string> namespaces = {}, std::size_t warm = KeptObjects::kAll);

  // Takes one event; nullopt when it brings nothing new (not after version()).
  std::optional<Change> set(Object object);
  std::optional<Change> remove(const Object& last);
  // Takes a part of a list of the watch of namespace `ns`, `first`: which begins with it. Nothing
  // of it shows before the list is whole.
  void add(const std::vector<Object>& objects, bool first, const std::string& ns = {});
  // One difference between what a whole list says and what was known. change() has the objects.
  struct Difference {
    const Key& key;
    bool gone = false;
    std::function<Change()> change{};
  };
  // The list is whole, at `version`. Visits the differences, those that are gone first, each in
  // order of keys. A list older than version(ns) is ignored.
  void replace(std::uint64_t version, const std::string& ns,
               const std::function<void(const Difference& difference)>& visit);
  // add() and replace() of a list in one part; what changed.
  std::vector<Change> replace(const std::vector<Object>& objects, std::uint64_t version,
                              const std::string& ns = {});
  // Every event up to `version` has been seen (a bookmark).
  void pass(std::uint64_t version, const std::string& ns = {});

  [[nodiscard]] const Kind& kind() const { return *kind_; }
  // Another number after every change of an object.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  // Every watch has been listed; or that of namespace `ns`.
  [[nodiscard]] bool synced() const { return unlisted_ == 0; }
  [[nodiscard]] bool synced(std::string_view ns) const;
  // The newest version that the watch of objects in `ns` has passed.
  [[nodiscard]] std::uint64_t version(std::string_view ns = {}) const;
  // What the watch of objects in `ns` is called: `ns`, or nothing when there is one of everything.
  [[nodiscard]] std::string watch_of(std::string_view ns) const;
  // What the watches are called, in order.
  [[nodiscard]] std::vector<std::string> watches() const;
  // Whether objects in `ns` are watched at all.
  [[nodiscard]] bool watches(std::string_view ns) const { return watches_.contains(watch_of(ns)); }
  // Valid until the object changes, or rest().
  [[nodiscard]] const Object* find(const Key& key) const;
  [[nodiscard]] const KeptObjects& objects() const { return objects_; }
  // Packs what has not been used lately; what find() returned is not to be used any more.
  void rest(Instant now) { objects_.rest(now); }
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
    void replace(const Object& before, const Object& after);

   private:
    [[nodiscard]] Totals share_of(const Object& object) const;
    void add(const Totals& share, std::int64_t sign);
  };
  // Emptied buckets stay when sums or ranks hang on them.
  struct Bucket {
    std::set<Key> keys{};
    std::vector<Sum> sums{};
    std::vector<Ranks> ranks{};
    void insert(const Object& object);
    void erase(const Object& object);
    // For one that stays.
    void replace(const Object& before, const Object& after);
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
  // `known`: the object that it takes the place of, if any.
  void put(const Key& key, Object object, const Object* known);
  void drop(const Key& key);
  void file(const Object& object);
  void unfile(const Object& object);
  static void unfile(Secondary& index, const std::vector<std::string>& values,
                     const Object& object);
  void refile(const Object& before, const Object& after);

  const Kind* kind_;
  std::vector<Index> declared_;
  KeptObjects objects_;
  mutable std::vector<Secondary>
      secondaries_{};  // grown by list(): which selects are used is known only then
  struct Watch {
    std::uint64_t version = 0;
    bool listed = false;
    std::uint32_t list = 0;  // number of the one under way
  };
  Watch* find_watch(std::string_view ns);
  std::map<std::string, Watch, std::less<>> watches_{};  // by namespace; one of everything: ""
  std::size_t unlisted_ = 0;
  std::uint32_t lists_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace athanor::runtime
