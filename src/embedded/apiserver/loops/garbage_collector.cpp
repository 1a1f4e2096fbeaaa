// SPDX-License-Identifier: Apache-2.0
// Garbage collection over ownerReferences (docs/spec/apiserver.md 17.2). The store's owner index is
// the graph; this loop only notes which objects may have something to do and looks at each one
// afresh.
#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "embedded/apiserver/loops/control_loop.hpp"
#include "embedded/apiserver/loops/loop_requests.hpp"
#include "kube/value/object.hpp"

namespace athanor::apiserver {
namespace {

constexpr Duration kRetry = std::chrono::seconds(1);
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";

struct Item {
  std::string resource{};
  Key key{};
  friend auto operator<=>(const Item&, const Item&) = default;
};

enum class OwnerState : std::uint8_t { Present, Absent, Waiting, Unresolvable };

class GarbageCollector final : public ControlLoop {
 public:
  explicit GarbageCollector(const LoopContext& context)
      : store_(context.store),
        registry_(context.registry),
        requests_(context.server, "generic-garbage-collector") {}

  void start() override {
    for (const std::string& resource : store_.resources()) {
      const auto page = store_.list(resource, {});
      if (!page.ok()) {
        continue;
      }
      for (const store::StoredPtr& stored : page->items) {
        note(*stored);
      }
    }
  }

  void feed(std::span<const store::EventPtr> events) override {
    for (const store::EventPtr& event : events) {
      if (event->type == store::Event::Type::Deleted) {
        gone_.push_back(std::string(Object(event->object->body).uid()));
        note_owners(event->object->body, event->object->key.ns);
      } else if (event->previous == nullptr || !same_owners(*event->previous, *event->object)) {
        note(*event->object);
        if (event->previous != nullptr) {  // an owner that it has left may wait for it no longer
          note_owners(event->previous->body, event->object->key.ns);
        }
      }
    }
  }

  std::optional<Instant> run(Instant now) override {
    while (!gone_.empty()) {
      const std::string uid = std::move(gone_.front());
      gone_.pop_front();
      for (const store::StoredPtr& dependent : store_.owned_by(uid)) {
        due_.insert({dependent->resource, dependent->key});
      }
    }
    if (retry_at_ && *retry_at_ <= now) {
      due_.merge(failed_);
      failed_.clear();
      retry_at_.reset();
    }
    const std::set<Item> batch = std::exchange(due_, {});
    for (const Item& item : batch) {
      if (!look_at(item, now)) {
        failed_.insert(item);
        retry_at_ = now + kRetry;
      }
    }
    // What this run itself caused comes back as events; only retries need a wake-up.
    return retry_at_;
  }

 private:
  // Of an object that has what owners it had there is nothing to judge anew: what becomes of them
  // is an event of theirs.
  static bool same_owners(const store::Stored& before, const store::Stored& after) {
    const Value& metadata = after.body["metadata"];
    return !metadata.contains("deletionTimestamp") &&
           metadata["ownerReferences"] == before.body["metadata"]["ownerReferences"];
  }

  void note(const store::Stored& stored) {
    const Value& metadata = stored.body["metadata"];
    if (!metadata["ownerReferences"].empty() || metadata.contains("deletionTimestamp")) {
      due_.insert({stored.resource, stored.key});
    }
  }

  // The owners of a deleted object may have waited for it.
  void note_owners(const Value& body, const std::string& ns) {
    const ResourceTablePtr table = registry_.table();
    for (const OwnerReference& owner : Object(body).owners()) {
      const ResourceInfo* resource = table->by_kind(owner.api_version, owner.kind);
      if (resource != nullptr) {
        due_.insert({resource->storage, {resource->namespaced ? ns : std::string{}, owner.name}});
      }
    }
  }

  // False: something failed, look again later.
  bool look_at(const Item& item, Instant now) {
    const store::StoredPtr stored = store_.get(item.resource, item.key);
    const ResourceTablePtr table = registry_.table();
    const ResourceInfo* resource = table->by_storage(item.resource);
    if (!stored || resource == nullptr) {
      return true;
    }
    const Object object(stored->body);
    if (object.deleting()) {
      if (object.has_finalizer(kOrphan)) {
        return orphan_dependents(*table, *resource, object, now);
      }
      if (object.has_finalizer(kForeground)) {
        return delete_dependents_first(*table, *resource, object, now);
      }
      return true;
    }
    return judge_owners(*table, *resource, object, now);
  }

