// SPDX-License-Identifier: Apache-2.0
// GPUs of nodes.
#include "systems/hearth/gpus.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "base/ascii.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::hearth {
namespace {

constexpr std::string_view kShared = "-SHARED";
constexpr std::string_view kMig = "-MIG-";
constexpr std::string_view kMigResource = "nvidia.com/mig-";
constexpr std::string_view kReplicas = "nvidia.com/gpu.replicas";

// The name follows the prefix of a resource, of which Kubernetes takes 63 bytes.
constexpr std::size_t kLongestResourceName = 40;

struct Known {
  std::string_view product{};
  std::string_view short_name{};
};
constexpr Known kProducts[] = {
    {"NVIDIA-A100-SXM4-80GB", "a100"}, {"NVIDIA-A100-SXM4-40GB", "a100"},
    {"NVIDIA-A100-PCIE-80GB", "a100"}, {"NVIDIA-A100-PCIE-40GB", "a100"},
    {"NVIDIA-H100-SXM5-80GB", "h100"}, {"NVIDIA-H100-PCIE-80GB", "h100"},
    {"NVIDIA-H200-SXM-141GB", "h200"}, {"AMD-Instinct-MI300X", "mi300x"},
};
constexpr std::string_view kPrefixes[] = {"nvidia-", "amd-instinct-", "amd-"};

struct Vendor {
  std::string_view name{};
  std::string_view resource{};
  std::span<const std::string_view> labels{};
};
constexpr std::string_view kNvidiaLabels[] = {"nvidia.com/gpu.product"};
constexpr std::string_view kAmdLabels[] = {"amd.com/gpu.product", "amd.com/gpu.product-name",
                                           "beta.amd.com/gpu.product-name"};
constexpr Vendor kVendors[] = {
    {.name = "nvidia", .resource = "nvidia.com/gpu", .labels = kNvidiaLabels},
    {.name = "amd", .resource = "amd.com/gpu", .labels = kAmdLabels},
};

// The first `count` parts between dashes; empty when there are fewer.
std::string_view parts(std::string_view text, int count) {
  std::size_t end = 0;
  for (int i = 0; i < count; ++i) {
    if (i > 0 && end == text.size()) {
      return {};
    }
    end = std::min(text.find('-', i == 0 ? 0 : end + 1), text.size());
  }
  return text.substr(0, end);
}

std::string letters_and_digits(std::string_view text) {
  std::string kept;
  for (const char c : lower(text)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      kept += c;
    }
  }
  return kept;
}

// Two parts name an NVIDIA model; AMD's line "Instinct" is one, its third part is the model.
std::string_view by_prefix(std::string_view product) {
  for (const Known& known : kProducts) {
    const int count = known.product.starts_with("AMD-") ? 3 : 2;
    const std::string_view prefix = parts(known.product, count);
    if (parts(product, count) == prefix) {
      return known.short_name;
    }
  }
  return {};
}

std::string base_name(std::string_view vendor, std::string product) {
  if (vendor == "amd") {
    std::replace(product.begin(), product.end(), '_', '-');
  }
  for (const Known& known : kProducts) {
    if (known.product == product) {
      return std::string(known.short_name);
    }
  }
  if (const std::string_view found = by_prefix(product); !found.empty()) {
    return std::string(found);
  }
  std::string rest = lower(product);
  for (const std::string_view prefix : kPrefixes) {
    if (rest.starts_with(prefix)) {
      rest.erase(0, prefix.size());
      break;
    }
  }
  rest = letters_and_digits(rest);
  return rest.empty() ? std::string(vendor) : rest;
}

// Sums by (vendor, model, short name).
class Counter {
 public:
  void add(std::string_view vendor, std::string model, std::string short_name, std::int64_t count,
           std::int64_t nodes) {
    api::ClusterGpu& gpu = gpus_[{std::string(vendor), model, short_name}];
    gpu.vendor = vendor;
    gpu.model = std::move(model);
    gpu.short_name = std::move(short_name);
    gpu.count = gpu.count.value_or(0) + count * nodes;
    gpu.node_count = gpu.node_count.value_or(0) + nodes;
  }
  [[nodiscard]] std::vector<api::ClusterGpu> list() const {
    std::vector<api::ClusterGpu> all;
    all.reserve(gpus_.size());
    for (const auto& [key, gpu] : gpus_) {
      all.push_back(gpu);
    }
    return all;
  }

 private:
  std::map<std::tuple<std::string, std::string, std::string>, api::ClusterGpu> gpus_{};
};

// A whole amount, 0 when absent; nullopt when it is none.
std::optional<std::int64_t> amount(const Value& allocatable, std::string_view resource) {
  const Value& value = allocatable[resource];
  if (value.is_null()) {
    return 0;
  }
  const auto quantity = Quantity::parse(value);
  if (!quantity || quantity->is_negative() || quantity->milli_value() != quantity->value() * 1000) {
    return std::nullopt;
  }
  return quantity->value();
}

std::string_view product_of(const Vendor& vendor, const Value& labels) {
  for (const std::string_view label : vendor.labels) {
    if (const std::string_view product = labels[label].as_string(); !product.empty()) {
      return product;
    }
  }
  return {};
}

// How many pods share one GPU.
std::int64_t sharers(const Value& labels) {
  const auto replicas = Quantity::parse(labels[kReplicas]);
  return replicas && replicas->value() > 1 ? replicas->value() : 1;
}

class Counting {
 public:
  explicit Counting(const Settings& settings) : settings_(settings) {}

  void add(const Value& group) {
    if (settings_.node_filter == "ready" &&
        !(group["ready"].as_bool() && group["schedulable"].as_bool())) {
      return;
    }
    if (!is_countable(group["allocatable"])) {
      for (const Value& node : group["names"].items()) {
        result_.skipped.push_back(node.str());
      }
      return;
    }
    for (const Vendor& vendor : kVendors) {
      add(vendor, group);
    }
    add_slices(group);
  }

