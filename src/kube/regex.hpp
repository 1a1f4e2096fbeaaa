// SPDX-License-Identifier: Apache-2.0
// Regular expressions in Go's (RE2's) syntax: `pattern` of schemas and CEL's matches().
#pragma once

#include <memory>
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
  [[nodiscard]] const std::string& expression() const;

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace athanor
