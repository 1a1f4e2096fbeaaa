// SPDX-License-Identifier: Apache-2.0
// Layers of images as files below a folder. What an archive holds is not trusted: nothing is
// written outside of the folder, no device is made, and no file gets more rights than its reader
// has.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace athanor::nodes {

// Limits of the unpacked layers of one image.
struct LayerLimits {
  std::int64_t bytes = std::int64_t{16} << 30;
  std::int64_t entries = 1'000'000;
};
// Counts of unpacked and of skipped entries.
struct LayerTally {
  std::int64_t bytes = 0;
  std::int64_t entries = 0;
  std::int64_t devices = 0;  // left out: devices, pipes and the like
  std::int64_t rights = 0;   // files that lost setuid or setgid
};

enum class LayerKind : std::uint8_t {
  Image,   // ".wh." names remove what earlier layers have
  Archive  // a plain archive
};

// Unpacks an archive below `root`, which exists. Links are followed as in that root. Errors name
// the entry: a path or a hard link that leaves the root, an archive beyond the limits or damaged.
Result<void> unpack_layer(const std::string& archive, const std::string& root, LayerKind kind,
                          const LayerLimits& limits, LayerTally& tally);

}  // namespace athanor::nodes
