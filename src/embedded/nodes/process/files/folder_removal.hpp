// SPDX-License-Identifier: Apache-2.0
// Removal of what containers left behind: folders of any depth, with any modes, without following
// links.
#pragma once

#include <memory>
#include <string>

namespace athanor::nodes {

// Removes a folder with all that is in it, as far as this user may. Costs O(entries).
void remove_folder(const std::string& path);

// Removes folders on a thread of its own, in the order of add(). Thread-safe.
class FolderRemover {
 public:
  FolderRemover();
  FolderRemover(const FolderRemover&) = delete;
  FolderRemover& operator=(const FolderRemover&) = delete;
  // Waits until all of them are removed.
  ~FolderRemover();
  void add(std::string path);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::nodes
