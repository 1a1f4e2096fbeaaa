// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/resource_info.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/mutex.hpp"

namespace athanor::apiserver {
namespace {

// docs/spec/apiserver.md 4.1; custom groups follow in alphabetical order.
constexpr std::array<std::string_view, 20> kGroupOrder = {"apiregistration.k8s.io",
                                                          "apps",
                                                          "events.k8s.io",
                                                          "authentication.k8s.io",
                                                          "authorization.k8s.io",
                                                          "autoscaling",
                                                          "batch",
                                                          "certificates.k8s.io",
                                                          "networking.k8s.io",
                                                          "policy",
                                                          "rbac.authorization.k8s.io",
                                                          "storage.k8s.io",
                                                          "admissionregistration.k8s.io",
                                                          "apiextensions.k8s.io",
                                                          "scheduling.k8s.io",
                                                          "coordination.k8s.io",
                                                          "node.k8s.io",
                                                          "discovery.k8s.io",
                                                          "resource.k8s.io",
                                                          "flowcontrol.apiserver.k8s.io"};

std::size_t group_rank(std::string_view group) {
  if (group.empty()) {
    return 0;
  }
  const auto* found = std::find(kGroupOrder.begin(), kGroupOrder.end(), group);
  return static_cast<std::size_t>(found - kGroupOrder.begin()) + 1;
}

std::string lookup_key(std::string_view a, std::string_view b, std::string_view c) {
  std::string text;
  text.reserve(a.size() + b.size() + c.size() + 2);
  text.append(a).append("/").append(b).append("/").append(c);
  return text;
}

using Index = std::map<std::string, const ResourceInfo*, std::less<>>;

// `base` may be null.
const ResourceInfo* in(const Index* base, const Index& own, std::string_view key) {
  if (base != nullptr) {
    if (const auto found = base->find(key); found != base->end()) {
      return found->second;
    }
  }
  const auto found = own.find(key);
  return found == own.end() ? nullptr : found->second;
}

struct ParsedVersion {
  int stability = 0;  // 3 GA, 2 beta, 1 alpha, 0 not a Kubernetes version
  int major = 0;
  int minor = 0;
};

bool take_number(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

ParsedVersion parse_version(std::string_view text) {
  ParsedVersion version;
  if (!text.starts_with("v")) {
    return {};
  }
  text.remove_prefix(1);
  if (!take_number(text, version.major)) {
    return {};
  }
  if (text.empty()) {
    version.stability = 3;
    return version;
  }
  if (text.starts_with("beta")) {
    version.stability = 2;
    text.remove_prefix(4);
  } else if (text.starts_with("alpha")) {
    version.stability = 1;
    text.remove_prefix(5);
  } else {
    return {};
  }
  if (!take_number(text, version.minor) || !text.empty()) {
    return {};
  }
  return version;
}

}  // namespace

bool version_before(std::string_view a, std::string_view b) {
  const ParsedVersion left = parse_version(a);
  const ParsedVersion right = parse_version(b);
  if (left.stability != right.stability) {
    return left.stability > right.stability;
  }
  if (left.stability == 0) {
    return a < b;
  }
  if (left.major != right.major) {
    return left.major > right.major;
  }
  return left.minor > right.minor;
}

std::string ResourceInfo::api_version() const {
  return group.empty() ? version : group + "/" + version;
}

const SubresourceInfo* ResourceInfo::subresource(std::string_view name) const {
  const auto found = std::find_if(subresources.begin(), subresources.end(),
                                  [&](const SubresourceInfo& item) { return item.name == name; });
  return found == subresources.end() ? nullptr : &*found;
}

bool ResourceInfo::has_verb(std::string_view verb) const {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

ResourceTable::ResourceTable(std::vector<std::shared_ptr<const ResourceInfo>> resources)
    : all_(std::move(resources)) {
  add(all_);
}

ResourceTable::ResourceTable(std::shared_ptr<const ResourceTable> base,
                             const std::vector<std::shared_ptr<const ResourceInfo>>& added)
    : base_(std::move(base)), all_(base_->all_) {
  all_.insert(all_.end(), added.begin(), added.end());
  add(added);
}

void ResourceTable::add(std::span<const std::shared_ptr<const ResourceInfo>> resources) {
  std::map<std::string, std::vector<std::string>> versions;
  std::set<std::string, std::less<>> custom_groups;
  if (base_ != nullptr) {
    for (const GroupInfo& group : base_->groups_) {
      versions.emplace(group.name, group.versions);
    }
  }
  for (const auto& info : resources) {
    by_path_.emplace(lookup_key(info->group, info->version, info->plural), info.get());
    by_kind_.emplace(lookup_key(info->group, info->version, info->kind), info.get());
    if (info->stored && info->storage_api_version == info->api_version()) {
      by_storage_.emplace(info->storage, info.get());
    }
    std::vector<std::string>& known = versions[info->group];
    if (std::find(known.begin(), known.end(), info->version) == known.end()) {
      known.push_back(info->version);
    }
    if (info->is_custom) {
      custom_groups.insert(info->group);
    }
  }
  for (auto& [group, names] : versions) {
    if (custom_groups.contains(group)) {
      std::sort(names.begin(), names.end(), version_before);
    }
    groups_.push_back({.name = group, .versions = names});
  }
  std::sort(groups_.begin(), groups_.end(), [](const GroupInfo& a, const GroupInfo& b) {
    const std::size_t left = group_rank(a.name);
    const std::size_t right = group_rank(b.name);
    return left != right ? left < right : a.name < b.name;
  });
}

const ResourceInfo* ResourceTable::find(std::string_view group, std::string_view version,
                                        std::string_view plural) const {
  const std::string path = lookup_key(group, version, plural);
  return in(base_ == nullptr ? nullptr : &base_->by_path_, by_path_, path);
}

const ResourceInfo* ResourceTable::by_storage(std::string_view storage) const {
  return in(base_ == nullptr ? nullptr : &base_->by_storage_, by_storage_, storage);
}

const ResourceInfo* ResourceTable::by_kind(std::string_view api_version,
                                           std::string_view kind) const {
  const std::size_t slash = api_version.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  const std::string_view version =
      slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
  return in(base_ == nullptr ? nullptr : &base_->by_kind_, by_kind_,
            lookup_key(group, version, kind));
}

bool ResourceTable::has_group(std::string_view group) const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const GroupInfo& item) { return item.name == group; });
}

