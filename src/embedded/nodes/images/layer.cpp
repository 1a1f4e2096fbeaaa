// SPDX-License-Identifier: Apache-2.0
// Links of the archive lead to places of the root.
#include "embedded/nodes/images/layer.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/descriptor.hpp"
#include "base/files/inside.hpp"
#include "embedded/nodes/images/tar_file.hpp"

namespace athanor::nodes {
namespace {

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr unsigned kOwnRights = 0700;
constexpr int kDeepest = 200;  // folders within one another

Error refusal(const TarEntry& entry, const std::string& why) {
  return Error::bad_request(fmt::format("{}: {}", entry.path, why));
}

std::string layer_error_text() {
  char buffer[128];
  return ::strerror_r(errno, buffer, sizeof buffer);
}

// Splits a path into its names; false: it leaves the root.
bool split(std::string_view path, std::vector<std::string>& names) {
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (name == ".." || name.find('\0') != std::string_view::npos) {
      return false;
    }
    if (!name.empty() && name != ".") {
      names.emplace_back(name);
    }
  }
  return names.size() <= kDeepest;
}

void remove_below(int folder, const std::string& name);

void empty_folder(int folder) {
  DIR* list = ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (list == nullptr) {
    return;
  }
  std::vector<std::string> names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a list of its own
  while (const dirent* entry = ::readdir(list)) {
    if (std::string_view(entry->d_name) != "." && std::string_view(entry->d_name) != "..") {
      names.emplace_back(entry->d_name);
    }
  }
  ::closedir(list);
  for (const std::string& name : names) {
    remove_below(folder, name);
  }
}

// Removes whatever has that name, without following links.
void remove_below(int folder, const std::string& name) {
  if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) {
    return;
  }
  const Descriptor inner(
      ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (inner.valid()) {
    empty_folder(inner.get());
    ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
  }
}

class LayerWriter {
 public:
  LayerWriter(TarFile& archive, int root, LayerKind kind, const LayerLimits& limits,
              LayerTally& tally)
      : archive_(archive), root_(root), kind_(kind), limits_(limits), tally_(tally) {}

  Result<void> add(const TarEntry& entry) {
    if (++tally_.entries > limits_.entries || entry.size > limits_.bytes - tally_.bytes) {
      return refusal(entry, fmt::format("the image is larger than {} GiB or has more than {} files",
                                        limits_.bytes >> 30U, limits_.entries));
    }
    std::vector<std::string> names;
    if (!split(entry.path, names)) {
      return refusal(entry, "leaves the image's root");
    }
    if (names.empty()) {
      return {};
    }
    const std::string name = names.back();
    names.pop_back();
    ATHANOR_TRY(const Descriptor folder, folder_of(entry, names));
    if (kind_ == LayerKind::Image && name == kOpaque) {
      empty_folder(folder.get());
      return {};
    }
    if (kind_ == LayerKind::Image && name.starts_with(kWhiteout)) {
      const std::string removed = name.substr(kWhiteout.size());
      if (!removed.empty() && removed != "." && removed != "..") {
        remove_below(folder.get(), removed);
      }
      return {};
    }
    return make(entry, folder.get(), name);
  }

 private:
  // Opens the folder of an entry, making what is missing.
  Result<Descriptor> folder_of(const TarEntry& entry, const std::vector<std::string>& names) {
    std::string path;
    for (const std::string& name : names) {
      path += (path.empty() ? "" : "/") + name;
    }
    Descriptor folder = make_folder_inside(root_, path, 0755, Links::InRoot);
    if (!folder.valid()) {
      return refusal(entry, fmt::format("its folder cannot be opened: {}", layer_error_text()));
    }
    return folder;
  }

  Result<void> make(const TarEntry& entry, int folder, const std::string& name) {
    switch (entry.type) {
      case TarEntry::Type::Folder:
        return make_folder(entry, folder, name);
      case TarEntry::Type::File:
        return make_file(entry, folder, name);
      case TarEntry::Type::SymbolicLink:
        remove_below(folder, name);
        if (::symlinkat(entry.link.c_str(), folder, name.c_str()) != 0) {
          return refusal(entry, layer_error_text());
        }
        give(entry, folder, name);
        return {};
      case TarEntry::Type::HardLink:
        return make_hard_link(entry, folder, name);
      case TarEntry::Type::Other:
        ++tally_.devices;
        return {};
    }
    return {};
  }

