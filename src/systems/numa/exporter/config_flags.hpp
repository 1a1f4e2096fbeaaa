// SPDX-License-Identifier: Apache-2.0
// Flags of the exporter and the leaf of the configuration that each sets (docs/spec/numa.md 9.2).
// Internal to config.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// Value types of settings; Count is an integer, Duration a Go duration.
enum class LeafType : std::uint8_t { Text, Bool, Count, Duration };

// One setting: its place in the configuration file, its flag and its variable.
struct ConfigLeaf {
  std::string_view section{};
  std::string_view key{};  // "metricsTLS.certsDir" for a nested one
  LeafType type = LeafType::Text;
  std::string_view flag{};      // empty: no flag
  std::string_view variable{};  // fills an empty value; empty: none
  std::string_view initial{};   // as a flag's value
  std::string_view help{};
};
// Returns all settings.
std::span<const ConfigLeaf> config_leaves();

// Returns the leaf in a configuration's values; `values` has every section.
const Value& leaf_of(const Value& values, const ConfigLeaf& leaf);
// Sets the leaf in `values`, which has every section.
void set_leaf(Value& values, const ConfigLeaf& leaf, Value value);

// Reads a flag's or a variable's text. Durations become integer nanoseconds.
Result<Value> read_leaf(const ConfigLeaf& leaf, std::string_view text);
// Checks a value of a file; durations may be Go texts there.
Result<Value> check_leaf(const ConfigLeaf& leaf, const Value& value);

// Flags that set no leaf.
struct OtherFlags {
  std::string config{};
  bool config_given = false;
  std::string reference{};
  bool reference_given = false;
  std::string dump{};
  bool dump_given = false;
  bool dump_seed = false;
  bool version = false;
  bool help = false;
  std::vector<std::pair<const ConfigLeaf*, std::string>> leaves{};  // in order
};
// Parses the command line. Errors are Go's: "flag provided but not defined: -x".
Result<OtherFlags> parse_flags(std::span<const std::string> arguments);

}  // namespace athanor::numa
