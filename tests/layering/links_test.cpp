// SPDX-License-Identifier: Apache-2.0
// What a library links and does not use: the arrows of CMake that no include needs, and libraries
// of others that none of its files names.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layering/layers.hpp"
#include "layering/sources.hpp"

namespace athanor::layering::links_test {
namespace {

using Texts = std::set<std::string, std::less<>>;

// The start of the headers of each library that CMake may link.
const std::map<std::string_view, std::string_view> kHeaders{
    {"fmt::fmt", "fmt/"},
    {"PkgConfig::LZ4", "lz4"},
    {"PkgConfig::YAML", "yaml.h"},
    {"PkgConfig::RE2", "re2/"},
    {"ZLIB::ZLIB", "zlib.h"},
    {"Boost::headers", "boost/"},
    {"OpenSSL::SSL", "openssl/"},
    {"PkgConfig::NGHTTP2", "nghttp2/"},
    {"PkgConfig::SODIUM", "sodium"},
    {"CURL::libcurl", "curl/"},
    {"prometheus-cpp::core", "prometheus/"},
    {"SQLite::SQLite3", "sqlite3.h"},
    {"PkgConfig::PQ", "libpq-fe.h"},
    {"PkgConfig::ZSTD", "zstd.h"},
    {"PkgConfig::GRPCPP", "grpc"},
    {"Threads::Threads", "mutex"},
    {"dl", "dlfcn.h"},
};

// What the files of one layer include.
struct Used {
  Texts layers{};
  Texts headers{};  // between angle brackets
};

std::map<std::string, Used, std::less<>> read_uses() {
  std::map<std::string, Used, std::less<>> uses;
  for (const Source& source : read_sources("src")) {
    const std::string layer(layer_of(std::string_view(source.path).substr(4)));
    for (const Include& include : source.includes) {
      if (include.angled) {
        uses[layer].headers.insert(include.target);
      } else {
        uses[layer].layers.insert(std::string(layer_of(include.target)));
      }
    }
  }
  return uses;
}

// The layers that `direct` brings, itself among them.
Texts brought_by(std::string_view direct) {
  Texts all;
  if (const auto found = layers().find(direct); found != layers().end()) {
    all = found->second.visible;
    all.emplace(direct);
  }
  return all;
}

// Returns true if a file includes `direct` or what no other arrow of the layer brings.
bool is_needed(const Layer& layer, std::string_view direct, const Texts& included) {
  if (included.contains(direct)) {
    return true;
  }
  Texts others;
  for (const std::string& other : layer.direct) {
    if (other != direct) {
      others.merge(brought_by(other));
    }
  }
  return std::ranges::any_of(brought_by(direct), [&](const std::string& one) {
    return included.contains(one) && !others.contains(one);
  });
}

TEST(Links, EveryArrowIsNeeded) {
  const auto uses = read_uses();
  for (const auto& [name, layer] : layers()) {
    const auto used = uses.find(name);
    ASSERT_NE(used, uses.end()) << name;
    for (const std::string& direct : layer.direct) {
      EXPECT_TRUE(is_needed(layer, direct, used->second.layers))
          << name << " links " << direct << " and includes nothing of it";
    }
  }
}

TEST(Links, EveryLibraryOfOthersIsNeeded) {
  const auto uses = read_uses();
  std::size_t seen = 0;
  for (const auto& [name, layer] : layers()) {
    for (const std::string& library : layer.libraries) {
      const auto header = kHeaders.find(library);
      ASSERT_NE(header, kHeaders.end()) << name << " links " << library << ", unknown here";
      const Texts& included = uses.find(name)->second.headers;
      EXPECT_TRUE(std::ranges::any_of(
          included, [&](const std::string& one) { return one.starts_with(header->second); }))
          << name << " links " << library << " and includes nothing of it";
      ++seen;
    }
  }
  EXPECT_GT(seen, 40U) << "the libraries were not recorded";
}

TEST(Links, FindArrowWithoutInclude) {
  const Layer layer{.direct = {"store", "kube"}};
  EXPECT_FALSE(is_needed(layer, "store", {"kube", "base"})) << "kube brings both";
  EXPECT_TRUE(is_needed(layer, "kube", {"kube", "base"}));
  EXPECT_TRUE(is_needed(layer, "store", {"store"}));
}

}  // namespace
}  // namespace athanor::layering::links_test
