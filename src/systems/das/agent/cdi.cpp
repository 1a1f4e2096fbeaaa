// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/cdi.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "kube/text/json.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/request.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das {

std::string device_name(const Claim& claim, const Settings& settings) {
  if (settings.device_ids != "uuid") {
    return "test";
  }
  return claim.profile.empty() ? claim.gpu  // a whole GPU
                               : emulated_slice(claim.gpu, claim.profile, claim.start);
}

std::vector<std::pair<std::string, std::string>> visible_devices(
    const std::vector<std::string>& names, const Settings& settings) {
  std::string nvidia;
  std::string cuda;
  for (std::size_t i = 0; i < names.size(); ++i) {
    nvidia += (i == 0 ? "" : ",") + names[i];
    cuda += fmt::format("{}{}", i == 0 ? "" : ",", i);
  }
  return {{"NVIDIA_VISIBLE_DEVICES", nvidia},
          {"CUDA_VISIBLE_DEVICES", settings.cuda_visible_devices == "same" ? nvidia : cuda}};
}

std::vector<CdiDevice> devices_of(const std::vector<Claim>& claims) {
  std::map<std::pair<std::string, std::string>, CdiDevice> devices;
  for (const Claim& claim : claims) {
    CdiDevice& device = devices[{claim.container, claim.profile}];
    device.container = claim.container;
    device.profile = claim.profile;
    device.claims.push_back(&claim);
  }
  std::vector<CdiDevice> list;
  for (auto& [key, device] : devices) {
    std::ranges::sort(device.claims, {}, [](const Claim* claim) { return claim->object.name(); });
    device.id = uuid_of(
        fmt::format("{}/{}/{}", device.claims.front()->pod_uid, device.container, device.profile));
    list.push_back(std::move(device));
  }
  return list;
}

ContainerEnvironment environment_of(const std::vector<Claim>& claims, const Value& pod_spec,
                                    const Settings& settings) {
  std::map<std::string, std::vector<std::string>> names;
  const std::vector<CdiDevice> devices = devices_of(claims);
  for (const CdiDevice& device : devices) {
    for (const Claim* claim : device.claims) {
      names[device.container].push_back(device_name(*claim, settings));
    }
  }
  for (const InitUse& init : init_uses(pod_spec)) {
    std::vector<std::string>& used = names[init.container];
    used.clear();
    for (const auto& [profile, count] : init.counts) {
      std::vector<const Claim*> usable;
      for (const bool own : {true, false}) {
        for (const CdiDevice& device : devices) {
          if (device.profile == profile && (device.container == init.container) == own) {
            usable.insert(usable.end(), device.claims.begin(), device.claims.end());
          }
        }
      }
      for (std::size_t i = 0; i < std::min(count, usable.size()); ++i) {
        used.push_back(device_name(*usable[i], settings));
      }
    }
  }
  ContainerEnvironment environment;
  for (const auto& [container, all] : names) {
    environment[container] = visible_devices(all, settings);
  }
  return environment;
}

std::string cdi_path(const CdiDevice& device) {
  return fmt::format("/var/run/cdi/{}_{}.cdi.json", cdi_class_of(device.profile), device.id);
}

std::string dra_cdi_path(std::string_view claim_uid) {
  return fmt::format("/var/run/cdi/k8s.{}-claim_{}.json", kDraDriver, claim_uid);
}

std::string cdi_file(const CdiDevice& device, const ContainerEnvironment& environment,
                     bool poststop) {
  Value claims = Value::list();
  for (const Claim* claim : device.claims) {
    claims.push_back(claim->object.body());
  }
  Value env = Value::list();
  if (const auto found = environment.find(device.container); found != environment.end()) {
    for (const auto& [name, value] : found->second) {
      env.push_back(fmt::format("{}={}", name, value));
    }
  }
  Value edits = Value::object({{"env", env}});
  if (poststop) {
    edits.set("hooks",
              Value::list({Value::object({{"hookName", "poststop"},
                                          {"path", "/bin/rm"},
                                          {"args", Value::list({"-f", cdi_path(device)})}})}));
  }
  return json::print(Value::object(
      {{"cdiVersion", "0.8.0"},
       {"kind", cdi_kind_of(device.profile)},
       {"devices",
        Value::list({Value::object(
            {{"name", device.id},
             {"annotations", Value::object({{"mig.das.com/allocation", json::print(claims)}})},
             {"containerEdits", std::move(edits)}})})},
       {"containerEdits", Value::object()}}));
}

}  // namespace athanor::das
