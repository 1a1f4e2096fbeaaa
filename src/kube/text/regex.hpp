// SPDX-License-Identifier: Apache-2.0
// Regular expressions in Go's (RE2's) syntax: `pattern` of schemas and CEL's matches().
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor {

// One compiled expression; immutable, thread-safe.
class Regex {
  struct Engine;

 public:
  // BadRequest with the engine's text when the expression is malformed or too large.
  static Result<std::shared_ptr<const Regex>> compile(std::string_view expression);
  explicit Regex(std::unique_ptr<Engine> engine);  // compile() alone can name an Engine
  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  // True when some part of the text matches.
  [[nodiscard]] bool search(std::string_view text) const;
  struct Match {
    std::size_t start = 0;  // in bytes
    std::size_t size = 0;
  };
  // The leftmost match that starts at `from` or later.
  [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from = 0) const;
  [[nodiscard]] const std::string& expression() const;

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace athanor
