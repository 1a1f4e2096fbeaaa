// SPDX-License-Identifier: Apache-2.0
// NVIDIA's GPUs: sliced (placement/), or shared as a whole by time-slicing or MPS
// (docs/spec/das.md 15.2).
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "systems/das/makers/makers.hpp"
#include "systems/das/makers/shares_of_gpus.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das {
namespace {

constexpr std::int64_t kMibPerGib = 1024;
constexpr int kPercent = 100;
constexpr int kMostReplicas = 100;
constexpr int kMostGb = 1000;
constexpr std::string_view kTimeSlicedPrefix = "ts.das.com/";
// In the order of nvidia-smi's --set-timeslice.
constexpr std::array<std::string_view, 4> kIntervals{"Default", "Short", "Medium", "Long"};

// "mps.das.com/gpu-10gb", of slices "mps.das.com/3g.20gb-5gb".
std::string mps_resource(std::string_view profile, int gigabytes) {
  return fmt::format("{}{}-{}gb", kMpsPrefix, profile.empty() ? "gpu" : encode_profile(profile),
                     gigabytes);
}
std::string time_sliced_resource(std::string_view profile) {
  return fmt::format("{}{}", kTimeSlicedPrefix, profile.empty() ? "gpu" : encode_profile(profile));
}

// Returns the memory of the GPU, or of each of its slices if these are shared.
int gigabytes_of(const SharedGpu& gpu) {
  const auto profile = parse_profile(gpu.sharing.profile);
  return profile ? profile->gigabytes : gpu.memory_gib;
}

// `part`: see ShareClaim::part().
std::string mps_folder(std::string_view state_folder, std::string_view part) {
  return fmt::format("{}/mps/{}", state_folder, part);
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

Command mps_daemon(const std::string& device, const std::string& folder) {
  return {.words = {"nvidia-cuda-mps-control", "-f"},
          .env = {{"CUDA_VISIBLE_DEVICES", device},
                  {"CUDA_MPS_PIPE_DIRECTORY", folder + "/pipe"},
                  {"CUDA_MPS_LOG_DIRECTORY", folder + "/log"}},
          .purpose = "run the MPS control daemon"};
}

struct OnPart {
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
              "INDEX=mig, INDEX=timeslice:REPLICAS[:INTERVAL], INDEX=mps:GB, "
              "INDEX=PROFILE:timeslice:REPLICAS or INDEX=PROFILE:mps:GB; intervals are Default, "
              "Short, Medium and Long",
          .prefixes = {kTimeSlicedPrefix, kMpsPrefix},
          .usual_resources = {time_sliced_resource({})}};
      std::set<std::string> profiles;
      for (const GpuModel& model : gpu_models()) {
        for (const MigProfile& profile : model.table.profiles) {
          profiles.insert(profile.name);
        }
      }
      for (const std::string& profile : profiles) {
        facts.usual_resources.push_back(time_sliced_resource(profile));
      }
      for (const int gigabytes : {1, 2, 4, 5, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80}) {
        facts.usual_resources.push_back(mps_resource({}, gigabytes));
        for (const std::string& profile : profiles) {
          if (gigabytes <= parse_profile(profile)->gigabytes) {
            facts.usual_resources.push_back(mps_resource(profile, gigabytes));
          }
        }
      }
      return facts;
    }();
    return kFacts;
  }
  [[nodiscard]] std::span<const GpuModel> models() const override { return gpu_models(); }

  [[nodiscard]] std::optional<GpuSharing> mode(std::string_view text) const override {
    const std::string_view mode = take_part(text, ':');
    if (const auto profile = parse_profile(mode)) {
      return shared_slices(*profile, text);
    }
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
    const GpuSharing& sharing = gpu.sharing;
    if (sharing.mode == "timeslice") {
      return {{time_sliced_resource(sharing.profile), sharing.replicas * sharing.parts()}};
    }
    if (sharing.mode == "mps") {
      const int each = sharing.unit_gb > 0 ? gigabytes_of(gpu) / sharing.unit_gb : 0;
      const int shares = each * sharing.parts();
      return shares > 0
                 ? std::map<std::string, int>{{mps_resource(sharing.profile, sharing.unit_gb),
                                               shares}}
                 : std::map<std::string, int>();
    }
    std::map<std::string, int> devices;
    for (const MigProfile& profile : table.profiles) {
      devices[resource_of(profile.name)] =
          profile.name.ends_with("+me") ? profile.most : static_cast<int>(profile.starts.size());
    }
    return devices;
  }

  // A container talks to one MPS daemon, and a daemon serves one GPU or slice: its shares stay
  // together.
  [[nodiscard]] std::vector<SharePlace> place(
      std::vector<SharedGpu> gpus, const std::vector<ShareRequest>& requests) const override {
    return fill_gpus(*this, std::move(gpus), requests, [](std::string_view resource) {
      return resource.starts_with(kMpsPrefix) ? Together::Container : Together::No;
    });
  }

  [[nodiscard]] Value share(const SharedGpu& gpu, int index) const override {
    const GpuSharing& sharing = gpu.sharing;
    Value share = Value::object({{"index", index}});
    if (sharing.mode == "mps") {
      share.set("memoryMiB", sharing.unit_gb * kMibPerGib);
      share.set("threadPercent",
                std::max(1, kPercent * sharing.unit_gb / std::max(gigabytes_of(gpu), 1)));
    } else if (sharing.profile.empty()) {
      share.set("interval", sharing.interval);
    }
    if (!sharing.profile.empty()) {
      const auto part = static_cast<std::size_t>(index / std::max(sharing.replicas, 1));
      share.set("slice", Value::object({{"profile", sharing.profile},
                                        {"start", sharing.starts.at(part)},
                                        {"size", sharing.size}}));
    }
    return share;
  }

  [[nodiscard]] ModeWork create(const SharedGpu& gpu,
                                std::string_view state_folder) const override {
    if (!gpu.sharing.profile.empty()) {
      return {};  // slices come and go with their shares
    }
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
            .daemon = mps_daemon(gpu.uuid, folder)};
  }

  // Compute modes are of whole GPUs: a slice keeps the default one.
  [[nodiscard]] ModeWork share_slice(const ShareClaim& claim, const std::string& device,
                                     std::string_view state_folder) const override {
    if (claim.type != "mps" || claim.profile.empty()) {
      return {};
    }
    const std::string folder = mps_folder(state_folder, claim.part());
    return {.folders = {folder + "/pipe", folder + "/log", shared_memory(state_folder)},
            .daemon = mps_daemon(device, folder)};
  }

  [[nodiscard]] ModeWork destroy(const SharedGpu& gpu,
                                 std::string_view /*state_folder*/) const override {
    if (!gpu.sharing.profile.empty()) {
      return {};
    }
    if (gpu.sharing.mode == "timeslice" && gpu.sharing.interval != kIntervals.front()) {
      return {.commands = {time_slice(gpu.uuid, kIntervals.front())}};
    }
    return gpu.sharing.mode == "mps" ? ModeWork{.commands = {compute_mode(gpu.uuid, "DEFAULT")}}
                                     : ModeWork{};
  }

  [[nodiscard]] ContainerEdits edits(const std::vector<ShareClaim>& claims,
                                     const std::map<std::string, std::string>& names,
                                     std::string_view state_folder) const override {
    std::map<std::string, OnPart> parts;
    for (const ShareClaim& claim : claims) {
      OnPart& part = parts[claim.part()];
      part.memory_mib += claim.type == "mps" ? claim.memory_mib : 0;
      part.percent += claim.thread_percent;
    }
    std::string visible;
    std::string limits;
    std::string pipe;
    int percent = kPercent;
    int index = 0;
    for (const auto& [key, part] : parts) {
      const char* const comma = index == 0 ? "" : ",";
      const auto name = names.find(key);
      visible += comma + (name == names.end() ? key : name->second);
      if (part.memory_mib > 0) {
        limits += fmt::format("{}{}={}M", limits.empty() ? "" : ",", index, part.memory_mib);
        pipe = pipe.empty() ? mps_folder(state_folder, key) + "/pipe" : pipe;
        percent = std::min(percent, part.percent);
      }
      ++index;
    }
    ContainerEdits edits{.env = {{"NVIDIA_VISIBLE_DEVICES", visible},
                                 {"CUDA_VISIBLE_DEVICES", count_up(parts.size())}}};
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

 private:
  // Reads "timeslice:REPLICAS" or "mps:GB" of the slices of a profile. Time slices of slices have
  // no interval: nvidia-smi sets that of whole GPUs alone.
  [[nodiscard]] std::optional<GpuSharing> shared_slices(const ProfileName& profile,
                                                        std::string_view text) const {
    const bool with_interval = std::ranges::count(text, ':') > 1;
    auto sharing = mode(text);
    if (!sharing || sharing->sliced() || !sharing->profile.empty() || with_interval) {
      return std::nullopt;
    }
    sharing->interval.clear();
    sharing->profile = profile.text();
    if (sharing->mode == "mps") {
      sharing->replicas = profile.gigabytes / sharing->unit_gb;
    }
    return sharing->replicas > 0 ? sharing : std::nullopt;
  }
};

}  // namespace

const Vendor& nvidia() {
  static const Nvidia kNvidia;
  return kNvidia;
}

}  // namespace athanor::das
