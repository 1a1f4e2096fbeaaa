// SPDX-License-Identifier: Apache-2.0
// Updating an object: what PUT, every patch and the subresources share (docs/spec/apiserver.md
// 7, 9.3, 9.4).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "embedded/apiserver/matching/hook.hpp"
#include "embedded/apiserver/resources/versions.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/apiserver/write/managers.hpp"
#include "embedded/apiserver/write/metadata_rules.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "embedded/kinds/converter.hpp"
#include "kube/names/field_error.hpp"
#include "kube/value/interner.hpp"
#include "kube/value/whole_numbers.hpp"

namespace athanor::apiserver {
namespace {

constexpr int kAttempts = 5;

// Makes the member of `to` what it is in `from`, absent or not; equal ones keep their nodes.
void copy_member(const Value& from, Value& to, std::string_view key) {
  const Value* value = from.find(key);
  const Value* present = to.find(key);
  if (value == nullptr) {
    if (present != nullptr) {
      to.erase(key);
    }
  } else if (present == nullptr || !present->identical(*value)) {
    to.set(key, *value);
  }
}

bool is_empty_object(const Value& value) {
  return value.is_null() || (value.is_string() && value.as_string().empty()) ||
         ((value.is_object() || value.is_list()) && value.empty());
}

// One attempt against one stored state.
class Update {
 public:
  Update(Call& call, const WriteOptions& options, const UpdateInput& input, store::StoredPtr stored)
      : call_(call), options_(options), input_(input), stored_(std::move(stored)) {}

  StatusResult<Written> run() {
    ATHANOR_TRY(live_, to_served(*call_.resource, *stored_, call_.versions()));
    ATHANOR_TRY(object_, input_.transform(live_));
    if (object_.identical(live_) && !has_webhooks(call_.core.store) && !has_odd_managers()) {
      warn();
      return unchanged();
    }
    // What follows compares the two states again and again.
    object_ = shared_with(object_, live_);
    if (!input_.normal) {
      ATHANOR_TRY(object_, normalize_changed(*call_.resource, live_, object_));
    }
    drop_repeated_owners(object_, call_.warnings);
    ATHANOR_TRY_VOID(check_identity());
    ATHANOR_TRY_VOID(check_revision());
    restore();
    ATHANOR_TRY_VOID(check_kind());
    if (!input_.tracked && !is_trusted(call_)) {
      ATHANOR_TRY_VOID(convert_to_storage_version());
      track();  // what admission adds has no owner
    }
    ATHANOR_TRY_VOID(admit());
    hold_deletion();
    finish();
    ATHANOR_TRY_VOID(allocate());
    bump_generation();
    if (!is_trusted(call_)) {
      ATHANOR_TRY_VOID(
          validate_object(call_, object_, live_, input_.subresource, options_.dry_run));
    }
    if (!input_.admitted && !is_trusted(call_)) {
      ATHANOR_TRY(request_.object, shown(object_));
      ATHANOR_TRY_VOID(run_validating(call_, request_));
    }
    keep_times();
    if (object_ == live_ && request_.extra_writes.empty()) {
      return unchanged();
    }
    if (options_.dry_run) {
      if (completes_deletion()) {
        show_what_is_empty();
      }
      return Written{.object = object_, .created = false, .revision = 0};
    }
    return commit();
  }

 private:
  StatusResult<Written> unchanged() {
    return Written{.object = live_, .created = false, .revision = stored_->revision};
  }

  // Entries that the next write, whatever it says, takes out.
  [[nodiscard]] bool has_odd_managers() const {
    if (has_twin_managers(live_)) {
      return true;
    }
    const std::string api_version = call_.resource->api_version();
    const auto by = management_of(call_, options_, input_.subresource, api_version);
    const auto entries = live_["metadata"]["managedFields"].items();
    return by.knows_version != nullptr && std::ranges::any_of(entries, [&](const Value& entry) {
             return !by.knows_version(entry["apiVersion"].as_string());
           });
  }

  // Warnings about the object are given even when the request changes nothing.
  void warn() {
    const KindBehaviour* behaviour = call_.resource->behaviour;
    if (behaviour != nullptr && behaviour->warn != nullptr) {
      KindContext context = call_.kind_context(options_.dry_run);
      context.subresource = input_.subresource;
      behaviour->warn(object_, live_, context);
    }
  }

