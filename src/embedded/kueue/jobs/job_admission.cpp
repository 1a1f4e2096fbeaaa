// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/job_admission.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "api/kueue.hpp"
#include "embedded/kueue/jobs/identifiers.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/jobs/pods.hpp"
#include "kube/names/names.hpp"
#include "kube/text/json.hpp"

namespace athanor::kueue::jobs {
namespace {

constexpr std::string_view kFieldImmutable = "field is immutable";

std::string quoted(std::string_view text) {
  return json::quote(std::string(text));
}

std::string invalid(std::string_view path, const std::string& value, std::string_view why) {
  return fmt::format("{}: Invalid value: {}: {}", path, value, why);
}

const Value& label(const Value& object, std::string_view key) {
  return object["metadata"]["labels"][key];
}
const Value& annotation(const Value& object, std::string_view key) {
  return object["metadata"]["annotations"][key];
}
std::string label_path(std::string_view key) {
  return fmt::format("metadata.labels[{}]", key);
}
std::string annotation_path(std::string_view key) {
  return fmt::format("metadata.annotations[{}]", key);
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty()
             ? std::optional(number)
             : std::nullopt;
}

bool may_be_labelled(const Value& object) {
  const Value& labels = object["metadata"]["labels"];
  return object["metadata"].is_object() && (labels.is_null() || labels.is_object());
}

// The label of the default queue, where the namespace has that and nothing above is managed.
void add_default_queue(const View& view, const Integrations& settings, Value& object) {
  const Object read(object);
  if (!may_be_labelled(object) || !label(object, name::kQueue).is_null() ||
      is_system_namespace(read.ns()) || !selects(view, settings, read.ns()) ||
      !view.get(api::kueue::kLocalQueue,
                {std::string(read.ns()), std::string(name::kDefaultQueue)}) ||
      is_below_managed(view, settings, read)) {
    return;
  }
  object.member("metadata").member("labels").set(name::kQueue, name::kDefaultQueue);
}

void check_name_label(const Value& object, std::string_view key, FieldTexts& errors) {
  const Value& text = label(object, key);
  if (text.is_null() || text.as_string().empty()) {
    return;
  }
  if (const auto wrong = validate_dns1123_subdomain(text.as_string())) {
    errors.push_back(invalid(label_path(key), quoted(text.as_string()), *wrong));
  }
}

// A name by label, annotation or both.
void check_identifier(const Value& object, std::string_view key, FieldTexts& errors) {
  check_name_label(object, key, errors);
  const std::string_view by_annotation = annotation(object, key).as_string();
  const std::string_view by_label = label(object, key).as_string();
  if (by_annotation.empty()) {
    return;
  }
  if (const auto wrong = validate_dns1123_subdomain(by_annotation)) {
    errors.push_back(invalid(annotation_path(key), quoted(by_annotation), *wrong));
  } else if (!by_label.empty() && by_label != by_annotation) {
    errors.push_back(invalid(annotation_path(key), quoted(by_annotation),
                             fmt::format("must be equal to {}", label_path(key))));
  }
}

void check_labels(const Value& object, FieldTexts& errors) {
  check_name_label(object, name::kQueue, errors);
  check_identifier(object, name::kPrebuilt, errors);
  const Value& text = label(object, name::kMaxExecTime);
  if (text.is_null()) {
    return;
  }
  const auto seconds = integer(text.as_string());
  if (!seconds) {
    errors.push_back(
        invalid(label_path(name::kMaxExecTime), quoted(text.as_string()),
                fmt::format("strconv.Atoi: parsing {}: invalid syntax", quoted(text.as_string()))));
  } else if (*seconds <= 0) {
    errors.push_back(invalid(label_path(name::kMaxExecTime), fmt::format("{}", *seconds),
                             "should be greater than 0"));
  }
}

// batch/v1 Job: what partial admission needs.
void check_partial(const Adapter& adapter, const Value& object, FieldTexts& errors) {
  if (&adapter != &batch_job()) {
    return;
  }
  const std::int64_t parallelism = object["spec"]["parallelism"].as_int(1);
  if (const Value& text = annotation(object, name::kMinParallelism); !text.is_null()) {
    const auto least = integer(text.as_string());
    if (!least) {
      errors.push_back(invalid(
          annotation_path(name::kMinParallelism), quoted(text.as_string()),
          fmt::format("strconv.Atoi: parsing {}: invalid syntax", quoted(text.as_string()))));
    } else if (*least <= 0 || *least >= parallelism) {
      errors.push_back(invalid(annotation_path(name::kMinParallelism), fmt::format("{}", *least),
                               fmt::format("should be between 0 and {}", parallelism - 1)));
    }
  }
  if (const Value& text = annotation(object, name::kEqualCompletions); !text.is_null()) {
    const std::string_view value = text.as_string();
    if (value != "true" && value != "false") {
      errors.push_back(
          invalid(annotation_path(name::kEqualCompletions), quoted(value),
                  fmt::format("strconv.ParseBool: parsing {}: invalid syntax", quoted(value))));
    } else if (value == "true" && object["spec"]["completionMode"].as_string() != "Indexed") {
      errors.push_back(invalid(annotation_path(name::kEqualCompletions), quoted(value),
                               "should not be enabled for NonIndexed jobs"));
    }
  }
}

void check_unchanged(const Value& object, const Value& old_object, std::string_view key,
                     FieldTexts& errors) {
  const std::string_view now = label(object, key).as_string();
  if (now != label(old_object, key).as_string()) {
    errors.push_back(invalid(label_path(key), quoted(now), kFieldImmutable));
  }
}

// The same of a name by label or annotation: it may move from one to the other.
void check_identifier_unchanged(const Value& object, const Value& old_object, std::string_view key,
                                FieldTexts& errors) {
  const auto given = [key](const Value& one) {
    const Value& by_annotation = annotation(one, key);
    return by_annotation.as_string().empty() ? label(one, key).str() : by_annotation.str();
  };
  const std::string now = given(object);
  if (now != given(old_object)) {
    const bool by_annotation = !annotation(object, key).as_string().empty();
    errors.push_back(invalid(by_annotation ? annotation_path(key) : label_path(key), quoted(now),
                             kFieldImmutable));
  }
}

void check_priority_class(const Value& object, const Value& old_object, bool suspended,
                          FieldTexts& errors) {
  const std::string_view now = label(object, name::kPriorityClass).as_string();
  const std::string_view before = label(old_object, name::kPriorityClass).as_string();
  const std::string field = label_path(name::kPriorityClass);
  if (before.empty() && !now.empty() && !suspended) {
    errors.push_back(invalid(field, quoted(now),
                             "WorkloadPriorityClass cannot be added to a non-suspended workload"));
  } else if (!before.empty() && now.empty() && !suspended) {
    errors.push_back(
        invalid(field, quoted(now), "WorkloadPriorityClass cannot be removed from a workload"));
  }
}

void check_group(const Value& object, FieldTexts& errors) {
  const std::string group(group_name(Object(object)));
  const Value& total = annotation(object, name::kGroupTotal);
  if (group.empty() && total.is_null()) {
    return;
  }
  if (group.empty()) {
    errors.push_back(
        fmt::format("{}: Required value: both the '{}' annotation and the '{}' label should be set",
                    label_path(name::kGroup), name::kGroupTotal, name::kGroup));
    return;
  }
  check_identifier(object, name::kGroup, errors);
  if (total.is_null()) {
    errors.push_back(
        fmt::format("{}: Required value: both the '{}' annotation and the '{}' label should be set",
                    annotation_path(name::kGroupTotal), name::kGroupTotal, name::kGroup));
    return;
  }
  const auto count = integer(total.as_string());
  if (!count) {
    errors.push_back(invalid(
        annotation_path(name::kGroupTotal), quoted(total.as_string()),
        fmt::format("strconv.Atoi: parsing {}: invalid syntax", quoted(total.as_string()))));
  } else if (*count < 1) {
    errors.push_back(
        invalid(annotation_path(name::kGroupTotal), quoted(total.as_string()),
                fmt::format("incorrect value, {} should be greater than zero", name::kGroupTotal)));
  }
}

void add_once(Value& list, const Value& item) {
  if (!list.is_list()) {
    list = Value::list();
  }
  const auto known = list.items();
  if (std::ranges::find(known, item) == known.end()) {
    list.push_back(item);
  }
}

}  // namespace

std::string joined(const FieldTexts& errors) {
  std::string text;
  for (const std::string& error : errors) {
    text += (text.empty() ? "" : ", ") + error;
  }
  return errors.size() == 1 ? text : "[" + text + "]";
}

Value with_job_defaults(const View& view, const Integrations& settings, const Adapter& adapter,
                        const Value& object) {
  Value result = object;
  if (!settings.has(adapter.framework)) {
    return result;
  }
  add_default_queue(view, settings, result);
  const Value& spec = result["spec"];
  if (is_managed(view, settings, Object(result)) && (spec.is_object() || spec.is_null())) {
    set_suspended(adapter, result, true);
  }
  return result;
}

FieldTexts validate_new_job(const Adapter& adapter, const Value& object) {
  FieldTexts errors;
  check_labels(object, errors);
  check_partial(adapter, object, errors);
  return errors;
}

FieldTexts validate_job_update(const Adapter& adapter, const Value& object, const Value& old_object,
                               bool has_default_queue) {
  const bool suspended = is_suspended(adapter, object);
  FieldTexts errors;
  check_labels(object, errors);
  if (suspended) {  // one that runs may have fewer pods than it asked for
    check_partial(adapter, object, errors);
  }
  const bool was_suspended = is_suspended(adapter, old_object);
  if (!suspended) {
    check_unchanged(object, old_object, name::kQueue, errors);
    check_identifier_unchanged(object, old_object, name::kPrebuilt, errors);
  }
  if (!suspended || !was_suspended) {
    check_unchanged(object, old_object, name::kMaxExecTime, errors);
  }
  if (has_default_queue && !label(old_object, name::kQueue).as_string().empty() &&
      label(object, name::kQueue).as_string().empty()) {
    errors.push_back(invalid(label_path(name::kQueue), "\"\"",
                             "queue-name must not be empty in namespace with default queue"));
  }
  check_priority_class(object, old_object, suspended, errors);
  if (&adapter == &batch_job() && !was_suspended && !suspended &&
      !annotation(old_object, name::kMinParallelism).is_null() &&
      object["spec"]["parallelism"] != old_object["spec"]["parallelism"]) {
    errors.push_back(
        "spec.parallelism: Forbidden: cannot change when partial admission is enabled and the job "
        "is not suspended");
  }
  return errors;
}

Value with_pod_defaults(const View& view, const Integrations& settings, const Value& object) {
  Value result = object;
  // Pods of a controller wait with what made them, if that waits.
  if (!settings.has(kPodFramework) || !may_be_labelled(object) || !object["spec"].is_object() ||
      !selects(view, settings, Object(object).ns())) {
    return result;
  }
  if (!Object(object).controller()) {
    add_default_queue(view, settings, result);
  }
  const bool asks = !label(result, name::kQueue).as_string().empty();
  if (!asks && Object(object).controller()) {
    return result;
  }
  if (!is_managed(view, settings, Object(result))) {
    return result;
  }
  Value& metadata = result.member("metadata");
  metadata.member("labels").set(name::kManaged, "true");
  add_once(metadata.member("finalizers"), name::kManaged);
  const Value& annotations = metadata["annotations"];
  if (!group_name(Object(result)).empty() && (annotations.is_null() || annotations.is_object())) {
    Value& hash = metadata.member("annotations").member(name::kRoleHash);
    if (hash.as_string().empty()) {  // else its owner says which role it has
      hash = role_hash(result["spec"]);
    }
  }
  add_once(result.member("spec").member("schedulingGates"), Value::object({{"name", name::kGate}}));
  return result;
}

FieldTexts validate_pod(const Value& object, const Value& old_object) {
  FieldTexts errors;
  if (label(object, name::kQueue).as_string().empty() &&
      label(object, name::kManaged).as_string().empty()) {
    return errors;
  }
  check_labels(object, errors);
  check_group(object, errors);
  if (old_object.is_null()) {
    return errors;
  }
  const bool gated = is_gated(Object(object));
  if (!gated) {
    check_unchanged(object, old_object, name::kQueue, errors);
  }
  if (label(old_object, name::kManaged).as_string() == "true") {
    check_identifier_unchanged(object, old_object, name::kPrebuilt, errors);
    if (!gated) {
      check_unchanged(object, old_object, name::kMaxExecTime, errors);
    }
    check_priority_class(object, old_object, gated, errors);
  }
  check_unchanged(object, old_object, name::kManaged, errors);
  check_identifier_unchanged(object, old_object, name::kGroup, errors);
  if (!group_name(Object(object)).empty() &&
      annotation(old_object, name::kRetriable).as_string() == "false" &&
      annotation(object, name::kRetriable).as_string() != "false") {
    errors.push_back(
        fmt::format("{}: Forbidden: unretriable pod group can't be converted to retriable",
                    annotation_path(name::kRetriable)));
  }
  return errors;
}

}  // namespace athanor::kueue::jobs
