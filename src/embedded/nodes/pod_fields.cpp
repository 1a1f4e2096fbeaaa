// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/pod_fields.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/ascii.hpp"

namespace athanor::nodes {
namespace {

using enum FieldTreatment;

struct Rule {
  std::string_view type{};
  FieldTreatment treatment = Done;
  std::string_view fields{};  // separated by blanks
};

// NOLINTBEGIN(readability-magic-numbers): no numbers, only names
constexpr Rule kRules[] = {
    {"PodSpec", Done,
     "activeDeadlineSeconds automountServiceAccountToken containers dnsConfig dnsPolicy "
     "enableServiceLinks ephemeralContainers "
     "hostAliases hostname hostnameOverride initContainers nodeName restartPolicy "
     "serviceAccount serviceAccountName setHostnameAsFQDN subdomain securityContext "
     "terminationGracePeriodSeconds volumes"},
    {"PodSpec", Whole,
     "affinity nodeSelector overhead preemptionPolicy priority priorityClassName readinessGates "
     "resourceClaims schedulerName schedulingGates tolerations topologySpreadConstraints"},
    {"PodSpec", Emulated, "hostNetwork imagePullSecrets os resources"},
    {"PodSpec", Noted,
     "hostIPC hostPID hostUsers runtimeClassName shareProcessNamespace workloadRef"},
    {"Container", Done,
     "args command env envFrom lifecycle livenessProbe name ports readinessProbe restartPolicy "
     "restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath "
     "terminationMessagePolicy tty volumeMounts workingDir"},
    {"Container", Emulated, "image imagePullPolicy resizePolicy resources"},
    {"Container", Noted, "volumeDevices"},
    {"EphemeralContainer", Done,
     "args command env envFrom lifecycle livenessProbe name ports readinessProbe restartPolicy "
     "restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath "
     "terminationMessagePolicy tty volumeMounts workingDir"},
    {"EphemeralContainer", Emulated, "image imagePullPolicy resizePolicy resources"},
    // Of an ordinary user's lab an event of the pod says that it is not joined.
    {"EphemeralContainer", Emulated, "targetContainerName"},
    {"EphemeralContainer", Noted, "volumeDevices"},
    {"HostAlias", Done, "hostnames ip"},
    {"PodDNSConfig", Done, "nameservers options searches"},
    {"PodDNSConfigOption", Done, "name value"},
    {"LocalObjectReference", Emulated, "name"},
    {"PodOS", Emulated, "name"},
    {"ResourceRequirements", Whole, "claims"},
    {"ResourceRequirements", Emulated, "limits requests"},
    {"PodSecurityContext", Done,
     "fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser supplementalGroups"},
    {"PodSecurityContext", Noted,
     "appArmorProfile seLinuxChangePolicy seLinuxOptions sysctls windowsOptions"},
    // No groups of /etc/group are added, as with Strict.
    {"PodSecurityContext", Emulated, "seccompProfile supplementalGroupsPolicy"},
    {"SecurityContext", Done,
     "capabilities readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser"},
    {"SecurityContext", Emulated, "allowPrivilegeEscalation seccompProfile"},
    {"SecurityContext", Refused, "privileged"},
    {"SecurityContext", Noted, "appArmorProfile procMount seLinuxOptions windowsOptions"},
    {"SeccompProfile", Emulated, "localhostProfile type"},
    {"Capabilities", Done, "drop"},
    {"Capabilities", Emulated, "add"},
    {"Volume", Done,
     "configMap downwardAPI emptyDir ephemeral name persistentVolumeClaim projected secret"},
    {"Volume", Refused,
     "awsElasticBlockStore azureDisk azureFile cephfs cinder csi fc flexVolume flocker "
     "gcePersistentDisk gitRepo glusterfs hostPath image iscsi nfs photonPersistentDisk "
     "portworxVolume quobyte rbd scaleIO storageos vsphereVolume"},
    {"ConfigMapVolumeSource", Done, "defaultMode items name optional"},
    {"SecretVolumeSource", Done, "defaultMode items optional secretName"},
    {"DownwardAPIVolumeSource", Done, "defaultMode items"},
    {"EmptyDirVolumeSource", Done, "medium sizeLimit"},
    {"EphemeralVolumeSource", Emulated, "volumeClaimTemplate"},
    {"PersistentVolumeClaimTemplate", Emulated, "metadata spec"},
    {"PersistentVolumeClaimSpec", Emulated,
     "accessModes dataSource dataSourceRef resources selector storageClassName "
     "volumeAttributesClassName volumeMode volumeName"},
    {"TypedLocalObjectReference", Emulated, "apiGroup kind name"},
    {"TypedObjectReference", Emulated, "apiGroup kind name namespace"},
    {"VolumeResourceRequirements", Emulated, "limits requests"},
    {"PersistentVolumeClaimVolumeSource", Done, "claimName readOnly"},
    {"ProjectedVolumeSource", Done, "defaultMode sources"},
    {"VolumeProjection", Done, "configMap downwardAPI secret serviceAccountToken"},
    {"VolumeProjection", Refused, "clusterTrustBundle podCertificate"},
    {"ConfigMapProjection", Done, "items name optional"},
    {"SecretProjection", Done, "items name optional"},
    {"DownwardAPIProjection", Done, "items"},
    {"ServiceAccountTokenProjection", Done, "audience expirationSeconds path"},
    {"KeyToPath", Done, "key mode path"},
    {"DownwardAPIVolumeFile", Done, "fieldRef mode path resourceFieldRef"},
    {"ObjectFieldSelector", Done, "apiVersion fieldPath"},
    {"ResourceFieldSelector", Done, "containerName divisor resource"},
    {"VolumeMount", Done, "mountPath name readOnly subPath subPathExpr"},
    {"VolumeMount", Noted, "mountPropagation recursiveReadOnly"},
    {"VolumeDevice", Noted, "devicePath name"},
    {"EnvVar", Done, "name value valueFrom"},
    {"EnvVarSource", Done, "configMapKeyRef fieldRef resourceFieldRef secretKeyRef"},
    {"EnvVarSource", Refused, "fileKeyRef"},
    {"EnvFromSource", Done, "configMapRef prefix secretRef"},
    {"ConfigMapEnvSource", Done, "name optional"},
    {"SecretEnvSource", Done, "name optional"},
    {"ConfigMapKeySelector", Done, "key name optional"},
    {"SecretKeySelector", Done, "key name optional"},
    {"Lifecycle", Done, "postStart preStop"},
    {"Lifecycle", Noted, "stopSignal"},
    {"LifecycleHandler", Done, "exec httpGet sleep tcpSocket"},
    {"Probe", Done,
     "exec failureThreshold grpc httpGet initialDelaySeconds periodSeconds successThreshold "
     "tcpSocket terminationGracePeriodSeconds timeoutSeconds"},
    {"ExecAction", Done, "command"},
    {"GRPCAction", Done, "port service"},
    {"HTTPGetAction", Done, "host httpHeaders path port scheme"},
    {"HTTPHeader", Done, "name value"},
    {"TCPSocketAction", Done, "host port"},
    {"SleepAction", Done, "seconds"},
    {"ContainerPort", Done, "containerPort hostPort name protocol"},
    {"ContainerPort", Emulated, "hostIP"},  // this machine's 127.0.0.1
    {"ContainerResizePolicy", Done, "resourceName restartPolicy"},
    {"ContainerRestartRule", Done, "action exitCodes"},
    {"ContainerRestartRuleOnExitCodes", Done, "operator values"},
};
// NOLINTEND(readability-magic-numbers)

// What the API server fills in, or what says that nothing is wanted.
constexpr std::string_view kNothing[] = {"Default", "None", "Disabled"};

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view first = words.substr(0, words.find(' '));
    if (first == word) {
      return true;
    }
    words.remove_prefix(std::min(first.size() + 1, words.size()));
  }
  return false;
}

