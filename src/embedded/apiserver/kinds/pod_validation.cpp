// SPDX-License-Identifier: Apache-2.0
// The rules of pod specs (spec/apiserver.md 14.4).
#include <set>

#include "embedded/apiserver/kinds/checks.hpp"
#include "embedded/apiserver/kinds/containers.hpp"
#include "embedded/apiserver/kinds/edit.hpp"
#include "embedded/apiserver/kinds/pod_spec.hpp"
#include "embedded/apiserver/kinds/volume_rules.hpp"

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

void check_volumes(FieldErrors& errors, const Value& volumes, const std::string& path) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const std::string here = at(path, i);
    const std::string name = volumes[i]["name"].str();
    require_name(errors, here + ".name", name, &validate_dns1123_label);
    if (!name.empty() && !names.insert(name).second) {
      errors.push_back(FieldError::duplicate(here + ".name", name));
    }
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
    if (sources == 1) {
      check_volume_source(errors, volumes[i], here);
    }
  }
}

void check_pod_terms(FieldErrors& errors, const Value& affinity, const std::string& path) {
  const auto check_term = [&](const Value& term, const std::string& here) {
    check_label_selector(errors, here + ".labelSelector", term["labelSelector"]);
    if (term["topologyKey"].as_string().empty()) {
      errors.push_back(FieldError::required(here + ".topologyKey", "can not be empty"));
    } else {
      check_name(errors, here + ".topologyKey", term["topologyKey"].as_string(),
                 &validate_label_key);
    }
  };
  const Value& required = affinity["requiredDuringSchedulingIgnoredDuringExecution"];
  for (std::size_t i = 0; i < required.size(); ++i) {
    check_term(required[i], at(path + ".requiredDuringSchedulingIgnoredDuringExecution", i));
  }
  const Value& preferred = affinity["preferredDuringSchedulingIgnoredDuringExecution"];
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const std::string here = at(path + ".preferredDuringSchedulingIgnoredDuringExecution", i);
    const std::int64_t weight = preferred[i]["weight"].as_int();
    if (weight < 1 || weight > 100) {
      errors.push_back(FieldError::invalid(here + ".weight", weight, "must be in the range 1-100"));
    }
    check_term(preferred[i]["podAffinityTerm"], here + ".podAffinityTerm");
  }
}

void check_affinity(FieldErrors& errors, const Value& affinity, const std::string& path) {
  const Value& node = affinity["nodeAffinity"];
  if (const Value* required = node.find("requiredDuringSchedulingIgnoredDuringExecution")) {
    check_node_selector(
        errors, path + ".nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution", *required);
  }
  const Value& preferred = node["preferredDuringSchedulingIgnoredDuringExecution"];
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const std::int64_t weight = preferred[i]["weight"].as_int();
    if (weight < 1 || weight > 100) {
      errors.push_back(FieldError::invalid(
          at(path + ".nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution", i) + ".weight",
          weight, "must be in the range 1-100"));
    }
  }
  check_pod_terms(errors, affinity["podAffinity"], path + ".podAffinity");
  check_pod_terms(errors, affinity["podAntiAffinity"], path + ".podAntiAffinity");
}

