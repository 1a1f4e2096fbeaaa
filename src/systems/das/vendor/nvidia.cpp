// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs: sliced (placement/), or shared as a whole by time-slicing or MPS
// (docs/spec/das.md 15.2).
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "systems/das/placement/profile.hpp"
#include "systems/das/vendor/makers.hpp"
#include "systems/das/vendor/parts.hpp"

namespace athanor::das {
namespace {

constexpr std::int64_t kMibPerGib = 1024;
constexpr int kPercent = 100;
constexpr int kMostReplicas = 100;
constexpr int kMostGb = 1000;
constexpr std::string_view kTimeSliced = "ts.das.com/gpu";
constexpr std::string_view kMpsPrefix = "mps.das.com/";
// In the order of nvidia-smi's --set-timeslice.
constexpr std::array<std::string_view, 4> kIntervals{"Default", "Short", "Medium", "Long"};

std::string mps_resource(int gigabytes) {
  return fmt::format("{}gpu-{}gb", kMpsPrefix, gigabytes);
}

std::string mps_folder(std::string_view state_folder, std::string_view uuid) {
  return fmt::format("{}/mps/{}", state_folder, uuid);
}
std::string shared_memory(std::string_view state_folder) {
  return fmt::format("{}/mps/shm", state_folder);
}

Command compute_mode(const std::string& uuid, const char* mode) {
  return {.words = {"nvidia-smi", "-i", uuid, "-c", mode},
          .purpose = fmt::format("set compute mode {}", mode)};
}
Command time_slice(const std::string& uuid, std::string_view interval) {
  const auto number = std::ranges::find(kIntervals, interval) - kIntervals.begin();
  return {.words = {"nvidia-smi", "compute-policy", "-i", uuid,
                    fmt::format("--set-timeslice={}", number)},
          .purpose = fmt::format("set time slice {}", interval)};
}

struct OnGpu {
  std::int64_t memory_mib = 0;
  int percent = 0;
};

class Nvidia final : public Vendor {
 public:
  [[nodiscard]] const VendorFacts& facts() const override {
    static const VendorFacts kFacts = [] {
      VendorFacts facts{
          .type = kNvidiaMig,
          .default_mode = "mig",
          .forms =
              "INDEX=mig, INDEX=timeslice:REPLICAS[:INTERVAL] or INDEX=mps:GB; intervals are "
              "Default, Short, Medium and Long",
          .prefixes = {"ts.das.com/", kMpsPrefix},
          .usual_resources = {std::string(kTimeSliced)}};
      for (const int gigabytes : {1, 2, 4, 5, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80}) {
        facts.usual_resources.push_back(mps_resource(gigabytes));
      }
      return facts;
    }();
    return kFacts;
  }
  [[nodiscard]] std::span<const GpuModel> models() const override { return gpu_models(); }

  [[nodiscard]] std::optional<GpuSharing> mode(std::string_view text) const override {
    const std::string_view mode = take_part(text, ':');
    if (mode == "mig" && text.empty()) {
      return GpuSharing{};
    }
    const auto amount = read_number(take_part(text, ':'), mode == "mps" ? kMostGb : kMostReplicas);
    if (!amount || *amount == 0) {
      return std::nullopt;
    }
    if (mode == "mps" && text.empty()) {
      return GpuSharing{.mode = "mps", .unit_gb = *amount};
    }
    const std::string_view interval = text.empty() ? kIntervals.front() : text;
    if (mode != "timeslice" || std::ranges::find(kIntervals, interval) == kIntervals.end()) {
      return std::nullopt;
    }
    return GpuSharing{.mode = "timeslice", .replicas = *amount, .interval = std::string(interval)};
  }

  [[nodiscard]] std::map<std::string, int> capacity(const SharedGpu& gpu,
                                                    const MigTable& table) const override {
    if (gpu.sharing.mode == "timeslice") {
      return {{std::string(kTimeSliced), gpu.sharing.replicas}};
    }
    if (gpu.sharing.mode == "mps") {
      const int shares = gpu.sharing.unit_gb > 0 ? gpu.memory_gib / gpu.sharing.unit_gb : 0;
      return shares > 0 ? std::map<std::string, int>{{mps_resource(gpu.sharing.unit_gb), shares}}
                        : std::map<std::string, int>();
    }
    std::map<std::string, int> devices;
    for (const MigProfile& profile : table.profiles) {
      devices[resource_of(profile.name)] =
          profile.name.ends_with("+me") ? profile.most : static_cast<int>(profile.starts.size());
    }
    return devices;
  }

