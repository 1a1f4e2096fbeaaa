// SPDX-License-Identifier: Apache-2.0
// Creating an object (docs/spec/apiserver.md 7, 9.2).
#include <mutex>
#include <utility>

#include "embedded/apiserver/resources/versions.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/apiserver/write/managers.hpp"
#include "embedded/apiserver/write/metadata_rules.hpp"
#include "embedded/apiserver/write/write.hpp"

namespace athanor::apiserver {
namespace {

constexpr int kNameAttempts = 8;
constexpr int kRaceAttempts = 5;
constexpr std::size_t kGeneratedPrefix = 58;

// One create under one name.
class Creation {
 public:
  Creation(Call& call, const WriteOptions& options, const CreateInput& input)
      : call_(call), options_(options), input_(input), object_(input.object) {}

  StatusResult<Written> run() {
    set_system_metadata();
    if (call_.resource->has_status()) {
      object_.erase("status");
    }
    add_defaults(call_, object_, options_.dry_run);
    if (!is_trusted(call_)) {
      track();
    }
    prepare();
    ATHANOR_TRY_VOID(admit());
    ATHANOR_TRY_VOID(allocate());
    if (!is_trusted(call_)) {
      ATHANOR_TRY_VOID(validate_object(call_, object_, Value(), "", options_.dry_run));
      ATHANOR_TRY_VOID(authorize());
      request_.object = object_;
      ATHANOR_TRY_VOID(run_validating(call_, request_));
    }
    if (options_.dry_run) {
      return dry_run_result();
    }
    return commit();
  }

 private:
  // An apply or a PUT of an object that does not exist was authorized as patch or update: it needs
  // `create` as well (docs/spec/apiserver.md 16.2). The text is the reference's, without a user.
  [[nodiscard]] StatusResult<void> authorize() const {
    if (call_.path.verb == "create") {
      return {};
    }
    Attributes attributes = attributes_of(call_.path, call_.request, call_.user);
    attributes.verb = "create";
    const Decision decision = call_.core.authorizer->authorize(attributes);
    if (decision.allowed) {
      return {};
    }
    return status::forbidden({.name = attributes.resource, .group = attributes.group},
                             attributes.name, decision.reason);
  }

