// SPDX-License-Identifier: Apache-2.0
// Intel's data centre GPUs: virtual functions (SR-IOV). Emulated alone.
#include <algorithm>

#include "systems/das/makers/makers.hpp"
#include "systems/das/makers/shares_of_gpus.hpp"

namespace athanor::das {
namespace {

constexpr int kMostFunctions = 63;
constexpr const char* kResource = "intel.das.com/vf";

class Intel final : public Vendor {
 public:
  [[nodiscard]] const VendorFacts& facts() const override {
    static const VendorFacts kFacts{.type = kIntelXe,
                                    .default_mode = "vf:1",
                                    .forms = "INDEX=vf:COUNT",
                                    .prefixes = {"intel.das.com/"},
                                    .usual_resources = {kResource}};
    return kFacts;
  }
  [[nodiscard]] std::span<const GpuModel> models() const override {
    static const std::vector<GpuModel> kModels{
        whole_model(kIntelXe, "Intel Data Center GPU", "Max-1550", 128),
        whole_model(kIntelXe, "Intel Data Center GPU", "Flex-170", 16)};
    return kModels;
  }
  [[nodiscard]] std::optional<GpuSharing> mode(std::string_view text) const override {
    const bool functions = take_part(text, ':') == "vf";
    const auto count = read_number(text, kMostFunctions);
    return functions && count && *count > 0
               ? std::optional(GpuSharing{.mode = "vf", .replicas = *count})
               : std::nullopt;
  }

  [[nodiscard]] std::map<std::string, int> capacity(const SharedGpu& gpu,
                                                    const MigTable& /*table*/) const override {
    return {{kResource, gpu.sharing.replicas}};
  }
  [[nodiscard]] Value share(const SharedGpu& gpu, int index) const override {
    return equal_share(gpu, index);
  }
  [[nodiscard]] ContainerEdits edits(const std::vector<ShareClaim>& claims,
                                     const std::map<std::string, std::string>& /*names*/,
                                     std::string_view /*state_folder*/) const override {
    return {.env = {{"ZE_AFFINITY_MASK", count_up(claims.size())}}};
  }
};

}  // namespace

const Vendor& intel() {
  static const Intel kIntel;
  return kIntel;
}

}  // namespace athanor::das
