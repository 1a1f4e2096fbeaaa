// SPDX-License-Identifier: Apache-2.0
// The rules of pod specs (docs/spec/apiserver.md 14.4).
#include <set>

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/pods/containers.hpp"
#include "embedded/kinds/pods/placement_rules.hpp"
#include "embedded/kinds/pods/pod_resources.hpp"
#include "embedded/kinds/pods/pod_spec.hpp"
#include "embedded/kinds/pods/security_rules.hpp"
#include "embedded/kinds/pods/volume_rules.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::int64_t kMaxInt32 = 2'147'483'647;

// In the order in which the reference looks at them.
constexpr std::string_view kVolumeSources[] = {"emptyDir",
                                               "hostPath",
                                               "gitRepo",
                                               "gcePersistentDisk",
                                               "awsElasticBlockStore",
                                               "secret",
                                               "nfs",
                                               "iscsi",
                                               "glusterfs",
                                               "persistentVolumeClaim",
                                               "rbd",
                                               "cinder",
                                               "cephfs",
                                               "flocker",
                                               "downwardAPI",
                                               "fc",
                                               "azureFile",
                                               "configMap",
                                               "vsphereVolume",
                                               "quobyte",
                                               "azureDisk",
                                               "photonPersistentDisk",
                                               "portworxVolume",
                                               "scaleIO",
                                               "storageos",
                                               "projected",
                                               "csi",
                                               "ephemeral",
                                               "image"};

// The volume with the one of its sources that counts.
Value first_source(const Value& volume) {
  for (const std::string_view source : kVolumeSources) {
    if (const Value& found = volume[source]; !found.is_null()) {
      return Value::object({{source, found}});
    }
  }
  return Value::object();
}

// The names of the volumes that are as they should be: only those can be mounted.
std::set<std::string> check_volumes(FieldErrors& errors, const Value& volumes,
                                    const std::string& path) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const std::string here = at(path, i);
    const std::string name = volumes[i]["name"].str();
    const std::size_t before = errors.size();
    std::size_t sources = 0;
    for (const std::string_view source : kVolumeSources) {
      if (!volumes[i][source].is_null() && ++sources > 1) {
        // The reference misspells one of them.
        errors.push_back(
            FieldError::forbidden(below(here, source == "downwardAPI" ? "downwarAPI" : source),
                                  "may not specify more than 1 volume type"));
      }
    }
    if (sources == 0) {
      errors.push_back(FieldError::required(here, "must specify a volume type"));
    }
    if (sources > 0) {
      check_volume_source(errors, first_source(volumes[i]), here);
    }
    require_name(errors, here + ".name", name, &validate_dns1123_label);
    if (names.contains(name)) {
      errors.push_back(FieldError::duplicate(here + ".name", name));
    }
    if (errors.size() == before) {
      names.insert(name);
    }
  }
  return names;
}

void check_network(FieldErrors& errors, const Value& spec, const std::string& path) {
  const Value& aliases = spec["hostAliases"];
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    const std::string here = at(path + ".hostAliases", i);
    check_ip(errors, here + ".ip", aliases[i]["ip"].as_string());
    for (std::size_t k = 0; k < aliases[i]["hostnames"].size(); ++k) {
      check_name(errors, at(here + ".hostnames", k), aliases[i]["hostnames"][k].as_string(),
                 &validate_dns1123_subdomain);
    }
  }
  const Value& dns = spec["dnsConfig"];
  const std::string config = path + ".dnsConfig";
  if (spec["dnsPolicy"].as_string() == "None" && dns["nameservers"].empty()) {
    errors.push_back(
        dns.is_null()
            ? FieldError::required(config, "must provide `dnsConfig` when `dnsPolicy` is None")
            : FieldError::required(
                  config + ".nameservers",
                  "must provide at least one DNS nameserver when `dnsPolicy` is None"));
    return;
  }
  for (std::size_t i = 0; i < dns["nameservers"].size(); ++i) {
    check_ip(errors, at(config + ".nameservers", i), dns["nameservers"][i].as_string());
  }
  for (std::size_t i = 0; i < dns["options"].size(); ++i) {
    if (dns["options"][i]["name"].as_string().empty()) {
      errors.push_back(FieldError::required(at(config + ".options", i), "must not be empty"));
    }
  }
}

// The first that is present decides where the reference looks, so each is checked by itself.
void check_names(FieldErrors& errors, const Value& spec, const std::string& path) {
  for (const std::string_view field : {"hostname", "subdomain"}) {
    if (!spec[field].as_string().empty()) {
      check_name(errors, below(path, field), spec[field].as_string(), &validate_dns1123_label);
    }
  }
  for (const std::string_view field : {"serviceAccountName", "nodeName", "priorityClassName"}) {
    if (!spec[field].as_string().empty()) {
      check_name(errors, below(path, field), spec[field].as_string(), &validate_dns1123_subdomain);
    }
  }
  if (const Value& runtime = spec["runtimeClassName"]; !runtime.is_null()) {
    check_name(errors, path + ".runtimeClassName", runtime.as_string(),
               &validate_dns1123_subdomain);
  }
  const Value& gates = spec["readinessGates"];
  for (std::size_t i = 0; i < gates.size(); ++i) {
    check_name(errors, at(path + ".readinessGates", i) + ".conditionType",
               gates[i]["conditionType"].as_string(), &validate_qualified_name);
  }
}

}  // namespace

FieldErrors validate_pod_spec(const Value& spec, const std::string& path) {
  FieldErrors errors;
  const std::set<std::string> volumes = check_volumes(errors, spec["volumes"], path + ".volumes");
  check_containers(errors, spec, volumes, path);
  require_choice(errors, path + ".restartPolicy", spec["restartPolicy"],
                 {"Always", "OnFailure", "Never"});
  require_choice(errors, path + ".dnsPolicy", spec["dnsPolicy"],
                 {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  check_placement(errors, spec, path);
  check_network(errors, spec, path);
  check_pod_security(errors, spec, path);
  check_between(errors, path + ".activeDeadlineSeconds", spec["activeDeadlineSeconds"], 1,
                kMaxInt32);
  if (!spec["preemptionPolicy"].is_null()) {
    require_choice(errors, path + ".preemptionPolicy", spec["preemptionPolicy"],
                   {"PreemptLowerPriority", "Never"});
  }
  check_names(errors, spec, path);
  check_pod_resources(errors, spec, path);
  if (!spec["overhead"].is_null()) {
    check_resources(errors, Value::object({{"limits", spec["overhead"]}}), path + ".overhead");
  }
  return errors;
}

FieldErrors validate_pod_template(const Value& pod_template, const std::string& path) {
  FieldErrors errors;
  check_labels(errors, path + ".labels", pod_template["metadata"]["labels"]);
  check_annotations(errors, path + ".annotations", pod_template["metadata"]["annotations"]);
  if (!pod_template["spec"]["ephemeralContainers"].empty()) {
    errors.push_back(FieldError::forbidden(path + ".spec.ephemeralContainers",
                                           "ephemeral containers not allowed in pod template"));
  }
  append(errors, validate_pod_spec(pod_template["spec"], path + ".spec"));
  return errors;
}

}  // namespace athanor::apiserver
