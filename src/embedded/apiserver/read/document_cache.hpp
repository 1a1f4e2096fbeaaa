// SPDX-License-Identifier: Apache-2.0
// Documents that follow from the served resources alone (discovery, OpenAPI): built on first use,
// built again when one of the resources that they describe changed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "embedded/kinds/resource_info.hpp"

namespace athanor::apiserver {

// A document's JSON, and the hash that clients cache it by.
struct CachedDocument {
  std::string text{};
  std::string hash{};  // SHA-256 of the text, upper-case hex
};

// Thread-safe.
class DocumentCache {
 public:
  using Resources = std::vector<std::shared_ptr<const ResourceInfo>>;

  // Returns the document of that name about these resources; `make` builds a missing one.
  std::shared_ptr<const CachedDocument> get(const std::string& name, const Resources& resources,
                                            const std::function<std::string()>& make);

 private:
  struct Entry {
    Resources resources{};
    std::shared_ptr<const CachedDocument> document{};
  };
  Mutex mutex_{};
  std::map<std::string, Entry, std::less<>> documents_ ATHANOR_GUARDED_BY(mutex_){};
};

}  // namespace athanor::apiserver
