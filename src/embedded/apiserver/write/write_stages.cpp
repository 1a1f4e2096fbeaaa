// SPDX-License-Identifier: Apache-2.0
// The stages that creates and updates share.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <memory>

#include "cel/rules/schema_rules.hpp"
#include "embedded/apiserver/crd/crd_resources.hpp"
#include "embedded/apiserver/crd/scale_rules.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/apiserver/write/metadata_rules.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "kube/schema/embedded_objects.hpp"
#include "kube/schema/validate.hpp"
#include "kube/value/value_extent.hpp"

namespace athanor::apiserver {
namespace {

AdmissionContext admission_context(Call& call) {
  return {.store = call.core.store,
          .table = *call.table,
          .authorizer = *call.core.authorizer,
          .options = call.core.options,
          .entropy = call.entropy(),
          .now = call.now,
          .call = &call};
}

// One function of all steps. Warnings reach the client whatever becomes of the request.
StatusResult<void> run_steps(Call& call, AdmissionAttributes& request,
                             decltype(AdmissionStep::mutate) AdmissionStep::*function) {
  const AdmissionContext context = admission_context(call);
  StatusResult<void> outcome;
  for (const AdmissionStep& step : call.core.admission) {
    if (step.*function) {
      outcome = (step.*function)(request, context);
      if (!outcome.ok()) {
        break;
      }
    }
  }
  call.warnings.insert(call.warnings.end(), request.warnings.begin(), request.warnings.end());
  request.warnings.clear();
  return outcome;
}

void append(std::vector<FieldError>& errors, std::vector<FieldError> more) {
  errors.insert(errors.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

// Texts about the status that is written alone call its members by their names in it.
void name_from_status(std::vector<FieldError>& errors) {
  constexpr std::string_view kIn = " in body ";
  for (FieldError& error : errors) {
    const std::string full = error.field + std::string(kIn);
    const std::size_t at = error.detail.find(full);
    if (error.field == "status" && at != std::string::npos) {
      error.detail.erase(at, error.field.size());
    } else if (error.field.starts_with("status.") && at != std::string::npos) {
      error.detail.replace(at, full.size(), full.substr(std::string_view("status.").size()));
    }
  }
}

// Errors after which the rules would judge what is not there (docs/spec/apiserver.md 13.4).
bool blocks_rules(const FieldError& error) {
  return error.reason == "FieldValueNotSupported" || error.reason == "FieldValueRequired" ||
         error.reason == "FieldValueTooLong" || error.reason == "FieldValueTooMany" ||
         error.reason == "FieldValueTypeInvalid";
}

// The CEL rules of a custom resource, behind everything else.
struct Change {
  const Value& object;
  const Value& old_object;  // Null on create
};
void judge_rules(Call& call, const cel::SchemaRules& rules, const Change& change,
                 std::vector<FieldError>& errors) {
  if (std::ranges::any_of(errors, blocks_rules)) {
    errors.push_back(FieldError::invalid(
        "<nil>", Value(),
        "some validation rules were not checked because the object was invalid; correct the "
        "existing errors to complete validation"));
    return;
  }
  const bool create = change.old_object.is_null();
  const bool passed = !create && passed_rules(*call.resource, revision_of(change.old_object));
  cel::SchemaRules::Verdict verdict =
      rules.judge(change.object, create ? nullptr : &change.old_object, passed);
  append(errors, std::move(verdict.errors));
  if (!verdict.ratcheted.empty()) {
    note_broken_rules(*call.resource);
  }
  call.warnings.insert(call.warnings.end(), verdict.ratcheted.begin(), verdict.ratcheted.end());
}

// The store refuses too many levels too, but a dry run does not get there. What was too large
// before may be changed: else it could not become smaller.
StatusResult<void> check_extent(const Value& object, const Value& old_object) {
  constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
  constexpr Extent kLimits{.levels = kMaxObjectLevels, .values = kAny, .bytes = kMaxObjectBytes};
  Extent found;
  Extent before;
  if (measure(object, kLimits, found) || !measure(old_object, kLimits, before)) {
    return {};
  }
  if (found.levels > kMaxObjectLevels) {
    return status::bad_request(fmt::format(
        "the object with its managedFields is nested deeper than {} levels", kMaxObjectLevels));
  }
  return status::too_large(fmt::format(
      "the object with its defaults and managedFields has more than {} bytes", kMaxObjectBytes));
}

}  // namespace

bool is_trusted(const Call& call) {
  return call.core.options.trusts_controllers && call.in_process &&
         call.user.name.starts_with("system:serviceaccount:");
}

Value now_value(const Call& call) {
  return {format_time(call.now)};
}

store::Revision revision_of(const Value& object) {
  const std::string_view text = object["metadata"]["resourceVersion"].as_string();
  store::Revision revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

KindContext Call::kind_context(bool dry_run) {
  return {.resource = *resource,
          .subresource = path.subresource,
          .store = core.store,
          .table = *table,
          .service_cluster_ip_range = core.options.service_cluster_ip_range,
          .user = &user,
          .entropy = conversation.entropy(),
          .now = now,
          .dry_run = dry_run,
          .warnings = &warnings,
          .crd_schemas = core.dependencies.crd_schemas};
}

StatusResult<void> run_mutating(Call& call, AdmissionAttributes& request) {
  StatusResult<void> outcome = run_steps(call, request, &AdmissionStep::mutate);
  if (outcome.ok() && request.reinvocation.wanted) {
    request.reinvocation.second_round = true;
    request.extra_writes.clear();  // the steps say again what they need
    outcome = run_steps(call, request, &AdmissionStep::mutate);
  }
  return outcome;
}

StatusResult<void> run_validating(Call& call, AdmissionAttributes& request) {
  return run_steps(call, request, &AdmissionStep::validate);
}

StatusResult<void> admit_posted(Call& call, std::string_view subresource, Value& object,
                                const WriteOptions& options) {
  AdmissionAttributes request;
  request.operation = Operation::Create;
  request.resource = call.resource;
  request.subresource = std::string(subresource);
  request.key = call.key();
  request.object = object;
  request.options = options.to_value("CreateOptions");
  request.user = &call.user;
  request.dry_run = options.dry_run;
  ATHANOR_TRY_VOID(run_mutating(call, request));
  ATHANOR_TRY_VOID(run_validating(call, request));
  object = request.object;
  return {};
}

void add_defaults(Call& call, Value& object, bool dry_run) {
  const KindBehaviour* behaviour = call.resource->behaviour;
  if (behaviour != nullptr && behaviour->apply_defaults != nullptr) {
    behaviour->apply_defaults(object, call.kind_context(dry_run));
  }
}

std::vector<FieldError> errors_of_any_type(Call& call, const Value& object,
                                           const Value& old_object) {
  const ResourceInfo& resource = *call.resource;
  if (resource.schema == nullptr) {
    return {};
  }
  const Schema& schema = *resource.schema;
  std::vector<FieldError> errors =
      validate(object, schema, {.old_object = &old_object, .list_keys_only = true});
  if (embeds_objects(resource)) {
    append(errors, validate_embedded(object, schema));
  }
  const std::vector<FieldError> broken = validate(object, schema, {.old_object = &old_object});
  const cel::SchemaRules* rules = rules_of(resource);
  if (rules != nullptr && std::ranges::none_of(broken, blocks_rules)) {
    judge_rules(call, *rules, {.object = object, .old_object = old_object}, errors);
  }
  return errors;
}

namespace {

// Warns of the fields without effect that an update adds; create warns of those that were asked
// for.
void warn_of_added_fields(Call& call, const Value& object, const Value& old_object) {
  const auto warn = call.core.options.warn_of_fields;
  if (warn == nullptr || call.in_process || object["spec"] == old_object["spec"]) {
    return;
  }
  std::vector<std::string> before;
  std::vector<std::string> now;
  warn(call.resource->storage, old_object, before);
  warn(call.resource->storage, object, now);
  for (std::string& text : now) {
    if (std::ranges::find(before, text) == before.end()) {
      call.warnings.push_back(std::move(text));
    }
  }
}

}  // namespace

StatusResult<void> validate_object(Call& call, const Value& object, const Value& old_object,
                                   std::string_view subresource, bool dry_run) {
  const ResourceInfo& resource = *call.resource;
  const bool create = old_object.is_null();
  ATHANOR_TRY_VOID(check_extent(object, old_object));
  std::vector<std::string> warnings;
  std::vector<FieldError> errors =
      create ? validate_metadata(resource, object, warnings)
             : validate_metadata_update(resource, object, old_object, warnings, subresource);
  if (resource.is_custom) {
    if (resource.schema != nullptr) {
      std::vector<FieldError> found = validate(
          object, *resource.schema, {.old_object = create ? nullptr : &old_object, .path = {}});
      if (subresource == "status") {
        name_from_status(found);
      }
      append(errors, std::move(found));
    }
    if (subresource != "status" && embeds_objects(resource)) {
      append(errors, validate_embedded(object, *resource.schema));
    }
    const std::vector<FieldError> replicas =
        validate_scale_fields(resource, object, subresource == "status");
    if (const cel::SchemaRules* rules = rules_of(resource)) {
      judge_rules(call, *rules, {.object = object, .old_object = old_object}, errors);
    }
    append(errors, replicas);
  } else if (const KindBehaviour* behaviour = resource.behaviour) {
    KindContext context = call.kind_context(dry_run);
    context.subresource = subresource;
    if (create && behaviour->validate_create != nullptr) {
      std::vector<FieldError> found = behaviour->validate_create(object, context);
      if (resource.storage == "events" && resource.group.empty() && !found.empty()) {
        errors.clear();  // their rules do not speak of metadata, and come first
      }
      append(errors, std::move(found));
    } else if (!create && behaviour->validate_update != nullptr) {
      append(errors, behaviour->validate_update(object, old_object, context));
    }
  }
  if (errors.empty()) {  // else there are worse errors
    call.warnings.insert(call.warnings.end(), warnings.begin(), warnings.end());
  }
  if (errors.empty() && !resource.is_custom && resource.behaviour != nullptr &&
      resource.behaviour->warn != nullptr) {
    KindContext context = call.kind_context(dry_run);
    context.subresource = subresource;
    resource.behaviour->warn(object, old_object, context);
  }
  if (errors.empty() && !create && subresource.empty()) {
    warn_of_added_fields(call, object, old_object);
  }
  if (!errors.empty()) {
    // Events have one set of rules, that of the core group, whichever group they come through.
    const Qualified kind = resource.storage == "events" ? Qualified{.name = "Event", .group = ""}
                                                        : call.qualified_kind();
    return status::invalid(kind, object["metadata"]["name"].as_string(), errors);
  }
  return {};
}

}  // namespace athanor::apiserver
