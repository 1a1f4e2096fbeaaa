// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/pods/security_rules.hpp"

#include <algorithm>
#include <set>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/pods/volume_rules.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::int64_t kMaxId = 2'147'483'647;
constexpr std::size_t kMaxSysctl = 253;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// "kernel.shm_rmid_forced", "net/ipv4/ip_forward".
bool is_sysctl_name(std::string_view name) {
  if (name.size() > kMaxSysctl) {
    return false;
  }
  while (true) {
    const std::size_t end = name.find_first_of("./");
    const std::string_view part = name.substr(0, end);
    if (part.empty() || !is_plain(part.front()) || !is_plain(part.back()) ||
        !std::ranges::all_of(part, [](char c) { return is_plain(c) || c == '-' || c == '_'; })) {
      return false;
    }
    if (end == std::string_view::npos) {
      return true;
    }
    name = name.substr(end + 1);
  }
}

bool is_of_network(std::string_view name) {
  return name.starts_with("net.") || name.starts_with("net/");
}

bool is_of_messages(std::string_view name) {
  return name == "kernel.sem" || name.starts_with("kernel.shm") || name.starts_with("kernel.msg") ||
         name.starts_with("fs.mqueue.");
}

void check_sysctls(FieldErrors& errors, const Value& spec, const std::string& path) {
  std::set<std::string> names;
  const Value& sysctls = spec["securityContext"]["sysctls"];
  for (std::size_t i = 0; i < sysctls.size(); ++i) {
    const std::string here = at(path, i) + ".name";
    const std::string name = sysctls[i]["name"].str();
    if (name.empty()) {
      errors.push_back(FieldError::required(here));
    } else if (!is_sysctl_name(name)) {
      errors.push_back(FieldError::invalid(
          here, name,
          R"(must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?)"
          R"([\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$)"));
    } else if (names.contains(name)) {
      errors.push_back(FieldError::duplicate(here, name));
    }
    names.insert(name);
    if (spec["hostNetwork"].as_bool() && is_of_network(name)) {
      errors.push_back(
          FieldError::invalid(here, name, "may not be specified when 'hostNetwork' is true"));
    } else if (spec["hostIPC"].as_bool() && is_of_messages(name)) {
      errors.push_back(
          FieldError::invalid(here, name, "may not be specified when 'hostIPC' is true"));
    }
  }
}

void check_ids(FieldErrors& errors, const Value& context, const std::string& path) {
  for (const std::string_view field : {"fsGroup", "runAsUser", "runAsGroup"}) {
    check_between(errors, below(path, field), context[field], 0, kMaxId);
  }
  const Value& groups = context["supplementalGroups"];
  for (std::size_t i = 0; i < groups.size(); ++i) {
    check_between(errors, at(path + ".supplementalGroups", i), groups[i], 0, kMaxId);
  }
}

void check_seccomp(FieldErrors& errors, const Value& profile, const std::string& path) {
  if (!profile.is_object()) {
    return;
  }
  const std::string_view type = profile["type"].as_string();
  if (type.empty()) {
    errors.push_back(
        FieldError::required(path + ".type", "type is required when seccompProfile is set"));
  }
  check_choice(errors, path + ".type", profile["type"],
               {"Localhost", "RuntimeDefault", "Unconfined"});
  const Value& file = profile["localhostProfile"];
  if (type == "Localhost" && file.is_null()) {
    errors.push_back(FieldError::required(path + ".localhostProfile",
                                          "must be set when seccomp type is Localhost"));
  } else if (type == "Localhost") {
    check_descending_path(errors, path + ".localhostProfile", file.as_string());
  } else if (!file.is_null()) {
    errors.push_back(FieldError::invalid(path + ".localhostProfile", profile,
                                         "can only be set when seccomp type is Localhost"));
  }
}

void check_app_armor(FieldErrors& errors, const Value& profile, const std::string& path) {
  if (!profile.is_object()) {
    return;
  }
  const std::string_view type = profile["type"].as_string();
  const Value& file = profile["localhostProfile"];
  if (type.empty()) {
    errors.push_back(
        FieldError::required(path + ".type", "type is required when appArmorProfile is set"));
  } else if (type == "Localhost") {
    const std::string_view name = file.as_string();
    if (name.empty()) {
      errors.push_back(FieldError::required(path + ".localhostProfile",
                                            "must be set when AppArmor type is Localhost"));
    } else if (name.front() == ' ' || name.back() == ' ') {
      errors.push_back(FieldError::invalid(path + ".localhostProfile", name,
                                           "must not be padded with whitespace"));
    }
  } else if (is_one_of(type, {"RuntimeDefault", "Unconfined"})) {
    if (!file.is_null()) {
      errors.push_back(FieldError::invalid(path + ".localhostProfile", file,
                                           "can only be set when AppArmor type is Localhost"));
    }
  } else {
    errors.push_back(FieldError::not_supported(path + ".type", profile["type"],
                                               {"Localhost", "RuntimeDefault", "Unconfined"}));
  }
}

}  // namespace

void check_pod_security(FieldErrors& errors, const Value& spec, const std::string& path) {
  const Value& context = spec["securityContext"];
  const std::string here = path + ".securityContext";
  check_ids(errors, context, here);
  if (spec["shareProcessNamespace"].as_bool() && spec["hostPID"].as_bool()) {
    errors.push_back(
        FieldError::invalid(here + ".shareProcessNamespace", spec["shareProcessNamespace"],
                            "ShareProcessNamespace and HostPID cannot both be enabled"));
  }
  check_sysctls(errors, spec, here + ".sysctls");
  for (const auto& [field, choices] : {std::pair<std::string_view, std::vector<std::string>>{
                                           "fsGroupChangePolicy", {"Always", "OnRootMismatch"}},
                                       {"supplementalGroupsPolicy", {"Merge", "Strict"}},
                                       {"seLinuxChangePolicy", {"MountOption", "Recursive"}}}) {
    if (!context[field].is_null()) {
      check_choice_always(errors, below(here, field), context[field], choices);
    }
  }
  check_seccomp(errors, context["seccompProfile"], here + ".seccompProfile");
  check_app_armor(errors, context["appArmorProfile"], here + ".appArmorProfile");
}

void check_container_security(FieldErrors& errors, const Value& context, const Value& spec,
                              const std::string& path) {
  check_ids(errors, context, path);
  if (const Value& mount = context["procMount"]; !mount.is_null()) {
    check_choice_always(errors, path + ".procMount", mount, {"Default", "Unmasked"});
    if (mount.as_string() == "Unmasked" && spec["hostUsers"].as_bool(true)) {
      errors.push_back(FieldError::invalid(path + ".procMount", mount,
                                           "`hostUsers` must be false to use `Unmasked`"));
    }
  }
  check_seccomp(errors, context["seccompProfile"], path + ".seccompProfile");
  check_app_armor(errors, context["appArmorProfile"], path + ".appArmorProfile");
  const Value& escalates = context["allowPrivilegeEscalation"];
  if (escalates.is_null() || escalates.as_bool()) {
    return;
  }
  if (context["privileged"].as_bool()) {
    errors.push_back(FieldError::invalid(
        path, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
  }
  for (const Value& added : context["capabilities"]["add"].items()) {
    if (added.as_string() == "CAP_SYS_ADMIN") {
      errors.push_back(FieldError::invalid(path, context,
                                           "cannot set `allowPrivilegeEscalation` to false and "
                                           "`capabilities.Add` CAP_SYS_ADMIN"));
    }
  }
}

}  // namespace athanor::apiserver
