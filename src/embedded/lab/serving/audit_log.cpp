// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/serving/audit_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "base/files/folder.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "kube/text/yaml.hpp"
#include "net/private_file.hpp"

namespace athanor::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDefaultSize = 100;  // MiB
constexpr std::uintmax_t kMiB = 1U << 20U;

class StandardOutput final : public apiserver::AuditSink {
 public:
  void write(std::string event) override {
    event += '\n';
    const MutexLock lock(mutex_);
    std::fwrite(event.data(), 1, event.size(), stdout);
    std::fflush(stdout);
  }

 private:
  Mutex mutex_{};
};

// "audit.log" and, for what was in it before, "audit-2026-11-21T10-20-30.123.log".
class LogFile final : public apiserver::AuditSink {
 public:
  LogFile(const AuditOptions& options, const Clock& clock)
      : clock_(clock),
        path_(options.log_path),
        limit_(static_cast<std::uintmax_t>(options.max_size > 0 ? options.max_size : kDefaultSize) *
               kMiB),
        keep_(options.max_backup),
        days_(options.max_age) {}

  Result<void> open() {
    const MutexLock lock(mutex_);
    return open_file();
  }

  void write(std::string event) override {
    event += '\n';
    const MutexLock lock(mutex_);
    if (size_ > 0 && size_ + event.size() > limit_) {
      rotate();
    }
    file_.write(event.data(), static_cast<std::streamsize>(event.size()));
    file_.flush();
    size_ += event.size();
    if (!file_) {
      log::warn("the audit log cannot be written", {{"path", path_.string()}});
      file_.clear();
    }
  }

 private:
  Result<void> open_file() ATHANOR_REQUIRES(mutex_) {
    std::error_code ignored;
    if (path_.has_parent_path()) {
      fs::create_directories(path_.parent_path(), ignored);
    }
    // A level may have put Secrets into it: readable by the owner alone.
    if (!fs::exists(path_, ignored)) {
      ATHANOR_TRY_VOID(net::write_private_file(path_.string(), ""));
    }
    file_.open(path_, std::ios::app | std::ios::binary);
    if (!file_) {
      return Error::unavailable(fmt::format("cannot write the audit log {}", path_.string()));
    }
    const std::uintmax_t size = fs::file_size(path_, ignored);
    size_ = ignored ? 0 : size;
    return {};
  }

  void rotate() ATHANOR_REQUIRES(mutex_) {
    file_.close();
    std::string time = format_micro_time(clock_.now());
    time.resize(time.size() - 4);  // milliseconds, without the Z
    std::ranges::replace(time, ':', '-');
    std::error_code failed;
    fs::rename(path_, path_.parent_path() / (prefix() + time + path_.extension().string()), failed);
    if (failed) {
      log::warn("the audit log cannot be put aside", {{"error", failed.message()}});
    }
    if (const auto opened = open_file(); !opened.ok()) {
      log::warn(opened.error().message);
    }
    drop_old();
  }

  [[nodiscard]] std::string prefix() const { return path_.stem().string() + "-"; }

  // When a file was put aside; nullopt: it is none of ours.
  [[nodiscard]] std::optional<Instant> time_of(const fs::path& file) const {
    constexpr std::size_t kDate = 10;
    const std::string stem = file.stem().string();
    if (!stem.starts_with(prefix()) || file.extension() != path_.extension()) {
      return std::nullopt;
    }
    std::string time = stem.substr(prefix().size());
    std::replace(time.begin() + static_cast<std::ptrdiff_t>(std::min(time.size(), kDate)),
                 time.end(), '-', ':');
    return parse_time(time + "Z");
  }

  void drop_old() const {
    std::vector<std::pair<Instant, fs::path>> old;
    std::error_code failed;
    const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
    for (const std::string& name : names_in_folder(folder.string())) {
      if (const auto time = time_of(folder / name)) {
        old.emplace_back(*time, folder / name);
      }
    }
    std::ranges::sort(old, std::greater<>());
    const Instant now = clock_.now();
    for (std::size_t i = 0; i < old.size(); ++i) {
      const bool too_many = keep_ > 0 && std::cmp_greater_equal(i, keep_);
      const bool too_old = days_ > 0 && now - old[i].first > std::chrono::days(days_);
      if (too_many || too_old) {
        fs::remove(old[i].second, failed);
      }
    }
  }

  const Clock& clock_;
  const fs::path path_;
  const std::uintmax_t limit_;
  const std::int64_t keep_;
  const std::int64_t days_;
  Mutex mutex_{};
  std::ofstream file_ ATHANOR_GUARDED_BY(mutex_){};
  std::uintmax_t size_ ATHANOR_GUARDED_BY(mutex_) = 0;
};

Result<std::shared_ptr<const apiserver::AuditPolicy>> read_policy(const std::string& path) {
  ATHANOR_TRY(const auto text, net::read_file(path));
  if (!text) {
    return Error::not_found(fmt::format("open {}: no such file or directory", path));
  }
  ATHANOR_TRY(const Value document, yaml::parse(*text));
  ATHANOR_TRY(auto policy, apiserver::parse_audit_policy(document));
  return std::make_shared<const apiserver::AuditPolicy>(std::move(policy));
}

}  // namespace

Result<Audit> open_audit(const AuditOptions& options, const Clock& clock) {
  Audit audit;
  if (options.policy_file.empty()) {
    return audit;
  }
  auto policy = read_policy(options.policy_file);
  if (!policy.ok()) {
    return policy.error().with_context("loading audit policy file " + options.policy_file);
  }
  if (options.log_path.empty()) {
    return audit;
  }
  audit.policy = *std::move(policy);
  if (options.log_path == "-") {
    audit.sink = std::make_unique<StandardOutput>();
    return audit;
  }
  auto file = std::make_unique<LogFile>(options, clock);
  ATHANOR_TRY_VOID(file->open());
  audit.sink = std::move(file);
  return audit;
}

}  // namespace athanor::lab
