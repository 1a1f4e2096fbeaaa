// SPDX-License-Identifier: Apache-2.0
// Circles of units: a unit is a header with its source file. Units that include one another in a
// circle can only be read together, so a circle has at most kLargestCircle of them.
// Folders have at most kLargestFolder files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layering/layers.hpp"
#include "layering/sources.hpp"
#include "support/source_dir/source_dir.hpp"

namespace athanor::layering {
namespace {

constexpr std::size_t kLargestCircle = 10;
constexpr std::size_t kLargestFolder = 40;

using Graph = std::map<std::string, std::set<std::string>>;

std::string unit_of(std::string_view path) {
  return std::string(path.substr(0, path.rfind('.')));
}

// The strongly connected components of more than one unit, after Tarjan.
class Circles {
 public:
  explicit Circles(const Graph& graph) : graph_(graph) {
    for (const auto& [unit, seen] : graph) {
      if (!index_.contains(unit)) {
        visit(unit);
      }
    }
  }

  [[nodiscard]] const std::vector<std::vector<std::string>>& found() const { return found_; }

 private:
  void visit(const std::string& unit) {
    index_[unit] = low_[unit] = index_.size();
    path_.push_back(unit);
    on_path_.insert(unit);
    const auto edges = graph_.find(unit);
    if (edges != graph_.end()) {
      for (const std::string& next : edges->second) {
        if (!index_.contains(next)) {
          visit(next);
          low_[unit] = std::min(low_[unit], low_[next]);
        } else if (on_path_.contains(next)) {
          low_[unit] = std::min(low_[unit], index_[next]);
        }
      }
    }
    if (low_[unit] == index_[unit]) {
      close(unit);
    }
  }

  void close(const std::string& unit) {
    std::vector<std::string> circle;
    do {
      circle.push_back(path_.back());
      on_path_.erase(path_.back());
      path_.pop_back();
    } while (circle.back() != unit);
    if (circle.size() > 1) {
      found_.push_back(std::move(circle));
    }
  }

  const Graph& graph_;
  std::map<std::string, std::size_t> index_{};
  std::map<std::string, std::size_t> low_{};
  std::vector<std::string> path_{};
  std::set<std::string> on_path_{};
  std::vector<std::vector<std::string>> found_{};
};

Graph graph_of_layer(std::string_view layer) {
  static const std::vector<Source> sources = read_sources("src");
  Graph graph;
  for (const Source& source : sources) {
    const std::string path = source.path.substr(std::string_view("src/").size());
    if (layer_of(path) != layer) {
      continue;
    }
    std::set<std::string>& seen = graph[unit_of(path)];
    for (const Include& include : source.includes) {
      if (!include.angled && layer_of(include.target) == layer &&
          unit_of(include.target) != unit_of(path)) {
        seen.insert(unit_of(include.target));
      }
    }
  }
  return graph;
}

TEST(Circles, AreSmallInEveryLayer) {
  for (const auto& [name, layer] : layers()) {
    const Graph graph = graph_of_layer(name);
    const Circles circles(graph);
    for (const std::vector<std::string>& circle : circles.found()) {
      std::string text;
      for (const std::string& unit : circle) {
        text += " " + unit;
      }
      EXPECT_LE(circle.size(), kLargestCircle) << name << ":" << text;
    }
  }
}

TEST(Circles, AreFound) {
  const Graph graph{{"a", {"b"}}, {"b", {"c"}}, {"c", {"a", "d"}}, {"d", {}}};
  const Circles circles(graph);
  ASSERT_EQ(circles.found().size(), 1U);
  EXPECT_EQ(circles.found().front().size(), 3U);
}

// Files of every kind count: tests are Python, shell and data as well.
TEST(Folders, AreSmall) {
  namespace fs = std::filesystem;
  const fs::path root = athanor::test::source_dir();
  std::map<std::string, std::size_t> files;
  for (const std::string_view top : {"src", "tests", "bench", "scripts", "docs"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (entry.is_regular_file() && entry.path().extension() != ".pyc") {
        ++files[fs::relative(entry.path().parent_path(), root).generic_string()];
      }
    }
  }
  EXPECT_GT(files.size(), 100U);
  for (const auto& [folder, count] : files) {
    EXPECT_LE(count, kLargestFolder) << folder;
  }
}

}  // namespace
}  // namespace athanor::layering
