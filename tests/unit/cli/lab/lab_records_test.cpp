// SPDX-License-Identifier: Apache-2.0
// Labs of a user: records, choice by name, and contexts in a kubeconfig.
#include "cli/lab/lab_records.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kube/text/yaml.hpp"

namespace athanor::cli::lab_records_test {
namespace {

class LabRecordsTest : public ::testing::Test {
 protected:
  LabRecordsTest() {
    std::string name = ::testing::TempDir() + "athanor-labs-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~LabRecordsTest() override { std::filesystem::remove_all(folder_); }
  LabRecordsTest(const LabRecordsTest&) = delete;
  LabRecordsTest& operator=(const LabRecordsTest&) = delete;

  std::string lab(const std::string& path) {
    const std::string data = folder_ + "/" + path;
    std::filesystem::create_directories(data);
    std::ofstream(data + "/lock") << "4711\n";
    EXPECT_TRUE(record_lab(records(), {.data = data, .kubeconfig = data + "/k"}).ok());
    return data;
  }
  [[nodiscard]] std::string records() const { return folder_ + "/records"; }

 private:
  std::string folder_;
};

TEST_F(LabRecordsTest, ListsLabsWhoseFoldersExist) {
  lab("a/lab");
  const std::string second = lab("b/lab");
  const std::string gone = lab("gone");
  std::filesystem::remove_all(gone);
  const std::vector<LabRecord> labs = read_lab_records(records());
  ASSERT_EQ(labs.size(), 2U);
  EXPECT_EQ(labs[0].name, "lab");
  EXPECT_EQ(labs[1].name, "lab-2");
  EXPECT_EQ(labs[0].pid, 0);
  const auto chosen = choose_labs(labs, {second});
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen->front().name, "lab-2");
  EXPECT_FALSE(choose_labs(labs, {"lap"}).ok());
  forget_lab(records(), second);
  EXPECT_EQ(read_lab_records(records()).size(), 1U);
}

TEST_F(LabRecordsTest, KnowsTheProcessThatHoldsAFolder) {
  const std::string data = lab("held");
  const int file = ::open((data + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(file, LOCK_EX), 0);
  EXPECT_EQ(holder_of(data), 4711);
  ::close(file);
  EXPECT_EQ(holder_of(data), 0);
}

TEST(LabContexts, AreAddedUnderNamesOfTheirOwn) {
  const Value own = *yaml::parse(R"(
clusters: [{name: athanor, cluster: {server: "https://a"}}]
users: [{name: admin, user: {token: t}}]
contexts: [{name: x, context: {cluster: athanor, user: admin, namespace: bench}}]
current-context: x
)");
  const Value theirs = *yaml::parse(R"(
clusters: [{name: prod, cluster: {server: "https://p"}}]
contexts: [{name: prod, context: {cluster: prod}}]
current-context: prod
preferences: {colors: true}
)");
  auto merged = merge_context(theirs, own, "athanor-one");
  ASSERT_TRUE(merged.ok());
  merged = merge_context(*merged, own, "athanor-one");
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ((*merged)["contexts"].size(), 2U) << "merged again, it is replaced";
  EXPECT_EQ((*merged)["current-context"].as_string(), "prod");
  EXPECT_TRUE((*merged)["preferences"]["colors"].as_bool());
  EXPECT_EQ((*merged)["contexts"][1].at({"context", "user"}).as_string(), "athanor-one");
  EXPECT_EQ((*merged)["contexts"][1].at({"context", "namespace"}).as_string(), "bench");
  EXPECT_FALSE(merge_context(theirs, Value::object(), "n").ok());
}

}  // namespace
}  // namespace athanor::cli::lab_records_test