void check_tolerations(FieldErrors& errors, const Value& tolerations, const std::string& path) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const Value& toleration = tolerations[i];
    const std::string here = at(path, i);
    const std::string_view key = toleration["key"].as_string();
    const std::string_view op = toleration["operator"].as_string();
    if (!key.empty()) {
      check_name(errors, here + ".key", key, &validate_label_key);
    } else if (op != "Exists") {
      errors.push_back(FieldError::invalid(here + ".operator", toleration["operator"].str(),
                                           "operator must be Exists when `key` is empty, which "
                                           "means \"match all values and all keys\""));
    }
    if (toleration.contains("tolerationSeconds") &&
        toleration["effect"].as_string() != "NoExecute") {
      errors.push_back(
          FieldError::invalid(here + ".effect", toleration["effect"].str(),
                              "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (op == "Exists") {
      if (!toleration["value"].as_string().empty()) {
        errors.push_back(FieldError::invalid(here + ".operator", toleration["value"],
                                             "value must be empty when `operator` is 'Exists'"));
      }
    } else if (op.empty() || op == "Equal") {
      check_name(errors, here + ".operator", toleration["value"].as_string(),
                 &validate_label_value);
    } else {
      errors.push_back(FieldError::not_supported(here + ".operator", toleration["operator"],
                                                 {"Equal", "Exists"}));
    }
    check_choice(errors, here + ".effect", toleration["effect"],
                 {"NoSchedule", "PreferNoSchedule", "NoExecute"});
  }
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

void check_sysctls(FieldErrors& errors, const Value& sysctls, const std::string& path) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < sysctls.size(); ++i) {
    const std::string here = at(path, i) + ".name";
    const std::string name = sysctls[i]["name"].str();
    if (name.empty()) {
      errors.push_back(FieldError::required(here));
    } else if (!names.insert(name).second) {
      errors.push_back(FieldError::duplicate(here, name));
    }
  }
}

void check_gates(FieldErrors& errors, const Value& gates, const std::string& path) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const std::string name = gates[i]["name"].str();
    check_name(errors, at(path, i), name, &validate_qualified_name);
    if (!seen.insert(name).second) {
      errors.push_back(FieldError::duplicate(at(path, i), name));
    }
  }
}

}  // namespace

FieldErrors validate_pod_spec(const Value& spec, const std::string& path) {
  FieldErrors errors;
  check_volumes(errors, spec["volumes"], path + ".volumes");
  check_containers(errors, spec, path);
  check_choice(errors, path + ".restartPolicy", spec["restartPolicy"],
               {"Always", "OnFailure", "Never"});
  check_choice(errors, path + ".dnsPolicy", spec["dnsPolicy"],
               {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  check_labels(errors, path + ".nodeSelector", spec["nodeSelector"]);
  check_affinity(errors, spec["affinity"], path + ".affinity");
  check_tolerations(errors, spec["tolerations"], path + ".tolerations");
  check_gates(errors, spec["schedulingGates"], path + ".schedulingGates");
  check_network(errors, spec, path);
  check_sysctls(errors, spec["securityContext"]["sysctls"], path + ".securityContext.sysctls");
  check_between(errors, path + ".activeDeadlineSeconds", spec["activeDeadlineSeconds"], 1,
                kMaxInt32);
  check_choice(errors, path + ".preemptionPolicy", spec["preemptionPolicy"],
               {"Never", "PreemptLowerPriority"});
  for (const std::string_view field : {"hostname", "subdomain"}) {
    if (!spec[field].as_string().empty()) {
      check_name(errors, below(path, field), spec[field].as_string(), &validate_dns1123_label);
    }
  }
  for (const std::string_view field :
       {"serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"}) {
    if (!spec[field].as_string().empty()) {
      check_name(errors, below(path, field), spec[field].as_string(), &validate_dns1123_subdomain);
    }
  }
  const Value& spread = spec["topologySpreadConstraints"];
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const std::string here = at(path + ".topologySpreadConstraints", i);
    if (spread[i]["maxSkew"].as_int() <= 0) {
      errors.push_back(FieldError::invalid(here + ".maxSkew", spread[i]["maxSkew"].as_int(),
                                           "must be greater than zero"));
    }
    require(errors, here + ".topologyKey", spread[i]["topologyKey"], "can not be empty");
    check_label_selector(errors, here + ".labelSelector", spread[i]["labelSelector"]);
  }
  return errors;
}

FieldErrors validate_pod_template(const Value& pod_template, const std::string& path) {
  FieldErrors errors;
  check_labels(errors, path + ".labels", pod_template["metadata"]["labels"]);
  append(errors, validate_pod_spec(pod_template["spec"], path + ".spec"));
  return errors;
}

}  // namespace athanor::apiserver
