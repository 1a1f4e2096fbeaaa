// SPDX-License-Identifier: Apache-2.0
// The feature gates of Kueue 0.15 to 0.19, and what the embedded engine makes of them
// (docs/spec/kueue.md 12). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace athanor::api::kueue {

struct Gate {
  enum class Effect : std::uint8_t {
    Setting,  // is a setting of the engine
    Always,   // the engine does what the gate switches on
    Never,    // the engine does what the gate switches off
    None,     // of parts that have no counterpart in the engine
  };
  std::string_view name{};
  Effect effect = Effect::None;
  std::string_view key{};  // of the section; of a setting only
};

// Returns all of them, sorted by name.
std::span<const Gate> gates();
// Returns the gate of that name; nullptr: Kueue has no such gate.
const Gate* find_gate(std::string_view name);
// Returns true if a gate with this value has the same effect as in Kueue.
bool has_effect(const Gate& gate, bool value);
// Returns what is wrong with a name: "gate NoSuchGate is unknown", with the nearest known name.
std::string unknown_gate(std::string_view name);

}  // namespace athanor::api::kueue
