// SPDX-License-Identifier: Apache-2.0
// ResourceSlices and DeviceClasses of sliced GPUs: names, limits, and that counters allow exactly
// what is legal (docs/spec/das.md 15.1).
#include "systems/das/dra/publication.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kube/names/names.hpp"
#include "kube/text/quantity.hpp"
#include "systems/das/dra/engines.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/slices/slots.hpp"

namespace athanor::das::publication_test {
namespace {

PublishedNode node_with(const char* model, int gpus) {
  PublishedNode node{.name = "n1", .uid = "u"};
  for (int i = 0; i < gpus; ++i) {
    node.gpus.push_back(
        {.minor = i, .uuid = "GPU-" + std::to_string(i), .model = find_model(model)});
  }
  return node;
}

std::vector<Value> devices_of(const std::vector<Value>& slices) {
  std::vector<Value> devices;
  for (const Value& slice : slices) {
    const auto items = slice["spec"]["devices"].items();
    devices.insert(devices.end(), items.begin(), items.end());
  }
  return devices;
}

Value find(const std::vector<Value>& devices, std::string_view name) {
  const auto found = std::ranges::find_if(
      devices, [&](const Value& one) { return one["name"].as_string() == name; });
  return found == devices.end() ? Value() : *found;
}

std::string text(const Value& device, const std::string& attribute) {
  return device["attributes"]["gpu.nvidia.com/" + attribute]["string"].str();
}

TEST(Publication, SplitsEightA100sIntoFiveSlices) {
  const std::vector<Value> slices = resource_slices(node_with("A100-PCIE-40GB", 8), 3);
  ASSERT_EQ(slices.size(), 5U);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Value& spec = slices[i]["spec"];
    EXPECT_EQ(slices[i]["metadata"]["name"].str(),
              "n1-das.inference.redhat.com-0" + std::to_string(i));
    EXPECT_EQ(spec["driver"].str(), "das.inference.redhat.com");
    EXPECT_EQ(spec["nodeName"].str(), "n1");
    EXPECT_EQ(spec["pool"]["name"].str(), "n1");
    EXPECT_EQ(spec["pool"]["generation"].as_int(), 3);
    EXPECT_EQ(spec["pool"]["resourceSliceCount"].as_int(), 5);
    EXPECT_NE(spec["devices"].is_null(), spec["sharedCounters"].is_null());
  }
  EXPECT_EQ(slices[0]["spec"]["sharedCounters"].size(), 8U);
  EXPECT_EQ(slices[1]["spec"]["devices"].size(), 52U);
}

TEST(Publication, KeepsLimitsForEveryModelAndGpuCount) {
  for (const GpuModel& model : gpu_models()) {
    for (int gpus = 1; gpus <= 16; ++gpus) {
      SCOPED_TRACE(std::string(model.key) + " x " + std::to_string(gpus));
      std::set<std::string> names;
      std::set<std::string> sets;
      std::size_t per_gpu = 1;
      for (const MigProfile& profile : model.table.profiles) {
        per_gpu += profile.starts.size();
      }
      const std::vector<Value> slices =
          resource_slices(node_with(std::string(model.key).c_str(), gpus), 1);
      for (const Value& slice : slices) {
        const Value& spec = slice["spec"];
        EXPECT_LE(spec["devices"].size(), 64U);
        EXPECT_LE(spec["sharedCounters"].size(), 8U);
        for (const Value& set : spec["sharedCounters"].items()) {
          EXPECT_TRUE(sets.insert(set["name"].str()).second);
          EXPECT_LE(set["counters"].size(), 32U);
        }
        for (const Value& device : spec["devices"].items()) {
          EXPECT_TRUE(names.insert(device["name"].str()).second) << device["name"].str();
          EXPECT_FALSE(validate_dns1123_label(device["name"].as_string()).has_value());
          EXPECT_LE(device["attributes"].size() + device["capacity"].size(), 32U);
          EXPECT_EQ(device["consumesCounters"].size(), 1U);
          EXPECT_TRUE(sets.contains(device["consumesCounters"][0]["counterSet"].str()));
        }
      }
      EXPECT_EQ(names.size(), per_gpu * static_cast<std::size_t>(gpus));
    }
  }
}

TEST(Publication, PublishesDeviceAttributesInOrderOfRoom) {
  const std::vector<Value> devices = devices_of(resource_slices(node_with("A100-PCIE-40GB", 1), 1));
  std::vector<std::string> names;
  for (const Value& device : devices) {
    names.push_back(device["name"].str());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"gpu-0",
                                             "gpu-0-mig-1g5gb-19-6",
                                             "gpu-0-mig-1g5gb-19-5",
                                             "gpu-0-mig-1g5gb-19-4",
                                             "gpu-0-mig-1g5gb-19-3",
                                             "gpu-0-mig-1g5gb-19-2",
                                             "gpu-0-mig-1g5gb-19-1",
                                             "gpu-0-mig-1g5gb-19-0",
                                             "gpu-0-mig-2g10gb-14-4",
                                             "gpu-0-mig-2g10gb-14-2",
                                             "gpu-0-mig-2g10gb-14-0",
                                             "gpu-0-mig-3g20gb-9-4",
                                             "gpu-0-mig-3g20gb-9-0",
                                             "gpu-0-mig-4g20gb-5-0",
                                             "gpu-0-mig-7g40gb-0-0",
                                             "gpu-0-mig-1g5gb-me-20-6",
                                             "gpu-0-mig-1g5gb-me-20-5",
                                             "gpu-0-mig-1g5gb-me-20-4",
                                             "gpu-0-mig-1g5gb-me-20-3",
                                             "gpu-0-mig-1g5gb-me-20-2",
                                             "gpu-0-mig-1g5gb-me-20-1",
                                             "gpu-0-mig-1g5gb-me-20-0",
                                             "gpu-0-mig-1g10gb-15-6",
                                             "gpu-0-mig-1g10gb-15-4",
                                             "gpu-0-mig-1g10gb-15-2",
                                             "gpu-0-mig-1g10gb-15-0"}));
  const Value whole = find(devices, "gpu-0");
  EXPECT_EQ(text(whole, "type"), "gpu");
  EXPECT_EQ(text(whole, "uuid"), "GPU-0");
  EXPECT_EQ(text(whole, "productName"), "NVIDIA A100-PCIE-40GB");
  EXPECT_EQ(text(whole, "architecture"), "Ampere");
  EXPECT_EQ(whole["attributes"]["gpu.nvidia.com/cudaComputeCapability"]["version"].str(), "8.0.0");
  EXPECT_EQ(whole["consumesCounters"][0]["counters"]["memory-slice-7"]["value"].str(), "1");
  const Value slice = find(devices, "gpu-0-mig-3g20gb-9-4");
  EXPECT_EQ(text(slice, "type"), "mig");
  EXPECT_EQ(text(slice, "parentUUID"), "GPU-0");
  EXPECT_EQ(text(slice, "profile"), "3g.20gb");
  EXPECT_EQ(slice["capacity"]["gpu.nvidia.com/multiprocessors"]["value"].str(), "42");
  EXPECT_EQ(slice["capacity"]["gpu.nvidia.com/memory"]["value"].str(), "19968Mi");
  const Value& used = slice["consumesCounters"][0]["counters"];
  EXPECT_TRUE(used["memory-slice-3"].is_null());
  EXPECT_EQ(used["memory-slice-4"]["value"].str(), "1");
  EXPECT_EQ(used["memory-slice-7"]["value"].str(), "1");
  EXPECT_EQ(used["decoders"]["value"].str(), "2");
}

