// SPDX-License-Identifier: Apache-2.0
// Defaults of pod specs (docs/spec/apiserver.md 14.2).
#include <algorithm>
#include <array>
#include <map>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/pods/pod_resources.hpp"
#include "embedded/kinds/pods/pod_spec.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::int64_t kFileMode = 0644;

// Whether the last part of a name can name an image: what cannot has no tag either.
bool may_be_image(std::string_view image) {
  constexpr std::size_t kMaxName = 255;
  const std::size_t slash = image.rfind('/');
  std::string_view last = slash == std::string_view::npos ? image : image.substr(slash + 1);
  last = last.substr(0, last.find(':'));
  const auto is_alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !last.empty() && image.size() <= kMaxName && is_alnum(last.front()) &&
         is_alnum(last.back()) && std::ranges::all_of(last, [&](char c) {
           return is_alnum(c) || c == '.' || c == '_' || c == '-';
         });
}

// Every image without a digest whose tag is absent or "latest" may change under its name.
bool is_moving_image(std::string_view image) {
  if (image.find('@') != std::string_view::npos || !may_be_image(image)) {
    return false;
  }
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.rfind(':');
  if (colon == std::string_view::npos || (slash != std::string_view::npos && colon < slash)) {
    return true;
  }
  return image.substr(colon + 1) == "latest";
}

void default_field_ref(Value& source) {
  if (source["fieldRef"].is_object()) {
    edit_member(source, "fieldRef", [](Value& ref) { default_to(ref, "apiVersion", "v1"); });
  }
}

void default_http_get(Value& action) {
  if (!action["httpGet"].is_object()) {
    return;
  }
  edit_member(action, "httpGet", [](Value& get) {
    default_to(get, "path", "/");
    default_to(get, "scheme", "HTTP");
  });
}

void default_probe(Value& probe) {
  if (!probe.is_object()) {
    return;
  }
  default_http_get(probe);
  if (probe["grpc"].is_object()) {
    edit_member(probe, "grpc", [](Value& grpc) { default_to(grpc, "service", ""); });
  }
  default_to(probe, "timeoutSeconds", 1);
  default_to(probe, "periodSeconds", 10);
  default_to(probe, "successThreshold", 1);
  default_to(probe, "failureThreshold", 3);
}

void default_requests(Value& container) {
  const Value& limits = container["resources"]["limits"];
  if (limits.empty()) {
    return;
  }
  const Value wanted = limits;
  edit_member(container, "resources", [&](Value& resources) {
    edit_member(resources, "requests", [&](Value& requests) {
      for (const Member& limit : wanted.members()) {
        default_to(requests, limit.key(), limit.value);
      }
    });
  });
}

void default_container(Value& container, PodSpecOf of) {
  default_to(container, "terminationMessagePath", "/dev/termination-log");
  default_to(container, "terminationMessagePolicy", "File");
  default_to(container, "imagePullPolicy",
             is_moving_image(container["image"].as_string()) ? "Always" : "IfNotPresent");
  default_to(container, "resources", Value::object());
  edit_items(container, "ports", [](Value& port) { default_to(port, "protocol", "TCP"); });
  edit_items(container, "env", [](Value& env) {
    if (env["valueFrom"].is_object()) {
      edit_member(env, "valueFrom", default_field_ref);
    }
  });
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    if (container.contains(probe)) {
      edit_member(container, probe, default_probe);
    }
  }
  if (container["lifecycle"].is_object()) {
    edit_member(container, "lifecycle", [](Value& lifecycle) {
      for (const std::string_view hook : {"postStart", "preStop"}) {
        if (lifecycle[hook].is_object()) {
          edit_member(lifecycle, hook, default_http_get);
        }
      }
    });
  }
  if (of == PodSpecOf::Pod) {
    default_requests(container);
  }
}

void default_downward_items(Value& source) {
  edit_items(source, "items", default_field_ref);
}

void default_projected(Value& projected) {
  default_to(projected, "defaultMode", kFileMode);
  edit_items(projected, "sources", [](Value& source) {
    if (source["serviceAccountToken"].is_object()) {
      edit_member(source, "serviceAccountToken",
                  [](Value& token) { default_to(token, "expirationSeconds", 3600); });
    }
    if (source["downwardAPI"].is_object()) {
      edit_member(source, "downwardAPI", default_downward_items);
    }
  });
}

