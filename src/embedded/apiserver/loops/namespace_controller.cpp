// SPDX-License-Identifier: Apache-2.0
// Namespace deletion (docs/spec/apiserver.md 17.1): empties a terminating namespace, reports what
// is left, then lets it go.
#include <fmt/core.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "embedded/apiserver/loops/control_loop.hpp"
#include "embedded/apiserver/loops/loop_requests.hpp"
#include "kube/value/condition.hpp"
#include "kube/value/object.hpp"

namespace athanor::apiserver {
namespace {

constexpr Duration kNamespaceRetry = std::chrono::milliseconds(500);

// What a sweep of a namespace found.
struct Remains {
  std::map<std::string, std::size_t> resources{};  // "configmaps." to count
  std::map<std::string, std::size_t> finalizers{};
  std::string failure{};
  std::set<std::string> unknown{};  // "wardle.example.com/v1": served by an API server out of reach

  static std::string text(const std::map<std::string, std::size_t>& counts, std::string_view verb) {
    std::string joined;
    for (const auto& [name, count] : counts) {
      joined += fmt::format("{}{} {} {} resource instances", joined.empty() ? "" : ", ", name, verb,
                            count);
    }
    return joined;
  }
};

constexpr std::string_view kApiServices = "apiservices.apiregistration.k8s.io";

// "Discovery failed for some groups, ...", as clients of discovery say it.
std::string discovery_failure(const std::set<std::string>& versions) {
  std::string each;
  for (const std::string& version : versions) {
    each += fmt::format("{}{}: stale GroupVersion discovery: {}", each.empty() ? "" : ", ", version,
                        version);
  }
  return fmt::format(
      "Discovery failed for some groups, {} failing: unable to retrieve the complete list of "
      "server APIs: {}",
      versions.size(), each);
}

class NamespaceController final : public ControlLoop {
 public:
  explicit NamespaceController(const LoopContext& context)
      : store_(context.store),
        registry_(context.registry),
        requests_(context.server, "namespace-controller") {}

  void start() override {
    if (const auto page = store_.list("namespaces", {}); page.ok()) {
      for (const store::StoredPtr& stored : page->items) {
        note(*stored);
      }
    }
  }

  void feed(std::span<const store::EventPtr> events) override {
    for (const store::EventPtr& event : events) {
      const bool deleted = event->type == store::Event::Type::Deleted;
      if (event->object->resource == "namespaces") {
        if (deleted) {
          terminating_.erase(event->object->key.name);
        } else {
          note(*event->object);
        }
      } else if (event->object->resource == kApiServices) {
        due_.insert(terminating_.begin(), terminating_.end());
      } else if (terminating_.contains(event->object->key.ns)) {
        due_.insert(event->object->key.ns);
      }
    }
  }

  std::optional<Instant> run(Instant now) override {
    if (retry_at_ && *retry_at_ <= now) {
      due_.merge(failed_);
      failed_.clear();
      retry_at_.reset();
    }
    for (const std::string& name : std::exchange(due_, {})) {
      if (!empty_out(name, now)) {
        failed_.insert(name);
        retry_at_ = now + kNamespaceRetry;
      }
    }
    return retry_at_;
  }

 private:
  void note(const store::Stored& stored) {
    if (stored.body["metadata"].contains("deletionTimestamp")) {
      terminating_.insert(stored.key.name);
      due_.insert(stored.key.name);
    }
  }

  // True when there is nothing to come back for by time alone.
  bool empty_out(const std::string& name, Instant now) {
    const store::StoredPtr stored = store_.get("namespaces", {"", name});
    if (!stored || !Object(stored->body).deleting()) {
      return true;
    }
    const ResourceTablePtr table = registry_.table();
    Remains remains = sweep(*table, name, now);
    remains.unknown = unreachable_versions();
    const ResourceInfo* namespaces = table->find("", "v1", "namespaces");
    if (namespaces == nullptr) {
      return false;
    }
    if (!report(*namespaces, name, remains, now)) {
      return false;
    }
    if (!remains.resources.empty() || !remains.failure.empty() || !remains.unknown.empty()) {
      return remains.failure.empty();  // what is left ends with events of its own
    }
    return finalize(*namespaces, name, now);
  }

  // Versions of aggregated API servers that may have objects in any namespace and do not answer.
  [[nodiscard]] std::set<std::string> unreachable_versions() const {
    std::set<std::string> versions;
    const auto page = store_.list(kApiServices, {});
    if (!page.ok()) {
      return versions;
    }
    for (const store::StoredPtr& stored : page->items) {
      const Value& body = stored->body;
      if (body["spec"]["service"].is_object() &&
          !condition_is(body["status"]["conditions"], "Available", "True")) {
        versions.insert(fmt::format("{}/{}", body["spec"]["group"].as_string(),
                                    body["spec"]["version"].as_string()));
      }
    }
    return versions;
  }

