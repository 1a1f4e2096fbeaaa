// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/pods/volume_warnings.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/pods/pair_budget.hpp"
#include "kube/text/quantity.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

struct GoneVolume {
  std::string_view field{};
  std::string_view label{};  // as the warning calls it
  std::string_view text{};
};

constexpr GoneVolume kGone[] = {
    {"photonPersistentDisk", "photonPersistentDisk",
     "deprecated in v1.11, non-functional in v1.16+"},
    {"gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
    {"scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    {"flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"},
    {"storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
    {"quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    {"glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    {"cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    {"rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"},
};

// A file of a volume and what puts it there.
struct File {
  std::string path{};
  std::string source{};  // empty: the volume itself

  [[nodiscard]] std::string text() const {
    return source.empty() ? go_quote(path) : fmt::format("{} ({})", go_quote(path), source);
  }
};

// Returns true if `path` is `folder` or below it.
bool lies_in(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool overlap(std::string_view one, std::string_view other) {
  return !one.empty() && !other.empty() && (lies_in(one, other) || lies_in(other, one));
}

std::vector<File> files_of(const Value& items, const std::string& source) {
  std::vector<File> files;
  for (const Value& item : items.items()) {
    files.push_back({.path = item["path"].str(), .source = source});
  }
  return files;
}

void add_file(std::vector<File>& files, File file, std::string_view volume, const std::string& kind,
              PairBudget& budget, std::vector<std::string>& warnings) {
  while (file.path.ends_with('/')) {
    file.path.pop_back();
  }
  for (const File& other : files) {
    if (!budget.take()) {
      return;
    }
    if (overlap(file.path, other.path)) {
      warnings.push_back(fmt::format("volume {} ({}): overlapping paths: {} with {}",
                                     go_quote(volume), kind, file.text(), other.text()));
    }
  }
  files.push_back(std::move(file));
}

std::vector<File> projected_files(const Value& source) {
  if (source["configMap"]["items"].is_list()) {
    return files_of(source["configMap"]["items"],
                    fmt::format("ConfigMap {}", go_quote(source["configMap"]["name"].as_string())));
  }
  if (source["secret"]["items"].is_list()) {
    return files_of(source["secret"]["items"],
                    fmt::format("Secret {}", go_quote(source["secret"]["name"].as_string())));
  }
  if (source["downwardAPI"]["items"].is_list()) {
    return files_of(source["downwardAPI"]["items"], "DownwardAPI");
  }
  if (source["serviceAccountToken"].is_object()) {
    return {{.path = source["serviceAccountToken"]["path"].str(), .source = "ServiceAccountToken"}};
  }
  return {};
}

bool is_without_source(const Value& projection) {
  for (const Member& source : projection.members()) {
    if (!source.value.is_null()) {
      return false;
    }
  }
  return true;
}

void warn_of_files(const Value& volume, PairBudget& budget, std::vector<std::string>& warnings) {
  const std::string_view name = volume["name"].as_string();
  const auto warn_of_items = [&](const Value& source, const std::string& kind) {
    std::vector<File> files;
    for (File& file : files_of(source["items"], "")) {
      add_file(files, std::move(file), name, kind, budget, warnings);
    }
  };
  if (const Value& config = volume["configMap"]; config.is_object()) {
    warn_of_items(config, fmt::format("ConfigMap {}", go_quote(config["name"].as_string())));
  }
  if (const Value& secret = volume["secret"]; secret.is_object()) {
    warn_of_items(secret, fmt::format("Secret {}", go_quote(secret["secretName"].as_string())));
  }
  if (volume["downwardAPI"].is_object()) {
    warn_of_items(volume["downwardAPI"], "DownwardAPI");
  }
  std::vector<File> files;
  for (const Value& source : volume["projected"]["sources"].items()) {
    if (is_without_source(source)) {
      warnings.push_back(
          fmt::format("volume {} (Projected) has no sources provided", go_quote(name)));
      continue;
    }
    for (File& file : projected_files(source)) {
      add_file(files, std::move(file), name, "Projected", budget, warnings);
    }
  }
}

}  // namespace

void warn_of_volumes(const Value& volumes, const std::string& path,
                     std::vector<std::string>& warnings) {
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const std::string here = at(path + ".volumes", i);
    for (const GoneVolume& gone : kGone) {
      if (volumes[i][gone.field].is_object()) {
        warnings.push_back(fmt::format("{}.{}: {}", here, gone.label, gone.text));
      }
    }
    if (const Value& claim = volumes[i]["ephemeral"]["volumeClaimTemplate"]; claim.is_object()) {
      warn_of_claim(claim["spec"], here + ".ephemeral.volumeClaimTemplate.spec", warnings);
    }
  }
  PairBudget budget(warnings);
  for (const Value& volume : volumes.items()) {
    warn_of_files(volume, budget, warnings);
  }
}

void warn_of_claim(const Value& claim_spec, const std::string& path,
                   std::vector<std::string>& warnings) {
  for (const std::string_view list : {"requests", "limits"}) {
    const Value& storage = claim_spec["resources"][list]["storage"];
    const auto amount = Quantity::parse(storage);
    if (!storage.is_null() && amount && amount->milli_value() % 1000 != 0) {
      warnings.push_back(fmt::format(
          "{}.resources.{}[storage]: fractional byte value {} is invalid, must be an integer", path,
          list, go_quote(amount->text())));
    }
  }
}

}  // namespace athanor::apiserver
