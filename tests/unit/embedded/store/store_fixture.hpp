// SPDX-License-Identifier: Apache-2.0
// Short ways to write to a store in tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "embedded/store/store.hpp"

namespace athanor::store {

inline constexpr Instant kStart{};

inline Value config_map(const Key& key, std::string_view data) {
  return Value::object({{"kind", "ConfigMap"},
                        {"metadata", Value::object({{"namespace", key.ns}, {"name", key.name}})},
                        {"data", data}});
}

inline Write put(const Key& key, std::string_view data, std::optional<Revision> expected = {}) {
  return {
      .resource = "configmaps", .key = key, .body = config_map(key, data), .expected = expected};
}

inline Write remove(const Key& key, std::optional<Revision> expected = {}) {
  return {.resource = "configmaps", .key = key, .body = std::nullopt, .expected = expected};
}

inline Result<std::vector<StoredPtr>> commit(Store& store, std::vector<Write> writes,
                                             Instant now = kStart) {
  return store.commit(writes, now);
}

inline std::unique_ptr<Store> open_store(std::unique_ptr<Journal> journal = memory_journal(),
                                         const Options& options = {}) {
  auto store = Store::open(std::move(journal), options);
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
  return store.ok() ? *std::move(store) : nullptr;
}

// A directory that goes away with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = ::testing::TempDir() + "athanor-store-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_{};
};

}  // namespace athanor::store
