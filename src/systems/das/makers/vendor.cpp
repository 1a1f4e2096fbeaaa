// SPDX-License-Identifier: Apache-2.0
#include "systems/das/makers/vendor.hpp"

#include <algorithm>
#include <utility>

#include "systems/das/makers/emulation.hpp"
#include "systems/das/makers/makers.hpp"
#include "systems/das/makers/shares_of_gpus.hpp"

namespace athanor::das {

Value Vendor::discover(std::string_view node, const GpuModel& model, int count) const {
  return emulated_resources(node, {.model = &model, .count = count});
}

std::vector<SharePlace> Vendor::place(std::vector<SharedGpu> gpus,
                                      const std::vector<ShareRequest>& requests) const {
  return fill_gpus(*this, std::move(gpus), requests,
                   [](std::string_view /*resource*/) { return Together::No; });
}

ModeWork Vendor::create(const SharedGpu& /*gpu*/, std::string_view /*state_folder*/) const {
  return {};
}

ModeWork Vendor::destroy(const SharedGpu& /*gpu*/, std::string_view /*state_folder*/) const {
  return {};
}

ModeWork Vendor::share_slice(const ShareClaim& /*claim*/, const std::string& /*device*/,
                             std::string_view /*state_folder*/) const {
  return {};
}

std::string Vendor::health(const Value& gpu) const {
  return gpu["health"].as_string() == "Unhealthy" ? "Unhealthy" : "";
}

std::span<const Vendor* const> vendors() {
  static const Vendor* const kVendors[] = {&nvidia(), &amd(), &intel()};
  return kVendors;
}

const Vendor* find_vendor(std::string_view type) {
  for (const Vendor* vendor : vendors()) {
    if (vendor->facts().type == (type.empty() ? kNvidiaMig : type)) {
      return vendor;
    }
  }
  return nullptr;
}

const Vendor* vendor_of_resource(std::string_view resource, std::span<const Vendor* const> among) {
  for (const Vendor* vendor : among) {
    if (std::ranges::any_of(vendor->facts().prefixes, [&](std::string_view prefix) {
          return resource.starts_with(prefix);
        })) {
      return vendor;
    }
  }
  return nullptr;
}

const GpuModel* find_model(std::string_view key) {
  for (const Vendor* vendor : vendors()) {
    for (const GpuModel& model : vendor->models()) {
      if (model.key == key) {
        return &model;
      }
    }
  }
  return nullptr;
}

std::string known_models() {
  std::string text;
  for (const Vendor* vendor : vendors()) {
    for (const GpuModel& model : vendor->models()) {
      text += (text.empty() ? "" : ", ") + std::string(model.key);
    }
  }
  return text;
}

}  // namespace athanor::das
