// SPDX-License-Identifier: Apache-2.0
// The rules of this system's own webhooks.
#include "systems/appwrapper/admission/admission.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "kube/names/field_error.hpp"
#include "kube/names/names.hpp"
#include "systems/appwrapper/admission/field_texts.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/pod_sets/pod_sets.hpp"
#include "systems/appwrapper/pod_sets/template_path.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestQueued = 60;  // a PodSet's name adds "-17" at most
constexpr std::size_t kLongestShown = 256;
constexpr std::string_view kImmutable = "attempt to change immutable field";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Kinds of B-5 that need no PodSets.
bool is_podless(std::string_view kind) {
  static constexpr std::string_view kKinds[] = {
      "Service", "ConfigMap",   "Secret",  "ServiceAccount", "PersistentVolumeClaim",
      "Role",    "RoleBinding", "Ingress", "NetworkPolicy",  "PodGroup"};
  return std::ranges::find(kKinds, kind) != std::end(kKinds);
}

// The rules of one component; returns how many PodSets it has.
class ComponentRules {
 public:
  ComponentRules(const Value& component, std::size_t index, Errors& errors)
      : component_(component),
        template_(component["template"]),
        at_(fmt::format("spec.components[{}]", index)),
        errors_(errors) {}

  std::size_t check(std::string_view ns, std::string_view user, const Entitle& entitle,
                    bool strict_kinds) {
    const std::string_view api_version = template_["apiVersion"].as_string();
    const std::string_view kind = template_["kind"].as_string();
    if (!template_.is_object() || kind.empty()) {
      errors_.push_back(invalid(at_ + ".template", template_, "failed to decode as JSON"));
      return 0;
    }
    if (api_version == kAppWrapper.api_version() && kind == kAppWrapper.name) {
      errors_.push_back(forbidden(at_ + ".template", "Nested AppWrappers are forbidden"));
    }
    const std::string_view own_ns = template_["metadata"]["namespace"].as_string();
    if (!own_ns.empty() && own_ns != ns) {
      errors_.push_back(forbidden(at_ + ".template.metadata.namespace",
                                  "AppWrappers cannot create objects in other namespaces"));
    }
    check_right(entitle(api_version, kind), ns, user);
    check_name();
    const std::size_t sets = check_pod_sets();
    if (strict_kinds && sets == 0 && !is_podless(kind)) {
      errors_.push_back(forbidden(at_ + ".template",
                                  fmt::format("kind {} in {} needs podSets", kind, api_version)));
    }
    return sets;
  }

 private:
  void check_right(const Entitlement& right, std::string_view ns, std::string_view user) {
    if (!right.namespaced) {
      errors_.push_back(
          forbidden(at_ + ".template", "AppWrappers cannot contain cluster-scoped resources"));
    }
    if (!right.error.empty()) {
      errors_.push_back(fmt::format("{}.template: Internal error: {}", at_, right.error));
    } else if (!right.allowed) {
      errors_.push_back(forbidden(
          at_ + ".template",
          fmt::format("User {} is not authorized to create {} in {}", user, right.resource, ns)));
    }
  }

  void check_name() {
    const Value& metadata = template_["metadata"];
    if (metadata["name"].as_string().empty() && metadata["generateName"].as_string().empty()) {
      errors_.push_back(
          required(at_ + ".template.metadata.name", "name or generateName is required"));
    }
  }

  std::size_t check_pod_sets() {
    std::vector<PodSet> declared;
    for (const Value& one : component_["podSets"].items()) {
      declared.push_back(api::decode<PodSet>(one));
    }
    for (std::size_t j = 0; j < declared.size(); ++j) {
      const std::string field = fmt::format("{}.podSets[{}].path", at_, j);
      const std::string& path = declared[j].path;
      if (path.empty()) {
        errors_.push_back(required(field, "podspec must specify path"));
      }
      if (const auto found = pod_template_at(template_, path); !found.ok()) {
        errors_.push_back(invalid(
            field, path,
            fmt::format("path does not refer to a v1.PodSpecTemplate: {}", found.error().message)));
      }
    }
    const auto inferred = infer_pod_sets(template_);
    if (!inferred.ok()) {
      errors_.push_back(
          invalid(at_ + ".template", template_,
                  fmt::format("error inferring PodSets: {}", inferred.error().message)));
      return 0;
    }
    if (!declared.empty()) {
      if (const auto same = compare_pod_sets(declared, *inferred); !same.ok()) {
        errors_.push_back(invalid(at_ + ".podSets", component_["podSets"], same.error().message));
      }
    }
    return std::max(declared.size(), inferred->pod_sets.size());
  }

