// SPDX-License-Identifier: Apache-2.0
#include "systems/das/sharing/mode.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>

namespace athanor::das {
namespace {

constexpr int kMostReplicas = 100;
constexpr int kMostGb = 1000;
constexpr std::array<std::string_view, 4> kIntervals{"Default", "Short", "Medium", "Long"};

std::optional<int> number(std::string_view text, int most) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && value >= 0 && value <= most ? std::optional(value)
                                                                            : std::nullopt;
}

// The part before `separator`, which goes with it.
std::string_view take(std::string_view& text, char separator) {
  const std::string_view head = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(head.size() + 1, text.size()));
  return head;
}

std::optional<GpuSharing> read_nvidia(std::string_view text) {
  const std::string_view mode = take(text, ':');
  if (mode == "mig" && text.empty()) {
    return GpuSharing{};
  }
  const auto amount = number(take(text, ':'), mode == "mps" ? kMostGb : kMostReplicas);
  if (!amount || *amount == 0) {
    return std::nullopt;
  }
  if (mode == "mps" && text.empty()) {
    return GpuSharing{.mode = GpuMode::Mps, .unit_gb = *amount};
  }
  const std::string_view interval = text.empty() ? kIntervals.front() : text;
  if (mode != "timeslice" || std::ranges::find(kIntervals, interval) == kIntervals.end()) {
    return std::nullopt;
  }
  return GpuSharing{
      .mode = GpuMode::TimeSlice, .replicas = *amount, .interval = std::string(interval)};
}

// Compute partitions of an MI300 (eight dies), and the memory modes: there are never more memory
// partitions than compute partitions.
std::optional<GpuSharing> read_amd(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, int>, 4> kCompute{
      {{"spx", 1}, {"dpx", 2}, {"qpx", 4}, {"cpx", 8}}};
  const std::string_view compute = take(text, ':');
  const std::string_view memory = text.empty() ? "nps1" : text;
  const auto* const found =
      std::ranges::find(kCompute, compute, &std::pair<std::string_view, int>::first);
  constexpr int kFourMemories = 4;
  if (found == kCompute.end() ||
      (memory != "nps1" && (memory != "nps4" || found->second < kFourMemories))) {
    return std::nullopt;
  }
  return GpuSharing{.mode = GpuMode::Partition,
                    .replicas = found->second,
                    .layout = fmt::format("{}-{}", compute, memory)};
}

std::optional<GpuSharing> read_intel(std::string_view text) {
  constexpr int kMostFunctions = 63;
  const bool functions = take(text, ':') == "vf";
  const auto count = number(text, kMostFunctions);
  return functions && count && *count > 0
             ? std::optional(GpuSharing{.mode = GpuMode::Vf, .replicas = *count})
             : std::nullopt;
}

// How one accelerator type's GPUs are divided.
struct Driver {
  std::string_view type{};
  std::string_view by_default{};
  std::string_view forms{};
  std::optional<GpuSharing> (*read)(std::string_view text) = nullptr;
};
constexpr Driver kDrivers[] = {
    {kNvidiaMig, "mig",
     "INDEX=mig, INDEX=timeslice:REPLICAS[:INTERVAL] or INDEX=mps:GB; intervals are Default, "
     "Short, Medium and Long",
     read_nvidia},
    {kAmdMi300, "spx", "INDEX=spx, dpx, qpx or cpx, with :nps1, or :nps4 for qpx and cpx",
     read_amd},
    {kIntelXe, "vf:1", "INDEX=vf:COUNT", read_intel}};

Error bad(std::string_view annotation, std::string_view why) {
  return Error::bad_request(
      fmt::format("invalid {} \"{}\": {}", kSharingAnnotation, annotation, why));
}

}  // namespace

