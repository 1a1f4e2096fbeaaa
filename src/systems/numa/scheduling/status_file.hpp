// SPDX-License-Identifier: Apache-2.0
// Status files of fingerprints (docs/spec/numa.md 10.4): what one side computed for a node, and
// what it expected. Texts alone; who writes them does the input and output.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// Samples that a status file keeps.
inline constexpr std::size_t kMostSamples = 10;

// One computed fingerprint with its pods.
struct StatusSample {
  std::string expected{};  // empty on the exporter's side
  std::string computed{};
  std::vector<Key> pods{};
  std::string node{};
  Instant recorded{};
};

// Returns the name of a node's file: dots become underscores.
std::string status_file_name(std::string_view node);
// Returns the sample as an item of the file; empty texts are left out.
Value to_value(const StatusSample& sample);
// Adds a sample to the text of a file (empty: a new file); the oldest beyond kMostSamples go.
Result<std::string> add_sample(std::string_view file, const StatusSample& sample);

}  // namespace athanor::numa
