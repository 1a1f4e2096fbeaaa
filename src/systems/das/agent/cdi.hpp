// SPDX-License-Identifier: Apache-2.0
// CDI files and the environment that slices bring into a container (docs/spec/das.md 8.5, 8.7).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/value/value.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das {

// The CDI device of the claims of one container and one profile.
struct CdiDevice {
  std::string container{};
  std::string profile{};
  std::string id{};  // a UUID, the same for the same claims
  std::vector<const Claim*> claims{};
};
// Returns devices in order of container, then profile; they point into `claims`.
std::vector<CdiDevice> devices_of(const std::vector<Claim>& claims);

using ContainerEnvironment =
    std::map<std::string, std::vector<std::pair<std::string, std::string>>, std::less<>>;
// Returns NVIDIA_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES of every container: all of its slices,
// profiles in order of bytes (docs/spec/das.md N-B19). An init container uses its own slices, then
// those of the containers after it (S-B2).
ContainerEnvironment environment_of(const std::vector<Claim>& claims, const Value& pod_spec,
                                    const Settings& settings);

// Returns the name of an emulated slice in its container (docs/spec/das.md E-B3).
std::string device_name(const Claim& claim, const Settings& settings);
// Returns the two variables for devices of these names.
std::vector<std::pair<std::string, std::string>> visible_devices(
    const std::vector<std::string>& names, const Settings& settings);

// Returns "/var/run/cdi/c1g.5gb_<id>.cdi.json".
std::string cdi_path(const CdiDevice& device);
// Returns a ResourceClaim's "/var/run/cdi/k8s.das.inference.redhat.com-claim_<uid>.json".
std::string dra_cdi_path(std::string_view claim_uid);
// Returns the text of the device's CDI file (docs/spec/das.md 8.7). `poststop`: the container's end
// removes it.
std::string cdi_file(const CdiDevice& device, const ContainerEnvironment& environment,
                     bool poststop);

}  // namespace athanor::das