  const Value& component_;
  const Value& template_;
  std::string at_;
  Errors& errors_;
};

// B-11: names that could never be queued, or label nothing. Where Kueue's own configuration says
// who is queued, its webhook looks at those without a queue's name.
void check_app_name(const Value& object, const Settings& settings, Errors& errors) {
  const std::string name = object["metadata"]["name"].str();
  const bool queued = !object["metadata"]["labels"][name::kQueueName].as_string().empty() ||
                      settings.queueing.without_queue;
  if (const Errors wrong = queued ? check_queued_name(object) : Errors(); !wrong.empty()) {
    errors.insert(errors.end(), wrong.begin(), wrong.end());
  } else if (name.size() > kLongestLabel) {
    errors.push_back(invalid("metadata.name", name,
                             fmt::format("must be no more than {} characters", kLongestLabel)));
  }
}

void check_duplicates(const Value& components, Errors& errors) {
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (std::size_t i = 0; i < components.size(); ++i) {
    const Value& one = components[i]["template"];
    const std::string name = one["metadata"]["name"].str();
    if (!name.empty() && !seen.emplace(one["apiVersion"].str(), one["kind"].str(), name).second) {
      errors.push_back(
          FieldError::duplicate(fmt::format("spec.components[{}].template.metadata.name", i), name)
              .text());
    }
  }
}

// A null creationTimestamp, as Go programs print it, equals an absent one.
Value without_null_times(const Value& value) {
  Value result = value;
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    result.item(i) = without_null_times(value[i]);
  }
  for (const Member& member : value.members()) {
    if (member.key() == "creationTimestamp" && member.value.is_null()) {
      result.erase(member.key());
    } else if (member.value.is_object() || member.value.is_list()) {
      result.set(member.key(), without_null_times(member.value));
    }
  }
  return result;
}

void check_component_update(const std::string& at, const Value& component, const Value& old,
                            Errors& errors) {
  if (without_null_times(component["template"]) != without_null_times(old["template"])) {
    errors.push_back(forbidden(at + ".template.raw", kImmutable));
  }
  const Value& sets = component["podSets"];
  const Value& old_sets = old["podSets"];
  if (sets.size() != old_sets.size()) {
    errors.push_back(forbidden(at + ".podsets", kImmutable));
    return;
  }
  for (std::size_t j = 0; j < sets.size(); ++j) {
    if (sets[j]["replicas"].as_int(1) != old_sets[j]["replicas"].as_int(1)) {
      errors.push_back(forbidden(fmt::format("{}.podsets[{}].replicas", at, j), kImmutable));
    }
    if (sets[j]["path"] != old_sets[j]["path"]) {
      errors.push_back(forbidden(fmt::format("{}.podsets[{}].path", at, j), kImmutable));
    }
  }
}

}  // namespace

std::string invalid(std::string_view field, const Value& value, std::string_view detail) {
  std::string shown = error_value(value);
  shown.resize(std::min(shown.size(), kLongestShown));
  return fmt::format("{}: Invalid value: {}: {}", field, shown, detail);
}

std::string forbidden(std::string_view field, std::string_view detail) {
  return fmt::format("{}: Forbidden: {}", field, detail);
}

std::string required(std::string_view field, std::string_view detail) {
  return fmt::format("{}: Required value: {}", field, detail);
}

std::string sanitized(std::string_view text) {
  std::string result(text.substr(0, kLongestLabel));
  std::ranges::replace_if(
      result, [](char c) { return !is_plain(c) && c != '_' && c != '.' && c != '-'; }, '_');
  const auto first = std::ranges::find_if(result, is_plain);
  const auto last = std::find_if(result.rbegin(), result.rend(), is_plain);
  return first == result.end() ? std::string() : std::string(first, last.base());
}

