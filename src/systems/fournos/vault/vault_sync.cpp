// SPDX-License-Identifier: Apache-2.0
#include "systems/fournos/vault/vault_sync.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "systems/fournos/messages.hpp"

namespace athanor::fournos {
namespace {

constexpr std::string_view kManager = "fournos-vault-sync";
constexpr std::string_view kAddress = "fournos.dev/vault-addr";
constexpr std::string_view kPath = "fournos.dev/vault-path";
constexpr std::string_view kSkip = "fournos_skip_sync";
constexpr std::string_view kBookkeeping = "secretsync/";
constexpr std::size_t kLongestName = 253;

bool is_small(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_entry_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && is_small(name.front()) &&
         is_small(name.back()) &&
         std::ranges::all_of(name, [](char c) { return is_small(c) || c == '-'; });
}

bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= kLongestName && std::ranges::all_of(key, [](char c) {
    return is_small(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
  });
}

std::string secret_name(const VaultPlace& place, std::string_view entry) {
  constexpr std::string_view kHole = "{entry}";
  std::string name = place.pattern;
  if (const std::size_t at = name.find(kHole); at != std::string::npos) {
    name.replace(at, kHole.size(), entry);
  }
  return name;
}

class Planner {
 public:
  Planner(const std::vector<Object>& existing, const VaultPlace& place)
      : existing_(existing), place_(place) {}

  VaultPlan plan(const std::vector<VaultEntry>& entries) {
    for (const VaultEntry& entry : entries) {
      if (!entry.name.ends_with('/')) {
        take(entry);
      }
    }
    for (const Object& secret : existing_) {
      if (is_vault_synced(secret) && !kept_.contains(std::string(secret.name()))) {
        plan_.deletes.emplace_back(secret.name());
      }
    }
    return std::move(plan_);
  }

 private:
  void take(const VaultEntry& entry) {
    const std::string name = secret_name(place_, entry.name);
    if (!is_entry_name(entry.name) || name.size() > kLongestName) {
      plan_.errors.push_back(
          fmt::format("entry \"{}\" cannot be the name of a Secret: it must be lower-case letters, "
                      "digits and dashes",
                      entry.name));
      return;
    }
    if (entry.problem) {
      kept_.insert(name);
      plan_.errors.push_back(fmt::format("entry {}: {}", entry.name, *entry.problem));
      return;
    }
    if (entry.data.contains(std::string(kSkip))) {
      kept_.insert(name);
      plan_.notes.push_back(fmt::format("entry {}: skipped, it has key {}", entry.name, kSkip));
      return;
    }
    bool refused = false;
    Value data = data_of(entry, refused);
    if (!data.empty()) {
      kept_.insert(name);
      plan_.writes.push_back(secret_of(name, entry.name, std::move(data)));
    } else if (refused) {
      kept_.insert(name);  // it has keys; none can be written
    } else {
      plan_.notes.push_back(fmt::format("entry {}: skipped, it is empty", entry.name));
    }
  }

  Value data_of(const VaultEntry& entry, bool& refused) {
    Value data = Value::object();
    for (const auto& [key, value] : entry.data) {
      if (key.starts_with(kBookkeeping)) {
        continue;
      }
      if (!is_key(key)) {
        refused = true;
        plan_.errors.push_back(
            fmt::format("entry {}: key \"{}\" cannot be a key of a Secret", entry.name, key));
        continue;
      }
      data.set(key, base64_encode(value));
    }
    return data;
  }

  [[nodiscard]] Value secret_of(const std::string& name, const std::string& entry,
                                Value data) const {
    Value metadata = Value::object({{"name", name}, {"namespace", place_.ns}});
    const auto known = std::ranges::find(existing_, name, &Object::name);
    if (known != existing_.end()) {
      for (const std::string_view kept : {"labels", "annotations", "resourceVersion", "uid"}) {
        if (const Value* value = known->metadata().find(kept)) {
          metadata.set(kept, *value);
        }
      }
    }
    metadata.set_path({"labels", name::kManagedBy}, kManager);
    metadata.set_path({"labels", name::kVaultEntry}, "true");
    metadata.set_path({"annotations", kAddress}, place_.address);
    metadata.set_path({"annotations", kPath}, fmt::format("{}/{}", place_.path, entry));
    return Value::object({{"apiVersion", "v1"},
                          {"kind", "Secret"},
                          {"metadata", std::move(metadata)},
                          {"type", "Opaque"},
                          {"data", std::move(data)}});
  }

  const std::vector<Object>& existing_;
  const VaultPlace& place_;
  VaultPlan plan_{};
  std::set<std::string> kept_{};  // names that are not deleted in this run
};

}  // namespace

bool is_vault_synced(const Object& secret) {
  return secret.label(name::kManagedBy) == kManager && secret.label(name::kVaultEntry) == "true";
}

VaultPlan plan_vault_sync(const std::vector<VaultEntry>& entries,
                          const std::vector<Object>& existing, const VaultPlace& place) {
  return Planner(existing, place).plan(entries);
}

}  // namespace athanor::fournos