  // A container talks to one MPS daemon, and a daemon serves one GPU: its shares stay together.
  [[nodiscard]] std::vector<std::size_t> place(
      std::vector<SharedGpu> gpus, const std::vector<ShareRequest>& requests) const override {
    return fill_gpus(*this, std::move(gpus), requests, [](std::string_view resource) {
      return resource.starts_with(kMpsPrefix) ? Together::Container : Together::No;
    });
  }

  [[nodiscard]] Value share(const SharedGpu& gpu, int index) const override {
    Value share = Value::object({{"index", index}});
    if (gpu.sharing.mode == "mps") {
      share.set("memoryMiB", gpu.sharing.unit_gb * kMibPerGib);
      share.set("threadPercent",
                std::max(1, kPercent * gpu.sharing.unit_gb / std::max(gpu.memory_gib, 1)));
    } else {
      share.set("interval", gpu.sharing.interval);
    }
    return share;
  }

  [[nodiscard]] ModeWork create(const SharedGpu& gpu,
                                std::string_view state_folder) const override {
    if (gpu.sharing.mode == "timeslice") {
      // A GPU has the default interval unless it was set.
      return gpu.sharing.interval == kIntervals.front()
                 ? ModeWork{}
                 : ModeWork{.commands = {time_slice(gpu.uuid, gpu.sharing.interval)}};
    }
    if (gpu.sharing.mode != "mps") {
      return {};
    }
    const std::string folder = mps_folder(state_folder, gpu.uuid);
    return {.folders = {folder + "/pipe", folder + "/log", shared_memory(state_folder)},
            .commands = {compute_mode(gpu.uuid, "EXCLUSIVE_PROCESS")},
            .daemon = Command{.words = {"nvidia-cuda-mps-control", "-f"},
                              .env = {{"CUDA_VISIBLE_DEVICES", gpu.uuid},
                                      {"CUDA_MPS_PIPE_DIRECTORY", folder + "/pipe"},
                                      {"CUDA_MPS_LOG_DIRECTORY", folder + "/log"}},
                              .purpose = "run the MPS control daemon"}};
  }

  [[nodiscard]] ModeWork destroy(const SharedGpu& gpu,
                                 std::string_view /*state_folder*/) const override {
    if (gpu.sharing.mode == "timeslice" && gpu.sharing.interval != kIntervals.front()) {
      return {.commands = {time_slice(gpu.uuid, kIntervals.front())}};
    }
    return gpu.sharing.mode == "mps" ? ModeWork{.commands = {compute_mode(gpu.uuid, "DEFAULT")}}
                                     : ModeWork{};
  }

  // GPUs are visible as a whole.
  [[nodiscard]] ContainerEdits edits(const std::vector<ShareClaim>& claims,
                                     const std::map<std::string, std::string>& names,
                                     std::string_view state_folder) const override {
    std::map<std::string, OnGpu> gpus;
    for (const ShareClaim& claim : claims) {
      OnGpu& gpu = gpus[claim.gpu];
      gpu.memory_mib += claim.type == "mps" ? claim.memory_mib : 0;
      gpu.percent += claim.thread_percent;
    }
    std::string visible;
    std::string limits;
    std::string pipe;
    int percent = kPercent;
    int index = 0;
    for (const auto& [uuid, gpu] : gpus) {
      const char* const comma = index == 0 ? "" : ",";
      const auto name = names.find(uuid);
      visible += comma + (name == names.end() ? uuid : name->second);
      if (gpu.memory_mib > 0) {
        limits += fmt::format("{}{}={}M", limits.empty() ? "" : ",", index, gpu.memory_mib);
        pipe = pipe.empty() ? mps_folder(state_folder, uuid) + "/pipe" : pipe;
        percent = std::min(percent, gpu.percent);
      }
      ++index;
    }
    ContainerEdits edits{.env = {{"NVIDIA_VISIBLE_DEVICES", visible},
                                 {"CUDA_VISIBLE_DEVICES", count_up(gpus.size())}}};
    if (!pipe.empty()) {
      edits.env.emplace_back("CUDA_MPS_PIPE_DIRECTORY", pipe);
      edits.env.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{}", percent));
      edits.env.emplace_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", limits);
      // Clients and the daemon's server share memory.
      edits.mounts = {{.host = pipe, .container = pipe},
                      {.host = shared_memory(state_folder), .container = "/dev/shm"}};
    }
    return edits;
  }
};

}  // namespace

const Vendor& nvidia() {
  static const Nvidia kNvidia;
  return kNvidia;
}

}  // namespace athanor::das
