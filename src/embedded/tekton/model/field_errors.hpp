// SPDX-License-Identifier: Apache-2.0
// Errors of fields as Tekton's webhooks word them (docs/spec/tekton.md 5).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::tekton {

// The errors of one object, each with the paths it is about.
class FieldErrors {
 public:
  void add(std::string message, std::vector<std::string> paths, std::string details = {});
  // Adds `invalid value: <v>: <path>`.
  void invalid(std::string_view value, std::string path, std::string details = {});
  // Adds `missing field(s): <paths>`.
  void missing(std::string path);
  // Adds `must not set the field(s): <paths>`.
  void disallowed(std::string path);
  void got_neither(std::vector<std::string> paths);
  void got_both(std::vector<std::string> paths);
  // Takes over another's errors, every path below `prefix`.
  void merge(FieldErrors other, std::string_view prefix = {});

  [[nodiscard]] bool empty() const { return errors_.empty(); }
  // Returns the errors, those with one message merged, sorted by message, a line each.
  [[nodiscard]] std::string text() const;

 private:
  struct Entry {
    std::string message{};
    std::vector<std::string> paths{};
    std::string details{};
  };
  std::vector<Entry> errors_{};
};

// Returns "tasks[3]" of "tasks" and 3.
std::string at(std::string_view list, std::size_t index);
// Returns "params[p]" of "params" and "p".
std::string at(std::string_view list, std::string_view key);
// Returns "a.b" of "a" and "b"; "[0]" follows without a dot; empty parts vanish.
std::string below(std::string_view prefix, std::string_view path);

}  // namespace athanor::tekton
