// SPDX-License-Identifier: Apache-2.0
// Namespaces follow folders: the files of a room declare their names in athanor::ROOM, ROOM being
// the room's own name (src/systems/das: athanor::das). CONTRIBUTING.md lists the rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layering/declarations.hpp"
#include "layering/sources.hpp"

namespace athanor::layering::namespaces_test {
namespace {

struct Rule {
  std::string_view folder;  // below src/, or a header with its source; the longest one counts
  std::string_view space;
};
// The rooms; a folder that no row names fails the test. Vocabulary that every room uses is in
// athanor itself.
constexpr Rule kRules[] = {
    {"agent", "athanor::agent"},
    {"api", "athanor::api"},
    {"api/scheduler_configuration.", "athanor"},  // takes only types of athanor
    {"base", "athanor"},
    {"cel", "athanor::cel"},
    {"cli", "athanor::cli"},
    {"client", "athanor::client"},
    {"cluster", "athanor::cluster"},
    {"console", "athanor::console"},
    {"embedded/apiserver", "athanor::apiserver"},
    {"embedded/bridge", "athanor::bridge"},
    {"embedded/devices", "athanor::devices"},
    {"embedded/kinds", "athanor::apiserver"},  // what the API server knows of each kind
    {"embedded/kueue", "athanor::kueue"},
    {"embedded/lab", "athanor::lab"},
    {"embedded/nodes", "athanor::nodes"},
    {"embedded/scheduler", "athanor::scheduler"},
    {"embedded/store", "athanor::store"},
    {"embedded/targets", "athanor::targets"},
    {"embedded/tekton", "athanor::tekton"},
    {"embedded/transport", "athanor::transport"},
    {"embedded/workloads", "athanor::workloads"},
    {"embedded/wrapped", "athanor::wrapped"},
    {"exporter", "athanor::exporter"},
    {"extender", "athanor::extender"},
    {"kube", "athanor"},
    {"flags", "athanor::flags"},
    {"net", "athanor::net"},
    {"product", "athanor"},
    {"runtime", "athanor::runtime"},
    {"runtime/metrics", "athanor"},
    {"runtime/view", "athanor"},
    {"runtime/rights", "athanor"},
    {"simulation", "athanor::sim"},
    {"simulation/whatif", "athanor::whatif"},
    {"systems/appwrapper", "athanor::appwrapper"},
    {"systems/das", "athanor::das"},
    {"systems/fournos", "athanor::fournos"},
    {"systems/fournos/kinds", "athanor::api"},  // read by other systems, too
    {"systems/hearth", "athanor::hearth"},
    {"systems/hearth/kinds", "athanor::api"},
    {"systems/numa", "athanor::numa"},
    {"views", "athanor::views"},
    {"webhook", "athanor::webhook"},
};

// Descriptions of kinds are specialized there, in any room.
constexpr std::string_view kKinds = "athanor::api";

// Returns the row of a path below src/, or nullptr.
const Rule* rule_of(std::string_view path) {
  const Rule* best = nullptr;
  for (const Rule& rule : kRules) {
    const bool inside =
        path.starts_with(rule.folder) &&
        (rule.folder.ends_with('.') || path.substr(rule.folder.size()).starts_with('/'));
    if (inside && (best == nullptr || rule.folder.size() > best->folder.size())) {
      best = &rule;
    }
  }
  return best;
}

// Returns what is wrong with the namespaces of `source`; empty: nothing.
std::string wrong_namespace(const Source& source) {
  const Rule* const rule = rule_of(std::string_view(source.path).substr(4));
  if (rule == nullptr) {
    return source.path + " is in no room of the table";
  }
  const std::vector<Declaration> declarations = declarations_of(source.code);
  const auto fits = [rule](const Declaration& declaration) {
    const std::string_view space = declaration.space;
    return space == rule->space || space == kKinds ||
           (space.starts_with(rule->space) && space.substr(rule->space.size()).starts_with("::"));
  };
  if (source.path.ends_with("/main.cpp") || declarations.empty() ||
      std::any_of(declarations.begin(), declarations.end(), fits)) {
    return {};
  }
  return source.path + " declares nothing in " + std::string(rule->space) + " but in " +
         declarations.front().space;
}

TEST(Namespaces, FollowRooms) {
  std::set<const Rule*> needed;
  std::string wrong;
  for (const Source& source : read_sources("src")) {
    const std::string text = wrong_namespace(source);
    wrong += text.empty() ? "" : "\n  " + text;
    needed.insert(rule_of(std::string_view(source.path).substr(4)));
  }
  EXPECT_TRUE(wrong.empty()) << wrong;
  for (const Rule& rule : kRules) {
    EXPECT_TRUE(needed.contains(&rule)) << rule.folder << " has no files";
  }
}

TEST(Namespaces, FindForeignNamespace) {
  Source source{.path = "src/net/serving/x.hpp"};
  source.code = "namespace athanor::transport { class Loop; }";
  EXPECT_NE(wrong_namespace(source), "");
  source.code += "namespace athanor::net { class Server; }";
  EXPECT_EQ(wrong_namespace(source), "");
  source.path = "src/elsewhere/x.hpp";
  EXPECT_NE(wrong_namespace(source), "");
}

}  // namespace
}  // namespace athanor::layering::namespaces_test
