// SPDX-License-Identifier: Apache-2.0
// Files of emulated nodes: written as a whole, below the folder of the node alone.
#include "embedded/lab/node_files.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>

#include "embedded/lab/background_queue.hpp"
#include "runtime/view/node_hooks.hpp"

namespace athanor::lab::node_files_test {
namespace {

namespace fs = std::filesystem;

// Carries out one act and waits for its answer.
Result<Value> act(runtime::Executors& executors, std::string_view verb, Value args) {
  std::promise<Result<Value>> answer;
  (*executors.act(verb))("id", args,
                         [&](Result<Value> result) { answer.set_value(std::move(result)); });
  return answer.get_future().get();
}

class NodeFiles : public ::testing::Test {
 protected:
  NodeFiles() {
    std::string name = testing::TempDir() + "athanor-node-files-XXXXXX";
    folder = ::mkdtemp(name.data());
    add_node_files(executors, background, folder.string());
  }
  ~NodeFiles() override { fs::remove_all(folder); }
  static Value args(const char* node, const char* path) {
    return Value::object({{"node", node}, {"path", path}, {"content", "text"}});
  }

  fs::path folder{};
  BackgroundQueue background{};
  runtime::Executors executors{};
};

TEST_F(NodeFiles, WritesAndRemovesBelowTheNode) {
  const Value file = args("n1", "/var/run/cdi/a.json");
  ASSERT_TRUE(act(executors, kWriteNodeFile, file).ok());
  std::ifstream stream(folder / "n1/var/run/cdi/a.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "text");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "n1/var/run/cdi"), {}), 1);
  ASSERT_TRUE(act(executors, kRemoveNodeFile, file).ok());
  EXPECT_FALSE(fs::exists(folder / "n1/var/run/cdi/a.json"));
  EXPECT_TRUE(act(executors, kRemoveNodeFile, file).ok()) << "gone already";
}

TEST_F(NodeFiles, RefusesPathsOutsideTheNode) {
  for (const auto& [node, path] :
       {std::pair{"n1", "/../x"}, {"n1", "x"}, {"..", "/x"}, {"a/b", "/x"}, {"", "/x"}}) {
    const auto result = act(executors, kWriteNodeFile, args(node, path));
    if (std::string_view(path) != "/../x") {  // normalised to /x, which is below the node
      EXPECT_FALSE(result.ok()) << node << path;
    }
  }
  EXPECT_FALSE(fs::exists(folder.parent_path() / "x"));
}

}  // namespace
}  // namespace athanor::lab::node_files_test
