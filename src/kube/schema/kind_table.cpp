// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/kind_table.hpp"

#include <map>
#include <string>
#include <tuple>

#include "base/mutex.hpp"

namespace athanor {
namespace {

using Names = std::tuple<std::string, std::string, std::string, std::string, bool>;

}  // namespace

const Kind& kind_named(std::string_view group, std::string_view version, std::string_view name,
                       std::string_view plural, bool namespaced) {
  static Mutex mutex;
  static std::map<Names, Kind> kinds;
  const MutexLock lock(mutex);
  const auto [at, fresh] = kinds.try_emplace(Names{group, version, name, plural, namespaced});
  if (fresh) {
    const auto& [own_group, own_version, own_name, own_plural, own_scope] = at->first;
    at->second = Kind{own_group, own_version, own_name, own_plural, own_scope};
  }
  return at->second;
}

}  // namespace athanor