  [[nodiscard]] OwnerState owner_state(const ResourceTable& table, const ResourceInfo& dependent,
                                       const Object& object,
                                       const OwnerReference& reference) const {
    const ResourceInfo* resource = table.by_kind(reference.api_version, reference.kind);
    if (resource == nullptr || (resource->namespaced && !dependent.namespaced)) {
      return OwnerState::Unresolvable;
    }
    const Key key{resource->namespaced ? std::string(object.ns()) : std::string{}, reference.name};
    const store::StoredPtr stored = store_.get(resource->storage, key);
    if (!stored) {
      return OwnerState::Absent;
    }
    const Object owner(stored->body);
    if (owner.uid() != reference.uid) {
      return OwnerState::Absent;
    }
    return owner.deleting() && owner.has_finalizer(kForeground) ? OwnerState::Waiting
                                                                : OwnerState::Present;
  }

  bool judge_owners(const ResourceTable& table, const ResourceInfo& resource, const Object& object,
                    Instant now) {
    std::vector<OwnerReference> absent;
    std::vector<OwnerReference> waiting;
    bool live = false;
    for (const OwnerReference& reference : object.owners()) {
      switch (owner_state(table, resource, object, reference)) {
        case OwnerState::Absent:
          absent.push_back(reference);
          break;
        case OwnerState::Waiting:
          waiting.push_back(reference);
          break;
        case OwnerState::Present:
          live = true;
          break;
        case OwnerState::Unresolvable:
          return report_unresolvable(table, resource, object, reference, now);
      }
    }
    if (live) {  // it stays; owners that wait for its end need not
      absent.insert(absent.end(), waiting.begin(), waiting.end());
      return absent.empty() || drop_references(resource, object, absent, now);
    }
    if (waiting.empty() && absent.empty()) {
      return true;
    }
    const std::string_view policy =
        !waiting.empty() && has_blocking_dependents(object) ? "Foreground" : "Background";
    return requests_.remove(resource, object.key(), object.uid(), policy, now).ok();
  }

  [[nodiscard]] bool has_blocking_dependents(const Object& owner) const {
    const auto dependents = store_.owned_by(owner.uid());
    return std::ranges::any_of(dependents,
                               [&](const store::StoredPtr& d) { return blocks(*d, owner.uid()); });
  }

  static bool blocks(const store::Stored& dependent, std::string_view owner_uid) {
    const auto owners = Object(dependent.body).owners();
    return std::ranges::any_of(owners, [&](const OwnerReference& o) {
      return o.uid == owner_uid && o.block_owner_deletion;
    });
  }

  bool drop_references(const ResourceInfo& resource, const Object& object,
                       const std::vector<OwnerReference>& dropped, Instant now) {
    Value kept = Value::list();
    for (const Value& reference : object.metadata()["ownerReferences"].items()) {
      const bool drop = std::ranges::any_of(
          dropped, [&](const OwnerReference& d) { return d.uid == reference["uid"].as_string(); });
      if (!drop) {
        kept.push_back(reference);
      }
    }
    return patch_metadata(resource, object, "ownerReferences", kept.empty() ? Value() : kept, now);
  }

  bool patch_metadata(const ResourceInfo& resource, const Object& object, std::string_view key,
                      Value value, Instant now) {
    Value metadata =
        Value::object({{"uid", object.uid()}, {"resourceVersion", object.resource_version()}});
    metadata.set(key, std::move(value));
    const auto outcome = requests_.merge_patch(resource, object.key(), {},
                                               Value::object({{"metadata", metadata}}), now);
    return outcome.ok() || outcome.error().code == 404;
  }

  bool remove_finalizer(const ResourceInfo& resource, const Object& object,
                        std::string_view finalizer, Instant now) {
    Value kept = Value::list();
    for (const Value& present : object.metadata()["finalizers"].items()) {
      if (present.as_string() != finalizer) {
        kept.push_back(present);
      }
    }
    return patch_metadata(resource, object, "finalizers", kept, now);
  }

