// SPDX-License-Identifier: Apache-2.0
// The audit log on the disk: appended to, put aside when it is full, older ones dropped.
#include "embedded/lab/serving/audit_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace athanor::lab::audit_log_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SteppingClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  void advance(Duration duration) { now_ += duration; }

 private:
  Instant now_ = *parse_time("2026-11-20T10:00:00Z");
};

class AuditLog : public testing::Test {
 protected:
  AuditLog() {
    std::string pattern = (fs::temp_directory_path() / "audit-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    write("policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n");
    options_ = {.policy_file = folder_ / "policy.yaml", .log_path = folder_ / "logs" / "audit.log"};
  }
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  ~AuditLog() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  [[nodiscard]] static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::vector<std::string> logs() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "logs")) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  fs::path folder_{};
  AuditOptions options_{};
  SteppingClock clock_{};
};

TEST_F(AuditLog, GrowsLineByLineOverRestarts) {
  for (const char* event : {"{\"a\":1}", "{\"a\":2}"}) {
    const auto audit = open_audit(options_, clock_);
    ASSERT_TRUE(audit.ok()) << audit.error().message;
    ASSERT_NE(audit->policy, nullptr);
    audit->sink->write(event);
  }
  EXPECT_EQ(text_of(options_.log_path), "{\"a\":1}\n{\"a\":2}\n");
}

TEST_F(AuditLog, IsItsOwnersAlone) {
  ASSERT_TRUE(open_audit(options_, clock_).ok());
  EXPECT_EQ(fs::status(options_.log_path).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(AuditLog, IsPutAsideWhenItIsFull) {
  options_.max_size = 1;
  options_.max_backup = 2;
  const auto audit = open_audit(options_, clock_);
  ASSERT_TRUE(audit.ok());
  const std::string half(std::size_t{600} * 1024, 'x');
  for (int i = 0; i < 5; ++i) {
    audit->sink->write(half);
    clock_.advance(std::chrono::seconds(1));
  }
  EXPECT_THAT(logs(), testing::ElementsAre("audit-2026-11-20T10-00-03.000.log",
                                           "audit-2026-11-20T10-00-04.000.log", "audit.log"));
  EXPECT_EQ(text_of(options_.log_path).size(), half.size() + 1);
}

TEST_F(AuditLog, RemovesOldFiles) {
  options_.max_size = 1;
  options_.max_age = 1;
  const auto audit = open_audit(options_, clock_);
  ASSERT_TRUE(audit.ok());
  const std::string half(std::size_t{600} * 1024, 'x');
  for (int i = 0; i < 3; ++i) {
    audit->sink->write(half);
    clock_.advance(std::chrono::hours(36));
  }
  EXPECT_THAT(logs(), testing::ElementsAre("audit-2026-11-23T10-00-00.000.log", "audit.log"));
}

TEST_F(AuditLog, NamesInvalidSettings) {
  write("policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []\n");
  EXPECT_THAT(open_audit(options_, clock_).error().message, HasSubstr("0 rules"));
  options_.policy_file = folder_ / "none";
  EXPECT_THAT(open_audit(options_, clock_).error().message, HasSubstr("no such file"));
  EXPECT_EQ(open_audit({}, clock_)->sink, nullptr);
}

}  // namespace
}  // namespace athanor::lab::audit_log_test
