// SPDX-License-Identifier: Apache-2.0
#include "systems/das/gpus/mode.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "systems/das/gpus/inventory.hpp"
#include "systems/das/makers/shares_of_gpus.hpp"
#include "systems/das/slices/slots.hpp"

namespace athanor::das {
namespace {

constexpr int kMostGpuIndex = 1000;
constexpr std::int64_t kMostAmount = 1000;  // more than any vendor reads

Error bad(std::string_view annotation, std::string_view why) {
  return Error::bad_request(
      fmt::format("invalid {} \"{}\": {}", kSharingAnnotation, annotation, why));
}

GpuSharing read_sharing(const Value& written) {
  if (written["mode"].as_string().empty()) {
    return {};
  }
  const auto amount = [](const Value& number) {
    return static_cast<int>(std::clamp<std::int64_t>(number.as_int(), 0, kMostAmount));
  };
  GpuSharing sharing{.mode = written["mode"].str(),
                     .replicas = amount(written["replicas"]),
                     .interval = written["interval"].str(),
                     .unit_gb = amount(written["unitGb"]),
                     .layout = written["layout"].str(),
                     .profile = written["profile"].str(),
                     .size = amount(written["size"])};
  for (const Value& start : written["starts"].items()) {
    if (sharing.starts.size() < static_cast<std::size_t>(kMostSlots)) {
      sharing.starts.push_back(amount(start));
    }
  }
  return sharing;
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
  if (!sharing.profile.empty()) {
    Value starts = Value::list();
    for (const int start : sharing.starts) {
      starts.push_back(start);
    }
    written.set("profile", sharing.profile);
    written.set("starts", std::move(starts));
    written.set("size", sharing.size);
  }
  return written;
}

// Places as many slices of the mode's profile as fit on an empty GPU. Returns false if it has no
// such profile.
bool place_slices(const MigTable& table, GpuSharing& sharing) {
  const int found = table.find(sharing.profile);
  if (found < 0) {
    return false;
  }
  const MigProfile& profile = table.profiles[static_cast<std::size_t>(found)];
  SlotMask taken = 0;
  sharing.size = profile.size;
  sharing.starts.clear();
  for (const int start : profile.starts) {
    const SlotMask own = mask_of(start, profile.size);
    if ((taken & own) == 0 && static_cast<int>(sharing.starts.size()) < profile.most) {
      taken = static_cast<SlotMask>(taken | own);
      sharing.starts.push_back(start);
    }
  }
  return true;
}

// Checks a wanted mode of a GPU and places its slices. Returns what is wrong, or "".
std::string complete(GpuSharing& sharing, Divisible allows, const MigTable& table) {
  const bool whole = sharing.profile.empty();
  if (sharing.sliced() || (whole && allows != Divisible::Slices)) {
    return {};
  }
  if (whole) {
    return "cannot be shared as a whole: its MIG mode is enabled";
  }
  if (allows == Divisible::Whole) {
    return "has no slices to share: its MIG mode is disabled";
  }
  return place_slices(table, sharing) ? "" : fmt::format("has no profile {}", sharing.profile);
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
    const auto index = read_number(take_part(entry, '='), kMostGpuIndex);
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
  const NodeGpus node = read_resources(resources);
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
    const std::string problem = complete(sharing, allows, node.tables[node.gpus[i].table]);
    if (!problem.empty()) {
      problems.push_back(fmt::format("GPU {} {}", index, problem));
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
