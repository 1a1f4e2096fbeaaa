// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/view/subordinate_ids.hpp"

#include <fmt/core.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/ascii.hpp"
#include "base/files/text_file.hpp"
#include "base/process/child_process.hpp"

namespace athanor::nodes {
namespace {

constexpr std::int64_t kMostIds = 65536;  // what a container may expect
constexpr const char* kUserProgram = "/usr/bin/newuidmap";
constexpr const char* kGroupProgram = "/usr/bin/newgidmap";

std::optional<IdRange> own_range(const char* path) {
  const auto text = read_text_file(path);
  const auto id = static_cast<std::int64_t>(::geteuid());
  passwd entry{};
  passwd* found = nullptr;
  char buffer[4096];
  ::getpwuid_r(::geteuid(), &entry, buffer, sizeof buffer, &found);
  return text.ok() ? subordinate_range(*text, found == nullptr ? "" : found->pw_name, id)
                   : std::nullopt;
}

bool run_mapping(const char* program, int pid, const std::string& arguments) {
  std::vector<std::string> words{program, fmt::format("{}", pid)};
  for (const std::string_view word : words_of(arguments, ' ')) {
    words.emplace_back(word);
  }
  pid_t child = -1;
  int status = 0;
  if (::posix_spawn(&child, program, nullptr, nullptr, exec_pointers(words).data(), environ) != 0) {
    return false;
  }
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::optional<IdRange> subordinate_range(std::string_view file, std::string_view name,
                                         std::int64_t id) {
  for (const std::string_view line : words_of(file, '\n')) {
    const auto fields = words_of(line, ':');
    if (fields.size() != 3 || (fields[0] != name && fields[0] != fmt::format("{}", id))) {
      continue;
    }
    const auto first = whole_number(fields[1]);
    const auto count = whole_number(fields[2]);
    if (first && *first >= 0 && count && *count > 0) {
      return IdRange{.first = *first, .count = std::min(*count, kMostIds)};
    }
  }
  return std::nullopt;
}

std::string map_arguments(std::int64_t inner, std::int64_t own, const IdRange& range) {
  std::string text = fmt::format("{} {} 1", inner, own);
  const std::int64_t below = std::min(inner, range.count);
  if (below > 0) {
    text += fmt::format(" 0 {} {}", range.first, below);
  }
  if (range.count > below) {
    text += fmt::format(" {} {} {}", below + 1, range.first + below, range.count - below);
  }
  return text;
}

bool has_subordinate_ids() {
  static const bool kHas = ::geteuid() != 0 && ::access(kUserProgram, X_OK) == 0 &&
                           ::access(kGroupProgram, X_OK) == 0 && own_range("/etc/subuid") &&
                           own_range("/etc/subgid");
  return kHas;
}

MappedIds map_subordinate_ids(int pid, const Ids& ids) {
  const auto users = own_range("/etc/subuid");
  const auto groups = own_range("/etc/subgid");
  if (!users || !groups ||
      !run_mapping(kGroupProgram, pid, map_arguments(ids.as_group, ids.group, *groups))) {
    return MappedIds::None;
  }
  return run_mapping(kUserProgram, pid, map_arguments(ids.as_user, ids.user, *users))
             ? MappedIds::All
             : MappedIds::GroupsOnly;
}

}  // namespace athanor::nodes