Value with_defaults(const Value& object, const Value& user_info, const Settings& settings) {
  Value result = object;
  Value& metadata = result.member("metadata");
  if (!metadata["labels"].contains(name::kQueueName)) {
    if (const Value& queue = metadata["annotations"][name::kQueueName];
        !queue.as_string().empty()) {
      const Value copied = queue;
      metadata.member("labels").set(name::kQueueName, copied);
    } else if (!settings.default_queue_name.empty()) {
      metadata.member("labels").set(name::kQueueName, settings.default_queue_name);
    }
  }
  Value& labels = metadata.member("labels");
  labels.set(name::kUserLabel, sanitized(user_info["username"].as_string()));
  labels.set(name::kUserIdLabel, sanitized(user_info["uid"].as_string()));
  return result;
}

Value with_kept_infos(const Value& object, const Value& old_object) {
  if (object["spec"]["suspend"].as_bool() || old_object["spec"]["suspend"].as_bool()) {
    return object;
  }
  Value result = object;
  const Value& old = old_object["spec"]["components"];
  const std::size_t count = std::min(old.size(), object["spec"]["components"].size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!old[i]["podSetInfos"].empty() && result["spec"]["components"][i]["podSetInfos"].empty()) {
      result.member("spec").member("components").item(i).set("podSetInfos", old[i]["podSetInfos"]);
    }
  }
  return result;
}

Errors validate_create(const Value& object, std::string_view user, const Entitle& entitle,
                       const Settings& settings) {
  Errors errors;
  const Value& components = object["spec"]["components"];
  std::size_t sets = 0;
  for (std::size_t i = 0; i < components.size(); ++i) {
    sets += ComponentRules(components[i], i, errors)
                .check(object["metadata"]["namespace"].as_string(), user, entitle,
                       settings.strict_kinds);
  }
  check_duplicates(components, errors);
  check_app_name(object, settings, errors);
  if (sets == 0) {
    errors.push_back(invalid("spec.components", components, "components contains no podspecs"));
  }
  if (sets > static_cast<std::size_t>(settings.max_pod_sets)) {
    errors.push_back(invalid("spec.components", components,
                             fmt::format("components contains {} podspecs; at most {} are allowed",
                                         sets, settings.max_pod_sets)));
  }
  return errors;
}

Errors check_queued_name(const Value& object) {
  const std::string name = object["metadata"]["name"].str();
  if (name.empty() || (name.size() <= kLongestQueued && !validate_dns1123_label(name))) {
    return {};  // the server chooses an empty one
  }
  return {invalid("metadata.name", name,
                  fmt::format("must be a lowercase RFC 1123 label of at most {} characters to be "
                              "queued",
                              kLongestQueued))};
}

Errors validate_update(const Value& object, const Value& old_object) {
  Errors errors;
  const Value& components = object["spec"]["components"];
  const Value& old = old_object["spec"]["components"];
  if (components.size() != old.size()) {
    return {forbidden("spec.components", kImmutable)};
  }
  for (std::size_t i = 0; i < components.size(); ++i) {
    check_component_update(fmt::format("spec.components[{}]", i), components[i], old[i], errors);
  }
  for (const std::string_view label : {name::kUserLabel, name::kUserIdLabel}) {
    if (object["metadata"]["labels"][label] != old_object["metadata"]["labels"][label]) {
      errors.push_back(forbidden(fmt::format("metadata.labels[{}]", label), kImmutable));
    }
  }
  if (object["spec"]["managedBy"] != old_object["spec"]["managedBy"]) {
    errors.push_back(forbidden("spec.managedBy", kImmutable));
  }
  return errors;
}

std::string joined(const Errors& errors) {
  Errors once;
  for (const std::string& error : errors) {
    if (std::ranges::find(once, error) == once.end()) {
      once.push_back(error);
    }
  }
  if (once.size() == 1) {
    return once.front();
  }
  std::string text = "[";
  for (const std::string& error : once) {
    text += (text.size() > 1 ? ", " : "") + error;
  }
  return text + "]";
}

}  // namespace athanor::appwrapper