  bool orphan_dependents(const ResourceTable& table, const ResourceInfo& resource,
                         const Object& owner, Instant now) {
    bool all = true;
    for (const store::StoredPtr& dependent : store_.owned_by(owner.uid())) {
      const ResourceInfo* of_dependent = table.by_storage(dependent->resource);
      OwnerReference reference{.uid = std::string(owner.uid())};
      all = of_dependent != nullptr &&
            drop_references(*of_dependent, Object(dependent->body), {reference}, now) && all;
    }
    return all && remove_finalizer(resource, owner, kOrphan, now);
  }

  // Returns true if `object` is being deleted and waits, directly or through others that wait, for
  // the end of `owner`: a circle without a first.
  [[nodiscard]] bool waits_for(const Object& object, const Object& owner) const {
    std::set<std::string> seen;
    std::deque<Object> open{object};
    while (!open.empty()) {
      const Object next = std::move(open.front());
      open.pop_front();
      if (!next.deleting() || !next.has_finalizer(kForeground) ||
          !seen.insert(std::string(next.uid())).second) {
        continue;
      }
      for (const store::StoredPtr& dependent : store_.owned_by(next.uid())) {
        if (!blocks(*dependent, next.uid())) {
          continue;
        }
        if (dependent->body["metadata"]["uid"].as_string() == owner.uid()) {
          return true;
        }
        open.emplace_back(dependent->body);
      }
    }
    return false;
  }

  bool delete_dependents_first(const ResourceTable& table, const ResourceInfo& resource,
                               const Object& owner, Instant now) {
    bool blocked = false;
    bool all = true;
    for (const store::StoredPtr& stored : store_.owned_by(owner.uid())) {
      const Object dependent(stored->body);
      const ResourceInfo* of_dependent = table.by_storage(stored->resource);
      if (of_dependent == nullptr) {
        continue;
      }
      blocked = blocked || (blocks(*stored, owner.uid()) && !waits_for(dependent, owner));
      if (!dependent.deleting()) {
        all = judge_owners(table, *of_dependent, dependent, now) && all;
      }
    }
    // Each dependent's end looks at this owner again (note_owners).
    return blocked ? all : remove_finalizer(resource, owner, kForeground, now);
  }

  // Reports an owner that can never be found, once per object; the object stays.
  bool report_unresolvable(const ResourceTable& table, const ResourceInfo& resource,
                           const Object& object, const OwnerReference& reference, Instant now) {
    const ResourceInfo* owner = table.by_kind(reference.api_version, reference.kind);
    if (owner == nullptr) {
      return false;  // the kind may be installed later
    }
    const ResourceInfo* events = table.find("", "v1", "events");
    if (events == nullptr || !told_.insert(std::string(object.uid())).second) {
      return true;
    }
    const std::string time = format_time(now);
    Value event = Value::object(
        {{"metadata", Value::object({{"generateName", fmt::format("{}.", object.name())},
                                     {"namespace", "default"}})},
         {"involvedObject", Value::object({{"kind", resource.kind},
                                           {"apiVersion", resource.api_version()},
                                           {"name", object.name()},
                                           {"uid", object.uid()}})},
         {"type", "Warning"},
         {"reason", "OwnerRefInvalidNamespace"},
         {"message",
          fmt::format("ownerRef [{}/{}, name: {}, uid: {}] does not exist in namespace \"{}\"",
                      reference.api_version, reference.kind, reference.name, reference.uid,
                      object.ns())},
         {"source", Value::object({{"component", "garbage-collector-controller"}})},
         {"firstTimestamp", time},
         {"lastTimestamp", time},
         {"count", 1}});
    return requests_.create(*events, "default", std::move(event), now).ok();
  }

  store::Store& store_;
  const ResourceRegistry& registry_;
  LoopRequests requests_;
  std::deque<std::string> gone_{};
  std::set<Item> due_{};
  std::set<Item> failed_{};
  std::optional<Instant> retry_at_{};
  std::set<std::string> told_{};
};

}  // namespace

std::unique_ptr<ControlLoop> make_garbage_collector(const LoopContext& context) {
  return std::make_unique<GarbageCollector>(context);
}

}  // namespace athanor::apiserver