  Result<void> make_folder(const TarEntry& entry, int folder, const std::string& name) {
    struct stat status {};
    const bool there = ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && S_ISLNK(status.st_mode)) {
      return {};  // such as /bin, where the base image has it in /usr
    }
    if (there && !S_ISDIR(status.st_mode)) {
      remove_below(folder, name);
    }
    if (::mkdirat(folder, name.c_str(), kOwnRights) != 0 && errno != EEXIST) {
      return refusal(entry, layer_error_text());
    }
    give(entry, folder, name);
    ::fchmodat(folder, name.c_str(), (entry.mode & 01777U) | kOwnRights, 0);
    return {};
  }

  Result<void> make_file(const TarEntry& entry, int folder, const std::string& name) {
    remove_below(folder, name);
    const Descriptor file(
        ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) {
      return refusal(entry, layer_error_text());
    }
    std::vector<char> buffer(std::size_t{1} << 16U);
    while (true) {
      ATHANOR_TRY(const std::size_t count, archive_.read(buffer.data(), buffer.size()));
      if (count == 0) {
        break;
      }
      tally_.bytes += static_cast<std::int64_t>(count);
      for (std::size_t at = 0; at < count;) {
        const ssize_t written = ::write(file.get(), buffer.data() + at, count - at);
        if (written < 0 && errno != EINTR) {
          return refusal(entry, layer_error_text());
        }
        at += written > 0 ? static_cast<std::size_t>(written) : 0;
      }
    }
    give(entry, folder, name);
    tally_.rights += (entry.mode & (S_ISUID | S_ISGID)) != 0 ? 1 : 0;
    ::fchmod(file.get(), entry.mode & 0777U);
    return {};
  }

  Result<void> make_hard_link(const TarEntry& entry, int folder, const std::string& name) {
    std::vector<std::string> names;
    if (!split(entry.link, names) || names.empty()) {
      return refusal(entry, "its hard link leaves the image's root");
    }
    const std::string target = names.back();
    names.pop_back();
    ATHANOR_TRY(const Descriptor source, folder_of(entry, names));
    struct stat from {};
    struct stat to {};
    const bool same = ::fstatat(source.get(), target.c_str(), &from, AT_SYMLINK_NOFOLLOW) == 0 &&
                      ::fstatat(folder, name.c_str(), &to, AT_SYMLINK_NOFOLLOW) == 0 &&
                      from.st_ino == to.st_ino;
    if (same) {
      return {};
    }
    remove_below(folder, name);
    if (::linkat(source.get(), target.c_str(), folder, name.c_str(), 0) != 0) {
      return refusal(entry, fmt::format("its hard link to {}: {}", entry.link, layer_error_text()));
    }
    return {};
  }

  // Gives an entry to the user that the image names, where this one may.
  static void give(const TarEntry& entry, int folder, const std::string& name) {
    if (::geteuid() == 0) {
      static_cast<void>(
          ::fchownat(folder, name.c_str(), entry.user, entry.group, AT_SYMLINK_NOFOLLOW));
    }
  }

  TarFile& archive_;
  int root_;
  LayerKind kind_;
  const LayerLimits& limits_;
  LayerTally& tally_;
};

}  // namespace

Result<void> unpack_layer(const std::string& archive, const std::string& root, LayerKind kind,
                          const LayerLimits& limits, LayerTally& tally) {
  ATHANOR_TRY(TarFile file, TarFile::open(archive));
  const Descriptor folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    return Error::not_found(fmt::format("{} is no folder", root));
  }
  LayerWriter writer(file, folder.get(), kind, limits, tally);
  while (true) {
    ATHANOR_TRY(const std::optional<TarEntry> entry, file.next());
    if (!entry) {
      return {};
    }
    ATHANOR_TRY_VOID(writer.add(*entry));
  }
}

}  // namespace athanor::nodes
