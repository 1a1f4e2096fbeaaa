// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/read/document_cache.hpp"

#include <algorithm>
#include <cctype>

#include "base/digest.hpp"
#include "base/mutex.hpp"

namespace athanor::apiserver {

std::shared_ptr<const CachedDocument> DocumentCache::get(const std::string& name,
                                                         const Resources& resources,
                                                         const std::function<std::string()>& make) {
  const MutexLock lock(mutex_);
  Entry& entry = documents_[name];
  if (entry.document != nullptr && entry.resources == resources) {
    return entry.document;
  }
  auto document = std::make_shared<CachedDocument>();
  document->text = make();
  document->hash = sha256_hex(document->text);
  std::transform(document->hash.begin(), document->hash.end(), document->hash.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  entry.resources = resources;
  entry.document = document;
  return document;
}

}  // namespace athanor::apiserver
