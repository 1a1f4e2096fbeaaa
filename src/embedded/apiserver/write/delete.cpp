// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/write/delete.hpp"

#include <fmt/format.h>
#include <optional>

#include <algorithm>
#include <array>

#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/request/subresource.hpp"
#include "embedded/apiserver/resources/versions.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

constexpr int kDeleteAttempts = 10;
constexpr std::int64_t kDefaultPodGrace = 30;  // seconds
constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kCrdCleanup = "customresourcecleanup.apiextensions.k8s.io";
constexpr std::array<std::string_view, 3> kProtectedNamespaces = {"default", "kube-system",
                                                                  "kube-public"};

bool contains(const Value& list, std::string_view text) {
  const auto items = list.items();
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& item) { return item.as_string() == text; });
}

// Kinds whose pods stay unless a propagation policy is given.
bool orphans_by_default(const ResourceInfo& resource) {
  return resource.storage == "jobs.batch" || resource.storage == "replicationcontrollers";
}

// The first of the two commits that end a pod. Once it is made the request has its answer: others
// may see the end and finish it, and a namesake may follow.
struct BegunEnd {
  std::optional<Deleted> deleted{};
  std::string uid{};
};

// One attempt against one stored state.
class Deletion {
 public:
  Deletion(Call& call, const DeleteOptions& options, store::StoredPtr stored, BegunEnd& begun)
      : call_(call),
        options_(options),
        stored_(std::move(stored)),
        begun_(begun),
        object_(stored_->body) {}

  StatusResult<Deleted> run() {
    if (call_.resource->conversion != nullptr) {
      // After the commit no webhook can be asked any more.
      ATHANOR_TRY(served_, to_served(*call_.resource, *stored_, call_.versions()));
    }
    ATHANOR_TRY_VOID(check_preconditions());
    ATHANOR_TRY_VOID(check_allowed());
    if (is_under_way()) {
      return Deleted{.object = shown(stored_->body), .removed = false, .revision = 0};
    }
    if (call_.resource->storage == "customresourcedefinitions.apiextensions.k8s.io") {
      mark_crd();
    }
    if (is_namespace() && !deleting()) {
      object_.set_path({"status", "phase"}, "Terminating");
    }
    const Value finalizers = wanted_finalizers();
    const std::int64_t grace = grace_seconds();
    const bool stays =
        !finalizers.empty() || (is_namespace() && !object_["spec"]["finalizers"].empty());
    if (!stays && grace == 0) {
      return end(finalizers);
    }
    set_finalizers(finalizers);
    mark_deleting(grace);
    if (object_ == stored_->body) {
      return Deleted{.object = shown(stored_->body), .removed = false, .revision = 0};
    }
    return commit(false);
  }

 private:
  [[nodiscard]] const Value& metadata() const { return object_["metadata"]; }
  [[nodiscard]] bool is_namespace() const { return call_.resource->storage == "namespaces"; }
  [[nodiscard]] bool deleting() const {
    return stored_->body["metadata"].contains("deletionTimestamp");
  }

  // The end has begun, and this deletion says nothing that counts any more.
  [[nodiscard]] bool is_under_way() const {
    if (!deleting()) {
      return false;
    }
    if (is_namespace()) {
      return !object_["spec"]["finalizers"].empty();
    }
    const Value* running = metadata().find("deletionGracePeriodSeconds");
    return call_.resource->storage == "pods" && running != nullptr && running->as_int() > 0 &&
           (!options_.grace_seconds || asked_grace(0) >= running->as_int());
  }

  // What the client says, or `otherwise`; a negative number means the shortest.
  [[nodiscard]] std::int64_t asked_grace(std::int64_t otherwise) const {
    const std::int64_t grace = options_.grace_seconds.value_or(otherwise);
    return grace < 0 ? 1 : grace;
  }

