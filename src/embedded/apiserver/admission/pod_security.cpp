// SPDX-License-Identifier: Apache-2.0
// PodSecurity: pods must keep to the level that their namespace's labels name; those who make pods
// later are warned (docs/spec/apiserver.md 15.1).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "embedded/apiserver/admission/pod_security_checks.hpp"
#include "embedded/apiserver/admission/steps.hpp"
#include "embedded/apiserver/request/call.hpp"
#include "kube/names/field_error.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kPrefix = "pod-security.kubernetes.io/";
constexpr int kNewest = 35;              // what "latest" means
constexpr std::size_t kPodLimit = 3000;  // of a namespace whose level changes

struct Policy {
  SecurityLevel level = SecurityLevel::Privileged;
  int minor = kNewest;
  std::string version = "latest";

  [[nodiscard]] std::string text() const {
    return fmt::format("{}:{}",
                       level == SecurityLevel::Restricted ? "restricted"
                       : level == SecurityLevel::Baseline ? "baseline"
                                                          : "privileged",
                       version);
  }
  friend bool operator==(const Policy&, const Policy&) = default;
};

std::optional<SecurityLevel> level_of(std::string_view text) {
  if (text == "privileged") {
    return SecurityLevel::Privileged;
  }
  if (text == "baseline") {
    return SecurityLevel::Baseline;
  }
  return text == "restricted" ? std::optional(SecurityLevel::Restricted) : std::nullopt;
}

// The minor version of "v1.24"; "latest" is the newest.
std::optional<int> minor_of(std::string_view text) {
  constexpr std::string_view kMajor = "v1.";
  if (text == "latest") {
    return kNewest;
  }
  if (!text.starts_with(kMajor)) {
    return std::nullopt;
  }
  text.remove_prefix(kMajor.size());
  int minor = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), minor);
  const bool whole = code == std::errc() && end == text.data() + text.size() && minor >= 0 &&
                     (text.size() == 1 || text.front() != '0');
  return whole ? std::optional(minor) : std::nullopt;
}

// What the labels say for `mode`; labels that say nonsense mean the strictest.
Policy policy_of(const Value& labels, std::string_view mode) {
  Policy policy;
  if (const Value& level = labels[fmt::format("{}{}", kPrefix, mode)]; level.is_string()) {
    policy.level = level_of(level.as_string()).value_or(SecurityLevel::Restricted);
  }
  const Value& version = labels[fmt::format("{}{}-version", kPrefix, mode)];
  if (const auto minor = minor_of(version.as_string())) {
    policy.version = version.str();
    policy.minor = std::min(*minor, kNewest);
  }
  return policy;
}

std::vector<FieldError> label_errors(const Value& labels) {
  std::vector<FieldError> errors;
  for (const std::string_view mode : {"enforce", "audit", "warn"}) {
    const std::string level = fmt::format("{}{}", kPrefix, mode);
    const std::string version = level + "-version";
    if (labels.contains(level) && !level_of(labels[level].as_string())) {
      errors.push_back(FieldError::invalid(fmt::format("metadata.labels[{}]", level), labels[level],
                                           "must be one of privileged, baseline, restricted"));
    }
    if (labels.contains(version) && !minor_of(labels[version].as_string())) {
      errors.push_back(FieldError::invalid(fmt::format("metadata.labels[{}]", version),
                                           labels[version], "must be \"latest\" or \"v1.x\""));
    }
  }
  return errors;
}

// ---- namespaces

// Pods that would not be let in under the new level, those with the same faults in one line.
void warn_of_pods(AdmissionAttributes& request, const AdmissionContext& context,
                  const Policy& policy) {
  const auto page = context.store.list(
      "pods", {.ns = request.object["metadata"]["name"].str(), .limit = kPodLimit});
  struct Group {
    std::string reasons{}, first{};
    std::size_t others = 0;
  };
  std::vector<Group> groups;
  for (const store::StoredPtr& pod : page.ok() ? page->items : std::vector<store::StoredPtr>()) {
    std::vector<std::string> reasons;
    for (const SecurityFinding& finding :
         security_findings(pod->body["metadata"], pod->body["spec"], policy.level, policy.minor)) {
      reasons.push_back(finding.reason);
    }
    if (reasons.empty()) {
      continue;
    }
    const std::string text = fmt::format("{}", fmt::join(reasons, ", "));
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const Group& group) { return group.reasons == text; });
    if (known == groups.end()) {
      groups.push_back({.reasons = text, .first = pod->key.name});
    } else {
      ++known->others;
    }
  }
  if (groups.empty()) {
    return;
  }
  request.warnings.push_back(
      fmt::format("existing pods in namespace \"{}\" violate the new PodSecurity enforce level "
                  "\"{}\"",
                  request.object["metadata"]["name"].as_string(), policy.text()));
  for (const Group& group : groups) {
    const std::string others =
        group.others == 0
            ? std::string()
            : fmt::format(" (and {} other pod{})", group.others, group.others == 1 ? "" : "s");
    request.warnings.push_back(fmt::format("{}{}: {}", group.first, others, group.reasons));
  }
}