  [[nodiscard]] const Value& metadata() const { return object_["metadata"]; }

  StatusResult<void> check_identity() {
    const std::string_view name = metadata()["name"].as_string();
    if (name != stored_->key.name) {
      if (name.empty()) {
        object_.member("metadata").set("name", stored_->key.name);
      } else {
        return status::bad_request(
            fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                        stored_->key.name));
      }
    }
    const std::string_view ns = metadata()["namespace"].as_string();
    if (ns != stored_->key.ns) {
      if (!ns.empty() && call_.resource->namespaced) {
        return status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the "
            "request");
      }
      if (call_.resource->namespaced) {
        object_.member("metadata").set("namespace", stored_->key.ns);
      } else {
        object_.member("metadata").erase("namespace");
      }
    }
    const Value& uid = live_["metadata"]["uid"];
    const std::string_view given = metadata()["uid"].as_string();
    if (!given.empty() && given != uid.as_string() && !input_.from_patch) {
      return status::conflict(call_.qualified_resource(), stored_->key.name,
                              fmt::format("Precondition failed: UID in precondition: {}, UID in "
                                          "object meta: {}",
                                          given, uid.as_string()));
    }
    return {};
  }

  StatusResult<void> check_revision() {
    const std::string_view text = metadata()["resourceVersion"].as_string();
    const std::string_view current = live_["metadata"]["resourceVersion"].as_string();
    if (text == current) {
      return {};
    }
    if (text.empty() || text == "0") {
      if (!call_.resource->unconditional_update) {
        return status::invalid(call_.qualified_resource(), stored_->key.name,
                               {FieldError::invalid("metadata.resourceVersion", Value(0),
                                                    "must be specified for an update")});
      }
      return {};
    }
    for (const char c : text) {
      if (c < '0' || c > '9') {
        return status::bad_request(fmt::format("invalid resource version: {}", text));
      }
    }
    return status::modified(call_.qualified_resource(), stored_->key.name);
  }

  // A custom object that calls itself something else; of a built-in one it is not even decoded, and
  // a write of the status does not look.
  StatusResult<void> check_kind() {
    const ResourceInfo& resource = *call_.resource;
    const std::string_view kind = object_["kind"].as_string();
    if (!resource.is_custom || input_.subresource == "status" || kind == resource.kind) {
      return {};
    }
    std::vector<std::string> warnings;  // of an object that is refused anyway
    std::vector<FieldError> errors = validate_metadata_update(resource, object_, live_, warnings);
    errors.push_back(FieldError::invalid("kind", kind, "must be " + resource.kind));
    std::ranges::move(errors_of_any_type(call_, object_, live_), std::back_inserter(errors));
    return status::invalid({.name = kind, .group = resource.group}, stored_->key.name, errors);
  }

  // Puts back what this write may not change.
  void restore() {
    restore_metadata();
    restore_other_half();
    const KindBehaviour* behaviour = call_.resource->behaviour;
    if (behaviour != nullptr && behaviour->prepare_update != nullptr) {
      KindContext context = call_.kind_context(options_.dry_run);
      context.subresource = input_.subresource;
      if (call_.resource->storage == "namespaces" && input_.subresource.empty()) {
        asked_spec_ = object_["spec"];
      }
      behaviour->prepare_update(object_, live_, context);
    }
    add_defaults(call_, object_, options_.dry_run);
  }

  // When an object is to go does not change once it is said; who tries owns it all the same.
  void hold_deletion() {
    const Value& before = live_["metadata"]["deletionTimestamp"];
    if (!before.is_null() && metadata()["deletionTimestamp"] != before) {
      object_.member("metadata").set("deletionTimestamp", before);
    }
  }

  // A write of the status leaves the rest as it is, any other write leaves the status.
  void restore_other_half() {
    if (input_.subresource == "status" || input_.subresource == "approval") {
      keep_status_only();
    } else if (call_.resource->has_status() && input_.subresource != "binding") {
      if (const Value* status = live_.find("status")) {
        if (!object_["status"].identical(*status)) {
          object_.set("status", *status);
        }
      } else {
        object_.erase("status");
      }
    }
  }