  // Namespaces report it as updates do.
  StatusResult<void> check_namespace(std::string_view uid) {
    const std::string_view revision = metadata()["resourceVersion"].as_string();
    std::string text;
    if (!options_.precondition_uid.empty() && options_.precondition_uid != uid) {
      text = fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                         options_.precondition_uid, uid);
    } else if (!options_.precondition_revision.empty() &&
               options_.precondition_revision != revision) {
      text = fmt::format(
          "Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in object "
          "meta: {}",
          options_.precondition_revision, revision);
    } else {
      return {};
    }
    return status::conflict(call_.qualified_resource(), stored_->key.name, text);
  }

  StatusResult<void> check_preconditions() {
    const auto refuse = [&](std::string_view text) -> StatusError {
      // Events are of the core group, whichever group they come through.
      const Qualified kind = call_.resource->storage == "events"
                                 ? Qualified{.name = "Event", .group = ""}
                                 : call_.qualified_kind();
      return status::conflict(kind, stored_->key.name, text);
    };
    const std::string_view uid = metadata()["uid"].as_string();
    if (is_namespace()) {
      return check_namespace(uid);
    }
    if (!options_.precondition_uid.empty() && options_.precondition_uid != uid) {
      return refuse(fmt::format(
          "the UID in the precondition ({}) does not match the UID in record ({}). The object "
          "might have been deleted and then recreated",
          options_.precondition_uid, uid));
    }
    const std::string_view revision = metadata()["resourceVersion"].as_string();
    if (!options_.precondition_revision.empty() && options_.precondition_revision != revision) {
      return refuse(fmt::format(
          "the ResourceVersion in the precondition ({}) does not match the ResourceVersion in "
          "record ({}). The object might have been modified",
          options_.precondition_revision, revision));
    }
    return {};
  }

  StatusResult<void> check_allowed() {
    const ResourceInfo& resource = *call_.resource;
    if (resource.storage == "namespaces" &&
        std::find(kProtectedNamespaces.begin(), kProtectedNamespaces.end(), stored_->key.name) !=
            kProtectedNamespaces.end()) {
      return status::forbidden(call_.qualified_resource(), stored_->key.name,
                               "this namespace may not be deleted");
    }
    if (resource.behaviour != nullptr && resource.behaviour->before_delete != nullptr) {
      ATHANOR_TRY_VOID(
          resource.behaviour->before_delete(stored_->body, call_.kind_context(options_.dry_run)));
    }
    if (call_.core.admission.empty() || options_.admitted) {
      return {};
    }
    request_.operation = Operation::Delete;
    request_.resource = &resource;
    request_.key = stored_->key;
    ATHANOR_TRY(request_.old_object, to_served(resource, *stored_, call_.versions()));
    request_.options = options_.as_sent;
    request_.user = &call_.user;
    request_.dry_run = options_.dry_run;
    ATHANOR_TRY_VOID(run_mutating(call_, request_));
    return run_validating(call_, request_);
  }

  // A CRD waits until its objects are gone (13.1).
  void mark_crd() {
    if (deleting()) {
      return;
    }
    Value& conditions = object_.member("status").member("conditions");
    set_condition(conditions,
                  {.type = "Terminating",
                   .status = "True",
                   .reason = "InstanceDeletionPending",
                   .message = "CustomResourceDefinition marked for deletion; CustomResource "
                              "deletion will begin soon"},
                  call_.now);
    Value finalizers = metadata()["finalizers"];
    if (!contains(finalizers, kCrdCleanup)) {
      finalizers.push_back(Value(kCrdCleanup));
      object_.member("metadata").set("finalizers", std::move(finalizers));
    }
  }

  // The object's finalizers with those that the policy asks for.
  [[nodiscard]] Value wanted_finalizers() const {
    const Value& present = metadata()["finalizers"];
    Propagation propagation = options_.propagation;
    if (call_.resource->storage == "events") {
      propagation = Propagation::Background;  // nothing depends on them, whatever is said
    }
    if (is_namespace() && !deleting() && options_.explicit_no_orphans) {
      propagation = Propagation::Foreground;  // namespaces alone take it that way
    }
    if (propagation == Propagation::Unset) {
      const bool decided = contains(present, kOrphan) || contains(present, kForeground);
      if (decided || !orphans_by_default(*call_.resource)) {
        return present;
      }
      propagation = Propagation::Orphan;
    }
    Value wanted = Value::list();
    for (const Value& finalizer : present.items()) {
      if (finalizer.as_string() != kOrphan && finalizer.as_string() != kForeground) {
        wanted.push_back(finalizer);
      }
    }
    if (propagation == Propagation::Orphan) {
      wanted.push_back(Value(kOrphan));
    } else if (propagation == Propagation::Foreground) {
      wanted.push_back(Value(kForeground));
    }
    return wanted == present ? present : wanted;
  }

  void set_finalizers(const Value& finalizers) {
    if (finalizers == metadata()["finalizers"]) {
      return;
    }
    if (finalizers.empty()) {
      object_.member("metadata").erase("finalizers");
    } else {
      object_.member("metadata").set("finalizers", finalizers);
    }
  }

  // How long a pod may go on; 0 for everything else.
  [[nodiscard]] std::int64_t grace_seconds() const {
    if (call_.resource->storage != "pods") {
      return 0;
    }
    const std::string_view phase = object_["status"]["phase"].as_string();
    if (object_["spec"]["nodeName"].as_string().empty() || phase == "Succeeded" ||
        phase == "Failed") {
      return 0;
    }
    return asked_grace(object_["spec"]["terminationGracePeriodSeconds"].as_int(kDefaultPodGrace));
  }

  void mark_deleting(std::int64_t grace) {
    if (!deleting()) {
      Value& metadata_value = object_.member("metadata");
      metadata_value.set("deletionTimestamp", format_time(call_.now + std::chrono::seconds(grace)));
      if (!is_namespace()) {
        metadata_value.set("deletionGracePeriodSeconds", grace);
      }
      if (call_.resource->has_generation) {
        metadata_value.set("generation", metadata_value["generation"].as_int() + 1);
      }
      return;
    }
    const std::int64_t before = metadata()["deletionGracePeriodSeconds"].as_int();
    const auto at = parse_time(metadata()["deletionTimestamp"].as_string());
    if (grace < before && at) {
      object_.member("metadata")
          .set("deletionTimestamp", format_time(*at - std::chrono::seconds(before - grace)));
      object_.member("metadata").set("deletionGracePeriodSeconds", grace);
    }
  }

  // A pod says that it ends before it is gone, unless it has said so; everything else is just gone.
  StatusResult<Deleted> end(const Value& finalizers) {
    const bool has_said = deleting() && metadata()["deletionGracePeriodSeconds"].as_int() == 0;
    if (call_.resource->storage != "pods" || has_said) {
      return commit(true);
    }
    set_finalizers(finalizers);
    mark_deleting(0);
    if (!options_.dry_run && object_ != stored_->body) {
      begun_.uid = metadata()["uid"].str();
      ATHANOR_TRY(begun_.deleted, commit(false));
      begun_.deleted->removed = true;
      stored_ = call_.core.store.get(call_.resource->storage, stored_->key);
      if (stored_ == nullptr || stored_->body["metadata"]["uid"].as_string() != begun_.uid) {
        return *begun_.deleted;
      }
      object_ = stored_->body;
    }
    return commit(true);
  }

  StatusResult<Deleted> commit(bool remove) {
    if (options_.dry_run) {
      return Deleted{.object = shown(object_), .removed = remove, .revision = 0};
    }
    std::vector<store::Write> writes = std::move(request_.extra_writes);
    store::Write write;
    write.resource = call_.resource->storage;
    write.key = stored_->key;
    write.expected = stored_->revision;
    if (!remove) {
      write.body = object_;
    }
    writes.insert(writes.begin(), std::move(write));
    if (const KindBehaviour* behaviour = call_.resource->behaviour;
        remove && behaviour != nullptr && behaviour->along != nullptr) {
      auto along = behaviour->along(Value(), stored_->body, call_.kind_context(false));
      writes.insert(writes.end(), std::make_move_iterator(along.begin()),
                    std::make_move_iterator(along.end()));
    }
    auto committed = call_.core.store.commit(writes, call_.now);
    if (!committed.ok()) {
      StatusError error = status::of(committed.error());
      error.retriable_conflict = error.code == 409 || error.code == 404;
      return error;
    }
    const store::Stored& result = *committed->front();
    Deleted deleted{.object = shown(remove ? stored_->body : result.body),
                    .removed = remove,
                    .revision = result.revision};
    if (remove) {  // the version of its end
      deleted.object.set_path({"metadata", "resourceVersion"}, std::to_string(result.revision));
    }
    return deleted;
  }

  // A stored state; in the client's version where a webhook made that.
  [[nodiscard]] Value shown(const Value& body) const {
    if (served_.is_null()) {
      return body;
    }
    Value object = served_;
    for (const std::string_view field : {"deletionTimestamp", "deletionGracePeriodSeconds",
                                         "finalizers", "generation", "resourceVersion"}) {
      if (const Value* value = body["metadata"].find(field)) {
        object.member("metadata").set(field, *value);
      }
    }
    return object;
  }

  Call& call_;
  const DeleteOptions& options_;
  store::StoredPtr stored_;
  BegunEnd& begun_;
  Value object_;
  Value served_{};  // of resources with a conversion webhook
  AdmissionAttributes request_{};
};

}  // namespace

