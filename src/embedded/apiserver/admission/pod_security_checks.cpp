// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/admission/pod_security_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <set>

#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

// From which version on a rule exempts pods that it does not concern.
constexpr int kWindowsSpared = 25;
constexpr int kUserNamespacesSpared = 35;
constexpr std::string_view kAppArmor = "container.apparmor.security.beta.kubernetes.io/";

using Names = std::vector<std::string>;
using Texts = std::set<std::string>;
using Finding = std::optional<SecurityFinding>;

std::string quoted(const Texts& texts) {
  Names all;
  for (const std::string& text : texts) {
    all.push_back(fmt::format("\"{}\"", text));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

// `container "c"`, `containers "c", "d"`.
std::string named(std::string_view what, const Names& names) {
  Names all;
  for (const std::string& name : names) {
    all.push_back(go_quote(name));
  }
  return fmt::format("{}{} {}", what, names.size() == 1 ? "" : "s", fmt::join(all, ", "));
}

std::string_view plural(std::string_view one, std::string_view many, std::size_t count) {
  return count == 1 ? one : many;
}

struct Pod {
  const Value& metadata;
  const Value& spec;
  int minor = 0;
  std::vector<const Value*> containers{};

  Pod(const Value& pod_metadata, const Value& pod_spec, int version)
      : metadata(pod_metadata), spec(pod_spec), minor(version) {
    for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
      for (const Value& container : spec[list].items()) {
        containers.push_back(&container);
      }
    }
  }

  [[nodiscard]] const Value& context() const { return spec["securityContext"]; }
  [[nodiscard]] bool is_windows_exempt() const {
    return minor >= kWindowsSpared && spec["os"]["name"].as_string() == "windows";
  }
  [[nodiscard]] bool is_user_namespace_exempt() const {
    return minor >= kUserNamespacesSpared && !spec["hostUsers"].as_bool(true);
  }
  // Of the containers for which `bad` holds.
  template <class Bad>
  [[nodiscard]] Names names_where(Bad bad) const {
    Names names;
    for (const Value* container : containers) {
      if (bad(*container)) {
        names.push_back((*container)["name"].str());
      }
    }
    return names;
  }
};

// `pod and container "c"`.
std::string setters(bool pod, const Names& containers) {
  Names all;
  if (pod) {
    all.emplace_back("pod");
  }
  if (!containers.empty()) {
    all.push_back(named("container", containers));
  }
  return fmt::format("{}", fmt::join(all, " and "));
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> allowed) {
  return std::find(allowed.begin(), allowed.end(), text) != allowed.end();
}

// ---- baseline

Finding app_armor(const Pod& pod) {
  Texts values;
  const auto bad = [&](const Value& context) {
    const std::string type = context["appArmorProfile"]["type"].str();
    const bool wrong = !one_of(type, {"", "RuntimeDefault", "Localhost"});
    if (wrong) {
      values.insert(go_quote(type));
    }
    return wrong;
  };
  Names who;
  const bool by_pod = bad(pod.context());
  const Names containers =
      pod.names_where([&](const Value& container) { return bad(container["securityContext"]); });
  if (by_pod || !containers.empty()) {
    who.push_back(setters(by_pod, containers));
  }
  std::size_t annotations = 0;
  for (const Member& annotation : pod.metadata["annotations"].members()) {
    const std::string_view value = annotation.value.as_string();
    if (std::string_view(annotation.key()).starts_with(kAppArmor) && !value.empty() &&
        value != "runtime/default" && !value.starts_with("localhost/")) {
      values.insert(fmt::format("\"{}=\"{}\"\"", annotation.key(), value));
      ++annotations;
    }
  }
  if (annotations > 0) {
    who.emplace_back(plural("annotation", "annotations", annotations));
  }
  if (who.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{
      .reason = std::string(
          plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.size())),
      .detail = fmt::format("{} must not set AppArmor profile type to {}", fmt::join(who, " and "),
                            fmt::join(values, ", "))};
}

Finding added_capabilities(const Pod& pod) {
  Texts added;
  const Names names = pod.names_where([&](const Value& container) {
    bool wrong = false;
    for (const Value& name : container["securityContext"]["capabilities"]["add"].items()) {
      if (!one_of(name.as_string(),
                  {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
                   "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"})) {
        added.insert(name.str());
        wrong = true;
      }
    }
    return wrong;
  });
  if (names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{
      .reason = "non-default capabilities",
      .detail = fmt::format("{} must not include {} in securityContext.capabilities.add",
                            named("container", names), quoted(added))};
}

Finding host_namespaces(const Pod& pod) {
  Names set;
  for (const std::string_view field : {"hostNetwork", "hostPID", "hostIPC"}) {
    if (pod.spec[field].as_bool()) {
      set.push_back(fmt::format("{}=true", field));
    }
  }
  if (set.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{.reason = "host namespaces",
                         .detail = fmt::format("{}", fmt::join(set, ", "))};
}

Finding host_paths(const Pod& pod) {
  Names names;
  for (const Value& volume : pod.spec["volumes"].items()) {
    if (volume.contains("hostPath")) {
      names.push_back(volume["name"].str());
    }
  }
  if (names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{.reason = "hostPath volumes", .detail = named("volume", names)};
}

Finding host_ports(const Pod& pod) {
  Texts ports;
  const Names names = pod.names_where([&](const Value& container) {
    bool wrong = false;
    for (const Value& port : container["ports"].items()) {
      if (const std::int64_t number = port["hostPort"].as_int(); number != 0) {
        ports.insert(std::to_string(number));
        wrong = true;
      }
    }
    return wrong;
  });
  if (names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{
      .reason = "hostPort",
      .detail =
          fmt::format("{} {} {} {}", named("container", names), plural("uses", "use", names.size()),
                      plural("hostPort", "hostPorts", ports.size()), fmt::join(ports, ", "))};
}

Finding probe_hosts(const Pod& pod) {
  constexpr int kSince = 34;
  if (pod.minor < kSince) {
    return std::nullopt;
  }
  Texts hosts;
  const auto bad = [&](const Value& handler) {
    bool wrong = false;
    for (const std::string_view kind : {"httpGet", "tcpSocket"}) {
      if (const std::string host = handler[kind]["host"].str(); !host.empty()) {
        hosts.insert(host);
        wrong = true;
      }
    }
    return wrong;
  };
  const Names names = pod.names_where([&](const Value& container) {
    bool wrong = false;
    for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
      wrong = bad(container[probe]) || wrong;
    }
    for (const std::string_view hook : {"postStart", "preStop"}) {
      wrong = bad(container["lifecycle"][hook]) || wrong;
    }
    return wrong;
  });
  if (names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{
      .reason = "probe or lifecycle host",
      .detail = fmt::format("{} {} probe or lifecycle {} {}", named("container", names),
                            plural("uses", "use", names.size()),
                            plural("host", "hosts", hosts.size()), quoted(hosts))};
}

Finding privileged(const Pod& pod) {
  const Names names = pod.names_where(
      [](const Value& container) { return container["securityContext"]["privileged"].as_bool(); });
  if (names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{
      .reason = "privileged",
      .detail = named("container", names) + " must not set securityContext.privileged=true"};
}

Finding proc_mounts(const Pod& pod) {
  Texts types;
  const Names names = pod.names_where([&](const Value& container) {
    const std::string type = container["securityContext"]["procMount"].str();
    const bool wrong = !one_of(type, {"", "Default"});
    if (wrong) {
      types.insert(type);
    }
    return wrong;
  });
  if (names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{.reason = "procMount",
                         .detail = fmt::format("{} must not set securityContext.procMount to {}",
                                               named("container", names), quoted(types))};
}

Finding baseline_proc_mounts(const Pod& pod) {
  return pod.is_user_namespace_exempt() ? std::nullopt : proc_mounts(pod);
}

Finding se_linux(const Pod& pod) {
  constexpr int kEngineAllowed = 31;
  Texts types;
  bool user = false;
  bool role = false;
  const auto bad = [&](const Value& context) {
    const Value& options = context["seLinuxOptions"];
    const std::string type = options["type"].str();
    const bool wrong_type =
        !one_of(type, {"", "container_t", "container_init_t", "container_kvm_t"}) &&
        (type != "container_engine_t" || pod.minor < kEngineAllowed);
    if (wrong_type) {
      types.insert(type);
    }
    const bool sets_user = !options["user"].as_string().empty();
    const bool sets_role = !options["role"].as_string().empty();
    user = user || sets_user;
    role = role || sets_role;
    return wrong_type || sets_user || sets_role;
  };
  const bool by_pod = bad(pod.context());
  const Names names =
      pod.names_where([&](const Value& container) { return bad(container["securityContext"]); });
  if (!by_pod && names.empty()) {
    return std::nullopt;
  }
  Names what;
  if (!types.empty()) {
    what.push_back(fmt::format("{} {}", plural("type", "types", types.size()), quoted(types)));
  }
  if (user) {
    what.emplace_back("user may not be set");
  }
  if (role) {
    what.emplace_back("role may not be set");
  }
  return SecurityFinding{
      .reason = "seLinuxOptions",
      .detail = fmt::format("{} set forbidden securityContext.seLinuxOptions: {}",
                            setters(by_pod, names), fmt::join(what, "; "))};
}

// What was set and must not be.
Finding forbidden_seccomp(const Pod& pod) {
  constexpr int kSince = 19;  // before, annotations said it
  if (pod.minor < kSince) {
    return std::nullopt;
  }
  Texts types;
  const auto bad = [&](const Value& context) {
    const std::string type = context["seccompProfile"]["type"].str();
    const bool wrong = !one_of(type, {"", "RuntimeDefault", "Localhost"});
    if (wrong) {
      types.insert(type);
    }
    return wrong;
  };
  const bool by_pod = bad(pod.context());
  const Names names =
      pod.names_where([&](const Value& container) { return bad(container["securityContext"]); });
  if (!by_pod && names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{
      .reason = "seccompProfile",
      .detail = fmt::format("{} must not set securityContext.seccompProfile.type to {}",
                            setters(by_pod, names), quoted(types))};
}

Finding sysctls(const Pod& pod) {
  struct Allowed {
    std::string_view name{};
    int since = 0;
  };
  static constexpr std::array<Allowed, 12> kAllowed = {{
      {"kernel.shm_rmid_forced", 0},
      {"net.ipv4.ip_local_port_range", 0},
      {"net.ipv4.tcp_syncookies", 0},
      {"net.ipv4.ping_group_range", 0},
      {"net.ipv4.ip_unprivileged_port_start", 0},
      {"net.ipv4.ip_local_reserved_ports", 27},
      {"net.ipv4.tcp_keepalive_time", 29},
      {"net.ipv4.tcp_fin_timeout", 29},
      {"net.ipv4.tcp_keepalive_intvl", 29},
      {"net.ipv4.tcp_keepalive_probes", 29},
      {"net.ipv4.tcp_rmem", 32},
      {"net.ipv4.tcp_wmem", 32},
  }};
  Names names;
  for (const Value& sysctl : pod.context()["sysctls"].items()) {
    const std::string name = sysctl["name"].str();
    const bool allowed = std::any_of(kAllowed.begin(), kAllowed.end(), [&](const Allowed& one) {
      return one.name == name && pod.minor >= one.since;
    });
    if (!allowed) {
      names.push_back(name);
    }
  }
  if (names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{.reason = "forbidden sysctls",
                         .detail = fmt::format("{}", fmt::join(names, ", "))};
}

Finding host_process(const Pod& pod) {
  const auto bad = [](const Value& context) {
    return context["windowsOptions"]["hostProcess"].as_bool();
  };
  const bool by_pod = bad(pod.context());
  const Names names =
      pod.names_where([&](const Value& container) { return bad(container["securityContext"]); });
  if (!by_pod && names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{.reason = "hostProcess",
                         .detail = setters(by_pod, names) +
                                   " must not set securityContext.windowsOptions.hostProcess=true"};
}

// ---- restricted

Finding escalation(const Pod& pod) {
  constexpr int kSince = 8;
  if (pod.minor < kSince || pod.is_windows_exempt()) {
    return std::nullopt;
  }
  const Names names = pod.names_where([](const Value& container) {
    return container["securityContext"]["allowPrivilegeEscalation"].as_bool(true);
  });
  if (names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{.reason = "allowPrivilegeEscalation != false",
                         .detail = named("container", names) +
                                   " must set securityContext.allowPrivilegeEscalation=false"};
}

Finding kept_capabilities(const Pod& pod) {
  if (pod.is_windows_exempt()) {
    return std::nullopt;
  }
  Texts added;
  const Names keeping = pod.names_where([](const Value& container) {
    const auto dropped = container["securityContext"]["capabilities"]["drop"].items();
    return std::none_of(dropped.begin(), dropped.end(),
                        [](const Value& name) { return name.as_string() == "ALL"; });
  });
  const Names adding = pod.names_where([&](const Value& container) {
    bool wrong = false;
    for (const Value& name : container["securityContext"]["capabilities"]["add"].items()) {
      if (name.as_string() != "NET_BIND_SERVICE") {
        added.insert(name.str());
        wrong = true;
      }
    }
    return wrong;
  });
  Names what;
  if (!keeping.empty()) {
    what.push_back(named("container", keeping) +
                   " must set securityContext.capabilities.drop=[\"ALL\"]");
  }
  if (!adding.empty()) {
    what.push_back(fmt::format("{} must not include {} in securityContext.capabilities.add",
                               named("container", adding), quoted(added)));
  }
  if (what.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{.reason = "unrestricted capabilities",
                         .detail = fmt::format("{}", fmt::join(what, "; "))};
}

Finding volume_types(const Pod& pod) {
  Names names;
  Texts types;
  for (const Value& volume : pod.spec["volumes"].items()) {
    for (const Member& member : volume.members()) {
      if (!one_of(member.key(), {"name", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral",
                                 "image", "persistentVolumeClaim", "projected", "secret"})) {
        names.push_back(volume["name"].str());
        types.emplace(member.key());
      }
    }
  }
  if (names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{
      .reason = "restricted volume types",
      .detail = fmt::format("{} {} restricted volume {} {}", named("volume", names),
                            plural("uses", "use", names.size()),
                            plural("type", "types", types.size()), quoted(types))};
}

Finding non_root(const Pod& pod) {
  if (pod.is_user_namespace_exempt()) {
    return std::nullopt;
  }
  const Value& of_pod = pod.context()["runAsNonRoot"];
  const bool by_pod = of_pod.is_bool() && !of_pod.as_bool();
  const Names setting = pod.names_where([](const Value& container) {
    const Value& own = container["securityContext"]["runAsNonRoot"];
    return own.is_bool() && !own.as_bool();
  });
  SecurityFinding finding{.reason = "runAsNonRoot != true"};
  if (by_pod || !setting.empty()) {
    finding.detail = setters(by_pod, setting) + " must not set securityContext.runAsNonRoot=false";
    return finding;
  }
  const Names silent = pod.names_where([&](const Value& container) {
    return !of_pod.as_bool() && !container["securityContext"]["runAsNonRoot"].is_bool();
  });
  if (silent.empty()) {
    return std::nullopt;
  }
  finding.detail = fmt::format("pod or {} must set securityContext.runAsNonRoot=true",
                               named("container", silent));
  return finding;
}

Finding root_user(const Pod& pod) {
  constexpr int kSince = 23;
  if (pod.minor < kSince || pod.is_user_namespace_exempt()) {
    return std::nullopt;
  }
  const auto bad = [](const Value& context) {
    return context["runAsUser"].is_number() && context["runAsUser"].as_int() == 0;
  };
  const bool by_pod = bad(pod.context());
  const Names names =
      pod.names_where([&](const Value& container) { return bad(container["securityContext"]); });
  if (!by_pod && names.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{.reason = "runAsUser=0",
                         .detail = setters(by_pod, names) + " must not set runAsUser=0"};
}

Finding missing_seccomp(const Pod& pod) {
  if (pod.is_windows_exempt()) {
    return std::nullopt;
  }
  if (Finding forbidden = forbidden_seccomp(pod)) {
    return forbidden;
  }
  const bool set = !pod.context()["seccompProfile"]["type"].as_string().empty();
  const Names silent = pod.names_where([&](const Value& container) {
    return !set && container["securityContext"]["seccompProfile"]["type"].as_string().empty();
  });
  if (silent.empty()) {
    return std::nullopt;
  }
  return SecurityFinding{.reason = "seccompProfile",
                         .detail = fmt::format("pod or {} must set "
                                               "securityContext.seccompProfile.type to "
                                               "\"RuntimeDefault\" or \"Localhost\"",
                                               named("container", silent))};
}

using Check = Finding (*)(const Pod&);

// A check of baseline is left out where one of restricted takes its place.
std::vector<Check> checks_of(SecurityLevel level, int minor) {
  constexpr int kCapabilities = 22;
  constexpr int kSeccomp = 19;
  const bool restricted = level == SecurityLevel::Restricted;
  std::vector<Check> checks;
  const auto add = [&checks](bool when, Check check) {
    if (when) {
      checks.push_back(check);
    }
  };
  add(true, &app_armor);
  add(!restricted || minor < kCapabilities, &added_capabilities);
  add(true, &host_namespaces);
  add(!restricted, &host_paths);
  add(true, &host_ports);
  add(true, &probe_hosts);
  add(true, &privileged);
  add(!restricted || minor < kUserNamespacesSpared, &baseline_proc_mounts);
  add(true, &se_linux);
  add(!restricted || minor < kSeccomp, &forbidden_seccomp);
  add(true, &sysctls);
  add(true, &host_process);
  add(restricted, &escalation);
  add(restricted && minor >= kCapabilities, &kept_capabilities);
  add(restricted && minor >= kUserNamespacesSpared, &proc_mounts);
  add(restricted, &volume_types);
  add(restricted, &non_root);
  add(restricted, &root_user);
  add(restricted && minor >= kSeccomp, &missing_seccomp);
  return checks;
}

}  // namespace

std::vector<SecurityFinding> security_findings(const Value& metadata, const Value& spec,
                                               SecurityLevel level, int minor) {
  std::vector<SecurityFinding> findings;
  if (level == SecurityLevel::Privileged) {
    return findings;
  }
  const Pod pod(metadata, spec, minor);
  for (const Check check : checks_of(level, minor)) {
    if (Finding finding = check(pod)) {
      findings.push_back(*std::move(finding));
    }
  }
  return findings;
}

std::string findings_text(const std::vector<SecurityFinding>& findings) {
  Names all;
  for (const SecurityFinding& finding : findings) {
    all.push_back(fmt::format("{} ({})", finding.reason, finding.detail));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace athanor::apiserver
