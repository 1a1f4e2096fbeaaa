// SPDX-License-Identifier: Apache-2.0
#include "layering/layers.hpp"

#include <fstream>
#include <sstream>

namespace athanor::layering {
namespace {

using Layers = std::map<std::string, Layer, std::less<>>;
constexpr std::string_view kPrefix = "athanor_";

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string word; in >> word;) {
    found.push_back(word);
  }
  return found;
}

void add_visible(const Layers& all, const std::string& name,
                 std::set<std::string, std::less<>>& to) {
  const auto it = all.find(name);
  if (it == all.end() || !to.insert(name).second) {
    return;
  }
  for (const std::string& dependency : it->second.direct) {
    add_visible(all, dependency, to);
  }
}

// One line is "athanor_NAME|folder folder|athanor_DEP Library::other".
Layers read() {
  Layers all;
  std::ifstream in(ATHANOR_LAYERS);
  for (std::string line; std::getline(in, line);) {
    std::istringstream parts(line);
    std::string name;
    std::string folders;
    std::string dependencies;
    std::getline(parts, name, '|');
    std::getline(parts, folders, '|');
    std::getline(parts, dependencies);
    Layer layer{.folders = words(folders)};
    for (const std::string& dependency : words(dependencies)) {
      if (dependency.starts_with(kPrefix)) {
        layer.direct.insert(dependency.substr(kPrefix.size()));
      } else {
        layer.libraries.push_back(dependency);
      }
    }
    all.emplace(name.substr(kPrefix.size()), std::move(layer));
  }
  for (auto& [name, layer] : all) {
    for (const std::string& dependency : layer.direct) {
      add_visible(all, dependency, layer.visible);
    }
  }
  return all;
}

}  // namespace

const Layers& layers() {
  static const Layers all = read();
  return all;
}

std::string_view layer_of(std::string_view path) {
  std::string_view best;
  std::size_t longest = 0;
  for (const auto& [name, layer] : layers()) {
    for (const std::string& folder : layer.folders) {
      if (folder.size() > longest && path.starts_with(folder) && path.size() > folder.size() &&
          path[folder.size()] == '/') {
        best = name;
        longest = folder.size();
      }
    }
  }
  return best;
}

}  // namespace athanor::layering