Result<std::vector<GpuSharing>> wanted_sharing(std::string_view annotation, std::size_t gpus,
                                               std::string_view type) {
  const auto* const driver = std::ranges::find(kDrivers, type, &Driver::type);
  if (driver == std::end(kDrivers)) {
    return Error::bad_request(fmt::format("unsupported acceleratorType {}", type));
  }
  std::vector<GpuSharing> sharing(gpus, driver->read(driver->by_default).value_or(GpuSharing()));
  std::string_view rest = annotation;
  while (!rest.empty()) {
    std::string_view entry = take(rest, ',');
    const auto index = number(take(entry, '='), kMostGb);
    const auto mode = driver->read(entry);
    if (!index || !mode) {
      return bad(annotation, fmt::format("must be a list of {}", driver->forms));
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
    const Value& written = gpu[kSharingMember];
    GpuSharing one;
    if (written["mode"].as_string() == "timeslice") {
      one = {.mode = GpuMode::TimeSlice,
             .replicas = static_cast<int>(written["replicas"].as_int()),
             .interval = written["interval"].str()};
    } else if (written["mode"].as_string() == "mps") {
      one = {.mode = GpuMode::Mps, .unit_gb = static_cast<int>(written["unitGb"].as_int())};
    } else if (written["mode"].as_string() == "partition") {
      one = {.mode = GpuMode::Partition,
             .replicas = static_cast<int>(written["replicas"].as_int()),
             .layout = written["layout"].str()};
    } else if (written["mode"].as_string() == "vf") {
      one = {.mode = GpuMode::Vf, .replicas = static_cast<int>(written["replicas"].as_int())};
    }
    all.push_back(std::move(one));
  }
  return all;
}

void set_sharing(Value& node_resources, const std::vector<GpuSharing>& sharing) {
  Value& gpus = node_resources.member("nodeGpus");
  for (std::size_t i = 0; i < gpus.size() && i < sharing.size(); ++i) {
    const GpuSharing& one = sharing[i];
    if (one.mode == GpuMode::TimeSlice) {
      gpus.item(i).set(kSharingMember, Value::object({{"mode", "timeslice"},
                                                      {"replicas", one.replicas},
                                                      {"interval", one.interval}}));
    } else if (one.mode == GpuMode::Mps) {
      gpus.item(i).set(kSharingMember, Value::object({{"mode", "mps"}, {"unitGb", one.unit_gb}}));
    } else if (one.mode == GpuMode::Partition) {
      gpus.item(i).set(kSharingMember, Value::object({{"mode", "partition"},
                                                      {"replicas", one.replicas},
                                                      {"layout", one.layout}}));
    } else if (one.mode == GpuMode::Vf) {
      gpus.item(i).set(kSharingMember, Value::object({{"mode", "vf"}, {"replicas", one.replicas}}));
    }
  }
}

int shares_of(const GpuSharing& sharing, int memory_gib) {
  if (sharing.mode == GpuMode::Mps) {
    return sharing.unit_gb > 0 ? memory_gib / sharing.unit_gb : 0;
  }
  return sharing.mode == GpuMode::Mig ? 0 : sharing.replicas;
}

std::string resource_of_share(const GpuSharing& sharing) {
  switch (sharing.mode) {
    case GpuMode::Mig:
      return {};
    case GpuMode::TimeSlice:
      return "ts.das.com/gpu";
    case GpuMode::Mps:
      return fmt::format("mps.das.com/gpu-{}gb", sharing.unit_gb);
    case GpuMode::Partition:
      return "amd.das.com/" + sharing.layout;
    case GpuMode::Vf:
      return "intel.das.com/vf";
  }
  return {};
}

std::map<std::string, int> share_capacity(const std::vector<GpuSharing>& sharing, int memory_gib) {
  std::map<std::string, int> capacity;
  for (const GpuSharing& one : sharing) {
    if (const int shares = shares_of(one, memory_gib); shares > 0) {
      capacity[resource_of_share(one)] += shares;
    }
  }
  return capacity;
}

}  // namespace athanor::das