  // Deletes everything in the namespace, pods first: the rest stays until they have ended, since
  // what they use must not go before they do. Counts what stays.
  Remains sweep(const ResourceTable& table, const std::string& name, Instant now) {
    std::vector<const ResourceInfo*> resources;
    std::set<std::string> seen;
    for (const auto& info : table.all()) {
      const ResourceInfo* resource = table.by_storage(info->storage);
      if (info->namespaced && info->stored && resource != nullptr && resource->has_verb("delete") &&
          seen.insert(info->storage).second) {
        resources.insert(resource->storage == "pods" ? resources.begin() : resources.end(),
                         resource);
      }
    }
    Remains remains;
    for (const ResourceInfo* resource : resources) {
      sweep_resource(*resource, name, now, remains);
      if (resource->storage == "pods" && !remains.resources.empty()) {
        break;
      }
    }
    return remains;
  }

  void sweep_resource(const ResourceInfo& resource, const std::string& name, Instant now,
                      Remains& remains) {
    if (store_.count(resource.storage, name) == 0) {
      return;
    }
    const auto page = store_.list(resource.storage, {.ns = name});
    if (!page.ok()) {
      remains.failure = page.error().message;
      return;
    }
    for (const store::StoredPtr& stored : page->items) {
      const Object object(stored->body);
      if (!object.deleting()) {
        if (const auto outcome =
                requests_.remove(resource, stored->key, object.uid(), "Background", now);
            !outcome.ok()) {
          remains.failure = outcome.error().message;
        }
      }
      const store::StoredPtr left = store_.get(resource.storage, stored->key);
      if (!left) {
        continue;
      }
      ++remains.resources[fmt::format("{}.{}", resource.plural, resource.group)];
      for (const Value& finalizer : left->body["metadata"]["finalizers"].items()) {
        ++remains.finalizers[finalizer.str()];
      }
    }
  }

  // Writes the conditions that say why the namespace is still there. False: they could not be
  // written.
  bool report(const ResourceInfo& namespaces, const std::string& name, const Remains& remains,
              Instant now) {
    const store::StoredPtr stored = store_.get("namespaces", {"", name});
    if (!stored) {
      return true;
    }
    Value conditions = stored->body["status"]["conditions"];
    const auto set = [&](const char* type, bool problem, const char* reason,
                         const std::string& message) {
      set_condition(conditions,
                    {.type = type,
                     .status = problem ? "True" : "False",
                     .reason = reason,
                     .message = message},
                    now);
    };
    if (remains.unknown.empty()) {
      set("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
          "All resources successfully discovered");
    } else {
      set("NamespaceDeletionDiscoveryFailure", true, "DiscoveryFailed",
          discovery_failure(remains.unknown));
    }
    set("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
        "All legacy kube types successfully parsed");
    if (remains.failure.empty()) {
      set("NamespaceDeletionContentFailure", false, "ContentDeleted",
          "All content successfully deleted, may be waiting on finalization");
    } else {
      set("NamespaceDeletionContentFailure", true, "ContentDeletionFailed",
          fmt::format("Failed to delete all resource types, 1 remaining: {}", remains.failure));
    }
    if (remains.resources.empty()) {
      set("NamespaceContentRemaining", false, "ContentRemoved", "All content successfully removed");
    } else {
      set("NamespaceContentRemaining", true, "SomeResourcesRemain",
          fmt::format("Some resources are remaining: {}", Remains::text(remains.resources, "has")));
    }
    if (remains.finalizers.empty()) {
      set("NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers",
          "All content-preserving finalizers finished");
    } else {
      set("NamespaceFinalizersRemaining", true, "SomeFinalizersRemain",
          fmt::format("Some content in the namespace has finalizers remaining: {}",
                      Remains::text(remains.finalizers, "in")));
    }
    if (conditions == stored->body["status"]["conditions"] ||
        (remains.resources.empty() && remains.failure.empty() && remains.unknown.empty())) {
      return true;  // nothing new, or about to go
    }
    Value object = stored->body;
    object.set_path({"status", "conditions"}, std::move(conditions));
    const auto outcome = requests_.put(namespaces, {"", name}, "status", std::move(object), now);
    return outcome.ok() || outcome.error().code == 404;
  }

  bool finalize(const ResourceInfo& namespaces, const std::string& name, Instant now) {
    const store::StoredPtr stored = store_.get("namespaces", {"", name});
    if (!stored) {
      return true;
    }
    Value object = stored->body;
    Value kept = Value::list();
    for (const Value& finalizer : object["spec"]["finalizers"].items()) {
      if (finalizer.as_string() != "kubernetes") {
        kept.push_back(finalizer);
      }
    }
    if (kept.size() == object["spec"]["finalizers"].size()) {
      return true;  // done here; metadata.finalizers belong to others
    }
    object.member("spec").set("finalizers", kept);
    const auto outcome = requests_.put(namespaces, {"", name}, "finalize", std::move(object), now);
    return outcome.ok() || outcome.error().code == 404;
  }

  store::Store& store_;
  const ResourceRegistry& registry_;
  LoopRequests requests_;
  std::set<std::string> terminating_{};
  std::set<std::string> due_{};
  std::set<std::string> failed_{};
  std::optional<Instant> retry_at_{};
};

}  // namespace

std::unique_ptr<ControlLoop> make_namespace_controller(const LoopContext& context) {
  return std::make_unique<NamespaceController>(context);
}

}  // namespace athanor::apiserver
