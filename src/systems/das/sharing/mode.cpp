// SPDX-License-Identifier: Apache-2.0
#include "systems/das/sharing/mode.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "systems/das/vendor/parts.hpp"

namespace athanor::das {
namespace {

constexpr int kMostIndex = 1000;

Error bad(std::string_view annotation, std::string_view why) {
  return Error::bad_request(
      fmt::format("invalid {} \"{}\": {}", kSharingAnnotation, annotation, why));
}

GpuSharing read_sharing(const Value& written) {
  const std::string mode = written["mode"].str();
  return mode.empty() ? GpuSharing()
                      : GpuSharing{.mode = mode,
                                   .replicas = static_cast<int>(written["replicas"].as_int()),
                                   .interval = written["interval"].str(),
                                   .unit_gb = static_cast<int>(written["unitGb"].as_int()),
                                   .layout = written["layout"].str()};
}

Value print_sharing(const GpuSharing& sharing) {
  Value written = Value::object({{"mode", sharing.mode}});
  if (sharing.replicas > 0) {
    written.set("replicas", sharing.replicas);
  }
  if (!sharing.interval.empty()) {
    written.set("interval", sharing.interval);
  }
  if (sharing.unit_gb > 0) {
    written.set("unitGb", sharing.unit_gb);
  }
  if (!sharing.layout.empty()) {
    written.set("layout", sharing.layout);
  }
  return written;
}

}  // namespace

Result<std::vector<GpuSharing>> wanted_sharing(std::string_view annotation, std::size_t gpus,
                                               std::string_view type) {
  const Vendor* const vendor = find_vendor(type);
  if (vendor == nullptr) {
    return Error::bad_request(fmt::format("unsupported acceleratorType {}", type));
  }
  return wanted_sharing(annotation, gpus, *vendor);
}

Result<std::vector<GpuSharing>> wanted_sharing(std::string_view annotation, std::size_t gpus,
                                               const Vendor& vendor) {
  const VendorFacts& facts = vendor.facts();
  std::vector<GpuSharing> sharing(gpus, vendor.mode(facts.default_mode).value_or(GpuSharing()));
  std::string_view rest = annotation;
  while (!rest.empty()) {
    std::string_view entry = take_part(rest, ',');
    const auto index = read_number(take_part(entry, '='), kMostIndex);
    const auto mode = vendor.mode(entry);
    if (!index || !mode) {
      return bad(annotation, fmt::format("must be a list of {}", facts.forms));
    }
    if (static_cast<std::size_t>(*index) >= gpus) {
      return bad(annotation, fmt::format("there is no GPU {}", *index));
    }
    sharing[static_cast<std::size_t>(*index)] = *mode;
  }
  return sharing;
}

std::vector<GpuSharing> sharing_of(const Value& node_resources) {
  std::vector<GpuSharing> all;
  for (const Value& gpu : node_resources["nodeGpus"].items()) {
    all.push_back(read_sharing(gpu[kSharingMember]));
  }
  return all;
}

std::vector<std::string> assign_sharing(Value& resources, const SharingRequest& request) {
  std::vector<std::string> problems;
  const Value gpus = resources["nodeGpus"];
  std::int64_t last = -1;
  for (const Value& gpu : gpus.items()) {
    last = std::max(last, gpu["index"].as_int());
  }
  const auto count = static_cast<std::size_t>(last + 1);
  const auto wanted = wanted_sharing(request.annotation, count, *request.vendor);
  if (!wanted.ok()) {
    problems.push_back(wanted.error().message);
  }
  const std::vector<GpuSharing> usual = *wanted_sharing({}, count, *request.vendor);
  std::map<std::string, GpuSharing, std::less<>> known;
  for (const Value& gpu : (*request.before)["nodeGpus"].items()) {
    known[gpu["gpuUuid"].str()] = read_sharing(gpu[kSharingMember]);
  }
  Value kept = Value::list();
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    Value gpu = gpus[i];
    const std::string uuid = gpu["gpuUuid"].str();
    const auto index = static_cast<std::size_t>(gpu["index"].as_int());
    const Divisible allows = i < request.allows.size() ? request.allows[i] : Divisible::Any;
    GpuSharing sharing = wanted.ok() ? (*wanted)[index] : usual[index];
    const auto was = known.find(uuid);
    if (was != known.end() && (!wanted.ok() || request.used->contains(uuid))) {
      sharing = was->second;
    }
    if (allows == Divisible::Slices && !sharing.sliced()) {
      problems.push_back(
          fmt::format("GPU {} cannot be shared as a whole: its MIG mode is enabled", index));
      sharing = GpuSharing();
    }
    if (allows == Divisible::Whole && sharing.sliced()) {
      continue;
    }
    if (!sharing.sliced()) {
      gpu.set(kSharingMember, print_sharing(sharing));
    }
    kept.push_back(std::move(gpu));
  }
  resources.set("nodeGpus", std::move(kept));
  return problems;
}

}  // namespace athanor::das
