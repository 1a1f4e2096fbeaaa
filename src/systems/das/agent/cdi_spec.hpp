// SPDX-License-Identifier: Apache-2.0
// CDI files as the agent of a real node writes and reads them (docs/spec/das.md 8.7).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"
#include "systems/das/makers/vendor.hpp"

namespace athanor::das {

// Contents of one CDI file: one device of one container.
struct CdiSpec {
  std::string profile{};           // of shares: the resource
  std::string id{};                // of the device and the file
  std::vector<Value> claims{};     // AllocationClaims, as they were
  std::vector<std::string> ids{};  // of the kubelet's devices; none: not known
  std::vector<std::string> env{};  // "NAME=value"
  std::vector<Mount> mounts{};
  bool poststop = false;  // the container's end removes the file

  // Returns "c1g.5gb_<id>.cdi.json", "mps.das.com-gpu-10gb_<id>.cdi.json".
  [[nodiscard]] std::string file_name() const;
  // Returns "mig.das.com/c1g.5gb=<id>", which the kubelet passes to the runtime.
  [[nodiscard]] std::string device() const;
};

// Prints the file's text; `folder` is its future place.
std::string print_cdi(const CdiSpec& spec, std::string_view folder);
// Reads a CDI file for slices or shares, ours or another program's; nullopt: another file, or cut
// off.
std::optional<CdiSpec> parse_cdi(std::string_view text);
// Returns true if a file of the folder is one of ours by its name; temporary ones are not.
bool is_cdi_file(std::string_view name);

// Returns the environment of a container with these slices, in order (docs/spec/das.md 8.5);
// `cuda`: "index" or "same".
std::vector<std::string> slice_environment(const std::vector<std::string>& slices,
                                           std::string_view cuda);

}  // namespace athanor::das