TEST(Publication, ANodeWithoutGpusPublishesNothing) {
  EXPECT_TRUE(resource_slices({.name = "n1", .uid = "u"}, 1).empty());
}

// Every layout that the tables allow, and no other, is one that the counters allow.
class Layouts {
 public:
  explicit Layouts(const GpuModel& model) : table_(model.table) {
    PublishedNode node{.name = "n", .uid = "u"};
    node.gpus.push_back({.minor = 0, .uuid = "G", .model = &model});
    const std::vector<Value> slices = resource_slices(node, 1);
    for (const Member& one : slices[0]["spec"]["sharedCounters"][0]["counters"].members()) {
      most_[std::string(one.key())] = *Quantity::parse(one.value["value"]);
    }
    for (const Value& device : devices_of(slices)) {
      for (int i = 0; i < static_cast<int>(table_.profiles.size()); ++i) {
        for (const int start : table_.profiles[static_cast<std::size_t>(i)].starts) {
          if (device["name"].as_string() ==
              device_name(0, table_.profiles[static_cast<std::size_t>(i)], start)) {
            places_.push_back({i, start});
            uses_.push_back(device["consumesCounters"][0]["counters"]);
          }
        }
      }
    }
  }
  int count(std::size_t from = 0) {
    int layouts = 1;
    for (std::size_t i = from; i < places_.size(); ++i) {
      const auto [profile, start] = places_[i];
      const bool legal = fits_at(table_, occupancy_, profile, start);
      const bool affordable = affords(uses_[i]);
      EXPECT_EQ(legal, affordable)
          << table_.profiles[static_cast<std::size_t>(profile)].name << " at " << start;
      if (!legal) {
        continue;
      }
      occupancy_.take(profile, start, table_);
      spend(uses_[i], 1);
      layouts += count(i + 1);
      spend(uses_[i], -1);
      occupancy_.release(profile, start, table_);
    }
    return layouts;
  }

