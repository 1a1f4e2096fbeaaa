// SPDX-License-Identifier: Apache-2.0
// Registers one test case for every scenario file: <folder>.<file without .yaml>.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"
#include "support/source_dir/source_dir.hpp"

namespace athanor::test {
namespace {

class ScenarioTest : public ::testing::Test {
 public:
  explicit ScenarioTest(std::string path) : path_(std::move(path)) {}
  void TestBody() override {
    play_scenario(path_);
  }  // NOLINT(readability-identifier-naming): GoogleTest's

 private:
  std::string path_;
};

void register_scenarios(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    const std::string suite = file.parent_path().lexically_relative(folder).string();
    const std::string name = file.stem().string();
    const std::string path = file.string();
    ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, path.c_str(), 1,
                            [path]() -> ::testing::Test* { return new ScenarioTest(path); });
  }
}

}  // namespace
}  // namespace athanor::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  athanor::test::register_scenarios(std::filesystem::path(athanor::test::source_dir()) /
                                    "tests/scenarios");
  return RUN_ALL_TESTS();
}