  void restore_metadata() {
    const Value& before = live_["metadata"];
    if (metadata().identical(before)) {
      return;
    }
    const auto keep = [&](std::string_view field, bool only_absent) {
      const Value* old = before.find(field);
      const Value* now = metadata().find(field);
      if (old == nullptr) {
        if (now != nullptr && !only_absent) {
          object_.member("metadata").erase(field);
        }
      } else if (now == nullptr || (!only_absent && *now != *old)) {
        object_.member("metadata").set(field, *old);
      }
    };
    keep("creationTimestamp", false);
    keep("resourceVersion", false);
    if (!options_.dry_run) {
      keep("selfLink", false);  // it is never set, but only what is stored loses it
    }
    keep("deletionGracePeriodSeconds", true);
    keep("uid", true);
    keep("deletionTimestamp", true);
    keep("generation", false);
  }

  // A status write: everything else is the stored object's.
  void keep_status_only() {
    Value result = live_;
    if (const Value* status = object_.find("status")) {
      result.set("status", *status);
    } else {
      result.erase("status");
    }
    const Value now = metadata();
    if (status_keeps_metadata(*call_.resource)) {
      if (call_.resource->is_custom) {
        requested_ = object_;  // owned all the same
      }
      copy_member(now, result.member("metadata"), "managedFields");
    } else {
      const Value& before = live_["metadata"];
      result.set("metadata", now);
      if (call_.resource->storage == "deployments.apps") {
        copy_member(before, result.member("metadata"), "labels");
      } else if (call_.resource->storage == "pods") {
        copy_member(before, result.member("metadata"), "ownerReferences");
        copy_member(before, result.member("metadata"), "deletionTimestamp");
      }
    }
    object_ = std::move(result);
  }

  StatusResult<void> admit() {
    request_.operation = Operation::Update;
    request_.resource = call_.resource;
    request_.subresource = input_.subresource;
    request_.key = stored_->key;
    request_.options = Value();
    request_.user = &call_.user;
    request_.dry_run = options_.dry_run;
    if (!call_.core.admission.empty() && !input_.admitted) {
      request_.options = options_.to_value(
          input_.options_kind == "PatchOptions" ? "UpdateOptions" : input_.options_kind);
      ATHANOR_TRY(request_.object, shown(object_));
      ATHANOR_TRY(request_.old_object, shown(live_));
      const Value before = request_.object;
      ATHANOR_TRY_VOID(run_mutating(call_, request_));
      if (!request_.object.identical(before)) {
        ATHANOR_TRY(const Value changed,
                    input_.taken ? input_.taken(object_, request_.object) : request_.object);
        ATHANOR_TRY(object_, normalize_changed(*call_.resource, live_, changed));
        restore_other_half();  // webhooks may not write what the client may not
        add_defaults(call_, object_, options_.dry_run);
      }
    }
    return {};
  }

  // Fields that the storage version lacks have no owner; those that it adds belong to the writer.
  StatusResult<void> convert_to_storage_version() {
    const ResourceInfo& resource = *call_.resource;
    const std::string own = resource.api_version();
    if (resource.converter == nullptr || resource.is_custom || input_.subresource != "status" ||
        resource.storage_api_version == own) {
      return {};
    }
    ATHANOR_TRY(const Value stored,
                resource.converter->convert(object_, own, resource.storage_api_version));
    ATHANOR_TRY(const Value said,
                resource.converter->convert(stored, resource.storage_api_version, own));
    ATHANOR_TRY(object_, normalize(resource, said));
    return {};
  }