  void set_system_metadata() {
    Value& metadata = object_.member("metadata");
    for (const std::string_view field :
         {"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
      metadata.erase(field);
    }
    metadata.set("uid", call_.entropy().uuid_at(call_.now));
    metadata.set("creationTimestamp", now_value(call_));
    if (call_.resource->has_generation) {
      metadata.set("generation", 1);
    }
  }

  // What the client wrote and its defaults are the client's; what the server adds below is
  // without an owner.
  void track() {
    if (!input_.tracked && cannot_be_owned(*call_.resource, object_)) {
      object_.member("metadata").erase("managedFields");
    } else if (!input_.tracked) {
      const std::string api_version = call_.resource->api_version();
      object_ = update_managed_fields(Value(), std::move(object_),
                                      management_of(call_, options_, "", api_version));
    }
  }

  // What a client may not set.
  void prepare() {
    const KindBehaviour* behaviour = call_.resource->behaviour;
    if (behaviour != nullptr && behaviour->prepare_create != nullptr) {
      behaviour->prepare_create(object_, call_.kind_context(options_.dry_run));
    }
    add_defaults(call_, object_, options_.dry_run);
  }

  [[nodiscard]] StatusError already_exists(const store::Stored& present) const {
    StatusError error = status::already_exists(call_.qualified_resource(), request_.key.name);
    if (present.body["metadata"].contains("deletionTimestamp")) {
      error.message = "object is being deleted: " + error.message;
    }
    return error;
  }

  StatusResult<void> admit() {
    request_.operation = Operation::Create;
    request_.resource = call_.resource;
    request_.key = {call_.resource->namespaced ? call_.path.ns : std::string(),
                    object_["metadata"]["name"].str()};
    request_.object = object_;
    request_.options = options_.to_value("CreateOptions");
    request_.user = &call_.user;
    request_.dry_run = options_.dry_run;
    ATHANOR_TRY_VOID(run_mutating(call_, request_));
    const Value before = std::exchange(object_, request_.object);
    if (call_.resource->has_status()) {  // webhooks may not write what the client may not
      if (const Value* status = before.find("status")) {
        object_.set("status", *status);
      } else {
        object_.erase("status");
      }
    }
    // A custom object that was applied has nulls for validation to find.
    const bool custom = call_.resource->is_custom;
    const bool changed = !object_.identical(before);
    if (is_trusted(call_) ? changed && !custom : changed || !custom) {
      ATHANOR_TRY(object_, normalize(*call_.resource, object_));
      add_defaults(call_, object_, options_.dry_run);
    }
    return {};
  }

  StatusResult<void> allocate() {
    const KindBehaviour* behaviour = call_.resource->behaviour;
    if (behaviour != nullptr && behaviour->allocate != nullptr) {
      return behaviour->allocate(object_, Value(), call_.kind_context(options_.dry_run));
    }
    return {};
  }

  StatusResult<Written> dry_run_result() {
    if (const auto present = call_.core.store.get(call_.resource->storage, request_.key)) {
      return already_exists(*present);
    }
    object_.member("metadata").erase("resourceVersion");
    return Written{.object = object_, .created = true, .revision = 0};
  }

  // Refuses a version of the client as the store of the reference does: after admission and
  // validation, and not for dry runs.
  StatusResult<void> check_version() {
    const std::string_view version = object_["metadata"]["resourceVersion"].as_string();
    const bool number = version.find_first_not_of("0123456789") == std::string_view::npos;
    if (number && version.find_first_not_of('0') != std::string_view::npos) {
      StatusError error;
      error.message = "resourceVersion should not be set on objects to be created";
      return error;
    }
    object_.member("metadata").erase("resourceVersion");
    return {};
  }

  StatusResult<Written> commit() {
    ATHANOR_TRY_VOID(check_version());
    ATHANOR_TRY(Value stored, to_storage(*call_.resource, object_, call_.versions()));
    std::vector<store::Write> writes = std::move(request_.extra_writes);
    writes.insert(writes.begin(), {.resource = call_.resource->storage,
                                   .key = request_.key,
                                   .body = std::move(stored),
                                   .expected = 0});
    if (const KindBehaviour* behaviour = call_.resource->behaviour;
        behaviour != nullptr && behaviour->along != nullptr) {
      auto along = behaviour->along(object_, Value(), call_.kind_context(false));
      writes.insert(writes.end(), std::make_move_iterator(along.begin()),
                    std::make_move_iterator(along.end()));
    }
    auto committed = call_.core.store.commit(writes, call_.now);
    if (!committed.ok()) {
      if (const auto present = call_.core.store.get(call_.resource->storage, request_.key)) {
        return already_exists(*present);
      }
      StatusError error = status::of(committed.error());
      error.retriable_conflict = committed.error().code == 409;
      return error;
    }
    const store::Stored& result = *committed->front();
    ATHANOR_TRY(Value served, served_back(*call_.resource, object_, result));
    return Written{.object = std::move(served), .created = true, .revision = result.revision};
  }

  Call& call_;
  const WriteOptions& options_;
  const CreateInput& input_;
  Value object_;
  AdmissionAttributes request_{};
};

StatusResult<void> check_input(Call& call, Value& object) {
  Value& metadata = object.member("metadata");
  if (!metadata.is_object()) {
    metadata = Value::object();
  }
  const std::string_view ns = metadata["namespace"].as_string();
  if (call.resource->namespaced) {
    if (!ns.empty() && ns != call.path.ns) {
      return status::bad_request(
          "the namespace of the provided object does not match the namespace sent on the request");
    }
    metadata.set("namespace", call.path.ns);
  } else if (!ns.empty()) {
    metadata.erase("namespace");
  }
  if (call.resource->crd_terminating) {
    return status::forbidden(call.qualified_resource(), metadata["name"].as_string(),
                             "create not allowed while custom resource definition is terminating");
  }
  return {};
}

}  // namespace

StatusResult<Written> create_object(Call& call, const WriteOptions& options, CreateInput input) {
  ATHANOR_TRY_VOID(check_input(call, input.object));
  drop_repeated_owners(input.object, call.warnings);
  std::unique_lock<std::mutex> allocating;
  if (call.resource->behaviour != nullptr && call.resource->behaviour->allocate != nullptr) {
    allocating = std::unique_lock(call.core.allocation);
  }
  const std::string prefix = input.object["metadata"]["generateName"].str();
  const bool generated = input.object["metadata"]["name"].as_string().empty() && !prefix.empty();
  const int attempts = generated ? kNameAttempts : kRaceAttempts;
  for (int attempt = 1;; ++attempt) {
    if (generated) {
      input.object.member("metadata")
          .set("name", prefix.substr(0, kGeneratedPrefix) + call.entropy().name_suffix());
    }
    const std::size_t warnings = call.warnings.size();
    const Value asked = input.object;
    auto written = Creation(call, options, input).run();
    if (written.ok()) {
      if (call.core.options.warn_of_fields != nullptr) {
        call.core.options.warn_of_fields(call.resource->storage, asked, call.warnings);
      }
      return written;
    }
    const StatusError& error = written.error();
    const bool collided = generated && error.code == 409 && error.reason == "AlreadyExists";
    if (attempt >= attempts) {
      return collided ? StatusResult<Written>(
                            status::no_unique_name(call.qualified_resource(), error.details->name))
                      : std::move(written);
    }
    if (!collided && !error.retriable_conflict) {
      return written;
    }
    call.warnings.resize(warnings);
  }
}

}  // namespace athanor::apiserver
