// SPDX-License-Identifier: Apache-2.0
// AMD's MI300 family: compute partitions with a memory mode; a GPU is divided as a whole.
// Emulated alone.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "systems/das/makers/makers.hpp"
#include "systems/das/makers/shares_of_gpus.hpp"

namespace athanor::das {
namespace {

class Amd final : public Vendor {
 public:
  [[nodiscard]] const VendorFacts& facts() const override {
    static const VendorFacts kFacts{
        .type = kAmdMi300,
        .default_mode = "spx",
        .forms = "INDEX=spx, dpx, qpx or cpx, with :nps1, or :nps4 for qpx and cpx",
        .prefixes = {"amd.das.com/"},
        .usual_resources = {"amd.das.com/spx-nps1", "amd.das.com/dpx-nps1", "amd.das.com/qpx-nps1",
                            "amd.das.com/qpx-nps4", "amd.das.com/cpx-nps1",
                            "amd.das.com/cpx-nps4"}};
    return kFacts;
  }
  [[nodiscard]] std::span<const GpuModel> models() const override {
    static const std::vector<GpuModel> kModels{
        whole_model(kAmdMi300, "AMD Instinct", "MI300X", 192),
        whole_model(kAmdMi300, "AMD Instinct", "MI325X", 256)};
    return kModels;
  }
  // Eight dies, and never more memory partitions than compute partitions.
  [[nodiscard]] std::optional<GpuSharing> mode(std::string_view text) const override {
    constexpr std::array<std::pair<std::string_view, int>, 4> kCompute{
        {{"spx", 1}, {"dpx", 2}, {"qpx", 4}, {"cpx", 8}}};
    const std::string_view compute = take_part(text, ':');
    const std::string_view memory = text.empty() ? "nps1" : text;
    const auto* const found =
        std::ranges::find(kCompute, compute, &std::pair<std::string_view, int>::first);
    constexpr int kFourMemories = 4;
    if (found == kCompute.end() ||
        (memory != "nps1" && (memory != "nps4" || found->second < kFourMemories))) {
      return std::nullopt;
    }
    return GpuSharing{.mode = "partition",
                      .replicas = found->second,
                      .layout = fmt::format("{}-{}", compute, memory)};
  }

  [[nodiscard]] std::map<std::string, int> capacity(const SharedGpu& gpu,
                                                    const MigTable& /*table*/) const override {
    return {{"amd.das.com/" + gpu.sharing.layout, gpu.sharing.replicas}};
  }
  [[nodiscard]] Value share(const SharedGpu& gpu, int index) const override {
    return equal_share(gpu, index);
  }
  [[nodiscard]] ContainerEdits edits(const std::vector<ShareClaim>& claims,
                                     const std::map<std::string, std::string>& names,
                                     std::string_view /*state_folder*/) const override {
    std::string visible;
    for (const ShareClaim& claim : claims) {
      const auto name = names.find(claim.gpu);
      visible += visible.empty() ? "" : ",";
      visible += name != names.end() && name->second != claim.gpu
                     ? name->second
                     : fmt::format("{}:{}", claim.gpu, claim.index);
    }
    return {.env = {{"AMD_VISIBLE_DEVICES", visible},
                    {"ROCR_VISIBLE_DEVICES", count_up(claims.size())}}};
  }
};

}  // namespace

const Vendor& amd() {
  static const Amd kAmd;
  return kAmd;
}

}  // namespace athanor::das
