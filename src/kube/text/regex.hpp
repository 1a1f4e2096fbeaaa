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

// Bytes of compiled expressions that one document from outside may bring: ten letters may take
// megabytes.
inline constexpr std::size_t kMostRegexBytes = std::size_t{16} << 20;
// What one counts for that is too large to be compiled.
inline constexpr std::size_t kRefusedRegexBytes = std::size_t{8} << 20;

// One compiled expression; immutable, thread-safe.
class Regex {
  struct Engine;

 public:
  // Compiles the expression. Errors, in the engine's text: it is malformed (400), or its program is
  // too large (413), which takes as long as the largest program, kRefusedRegexBytes.
  static Result<std::shared_ptr<const Regex>> compile(std::string_view expression);
  explicit Regex(std::unique_ptr<Engine> engine);  // compile() alone can name an Engine
  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  // Returns true if some part of the text matches.
  [[nodiscard]] bool search(std::string_view text) const;
  struct Match {
    std::size_t start = 0;  // in bytes
    std::size_t size = 0;
  };
  // Returns the leftmost match that starts at `from` or later.
  [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from = 0) const;
  [[nodiscard]] const std::string& expression() const;
  // Returns the compiled program's memory, without the temporary memory of matching.
  [[nodiscard]] std::size_t size_bytes() const;

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace athanor