  void track() {
    const ResourceInfo& resource = *call_.resource;
    const std::string api_version = resource.api_version();
    const FieldManagement by = management_of(call_, options_, input_.subresource, api_version);
    if (resource.is_custom && metadata()["managedFields"].is_list() &&
        metadata()["managedFields"].empty()) {
      object_.member("metadata").erase("managedFields");  // says nothing here
    }
    if (!asked_spec_.is_null() && asked_spec_ != object_["spec"]) {
      // Owned by who asked for it, although it is not given.
      Value asked = object_;
      asked.set("spec", asked_spec_);
      const Value tracked = update_managed_fields(live_, std::move(asked), by);
      copy_member(tracked["metadata"], object_.member("metadata"), "managedFields");
      return;
    }
    if (requested_.is_null()) {
      if (cannot_be_owned(resource, object_)) {
        object_.member("metadata").erase("managedFields");
        return;
      }
      object_ = update_managed_fields(live_, std::move(object_), by);
      return;
    }
    // The status of a custom resource: what else was sent counts for the managers alone, and what
    // does not fit the schema, or calls itself another kind, ends the tracking.
    if (requested_["kind"].as_string() != resource.kind || cannot_be_owned(resource, requested_)) {
      object_.member("metadata").erase("managedFields");
      return;
    }
    for (const std::string_view field : {"creationTimestamp", "generation", "uid"}) {
      copy_member(live_["metadata"], requested_.member("metadata"), field);
    }
    const Value tracked = update_managed_fields(live_, std::move(requested_), by);
    copy_member(tracked["metadata"], object_.member("metadata"), "managedFields");
  }

  // What admission sees of the object.
  [[nodiscard]] StatusResult<Value> shown(const Value& object) const {
    if (input_.shown) {
      return input_.shown(object);
    }
    return object;
  }

  // When who wrote what, and nothing else, is no change.
  void keep_times() {
    const Value& before = live_["metadata"]["managedFields"];
    const Value& now = metadata()["managedFields"];
    if (now.identical(before) || now.size() != before.size() || !equal_but_times(now, before)) {
      return;
    }
    Value timeless = object_;
    timeless.member("metadata").set("managedFields", before);
    if (timeless == live_) {
      object_ = live_;
    }
  }

  static bool equal_but_times(const Value& now, const Value& before) {
    return std::ranges::equal(now.items(), before.items(), [](const Value& a, Value b) {
      copy_member(a, b, "time");
      return a == b;
    });
  }

  StatusResult<void> allocate() {
    const KindBehaviour* behaviour = call_.resource->behaviour;
    if (behaviour != nullptr && behaviour->allocate != nullptr && input_.subresource.empty()) {
      return behaviour->allocate(object_, live_, call_.kind_context(options_.dry_run));
    }
    return {};
  }

  void finish() {
    const KindBehaviour* behaviour = call_.resource->behaviour;
    if (behaviour != nullptr && behaviour->finish_update != nullptr) {
      KindContext context = call_.kind_context(options_.dry_run);
      context.subresource = input_.subresource;
      behaviour->finish_update(object_, live_, context);
    }
  }

  // +1 when anything outside metadata and status changed (a custom resource without status
  // subresource: outside metadata).
  void bump_generation() {
    const ResourceInfo& resource = *call_.resource;
    if (!resource.has_generation || input_.subresource == "status" ||
        input_.subresource == "binding" ||
        resource.storage == "priorityclasses.scheduling.k8s.io") {
      return;
    }
    const bool skip_status = resource.has_status();
    const auto counts = [&](std::string_view key) {
      return key != "metadata" && !(skip_status && key == "status");
    };
    bool changed = false;
    for (const Member& member : object_.members()) {
      const Value& old = live_[member.key()];
      changed = changed ||
                (counts(member.key()) && !old.identical(member.value) &&
                 (old != member.value || (resource.is_custom && has_whole_doubles(member.value))));
    }
    for (const Member& member : live_.members()) {
      changed = changed || (counts(member.key()) && !object_.contains(member.key()));
    }
    if (resource.storage == "deployments.apps" && input_.subresource.empty()) {
      // What their controller reads counts, wherever it is.
      changed = changed || metadata()["annotations"] != live_["metadata"]["annotations"];
    }
    if (resource.storage == "endpointslices.discovery.k8s.io") {
      changed = changed || metadata()["labels"] != live_["metadata"]["labels"];
    }
    if (changed) {
      object_.member("metadata").set("generation", live_["metadata"]["generation"].as_int() + 1);
    }
  }

  // The last finalizer of a deleting object went with this write.
  [[nodiscard]] bool completes_deletion() const {
    return live_["metadata"].contains("deletionTimestamp") && metadata()["finalizers"].empty() &&
           live_["metadata"]["deletionGracePeriodSeconds"].as_int() == 0 &&
           (call_.resource->storage != "namespaces" || object_["spec"]["finalizers"].empty());
  }