bool ResourceTable::has_version(std::string_view group, std::string_view version) const {
  for (const GroupInfo& item : groups_) {
    if (item.name == group) {
      return std::find(item.versions.begin(), item.versions.end(), version) != item.versions.end();
    }
  }
  return false;
}

std::vector<const ResourceInfo*> ResourceTable::resources(std::string_view group,
                                                          std::string_view version) const {
  const std::string prefix = lookup_key(group, version, {});
  std::map<std::string_view, const ResourceInfo*> found;
  for (const ResourceTable* table : {base_.get(), this}) {
    if (table == nullptr) {
      continue;
    }
    for (auto it = table->by_path_.lower_bound(prefix);
         it != table->by_path_.end() && it->first.starts_with(prefix); ++it) {
      found.emplace(it->first, it->second);
    }
  }
  std::vector<const ResourceInfo*> resources;
  resources.reserve(found.size());
  for (const auto& [path, info] : found) {
    resources.push_back(info);
  }
  return resources;
}

namespace {

// Makes the table once for all servers: a simulation starts thousands of them.
ResourceTablePtr built_in_table() {
  static const ResourceTablePtr kBuiltIn = std::make_shared<ResourceTable>(built_in_resources());
  return kBuiltIn;
}

}  // namespace

ResourceRegistry::ResourceRegistry()
    : built_in_(built_in_table()), table_(built_in_), serial_(built_in_->serial()) {}

ResourceTablePtr ResourceRegistry::table() const {
  const MutexLock lock(mutex_);
  return table_;
}

void ResourceRegistry::set_custom(const std::string& crd_name,
                                  std::vector<std::shared_ptr<const ResourceInfo>> versions) {
  const MutexLock lock(mutex_);
  if (versions.empty()) {
    if (custom_.erase(crd_name) == 0) {
      return;
    }
  } else {
    custom_[crd_name] = std::move(versions);
  }
  rebuild();
}

void ResourceRegistry::rebuild() {
  std::vector<std::shared_ptr<const ResourceInfo>> resources;
  for (const auto& [name, versions] : custom_) {
    resources.insert(resources.end(), versions.begin(), versions.end());
  }
  auto table = std::make_shared<ResourceTable>(built_in_, resources);
  table->serial_ = ++serial_;
  table_ = std::move(table);
}

}  // namespace athanor::apiserver
