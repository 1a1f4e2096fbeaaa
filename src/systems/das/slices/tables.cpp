// SPDX-License-Identifier: Apache-2.0
#include "systems/das/slices/tables.hpp"

#include <array>
#include <tuple>
#include <utility>
#include <vector>

namespace athanor::das {
namespace {

// The seven shapes of a GPU with seven compute slices, in the order of their NVML profile.
struct Shape {
  std::string_view prefix{};
  int size = 0;
  std::vector<int> starts{};
  int most = 0;
  int gi_profile = 0;
  int ci_profile = 0;
  std::string_view attributes{};
  int smi_id = 0;
};

MigProfile profile(const Shape& shape, int gigabytes, std::int64_t memory_mib) {
  return {.name = std::string(shape.prefix) + std::to_string(gigabytes) + "gb" +
                  std::string(shape.attributes),
          .compute = shape.prefix.front() - '0',
          .size = shape.size,
          .starts = shape.starts,
          .most = shape.most,
          .gi_profile = shape.gi_profile,
          .ci_profile = shape.ci_profile,
          .memory_mib = memory_mib,
          .smi_id = shape.smi_id};
}

// Memory in GB of the columns 1g, double, 2g, 3g, 4g, 7g (docs/spec/das.md 4.2); `mib` likewise, or
// nothing.
MigTable seven_slices(const std::array<int, 6>& gigabytes,
                      const std::array<std::int64_t, 6>& mib = {}) {
  MigTable table;
  const auto add = [&](const Shape& shape, std::size_t column) {
    table.add(profile(shape, gigabytes[column], mib[column]));
  };
  add({"1g.", 1, {0, 1, 2, 3, 4, 5, 6}, 7, 0, 0, "", 19}, 0);
  add({"2g.", 2, {0, 2, 4}, 3, 1, 1, "", 14}, 2);
  add({"3g.", 4, {0, 4}, 2, 2, 2, "", 9}, 3);
  add({"4g.", 4, {0}, 1, 3, 3, "", 5}, 4);
  add({"7g.", 8, {0}, 1, 4, 4, "", 0}, 5);
  add({"1g.", 1, {0, 1, 2, 3, 4, 5, 6}, 1, 7, 0, "+me", 20}, 0);
  add({"1g.", 2, {0, 2, 4, 6}, 4, 9, 0, "", 15}, 1);
  return table;
}

MigTable a30() {
  MigTable table{.slots = 4};
  for (const auto& [shape, gigabytes, mib] :
       {std::tuple{Shape{"1g.", 1, {0, 1, 2, 3}, 4, 0, 0, "", 14}, 6, 5836},
        {Shape{"2g.", 2, {0, 2}, 2, 1, 1, "", 5}, 12, 11672},
        {Shape{"4g.", 4, {0}, 1, 3, 3, "", 0}, 24, 23344},
        {Shape{"1g.", 1, {0, 1, 2, 3}, 1, 7, 0, "+me", 21}, 6, 5836},
        {Shape{"2g.", 2, {0, 2}, 1, 8, 1, "+me", 6}, 12, 11672}}) {
    table.add(profile(shape, gigabytes, mib));
  }
  return table;
}

MigTable rtx_pro_6000() {
  MigTable table{.slots = 4};
  constexpr int kMib1 = 24192;
  constexpr int kMib2 = 48512;
  constexpr int kMib4 = 97280;
  for (const auto& [shape, gigabytes, mib] :
       {std::tuple{Shape{"1g.", 1, {0, 1, 2, 3}, 4, 0, 0, "", 14}, 24, kMib1},
        {Shape{"2g.", 2, {0, 2}, 2, 1, 1, "", 5}, 48, kMib2},
        {Shape{"4g.", 4, {0}, 1, 3, 3, "", 0}, 96, kMib4},
        {Shape{"1g.", 1, {0, 1, 2, 3}, 1, 7, 0, "+me", 21}, 24, kMib1},
        {Shape{"1g.", 1, {0, 1, 2, 3}, 4, 10, 0, "+gfx", 47}, 24, kMib1},
        {Shape{"2g.", 2, {0, 2}, 2, 11, 1, "+gfx", 35}, 48, kMib2},
        {Shape{"4g.", 4, {0}, 1, 12, 3, "+gfx", 32}, 96, kMib4},
        {Shape{"1g.", 1, {0, 1, 2, 3}, 4, 13, 0, "-me", 67}, 24, kMib1},
        {Shape{"2g.", 2, {0, 2}, 2, 14, 1, "-me", 66}, 48, kMib2},
        {Shape{"1g.", 1, {0, 1, 2, 3}, 1, 15, 0, "+me.all", 65}, 24, kMib1},
        {Shape{"2g.", 2, {0, 2}, 1, 16, 1, "+me.all", 64}, 48, kMib2}}) {
    table.add(profile(shape, gigabytes, mib));
  }
  return table;
}

std::vector<GpuModel> make_models() {
  constexpr std::array<std::int64_t, 6> kMib40{4864, 9856, 9856, 19968, 19968, 40192};
  constexpr std::array<std::int64_t, 6> kMib80{9856, 19968, 19968, 40192, 40192, 80384};
  std::vector<GpuModel> models;
  struct Family {
    std::string_view architecture{};
    std::string_view compute_capability{};
  };
  constexpr Family kAmpere{"Ampere", "8.0.0"};
  constexpr Family kHopper{"Hopper", "9.0.0"};
  constexpr Family kBlackwell{"Blackwell", "10.0.0"};
  const auto add = [&](const Family& family, std::string_view key, int gib, MigTable table) {
    models.push_back({.key = key,
                      .memory_gib = gib,
                      .table = std::move(table),
                      .architecture = family.architecture,
                      .compute_capability = family.compute_capability});
  };
  add(kAmpere, "A100-PCIE-40GB", 40, seven_slices({5, 10, 10, 20, 20, 40}, kMib40));
  add(kAmpere, "A100-SXM4-80GB", 80, seven_slices({10, 20, 20, 40, 40, 80}, kMib80));
  add(kHopper, "H100-80GB-HBM3", 80, seven_slices({10, 20, 20, 40, 40, 80}));
  add(kHopper, "H100-NVL", 94, seven_slices({12, 24, 24, 47, 47, 94}));
  add(kHopper, "H100-96GB", 96, seven_slices({12, 24, 24, 48, 48, 96}));
  add(kHopper, "GH200-144GB", 144, seven_slices({18, 36, 36, 72, 72, 144}));
  add(kHopper, "H200", 141, seven_slices({18, 35, 35, 71, 71, 141}));
  add(kBlackwell, "B200", 180, seven_slices({23, 45, 45, 90, 90, 180}));
  add(kBlackwell, "GB200", 186, seven_slices({23, 47, 47, 93, 93, 186}));
  add(kBlackwell, "B300", 269, seven_slices({34, 67, 67, 135, 135, 269}));
  add(kBlackwell, "GB300", 278, seven_slices({35, 70, 70, 139, 139, 278}));
  add(kAmpere, "A30", 24, a30());
  add({"Blackwell", "12.0.0"}, "RTX-PRO-6000", 96, rtx_pro_6000());
  return models;
}

const std::vector<GpuModel>& all_models() {
  static const std::vector<GpuModel> kModels = make_models();
  return kModels;
}

}  // namespace

Media media_of(std::string_view profile) {
  return profile.ends_with("+me.all") ? Media::All
         : profile.ends_with("-me")   ? Media::None
                                      : Media::Some;
}

void MigTable::add(MigProfile profile) {
  profile.media = media_of(profile.name);
  exclusive = exclusive || profile.media == Media::All;
  profiles.push_back(std::move(profile));
}

int MigTable::find(std::string_view profile) const {
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i].name == profile) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::span<const GpuModel> gpu_models() {
  return all_models();
}

}  // namespace athanor::das