void default_volume(Value& volume) {
  const auto edit = [&](std::string_view source, auto function) {
    if (volume[source].is_object()) {
      edit_member(volume, source, function);
    }
  };
  if (volume.size() <= 1) {
    volume.set("emptyDir", Value::object());
  }
  for (const std::string_view source : {"configMap", "secret"}) {
    edit(source, [](Value& value) { default_to(value, "defaultMode", kFileMode); });
  }
  edit("downwardAPI", [](Value& value) {
    default_to(value, "defaultMode", kFileMode);
    default_downward_items(value);
  });
  edit("projected", default_projected);
  edit("hostPath", [](Value& value) { default_to(value, "type", ""); });
  edit("iscsi", [](Value& value) { default_to(value, "iscsiInterface", "default"); });
  edit("rbd", [](Value& value) {
    default_to(value, "pool", "rbd");
    default_to(value, "user", "admin");
    default_to(value, "keyring", "/etc/ceph/keyring");
  });
  edit("azureDisk", [](Value& value) {
    default_to(value, "cachingMode", "ReadWrite");
    default_to(value, "fsType", "ext4");
    default_to(value, "readOnly", false);
    default_to(value, "kind", "Shared");
  });
  edit("scaleIO", [](Value& value) {
    default_to(value, "storageMode", "ThinProvisioned");
    default_to(value, "fsType", "xfs");
  });
  edit("ephemeral", [](Value& value) {
    if (value["volumeClaimTemplate"]["spec"].is_object()) {
      edit_member(value, "volumeClaimTemplate", [](Value& claim) {
        edit_member(claim, "spec",
                    [](Value& spec) { default_to(spec, "volumeMode", "Filesystem"); });
      });
    }
  });
}

void default_host_ports(Value& spec) {
  for (const std::string_view list : {"initContainers", "containers"}) {
    edit_items(spec, list, [](Value& container) {
      edit_items(container, "ports", [](Value& port) {
        if (port["hostPort"].as_int() == 0) {
          port.set("hostPort", port["containerPort"]);
        }
      });
    });
  }
}

}  // namespace

std::vector<Value> all_containers(const Value& pod_spec) {
  std::vector<Value> result;
  for (const std::string_view list : {"initContainers", "containers"}) {
    const auto items = pod_spec[list].items();
    result.insert(result.end(), items.begin(), items.end());
  }
  return result;
}

void default_pod_spec(Value& spec, PodSpecOf of) {
  default_to(spec, "restartPolicy", "Always");
  default_to(spec, "dnsPolicy", "ClusterFirst");
  default_to(spec, "schedulerName", "default-scheduler");
  default_to(spec, "terminationGracePeriodSeconds", 30);
  default_to(spec, "securityContext", Value::object());
  // Two names for one thing; the longer one counts.
  if (!spec["serviceAccountName"].as_string().empty()) {
    if (spec["serviceAccount"] != spec["serviceAccountName"]) {
      const Value name = spec["serviceAccountName"];
      spec.set("serviceAccount", name);
    }
  } else if (!spec["serviceAccount"].as_string().empty()) {
    const Value name = spec["serviceAccount"];
    spec.set("serviceAccountName", name);
  }
  if (of == PodSpecOf::Pod) {
    default_to(spec, "enableServiceLinks", true);
  }
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    edit_items(spec, list, [&](Value& container) { default_container(container, of); });
  }
  if (of == PodSpecOf::Pod) {
    default_pod_resources(spec);
  }
  edit_items(spec, "volumes", default_volume);
  if (of == PodSpecOf::Pod && spec["hostNetwork"].as_bool()) {
    default_host_ports(spec);
  }
}

void default_pod_template(Value& pod_template) {
  edit_member(pod_template, "spec",
              [](Value& spec) { default_pod_spec(spec, PodSpecOf::Template); });
}

std::string_view qos_class(const Value& pod_spec) {
  constexpr std::array kCounted = {"cpu", "memory"};
  std::map<std::string, Quantity, std::less<>> requests;
  std::map<std::string, Quantity, std::less<>> limits;
  bool all_limited = true;
  const std::vector<Value> counted =
      has_pod_level_resources(pod_spec) ? std::vector{pod_spec} : all_containers(pod_spec);
  for (const Value& container : counted) {
    const Value& resources = container["resources"];
    for (const std::string_view name : kCounted) {
      const auto request = Quantity::parse(resources["requests"][name]);
      const auto limit = Quantity::parse(resources["limits"][name]);
      if (request && !request->is_zero()) {
        requests[std::string(name)] += *request;
      }
      if (limit && !limit->is_zero()) {
        limits[std::string(name)] += *limit;
      } else {
        all_limited = false;
      }
    }
  }
  if (requests.empty() && limits.empty()) {
    return "BestEffort";
  }
  const bool equal = std::all_of(requests.begin(), requests.end(), [&](const auto& request) {
    const auto limit = limits.find(request.first);
    return limit != limits.end() && limit->second == request.second;
  });
  return all_limited && equal && requests.size() == limits.size() ? "Guaranteed" : "Burstable";
}

}  // namespace athanor::apiserver
