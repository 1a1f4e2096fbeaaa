// SPDX-License-Identifier: Apache-2.0
// The files of a volume with contents (secret, configMap, downwardAPI, projected), laid out as a
// kubelet does: each name is a link into "..data", which is a link to a folder with one state of
// them all. So an update is one rename, and a container sees the old state or the new one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace athanor::nodes {

struct PayloadFile {
  std::string path{};  // below the volume
  std::string data{};
  unsigned mode = 0644;
};

// Makes `files` the content of a volume; one that has it already is left alone. `group`: owns the
// files, and may read them. Refuses paths that leave the volume. Errors name the file.
Result<void> write_payload(const std::string& folder, const std::vector<PayloadFile>& files,
                           std::optional<unsigned> group);
// Returns what a file of the volume holds now, or nullopt.
std::optional<std::string> payload_data(const std::string& folder, const std::string& path);

}  // namespace athanor::nodes
