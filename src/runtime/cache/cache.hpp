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

#include "kube/apply/rival_fields.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/cache/kept_objects.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/rank.hpp"
#include "runtime/view/view.hpp"

namespace athanor::runtime {

// Returns the number in a resourceVersion; 0 when it is none.
std::uint64_t version_number(std::string_view resource_version);
// Returns the number of an object's resourceVersion; 0: there is no object.
std::uint64_t version_of(const Object* object);

// Not thread-safe: the engine owns it. Of managedFields rivals are kept alone
// (kube/apply/rival_fields.hpp).
// Secondary indexes (declared ones, "owner", "node", labels) are built when a select first uses
// them.
class Cache {
 public:
  struct Change {
    std::optional<Object> before{};
    std::optional<Object> after{};
    [[nodiscard]] const Object& newest() const { return after ? *after : *before; }
  };

  // Watches `namespaces` one by one, each with versions of its own; empty, or of a kind without
  // namespaces: one watch of everything. `warm`: as of KeptObjects.
  // `appliers`: managers whose objects keep the fields of other writers; empty: none do.
  Cache(const Kind& kind, std::span<const Index> declared,
        std::span<const std::string> namespaces = {}, std::size_t warm = KeptObjects::kAll,
        Managers appliers = {});

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
  // Ends the list at `version`. Visits the differences, removed objects first, each in order of
  // keys. Ignores a list older than version(ns).
  void replace(std::uint64_t version, const std::string& ns,
               const std::function<void(const Difference& difference)>& visit);
  // Calls add() and replace() for a list in one part; returns the changes.
  std::vector<Change> replace(const std::vector<Object>& objects, std::uint64_t version,
                              const std::string& ns = {});
  // Records that every event up to `version` has been seen (a bookmark).
  void pass(std::uint64_t version, const std::string& ns = {});

  [[nodiscard]] const Kind& kind() const { return *kind_; }
  // Returns a number that differs after every change of an object.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  // Returns true if every watch (or that of namespace `ns`) has been listed.
  [[nodiscard]] bool synced() const { return unlisted_ == 0; }
  [[nodiscard]] bool synced(std::string_view ns) const;
  // Returns the newest version that the watch of objects in `ns` has passed.
  [[nodiscard]] std::uint64_t version(std::string_view ns = {}) const;
  // Returns the name of the watch of objects in `ns`: `ns`, or empty for one watch of everything.
  [[nodiscard]] std::string watch_of(std::string_view ns) const;
  // Returns the names of the watches, sorted.
  [[nodiscard]] std::vector<std::string> watches() const;
  // Returns true if objects in `ns` are watched at all.
  [[nodiscard]] bool watches(std::string_view ns) const { return watches_.contains(watch_of(ns)); }
  // Returns the object or nullptr; valid until the object changes, or rest().
  [[nodiscard]] const Object* find(const Key& key) const;
  [[nodiscard]] const KeptObjects& objects() const { return objects_; }
  // Packs what has not been used lately; what find() returned is not to be used any more.
  void rest(Instant now) { objects_.rest(now); }
  // Lists in order of namespace and name. O(result) with an index or a label, else O(namespace).
  [[nodiscard]] std::vector<Object> list(const Select& select) const;
  // Returns true for a select that is an index and its value alone. For such, the functions below
  // are as Snapshot's, kept up to date from the first call on.
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
    // Replaces an object that stays.
    void replace(const Object& before, const Object& after);
  };
  using Buckets = std::map<std::string, Bucket, std::less<>>;
  struct Secondary {
    bool is_label = false;
    std::string name{};
    Buckets buckets{};
  };

  [[nodiscard]] Object slim(Object object) const;
  [[nodiscard]] std::vector<std::string> values(const Secondary& index, const Object& object) const;
  [[nodiscard]] Secondary& secondary(bool is_label, const std::string& name) const;
  [[nodiscard]] Bucket& bucket(const Select& select) const;
  [[nodiscard]] const Ranks& ranks(const Select& select, const Ranking& ranking) const;
  // Stores an object. `known`: the object that it replaces, if any.
  void put(const Key& key, Object object, const Object* known);
  void drop(const Key& key);
  void file(const Object& object);
  void unfile(const Object& object);
  static void unfile(Secondary& index, const std::vector<std::string>& values,
                     const Object& object);
  void refile(const Object& before, const Object& after);

  const Kind* kind_;
  Managers appliers_;
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
