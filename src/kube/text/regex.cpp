// SPDX-License-Identifier: Apache-2.0
#include "kube/text/regex.hpp"

#include <re2/re2.h>

#include <cstdint>

namespace athanor {

struct Regex::Engine {
  explicit Engine(std::string_view expression, const re2::RE2::Options& options)
      : re2(re2::StringPiece(expression.data(), expression.size()), options) {}
  re2::RE2 re2;
};

Regex::Regex(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Regex::~Regex() = default;

Result<std::shared_ptr<const Regex>> Regex::compile(std::string_view expression) {
  // Of the program and of what matching adds to it: little for almost all expressions, as there may
  // be thousands of them.
  constexpr std::int64_t kUsualBytes = std::int64_t{1} << 20;
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kUsualBytes);
  auto engine = std::make_unique<Engine>(expression, options);
  if (engine->re2.error_code() == re2::RE2::ErrorPatternTooLarge) {
    options.set_max_mem(re2::RE2::Options::kDefaultMaxMem);
    engine = std::make_unique<Engine>(expression, options);
  }
  if (engine->re2.error_code() == re2::RE2::ErrorPatternTooLarge) {
    return Error{.code = 413,
                 .reason = "RequestEntityTooLarge",
                 .message = "error parsing regexp: " + engine->re2.error()};
  }
  if (!engine->re2.ok()) {
    return Error::bad_request("error parsing regexp: " + engine->re2.error());
  }
  return std::shared_ptr<const Regex>(std::make_shared<Regex>(std::move(engine)));
}

bool Regex::search(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), engine_->re2);
}

std::optional<Regex::Match> Regex::find(std::string_view text, std::size_t from) const {
  re2::StringPiece found;
  if (from > text.size() || !engine_->re2.Match(re2::StringPiece(text.data(), text.size()), from,
                                                text.size(), re2::RE2::UNANCHORED, &found, 1)) {
    return std::nullopt;
  }
  return Match{.start = static_cast<std::size_t>(found.data() - text.data()), .size = found.size()};
}

std::size_t Regex::size_bytes() const {
  constexpr std::size_t kInstruction = 16;
  constexpr std::size_t kForwardAndBackward = 2;
  return static_cast<std::size_t>(engine_->re2.ProgramSize()) * kInstruction * kForwardAndBackward;
}

const std::string& Regex::expression() const {
  return engine_->re2.pattern();
}

}  // namespace athanor
