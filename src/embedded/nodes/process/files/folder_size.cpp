// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/files/folder_size.hpp"

#include <fts.h>
#include <sys/stat.h>

#include <set>
#include <utility>

namespace athanor::nodes {

std::int64_t folder_size(const std::string& path) {
  std::string folder = path;
  char* const paths[] = {folder.data(), nullptr};
  FTS* tree = ::fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, nullptr);
  if (tree == nullptr) {
    return 0;
  }
  constexpr std::int64_t kBlock = 512;  // the unit of st_blocks
  std::int64_t bytes = 0;
  std::set<std::pair<dev_t, ino_t>> linked;  // files with several names count once
  while (const FTSENT* entry = ::fts_read(tree)) {
    if (entry->fts_info == FTS_DP || entry->fts_info == FTS_NS || entry->fts_info == FTS_ERR) {
      continue;
    }
    const struct stat* status = entry->fts_statp;
    if (status->st_nlink > 1 && !S_ISDIR(status->st_mode) &&
        !linked.emplace(status->st_dev, status->st_ino).second) {
      continue;
    }
    bytes += status->st_blocks * kBlock;
  }
  ::fts_close(tree);
  return bytes;
}

}  // namespace athanor::nodes