StatusResult<void> check_namespace(AdmissionAttributes& request, const AdmissionContext& context) {
  const Value& labels = request.object["metadata"]["labels"];
  const Value& before = request.old_object["metadata"]["labels"];
  if (const auto errors = label_errors(labels); !errors.empty() && errors != label_errors(before)) {
    return status::invalid({"Namespace", ""}, request.object["metadata"]["name"].as_string(),
                           errors);
  }
  const Policy now = policy_of(labels, "enforce");
  const Policy old = policy_of(before, "enforce");
  const bool stricter = now != old && now.level != SecurityLevel::Privileged &&
                        (now.version != old.version || now.level > old.level);
  if (request.operation == Operation::Update && stricter) {
    warn_of_pods(request, context, now);
  }
  return {};
}

// ---- pods, and what makes pods

// The path to the template of what makes pods; empty: it makes none.
std::vector<std::string> template_path(const ResourceInfo& resource) {
  const std::string& plural = resource.plural;
  if (resource.group.empty() && plural == "podtemplates") {
    return {"template"};
  }
  if (resource.group == "batch" && plural == "cronjobs") {
    return {"spec", "jobTemplate", "spec", "template"};
  }
  const bool workload =
      (resource.group.empty() && plural == "replicationcontrollers") ||
      (resource.group == "batch" && plural == "jobs") ||
      (resource.group == "apps" && (plural == "deployments" || plural == "replicasets" ||
                                    plural == "statefulsets" || plural == "daemonsets"));
  return workload ? std::vector<std::string>{"spec", "template"} : std::vector<std::string>();
}

// What an update of a pod can change that matters: images, ephemeral containers, annotations of
// AppArmor.
bool changes_security(const AdmissionAttributes& request) {
  const auto essence = [](const Value& pod) {
    Value parts = Value::list();
    for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
      for (const Value& container : pod["spec"][list].items()) {
        parts.push_back(
            Value::list({container["name"], container["image"], container["securityContext"]}));
      }
    }
    for (const Member& annotation : pod["metadata"]["annotations"].members()) {
      if (std::string_view(annotation.key()).find("apparmor") != std::string_view::npos) {
        parts.push_back(Value::list({Value(annotation.key()), annotation.value}));
      }
    }
    return parts;
  };
  return essence(request.object) != essence(request.old_object);
}

void annotate(const AdmissionContext& context, std::string_view key, std::string value) {
  if (context.call != nullptr) {
    context.call->annotate(fmt::format("{}{}", kPrefix, key), std::move(value));
  }
}

std::string would_violate(const Policy& policy, const std::vector<SecurityFinding>& findings) {
  return fmt::format("would violate PodSecurity \"{}\": {}", policy.text(),
                     findings_text(findings));
}

// Warnings and notes for the audit, as `warn` and `audit` say.
void tell(AdmissionAttributes& request, const AdmissionContext& context, const Value& pod,
          const Policy& warn, const Policy& audit) {
  const auto found = [&pod](const Policy& policy) {
    return security_findings(pod["metadata"], pod["spec"], policy.level, policy.minor);
  };
  if (const auto findings = found(audit); !findings.empty()) {
    annotate(context, "audit-violations", would_violate(audit, findings));
  }
  if (const auto findings = found(warn); !findings.empty()) {
    request.warnings.push_back(would_violate(warn, findings));
  }
}

StatusResult<void> check_pod(AdmissionAttributes& request, const AdmissionContext& context,
                             const Value& labels) {
  if (request.operation == Operation::Update && !changes_security(request)) {
    return {};
  }
  const Policy enforce = policy_of(labels, "enforce");
  annotate(context, "enforce-policy", enforce.text());
  const auto findings = security_findings(request.object["metadata"], request.object["spec"],
                                          enforce.level, enforce.minor);
  if (!findings.empty()) {
    return refuse(request, fmt::format("violates PodSecurity \"{}\": {}", enforce.text(),
                                       findings_text(findings)));
  }
  tell(request, context, request.object, policy_of(labels, "warn"), policy_of(labels, "audit"));
  return {};
}

StatusResult<void> check_pod_security(AdmissionAttributes& request,
                                      const AdmissionContext& context) {
  const ResourceInfo& resource = *request.resource;
  if (is_main_write(request, "", "namespaces")) {
    return check_namespace(request, context);
  }
  const bool pod = is_main_write(request, "", "pods") ||
                   (resource.storage == "pods" && request.operation == Operation::Update &&
                    request.subresource == "ephemeralcontainers");
  const auto path = pod ? std::vector<std::string>() : template_path(resource);
  if (!pod && (path.empty() || !is_main_write(request, resource.group, resource.plural))) {
    return {};
  }
  const store::StoredPtr ns = context.store.get("namespaces", {"", request.key.ns});
  if (ns == nullptr) {
    return {};
  }
  const Value& labels = ns->body["metadata"]["labels"];
  if (pod) {
    return check_pod(request, context, labels);
  }
  // Who warns of nothing else warns of what will be refused.
  const auto mode = [&labels](std::string_view name) {
    const bool said = labels.contains(fmt::format("{}{}", kPrefix, name));
    return policy_of(labels, said ? name : "enforce");
  };
  if (const Value& made = request.object.at(std::span<const std::string>(path)); made.is_object()) {
    tell(request, context, made, mode("warn"), mode("audit"));
  }
  return {};
}

}  // namespace

AdmissionStep pod_security_step() {
  return {.name = "PodSecurity", .mutate = {}, .validate = &check_pod_security};
}

}  // namespace athanor::apiserver
