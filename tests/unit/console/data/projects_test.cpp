// SPDX-License-Identifier: Apache-2.0
// Projects of the submit form (docs/spec/dashboard.md A8).
#include "console/data/projects.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "kube/text/json.hpp"

namespace athanor::console::projects_test {
namespace {

namespace fs = std::filesystem;

// A folder of this test, removed at its end.
struct Folder {
  fs::path path = fs::path(testing::TempDir()) /
                  (std::string("console-projects-") +
                   testing::UnitTest::GetInstance()->current_test_info()->name());
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((path / file).parent_path());
    std::ofstream(path / file) << text;
  }
};

TEST(Projects, SkipEntriesWithoutName) {
  const auto projects = parse_projects(
      "{projects: [{name: llm, cluster: c1, presets: [a, b], config_keys: [x.y], has_cli: true}, "
      "text, {cluster: c2}, {name: bare}]}");
  ASSERT_EQ(projects.size(), 2U);
  EXPECT_EQ(json::print(to_value(projects[0])),
            R"({"name":"llm","cluster":"c1","presets":["a","b"],"configKeys":["x.y"]})");
  EXPECT_EQ(projects[1].name, "bare");
}

TEST(Projects, AreNoneWithoutReadableFile) {
  EXPECT_TRUE(parse_projects("{projects: [").empty());
  EXPECT_TRUE(parse_projects("").empty());
  EXPECT_TRUE(read_projects({.projects_file = "/no/such/file"}).empty());
}

TEST(Projects, FollowChangesOfTheFile) {
  const Folder folder;
  const Settings settings{.projects_file = (folder.path / "projects.yaml").string()};
  folder.write("projects.yaml", "{projects: [{name: one}]}");
  EXPECT_EQ(read_projects(settings).front().name, "one");
  folder.write("projects.yaml", "{projects: [{name: two}]}");
  EXPECT_EQ(read_projects(settings).front().name, "two");
}

TEST(Projects, AreThoseOfRepositories) {
  const Folder folder;
  folder.write("projects/llm/orchestration/presets.d/b.yaml", "{fast: {}, slow: {}}");
  folder.write("projects/llm/orchestration/presets.d/a.yaml", "{slow: {}, deep: {}}");
  folder.write("projects/llm/orchestration/presets.d/notes.txt", "{no: {}}");
  folder.write("projects/core/orchestration/x.py", "");
  folder.write("projects/.hidden/orchestration/x.py", "");
  folder.write("projects/library/readme.md", "");
  folder.write("file.yaml", "{projects: [{name: file}]}");
  const auto projects = read_projects(
      {.projects_file = (folder.path / "file.yaml").string(), .forge_repo = folder.path.string()});
  ASSERT_EQ(projects.size(), 1U);
  EXPECT_EQ(projects[0].name, "llm");
  EXPECT_EQ(projects[0].presets, (std::vector<std::string>{"deep", "fast", "slow"}));
  const auto of_file = read_projects({.projects_file = (folder.path / "file.yaml").string(),
                                      .forge_repo = (folder.path / "empty").string()});
  EXPECT_EQ(of_file.front().name, "file");
}

}  // namespace
}  // namespace athanor::console::projects_test