bool asks(const Value& value) {
  if (value.is_string()) {
    return !value.as_string().empty() &&
           std::ranges::find(kNothing, value.as_string()) == std::end(kNothing);
  }
  return !value.is_null() && value != Value(false) &&
         !((value.is_object() || value.is_list()) && value.empty());
}

void add_noted(std::string_view type, const Value& value, const std::string& path,
               std::vector<std::string>& noted) {
  for (const Member& member : value.members()) {
    if (field_treatment(type, member.key()) == Noted && asks(member.value)) {
      noted.push_back(fmt::format("{}.{}", path, member.key()));
    }
  }
}

// Containers have one filter of system calls, which is stricter than a runtime's own.
void add_seccomp(const Value& context, const std::string& path, std::vector<std::string>& noted) {
  const std::string_view type = context["seccompProfile"]["type"].as_string();
  if (!type.empty() && type != "RuntimeDefault") {
    noted.push_back(path + ".seccompProfile");
  }
}

}  // namespace

std::optional<FieldTreatment> field_treatment(std::string_view type, std::string_view field) {
  for (const Rule& rule : kRules) {
    if (rule.type == type && has_word(rule.fields, field)) {
      return rule.treatment;
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> treated_types() {
  std::vector<std::string_view> types;
  for (const Rule& rule : kRules) {
    if (types.empty() || types.back() != rule.type) {
      types.push_back(rule.type);
    }
  }
  return types;
}

std::vector<std::string_view> treated_fields(std::string_view type) {
  std::vector<std::string_view> fields;
  for (const Rule& rule : kRules) {
    if (rule.type == type) {
      std::ranges::copy(words_of(rule.fields, ' '), std::back_inserter(fields));
    }
  }
  return fields;
}

std::vector<std::string> noted_fields(const Value& spec) {
  std::vector<std::string> noted;
  add_noted("PodSpec", spec, "spec", noted);
  add_noted("PodSecurityContext", spec["securityContext"], "spec.securityContext", noted);
  add_seccomp(spec["securityContext"], "spec.securityContext", noted);
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    const bool ephemeral = list == std::string_view("ephemeralContainers");
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      const Value& container = spec[list][i];
      const std::string path = fmt::format("spec.{}[{}]", list, i);
      add_noted(ephemeral ? "EphemeralContainer" : "Container", container, path, noted);
      add_seccomp(container["securityContext"], path + ".securityContext", noted);
      add_noted("SecurityContext", container["securityContext"], path + ".securityContext", noted);
      add_noted("Lifecycle", container["lifecycle"], path + ".lifecycle", noted);
      for (std::size_t k = 0; k < container["ports"].size(); ++k) {
        // Services and host ports carry TCP and UDP.
        if (container["ports"][k]["protocol"].as_string() == "SCTP") {
          noted.push_back(fmt::format("{}.ports[{}].protocol", path, k));
        }
      }
      for (std::size_t k = 0; k < container["volumeMounts"].size(); ++k) {
        add_noted("VolumeMount", container["volumeMounts"][k],
                  fmt::format("{}.volumeMounts[{}]", path, k), noted);
      }
    }
  }
  std::erase(noted, "spec.hostUsers");
  if (spec["hostUsers"] == Value(false)) {
    noted.emplace_back("spec.hostUsers");  // true is what every pod has
  }
  return noted;
}

}  // namespace athanor::nodes