  // An object that ends is answered as it was merged: no round trip through the store takes out
  // what is empty, or makes a text of a null. Of built-in kinds the types do.
  void show_what_is_empty() {
    if (!call_.resource->is_custom || !input_.merged_metadata) {
      return;
    }
    const Value merged = input_.merged_metadata();
    for (const Member& member : merged.members()) {
      if (!metadata().contains(member.key()) && is_empty_object(member.value)) {
        object_.member("metadata").set(member.key(), member.value);
      }
      for (const Member& inner : member.value.members()) {
        if (inner.value.is_null() && metadata()[member.key()][inner.key()] == Value("")) {
          object_.member("metadata").member(member.key()).set(inner.key(), Value());
        }
      }
    }
  }

  // Another version may have no words for all of what is stored: the half that this write leaves as
  // it is stays what it was there.
  void keep_stored_half(Value& body) const {
    const Value& before = stored_->body;
    if (call_.resource->converter == nullptr || !call_.resource->has_status() ||
        before["apiVersion"] != body["apiVersion"] || object_["apiVersion"] == body["apiVersion"]) {
      return;
    }
    copy_member(before, body, input_.subresource == "status" ? "spec" : "status");
  }

  StatusResult<Written> commit() {
    const bool deletes = completes_deletion();
    std::vector<store::Write> writes = std::move(request_.extra_writes);
    store::Write write;
    write.resource = call_.resource->storage;
    write.key = stored_->key;
    write.expected = stored_->revision;
    if (!deletes) {
      ATHANOR_TRY(write.body,
                  to_storage(*call_.resource, object_, call_.versions(), stored_->body));
      keep_stored_half(*write.body);
    }
    writes.insert(writes.begin(), std::move(write));
    if (const KindBehaviour* behaviour = call_.resource->behaviour;
        behaviour != nullptr && behaviour->along != nullptr) {
      auto along = behaviour->along(deletes ? Value() : object_, live_, call_.kind_context(false));
      writes.insert(writes.end(), std::make_move_iterator(along.begin()),
                    std::make_move_iterator(along.end()));
    }
    auto committed = call_.core.store.commit(writes, call_.now);
    if (!committed.ok()) {
      const int code = committed.error().code;
      if (code == 409 || code == 404) {
        StatusError error = status::modified(call_.qualified_resource(), stored_->key.name);
        error.retriable_conflict = true;
        return error;
      }
      return status::of(committed.error());
    }
    const store::Stored& result = *committed->front();
    if (deletes) {
      show_what_is_empty();
      return Written{.object = object_, .created = false, .revision = result.revision};
    }
    ATHANOR_TRY(Value served, served_back(*call_.resource, object_, result));
    return Written{.object = std::move(served), .created = false, .revision = result.revision};
  }

  Call& call_;
  const WriteOptions& options_;
  const UpdateInput& input_;
  store::StoredPtr stored_;
  Value live_{};
  Value object_{};
  Value asked_spec_{};  // of a namespace, as it was sent
  Value requested_{};   // the status write of a custom resource as it was sent
  AdmissionAttributes request_{};
};

}  // namespace

StatusResult<Written> update_object(Call& call, const WriteOptions& options,
                                    const UpdateInput& input) {
  std::unique_lock<std::mutex> allocating;
  if (call.resource->behaviour != nullptr && call.resource->behaviour->allocate != nullptr) {
    allocating = std::unique_lock(call.core.allocation);
  }
  const Key key = call.key();
  for (int attempt = 1;; ++attempt) {
    store::StoredPtr stored = call.core.store.get(call.resource->storage, key);
    if (stored == nullptr) {
      return status::not_found(call.qualified_resource(), key.name);
    }
    const std::size_t warnings = call.warnings.size();
    auto written = Update(call, options, input, std::move(stored)).run();
    if (written.ok() || !written.error().retriable_conflict || attempt >= kAttempts) {
      return written;
    }
    call.warnings.resize(warnings);
  }
}

}  // namespace athanor::apiserver
