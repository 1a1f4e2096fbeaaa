// SPDX-License-Identifier: Apache-2.0
#include "agent/node/cdi_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/files/folder.hpp"
#include "base/files/text_file.hpp"
#include "systems/das/agent/claim_devices.hpp"

namespace athanor::agent {
namespace {

// Runtimes read files that end in .json or .yaml.
constexpr const char* kRecords = "das-slices";
constexpr const char* kExchange = "das-exchange";
constexpr std::string_view kPrefix = "spec.";
constexpr mode_t kReadable = 0644;

Error trouble(const std::string& path) {
  return Error::unavailable(fmt::format("{}: {}", path, std::generic_category().message(errno)));
}

}  // namespace

std::string read_text(const std::string& path) {
  auto text = read_text_file(path);
  return text.ok() ? *std::move(text) : std::string();
}

Result<void> CdiFolder::put(const std::string& name, const std::string& text) const {
  std::error_code failed;
  std::filesystem::create_directories(path_, failed);
  const std::string temporary = fmt::format("{}/{}{}.tmp", path_, kPrefix, name);
  const std::string target = fmt::format("{}/{}", path_, name);
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kReadable);
  if (file < 0) {
    return trouble(temporary);
  }
  ::fchmod(file, kReadable);  // whatever the process's mask is
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t now = ::write(file, text.data() + written, text.size() - written);
    if (now <= 0) {
      Error error = trouble(temporary);
      ::close(file);
      ::unlink(temporary.c_str());
      return error;
    }
    written += static_cast<std::size_t>(now);
  }
  ::close(file);
  if (std::rename(temporary.c_str(), target.c_str()) != 0) {
    Error error = trouble(target);
    ::unlink(temporary.c_str());
    return error;
  }
  return {};
}

Result<void> CdiFolder::write(const das::CdiSpec& spec) const {
  const std::string text = das::print_cdi(spec, path_);
  if (read_text(fmt::format("{}/{}", path_, spec.file_name())) == text) {
    return {};
  }
  return put(spec.file_name(), text);
}

void CdiFolder::remove(const das::CdiSpec& spec) const {
  ::unlink(fmt::format("{}/{}", path_, spec.file_name()).c_str());
}

bool CdiFolder::has(const das::CdiSpec& spec) const {
  return ::access(fmt::format("{}/{}", path_, spec.file_name()).c_str(), F_OK) == 0;
}

std::vector<das::CdiSpec> CdiFolder::files() const {
  std::vector<das::CdiSpec> files;
  for (const std::string& name : names_in_folder(path_)) {
    if (!das::is_cdi_file(name)) {
      continue;
    }
    if (auto spec = das::parse_cdi(read_text(fmt::format("{}/{}", path_, name)));
        spec && spec->file_name() == name) {
      files.push_back(*std::move(spec));
    }
  }
  std::ranges::sort(files, {}, &das::CdiSpec::file_name);
  return files;
}

Result<void> CdiFolder::write_claim(const std::string& uid, const std::string& text) const {
  return put(das::claim_file(uid), text);
}

void CdiFolder::remove_claim(const std::string& uid) const {
  ::unlink(fmt::format("{}/{}", path_, das::claim_file(uid)).c_str());
}

std::vector<std::string> CdiFolder::claims() const {
  std::vector<std::string> uids;
  for (const std::string& name : names_in_folder(path_)) {
    if (std::string uid = das::claim_of_file(name); !uid.empty()) {
      uids.push_back(std::move(uid));
    }
  }
  std::ranges::sort(uids);
  return uids;
}

Result<void> CdiFolder::write_records(const std::vector<das::SliceRecord>& records) const {
  return put(kRecords, das::print_records(records));
}

Result<void> CdiFolder::write_exchange(const std::string& text) const {
  if (!text.empty()) {
    return put(kExchange, text);
  }
  const std::string path = fmt::format("{}/{}", path_, kExchange);
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? Result<void>() : trouble(path);
}

std::string CdiFolder::exchange() const {
  return read_text(fmt::format("{}/{}", path_, kExchange));
}

std::vector<das::SliceRecord> CdiFolder::records() const {
  return das::parse_records(read_text(fmt::format("{}/{}", path_, kRecords)));
}

}  // namespace athanor::agent