  GpuCount finish() {
    result_.gpus = counter_.list();
    std::sort(result_.skipped.begin(), result_.skipped.end());
    return std::move(result_);
  }

 private:
  static bool is_countable(const Value& allocatable) {
    return std::ranges::all_of(allocatable.members(), [&](const Member& entry) {
      return amount(allocatable, entry.key()).has_value();
    });
  }

  void add(const Vendor& vendor, const Value& group) {
    std::int64_t count = amount(group["allocatable"], vendor.resource).value_or(0);
    if (count <= 0) {
      return;
    }
    const std::int64_t nodes = group["count"].as_int(1);
    const Value& labels = group["labels"];
    const std::string_view product = product_of(vendor, labels);
    if (vendor.name == "nvidia") {
      count /= sharers(labels);
    }
    result_.unlabelled_nodes += product.empty() ? nodes : 0;
    result_.total += count * nodes;
    counter_.add(
        vendor.name, std::string(product.empty() ? vendor.name : product),
        product.empty() ? std::string(vendor.name) : short_name(vendor.name, product, settings_),
        count, nodes);
  }

  // C4: slices of several sizes on one node.
  void add_slices(const Value& group) {
    const Value& labels = group["labels"];
    const Value& allocatable = group["allocatable"];
    const std::string_view product = product_of(kVendors[0], labels);
    for (const Member& entry : allocatable.members()) {
      const std::int64_t count = amount(allocatable, entry.key()).value_or(0);
      if (!entry.key().starts_with(kMigResource) || count <= 0) {
        continue;
      }
      const std::string_view profile = entry.key().substr(kMigResource.size());
      const std::string model =
          fmt::format("{}{}{}", product.empty() ? kVendors[0].name : product, kMig, profile);
      counter_.add("nvidia", model, short_name("nvidia", model, settings_), count,
                   group["count"].as_int(1));
    }
  }

  const Settings& settings_;
  Counter counter_{};
  GpuCount result_{};
};

}  // namespace

std::string short_name(std::string_view vendor, std::string_view product,
                       const Settings& settings) {
  if (const auto own = settings.model_map.find(std::string(product));
      own != settings.model_map.end()) {
    return own->second;
  }
  if (product.ends_with(kShared)) {
    product.remove_suffix(kShared.size());
  }
  const std::size_t mig = product.rfind(kMig);
  if (mig != std::string_view::npos) {
    return base_name(vendor, std::string(product.substr(0, mig))) + "mig" +
           letters_and_digits(product.substr(mig + kMig.size()));
  }
  return base_name(vendor, std::string(product));
}

GpuCount count_gpus(const Value& nodes, const Settings& settings) {
  Counting counting(settings);
  for (const Value& group : nodes.items()) {
    counting.add(group);
  }
  return counting.finish();
}

Value gpu_nodes(const Value& nodes, const Settings& settings) {
  constexpr std::size_t kMostNodes = 64;
  std::map<std::pair<std::string, std::string>, Value> rows;  // by name and GPU
  Settings all = settings;
  all.node_filter = "all";  // each says whether it is ready
  for (const Value& group : nodes.items()) {
    // One node of the group, counted as the cluster is.
    Value one = group;
    one.set("count", 1);
    for (const api::ClusterGpu& gpu : count_gpus(Value::list({one}), all).gpus) {
      for (const Value& name : group["names"].items()) {
        rows.emplace(std::pair(name.str(), gpu.short_name),
                     Value::object({{"name", name},
                                    {"gpu", gpu.short_name},
                                    {"allocatable", gpu.count.value_or(0)},
                                    {"ready", group["ready"].as_bool()},
                                    {"schedulable", group["schedulable"].as_bool()}}));
      }
    }
  }
  Value list = Value::list();
  for (auto& [key, row] : rows) {
    if (list.size() < kMostNodes) {
      list.push_back(std::move(row));
    }
  }
  return list;
}

Amounts amounts_of(const std::vector<api::ClusterGpu>& gpus) {
  Amounts amounts;
  const auto complain = [&](std::string text) {
    amounts.ignored += (amounts.ignored.empty() ? "" : "; ") + std::move(text);
  };
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::string short_name = lower(gpus[i].short_name);
    if (short_name.empty() || !gpus[i].count) {
      complain(fmt::format("hardware.gpus[{}] has no {}", i,
                           short_name.empty() ? "shortName" : "count"));
      continue;
    }
    if (short_name != letters_and_digits(short_name) || short_name.size() > kLongestResourceName) {
      complain(fmt::format("hardware.gpus[{}]: shortName is not of a-z and 0-9", i));
      continue;
    }
    if (*gpus[i].count < 0) {
      complain(fmt::format("hardware.gpus[{}]: count is negative", i));
    }
    const std::int64_t count = std::max<std::int64_t>(*gpus[i].count, 0);
    const auto same = std::ranges::find(amounts.list, short_name, &Amount::short_name);
    if (same == amounts.list.end()) {
      amounts.list.push_back({.short_name = short_name, .count = count});
    } else {
      same->count += count;
    }
  }
  return amounts;
}

std::string summary_of(const std::vector<api::ClusterGpu>& gpus) {
  std::string summary;
  for (const Amount& amount : amounts_of(gpus).list) {
    if (amount.count == 0) {
      continue;
    }
    std::string loud = amount.short_name;
    std::transform(loud.begin(), loud.end(), loud.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    summary += fmt::format("{}{}x {}", summary.empty() ? "" : ", ", amount.count, loud);
  }
  return summary;
}

}  // namespace athanor::hearth
