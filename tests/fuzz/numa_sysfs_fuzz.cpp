// SPDX-License-Identifier: Apache-2.0
// Trees of sysfs, as lines "path=content", and files of hwloc: what is read has each cpu once, and
// nodes in ascending order.
#include <map>
#include <set>
#include <string>

#include "base/ascii.hpp"
#include "fuzz/fuzz.hpp"
#include "systems/numa/exporter/hardware.hpp"
#include "systems/numa/exporter/hwloc.hpp"

namespace {

using namespace athanor;
using namespace athanor::numa;

SysfsTree tree_of(std::string_view text) {
  std::map<std::string, std::string> files;
  for (const std::string_view line : words_of(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) {
      files.insert_or_assign("devices/system/" + std::string(line.substr(0, equals)),
                             std::string(line.substr(equals + 1)));
    }
  }
  return {.read = [files](const std::string& path) -> std::optional<std::string> {
            const auto found = files.find(path);
            return found == files.end() ? std::nullopt : std::optional(found->second);
          },
          .list =
              [files](const std::string& path) {
                std::set<std::string> names;
                for (const auto& [file, content] : files) {
                  if (file.starts_with(path + "/")) {
                    const std::string_view rest = std::string_view(file).substr(path.size() + 1);
                    names.emplace(rest.substr(0, rest.find('/')));
                  }
                }
                return std::vector<std::string>(names.begin(), names.end());
              }};
}

void check(const Hardware& hardware, bool each_cpu_once) {
  std::set<std::int64_t> seen;
  int before = -1;
  for (const HardwareNode& node : hardware.nodes) {
    ATHANOR_CHECK(node.id > before, "nodes ascend");
    before = node.id;
    for (const std::int64_t cpu : node.cpus) {
      ATHANOR_CHECK(cpu >= 0 && cpu < static_cast<std::int64_t>(kMostCpus), "cpus are bounded");
      ATHANOR_CHECK(seen.insert(cpu).second || !each_cpu_once, "a cpu is of one node");
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto hardware = read_hardware(tree_of(text)); hardware.ok()) {
    check(*hardware, false);
  }
  if (const auto hardware = read_hwloc(text); hardware.ok()) {
    check(*hardware, true);
  }
  return 0;
}