void warn_of_orphans(Call& call, const DeleteOptions& options) {
  if (call.resource->storage == "jobs.batch" && options.propagation == Propagation::Unset) {
    call.warnings.emplace_back(
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning");
  }
}

StatusResult<Deleted> delete_object(Call& call, const Key& key, const DeleteOptions& options) {
  BegunEnd begun;
  for (int attempt = 1;; ++attempt) {
    store::StoredPtr stored = call.core.store.get(call.resource->storage, key);
    const bool ended =
        stored == nullptr || stored->body["metadata"]["uid"].as_string() != begun.uid;
    if (begun.deleted && ended) {
      return *std::move(begun.deleted);
    }
    if (stored == nullptr) {
      return status::not_found(call.qualified_resource(), key.name);
    }
    const store::Revision revision = stored->revision;
    auto deleted = Deletion(call, options, std::move(stored), begun).run();
    if (!deleted.ok() && deleted.error().retriable_conflict && attempt < kDeleteAttempts) {
      continue;
    }
    if (deleted.ok() && call.resource->conversion == nullptr) {
      ATHANOR_TRY(deleted->object, to_served(*call.resource, deleted->object, revision, {}));
    }
    return deleted;
  }
}

Response deleted_response(Call& call, const DeleteOptions& options, Deleted deleted) {
  Response response;
  const ResourceInfo& resource = *call.resource;
  if (!deleted.removed || resource.delete_returns_object) {
    const bool accepted = !deleted.removed && options.explicit_no_orphans;
    response = object_response(call, std::move(deleted.object), accepted ? 202 : 200);
  } else {
    StatusDetails details;
    details.name = deleted.object["metadata"]["name"].str();
    details.group = resource.group;
    details.kind = resource.plural;
    details.uid = deleted.object["metadata"]["uid"].str();
    response = value_response(call, success_status(std::move(details)), 200);
  }
  response.durable_after = deleted.revision;
  return response;
}

}  // namespace athanor::apiserver