 private:
  bool affords(const Value& use) {
    return std::ranges::all_of(use.members(), [&](const Member& one) {
      const std::string name(one.key());
      return used_[name] + *Quantity::parse(one.value["value"]) <= most_[name];
    });
  }
  void spend(const Value& use, int sign) {
    for (const Member& one : use.members()) {
      Quantity& used = used_[std::string(one.key())];
      const Quantity amount = *Quantity::parse(one.value["value"]);
      sign > 0 ? used += amount : used -= amount;
    }
  }

  const MigTable& table_;
  std::map<std::string, Quantity> most_{};
  std::map<std::string, Quantity> used_{};
  std::vector<std::pair<int, int>> places_{};
  std::vector<Value> uses_{};
  Occupancy occupancy_{};
};

TEST(Publication, CountersAllowExactlyTheLegalLayouts) {
  for (const char* model : {"A100-PCIE-40GB", "A100-SXM4-80GB", "H100-80GB-HBM3", "H200", "B200"}) {
    SCOPED_TRACE(model);
    EXPECT_EQ(Layouts(*find_model(model)).count(), 2319);
  }
  EXPECT_EQ(Layouts(*find_model("RTX-PRO-6000")).count(), 717);
}

TEST(Publication, OneClassForEachProfile) {
  const std::vector<Value> classes = device_classes({"1g.5gb", "1g.5gb+me"});
  ASSERT_EQ(classes.size(), 4U);
  EXPECT_EQ(classes[0]["metadata"]["name"].str(), "gpu.nvidia.com");
  EXPECT_EQ(classes[0]["spec"]["extendedResourceName"].str(), "nvidia.com/gpu");
  EXPECT_EQ(classes[1]["metadata"]["name"].str(), "mig.nvidia.com");
  EXPECT_TRUE(classes[1]["spec"]["extendedResourceName"].is_null());
  EXPECT_EQ(classes[2]["metadata"]["name"].str(), "1g.5gb.mig.nvidia.com");
  EXPECT_EQ(classes[2]["spec"]["extendedResourceName"].str(), "mig.das.com/1g.5gb");
  EXPECT_EQ(classes[2]["spec"]["selectors"][0]["cel"]["expression"].str(),
            "has(device.attributes['gpu.nvidia.com'].profile) && "
            "device.attributes['gpu.nvidia.com'].profile == '1g.5gb'");
  EXPECT_EQ(classes[3]["metadata"]["name"].str(), "1g.5gb-plus-me.mig.nvidia.com");
  EXPECT_EQ(classes[3]["spec"]["extendedResourceName"].str(), "mig.das.com/1g.5gb-plus-me");
}

}  // namespace
}  // namespace athanor::das::publication_test
